"""The contents of the picture that a link to a board shows elsewhere (Open Graph); `picture_drawing` draws it."""

import unicodedata
from dataclasses import dataclass
from hashlib import sha256

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format

from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState
from evalsite.core.terminal import shown
from evalsite.presentation.board_head import headline
from evalsite.presentation.chart_geometry import Whisker, axis_for, whisker
from evalsite.presentation.filter_text import named
from evalsite.presentation.formatting import interval_text, rank_text, signed, whole
from evalsite.presentation.page_cache import kept
from evalsite.presentation.ranking import stamp

ROWS = 6
LONGEST = 200  # characters of a name that are looked at: what does not fit is cut where it is drawn


@dataclass(frozen=True, slots=True)
class PictureRow:
    rank: str
    name: str
    ability: str
    whisker: Whisker
    faint: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """Words of one line each, without what could not be drawn; positions in percent of the axis."""

    title: str
    headline: str
    date: str
    rows: list[PictureRow]
    zero: float
    below: str


def board_png(standing: BoardState) -> bytes:
    """A PNG of the board or of what a filter leaves of it, in English as badges are; drawn once per snapshot."""
    with translation.override(settings.LANGUAGE_CODE):
        picture = picture_of(standing)
        said = sha256(repr(picture).encode(errors="replace")).hexdigest()
        return kept(f"picture-{stamp(standing)}-{said}", lambda: _drawn(picture))


def _drawn(picture: Picture) -> bytes:
    from evalsite.pages.picture_drawing import png  # Pillow, which most processes never need

    return png(picture)


def picture_of(standing: BoardState) -> Picture:
    """The strongest rows of the largest part: another part would need an axis of its own."""
    rows: list[BoardRow] = standing.snapshot.rows if standing.snapshot else []
    pictured = [row for row in rows if row["group"] == 1][:ROWS]
    axis = axis_for([row["lower"] for row in pictured], [row["upper"] for row in pictured])
    campaign = standing.campaign
    title = f"{standing.board.name}, {named(standing.slice)}" if standing.slice else standing.board.name
    return Picture(
        title=plain_line(shown(title)),
        headline=plain_line(headline(rows, more_to_come=campaign is None or campaign.collecting)),
        date=date_format(standing.snapshot.created_at, "j M Y") if standing.snapshot else "",
        rows=[
            PictureRow(
                rank=rank_text(row),
                name=plain_line(shown(row["name"])),
                ability=f"{signed(row['ability'])} ({interval_text(row['lower'], row['upper'])})",
                whisker=whisker(axis, row["lower"], row["ability"], row["upper"]),
                faint=row["preliminary"] or row.get("version", "") in standing.withdrawn,
            )
            for row in pictured
        ],
        zero=axis.zero,
        below=_below(standing, len(rows)),
    )


def _below(standing: BoardState, chatbots: int) -> str:
    judgments = standing.snapshot.judgments if standing.snapshot else standing.tally.judgments
    counts = [f"{whole(chatbots)} chatbots", f"{whole(judgments)} judgments", "ability in logits; bar: 95 % interval"]
    return " · ".join(counts) if chatbots else ""


def plain_line(text: str) -> str:
    """What of a text can stand in one line: no control or format characters, no breaks, runs of space as one."""
    words = " ".join(unicodedata.normalize("NFC", text[:LONGEST]).split())
    return "".join(each for each in words if not unicodedata.category(each).startswith("C"))
