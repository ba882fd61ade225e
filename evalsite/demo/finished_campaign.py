"""The finished campaign of the demonstration: an example beside the running one, made of simulated judgments in bulk.

It has the same chatbots and prompts, and a panel of twelve with careless and adversarial members. Every item is judged
by two annotators. The worker fits the campaign once and screens its annotators, so that its console shows who judges
carelessly.
"""

import random
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations, cycle
from typing import NamedTuple

from django.utils import timezone

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.core.db import write_transaction
from evalsite.demo.annotators import AnnotatorKind, JsonObject, SimulatedAnnotator, panel
from evalsite.demo.services import DESIGN, FINISHED_SLUG, SEED, SLUG
from evalsite.demo.truth import SimulatedTruth, load_prompts
from evalsite.judgments.answer_rows import answers_of
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Enrolment, Judgment, Place
from evalsite.operations.services import campaign_open
from evalsite.refits.services import campaign_close
from scheduler.reasons import Reason

ANNOTATORS, ITEMS, VOTES_PER_ITEM = 12, 720, 2
READING_MS, HASTY_MS = 9_000, 1_200  # median time of a judgment
PER_JUDGMENT = timedelta(seconds=5)  # of the whole panel
LABELS = "AB"


class Side(NamedTuple):
    """A reply of an item, with its text and its entrant."""

    entrant: int
    reply: int
    text: str


@dataclass(frozen=True, slots=True)
class SimulatedJudgment:
    """A judgment to store: an item's two sides in the order shown, and the verdict of one annotator."""

    prompt: int
    sides: tuple[Side, Side]
    annotator: int
    verdict: str
    client_ms: int
    answered_at: datetime

    @property
    def item(self) -> str:
        return item_of(self.prompt, [side.entrant for side in self.sides])


def finished_campaign_load(*, items: int = ITEMS) -> Campaign:
    """Return the finished campaign, after `demonstration_load`. Create it on the first call, in one transaction."""
    campaign: Campaign | None = Campaign.objects.filter(slug=FINISHED_SLUG).first()
    if campaign is not None:
        return campaign
    demonstration = Campaign.objects.get(slug=SLUG)
    # The verdicts are drawn before the transaction: on SQLite, all writers wait for it.
    verdicts = list(_verdicts(demonstration, items))
    with write_transaction():
        return _finished_campaign(demonstration, verdicts)


def finished_campaign_load_after(demonstration: Campaign, *, at_most_s: float) -> Campaign:
    """Create the finished campaign after the first board of the demonstration, which it must not delay."""
    deadline = time.monotonic() + at_most_s
    first = Snapshot.objects.filter(board__default_of=demonstration)
    while not first.exists() and time.monotonic() < deadline:
        time.sleep(0.5)
    return finished_campaign_load()


def _finished_campaign(demonstration: Campaign, verdicts: Sequence["_Verdict"]) -> Campaign:
    campaign = campaign_create(
        organisation=demonstration.organisation,
        name="Small chatbots, finished",
        slug=FINISHED_SLUG,
        prompt_set=demonstration.prompt_set,
        design=replace(DESIGN, votes_per_item=VOTES_PER_ITEM, target_se=None, budget=len(verdicts)),
        description="An example of a finished campaign with the same eight chatbots. Twelve simulated annotators "
        "judged; the console shows which of them judged carelessly.",
    )
    versions = [one.version for one in _entrants(demonstration)]
    for version in versions:
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    _store(campaign, _judgments(campaign, verdicts))
    campaign_close(campaign=campaign, reason=Reason("budget_spent", {"judgments": len(verdicts)}), notify=False)
    began = timezone.now() - len(verdicts) * PER_JUDGMENT
    Campaign.objects.filter(pk=campaign.pk).update(started_at=began, opened_at=began)
    campaign.refresh_from_db()
    return campaign


# Verdicts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A verdict before its campaign exists: replies instead of entrants."""

    prompt: int
    replies: tuple[Reply, Reply]
    annotator: int
    choice: str
    client_ms: int


def _entrants(campaign: Campaign) -> list[Entrant]:
    active = campaign.entrants.filter(state=Entrant.State.ACTIVE)
    return list(active.select_related("version").order_by("pk"))


def _verdicts(demonstration: Campaign, items: int) -> Iterator[_Verdict]:
    """Yield the verdicts on random items, each of two annotators, in a random order."""
    rng = random.Random(SEED)  # noqa: S311  (a simulation, no secret)
    versions = [entrant.version_id for entrant in _entrants(demonstration)]
    prompts = dict(demonstration.prompt_set.prompts.values_list("pk", "key"))
    replies = {(one.prompt_id, one.version_id): one for one in Reply.objects.filter(version__in=versions)}
    members = panel(ANNOTATORS, SEED, SimulatedTruth.of(load_prompts()))
    every = [(prompt, pair) for prompt in prompts for pair in combinations(versions, 2)]
    turns = cycle(_annotator_pairs(rng))
    asked = [(prompt, pair, who) for prompt, pair in rng.sample(every, min(items, len(every))) for who in next(turns)]
    rng.shuffle(asked)
    for prompt, pair, who in asked:
        first, second = (replies[prompt, version] for version in rng.sample(pair, 2))
        member = members[who]
        choice = member.judge(_assignment(prompts[prompt], first, second), rng)
        yield _Verdict(prompt, (first, second), who, choice, _client_ms(member, rng))


