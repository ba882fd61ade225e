"""Read queries on judgments."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from evalsite.campaigns.limits import judgments_allowed
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.core.composed import composed
from evalsite.core.models import AuditEntry
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Exclusion, Judgment, Skip
from evalsite.judgments.turn_comparisons import turn_comparisons

TALLY_KEPT_S = 3600
PACE_OVER = timedelta(seconds=1)
# longer than any pause of many annotators, and than the difference of machines' clocks
IDLE_AFTER = timedelta(seconds=3)
HOUR_MS = 3_600_000
LEAST_PAID = Decimal("0.0001")
RANKING_PURPOSES = [Assignment.Purpose.MEASURE, Assignment.Purpose.OVERLAP]
# A judgment is in force until a fit sees the one that supersedes it, so that one of them always counts. As an outer
# join, PostgreSQL would expect a single such judgment and loop over the rest.
NOT_TAKEN_BACK = Q(~Exists(Judgment.objects.filter(supersedes=OuterRef("pk")).exclude(batch__state=Batch.State.OPEN)))
# Judgments that a fit uses, unless they or their annotator are excluded. A late answer is stored but left out if its
# place was filled by another annotator or if it exceeds the quota: its assignment is not ANSWERED.
COUNTABLE = NOT_TAKEN_BACK & Q(
    batch__state=Batch.State.CLOSED,
    assignment__state=Assignment.State.ANSWERED,
    assignment__purpose__in=RANKING_PURPOSES,
)


class CountedVote(NamedTuple):
    """One counted vote for the fit. `outcome`: -1 the first is better, 0 a tie, 1 the second.

    `client_ms` is the time from display to decision, if the client sent it. `live`: on a turn of a conversation, whose
    prompt nobody else sees.
    """

    first_version: int
    second_version: int
    prompt: int
    annotator: int | None
    outcome: int
    order_known: bool
    client_ms: int | None = None
    live: bool = False


_Votes = dict[int, tuple[CountedVote, ...]]  # by judgment key


class LeftOut(Enum):
    """The judgments to leave out. Screening of annotators needs more of them than boards do."""

    EXCLUDED = "all who are excluded, and newcomers"
    BY_PEOPLE = "whom people have excluded, and newcomers: the screening judges everybody by the same votes"
    NOBODY = "nobody, and no single judgment"


def judgments_counted(campaigns: Iterable[Campaign], *, without: LeftOut = LeftOut.EXCLUDED) -> QuerySet[Judgment]:
    """Return judgments for a fit: in closed batches, in force, for ranking, not provisional, and not excluded."""
    campaigns = list(campaigns)
    excluded = _excluded(campaigns, without)
    counted = Judgment.objects.filter(COUNTABLE, batch__campaign__in=campaigns)
    vetting = [one for one in campaigns if one.vetting_votes and without is not LeftOut.NOBODY]
    for one in vetting:
        counted = counted.exclude(batch__campaign=one, annotator__isnull=False, annotator__in=newcomers(one))
    for campaign, annotators in excluded.annotators.items():
        counted = counted.exclude(batch__campaign=campaign, annotator__isnull=False, annotator__in=annotators)
    return counted.exclude(pk__in=excluded.judgments)


def votes_counted(
    campaigns: Iterable[Campaign],
    aspect: Aspect,
    *,
    category: str = "",
    prompt: int | None = None,
    version: int | None = None,
    annotators: Collection[int] | None = None,
    without: LeftOut = LeftOut.EXCLUDED,
) -> list[CountedVote]:
    """Return the votes of the counted judgments on one aspect.

    `category` selects the prompts of one category. `prompt`, `version` and `annotators` (keys) select the votes on one
    prompt, those about one version, and those of some annotators. `without` is that of `judgments_counted`.

    Each vote is one row with the candidate that was shown first; the item's key gives the prompt and the second one.
    All rows are fetched at once. For a cursor, PostgreSQL plans as if only the first rows were wanted, which takes
    three times as long.
    """
    campaigns = list(campaigns)
    answers = _answers_counted(campaigns, aspect, category, without)
    if prompt is not None:
        answers = answers.filter(judgment__assignment__place__prompt=prompt)
    if version is not None:
        answers = answers.filter(
            Exists(Candidate.objects.filter(entrant__version=version, assignment=OuterRef("judgment__assignment")))
        )
    if annotators is not None:
        answers = answers.filter(judgment__annotator__in=annotators)
    return [vote for votes in _votes(campaigns, answers, aspect).values() for vote in votes]


def votes_by_judgment(
    campaigns: Iterable[Campaign],
    aspect: Aspect,
    *,
    category: str = "",
    batches: Collection[int] | None = None,
    annotators: Collection[int] = (),
) -> dict[int, tuple[CountedVote, ...]]:
    """Return the same votes by judgment key: all, or those in `batches` (keys) and all of `annotators` (keys).

    A judgment has one vote, or several if more than two chatbots were shown.
    """
    campaigns = list(campaigns)
    answers = _answers_counted(campaigns, aspect, category, LeftOut.EXCLUDED)
    if batches is not None:
        theirs = Q(judgment__annotator__in=annotators) if annotators else Q()
        answers = answers.filter(Q(judgment__batch__in=batches) | theirs)
    return _votes(campaigns, answers, aspect)


def _answers_counted(campaigns: list[Campaign], aspect: Aspect, category: str, without: LeftOut) -> QuerySet[Answer]:
    if aspect.kind not in {Aspect.Kind.CHOOSE_ONE, Aspect.Kind.SELECT_ANY}:
        return Answer.objects.none()  # ratings and labels compare nobody
    answers = Answer.objects.filter(judgment__in=judgments_counted(campaigns, without=without), aspect=aspect)
    return answers.filter(judgment__assignment__place__prompt__category=category) if category else answers


def _votes(campaigns: list[Campaign], answers: QuerySet[Answer], aspect: Aspect) -> _Votes:
    shown_first = answers.filter(judgment__assignment__candidates__position=0)
    found = shown_first.order_by("pk").values_list(
        "judgment_id",
        "judgment__assignment__item",
        "judgment__annotator_id",
        "judgment__assignment__order_known",
        "judgment__client_ms",
        "candidate_id",
        "judgment__assignment__candidates__pk",
        "judgment__assignment__candidates__entrant_id",
        "judgment__assignment__source",
    )
    rows = list(found)  # before the entrants that they name are read
    entrants = Entrant.objects.filter(campaign__in=campaigns)
    version_of = dict(entrants.values_list("pk", "version_id"))
    votes: _Votes = {}
    several: dict[int, _SeveralReplies] = {}
    for judgment, item, annotator, order_known, ms, chosen, candidate, first, source in rows:
        prompt_id, pair = item_parts(item)
        if len(pair) != 2:
            turn = several.setdefault(judgment, _SeveralReplies(prompt_id, pair, annotator, ms, set()))
            turn.selected.add(chosen)
            continue
        second = pair[1] if pair[0] == first else pair[0]
        # Of a selection of both, the second row finds the first one: both are appropriate, which is a tie.
        outcome = 0 if judgment in votes else _outcome(chosen, candidate)
        live = source == Assignment.Source.LIVE
        votes[judgment] = (
            CountedVote(version_of[first], version_of[second], prompt_id, annotator, outcome, order_known, ms, live),
        )
    if several:
        votes.update(_votes_of_turns(campaigns, several, version_of, one_best=aspect.kind == Aspect.Kind.CHOOSE_ONE))
    return votes


class _SeveralReplies(NamedTuple):
    """A judged turn with another number of chatbots than two. `selected` has keys of candidates."""

    prompt: int
    entrants: tuple[int, ...]
    annotator: int | None
    client_ms: int | None
    selected: set[int | None]


def _votes_of_turns(
    campaigns: list[Campaign], turns: Mapping[int, _SeveralReplies], version_of: Mapping[int, int], *, one_best: bool
) -> Iterator[tuple[int, tuple[CountedVote, ...]]]:
    """Return the votes of turns with more than two chatbots. A single chatbot is compared with nobody."""
    candidates = Candidate.objects.filter(assignment__campaign__in=campaigns, assignment__source=Assignment.Source.LIVE)
    entrant_of = dict(candidates.values_list("pk", "entrant_id"))
    for judgment, turn in turns.items():
        if len(turn.entrants) > 2:
            selected = {entrant_of[candidate] for candidate in turn.selected if candidate is not None}
            found = turn_comparisons(turn.prompt, turn.entrants, selected, one_best=one_best)
            of_turn = (turn.prompt, turn.annotator)
            yield (
                judgment,
                tuple(
                    CountedVote(version_of[first], version_of[second], *of_turn, outcome, False, turn.client_ms, True)
                    for first, second, outcome in found
                ),
            )


def _outcome(chosen: int | None, first: int) -> int:
    return 0 if chosen is None else -1 if chosen == first else 1


def counted_votes_version(campaigns: Iterable[Campaign]) -> str:
    """Return a version of the counted votes. It changes with each closed batch, exclusion, vetting and removal.

    Other changes of a judgment are new judgments in an open batch. Read the version before the votes: changes in
    between then cause another read.
    """
    campaigns = list(campaigns)
    names = ",".join(str(campaign.pk) for campaign in campaigns)
    return f"{names}:{_closed_batches_version(campaigns)}:{_exclusions(campaigns)}"


def exclusions_version(campaigns: Iterable[Campaign]) -> str:
    """Return a version that changes when votes of closed batches begin or cease to count.

    Undone votes and those of vetted newcomers (`newcomers_vetted`) do not change it. It uses keys and times, not
    counts: a worker may outlive a restored backup, after which the same number could come.
    """
    campaigns = list(campaigns)
    removed = sorted(_removals([one.public_id for one in campaigns]))
    out = sorted((key, at) for key, *_, at in _facts_in_force([one.pk for one in campaigns]))
    vets = [one.pk for one in campaigns if one.vetting_votes]
    return repr((removed, out, vets))


@composed
def _removals(campaigns: list[uuid.UUID]) -> QuerySet[AuditEntry, tuple[int, datetime]]:
    """Return the keys and times of removals of judgments from these campaigns (public ids)."""
    return AuditEntry.objects.filter(act="remove_judgments", subject__in=campaigns).values_list("pk", "at")


@composed
def _facts_in_force(campaigns: list[int]) -> QuerySet[Exclusion, tuple[Any, ...]]:
    """Return the exclusions of these campaigns and those that were lifted, without proposals and newcomers."""
    facts = Exclusion.objects.filter(campaign__in=campaigns, proposed=False, provisional=False).order_by("pk")
    columns = ("campaign_id", "annotator_id", "judgment_id", "lifted", "decided_by_id")
    return facts.values_list("pk", *columns, "decided_at")


def newcomers_vetted(campaigns: Iterable[Campaign]) -> frozenset[tuple[int, datetime]]:
    """Return the key of each annotator who was a newcomer, with the time from which their votes count."""
    vetted = _vetted([campaign.pk for campaign in campaigns])
    return frozenset((annotator or 0, at) for annotator, at in vetted)


@composed
def _vetted(campaigns: list[int]) -> QuerySet[Exclusion, tuple[int | None, datetime]]:
    facts = Exclusion.objects.filter(campaign__in=campaigns, provisional=True, lifted=True)
    return facts.values_list("annotator_id", "decided_at")


def newcomers(campaign: Campaign) -> QuerySet[Exclusion, int | None]:
    """Return the keys of the annotators whose votes are provisional in this campaign, as a subquery."""
    vetted = Exclusion.objects.filter(campaign=campaign, annotator=OuterRef("annotator"), provisional=True, lifted=True)
    facts = Exclusion.objects.filter(~Exists(vetted), campaign=campaign, provisional=True, lifted=False)
    return facts.values_list("annotator", flat=True)


def votes_given(campaign: Campaign, annotators: QuerySet[Exclusion, int | None]) -> dict[int, int]:
    """Return how many votes of each of these annotators would count if they did."""
    given = Judgment.objects.filter(COUNTABLE, batch__campaign=campaign, annotator__in=annotators).order_by()
    return {key or 0: count for key, count in given.values_list("annotator").annotate(count=Count("pk"))}


def judgments_taken_back(batches: Collection[int]) -> set[int]:
    """Return keys of the judgments that judgments of these batches (keys) superseded.

    Each of them counted until that batch was closed.
    """
    taking = Judgment.objects.filter(batch__in=batches, supersedes__isnull=False)
    return {key for key in taking.values_list("supersedes", flat=True) if key is not None}


def _exclusions(campaigns: list[Campaign]) -> int:
    facts = Exclusion.objects.filter(campaign__in=campaigns, proposed=False)
    return facts.exclude(provisional=True, lifted=False).count()  # a newcomer begins without votes


def _closed_batches_version(campaigns: list[Campaign]) -> str:
    """Return a version of the closed batches: it changes when one closes, and when judgments are removed with their
    person."""
    closed, removals = _closed_and_removals(campaigns)
    return f"{closed}-{removals}"


def _closed_and_removals(campaigns: list[Campaign]) -> tuple[int, int]:
    """Return the number of closed batches, and of removals of judgments together with their person.

    Removals are counted in the log: one of only over-quota answers leaves no assignment as REMOVED.
    """
    closed = Batch.objects.filter(campaign__in=campaigns, state=Batch.State.CLOSED)
    return closed.count(), len(_removals([one.public_id for one in campaigns]))


@dataclass(frozen=True, slots=True)
class Excluded:
    """Excluded annotators by campaign id (an exclusion applies to one campaign), and excluded single judgments."""

    annotators: Mapping[int, set[int]]
    judgments: set[int]


def _excluded(campaigns: list[Campaign], without: LeftOut = LeftOut.EXCLUDED) -> Excluded:
    """Return the exclusions in force. The latest fact about each subject decides."""
    if without is LeftOut.NOBODY:
        return Excluded({}, set())
    last: dict[tuple[int, int | None, int | None], bool] = {}
    for _, campaign, annotator, judgment, lifted, person, _ in _facts_in_force([one.pk for one in campaigns]):
        by_rule = person is None and annotator is not None
        last[campaign, annotator, judgment] = not lifted and (without is LeftOut.EXCLUDED or not by_rule)
    annotators: dict[int, set[int]] = {}
    for (number, someone, _), out in last.items():
        if out and someone is not None:
            annotators.setdefault(number, set()).add(someone)
    return Excluded(annotators, {single for (_, _, single), out in last.items() if out and single is not None})


def annotators_excluded(campaign: Campaign) -> set[int]:
    """Return ids of the annotators who are excluded in this campaign now."""
    return _excluded([campaign]).annotators.get(campaign.pk, set())


def annotators_uncounted(campaign: Campaign) -> set[int]:
    """Return ids of the annotators whose judgments do not count in this campaign now: excluded ones and newcomers."""
    provisional = newcomers(campaign) if campaign.vetting_votes else ()
    return annotators_excluded(campaign) | {key for key in provisional if key is not None}


def judgments_left_out(campaign: Campaign) -> dict[int, int]:
    """Return how many judgments of each annotator id are excluded individually and would otherwise count."""
    single = Judgment.objects.filter(COUNTABLE, batch__campaign=campaign, pk__in=_excluded([campaign]).judgments)
    return dict(single.order_by().values_list("annotator").annotate(count=Count("pk")))


@dataclass(frozen=True, slots=True)
class AnnotatorState:
    """An annotator's status in a campaign. `decided`: a person has decided; `proposal`: a person must decide.

    provisional: a newcomer, whose votes do not count yet.
    """

    out: bool
    decided: bool
    proposal: Exclusion | None
    provisional: bool = False

    @property
    def counts(self) -> bool:
        return not (self.out or self.provisional)

    @property
    def is_flagged(self) -> bool:
        """Return whether the annotator is excluded, or proposed for exclusion."""
        return self.out or (self.proposal is not None and not self.proposal.lifted)


IN_GOOD_STANDING = AnnotatorState(out=False, decided=False, proposal=None)


def standings(campaign: Campaign) -> dict[int, AnnotatorState]:
    """Return the status of each annotator id with any fact."""
    found: dict[int, AnnotatorState] = {}
    for fact in Exclusion.objects.filter(campaign=campaign, annotator__isnull=False).order_by("pk"):
        number = fact.annotator_id or 0
        before = found.get(number, IN_GOOD_STANDING)
        if fact.provisional:
            found[number] = replace(before, provisional=not fact.lifted and campaign.vetting_votes > 0)
        elif fact.proposed:  # a proposal without effect withdraws an earlier one
            found[number] = replace(before, proposal=None if fact.lifted != before.out else fact)
        else:
            person = fact.decided_by_id is not None
            found[number] = replace(before, out=not fact.lifted, decided=person, proposal=None)
    return found


def is_excluded(*, campaign: Campaign, annotator: Annotator) -> bool:
    """Return whether this annotator's judgments are excluded in the campaign now."""
    return _latest_lifted(campaign.pk, annotator.pk) == [False]


