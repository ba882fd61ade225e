"""What make.py's database has of a paid study: crowd workers, gold, money, exclusions, erasure, what its owners did.

Imported once Django is set up. Everything in it is made up here.
"""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.campaigns.gold import NewGold, gold_add, gold_withdraw
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_set
from evalsite.campaigns.services import entrant_withdraw, pilot_waits, prompt_retire, refit_request, role_give
from evalsite.core.idempotency import StoredAnswer, once
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.uploads import uploads_keep
from evalsite.exchange.draft_forecasts import draft_design, forecast_ask
from evalsite.judgments.annotator_actions import annotator_hold, annotator_note
from evalsite.judgments.arrivals import Visit, arrival_secret, invitation_accept, invitation_issue, visit_accept
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit, exclusion_propose
from evalsite.judgments.leases import assignment_skip, assignments_expire_of
from evalsite.judgments.models import Annotator, Assignment, Enrolment
from evalsite.judgments.payments import accounts_shown, bonuses_import, payments_mark
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.qualification import qualification_answer
from evalsite.judgments.selectors import quota_taken
from evalsite.judgments.services import judgment_record
from evalsite.operations.models import Notice
from evalsite.operations.notices import mail_choose, notice_raise, notices_see
from evalsite.operations.services import campaign_open
from evalsite.refits.full_check import check_ask
from evalsite.refits.services import EXCLUSION, alarm_raise, findings_request, pilot_summary_request, slices_request
from tests.evalsite.cast import assignment_claim

ASKED = [{"speaker": "user", "text": "What is two and two?"}]
QUOTA = 16


def study_run(campaign: Campaign, work: Callable[[], None]) -> None:
    """From a draft with its chatbots to a running study whose owners and workers have done everything once."""
    alice = User.objects.get(username="alice")
    _prepare(campaign, alice)
    campaign_open(campaign=campaign, by=alice, pilot=20)
    work()
    workers = [_arrive(campaign, number) for number in range(4)]
    _pilot(campaign, workers, work)
    campaign_open(campaign=campaign, by=alice)
    work()
    for _ in range(2):
        for one in workers:
            _judge(campaign, one)
    work()
    _late_and_over_quota(campaign, work)
    _skip(campaign)
    _steward(campaign, workers, alice)
    _pay(campaign, alice)
    _erase(campaign, alice)
    _finish(campaign, workers[0], alice)
    work()
    _leave_work(campaign, workers[3], alice)


def _prepare(campaign: Campaign, alice: User) -> None:
    gold = [NewGold(f"gold {n}", ("A",), turns=ASKED, texts=(f"Four, {n}.", f"Five, {n}.")) for n in range(8)]
    items = gold_add(campaign=campaign, items=gold, by=alice)
    gold_withdraw(campaign=campaign, item=items[7], reason="ambiguous", by=alice)
    known = NewQualificationItem(ASKED, "Four.", "Five.", "A", "Two and two are four.")
    qualification_set(campaign=campaign, items=[known], pass_mark=1, by=alice)
    onboarding_set(
        campaign=campaign, by=alice, platform=Onboarding.Platform.PROLIFIC, code_complete="DONE", code_failed="FAIL",
        code_screened_out="OUT", consent_required=True, erasure=Onboarding.Erasure.REMOVE, reasons=["clear", "short"],
        comments=True, language="English",
    )  # fmt: skip
    Campaign.objects.filter(pk=campaign.pk).update(quota=QUOTA, pay_rate=Decimal("0.0111"))
    campaign.refresh_from_db()


def _arrive(campaign: Campaign, number: int) -> Annotator:
    """A made-up worker comes, agrees, and passes the qualification."""
    secret = arrival_secret(campaign)
    visit = Visit(Onboarding.Platform.PROLIFIC, f"worker{number}", "study1", f"session{number}", secret=secret)
    part = visit_accept(campaign=campaign, visit=visit, consents=True)
    item = campaign.qualification_items.get()
    qualification_answer(enrolment=part, item_id=item.pk, attempt=1, choice="A")
    return part.annotator


def _judge(campaign: Campaign, annotator: Annotator) -> None:
    for n, held in enumerate(assignment_claim(campaign=campaign, annotator=annotator)):
        choice = ("A", "B", "A", "tie")[n % 4]
        judgment_record(
            annotator=annotator, assignment_id=held.public_id, choices={"overall": choice}, client_ms=3000 + n,
            reasons=["clear"] if n == 0 else [], comment="Clearer: ü, 語." if n == 1 else "",
        )  # fmt: skip


def _pilot(campaign: Campaign, workers: list[Annotator], work: Callable[[], None]) -> None:
    """Until it pauses by itself."""
    while not pilot_waits(campaign):
        for one in workers:
            _judge(campaign, one)
        work()
        campaign.refresh_from_db()


