#!/usr/bin/env python
"""Touchstone's command line: `python manage.py help` lists what it can do."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        message = "Django is not installed in this Python: run `make demo` or `make test`, which set up .venv."
        raise SystemExit(message) from error
    from evalsite.core.terminal import concise_errors

    with concise_errors():
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
