"""Results of a round for its annotator: agreement with others, and the chatbots of closed items."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.judgments.models import Annotator, Answer, Assignment, Candidate
from evalsite.judgments.selectors import RANKING_PURPOSES, annotators_uncounted

Verdicts = Mapping[int, Collection[str]]  # by annotator


@dataclass(frozen=True, slots=True)
class RoundResult:
    """`compared` items of the round have answers of others, too; on `agreed` of them most others answered alike.

    chatbots: names in the order of the candidates, by assignment; empty unless the campaign reveals them.
    """

    agreed: int = 0
    compared: int = 0
    chatbots: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def round_result(
    *, campaign: Campaign, annotator: Annotator, aspect: Aspect, round_: Sequence[Assignment], reveals: bool
) -> RoundResult:
    """Return the result of these assignments of one round. Gold items take no part, so nobody can tell them apart."""
    ranking = [one for one in round_ if one.purpose in RANKING_PURPOSES and one.state == Assignment.State.ANSWERED]
    verdicts = _verdicts(campaign, aspect, {one.item for one in ranking})
    compared = [] if aspect.kind == Aspect.Kind.RATING else [
        found for one in ranking if annotator.pk in (found := verdicts[one.item]) and len(found) > 1
    ]  # fmt: skip
    closed = [one for one in ranking if len(verdicts[one.item]) >= campaign.votes_per_item]
    return RoundResult(
        agreed=sum(_with_most(found, annotator.pk) for found in compared),
        compared=len(compared),
        chatbots=_chatbots(closed) if reveals else {},
    )


def _verdicts(campaign: Campaign, aspect: Aspect, items: Collection[str]) -> Mapping[str, Verdicts]:
    """Return the verdicts in force on each item, without those of newcomers and excluded annotators."""
    answers = Answer.objects.filter(
        aspect=aspect,
        judgment__superseded_by=None,
        judgment__assignment__place__campaign=campaign,
        judgment__assignment__place__item__in=items,
        judgment__assignment__purpose__in=RANKING_PURPOSES,
    ).exclude(judgment__annotator__in=annotators_uncounted(campaign))
    rows = answers.values_list("judgment__assignment__item", "judgment__annotator", "candidate__entrant", "value")
    found: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for item, annotator, entrant, value in rows:
        found[item][annotator].add(value or str(entrant))
    return found


def _with_most(verdicts: Verdicts, annotator: int) -> bool:
    """Return whether no verdict is more frequent among the others than this annotator's."""
    others = Counter(frozenset(said) for other, said in verdicts.items() if other != annotator)
    return others[frozenset(verdicts[annotator])] == max(others.values())


def _chatbots(assignments: Iterable[Assignment]) -> dict[int, tuple[str, ...]]:
    shown = Candidate.objects.filter(assignment__in=[one.pk for one in assignments]).order_by("position")
    found: defaultdict[int, list[str]] = defaultdict(list)
    for assignment, name in shown.values_list("assignment", "entrant__version__chatbot__name"):
        found[assignment].append(name or "")
    return {assignment: tuple(names) for assignment, names in found.items()}