@composed
def _latest_lifted(campaign: int, annotator: int) -> QuerySet[Exclusion, bool]:
    facts = Exclusion.objects.filter(campaign=campaign, annotator=annotator, proposed=False, provisional=False)
    return facts.order_by("-pk").values_list("lifted", flat=True)[:1]


def is_newcomer(*, campaign: Campaign, annotator: Annotator) -> bool:
    """Return whether this annotator's votes are provisional in the campaign now."""
    return bool(campaign.vetting_votes) and newcomers(campaign).filter(annotator=annotator).exists()


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Votes by item: judged, as the next fit sees them, and pending."""

    judged: Mapping[str, int]
    pending: Mapping[str, int]


def item_counts(campaign: Campaign) -> ItemCounts:
    """Return the votes by item: judged and pending.

    Pending are issued assignments, and answers in an open batch.

    Votes that do not count, or will not count because of an exclusion, leave their item to be planned again.
    """
    ranking = _without_excluded(campaign, Assignment.objects.filter(campaign=campaign, purpose__in=RANKING_PURPOSES))
    answered = Q(state=Assignment.State.ANSWERED)
    # Count the first judgment: one that supersedes it changes the answer, but not the number of votes.
    first = Q(judgments__supersedes__isnull=True)
    seen, unseen = Q(judgments__batch__state=Batch.State.CLOSED), Q(judgments__batch__state=Batch.State.OPEN)
    return ItemCounts(
        judged=_per_item(ranking.filter(answered & first & seen)),
        pending=_per_item(ranking.filter(Q(state=Assignment.State.ISSUED) | (answered & first & unseen))),
    )


def _without_excluded(campaign: Campaign, ranking: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Filter out assignments of newcomers and excluded annotators, and those with an excluded judgment."""
    excluded = _excluded([campaign])
    if campaign.vetting_votes:
        ranking = ranking.exclude(annotator__isnull=False, annotator__in=newcomers(campaign))
    if excluded.annotators:
        ranking = ranking.exclude(annotator__isnull=False, annotator__in=excluded.annotators[campaign.pk])
    if excluded.judgments:
        ranking = ranking.exclude(judgments__in=excluded.judgments)
    return ranking