def _annotator_pairs(rng: random.Random) -> list[tuple[int, int]]:
    """Return all pairs of annotators in a random order, so that each judges as often as the others."""
    pairs = list(combinations(range(ANNOTATORS), 2))
    rng.shuffle(pairs)
    return pairs


def _assignment(prompt: str, first: Reply, second: Reply) -> JsonObject:
    """Return an assignment in the API's format."""
    shown = zip(LABELS, (first, second), strict=True)
    return {
        "context": {"prompt": prompt},
        "candidates": [
            {"label": label, "text": reply.text, "position": place} for place, (label, reply) in enumerate(shown)
        ],
        "aspects": [{"key": "overall", "choices": [*LABELS, "tie", "both_bad"]}],
    }


def _client_ms(member: SimulatedAnnotator, rng: random.Random) -> int:
    """Return a plausible time of a judgment, which is short for those who do not read."""
    typical = HASTY_MS if member.kind is AnnotatorKind.CARELESS else READING_MS
    return round(typical * rng.lognormvariate(0.0, 0.4))


# Rows ---------------------------------------------------------------------------------------------------


def _judgments(campaign: Campaign, verdicts: Sequence[_Verdict]) -> list[SimulatedJudgment]:
    """Return the judgments, evenly spread over the time before now."""
    entrants = {entrant.version_id: entrant.pk for entrant in _entrants(campaign)}
    people = Annotator.objects.bulk_create(Annotator(kind=Annotator.Kind.SIMULATED) for _ in range(ANNOTATORS))
    Enrolment.objects.bulk_create(Enrolment(campaign=campaign, annotator=one) for one in people)
    now = timezone.now()

    def side(reply: Reply) -> Side:
        return Side(entrants[reply.version_id], reply.pk, reply.text or "")

    return [
        SimulatedJudgment(
            one.prompt,
            (side(one.replies[0]), side(one.replies[1])),
            people[one.annotator].pk,
            one.choice,
            one.client_ms,
            now - (len(verdicts) - number) * PER_JUDGMENT,
        )
        for number, one in enumerate(verdicts)
    ]


def _store(campaign: Campaign, judgments: Sequence[SimulatedJudgment]) -> None:
    """Write the rows of answered assignments, in the order in which they refer to each other."""
    places = Place.objects.bulk_create(
        Place(campaign=campaign, prompt_id=one.prompt, item=one.item) for one in judgments
    )
    assignments = Assignment.objects.bulk_create(
        _answered(campaign, place, one) for place, one in zip(places, judgments, strict=True)
    )
    candidates = Candidate.objects.bulk_create(
        Candidate(assignment=assignment, position=position, entrant_id=side.entrant, reply_id=side.reply)
        for assignment, one in zip(assignments, judgments, strict=True)
        for position, side in enumerate(one.sides)
    )
    batch = Batch.objects.create(
        campaign=campaign, number=1, state=Batch.State.CLOSED, size=len(judgments), closed_at=timezone.now()
    )
    stored = Judgment.objects.bulk_create(
        Judgment(
            assignment=assignment,
            annotator_id=one.annotator,
            batch=batch,
            client_ms=one.client_ms,
            answered_at=one.answered_at,
        )
        for assignment, one in zip(assignments, judgments, strict=True)
    )
    aspect = aspect_primary(campaign)
    pairs = zip(candidates[::2], candidates[1::2], strict=True)
    Answer.objects.bulk_create(
        answer
        for judgment, one, pair in zip(stored, judgments, pairs, strict=True)
        for answer in _answers(aspect, judgment, one, pair)
    )


def _answered(campaign: Campaign, place: Place, one: SimulatedJudgment) -> Assignment:
    return Assignment(
        campaign=campaign,
        place=place,
        item=place.item,
        state=Assignment.State.ANSWERED,
        policy="random",
        annotator_id=one.annotator,
        block=uuid.uuid4(),
        issued_at=one.answered_at - timedelta(milliseconds=one.client_ms),
        lease_until=one.answered_at + timedelta(seconds=campaign.lease_s),
        closed_at=one.answered_at,
    )


def _answers(
    aspect: Aspect, judgment: Judgment, one: SimulatedJudgment, pair: tuple[Candidate, Candidate]
) -> list[Answer]:
    labels = {label: candidate.pk for label, candidate in zip(LABELS, pair, strict=True)}
    answers = answers_of(aspect, one.verdict, labels)
    for answer in answers:
        answer.judgment = judgment
    return answers
