"""What happens while a plan is made: claims, entrants, stops. The queue that is written fits what is then true."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.db import connection

from evalsite.boards.models import Board, Decision, Snapshot
from evalsite.boards.selectors import boards_public
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop, entrant_add, refit_request
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.db import write_transaction
from evalsite.core.models import Job
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Assignment, Batch, Exclusion
from evalsite.judgments.services import annotator_enrol
from evalsite.refits import planning
from evalsite.refits import refit as refit_module
from evalsite.refits.mapping import fit_input
from scheduler import Plan, decide, plan
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits

OPEN_OR_DONE = [Assignment.State.QUEUED, Assignment.State.ISSUED, Assignment.State.ANSWERED]


def while_planning(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen between the plan's making and its writing."""
    original = plan

    def planned(*args: object, **options: object) -> Plan:
        made = original(*args, **options)  # type: ignore[arg-type]
        happens()
        return made

    monkeypatch.setattr(planning, "plan", planned)


def test_an_item_claimed_while_the_plan_was_made_is_not_asked_again(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(chatbots=3, prompts=3)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(3)]
    while_planning(monkeypatch, lambda: [assignment_claim(campaign=campaign, annotator=one) for one in annotators])
    refit_request(campaign)
    run_only_refits()
    items = list(Assignment.objects.filter(campaign=campaign, state__in=OPEN_OR_DONE).values_list("item", flat=True))
    assert Assignment.objects.filter(state=Assignment.State.ISSUED).exists()
    assert len(items) == len(set(items))


def test_while_a_refit_writes_it_counts_nothing(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite everybody who answers waits for this transaction: what takes long is done before it."""
    judge(campaign, bob)
    written: list[str] = []

    def note(execute: Callable[..., object], sql: str, *args: object) -> object:
        written.append(sql)
        return execute(sql, *args)

    @contextmanager
    def watched() -> Iterator[None]:
        with write_transaction(), connection.execute_wrapper(note):
            yield

    monkeypatch.setattr(refit_module, "write_transaction", watched)
    refit_request(campaign)
    run_only_refits()
    assert [sql for sql in written if sql.startswith("UPDATE judgments_assignment")], "the queue was written"
    assert not [sql for sql in written if "GROUP BY" in sql or "judgments_judgment" in sql]
    assert len(written) < 30, "so many statements, however long the queue is"


def test_lost_lease_after_the_fit_decides_and_queues_nothing(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(campaign, bob, blocks=2)
    queue = set(Assignment.objects.filter(state=Assignment.State.QUEUED).values_list("pk", "snapshot"))
    running = Job.objects.filter(state=Job.State.RUNNING)
    while_planning(monkeypatch, lambda: running.update(lease_owner="another"))
    run_only_refits()
    assert Snapshot.objects.count() == 1, "readers need not wait for what follows from it"
    assert not Decision.objects.exists()
    assert set(Assignment.objects.filter(state=Assignment.State.QUEUED).values_list("pk", "snapshot")) == queue


def test_the_budget_holds_although_blocks_are_claimed_while_the_plan_is_made(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=10), chatbots=4, prompts=8)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(3)]
    while_planning(monkeypatch, lambda: [assignment_claim(campaign=campaign, annotator=one) for one in annotators])
    refit_request(campaign)
    run_only_refits()
    assert Assignment.objects.filter(campaign=campaign, state__in=OPEN_OR_DONE).count() <= 10


def test_a_budget_that_is_spent_stops_the_campaign_although_some_of_it_was_excluded(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=6), chatbots=4, prompts=8)
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge(campaign, bob)
    judge(campaign, dora)
    Exclusion.objects.create(campaign=campaign, annotator=dora, reason="always A")
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert "budget" in campaign.stop_reason


def add_newcomer(campaign: Campaign) -> None:
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="newcomer"))
    replies = {prompt: f"New words on {prompt.key}." for prompt in campaign.prompt_set.prompts.all()}
    replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
    entrant_add(campaign=campaign, version=version)


def test_a_standing_campaign_that_reopens_has_its_budget_again(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=6, standing=True), chatbots=3, prompts=8)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    add_newcomer(campaign)
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.RUNNING
    assert judge(campaign, annotator_enrol(campaign=campaign), blocks=4) == 6


def test_a_chatbot_that_joins_while_the_campaign_is_about_to_stop_is_judged(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=6, standing=True), chatbots=3, prompts=8)
    original = decide

    def decided(*args: object, **options: object) -> object:
        verdict = original(*args, **options)  # type: ignore[arg-type]
        if verdict.stop and not campaign.organisation.chatbots.filter(name="newcomer").exists():
            add_newcomer(campaign)
        return verdict

    monkeypatch.setattr(refit_module, "decide", decided)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.RUNNING
    newcomer = campaign.entrants.order_by("-pk")[0]
    queued = Assignment.objects.filter(state=Assignment.State.QUEUED).values_list("item", flat=True)
    assert any(newcomer.pk in item_parts(item)[1] for item in queued)


def test_a_stop_empties_the_queue_at_the_next_look(campaign: Campaign) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    refit_request(campaign)
    run_only_refits()
    assert not Assignment.objects.filter(state=Assignment.State.QUEUED).exists()


class TestBoardOverTwoCampaigns:
    @pytest.fixture
    def both(self, make_campaign: CampaignMaker) -> Board:
        first, second = make_campaign(slug="first"), make_campaign(slug="second")
        judges = annotator_enrol(campaign=first)
        annotator_enrol(campaign=second, annotator=judges)
        judge(first, judges)
        judge(second, judges)
        Batch.objects.update(state=Batch.State.CLOSED, closed_at=Batch.objects.order_by("pk")[0].opened_at)
        board = first.default_board
        board.campaigns.add(second)
        second_aspect = second.rubric.aspects.get()
        assert second_aspect != board.aspect
        result: Board = board
        return result

    def test_an_exclusion_in_one_campaign_leaves_the_votes_of_the_other(self, both: Board) -> None:
        before = len(fit_input(both).votes)
        assert both.default_of is not None
        other = both.campaigns.exclude(pk=both.default_of.pk)[0]
        Exclusion.objects.create(campaign=other, annotator=Annotator.objects.get(), reason="there only")
        assert len(fit_input(both).votes) == before == 3
        Exclusion.objects.create(campaign=both.default_of, annotator=Annotator.objects.get(), reason="here too")
        assert fit_input(both).votes == []

    def test_it_is_public_only_when_all_its_campaigns_are(self, both: Board) -> None:
        assert both in boards_public()
        Campaign.objects.filter(slug="second").update(visibility="private")
        assert both not in boards_public()
