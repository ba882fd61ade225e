"""The two libraries as somebody finds them who installs them: no Django, and the example of the guide."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth

ROOT = Path(__file__).resolve().parents[2]
# Put before a program: whoever imports the web framework fails, as on a machine that does not have it.
NO_DJANGO = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("django", "rest_framework", "celery"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""


def example() -> str:
    """The Python block of the guide."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "researcher.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def run(program: str, folder: Path, packages: Path) -> str:
    """Its output; the packages are found under `packages`, and not where the tests run."""
    environment = os.environ | {"PYTHONPATH": str(packages)}
    result = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the project, without what it requires; the checkout stays clean."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("irt_engine", "scheduler", "evalsite"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )
    _compiled_already(target)
    return target


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


def test_the_example_has_ten_lines() -> None:
    assert len([line for line in example().splitlines() if line]) == 10


def test_pip_installs_the_two_libraries_and_nothing_of_the_service(installed: Path) -> None:
    folders = {path.name for path in installed.iterdir() if path.is_dir() and not path.name.endswith(".dist-info")}
    assert folders - {"bin"} == {"irt_engine", "scheduler"}
    assert {path.relative_to(ROOT) for path in (ROOT / "irt_engine").rglob("*.py")} == {
        path.relative_to(installed) for path in (installed / "irt_engine").rglob("*.py")
    }


def test_the_example_of_the_guide_runs_on_what_pip_installed_without_django(installed: Path, votes: Path) -> None:
    where = "\nimport irt_engine, scheduler\nprint(irt_engine.__file__, scheduler.__file__)"
    *lines, difference, asks, files = run(NO_DJANGO + example() + where, votes, installed).splitlines()
    assert [line.split()[0] for line in lines] == ["eliza", "parry", "racter", "shrdlu"]
    assert all("class" in line for line in lines)
    assert difference.startswith("Difference(mean=")
    assert len(re.findall(r"'p\d\d'", asks)) == 3
    assert files.split() == [str(installed / name / "__init__.py") for name in ("irt_engine", "scheduler")]


def test_importing_the_engine_is_light() -> None:
    """What only some need is loaded when it is needed."""
    heavy = ("numba", "pymc", "pytensor", "nutpie", "statsmodels", "pandas", "scipy.stats", "django")
    program = f"import sys, irt_engine; print([name for name in {heavy} if name in sys.modules])"
    assert run(program, ROOT, ROOT).strip() == "[]"


def test_fit_is_the_function_whoever_imports_its_package() -> None:
    imports = "import irt_engine.fitting, irt_engine; from irt_engine import fit"
    program = f"{imports}; print(callable(fit), callable(irt_engine.fit))"
    assert run(program, ROOT, ROOT).strip() == "True True"
