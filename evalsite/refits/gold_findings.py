"""What gold tells: how many each annotator passed, whether that is too few, and which item is perhaps wrong itself."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.judgments.gold_answers import GoldAnswer, gold_answers
from irt_engine.significance.proportions import Share, chance_below, share

LEAST_GOLD = 5  # answers before an annotator is judged by them
ALPHA = 0.01  # looked at after every batch: a careful annotator passes more than the mark, and is safe from most looks
LEAST_CAREFUL = 3  # annotators who pass most other gold, before an item is doubted


@dataclass(frozen=True, slots=True)
class GoldVerdict:
    """What gold says of an annotator. decision: "exclude", "keep" or "not enough yet"; chance: of doing so badly."""

    decision: str
    reason: str
    share: Share
    chance: float

    @property
    def evidence(self) -> dict[str, Any]:
        return {"gold": self.share.n, "gold_passed": self.share.k, "gold_chance": self.chance}


def gold_verdicts(campaign: Campaign) -> dict[int, GoldVerdict]:
    """Annotator id -> verdict, of all who answered gold; none where gold does not screen."""
    if campaign.gold_mark is None:
        return {}
    counts = _counts((one.annotator, one.passed) for one in gold_answers(campaign))
    return {number: gold_verdict(*passed, mark=campaign.gold_mark) for number, passed in counts.items()}


def gold_verdict(passed: int, given: int, *, mark: float) -> GoldVerdict:
    """Exclude who passes so few that one who passes `mark` of gold rarely would; keep who reaches it."""
    found, chance = share(passed, given), chance_below(passed, given, mark)
    said = f"passed {passed} of {given} gold items"
    if given < LEAST_GOLD:
        return GoldVerdict("not enough yet", f"{said}; {LEAST_GOLD} are needed", found, chance)
    if chance < ALPHA:
        often = f"{100 * chance:.1g} % of annotators who pass {100 * mark:.0f} % would do so badly"
        return GoldVerdict("exclude", f"{said}; {often}", found, chance)
    if passed >= mark * given:
        return GoldVerdict("keep", said, found, chance)
    return GoldVerdict("not enough yet", said, found, chance)


def gold_excludes(evidence: Mapping[str, Any]) -> bool:
    """Whether an exclusion's evidence has gold that was enough to exclude (`GoldVerdict.evidence`)."""
    return evidence.get("gold", 0) >= LEAST_GOLD and float(evidence["gold_chance"]) < ALPHA


def gold_findings(campaign: Campaign) -> dict[str, list[dict[str, Any]]]:
    """What pages show: per annotator and per item how many passed, with 95 % intervals."""
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
    """Items that most of those fail who pass most of their other gold: the item, not they, is wrong."""
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
    """Key -> (passed, given)."""
    found: dict[int, tuple[int, int]] = {}
    for key, passed in answers:
        before = found.get(key, (0, 0))
        found[key] = (before[0] + passed, before[1] + 1)
    return found


def _share(passed: int, given: int) -> dict[str, Any]:
    found = asdict(share(passed, given))
    return {"passed": found["k"], "given": found["n"], "lower": found["lower"], "upper": found["upper"]}
