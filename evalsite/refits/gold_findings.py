"""Gold results: pass rates of annotators, whether they are too low, and gold items that may be wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.judgments.gold_answers import GoldAnswer, gold_answers
from irt_engine.agreement import NO_GOLD, GoldCounts
from irt_engine.significance.proportions import Share, chance_below, share
from scheduler.reasons import Reason

LEAST_GOLD = 5  # Minimum number of gold answers before an annotator is judged by them.
# The test runs after every batch. A careful annotator passes more than the mark, and so rarely fails any of the tests.
ALPHA = 0.01
LEAST_CAREFUL = 3  # Minimum number of annotators who pass most other gold, before an item is flagged.


@dataclass(frozen=True, slots=True)
class GoldVerdict:
    """The gold verdict on an annotator.

    decision: "exclude", "keep" or "not enough yet".
    chance: probability of a result this low for an annotator at the mark.
    """

    decision: str
    reason: Reason
    share: Share
    chance: float

    @property
    def evidence(self) -> dict[str, Any]:
        return {"gold": self.share.n, "gold_passed": self.share.k, "gold_chance": self.chance}


def gold_verdicts(gold: GoldCounts) -> dict[int, GoldVerdict]:
    """Map annotator IDs to verdicts, for all who answered gold; empty if gold does not screen."""
    return {number: gold_verdict(*passed, mark=gold.mark) for number, passed in gold.counts.items()}


def gold_counts(campaign: Campaign) -> GoldCounts:
    """Return the results of gold by annotator ID; none if gold does not screen."""
    if campaign.gold_mark is None:
        return NO_GOLD
    counts = _counts((one.annotator, one.passed) for one in gold_answers(campaign))
    return GoldCounts(campaign.gold_mark, counts)


def gold_verdict(passed: int, given: int, *, mark: float) -> GoldVerdict:
    """Return the verdict on an annotator.

    Exclude annotators whose result is rare for one who passes a share `mark` of gold. Keep annotators who reach the
    mark.
    """
    found, chance = share(passed, given), chance_below(passed, given, mark)
    reason = Reason("gold_passed", {"passed": passed, "given": given})
    if given < LEAST_GOLD:
        needed = Reason("gold_needed", {"given": LEAST_GOLD})
        return GoldVerdict("not enough yet", reason.and_also(needed), found, chance)
    if chance < ALPHA:
        often = Reason("gold_chance", {"chance": 100 * chance, "mark": 100 * mark})
        return GoldVerdict("exclude", reason.and_also(often), found, chance)
    return GoldVerdict("keep" if passed >= mark * given else "not enough yet", reason, found, chance)


def gold_excludes(evidence: Mapping[str, Any]) -> bool:
    """Return whether the gold evidence of an exclusion was enough to exclude (`GoldVerdict.evidence`)."""
    return evidence.get("gold", 0) >= LEAST_GOLD and float(evidence["gold_chance"]) < ALPHA


def gold_findings(campaign: Campaign) -> dict[str, list[dict[str, Any]]]:
    """Return pass counts with 95 % intervals for each annotator and item, for pages."""
    answers = gold_answers(campaign)
    annotators = _counts((one.annotator, one.passed) for one in answers)
    items = _counts((one.item, one.passed) for one in answers)
    doubtful = items_doubted(answers)
    return {
        "annotators": [{"annotator": number, **_share(*count)} for number, count in annotators.items()],
        "items": [
            {"item": number, "doubtful": number in doubtful, **_share(*count)} for number, count in items.items()
        ],
    }


def items_doubted(answers: Sequence[GoldAnswer]) -> set[int]:
    """Return items that probably have a wrong answer key.

    Most annotators who pass most of their other gold fail these items.
    """
    of: defaultdict[int, list[GoldAnswer]] = defaultdict(list)
    for one in answers:
        of[one.annotator].append(one)
    passed, seen = Counter[int](), Counter[int]()
    for one in answers:
        others = [other.passed for other in of[one.annotator] if other.item != one.item]
        if others and sum(others) > len(others) / 2:
            seen[one.item] += 1
            passed[one.item] += one.passed
    return {item for item, count in seen.items() if count >= LEAST_CAREFUL and passed[item] < count / 2}


def _counts(answers: Iterable[tuple[int, bool]]) -> Mapping[int, tuple[int, int]]:
    """Map each key to (passed, given)."""
    found: dict[int, tuple[int, int]] = {}
    for key, passed in answers:
        before = found.get(key, (0, 0))
        found[key] = (before[0] + passed, before[1] + 1)
    return found


def _share(passed: int, given: int) -> dict[str, Any]:
    found = asdict(share(passed, given))
    return {"passed": found["k"], "given": found["n"], "lower": found["lower"], "upper": found["upper"]}
