"""Verification of a board: a new fit of the exported judgments with the same seed must give the same board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.boards.chart_data import points
from evalsite.boards.models import Board, Snapshot
from evalsite.boards.rows import BoardRow, board_rows, board_tests
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.exchange.vote_file import Votes, read_votes
from evalsite.judgments.judgment_lists import entrant_names
from evalsite.judgments.selectors import CountedVote
from evalsite.refits.known_ties import ties_fitted
from evalsite.refits.mapping import conversation_items
from irt_engine import FitResult, Posterior, ResponseTable, WarmStart
from irt_engine.agreement import merged_fit
from scheduler.estimator import estimate_with_warm_start

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Verified:
    """Differences between a snapshot and the fit of its export.

    apart: largest difference of any ability, SE or bound, in logits.
    others: names of chatbots with another rank, class, group or number of judgments.
    """

    snapshot: int
    judgments: int
    apart: float
    others: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.apart <= TOLERANCE and not self.others


def board_verify(*, board: Board, path: Path) -> Verified:
    """Fit the exported judgments of a campaign from scratch and compare with its board's newest snapshot.

    Known ties in the campaign's fit are not judgments; they are read from the replies.

    path: `judgments.jsonl` (or .csv) from the API, with the counted judgments.

    Raises VoteFileError and EngineError. Raises Conflict for a board without a snapshot or without its own campaign.
    Raises Conflict for a file with other chatbots or another number of judgments.
    """
    _check(board)
    return votes_verify(board=board, votes=read_votes(path))


def _check(board: Board) -> tuple[Campaign, Snapshot]:
    """Return campaign and snapshot of a board that can be fitted again. Raises Conflict."""
    campaign, snapshot = board.default_of, snapshot_current(board)
    if campaign is None or snapshot is None:
        raise Conflict(
            "The board has no snapshot, or belongs to no single campaign.", hint="Verify a campaign's own board."
        )
    if campaign.is_live and campaign.live.chatbots_per_conversation > 2:
        raise Conflict(
            "Turns of more than two chatbots are not in exports of judgments.",
            hint="Verify the board of a campaign with two chatbots in a conversation.",
        )
    return campaign, snapshot


def votes_verify(*, board: Board, votes: Votes) -> Verified:
    """Fit these votes of a board's campaign from scratch and compare with its newest snapshot.

    Raises EngineError, and Conflict as `board_verify`.
    """
    campaign, snapshot = _check(board)
    if len(votes) != snapshot.judgments:
        raise Conflict(
            f"{votes.path} has {len(votes):,} judgments, snapshot {snapshot.number} has {snapshot.judgments:,}.",
            hint="Export again when the board is up to date.",
        )
    rows: dict[str, BoardRow] = {row["version"]: row for row in snapshot.rows}
    # Known ties are not judgments, so exports do not contain them.
    known = {version: row.get("known_ties", 0) for version, row in rows.items()}
    again = _rows(campaign, votes, snapshot, known)
    if rows.keys() != again.keys():
        raise Conflict(f"{votes.path} has other chatbots than the board.", hint="Export this campaign's judgments.")
    pairs = [(rows[version], again[version]) for version in rows]
    return Verified(
        snapshot=snapshot.number,
        judgments=len(votes),
        apart=max(_apart(old, new) for old, new in pairs),
        others=tuple(new["name"] for old, new in pairs if _places(old) != _places(new)),
    )


def _rows(campaign: Campaign, votes: Votes, snapshot: Snapshot, known: Mapping[str, int]) -> dict[str, BoardRow]:
    """Map public IDs of versions to their rows in a fit of the file without a warm start, tested as the snapshot is.

    known: the known ties.
    """
    versions = _versions(campaign)
    unknown = sorted({*votes.system_a, *votes.system_b} - versions.keys())
    if unknown:
        raise Conflict(f"{votes.path} names {unknown[0]!r}, which is not in the campaign.", hint="Export it again.")
    first, second = ([versions[name] for name in names] for names in (votes.system_a, votes.system_b))
    ties = _ties(campaign, {*first, *second})
    item_of = conversation_items([campaign])
    items = [item_of.get(prompt, prompt) for prompt in votes.prompt_key]
    table = ResponseTable.from_votes(
        [*map(str, first), *(str(tie.first_version) for tie, _ in ties)],
        [*map(str, second), *(str(tie.second_version) for tie, _ in ties)],
        [*items, *(prompt for _, prompt in ties)],
        [*votes.outcome, *(tie.outcome for tie, _ in ties)],
        annotator_id=[*votes.annotator_id, *(None for _ in ties)],
        a_first=[*votes.a_first, *(None for _ in ties)],
    )
    cast = [CountedVote(a, b, 0, None, y, True) for a, b, y in zip(first, second, votes.outcome, strict=True)]
    ids = campaign.entrants.values_list("version_id", "version__public_id")
    counts = {version: known.get(str(public_id), 0) for version, public_id in ids}
    posterior = _fitted(campaign, table, snapshot.seed)
    rows = board_rows(posterior, points(cast, counts), board_tests(posterior, snapshot.looks))
    return {row["version"]: row for row in rows.values()}


def _fitted(campaign: Campaign, table: ResponseTable, seed: int) -> Posterior:
    def estimated(votes: ResponseTable, start: WarmStart | None) -> FitResult:
        return estimate_with_warm_start(votes, start, seed, tiers=campaign.plan.tiers)

    found = merged_fit(table, estimated)[0] if campaign.plan.merge_redundant else estimated(table, None)
    return found.posterior


def _ties(campaign: Campaign, versions: set[int]) -> list[tuple[CountedVote, str]]:
    """Return the known ties in the campaign's fit, each with its prompt's name in exports."""
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
