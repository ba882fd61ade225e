"""Content of the preview picture for links to a board (Open Graph); `picture_drawing` draws it."""

import unicodedata
from dataclasses import dataclass
from hashlib import sha256

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format

from evalsite.boards.selectors import BoardState
from evalsite.core.terminal import shown
from evalsite.presentation.board_head import headline
from evalsite.presentation.chart_geometry import Whisker, axis_for, whisker
from evalsite.presentation.filter_text import slice_title
from evalsite.presentation.formatting import interval_text, rank_text, signed, whole
from evalsite.presentation.page_cache import cached_part
from evalsite.presentation.ranking import stamp

ROWS = 6
LONGEST = 200  # Maximum characters of a name; the drawing cuts it to the available width.


@dataclass(frozen=True, slots=True)
class PictureRow:
    rank: str
    name: str
    ability: str
    whisker: Whisker
    faint: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """Single-line texts without characters that cannot be drawn; positions in percent of the axis."""

    title: str
    headline: str
    date: str
    rows: list[PictureRow]
    zero: float
    below: str


def board_png(board_state: BoardState) -> bytes:
    """Return a PNG of the board or slice, drawn once per snapshot. It is in English, as badges are."""
    with translation.override(settings.LANGUAGE_CODE):
        picture = picture_of(board_state)
        digest = sha256(repr(picture).encode(errors="replace")).hexdigest()
        return cached_part(f"picture-{stamp(board_state)}-{digest}", lambda: _drawn(picture))


def _drawn(picture: Picture) -> bytes:
    from evalsite.pages.picture_drawing import png  # Pillow, which most processes never need.

    return png(picture)


def picture_of(board_state: BoardState) -> Picture:
    """Return the strongest rows of the largest part. Another part would need its own axis."""
    rows = board_state.ranked
    pictured = [row for row in rows if row["group"] == 1][:ROWS]
    axis = axis_for([row["lower"] for row in pictured], [row["upper"] for row in pictured])
    campaign = board_state.campaign
    title = (
        f"{board_state.board.name}, {slice_title(board_state.slice)}" if board_state.slice else board_state.board.name
    )
    return Picture(
        title=plain_line(shown(title)),
        headline=plain_line(headline(rows, more_to_come=campaign is None or campaign.collecting)),
        date=date_format(board_state.snapshot.created_at, "DATE_FORMAT") if board_state.snapshot else "",
        rows=[
            PictureRow(
                rank=rank_text(row),
                name=plain_line(shown(row["name"])),
                ability=f"{signed(row['ability'])} ({interval_text(row['lower'], row['upper'])})",
                whisker=whisker(axis, row["lower"], row["ability"], row["upper"]),
                faint=row["preliminary"],
            )
            for row in pictured
        ],
        zero=axis.zero,
        below=_below(board_state, len(rows)),
    )


def _below(board_state: BoardState, chatbots: int) -> str:
    judgments = board_state.snapshot.judgments if board_state.snapshot else board_state.tally.judgments
    counts = [f"{whole(chatbots)} chatbots", f"{whole(judgments)} judgments", "ability in logits; bar: 95 % interval"]
    return " · ".join(counts) if chatbots else ""


def plain_line(text: str) -> str:
    """Return the text in one line: no control or format characters or breaks, and single spaces."""
    words = " ".join(unicodedata.normalize("NFC", text[:LONGEST]).split())
    return "".join(each for each in words if not unicodedata.category(each).startswith("C"))