def judgments_spent(campaign: Campaign) -> int:
    """Return the answers for ranking since the campaign opened, which the budget pays whatever their later status."""
    removed = Q(state=Assignment.State.REMOVED, closed_at__isnull=False)
    answered = Assignment.objects.filter(
        Q(state=Assignment.State.ANSWERED) | removed, campaign=campaign, purpose__in=RANKING_PURPOSES
    )
    return answered.filter(closed_at__gte=campaign.opened_at).count() if campaign.opened_at else answered.count()


def budget_left(campaign: Campaign) -> int | None:
    """Return how many assignments may still be issued within the campaign's limits; None without limits.

    Issued assignments count as spent. After the deadline there are none.
    """
    budget = judgments_allowed(campaign, timezone.now())
    if budget is None:
        return None
    issued = Assignment.objects.filter(
        campaign=campaign, state=Assignment.State.ISSUED, purpose__in=RANKING_PURPOSES
    ).count()
    return max(0, budget - judgments_spent(campaign) - issued)


def _per_item(assignments: QuerySet[Assignment]) -> dict[str, int]:
    """Count the assignments by item. Joins must not duplicate any of them.

    A count of distinct assignments would sort all of them first, which takes three times as long.
    """
    return dict(assignments.values_list("item").annotate(count=Count("pk")))


