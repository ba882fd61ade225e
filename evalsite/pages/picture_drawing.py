"""Drawing of a board's preview picture with Pillow, in light colours.

It is drawn at twice the size and then reduced.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from evalsite.pages.share_picture import Picture, PictureRow

WIDTH, HEIGHT = 1200, 630  # The size that readers of og:image expect.
SCALE = 2
MARGIN = 56
ROW_TOP, ROW_STEP = 226, 54
PAPER, INK, SOFT, FAINT, LINE, DOUBT, ACCENT = (  # design.css: paper, ink, ink-soft, ink-faint, line, doubt, accent.
    "#faf9f7",
    "#1c1b19",
    "#57544e",
    "#6c6861",
    "#e5e2dc",
    "#918b81",
    "#0d6653",
)
RANK, NAME, AXIS, END = MARGIN, 190, (520, 830), WIDTH - MARGIN  # Columns, from the left.

# The bundled font has every character of our own texts, and Latin, Greek and Cyrillic. The other fonts, if installed,
# are for names in other scripts.
FONTS = settings.BASE_DIR / "frontend" / "static" / "fonts"
REGULAR = (str(FONTS / "Inter-Regular.otf"), "DejaVuSans.ttf", "NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc")
BOLD = (str(FONTS / "Inter-Bold.otf"), "DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "NotoSansCJK-Bold.ttc")
NO_GLYPH = "\U000f0000"  # A private-use character that none of these fonts has.
INSTEAD = "?"

Font = ImageFont.FreeTypeFont


def png(picture: "Picture") -> bytes:
    """Return the picture as a PNG of WIDTH by HEIGHT."""
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


def _row(image: Image.Image, draw: ImageDraw.ImageDraw, row: "PictureRow", top: int) -> None:
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
    """Draw one line from x on, or up to x.

    It is cut to the width and to its own height, so that combining marks on a letter cannot leave it.
    """
    font, text = fitting(text, size * SCALE, bold)
    room = (x - MARGIN if right else until - x) * SCALE
    text = _cut(text, font, room)
    box = Image.new("L", (room, round(size * 1.5) * SCALE))
    start = room - round(font.getlength(text)) if right else 0
    ImageDraw.Draw(box).text((start, 0), text, 255, font)
    at = ((x * SCALE - room) if right else x * SCALE, top * SCALE)
    image.paste(Image.new("RGB", box.size, colour), at, box)


def _cut(text: str, font: Font, room: int) -> str:
    """Cut the text to the available width, with an ellipsis if needed."""
    if font.getlength(text) <= room:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        half = (fits + over) // 2
        fits, over = (half, over) if font.getlength(f"{text[:half]}…") <= room else (fits, half)
    return f"{text[:fits]}…"


def fitting(text: str, size: int, bold: bool) -> tuple[Font, str]:
    """Return the first font that has the whole text, with the text.

    Without one, return the bundled font with a simplified text.
    """
    names = BOLD if bold else REGULAR
    for name in names:
        font = _font(name, size)
        if font is not None and all(has_glyph(name, sign) for sign in text):
            return font, text
    own = _font(names[0], size)
    assert own is not None  # noqa: S101 - it is a file of the project
    return own, "".join(sign if has_glyph(names[0], sign) else _simpler(names[0], sign) for sign in text)


def _simpler(name: str, sign: str) -> str:
    """Return a letter without its marks, or a question mark, but never an empty box."""
    apart = unicodedata.normalize("NFKD", sign)
    plain = "".join(each for each in apart if not unicodedata.combining(each))
    if plain and all(has_glyph(name, each) for each in plain):
        return plain
    return "" if unicodedata.combining(sign) else INSTEAD


@lru_cache(maxsize=10_000)
def has_glyph(name: str, sign: str) -> bool:
    """Return whether the font has a glyph for the character.

    The glyph must differ from that of a character that no font has.
    """
    font = _font(name, 40)
    if font is None:
        return False
    return sign.isspace() or _rendered(font, sign) != _rendered(font, NO_GLYPH)


def _rendered(font: Font, sign: str) -> tuple[object, bytes]:
    mask = font.getmask(sign)
    return mask.size, bytes(mask)


@lru_cache(maxsize=100)
def _font(name: str, size: int) -> Font | None:
    """Load a font; None if this machine lacks it."""
    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return None
