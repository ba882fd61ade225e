"""Output of commands that print one result."""

from __future__ import annotations

import os
import sys

from django.core.management.base import CommandError, OutputWrapper

_READER_GONE = 141  # 128 + SIGPIPE, as a shell reports it.


def write_result(stdout: OutputWrapper, text: str) -> None:
    """Write the result. A reader that has gone, and a full disk, end the command without a traceback."""
    try:
        stdout.write(text)
        stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        raise SystemExit(_READER_GONE) from None
    except OSError as error:
        _discard_stdout()
        raise CommandError(f"The result could not be written ({error.strerror}).") from error


def _discard_stdout() -> None:
    """Discard buffered output. Nothing can receive it, and the interpreter's final flush would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