@dataclass(frozen=True, slots=True)
class Tally:
    judgments: int
    annotators: int


def tally(campaigns: Iterable[Campaign]) -> Tally:
    """Return the numbers for headers: judgments in force, and their annotators.

    Readers poll every other second, and counting 100,000 rows takes 60 ms. Closed batches are therefore counted once,
    since only a person's erasure changes them. Open batches are counted each time.
    """
    campaigns = list(campaigns)
    name = f"tally:{'-'.join(str(campaign.public_id) for campaign in campaigns)}:{_closed_batches_version(campaigns)}"
    closed: Tally | None = cache.get(name)
    if closed is None:
        closed = _tally(campaigns, Batch.State.CLOSED)
        cache.set(name, closed, TALLY_KEPT_S)
    since = _tally(campaigns, Batch.State.OPEN)
    return Tally(closed.judgments + since.judgments, closed.annotators + since.annotators)


def _tally(campaigns: list[Campaign], state: Batch.State) -> Tally:
    """Count the batches of this state. A superseding judgment counts in place of the superseded one."""
    given = Judgment.objects.filter(batch__campaign__in=campaigns)
    before = given.filter(batch__state=Batch.State.CLOSED, annotator=OuterRef("annotator"))
    new = Q() if state == Batch.State.CLOSED else ~Exists(before)
    counted = given.filter(batch__state=state).aggregate(
        judgments=Count("pk") - Count("supersedes"), annotators=Count("annotator", distinct=True, filter=new)
    )
    return Tally(counted["judgments"], counted["annotators"])


