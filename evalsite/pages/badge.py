"""A small badge for other pages: its text, and the widths of the text."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.boards.selectors import BoardState
from evalsite.core.terminal import shown
from evalsite.pages.chatbot import rows_of
from evalsite.presentation.board_head import headline
from evalsite.presentation.formatting import rank_text

PADDING = 8
LONGEST = 60  # Maximum characters per half; the rest is cut.
NARROW, WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMW%@—")


@dataclass(frozen=True, slots=True)
class Badge:
    """Two halves side by side; widths in pixels for 11 px text."""

    left: str
    right: str

    @property
    def left_text(self) -> int:
        return width(self.left)

    @property
    def right_text(self) -> int:
        return width(self.right)

    @property
    def left_width(self) -> int:
        return self.left_text + 2 * PADDING

    @property
    def right_width(self) -> int:
        return self.right_text + 2 * PADDING

    @property
    def width(self) -> int:
        return self.left_width + self.right_width

    @property
    def right_start(self) -> int:
        return self.left_width + PADDING


def width(text: str) -> int:
    """Estimate the width of a text.

    The badge stretches its text to exactly this width, so an error is only slightly visible.
    """
    return round(sum(4.0 if each in NARROW else 10.0 if each in WIDE or ord(each) > 0x2E80 else 6.6 for each in text))


def board_badge(board_state: BoardState) -> Badge:
    """Return the board's name and its headline."""
    campaign = board_state.campaign
    words = headline(board_state.ranked, more_to_come=campaign is None or campaign.collecting)
    return Badge(_short(shown(board_state.board.name)), _short(words.rstrip(".")))


def chatbot_badge(board_state: BoardState, chatbot: str) -> Badge:
    """Return the chatbot's name and its rank, with the range of possible ranks, or that it was withdrawn."""
    row, board = rows_of(board_state, chatbot)[0], shown(board_state.board.name)
    of = sum(other["group"] == row["group"] for other in board_state.ranked)
    words = _("rank %(rank)s of %(of)s on %(board)s") % {"rank": rank_text(row), "of": of, "board": board}
    if "withdrawn" in row:
        words = _("withdrawn from %(board)s") % {"board": board}
    return Badge(_short(shown(row["name"])), _short(words))


def _short(text: str) -> str:
    text = "".join(each for each in text if each.isprintable())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
