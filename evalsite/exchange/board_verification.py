"""A board is a function of its judgments and its seed: fitted again from their export, it comes out the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.boards.chart_data import points
from evalsite.boards.models import Board
from evalsite.boards.rows import BoardRow, board_rows
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.exchange.vote_file import Votes, read_votes
from evalsite.judgments.judgment_lists import entrant_names
from evalsite.judgments.selectors import CountedVote
from evalsite.refits.known_ties import ties_fitted
from irt_engine import ResponseTable
from scheduler.estimator import estimate

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Verified:
    """How a snapshot compares with the fit of its export.

    apart: the largest difference of any ability, SE or bound, in logits. others: names of the chatbots whose rank,
    class, group or number of judgments differ.
    """

    snapshot: int
    judgments: int
    apart: float
    others: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.apart <= TOLERANCE and not self.others


def board_verify(*, board: Board, path: Path) -> Verified:
    """Fit the exported judgments of a campaign from scratch, and compare with the newest snapshot of its own board.

    `path` is what the API gives as `judgments.jsonl` (or .csv): those that count. Known ties that the campaign wants in
    its fit are nobody's judgments, and are read off the replies. Raises VoteFileError, EngineError;
    Conflict for a board without a snapshot of one campaign, a file of other chatbots or of another number of judgments.
    """
    campaign, snapshot = board.default_of, snapshot_current(board)
    if campaign is None or snapshot is None:
        raise Conflict("This is no board of one campaign with a snapshot.", hint="Verify a campaign's own board.")
    votes = read_votes(path)
    if len(votes) != snapshot.judgments:
        raise Conflict(
            f"{path} has {len(votes):,} judgments, snapshot {snapshot.number} has {snapshot.judgments:,}.",
            hint="Export again when the board is up to date.",
        )
    kept: dict[str, BoardRow] = {row["version"]: row for row in snapshot.rows}
    known = {version: row.get("known_ties", 0) for version, row in kept.items()}  # no judgments: in no export
    again = _rows(campaign, votes, snapshot.seed, known)
    if kept.keys() != again.keys():
        raise Conflict(f"{path} is of other chatbots than the board.", hint="Export this campaign's judgments.")
    pairs = [(kept[version], again[version]) for version in kept]
    return Verified(
        snapshot=snapshot.number,
        judgments=len(votes),
        apart=max(_apart(old, new) for old, new in pairs),
        others=tuple(new["name"] for old, new in pairs if _places(old) != _places(new)),
    )


def _rows(campaign: Campaign, votes: Votes, seed: int, known: Mapping[str, int]) -> dict[str, BoardRow]:
    """Version's public id -> its row, as a fit of the file has it that knows nothing of earlier ones; `known`: its
    known ties."""
    versions = _versions(campaign)
    unknown = sorted({*votes.system_a, *votes.system_b} - versions.keys())
    if unknown:
        raise Conflict(f"{votes.path} names {unknown[0]!r}, which is not in the campaign.", hint="Export it again.")
    first, second = ([versions[name] for name in names] for names in (votes.system_a, votes.system_b))
    ties = _ties(campaign, {*first, *second})
    table = ResponseTable.from_votes(
        [*map(str, first), *(str(tie.first_version) for tie, _ in ties)],
        [*map(str, second), *(str(tie.second_version) for tie, _ in ties)],
        [*votes.prompt_key, *(prompt for _, prompt in ties)],
        [*votes.outcome, *(tie.outcome for tie, _ in ties)],
        annotator_id=[*votes.annotator_id, *(None for _ in ties)],
        a_first=[*votes.a_first, *(None for _ in ties)],
    )
    cast = [CountedVote(a, b, 0, None, y, True) for a, b, y in zip(first, second, votes.outcome, strict=True)]
    ids = campaign.entrants.values_list("version_id", "version__public_id")
    counts = {version: known.get(str(public_id), 0) for version, public_id in ids}
    return {row["version"]: row for row in board_rows(estimate(table, seed=seed), points(cast, counts)).values()}


def _ties(campaign: Campaign, versions: set[int]) -> list[tuple[CountedVote, str]]:
    """The known ties in the campaign's fit, each with its prompt as exports call it."""
    found = ties_fitted([campaign], versions)
    keys = dict(campaign.prompt_set.prompts.filter(pk__in={tie.prompt for tie in found}).values_list("pk", "key"))
    return [(tie, keys[tie.prompt]) for tie in found]


def _versions(campaign: Campaign) -> Mapping[str, int]:
    names = entrant_names(campaign)
    return {names[entrant]: version for entrant, version in campaign.entrants.values_list("pk", "version_id")}


def _apart(old: BoardRow, new: BoardRow) -> float:
    numbers: Iterable[tuple[float, float]] = zip(_numbers(old), _numbers(new), strict=True)
    return max(abs(a - b) for a, b in numbers)


def _numbers(row: BoardRow) -> tuple[float, ...]:
    return row["ability"], row["se"], row["lower"], row["upper"]


def _places(row: BoardRow) -> tuple[object, ...]:
    bounds = (row["rank"], row["rank_lower"], row["rank_upper"], row.get("rank_class"), row["group"])
    return (*bounds, row["judgments"], row.get("win_rate"))