def judgments_given(*, campaign: Campaign, annotator: Annotator) -> int:
    """Return the annotator's number of judgments towards the quota, without late answers over the quota."""
    given = Judgment.objects.filter(batch__campaign=campaign, annotator=annotator, over_quota=False)
    return given.filter(superseded_by__isnull=True).count()


def quota_taken(*, campaign: int, annotator: int | None) -> int:
    """Return the annotator's judged and open assignments. One that is answered meanwhile counts once."""
    judged = Exists(Judgment.objects.filter(assignment=OuterRef("pk"), over_quota=False))
    held = Q(state__in=[Assignment.State.ISSUED, Assignment.State.ANSWERED, Assignment.State.REMOVED])
    return Assignment.objects.filter(held | judged, campaign=campaign, annotator=annotator).count()


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """An annotator's progress in a campaign. `pay` is the earned amount by currency; each assignment counts once.

    provisional: the votes of a newcomer do not count yet.
    """

    judgments: int
    open: int
    quota: int | None
    pay: Mapping[str, Decimal]
    provisional: bool


def progress_get(*, campaign: Campaign, annotator: Annotator) -> AnnotatorProgress:
    """Return an annotator's own counts.

    A late answer is paid like any other, but not over the quota. A superseded answer is not paid twice.
    """
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    return AnnotatorProgress(
        judgments=judgments_given(campaign=campaign, annotator=annotator),
        open=own.filter(state=Assignment.State.ISSUED).count(),
        quota=campaign.quota,
        pay=pay_of(own),
        provisional=is_newcomer(campaign=campaign, annotator=annotator),
    )


