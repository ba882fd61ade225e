"""Safe HTML for texts of chatbots, submitters and annotators.

Markdown becomes a small set of elements. HTML stays text. Images are never loaded. Addresses are visible but not
linked. Formulas become MathML, which needs no script. Characters that hide or reorder others are replaced by their
names.

The result is sanitised again with an allow-list, so that an error in one of the two libraries has no effect.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from html import unescape
from typing import Any
from xml.etree import ElementTree

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline, link
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from evalsite.presentation.page_cache import cached_part

# At these limits, the worst known texts take some tenths of a second. Text beyond them is displayed as written.
LONGEST_MARKDOWN = 30_000  # Characters.
LONGEST_FORMULA = 2_000
MOST_FORMULAS = 300
MOST_CELLS = 5_000  # In tables: a line of two characters can produce hundreds of empty cells.
MOST_FOLLOWED = 1_000_000  # Characters that are searched for the ends of brackets without a link.
DEEPEST = 60  # Nesting depth of lists and quotations.
KEPT_FROM = 5_000  # Characters from which rendering takes milliseconds.

# Controls, zero-width characters, embeddings, overrides and isolates of direction, fillers, tags. The zero-width joiner
# and non-joiner are part of Persian and Hindi spelling and of emoji. They stay between such letters.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u115f\u1160\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
# Letters of scripts that are written from right to left, such as Hebrew, Arabic, Syriac and N'Ko.
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff]")
LETTER = re.compile(r"[^\W\d_]")
CLOSED = re.compile(r"\[[^][\\`<]{0,100}\]")  # As in [1]. The content is not parsed further.
MATH = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msup", "msub", "msubsup"),
    *("munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "merror"),
}
TAGS = {
    *("p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "span"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *MATH,
}
ATTRIBUTES = {
    "p": {"class", "dir"},
    "pre": {"dir", "tabindex"},
    "ul": {"dir"},
    "ol": {"start", "dir"},
    "blockquote": {"dir"},
    "table": {"dir"},
    "span": {"class", "dir"},
    "th": {"class"},
    "td": {"class"},
    "math": {"display"},
    "mo": {"stretchy", "fence", "form"},
    "mi": {"mathvariant"},
}


def visible(text: str) -> str:
    """Replace each character that would hide or reorder others by its name: ⟦U+202E⟧."""
    return UNSEEN.sub(lambda match: f"⟦U+{ord(match.group()):04X}⟧", text.removeprefix("\ufeff"))


def rich(text: str) -> SafeString:
    """Convert Markdown, code and formulas to safe HTML."""
    if len(text) > LONGEST_MARKDOWN:
        return _as_written(text)
    if len(text) < KEPT_FROM:
        return _rich(text)
    return cached_part(f"rich:{sha256(text.encode(errors='replace')).hexdigest()}", lambda: _rich(text))


def _as_written(text: str) -> SafeString:
    return mark_safe(f'<p class="plain" dir="{_direction(text)}">{escape(visible(text))}</p>')  # noqa: S308  escaped


def _direction(text: str) -> str:
    """Return the direction that most letters have. One word of another script does not turn a reply around."""
    reversed_letters = len(RIGHT_TO_LEFT.findall(text))
    return "rtl" if reversed_letters and 2 * reversed_letters > len(LETTER.findall(text)) else "ltr"


def _rich(text: str) -> SafeString:
    env = {"formulas": 0, "followed": 0, "tables": _cells(text) <= MOST_CELLS}
    tokens = MARKDOWN.parse(text.removeprefix("\ufeff"), env)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return _as_written(text)  # Deeper content would not be visible.
    _direct(tokens)
    unsafe = MARKDOWN.renderer.render(tokens, MARKDOWN.options, env)
    clean = nh3.clean(unsafe, tags=TAGS, attributes=ATTRIBUTES, link_rel=None)
    return mark_safe(visible(clean))  # noqa: S308  cleaned; no attribute holds text of the reply


def _direct(tokens: Sequence[Token]) -> None:
    """Give every outermost element the direction of the whole text. Code and formulas have no say in it."""
    words = (child.content for token in tokens for child in token.children or [] if child.type == "text")
    direction = _direction(" ".join(words))
    for token in tokens:
        if token.level == 0 and token.nesting == 1:
            token.attrSet("dir", direction)


# Markdown rules ----------------------------------------------------------------------------------------


def _cell(tag: str) -> Any:
    """Return a renderer of a table's cell, with its alignment as a class."""

    def draw(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        align = re.search(r"text-align:(left|right|center)", str(tokens[index].attrGet("style") or ""))
        return f'<{tag} class="{align.group(1)}">' if align else f"<{tag}>"

    return draw


def _heading(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Open a paragraph: a reply must not change the heading outline of the page."""
    direction = tokens[index].attrGet("dir")
    return f'<p{f" dir={direction}" if direction else ""} class="head">'


def _fence(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<pre dir="ltr" tabindex="0"><code>{escape(tokens[index].content)}</code></pre>'


def _link_open(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    env.setdefault("addresses", []).append(str(tokens[index].attrGet("href") or ""))
    return '<span class="link">'


def _link_close(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Add the address after the link text, unless they are equal."""
    address = env["addresses"].pop()
    if tokens[index - 1].content == address or not address:
        return "</span>"
    return f'</span> <span class="address" dir="ltr">({escape(address)})</span>'


def _formula(source: str, *, display: bool) -> str:
    try:
        element = convert_to_element(source, display="block" if display else "inline")
        for part in element.iter():
            part.text = unescape(part.text or "")  # The library writes "&#x0002B;"; escaped again below, with the rest.
        return ElementTree.tostring(element, encoding="unicode")
    except Exception:  # noqa: BLE001  whatever a formula breaks in the library, its source can be read
        return f"<code>{escape(source)}</code>"


def _math(display: bool) -> Any:
    def draw(tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        source = tokens[index].content.strip()
        env["formulas"] += 1
        if len(source) > LONGEST_FORMULA or env["formulas"] > MOST_FORMULAS:
            return f"<code>{escape(source)}</code>"
        return _formula(source, display=display)

    return draw


def _bracketed(state: StateInline, silent: bool) -> bool:
    r"""Parse \( inline formulas \) and \[ display formulas \], as many chatbots write them."""
    opening = state.src[state.pos : state.pos + 2]
    if opening not in {"\\(", "\\["}:
        return False
    end = -1
    unclosed = state.env.setdefault("unclosed", set())
    if (opening, state.src) not in unclosed:
        end = state.src.find("\\)" if opening == "\\(" else "\\]", state.pos + 2, state.posMax)
    if end < 0:
        unclosed.add((opening, state.src))  # Searched once, not for each bracket.
        return False
    if not silent:
        state.push("math_inline" if opening == "\\(" else "math_inline_double", "math", 0).content = state.src[
            state.pos + 2 : end
        ]
    state.pos = end + 2
    return True


def _cells(text: str) -> int:
    """Return an upper bound on the number of table cells.

    A table ends at an empty line, and its header is one of its lines.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    blocks = [block.split("\n") for block in re.split(r"\n[ \t]*\n", text) if "|" in block]
    return sum(len(lines) * (1 + max(line.count("|") for line in lines)) for lines in blocks)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return bool(state.env["tables"]) and table(state, start, end, silent)


def _link(state: StateInline, silent: bool) -> bool:
    """Parse a link, unless failed searches have read too much text.

    Each unclosed bracket is searched to the end.
    """
    if state.src[state.pos] != "[" or state.env["followed"] >= MOST_FOLLOWED:
        return False
    found = link(state, silent)
    if not found:
        closed = CLOSED.match(state.src, state.pos)
        state.env["followed"] += (closed.end() if closed else state.posMax) - state.pos
    return found


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": DEEPEST})
    # Images are rendered as their text and address. A link definition must stay visible.
    made.enable(["table", "strikethrough"]).disable(["image", "reference"])
    made.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    made.inline.ruler.at("link", _link)
    # A formula ends with its paragraph. Otherwise a stray $$ would include the following text, or each would be
    # searched to the end.
    signs = {"allow_space": False, "allow_digits": False, "double_inline": True, "allow_blank_lines": False}
    made.use(dollarmath_plugin, allow_labels=False, **signs)
    made.inline.ruler.before("escape", "bracketed", _bracketed)
    drawn = {
        "heading_open": _heading,
        "heading_close": lambda *_: "</p>",
        "th_open": _cell("th"),
        "td_open": _cell("td"),
        "fence": _fence,
        "code_block": _fence,
        "link_open": _link_open,
        "link_close": _link_close,
        "math_inline": _math(display=False),
        "math_single": _math(display=False),
        "math_inline_double": _math(display=True),
        "math_block": _math(display=True),
    }
    made.renderer.rules.update(drawn)  # type: ignore[attr-defined]  # its default renderer has them
    return made


MARKDOWN = _markdown()
