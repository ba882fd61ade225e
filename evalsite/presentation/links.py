"""Where the pages of a board are: under its key, with the filter that its reader has chosen."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.http import urlencode

from evalsite.boards.models import Slice
from evalsite.boards.selectors import BoardState


def whole_address(path: str) -> str:
    """The address as it is written on other sites and in mails, whatever host the reader asked for."""
    return f"{settings.SITE_URL}{path}"


@dataclass(frozen=True, slots=True)
class Links:
    """`query` is what stands behind every address, as the names and values of a form."""

    key: str
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, standing: BoardState, key: str) -> "Links":
        return cls.to_slice(standing.slice, key) if standing.slice else cls(key)

    @classmethod
    def to_slice(cls, piece: Slice, key: str) -> "Links":
        return cls(key, ((str(piece.by), piece.value),))

    def to(self, name: str, *args: Any, **more: str) -> str:
        """The address of a page; what is empty in `more` is left out of it."""
        asked = [*self.query, *((key, value) for key, value in more.items() if value)]
        return reverse(name, args=[self.key, *args]) + (f"?{urlencode(asked)}" if asked else "")