def pay_of(assignments: QuerySet[Assignment]) -> dict[str, Decimal]:
    """Return the pay of the answered ones among these assignments, by currency."""
    pay: defaultdict[str, Decimal] = defaultdict(Decimal)
    for earned in earnings_of(assignments).values():
        for currency, amount in earned.items():
            pay[currency] += amount
    return dict(sorted(pay.items()))


def earnings_of(assignments: QuerySet[Assignment]) -> dict[int | None, dict[str, Decimal]]:
    """Return each annotator's pay for the answered assignments, by currency; hours to a hundredth of a cent.

    Removed judgments were earned all the same, and so were turns that a chatbot's failure made void.
    """
    # Nearly all are ANSWERED, which the index of accounts covers. Only for the others (late answers) are judgments
    # read.
    late = Exists(Judgment.objects.filter(assignment=OuterRef("pk"), over_quota=False))
    known = Q(state__in=[Assignment.State.ANSWERED, Assignment.State.REMOVED, Assignment.State.VOID])
    answered = assignments.filter(known | late, pay_rate__gt=0)
    groups = answered.order_by().values_list("annotator", "currency", "pay_rate", "pay_per")
    pay: dict[int | None, dict[str, Decimal]] = {}
    # Count and multiply in Python: SQLite adds decimals as floats, and amounts become 2.94999999999999.
    for someone, currency, rate, per, count, worked in groups.annotate(count=Count("pk"), worked=Sum("worked_ms")):
        units = Decimal(count) if per == Campaign.PayPer.JUDGMENT else Decimal(worked or 0) / HOUR_MS
        own = pay.setdefault(someone, {})
        own[currency] = own.get(currency, Decimal(0)) + (rate * units).quantize(LEAST_PAID, ROUND_HALF_UP)
    return pay


