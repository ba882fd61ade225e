"""What the acts do, and what they refuse; each leaves one entry in the log."""

import uuid

import pytest
from django.db import IntegrityError, transaction

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.models import AuditEntry, Job
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Assignment
from evalsite.operations.actions import ActionArguments, act_perform
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_only_refits


def do(campaign: Campaign, act: Act, user: User, **given: object) -> Campaign:
    return act_perform(key=campaign.slug, act=act, user=user, given=ActionArguments(**given))  # type: ignore[arg-type]


def test_a_paused_campaign_issues_nothing_until_it_is_resumed(campaign: Campaign, alice: User, bob: Annotator) -> None:
    do(campaign, Act.PAUSE, alice)
    assert assignment_claim(campaign=campaign, annotator=bob) == []
    do(campaign, Act.RESUME, alice)
    run_only_refits()
    assert assignment_claim(campaign=campaign, annotator=bob)
    log = [(entry.act, entry.before["state"], entry.after["state"]) for entry in audit_of(campaign.public_id)[:2]]
    assert log == [("resume", "paused", "running"), ("pause", "running", "paused")]


@pytest.mark.parametrize(("act", "state"), [(Act.PAUSE, "paused"), (Act.RESUME, "running"), (Act.LAUNCH, "stopped")])
def test_what_does_not_fit_the_state_is_refused_without_a_trace(
    campaign: Campaign, alice: User, act: Act, state: str
) -> None:
    Campaign.objects.update(state=state, stopped_at=campaign.started_at)
    before = AuditEntry.objects.count()
    with pytest.raises(Conflict):
        do(campaign, act, alice)
    assert AuditEntry.objects.count() == before


def test_a_draft_has_nothing_to_fit_and_says_what_to_do(make_campaign: CampaignMaker, alice: User) -> None:
    draft = make_campaign(start=False)
    with pytest.raises(Conflict) as refused:
        do(draft, Act.REFIT, alice)
    assert refused.value.hint == "Launch it first."
    assert not Job.objects.exists()
    assert not AuditEntry.objects.filter(act="refit").exists()


def test_a_stop_says_who_stopped_and_why(campaign: Campaign, alice: User) -> None:
    stopped = do(campaign, Act.STOP, alice, reason="the paper is due")
    assert (stopped.state, stopped.stop_reason) == ("stopped", "the paper is due")
    entry = audit_of(campaign.public_id)[0]
    assert (entry.act, entry.actor, entry.reason) == ("stop", alice.public_id, "the paper is due")
    run_only_refits()
    assert not Assignment.objects.filter(state="queued").exists()


def test_readmission_restores_the_board_exactly(
    campaign: Campaign, alice: User, bob: Annotator, dora: Annotator
) -> None:
    judge(campaign, bob, "A", blocks=2)
    judge(campaign, dora, "B", blocks=2)
    Campaign.objects.update(batch_age_s=1)
    board = campaign.default_board
    do(campaign, Act.REFIT, alice)
    run_only_refits()
    whole = snapshot_current(board)
    assert whole
    do(campaign, Act.EXCLUDE, alice, annotator=bob.public_id, reason="tapped one key")
    run_only_refits()
    without = snapshot_current(board)
    assert without
    assert without.judgments < whole.judgments
    do(campaign, Act.READMIT, alice, annotator=bob.public_id, reason="it was a fast reader")
    run_only_refits()
    again = snapshot_current(board)
    assert again == whole
    assert again.rows == whole.rows


def test_excluded_annotator_finishes_the_block_and_gets_no_other(
    campaign: Campaign, alice: User, bob: Annotator
) -> None:
    held = assignment_claim(campaign=campaign, annotator=bob)
    assert held
    do(campaign, Act.EXCLUDE, alice, annotator=bob.public_id, reason="tapped one key")
    entry = audit_of(campaign.public_id)[0]
    assert (entry.act, entry.target, entry.after) == ("exclude", str(bob.public_id), {"excluded": True})
    assert judge(campaign, bob) == len(held), "what they hold may be answered, and is paid"
    assert assignment_claim(campaign=campaign, annotator=bob) == []
    with pytest.raises(Conflict, match="already"):
        do(campaign, Act.EXCLUDE, alice, annotator=bob.public_id, reason="again")


@pytest.mark.database
def test_withdrawn_chatbot_and_retired_prompt_get_no_assignments(campaign: Campaign, alice: User) -> None:
    gone, prompt = campaign.entrants.all()[0], campaign.prompt_set.prompts.all()[0]
    do(campaign, Act.WITHDRAW_ENTRANT, alice, entrant=gone.public_id, reason="its maker asked for it")
    do(campaign, Act.RETIRE_PROMPT, alice, prompt=prompt.public_id, reason="it has a wrong premise")
    run_only_refits()
    queued = [item_parts(item) for item in Assignment.objects.filter(state="queued").values_list("item", flat=True)]
    assert queued
    assert all(gone.pk not in entrants and prompt.pk != asked for asked, entrants in queued)
    with pytest.raises(Conflict):
        do(campaign, Act.RETIRE_PROMPT, alice, prompt=prompt.public_id, reason="again")
    do(campaign, Act.ADD_ENTRANT, alice, version=gone.version.public_id)
    run_only_refits()
    back = [item_parts(item)[1] for item in Assignment.objects.filter(state="queued").values_list("item", flat=True)]
    assert any(gone.pk in entrants for entrants in back)


@pytest.mark.parametrize(
    ("act", "given"),
    [
        (Act.EXCLUDE, {}),
        (Act.EXCLUDE, {"annotator": uuid.UUID(int=1), "reason": "r"}),
        (Act.WITHDRAW_ENTRANT, {"entrant": uuid.UUID(int=1), "reason": "r"}),
        (Act.ADD_ENTRANT, {"version": uuid.UUID(int=1)}),
        (Act.RETIRE_PROMPT, {"prompt": uuid.UUID(int=1), "reason": "r"}),
        (Act.SHARE, {"username": "nobody", "role": "viewer"}),
        (Act.SHARE, {"username": "alice", "role": "king"}),
    ],
)
def test_what_is_not_there_is_named_and_nothing_is_done(
    campaign: Campaign, alice: User, act: Act, given: dict[str, object]
) -> None:
    before = AuditEntry.objects.count()
    with pytest.raises((InvalidInput, NotFound)):
        do(campaign, act, alice, **given)
    assert AuditEntry.objects.count() == before


def test_an_act_without_the_reason_that_it_needs_is_refused(campaign: Campaign, alice: User, bob: Annotator) -> None:
    for reason in ("", "   ", "x" * 501):
        with pytest.raises(InvalidInput, match="reason"):
            do(campaign, Act.EXCLUDE, alice, annotator=bob.public_id, reason=reason)


@pytest.mark.database
def test_the_log_cannot_be_edited(campaign: Campaign) -> None:
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        AuditEntry.objects.update(act="nothing")


def test_roles_are_given_and_taken(campaign: Campaign, alice: User, charlie: User) -> None:
    do(campaign, Act.SHARE, alice, username="charlie", role="manager")
    do(campaign, Act.SHARE, alice, username="charlie")
    changes = [(entry.before, entry.after) for entry in audit_of(campaign.public_id)[:2]]
    assert changes == [({"role": "manager"}, {"role": None}), ({"role": None}, {"role": "manager"})]
