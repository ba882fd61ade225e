"""Reports of labels and ratings: shares and means of each chatbot with intervals, and the annotators' agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evalsite.boards.live_turns import chatbot_names
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Answer, Candidate
from evalsite.judgments.selectors import judgments_counted


@dataclass(frozen=True, slots=True)
class ReportedValue:
    """A share or a mean with its 95 % interval."""

    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class ChatbotLabels:
    """A chatbot's values: the share of each label in its order, or one mean rating. n: judged replies."""

    chatbot: str
    n: int
    values: Sequence[ReportedValue]


@dataclass(frozen=True, slots=True)
class AspectReport:
    """The answers to one question.

    labels: of the values; empty for a rating. alpha: Krippendorff's alpha of replies with two answers or more (`shared`
    replies), nominal for labels and ordinal for ratings; None without any.
    """

    key: str
    question: str
    labels: Sequence[str]
    chatbots: Sequence[ChatbotLabels]
    alpha: float | None
    shared: int


@dataclass(slots=True)
class _Reply:
    """The answers to one reply, by judgment (key)."""

    entrant: int
    cluster: Hashable
    given: dict[int, list[str]] = field(default_factory=dict)

    @property
    def answers(self) -> list[str]:
        return [value for values in self.given.values() for value in values]


def label_report_of(campaign: Campaign, conversations: Mapping[int, Hashable]) -> list[dict[str, Any]]:
    """Return the reports of all labels and ratings, as dicts.

    conversations: the cluster of each prompt (key); a prompt without one is its own.
    """
    names = chatbot_names(campaign)
    scales = campaign.rubric.aspects.filter(kind__in=[Aspect.Kind.RATING, Aspect.Kind.LABEL])
    return [asdict(_aspect(campaign, aspect, names, conversations)) for aspect in scales]


def _aspect(
    campaign: Campaign, aspect: Aspect, names: Mapping[int, str], conversations: Mapping[int, Hashable]
) -> AspectReport:
    replies = _replies(campaign, aspect, conversations)
    by_chatbot: defaultdict[int, list[_Reply]] = defaultdict(list)
    for one in replies:
        by_chatbot[one.entrant].append(one)
    rates = aspect.kind == Aspect.Kind.RATING
    rows = [
        ChatbotLabels(
            names[entrant], len(mine), [_mean(mine)] if rates else [_share(mine, label) for label in aspect.labels]
        )
        for entrant, mine in sorted(by_chatbot.items(), key=lambda one: names[one[0]])
    ]
    alpha, shared = _agreement(replies, aspect)
    return AspectReport(aspect.key, aspect.question, [] if rates else list(aspect.labels), rows, alpha, shared)


def _replies(campaign: Campaign, aspect: Aspect, conversations: Mapping[int, Hashable]) -> list[_Reply]:
    """Return the judged replies with their answers. A reply without any label has an empty list."""
    found: dict[tuple[str, int], _Reply] = {}
    for judgment, item, entrant in _judged(campaign, aspect):
        prompt, entrants = item_parts(item)
        key = item, entrant or entrants[0]
        reply = found.setdefault(key, _Reply(key[1], conversations.get(prompt, prompt)))
        reply.given[judgment] = []
    answers = Answer.objects.filter(judgment__in=judgments_counted([campaign]), aspect=aspect).order_by("pk")
    rows = answers.exclude(value=Answer.Value.NONE).values_list(
        "judgment", "judgment__assignment__item", "candidate__entrant", "value"
    )
    for judgment, item, entrant, value in rows.iterator():
        of = found.get((item, entrant or item_parts(item)[1][0]))
        if of is not None and judgment in of.given:
            of.given[judgment].append(value)
    return list(found.values())


def _judged(campaign: Campaign, aspect: Aspect) -> Iterator[tuple[int, str, int | None]]:
    """Yield judgment, item and entrant of each reply that the question was about; None: its only one.

    An answer about a turn with several chatbots is about none of them.
    """
    answers = Answer.objects.filter(judgment__in=judgments_counted([campaign]))
    if aspect.scope == Aspect.Scope.TURN:
        rows = answers.filter(aspect=aspect).values_list("judgment", "judgment__assignment__item").distinct()
        yield from ((judgment, item, None) for judgment, item in rows.iterator() if len(item_parts(item)[1]) == 1)
        return
    if aspect.scope == Aspect.Scope.SELECTED:
        chosen = answers.filter(aspect__position=0, value=Answer.Value.CHOSEN)
        yield from chosen.values_list("judgment", "judgment__assignment__item", "candidate__entrant").iterator()
        return
    shown = Candidate.objects.filter(assignment__judgments__in=judgments_counted([campaign]))
    yield from shown.values_list("assignment__judgments", "assignment__item", "entrant").iterator()


def _share(replies: Sequence[_Reply], label: str) -> ReportedValue:
    # Imported here: every process imports this module, and only the worker should pay for numpy and scipy.
    from irt_engine.scorecard import clustered_share

    shares = [one.answers.count(label) / len(one.given) for one in replies]
    found = clustered_share(shares, [str(one.cluster) for one in replies])
    return ReportedValue(found.value, found.lower, found.upper)


def _mean(replies: Sequence[_Reply]) -> ReportedValue:
    from irt_engine.scorecard import clustered_mean

    rated = [one for one in replies if one.answers]
    means = [sum(map(int, one.answers)) / len(one.answers) for one in rated]
    found = clustered_mean(means, [str(one.cluster) for one in rated])
    return ReportedValue(found.value, found.lower, found.upper)


def _agreement(replies: Sequence[_Reply], aspect: Aspect) -> tuple[float | None, int]:
    """Return the agreement and the number of replies that it rests on. Answers of several labels have none."""
    from irt_engine.agreement import krippendorff_alpha

    several = [Counter(one.answers) for one in replies if len(one.given) > 1]
    rates = aspect.kind == Aspect.Kind.RATING
    if not several or not (rates or aspect.one_label):
        return None, 0
    counts = [[found[value] for value in aspect.choices] for found in several]
    return krippendorff_alpha(counts, "ordinal" if rates else "nominal").value, len(several)