def queue_is_empty(campaign: Campaign) -> bool:
    return not Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).exists()


def answers_per_second(campaign: Campaign) -> int:
    """Return the number of answers in the second up to the last one: the current rate of answers.

    Returns 0 if the queue has items but nobody answers any more. An empty queue does not look like a lack of
    annotators.
    """
    batches = Batch.objects.filter(campaign=campaign)
    of_plan = Q(assignment__source=Assignment.Source.PLAN, assignment__purpose__in=RANKING_PURPOSES)
    given = Judgment.objects.filter(of_plan, supersedes=None)  # gold and corrections take nothing from a queue
    newest = list(batches.order_by("-number").values_list("pk", flat=True)[:2])
    last = given.filter(batch__in=newest).aggregate(last=Max("answered_at"))["last"]
    if last is None or (timezone.now() - last > IDLE_AFTER and not queue_is_empty(campaign)):
        return 0
    since = last - PACE_OVER
    recent = batches.filter(Q(state=Batch.State.OPEN) | Q(closed_at__gt=since))
    return given.filter(batch__in=list(recent.values_list("pk", flat=True)), answered_at__gt=since).count()


@dataclass(frozen=True, slots=True)
class Accounting:
    """All judgments of some campaigns by their fate; the parts add up to `recorded`.

    - `superseded`: replaced by a later one of the same annotator.
    - `waiting`: in an open batch.
    - `checks`: not for ranking.
    - `late`: its place had been filled by another annotator, or it exceeded the quota.
    - `provisional`: by a newcomer who is not vetted yet.
    - `excluded`: by a decision with its reason on record.
    """

    recorded: int
    superseded: int
    waiting: int
    checks: int
    late: int
    provisional: int
    excluded: int
    counted: int


def accounting(campaigns: Iterable[Campaign]) -> Accounting:
    """Return the accounting of the judgments of these campaigns."""
    campaigns = list(campaigns)
    in_force = Q(superseded_by__isnull=True)
    closed = in_force & Q(batch__state=Batch.State.CLOSED)
    ranking = closed & Q(assignment__purpose__in=RANKING_PURPOSES)
    found = Judgment.objects.filter(batch__campaign__in=campaigns).aggregate(
        recorded=Count("pk"),
        in_force=Count("pk", filter=in_force),
        closed=Count("pk", filter=closed),
        ranking=Count("pk", filter=ranking),
        answered=Count("pk", filter=ranking & Q(assignment__state=Assignment.State.ANSWERED)),
    )
    counted = judgments_counted(campaigns).count()
    vetting = [one for one in campaigns if one.vetting_votes]
    provisional = sum(
        sum(votes_given(one, newcomers(one).exclude(annotator__in=annotators_excluded(one))).values())
        for one in vetting
    )
    return Accounting(
        recorded=found["recorded"],
        superseded=found["recorded"] - found["in_force"],
        waiting=found["in_force"] - found["closed"],
        checks=found["closed"] - found["ranking"],
        late=found["ranking"] - found["answered"],
        provisional=provisional,
        excluded=found["answered"] - counted - provisional,
        counted=counted,
    )


def skips_by_reason(campaigns: Iterable[Campaign]) -> dict[str, int]:
    """Return how often assignments were skipped, by reason."""
    skips = Skip.objects.filter(assignment__campaign__in=list(campaigns), assignment__state=Assignment.State.RETURNED)
    return dict(skips.order_by().values_list("reason").annotate(count=Count("pk")))
