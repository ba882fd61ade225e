"""The libraries as a program imports them: light, without what only some need."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.processes import ROOT


def run(program: str) -> str:
    """Return the output of a program that finds the libraries of the checkout."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_the_engine_is_light() -> None:
    """What only some need is loaded when it is needed."""
    heavy = ("numba", "pymc", "pytensor", "nutpie", "statsmodels", "pandas", "scipy.stats", "django")
    program = f"import sys, irt_engine; print([name for name in {heavy} if name in sys.modules])"
    assert run(program).strip() == "[]"


def test_fit_is_the_function_whoever_imports_its_package() -> None:
    imports = "import irt_engine.fitting, irt_engine; from irt_engine import fit"
    program = f"{imports}; print(callable(fit), callable(irt_engine.fit))"
    assert run(program).strip() == "True True"
