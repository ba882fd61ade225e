"""The fences: what holds the house together and would rot unseen."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

import scheduler
from tests.house.locks import problems

ROOT = Path(__file__).resolve().parents[2]


def test_the_lock_files_name_no_host_and_no_machine() -> None:
    assert problems() == []


def test_there_is_no_python_under_frontend() -> None:
    assert list((ROOT / "frontend").rglob("*.py")) == []


def test_templates_have_no_inline_script_or_style() -> None:
    templates = list((ROOT / "frontend" / "templates").rglob("*.html"))
    assert len(templates) > 20
    for template in templates:
        text = template.read_text()
        for line in text.splitlines():
            assert "<style" not in line, template
            assert " style=" not in line, template
            assert " onclick=" not in line, template
            assert "<script" not in line or "src=" in line, template


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    output = StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=output)
    assert output.getvalue() == "No changes detected\n"


def test_the_web_process_loads_neither_the_engine_nor_what_it_stands_on() -> None:
    """PyMC alone would cost 220 MB and a second and a half in every web process."""
    code = (
        "import sys, evalsite.wsgi, evalsite.urls, evalsite.api.annotator_views, evalsite.pages.views;"
        "print([name for name in ('pymc', 'pytensor', 'numba', 'scipy', 'numpy', 'statsmodels', 'irt_engine',"
        " 'pydantic') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_what_pages_ask_of_the_scheduler_needs_the_standard_library_alone() -> None:
    modules = "sys, scheduler.blocks, scheduler.power"
    code = f"import {modules}; print('numpy' in sys.modules, 'irt_engine' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False False"


def test_what_the_scheduler_offers_is_there_in_whichever_order_it_is_loaded() -> None:
    """It is loaded late, and a module of the same name would hide what is offered."""
    offered = set(scheduler.__all__)
    modules = {path.stem for path in (ROOT / "scheduler").iterdir()}
    assert not offered & modules
    assert offered == {name for name in offered if hasattr(scheduler, name)}


@pytest.mark.parametrize(("old", "new"), [("Terms", "ForecastTerms"), ("unjudged", "unjudged_state")])
def test_renamed_name_of_scheduler_warns_and_still_works(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new):
        found = getattr(scheduler, old)
    assert found is getattr(scheduler, new)


def test_the_engine_and_the_scheduler_load_without_django() -> None:
    code = "import sys, irt_engine, scheduler; print('django' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_the_project_names_no_folder_of_a_developer() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = ("/" + "work/", "shared" + "/data", "/home" + "/", "/ro" + "ot/")
    paths = [ROOT / name for name in listed.splitlines()]
    texts = [path for path in paths if path.suffix not in {".svg", ".png", ".ico", ".otf", ".woff2"} and path.is_file()]
    assert ROOT / "README.md" in texts
    for path in texts:
        text = path.read_text(errors="ignore")
        assert not [word for word in words if word in text], path
