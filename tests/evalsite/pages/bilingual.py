"""What a page says to a person, text by text, so that two languages can be laid side by side."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser

SPOKEN = {"aria-label", "title", "placeholder", "alt"}  # attributes that people read, or are read to
UNSPOKEN = {"script", "style", "code", "template"}
NOT_CLOSED = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._left_out: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in NOT_CLOSED and (self._left_out or tag in UNSPOKEN or _of_people(tag, given)):
            self._left_out.append(tag)
        else:
            self.found += [value for name, value in attrs if value and name in _spoken(tag, given)]

    def handle_endtag(self, tag: str) -> None:
        if tag in self._left_out:
            while self._left_out.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._left_out:
            self.found.append(" ".join(data.split()))


def _of_people(tag: str, given: dict[str, str | None]) -> bool:
    """Whether an element marks a text that people wrote: it has a direction or a language of its own."""
    return tag != "html" and (tag == "bdi" or given.get("dir") in {"auto", "ltr", "rtl"} or "lang" in given)


def _spoken(tag: str, given: dict[str, str | None]) -> set[str]:
    if tag == "meta" and (given.get("name") or given.get("property") or "").endswith("description"):
        return {"content"}
    return SPOKEN | {"value"} if tag == "input" and given.get("type") in {"submit", "button"} else SPOKEN


def texts(html: str) -> list[str]:
    """The texts of a page and of its attributes; left out is what people wrote."""
    parser = _Texts()
    parser.feed(html)
    return parser.found


def alike(english: str, german: str, *, names: Sequence[str]) -> list[str]:
    """Texts of two words and more that two pages share, whatever their numbers: what nobody has translated.

    names: words that are the same in every language; so are addresses, names of files
    and encodings, and what programs read (with an underscore).
    """
    told = {re.sub(r"[\d.,]+", "#", text) for text in texts(english)}
    shared = [text for text in texts(german) if re.sub(r"[\d.,]+", "#", text) in told]
    return [text for text in shared if len(_words(text, names)) > 1]


def _words(text: str, names: Sequence[str]) -> list[str]:
    plain = re.sub(r"\S*(://|_)\S*|<[^>]*>|[\w-]+\.(csv|jsonl|parquet|md)\b|utf-16-[bl]e|mac-roman", " ", text)
    return [word for word in re.findall(r"[^\W\d_]+", plain) if word not in names]
