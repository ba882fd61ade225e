"""Dates look the same on every page, in the reader's language."""

import re
from datetime import UTC, datetime

import pytest
from django.template import Context, Template
from django.utils import translation

from evalsite.settings import FRONTEND_DIR

WHEN = datetime(2026, 11, 9, 7, 5, 3, tzinfo=UTC)
NAMES = ("DATE_FORMAT", "DATETIME_FORMAT", "DATETIME_ZONE_FORMAT", "DATETIME_SECONDS_FORMAT")
FOR_MACHINES_AND_TABLES = ("c", "Y-m-d", "Y-m-d H:i", "Y-m-d H:i:s")


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["9 Nov 2026", "9 Nov 2026, 07:05", "9 Nov 2026, 07:05 UTC", "9 Nov 2026, 07:05:03 UTC"]),
        ("de", ["9. Nov. 2026", "9. Nov. 2026, 07:05", "9. Nov. 2026, 07:05 UTC", "9. Nov. 2026, 07:05:03 UTC"]),
    ],
)
def test_dates_have_one_format_in_each_language(language: str, expected: list[str]) -> None:
    with translation.override(language):
        shown = [Template(f'{{{{ when|date:"{name}" }}}}').render(Context({"when": WHEN})) for name in NAMES]
        assert shown == expected
        assert Template("{{ when|date }}").render(Context({"when": WHEN})) == expected[0]


def test_templates_name_the_formats_of_dates() -> None:
    pages = (page.read_text() for page in (FRONTEND_DIR / "templates").rglob("*.html"))
    used = {name for page in pages for name in re.findall(r"\|date:[\"']([^\"']*)[\"']", page)}
    assert used <= {*NAMES, *FOR_MACHINES_AND_TABLES}
