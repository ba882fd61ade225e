"""docs/openapi.yaml says what the code does."""

from io import StringIO
from pathlib import Path

from django.core.management import call_command

FILE = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


def test_the_openapi_file_is_current() -> None:
    made = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=made)
    assert FILE.read_text() == made.getvalue(), "Run: make openapi"
