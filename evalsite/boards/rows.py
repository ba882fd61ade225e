"""Rows of a board, made from a posterior and rendered once per snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from evalsite.boards.chart_data import Points
from evalsite.chatbots.models import Version

if TYPE_CHECKING:  # The web process reads rows and must not load the engine.
    from irt_engine import Posterior
    from irt_engine.posterior import ToldApart

PRELIMINARY_BELOW = 30


class BoardRow(TypedDict):
    """One chatbot on a board.

    Ability, SE and bounds are in logits, relative to the mean of the group; the interval covers 95 %. rank_lower,
    rank_upper and rank_class follow from sequential tests (`board_tests`, docs/decisions/0017). rank_class counts from
    1 within the group.

    win_rate is computed from the raw votes, whoever the opponents were, and from the known ties (`known_ties`).
    known_ties is the number of those ties. tier is 1 for the stronger half and 2 for the weaker half; None where parts
    have scales of their own.

    Snapshots never change: a snapshot from before a field was added lacks the field. None stores `withdrawn`, the
    reason why the version no longer takes part (`withdrawn_rows`).
    """

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
    version: NotRequired[str]
    version_label: NotRequired[str]
    rank_class: NotRequired[int]
    win_rate: NotRequired[float | None]
    known_ties: NotRequired[int]
    tier: NotRequired[int | None]
    withdrawn: NotRequired[str]


def board_tests(posterior: Posterior, looks: int | None) -> ToldApart:
    """Return the tests by which a board shows chatbots as different, on every page and in every file.

    looks: number of looks of a board whose campaigns have stopped (`Snapshot.looks`); None is valid at any number.
    """
    from irt_engine.posterior.sequential_tests import told_apart
    from scheduler.estimator import CAMPAIGN_PRIORS

    return told_apart(posterior, looks=looks, ability_sd=CAMPAIGN_PRIORS.ability_sd / posterior.scales.unit)


def board_rows(posterior: Posterior, points: Mapping[int, Points], tests: ToldApart) -> dict[int, BoardRow]:
    """Map version IDs to rows, by group (largest part of the comparison graph first), then strongest first.

    tests: those of the posterior (`board_tests`).
    """
    ids = [int(name) for name in posterior.chatbots]
    versions = Version.objects.select_related("chatbot__organisation").in_bulk(ids)
    estimates = estimates_of(posterior, tests)
    rows = [(pk, _row(versions[pk], estimate, points[pk])) for pk, estimate in zip(ids, estimates, strict=True)]
    return dict(sorted(rows, key=lambda item: (item[1]["group"], item[1]["rank"], item[1]["name"])))


class _Estimate(NamedTuple):
    rank: list[int]
    rank_class: int
    ability: float
    se: float
    interval: list[float]
    group: int
    tier: int | None


def estimates_of(posterior: Posterior, tests: ToldApart) -> list[_Estimate]:
    """Return the estimates of each chatbot as plain numbers, in the order of the posterior."""
    columns = (
        tests.bounds,
        tests.classes,
        posterior.ability,
        posterior.se,
        posterior.interval(),
        posterior.group,
    )
    return [
        _Estimate(*values) for values in zip(*(column.tolist() for column in columns), _tiers(posterior), strict=True)
    ]


def _tiers(posterior: Posterior) -> list[int | None]:
    """Return tiers from 1 (the strongest): those of the fit, or else halves of the board.

    They are None where parts of the board have scales of their own.
    """
    from scheduler.tiers import place

    if int(posterior.group.max(initial=1)) > 1:
        return [None] * len(posterior.chatbots)
    if posterior.tier.size:
        return [tier + 1 for tier in posterior.tier.tolist()]
    tiers = place(posterior)
    return [tiers[name] + 1 for name in posterior.chatbots]


def _row(version: Version, estimate: _Estimate, points: Points) -> BoardRow:
    rank, rank_lower, rank_upper = estimate.rank
    lower, upper = estimate.interval
    return BoardRow(
        chatbot=str(version.chatbot.public_id),
        name=version.chatbot.name,
        organisation=version.chatbot.organisation.name,
        kind=version.kind,
        rank=rank,
        rank_lower=rank_lower,
        rank_upper=rank_upper,
        ability=estimate.ability,
        se=estimate.se,
        lower=lower,
        upper=upper,
        judgments=points.judgments,
        group=estimate.group,
        preliminary=points.judgments < PRELIMINARY_BELOW,
        version=str(version.public_id),
        version_label=version.label,
        rank_class=estimate.rank_class,
        win_rate=points.win_rate,
        known_ties=points.known,
        tier=estimate.tier,
    )
