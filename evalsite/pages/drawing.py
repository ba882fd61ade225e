"""Draws a board's picture with Pillow: in the design's light colours, twice as large and then made smaller."""

import unicodedata
from collections.abc import Sequence
from functools import cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from evalsite.pages.picture import Picture, Row

WIDTH, HEIGHT = 1200, 630  # what readers of og:image expect
SCALE = 2
MARGIN = 56
ROW_TOP, ROW_STEP = 226, 54
PAPER, INK, SOFT, FAINT, LINE, DOUBT, ACCENT = (  # design.css: paper, ink, ink-soft, ink-faint, line, doubt, accent
    "#faf9f7",
    "#1c1b19",
    "#57544e",
    "#6c6861",
    "#e5e2dc",
    "#918b81",
    "#0d6653",
)
RANK, NAME, AXIS, END = MARGIN, 190, (520, 830), WIDTH - MARGIN  # columns, from the left

# Fonts that know many scripts, where this machine has them; Pillow's own knows western Latin and serves without.
REGULAR = ("NotoSans-Regular.ttf", "DejaVuSans.ttf")
BOLD = ("NotoSans-Bold.ttf", "DejaVuSans-Bold.ttf")
SIMPLER = str.maketrans({"−": "-", "–": "-", "—": "-", "·": "|", "ß": "ss"})

Font = ImageFont.FreeTypeFont


def png(picture: Picture) -> bytes:
    """The picture as a PNG of WIDTH by HEIGHT."""
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    _words(image, "Touchstone", MARGIN, 40, 24, ACCENT, bold=True)
    _words(image, picture.date, END, 40, 24, SOFT, right=True)
    _words(image, picture.title, MARGIN, 80, 48, INK, bold=True)
    _words(image, picture.headline, MARGIN, 150, 27, SOFT)
    if picture.rows:
        x = _across(picture.zero)
        _words(image, "0", round(x) + 7, ROW_TOP - 26, 18, FAINT, right=True)
        draw.line(_scaled(x, ROW_TOP, x, ROW_TOP + ROW_STEP * len(picture.rows)), LINE, 2 * SCALE)
    for index, row in enumerate(picture.rows):
        _row(image, draw, row, ROW_TOP + ROW_STEP * index)
    draw.line(_scaled(MARGIN, 566, END, 566), LINE, SCALE)
    _words(image, picture.below, MARGIN, 578, 22, FAINT)
    out = BytesIO()
    image.reduce(SCALE).save(out, "PNG")
    return out.getvalue()


def _row(image: Image.Image, draw: ImageDraw.ImageDraw, row: Row, top: int) -> None:
    ink, middle = FAINT if row.faint else INK, top + ROW_STEP // 2
    _words(image, row.rank, RANK, top + 9, 25, ink, until=NAME - 12)
    _words(image, row.name, NAME, top + 8, 27, ink, until=AXIS[0] - 24)
    left, mid, right = (_across(at) for at in (row.whisker.left, row.whisker.mid, row.whisker.right))
    draw.rounded_rectangle(_scaled(left, middle - 8, right, middle + 8), 8 * SCALE, DOUBT)
    draw.ellipse(_scaled(mid - 7, middle - 7, mid + 7, middle + 7), ink)
    _words(image, row.ability, END, top + 11, 23, ink, right=True)


def _across(percent: float) -> float:
    return AXIS[0] + (AXIS[1] - AXIS[0]) * percent / 100


def _scaled(*numbers: float) -> Sequence[float]:
    return [number * SCALE for number in numbers]


def _words(
    image: Image.Image,
    text: str,
    x: int,
    top: int,
    size: int,
    colour: str,
    *,
    bold: bool = False,
    right: bool = False,
    until: int = END,
) -> None:
    """One line from x on (or up to x), cut to the width and to its own height: marks piled on a letter stay inside."""
    font = _font(size * SCALE, bold)
    room = (x - MARGIN if right else until - x) * SCALE
    text = _cut(text, font, room)
    box = Image.new("L", (room, round(size * 1.5) * SCALE))
    start = room - round(font.getlength(text)) if right else 0
    ImageDraw.Draw(box).text((start, 0), text, 255, font)
    at = ((x * SCALE - room) if right else x * SCALE, top * SCALE)
    image.paste(Image.new("RGB", box.size, colour), at, box)


def _cut(text: str, font: Font, room: int) -> str:
    """As much of the text as there is room for, with an ellipsis where something is left out."""
    text = text if _knows_more(font) else _simpler(text)
    if font.getlength(text) <= room:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        half = (fits + over) // 2
        fits, over = (half, over) if font.getlength(f"{text[:half]}…") <= room else (fits, half)
    return f"{text[:fits]}…"


def _simpler(text: str) -> str:
    """Letters without their marks."""
    apart = unicodedata.normalize("NFKD", text.translate(SIMPLER))
    return "".join(each for each in apart if not unicodedata.combining(each))


def _knows_more(font: Font) -> bool:
    return font.getname()[0] != "Aileron"


@cache
def _font(size: int, bold: bool) -> Font:
    for name in BOLD if bold else REGULAR:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    own = ImageFont.load_default(size)
    assert isinstance(own, ImageFont.FreeTypeFont)  # noqa: S101 - Pillow is built with FreeType
    return own
