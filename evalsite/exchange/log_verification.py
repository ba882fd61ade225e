"""Verification of a board's public log: its chain, and the board that its judgments give."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsite.boards.models import Board, PublicLogEntry
from evalsite.boards.public_log import log_lines
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.core.hash_chain import ChainBroken, ChainReport, chain_verify
from evalsite.exchange.board_verification import Verified, votes_verify
from evalsite.exchange.votes import Votes
from evalsite.judgments.judgment_lists import entrant_names

Line = Mapping[str, Any]
Kind = PublicLogEntry.Kind


@dataclass(frozen=True, slots=True)
class VerifiedLog:
    """What a log says: the chain, and the board of its judgments.

    board: None if the board cannot be computed from the log; `why` then says why.
    """

    chain: ChainReport
    board: Verified | None
    why: str = ""


def log_verify(*, board: Board, path: Path | None = None) -> VerifiedLog:
    """Verify a board's log: the stored one, or a downloaded file.

    A file must agree with the stored log entry by entry, as far as it goes. Raises EngineError, and Conflict for a
    broken chain, an unreadable file, or a board without a log.
    """
    lines = _read(path) if path else list(log_lines(board, with_judgments=True))
    if not lines:
        raise Conflict("The board has no public log.", hint="Only boards of public campaigns have one.")
    try:
        chain = chain_verify(lines)
    except ChainBroken as error:
        raise Conflict(f"The log is not whole: {error}.", hint="Compare it with an earlier download.") from error
    if path:
        _stored_check(board, lines)
    if chain.withheld:
        return VerifiedLog(
            chain, None, "the contents of judgments are withheld, because the owner does not release data"
        )
    newest = board.snapshots.order_by("-number").first()
    if board.default_of is None or newest is None:
        return VerifiedLog(chain, None, "the board has no snapshot")
    return VerifiedLog(chain, votes_verify(board=board, votes=log_votes(board.default_of, lines, path)))


def _read(path: Path) -> list[Line]:
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise Conflict(f"{path} cannot be read: {error}.", hint="Download log.jsonl of the board again.") from error


def _stored_check(board: Board, lines: Iterable[Line]) -> None:
    stored = dict(board.log_entries.values_list("number", "sha256"))
    for line in lines:
        if stored.get(line["number"]) != line["sha256"]:
            raise Conflict(
                f"Entry {line['number']} of the file is not in the site's log.",
                hint="The file is of another board, or one of the two logs was rewritten.",
            )


def log_votes(campaign: Campaign, lines: Iterable[Line], path: Path | None = None) -> Votes:
    """Return the votes that count by a log: not replaced, excluded or provisional, on the campaign's first question."""
    judged: dict[str, tuple[str | None, Mapping[str, Any]]] = {}
    out: dict[tuple[str, str], bool] = {}
    for line in lines:
        content = json.loads(line["content"]) if line["content"] is not None else {}
        if line["kind"] == Kind.JUDGMENTS:
            for one in content.get("judgments", ()):
                judged[one["id"]] = (content["annotator"], one)
        elif line["kind"] == Kind.EXCLUSION and content:
            subject = "judgment" if "judgment" in content else "annotator"
            kind = "newcomer" if content.get("provisional") else subject
            out[kind, content[subject]] = not content["lifted"]
    replaced = {one["replaces"] for _, one in judged.values()}
    counted = [
        (annotator, one)
        for key, (annotator, one) in judged.items()
        if key not in replaced
        and not any(
            out.get(of) for of in (("judgment", key), ("annotator", annotator or ""), ("newcomer", annotator or ""))
        )
    ]
    return _votes(campaign, [each for each in counted if len(each[1]["shown"]) == 2], path or Path("The log"))


def _votes(campaign: Campaign, counted: list[tuple[str | None, Mapping[str, Any]]], path: Path) -> Votes:
    names = entrant_names(campaign)
    entrants = campaign.entrants.values_list("pk", "version__public_id")
    name_of = {str(version): names[entrant] for entrant, version in entrants}
    aspect = campaign.rubric.aspects.get(position=0).key
    size = len(counted)
    return Votes(
        path=path,
        by_column=None,
        row=range(1, size + 1),
        system_a=[name_of[one["shown"][0]] for _, one in counted],
        system_b=[name_of[one["shown"][1]] for _, one in counted],
        outcome=[_outcome(one["answers"], aspect) for _, one in counted],
        both_bad=[False] * size,
        prompt_id=[one["prompt"] for _, one in counted],
        annotator_id=[annotator for annotator, _ in counted],
        a_first=[1 if one["order_known"] else None for _, one in counted],
        category=[None] * size,
        timestamp=[None] * size,
        vote_id=[one["id"] for _, one in counted],
        by=[None] * size,
        warnings=(),
    )


def _outcome(answers: Iterable[tuple[str, str, int | None]], aspect: str) -> int:
    """Return -1 for the reply shown first, 1 for the second, and 0 for neither or both."""
    chosen = {position for key, value, position in answers if key == aspect and value == "chosen"}
    return -1 if chosen == {0} else 1 if chosen == {1} else 0
