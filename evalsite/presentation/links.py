"""Addresses of a board's pages, under its key and with the reader's filter."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.http import urlencode

from evalsite.boards.models import Slice
from evalsite.boards.selectors import BoardState


def whole_address(path: str) -> str:
    """Return the absolute address for other sites and mails.

    It uses the site's own address, whatever host the request names.
    """
    return f"{settings.SITE_URL}{path}"


@dataclass(frozen=True, slots=True)
class Links:
    """Links to a board's pages.

    query: the names and values of the query string.
    """

    key: str
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, board_state: BoardState, key: str) -> "Links":
        return cls.to_slice(board_state.slice, key) if board_state.slice else cls(key)

    @classmethod
    def to_slice(cls, piece: Slice, key: str) -> "Links":
        return cls(key, ((str(piece.by), piece.value),))

    def to(self, name: str, *args: Any, **more: str) -> str:
        """Return the address of a page. Empty values in `more` are omitted."""
        parameters = [*self.query, *((key, value) for key, value in more.items() if value)]
        return reverse(name, args=[self.key, *args]) + (f"?{urlencode(parameters)}" if parameters else "")
