"""Agreement of third parties with the live choices. Only the worker loads this module: it needs the statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.boards.live_turns import entrants_selected
from evalsite.campaigns.models import Campaign
from evalsite.dialogues.models import ReviewedTurn, ThirdPartyReview
from evalsite.judgments.models import Answer, Candidate
from evalsite.judgments.selectors import standings
from irt_engine.agreement.coefficients import Agreement
from irt_engine.selections import ThirdPartySelection, selection_agreement

LIVE = "live"  # stands for the annotator of the conversation
Pair = tuple[int, int]  # two versions, the smaller key first


@dataclass(frozen=True, slots=True)
class PairJudgment:
    """What one annotator selected of two replies to one context: one, both or none of two versions."""

    prompt: int
    pair: Pair
    annotator: str
    selected: frozenset[int]

    def selections(self) -> Iterator[ThirdPartySelection]:
        """Return one row for each reply."""
        for version in self.pair:
            name = f"{self.prompt}:{self.pair[0]}-{self.pair[1]}"
            yield ThirdPartySelection(name, str(version), self.annotator, version in self.selected)


def third_party_content(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the agreement in each sample that third parties have judged."""
    reviews = ThirdPartyReview.objects.filter(source=campaign).select_related("campaign").order_by("pk")
    return [found for review in reviews if (found := _review(review)) is not None]


def _review(review: ThirdPartyReview) -> dict[str, Any] | None:
    given = list(_judged(review))
    if not given:
        return None
    live = {(one.prompt, one.pair): one for one in _live(review, {(one.prompt, one.pair) for one in given})}
    same = [one.selected == live[one.prompt, one.pair].selected for one in given if (one.prompt, one.pair) in live]
    return {
        "made_at": review.made_at.isoformat(),
        "turns": len({one.prompt for one in given}),
        "annotators": len({one.annotator for one in given}),
        "judgments": len(given),
        "compared": len(same),
        "same": sum(same),
        "with_live": _agreement([*live.values(), *given]),
        "among_themselves": _agreement(given),
    }


def _agreement(judgments: Iterable[PairJudgment]) -> dict[str, Any]:
    found = selection_agreement([row for one in judgments for row in one.selections()])
    return {"krippendorff": _coefficient(found.krippendorff), "fleiss": _coefficient(found.fleiss)}


def _coefficient(found: Agreement) -> dict[str, Any]:
    return {"value": found.value, "se": found.se, "items": found.items}


def _judged(review: ThirdPartyReview) -> Iterator[PairJudgment]:
    """Return the judgments in force of annotators in good standing; the first one of each annotator and pair."""
    prompts = set(review.turns.values_list("prompt", flat=True))
    pairs = _pairs(review.campaign)
    out = {number for number, one in standings(review.campaign).items() if not one.counts}
    answers = Answer.objects.filter(
        judgment__assignment__campaign=review.campaign,
        judgment__superseded_by__isnull=True,
        aspect__position=0,
        judgment__assignment__place__prompt__in=prompts,
    ).exclude(judgment__annotator__in=out)
    seen = set()
    for prompt, assignment, annotator, version, value in answers.order_by("judgment").values_list(
        "judgment__assignment__place__prompt",
        "judgment__assignment",
        "judgment__annotator",
        "candidate__entrant__version",
        "value",
    ):
        pair = pairs[assignment]
        if (prompt, pair, annotator) not in seen:
            seen.add((prompt, pair, annotator))
            tied = pair if value == "tie" else ()
            yield PairJudgment(prompt, pair, str(annotator), frozenset({version} if version else tied))


def _pairs(campaign: Campaign) -> Mapping[int, Pair]:
    """Return the two versions of each assignment."""
    found: dict[int, list[int]] = {}
    rows = Candidate.objects.filter(assignment__campaign=campaign).values_list("assignment", "entrant__version")
    for assignment, version in rows:
        found.setdefault(assignment, []).append(version)
    return {assignment: (min(both), max(both)) for assignment, both in found.items()}


def _live(review: ThirdPartyReview, wanted: set[tuple[int, Pair]]) -> Iterator[PairJudgment]:
    """Return the live choices on these pairs. Where the best reply is a third one, nothing is known of the pair."""
    selected = entrants_selected(review.source)
    versions = dict(review.source.entrants.values_list("pk", "version"))
    one_best = review.source.live.selection == "soba"
    turns = dict(ReviewedTurn.objects.filter(review=review).values_list("prompt", "turn__assignment"))
    for prompt, pair in sorted(wanted):
        chosen = selected.get(turns[prompt] or 0)
        if chosen is None:
            continue  # erased with its annotator
        mine = frozenset(versions[entrant] for entrant in chosen) & frozenset(pair)
        if mine or not one_best:
            yield PairJudgment(prompt, pair, LIVE, mine)
