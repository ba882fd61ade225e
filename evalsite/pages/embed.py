"""A board embedded in another site: few rows, no scripts, and links that open in a new window."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from evalsite.boards.models import Board
from evalsite.boards.selectors import BoardState, board_get
from evalsite.core.errors import NotFound
from evalsite.presentation.board_head import headline
from evalsite.presentation.filter_text import age_text, missing_text, slice_title
from evalsite.presentation.links import Links, whole_address
from evalsite.presentation.ranking import Cut, parts_of

ROWS, ROWS_AT_MOST = 10, 50
HEAD_PX, ROW_PX = 190, 45


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """Options of an embedded board.

    theme: light or dark; empty follows the reader's system.
    """

    rows: int = ROWS
    theme: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "EmbedOptions":
        """Parse the options. Invalid ones become the defaults, so that an embedded board is never an error."""
        text, theme = query.get("rows", ""), query.get("theme", "")
        rows = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else ROWS
        return cls(min(max(1, rows), ROWS_AT_MOST), theme if theme in {"light", "dark"} else "")


def embed_context(board_state: BoardState, key: str, look: EmbedOptions) -> dict[str, Any]:
    """Return the strongest rows of the board or slice."""
    rows, campaign, links = board_state.ranked, board_state.campaign, Links.of(board_state, key)
    shown = rows[: look.rows]
    return {
        "name": board_state.board.name,
        "slice": slice_title(board_state.slice) if board_state.slice else "",
        "age": age_text(board_state.slice, board_state.age) if board_state.slice else "",
        "lacking": missing_text(board_state.slice) if board_state.slice and not rows else "",
        "url": links.to("board"),
        "theme": look.theme,
        "headline": headline(rows, more_to_come=campaign is None or campaign.collecting) if rows else "",
        "snapshot": board_state.snapshot,
        "groups": max((row["group"] for row in rows), default=0),
        "parts": parts_of(rows, shown, Cut(), links, board_state),
        "more": len(rows) - len(shown),
    }


def _anonymous_key(board: Board) -> str:
    """Return the key for anonymous readers, because nobody is logged in within another site's page."""
    for key in (board.slug, str(board.public_id)):
        with suppress(NotFound):
            board_get(key=key, user=None)
            return key
    return ""


def snippet(board_state: BoardState) -> str:
    """Return the HTML for embedding this board or slice; empty if nothing would be visible."""
    key = _anonymous_key(board_state.board)
    if not key:
        return ""
    size = len(board_state.ranked)
    height = HEAD_PX + ROW_PX * min(max(size, 1), ROWS)
    name = board_state.board.name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    address = Links.of(board_state, key).to("board_embed", rows=str(ROWS)).replace("&", "&amp;")
    return (
        f'<iframe src="{whole_address(address)}" title="{name}" width="100%" height="{height}"'
        ' loading="lazy" style="border: 0"></iframe>'
    )
