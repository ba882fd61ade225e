"""Where the files of this installation are: in a checkout of the repository, or in an installed package."""

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
MANAGE = PACKAGE.parent / "manage.py"
IN_CHECKOUT = MANAGE.is_file()
FRONTEND = (PACKAGE.parent if IN_CHECKOUT else PACKAGE) / "frontend"


def default_data_directory() -> Path:
    """Return the folder of the embedded form's files if the operator names none."""
    return PACKAGE.parent / "var" if IN_CHECKOUT else Path.cwd() / "touchstone-data"


def command_line(*arguments: str) -> list[str]:
    """Return the command line that runs a command of this installation with this Python.

    `-P`: a file of the user's folder must not replace a library.
    """
    program = [str(MANAGE)] if IN_CHECKOUT else ["-P", "-m", "evalsite"]
    return [sys.executable, *program, *arguments]
