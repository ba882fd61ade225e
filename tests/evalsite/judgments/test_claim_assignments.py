"""Claiming a block: the best of the queue, each to one annotator, no item twice to anybody."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import organisation_create
from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.services import Design, campaign_stop, entrant_add
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.errors import NotAllowed
from evalsite.judgments.blocks import WINDOW
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.leases import assignments_expire, assignments_return
from evalsite.judgments.models import Annotator, Assignment, Candidate, Enrolment, Judgment
from evalsite.judgments.selectors import budget_left, quota_taken
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.refits.mapping import Planner
from scheduler import plan
from tests.environment import FULL, PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits

pytestmark = pytest.mark.database
CLAIMS = 200 if FULL else 80


def answer(annotator: Annotator, block: list[Assignment]) -> None:
    for assignment in block:
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": "tie"})


def test_a_block_has_the_campaigns_size_and_no_prompt_twice(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    assert len(block) == campaign.block_size
    prompts = [item_parts(assignment.item)[0] for assignment in block]
    assert len(set(prompts)) == len(prompts)
    assert {assignment.state for assignment in block} == {Assignment.State.ISSUED}
    assert all(assignment.lease_until and assignment.issued_at for assignment in block)


def test_asking_again_gives_the_same_open_block(campaign: Campaign, bob: Annotator) -> None:
    first = assignment_claim(campaign=campaign, annotator=bob)
    again = assignment_claim(campaign=campaign, annotator=bob)
    assert [assignment.pk for assignment in again] == [assignment.pk for assignment in first]


def test_two_annotators_never_hold_the_same_assignment(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    of_bob = assignment_claim(campaign=campaign, annotator=bob)
    of_dora = assignment_claim(campaign=campaign, annotator=dora)
    assert of_dora
    assert not {a.place_id for a in of_bob} & {a.place_id for a in of_dora}


def test_nobody_gets_an_item_twice_until_there_is_nothing_left(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=3, prompts=4)
    bob, given = annotator_enrol(campaign=campaign), 0
    while judged := judge(campaign, bob):
        given += judged
        run_only_refits()
    items = list(Assignment.objects.filter(annotator=bob).values_list("item", flat=True))
    assert len(items) == len(set(items)) == given == 3 * 4  # three pairs of three chatbots, four prompts


def test_candidates_are_two_entrants_on_mixed_sides(campaign: Campaign, bob: Annotator) -> None:
    assert not Candidate.objects.exists(), "what waits shows nothing yet"
    sides = set()
    while block := assignment_claim(campaign=campaign, annotator=bob):
        for assignment in block:
            first, second = assignment.candidates.all()
            assert {first.entrant_id, second.entrant_id} == set(item_parts(assignment.item)[1])
            sides.add((first.entrant_id or 0) < (second.entrant_id or 0))
        answer(bob, block)
    assert sides == {True, False}


def test_each_annotator_gets_their_own_order_of_prompts(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, block_size=8), chatbots=2, prompts=8)
    orders = []
    for annotator in [annotator_enrol(campaign=campaign) for _ in range(4)]:
        block = assignment_claim(campaign=campaign, annotator=annotator)
        orders.append([assignment.item for assignment in block])
        assignments_return(campaign=campaign, annotator=annotator)
        run_only_refits()
    assert {frozenset(order) for order in orders} == {frozenset(orders[0])}, "all of them get the same eight"
    assert len({tuple(order) for order in orders}) > 1


def test_a_reply_that_was_taken_back_after_the_plan_is_not_shown(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=2, prompts=3)
    reply = Reply.objects.order_by("pk")[0]
    Reply.objects.create(version=reply.version, prompt=reply.prompt, revision=2, corrects=reply, origin=reply.origin)
    block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
    assert {assignment.place.prompt_id for assignment in block} == set(
        campaign.prompt_set.prompts.exclude(pk=reply.prompt_id).values_list("pk", flat=True)
    )


def test_each_planned_assignment_says_how_it_was_chosen(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, blocks=2)
    run_only_refits()
    snapshot = Snapshot.objects.get()
    queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)
    seeds = {assignment.plan_seed for assignment in queued}
    assert len(seeds) == 1, "of one plan"
    assert seeds.isdisjoint(Assignment.objects.filter(snapshot=None).values_list("plan_seed", flat=True))
    for assignment in queued:
        assert (assignment.policy, assignment.snapshot) == (campaign.policy, snapshot.public_id)
        assert assignment.probability is not None
        assert 0 < assignment.probability <= 1
    assert Assignment.objects.filter(state=Assignment.State.ANSWERED, snapshot=None, probability__gt=0).exists()


def test_queue_rows_reproduce_the_draw_of_their_plan(campaign: Campaign) -> None:
    rows = Assignment.objects.filter(campaign=campaign).order_by("priority")
    planner = Planner(campaign)
    first = rows[0]
    assert first.plan_seed is not None
    again = plan(
        planner.state(None, 0), policy=first.policy, count=len(rows), seed=first.plan_seed, design=planner.design
    )
    drawn = [(ask.item, ask.probability) for ask in planner.asks(again.asks)]
    assert drawn == list(rows.values_list("item", "probability"))


def test_a_campaign_that_has_stopped_issues_nothing(campaign: Campaign, bob: Annotator) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    assert assignment_claim(campaign=campaign, annotator=bob) == []


def test_after_a_stop_the_open_block_is_still_there_to_answer(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    campaign_stop(campaign=campaign, reason="enough")
    assert assignment_claim(campaign=campaign, annotator=bob) == block


def test_the_quota_ends_an_annotators_work(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, quota=4))
    bob = annotator_enrol(campaign=campaign)
    assert judge(campaign, bob, blocks=5) == 4


def test_budget_left_is_without_what_is_issued(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=10))
    bob = annotator_enrol(campaign=campaign)
    first, *_ = assignment_claim(campaign=campaign, annotator=bob)
    assert budget_left(campaign) == 7
    answer(bob, [first])
    assert budget_left(campaign) == 7


def test_who_has_not_joined_is_refused(campaign: Campaign) -> None:
    with pytest.raises(NotAllowed):
        assignment_claim(campaign=campaign, annotator=Annotator.objects.create())


def test_a_stranger_may_not_join_a_campaign_for_members(make_campaign: CampaignMaker, charlie: User) -> None:
    campaign = make_campaign(design=Design(), start=False)
    with pytest.raises(NotAllowed):
        annotator_enrol(campaign=campaign, user=charlie)


def test_no_annotator_judges_own_chatbots_in_other_campaigns(make_campaign: CampaignMaker, charlie: User) -> None:
    campaign = make_campaign(prompts=2)
    entrant = campaign.entrants.order_by("pk")[0]
    Chatbot.objects.filter(pk=entrant.version.chatbot_id).update(organisation=charlie.personal_organisation)
    submitter = annotator_enrol(campaign=campaign, user=charlie)
    seen = set()
    while block := assignment_claim(campaign=campaign, annotator=submitter):
        for assignment in block:
            seen |= set(assignment.candidates.values_list("entrant", flat=True))
            judgment_record(annotator=submitter, assignment_id=assignment.public_id, choices={"overall": "tie"})
        run_only_refits()
    assert seen == set(campaign.entrants.values_list("pk", flat=True)) - {entrant.pk}


def test_members_judge_chatbots_of_their_own_private_campaign(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(design=Design(batch_size=5, block_size=3))
    member = annotator_enrol(campaign=campaign, user=alice)
    assert len(assignment_claim(campaign=campaign, annotator=member)) == 3


@pytest.mark.parametrize("visibility", ["public", "link"])
def test_owner_does_not_judge_own_chatbots_on_a_visible_board(
    campaign: Campaign, alice: User, bob: Annotator, visibility: str
) -> None:
    Campaign.objects.update(visibility=visibility)
    owner = annotator_enrol(campaign=campaign, user=alice)
    assert assignment_claim(campaign=campaign, annotator=owner) == []
    assert len(assignment_claim(campaign=campaign, annotator=bob)) == 3, "everybody else judges them"


def test_owner_of_a_public_campaign_judges_other_chatbots(campaign: Campaign, alice: User) -> None:
    others = campaign.entrants.order_by("pk")[:2]
    chatbots = Chatbot.objects.filter(versions__entrants__in=[one.pk for one in others])
    chatbots.update(organisation=organisation_create(name="Elsewhere"))
    owner = annotator_enrol(campaign=campaign, user=alice)
    block = assignment_claim(campaign=campaign, annotator=owner)
    shown = {candidate.entrant_id for one in block for candidate in one.candidates.all()}
    assert shown == {one.pk for one in others}


def test_private_campaign_of_others_excludes_own_chatbots(make_campaign: CampaignMaker, charlie: User) -> None:
    campaign = make_campaign(design=Design(batch_size=5, block_size=12))
    CampaignRole.objects.create(campaign=campaign, user=charlie, role="viewer")
    entrant = campaign.entrants.order_by("pk")[0]
    Chatbot.objects.filter(pk=entrant.version.chatbot_id).update(organisation=charlie.personal_organisation)
    guest = annotator_enrol(campaign=campaign, user=charlie)
    block = assignment_claim(campaign=campaign, annotator=guest)
    shown = {candidate.entrant_id for one in block for candidate in one.candidates.all()}
    assert shown == set(campaign.entrants.values_list("pk", flat=True)) - {entrant.pk}


def test_campaign_made_private_issues_nothing_to_non_members(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    Campaign.objects.update(visibility="private")
    assert assignment_claim(campaign=campaign, annotator=bob) == block, "what is issued may still be answered"
    for assignment in block:
        judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "tie"})
    with pytest.raises(NotAllowed):
        assignment_claim(campaign=campaign, annotator=bob)


def test_account_is_one_annotator_in_every_browser(campaign: Campaign, charlie: User) -> None:
    pseudonym = annotator_enrol(campaign=campaign)
    assert annotator_enrol(campaign=campaign, annotator=pseudonym, user=charlie) == pseudonym
    elsewhere = annotator_enrol(campaign=campaign)
    assert annotator_enrol(campaign=campaign, annotator=elsewhere, user=charlie) == pseudonym


def test_a_block_is_never_larger_than_the_campaigns(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, quota=60), prompts=20)
    for count, given in [(None, 3), (1, 1), (50, 3)]:
        annotator = annotator_enrol(campaign=campaign)
        assert len(assignment_claim(campaign=campaign, annotator=annotator, count=count)) == given


@pytest.mark.django_db(transaction=True)
def test_twenty_claims_at_once_issue_no_assignment_twice(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=6, prompts=20)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(20)]
    blocks: list[list[int]] = []
    together = threading.Barrier(len(annotators))

    def claim(annotator: Annotator) -> None:
        together.wait()
        own = Campaign.objects.get(pk=campaign.pk)
        blocks.append([row.place_id for row in assignment_claim(campaign=own, annotator=annotator)])
        connection.close()

    threads = [threading.Thread(target=claim, args=(annotator,)) for annotator in annotators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    places = [place for block in blocks for place in block]
    assert len(blocks) == len(annotators), "every claim was answered"
    assert places
    assert len(places) == len(set(places))
    assert sum(Enrolment.objects.values_list("blocks_claimed", flat=True)) == sum(1 for block in blocks if block)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_claims_get_different_assignments(make_campaign: CampaignMaker) -> None:
    """SQLite lets one claim wait for the other; PostgreSQL lets it pass over what is being claimed.

    All that waits here is what a block is composed from: a claim that locked that would leave nothing to the next.
    """
    campaign = make_campaign(chatbots=3, prompts=10, design=replace(OPEN, block_size=10))
    assert Assignment.objects.filter(state="queued").count() <= WINDOW * 10
    first, second = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    blocks: list[set[int]] = []
    claimed, seen = threading.Event(), threading.Event()

    def claim() -> None:
        with transaction.atomic():
            blocks.append({row.pk for row in assignment_claim(campaign=campaign, annotator=first)})
            claimed.set()
            seen.wait(PATIENCE_S if connection.vendor == "postgresql" else 0)
        connection.close()

    thread = threading.Thread(target=claim)
    thread.start()
    claimed.wait(PATIENCE_S)
    own = Campaign.objects.get(pk=campaign.pk)
    blocks.append({row.pk for row in assignment_claim(campaign=own, annotator=second)})
    seen.set()
    thread.join()
    assert all(blocks), "nobody is sent away"
    assert blocks[0].isdisjoint(blocks[1])


@pytest.mark.django_db(transaction=True)
def test_many_parallel_claims_never_exceed_the_wanted_votes(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, batch_size=100, votes_per_item=2), chatbots=3, prompts=20)
    queued = set(Assignment.objects.filter(state=Assignment.State.QUEUED).values_list("pk", flat=True))
    annotators = [annotator_enrol(campaign=campaign) for _ in range(CLAIMS)]
    issued: list[int] = []
    together = threading.Barrier(CLAIMS // 5)

    def claim(own: list[Annotator]) -> None:
        together.wait()
        try:
            for annotator in own:
                block = assignment_claim(campaign=Campaign.objects.get(pk=campaign.pk), annotator=annotator)
                issued.extend(row.pk for row in block)
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=(annotators[start :: CLAIMS // 5],)) for start in range(CLAIMS // 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(issued) == len(set(issued)), "no assignment to two annotators"
    assert set(issued) <= queued
    assert len(issued) > len(queued) / 2, "what others are just looking at may be passed over, but not most of it"
    asked = Counter(Assignment.objects.filter(state=Assignment.State.ISSUED).values_list("item", flat=True))
    assert sum(asked.values()) == len(issued)
    assert max(asked.values()) == campaign.votes_per_item
    per_annotator = Counter(Assignment.objects.filter(annotator__isnull=False).values_list("annotator", "item"))
    assert max(per_annotator.values()) == 1


@pytest.mark.django_db(transaction=True)
def test_parallel_claims_of_one_annotator_respect_the_quota(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(design=replace(OPEN, batch_size=100, quota=7), chatbots=4, prompts=20)
    bob = annotator_enrol(campaign=campaign)
    together = threading.Barrier(8)
    failures: list[Exception] = []

    def work() -> None:
        together.wait()
        try:
            own = Campaign.objects.get(pk=campaign.pk)
            while block := assignment_claim(campaign=own, annotator=bob):
                answer(bob, block)  # the others answer the same ones: each is one judgment
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to show it
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Assignment.objects.filter(annotator=bob).count() == Judgment.objects.count() == 7
    assert not Assignment.objects.filter(state=Assignment.State.ISSUED).exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_claims_and_late_answers_respect_the_quota(make_campaign: CampaignMaker) -> None:
    """What is paid and what is open are never more than it, whoever comes first; and no answer is lost."""
    campaign = make_campaign(design=replace(OPEN, batch_size=100, quota=3), chatbots=4, prompts=20)
    bob = annotator_enrol(campaign=campaign)
    late = assignment_claim(campaign=campaign, annotator=bob)
    Assignment.objects.filter(state="issued").update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    together = threading.Barrier(2 * len(late))
    failures: list[Exception] = []

    def at_once(do: Callable[[], object]) -> None:
        together.wait()
        try:
            do()
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to show it
            failures.append(error)
        finally:
            connection.close()

    def claim() -> object:
        return assignment_claim(campaign=Campaign.objects.get(pk=campaign.pk), annotator=bob)

    work: list[Callable[[], object]] = [*[partial(answer, bob, [one]) for one in late], *[claim] * len(late)]
    threads = [threading.Thread(target=at_once, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Judgment.objects.count() == len(late)
    within = Judgment.objects.filter(over_quota=False).count()
    held = Assignment.objects.filter(annotator=bob, state=Assignment.State.ISSUED).count()
    assert within + held == quota_taken(campaign=campaign.pk, annotator=bob.pk) == 3


def test_two_replies_of_the_same_words_are_never_shown_together(make_campaign: CampaignMaker) -> None:
    """They are a tie that everybody knows; every other comparison is asked."""
    campaign = make_campaign(start=False, chatbots=3, prompts=2)
    first = campaign.entrants.select_related("version").order_by("pk")[0].version
    same = {reply.prompt: reply.text for reply in first.replies.select_related("prompt")}
    twin = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="twin"))
    replies_add(version=twin, replies=same, origin=Reply.Origin.FILE)
    entrant_add(campaign=campaign, version=twin)
    campaign_open(campaign=campaign)
    run_only_refits()
    annotator = annotator_enrol(campaign=campaign)
    while judge(campaign, annotator, "tie"):
        run_only_refits()
    shown = [
        frozenset(assignment.candidates.values_list("reply__text", flat=True))
        for assignment in Assignment.objects.exclude(block=None)
    ]
    assert {len(texts) for texts in shown} == {2}
    pairs = Assignment.objects.exclude(block=None).values_list("item", flat=True)
    assert len(set(pairs)) == 2 * (6 - 1)
