"""The wheel, installed beside its dependencies and used in an empty folder, as somebody who never saw the checkout."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from tests.environment import PATIENCE_S
from tests.processes import MODEST, ROOT, end, free_port, visit, wait_until_ready
from tests.templates import seed

PARTS = ("evalsite", "irt_engine", "scheduler", "frontend")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
# Put before a program: whoever imports the web framework fails, as on a machine that does not have it.
NO_DJANGO = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("django", "rest_framework", "celery"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
MOST_BYTES = 5_000_000
VOTES = "model_a,model_b,winner,prompt\nx,y,model_a,1\ny,z,tie,2\nx,z,model_a,3\nz,x,model_b,4\n"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel out of a copy, so that nothing is left in the checkout."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for part in PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *build, "-w", str(folder), str(source)], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install = ["install", "--no-deps", "--no-compile", "--quiet", "--disable-pip-version-check", "--target"]
    subprocess.run([sys.executable, "-m", "pip", *install, str(folder), str(wheel)], check=True)
    _compiled_already(folder)
    return folder


def _compiled_already(target: Path) -> None:
    """Lend the machine code that the checkout has to equal sources there: compiling takes longer than all the rest.

    numba takes it where name, size and time of the source are the same, and compiles otherwise.
    """
    for source in (ROOT / "irt_engine").rglob("*.py"):
        there = target / source.relative_to(ROOT)
        assert there.read_bytes() == source.read_bytes()
        os.utime(there, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
    for code in (ROOT / "irt_engine").rglob("__pycache__/*.nb[ic]"):
        cache = (target / code.relative_to(ROOT)).parent
        cache.mkdir(exist_ok=True)
        shutil.copy(code, cache)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """A folder with a votes.csv: four chatbots on thirty prompts, every cell once."""
    names = ("eliza", "parry", "racter", "shrdlu")
    table = draw_votes(draw_truth(4, 30, seed=3), all_cells(4, 30), seed=4)
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system_a", "system_b", "prompt_id", "outcome", "annotator_id", "a_first"])
        for a, b, prompt, outcome in zip(table.a, table.b, table.prompt, table.outcome, strict=True):
            writer.writerow([names[a], names[b], f"p{prompt:02}", outcome, "", ""])
    return tmp_path


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> dict[str, str]:
    """No variable of ours but the path: nothing of a checkout or a configured site."""
    return {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **MODEST}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "empty"
    path.mkdir()
    return path


@pytest.fixture
def touchstone(installed: Path, environment: dict[str, str], folder: Path) -> Run:
    """Run the installed script `touchstone` in an empty folder."""

    def run(*arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-P", str(installed / "bin" / "touchstone"), *arguments]
        return subprocess.run(
            command, cwd=folder, env={**environment, **more}, capture_output=True, text=True, timeout=PATIENCE_S
        )

    return run


def test_wheel_is_small_and_complete(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.stat().st_size <= MOST_BYTES
    assert {f"{package}/py.typed" for package in PARTS[:3]} <= set(names)
    assert "evalsite/frontend/templates/home.html" in names
    assert "evalsite/frontend/locale/de/LC_MESSAGES/django.mo" in names
    assert {name.partition("/")[0] for name in names} - set(PARTS[:3]) == {names[-1].partition("/")[0]}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_wheel_needs_what_the_requirements_say() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = ("base", "web", "worker", "full", "tracing")
    lines = [line for name in names for line in (ROOT / f"requirements/{name}.in").open()]
    wanted = {line.strip() for line in lines if line.strip() and not line.startswith(("#", "-r"))}
    extras = project["optional-dependencies"]
    assert {*project["dependencies"], *extras["full"], *extras["tracing"]} == wanted


def test_example_of_the_guide_runs_without_django(installed: Path, environment: dict[str, str], votes: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "researcher.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    assert len([line for line in blocks[0].splitlines() if line]) == 10
    where = "\nimport irt_engine, scheduler\nprint(irt_engine.__file__, scheduler.__file__)"
    command = [sys.executable, "-P", "-c", NO_DJANGO + blocks[0] + where]
    result = subprocess.run(command, cwd=votes, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    *lines, difference, asks, files = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["eliza", "parry", "racter", "shrdlu"]
    assert all("class" in line for line in lines)
    assert difference.startswith("Difference(mean=")
    assert len(re.findall(r"'p\d\d'", asks)) == 3
    assert files.split() == [str(installed / name / "__init__.py") for name in ("irt_engine", "scheduler")]


def test_votes_are_ranked_without_a_database(touchstone: Run, folder: Path) -> None:
    (folder / "votes.csv").write_text(VOTES)
    ranked = touchstone("rank", "votes.csv", "--csv", DATABASE_URL="postgres://nobody@127.0.0.1:1/none")
    assert ranked.returncode == 0, ranked.stderr
    assert [line.partition(",")[0] for line in ranked.stdout.splitlines()[1:]] == ["x", "y", "z"]
    assert [path.name for path in folder.iterdir()] == ["votes.csv"]


def test_unknown_command_is_refused(touchstone: Run, folder: Path) -> None:
    refused = touchstone("rnk")
    assert refused.returncode == 2
    assert refused.stderr == "Error: There is no command 'rnk'. Did you mean 'rank'?\n"
    assert not list(folder.iterdir())


def test_port_in_use_is_refused(touchstone: Run, folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"],
        env={"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        port = other.stdout.readline().partition(" port ")[2].partition(" ")[0]
        refused = touchstone("serve", "--port", port)
        other.terminate()
    assert refused.returncode == 2
    assert f"127.0.0.1:{port} cannot be used" in refused.stderr
    assert not list(folder.iterdir())


def test_folder_that_cannot_be_written_is_refused(touchstone: Run, folder: Path) -> None:
    (folder / "file").touch()
    refused = touchstone("serve", TOUCHSTONE_DATA_DIR=str(folder / "file" / "data"))
    assert refused.returncode == 2
    assert "set TOUCHSTONE_DATA_DIR to a writable folder" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("package", "file", "content"),
    [("pyarrow", "votes.parquet", b"PAR1\0\0\0\0PAR1"), ("openpyxl", "votes.xlsx", None)],
)
def test_missing_extra_is_named(
    touchstone: Run, installed: Path, folder: Path, tmp_path: Path, package: str, file: str, content: bytes | None
) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / f"{package}.py").write_text(f"raise ModuleNotFoundError('No module named {package}')")
    if content is None:
        with zipfile.ZipFile(folder / file, "w") as book:
            book.writestr("xl/workbook.xml", "")
    else:
        (folder / file).write_bytes(content)
    refused = touchstone("rank", file, PYTHONPATH=f"{tmp_path / 'absent'}:{installed}")
    assert refused.returncode == 2
    assert "pip install 'touchstone-eval[files]'" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [path.name for path in folder.iterdir()] == [file]


def test_completion_knows_commands_and_options(touchstone: Run) -> None:
    script = touchstone("completion", "bash").stdout
    assert "rank" in script
    assert "--target-se" in script
    assert touchstone("completion", "pwsh").returncode == 2


def test_served_in_an_empty_folder_it_leads_to_the_first_administrator(
    installed: Path, environment: dict[str, str], folder: Path
) -> None:
    seed(folder / "touchstone-data")  # a migrated database: migrating takes longer than all else here
    port = free_port()
    command = [sys.executable, "-P", str(installed / "bin" / "touchstone"), "serve", "--port", str(port)]
    log = folder / "log"
    with log.open("w") as output:
        site = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output, text=True)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", site)
        with visit(f"http://127.0.0.1:{port}", follow_redirects=True) as visitor:
            assert visitor.get("/static/css/design.css").is_success
            home = visitor.get("/").text
        said = log.read_text()
    finally:
        status, _ = end(site)
    setup = next(line.strip() for line in said.splitlines() if "/setup/" in line)
    assert setup.startswith(f"http://127.0.0.1:{port}/setup/")
    assert "<html" in home
    assert status == 0
    assert (folder / "touchstone-data" / "touchstone.sqlite3").is_file()
