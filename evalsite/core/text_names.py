"""Names of prompts that a file knows only by their texts."""

import hashlib
import re

MOST = 60  # Characters of a text that can be its own name.
# Terminals obey control characters, and a lone surrogate has no UTF-8 encoding.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def text_name(text: str) -> str:
    """Return a name made of a text: the text if it is short, else its beginning and a hash; "" for a blank one."""
    name = " ".join(UNPRINTABLE.sub(" ", text).split())
    if name == text and len(name) <= MOST:
        return name
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: MOST - 20]}... ({mark})" if name else ""
