"""`python -m tests.house.messages`: what the pages say, gathered from code and templates into the catalogues.

Babel reads and writes the catalogues, so that nobody needs GNU gettext. A compiled catalogue is committed beside
its source, because a user's machine runs no such step.
"""

import io
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages import Catalog
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from scheduler.reasons import TEMPLATES

ROOT = Path(__file__).resolve().parent.parent.parent
LOCALES = ROOT / "frontend" / "locale"
SINGULAR = ("_", "gettext", "gettext_lazy", "gettext_noop")
PLURAL = ("ngettext", "ngettext_lazy", "npgettext")
OF_A_CONTEXT = ("pgettext", "pgettext_lazy", "npgettext")
CALL = re.compile(rf"\b({'|'.join((*SINGULAR, *PLURAL, *OF_A_CONTEXT))})\s*\(".encode())
NO_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # a date of writing would change the file when nothing else does

Said = tuple[str | None, str | tuple[str, str]]


def sources() -> list[Path]:
    """Every file that may say something to a reader."""
    templates = [path for kind in ("*.html", "*.txt") for path in (ROOT / "frontend" / "templates").rglob(kind)]
    return sorted([*templates, *(ROOT / "evalsite").rglob("*.py")])


def _as_python(path: Path) -> bytes:
    """The file as Python: of a template only what it says, flush left, since indentation means nothing there."""
    text = path.read_text()
    if path.suffix == ".py":
        return text.encode()
    return "\n".join(line.strip() for line in templatize(text).splitlines()).encode()


def said(path: Path) -> Iterator[tuple[int, Said]]:
    """Line, context and message (or singular and plural) of everything that a file says."""
    source = _as_python(path)
    if not CALL.search(source):
        return  # extract_python reads every token
    found = extract_python(
        io.BytesIO(source), dict.fromkeys((*SINGULAR, *PLURAL, *OF_A_CONTEXT)), (), {"encoding": "utf-8"}
    )
    for line, function, arguments, _ in found:
        given: Any = arguments  # one text or a tuple of them, with None for what is no text
        parts = [part for part in (given if isinstance(given, tuple) else (given,)) if part is not None]
        context = parts.pop(0) if function in OF_A_CONTEXT else None
        if parts:
            yield line, (context, (parts[0], parts[1]) if function in PLURAL else parts[0])


def gathered() -> Catalog:
    """Everything that the pages say, in the order of its files."""
    catalog = Catalog(charset="utf-8")
    for path in sources():
        for _, (context, message) in said(path):
            flags = ["python-format"] if "%(" in str(message) else []
            catalog.add(message, context=context, locations=[(str(path.relative_to(ROOT)), 0)], flags=flags)
    for template in TEMPLATES.values():
        flags = ["python-format"] if "%(" in template.text else []
        catalog.add(template.text, locations=[("scheduler/reasons.py", 0)], flags=flags)
    return catalog


def languages() -> list[str]:
    return sorted(folder.name for folder in LOCALES.iterdir() if folder.is_dir())


def source(language: str) -> Path:
    return LOCALES / language / "LC_MESSAGES" / "django.po"


def catalogue(language: str) -> Catalog:
    with source(language).open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalog: Catalog) -> bytes:
    """As Django reads it."""
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def update(language: str) -> list[str]:
    """Bring a catalogue up to what is said now and compile it; what still has no translation."""
    catalog = catalogue(language)
    catalog.update(gathered(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    catalog.creation_date = catalog.revision_date = NO_DAY
    with source(language).open("wb") as file:
        write_po(file, catalog, width=110, sort_by_file=False, include_lineno=False, omit_header=False)
    source(language).with_suffix(".mo").write_bytes(compiled(catalog))
    return missing(catalog)


def missing(catalog: Catalog) -> list[str]:
    """What has no translation, or not every form of it."""
    return [str(message.id) for message in catalog if message.id and not _whole(message.string)]


def _whole(translation: str | Sequence[str] | None) -> bool:
    return bool(translation) if isinstance(translation, str) or translation is None else all(translation)


if __name__ == "__main__":
    left = {language: update(language) for language in languages()}
    for language, messages in left.items():
        sys.stdout.write("\n  ".join([f"{language}: {len(messages)} without a translation", *messages]) + "\n")
    sys.exit(any(left.values()))
