"""Encodings of text files that a person may name. None is guessed."""

import codecs

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput

ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "mac-roman", "shift_jis", "gb18030")


def codec_named(name: str) -> str | None:
    """Return the codec of one of ENCODINGS, whatever its spelling, or None for another one."""
    try:
        wanted = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return wanted if wanted in {codecs.lookup(known).name for known in ENCODINGS} else None


def recoded(content: bytes, encoding: str) -> bytes:
    """Return a text file in UTF-8. Raises InvalidInput for an unknown encoding, or content that is not in it."""
    codec = codec_named(encoding)
    if codec is None:
        raise InvalidInput(
            _("The encoding %(name)s is not known.") % {"name": repr(encoding[:40])},
            hint=_("Use one of %(names)s.") % {"names": ", ".join(ENCODINGS)},
            field="encoding",
        )
    try:
        return content.decode(codec).encode()
    except UnicodeError:
        raise InvalidInput(
            _("The file is not text in the encoding %(name)s.") % {"name": encoding},
            hint=_("Give the encoding that the file was saved in, or save it in UTF-8."),
            field="encoding",
        ) from None