def _late_and_over_quota(campaign: Campaign, work: Callable[[], None]) -> None:
    """Leases end, others are claimed and answered until the quota is full, and then the first are answered, too."""
    slow = _arrive(campaign, 5)
    lost = assignment_claim(campaign=campaign, annotator=slow)
    Assignment.objects.filter(annotator=slow, state="issued").update(lease_until=timezone.now() - timedelta(minutes=1))
    assignments_expire_of(campaign=campaign, annotator=slow)
    judgment_record(annotator=slow, assignment_id=lost[0].public_id, choices={"overall": "B"})  # late
    while quota_taken(campaign=campaign.pk, annotator=slow.pk) < QUOTA:
        _judge(campaign, slow)
        work()
    judgment_record(annotator=slow, assignment_id=lost[1].public_id, choices={"overall": "B"})  # and over the quota


def _skip(campaign: Campaign) -> None:
    picky = _arrive(campaign, 6)
    first, *_ = assignment_claim(campaign=campaign, annotator=picky)
    assignment_skip(annotator=picky, assignment_id=first.public_id, reason="broken", note="cut off")


def _steward(campaign: Campaign, workers: list[Annotator], alice: User) -> None:
    hasty, doubted, held, _ = workers
    annotator_exclude(campaign=campaign, annotator=hasty, reason="too fast", by=alice, evidence={"seconds": 1})
    annotator_readmit(campaign=campaign, annotator=hasty, reason="was right", by=alice)
    annotator_exclude(campaign=campaign, annotator=doubted, reason="always A", by=alice)
    exclusion_propose(campaign=campaign, annotator=held, lifted=False, reason="gold", evidence={"passed": 0.5})
    annotator_note(campaign=campaign, annotator=held, text="asked for more time", by=alice)
    annotator_hold(campaign=campaign, annotator=held, paused=True, reason="until the proposal is decided", by=alice)
    entrant = campaign.entrants.order_by("pk").last()
    assert entrant is not None
    entrant_withdraw(campaign=campaign, entrant=entrant, reason="replaced", by=alice)
    prompt_retire(campaign=campaign, prompt=campaign.prompt_set.prompts.order_by("pk")[0], reason="a copy", by=alice)
    role_give(campaign=campaign, user=user_create(username="dora", password=None), role="viewer", by=alice)
    invited = invitation_issue(campaign=campaign, name="pilot", at_most=3, by=alice)
    invitation_accept(secret=invited, consents=True)


def _pay(campaign: Campaign, alice: User) -> None:
    bonuses = b"annotator,amount,reason\nworker0,0.5,careful\nworker5,1,patient\n"
    bonuses_import(campaign=campaign, content=bonuses, name="bonuses.csv", by=alice)
    payments_mark(campaign=campaign, reference="transfer 1", shown=accounts_shown(campaign, anew=True)[1], by=alice)


def _erase(campaign: Campaign, alice: User) -> None:
    """One who was excluded, and may not begin again: their judgments go with them, as was promised."""
    gone = _arrive(campaign, 7)
    _judge(campaign, gone)
    annotator_exclude(campaign=campaign, annotator=gone, reason="answers of a program", by=alice)
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=gone))


def _finish(campaign: Campaign, annotator: Annotator, alice: User) -> None:
    """What waits for somebody: an alarm, a mail not wanted, a question, a file, an answer kept for who asks again."""
    alarm_raise(campaign=campaign, message="The worker did not answer.")
    mail_choose(user=alice, wanted=[])
    notices_see(campaign=campaign, user=alice)
    inquiry_ask(kind=EXCLUSION, args={"campaign": campaign.pk, "annotator": str(annotator.public_id)})
    uploads_keep(subject=campaign.public_id, purpose="replies", files=[("replies.csv", b"prompt_id,reply\np0,Yes.\n")])
    once(principal="user:alice", key="key1", sha256="0" * 64, act=lambda: StoredAnswer(201, {"id": "made up"}))


def _leave_work(campaign: Campaign, annotator: Annotator, alice: User) -> None:
    """Leave a queued job of every kind, and a question of every kind, that the next version's worker finds."""
    refit_request(campaign)
    findings_request(campaign)
    slices_request(campaign)
    pilot_summary_request(campaign)
    check_ask(campaign=campaign, by=alice)
    owner = user_create(username="erin", password=None, email="erin@example.org")
    role_give(campaign=campaign, user=owner, role="owner", by=alice)
    facts = {"spent": 320, "budget": 400}
    notice_raise(campaign=campaign, event=Notice.Event.BUDGET, mark="made up", facts=facts)
    inquiry_ask(kind=EXCLUSION, args={"campaign": campaign.pk, "annotator": str(annotator.public_id)})
    forecast_ask(campaign, draft_design(campaign, limits_of(campaign.stopping)), by=alice)
