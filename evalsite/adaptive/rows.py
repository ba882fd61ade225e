"""A posterior as the rows that every reader of a board sees, rendered once per snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from evalsite.chatbots.models import Version

if TYPE_CHECKING:  # the web process reads rows and must not load the engine
    from irt_engine import Posterior

PRELIMINARY_BELOW = 30


class BoardRow(TypedDict):
    """One chatbot on a board. Ability, SE and bounds in logits, relative to the mean of its group; 95 % interval."""

    chatbot: str
    name: str
    organisation: str
    kind: str
    rank: int
    rank_lower: int
    rank_upper: int
    ability: float
    se: float
    lower: float
    upper: float
    judgments: int
    group: int
    preliminary: bool


def board_rows(posterior: Posterior) -> list[BoardRow]:
    """Rows by group (the largest part of the comparison graph first), then strongest first."""
    versions = {
        str(version.pk): version
        for version in Version.objects.filter(pk__in=[int(name) for name in posterior.chatbots]).select_related(
            "chatbot__organisation"
        )
    }
    ranks, bounds, errors = posterior.rank_bounds(), posterior.interval(), posterior.se
    rows = [
        _row(versions[name], posterior, index, ranks[index], bounds[index], float(errors[index]))
        for index, name in enumerate(posterior.chatbots)
    ]
    return sorted(rows, key=lambda row: (row["group"], row["rank"], row["name"]))


def _row(version: Version, posterior: Posterior, index: int, rank: Any, bounds: Any, error: float) -> BoardRow:
    judgments = int(posterior.chatbot_judgments[index])
    return BoardRow(
        chatbot=str(version.chatbot.public_id),
        name=version.chatbot.name,
        organisation=version.chatbot.organisation.name,
        kind=version.kind,
        rank=int(rank[0]),
        rank_lower=int(rank[1]),
        rank_upper=int(rank[2]),
        ability=float(posterior.ability[index]),
        se=error,
        lower=float(bounds[0]),
        upper=float(bounds[1]),
        judgments=judgments,
        group=int(posterior.group[index]),
        preliminary=judgments < PRELIMINARY_BELOW,
    )
