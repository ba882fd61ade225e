"""Plug-ins of other packages: the example of docs/ is installed by pip, and passes the contract tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from scheduler import PluginWarning
from scheduler.plugins import WithPlugins, plugins
from tests.processes import ROOT

EXAMPLE = ROOT / "docs" / "example_plugin"
CONTRACTS = ("tests/scheduler/test_plan.py", "tests/scheduler/stopping/test_rules.py")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which pip has installed the example."""
    source, folder = tmp_path_factory.mktemp("source") / "example", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(folder), str(source)], check=True)
    return folder


@pytest.fixture
def installed(example: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example is installed for this process."""
    monkeypatch.syspath_prepend(example)
    plugins.cache_clear()
    yield
    plugins.cache_clear()
    sys.modules.pop("touchstone_example", None)


def test_example_passes_the_contract_tests(example: Path) -> None:
    names = "even or votes_per_chatbot"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", names, *CONTRACTS]
    environment = {**os.environ, "PYTHONPATH": str(example)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    passed = int(result.stdout.rpartition(" passed")[0].rpartition("\n")[2])
    assert passed > 20


def called(command: str, *arguments: str) -> tuple[str, str]:
    """Return what the command writes to its two streams."""
    out, err = StringIO(), StringIO()
    call_command(command, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.usefixtures("installed")
def test_policy_of_the_example_is_replayed() -> None:
    replayed, _ = called("replay", "--simulate", "3x10", "--policy", "even", "--budget", "20", "--every", "10")
    assert "even" in replayed


@pytest.mark.usefixtures("installed")
def test_format_of_the_example_is_read(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("red,blue,won\nx,y,model_a\ny,z,model_b\nz,x,tie\n")
    ranked, said = called("rank", str(tmp_path / "votes.csv"), "--csv")
    assert "votes on duels" in said
    assert {line.partition(",")[0] for line in ranked.splitlines()[1:]} == {"x", "y", "z"}


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Register entry points of the group "tests", as an installed package does."""
    monkeypatch.syspath_prepend(tmp_path)
    plugins.cache_clear()

    def register(lines: str) -> None:
        info = tmp_path / "others-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tests]\n{lines}\n")

    yield register
    plugins.cache_clear()


def test_plug_ins_come_after_ours(registered: Callable[[str], None]) -> None:
    registered("zero = math:pi\none = math:tau")
    ours: Mapping[str, float] = WithPlugins({"one": 1.0}, "tests")
    assert ours["one"] == 1.0, "its name is taken"
    assert ours["zero"] == pytest.approx(3.14159, abs=1e-5)
    assert sorted(ours) == ["one", "zero"]
    assert len(ours) == 2


def test_broken_plug_in_is_named_and_left_out(registered: Callable[[str], None]) -> None:
    registered("absent = no_such_module:x")
    with pytest.warns(PluginWarning, match=r"absent \(no_such_module:x\) is left out: ModuleNotFoundError"):
        assert "absent" not in WithPlugins({}, "tests")
