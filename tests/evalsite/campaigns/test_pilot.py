"""A pilot: a few judgments, after which the campaign pauses by itself and says what they taught."""

from dataclasses import replace

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.models import Campaign, Pilot
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import campaign_stop, role_give
from evalsite.core import jobs
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.refits import pilot_summary
from evalsite.refits.services import pilot_summary_request
from irt_engine import EngineError
from scheduler import Forecast
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, run_jobs, run_only_refits
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

STUDY = replace(OPEN, target_se=0.3, plan=PlanOptions(overlap_share=1.0, overlap_votes=2), batch_age_s=3600)


def do(campaign: Campaign, act: Act, by: User, **given: object) -> Campaign:
    return act_perform(key=campaign.slug, act=act, user=by, given=ActionArguments(**given))  # type: ignore[arg-type]


def answer(campaign: Campaign, annotator: Annotator, choice: str = "A") -> int:
    """A block, each answer after eight seconds."""
    block = assignment_claim(campaign=campaign, annotator=annotator)
    for one in block:
        judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"overall": choice}, client_ms=8000)
    return len(block)


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(design=STUDY, chatbots=3, prompts=20, start=False)


@shared
def over(draft: Campaign, alice: User) -> Campaign:
    """A pilot of ten judgments that two people have given."""
    do(draft, Act.PILOT, alice, judgments=10)
    run_jobs()
    people = [annotator_enrol(campaign=draft) for _ in range(2)]
    while any([answer(draft, people[0], "A"), answer(draft, people[1], "tie")]):
        run_jobs()
    draft.refresh_from_db()
    return draft


def test_it_asks_as_many_as_were_set_then_pauses_by_itself(over: Campaign, alice: User) -> None:
    assert over.assignments.filter(state="answered").count() == 10
    assert over.state == "paused"
    assert not over.assignments.filter(state="queued").exists()
    log = [(one.act, one.actor, one.reason) for one in audit_of(over.public_id)[:2]]
    assert log == [("pause", None, "the 10 judgments of its pilot are in"), ("pilot", alice.public_id, "")]


def test_what_it_taught_is_worked_out(over: Campaign) -> None:
    summary = over.pilot.summary
    assert summary is not None
    assert (summary["judgments"], summary["annotators"], summary["seconds"], summary["tie_share"]) == (10, 2, 8.0, 0.5)
    assert summary["shared"] == 5
    assert summary["agreement"] < 0.2, "one always ties and the other never"
    low, middle, high = summary["hours"]
    assert middle == pytest.approx(summary["forecast"]["judgments"]["middle"] * 8.0 / 3600.0)
    assert low <= middle <= high


def test_the_overview_shows_it_and_offers_what_follows(over: Campaign, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    page = words(client.get("/console/trial/"))
    assert "Its pilot is over" in page
    assert "A judgment takes 8 s" in page
    assert "Ties 50 %" in page
    assert "on 5 comparisons" in page
    assert "Launch" in page
    assert "Resume" not in page


def test_the_whole_campaign_is_launched_and_the_pilot_counts(over: Campaign, alice: User) -> None:
    with pytest.raises(Conflict, match="Its pilot is over"):
        do(over, Act.RESUME, alice)
    began = over.opened_at
    launched = do(over, Act.LAUNCH, alice)
    run_jobs()
    assert (launched.state, launched.opened_at) == ("running", began), "the budget counts from the pilot on"
    assert answer(launched, annotator_enrol(campaign=launched)) == 3
    assert audit_of(over.public_id).filter(act="launch").exists()
    client = Client()
    client.force_login(alice)
    assert "Pilot" not in words(client.get("/console/trial/"))


def test_pilot_allows_set_up_changes_except_to_its_questions(over: Campaign, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get("/console/trial/setup/")["Location"].endswith("/setup/annotators/")
    for step in ("goal", "prompts", "chatbots"):
        assert client.get(f"/console/trial/setup/{step}/").status_code == 409, step
    assert client.post("/console/trial/setup/stopping/", {"target_se": "0.4", "budget": "90"}).status_code == 302
    over.refresh_from_db()
    assert (over.stopping.target_se, over.stopping.budget, over.state) == (0.4, 90, "paused")
    review = words(client.get("/console/trial/setup/review/"))
    assert "fixed" in review
    assert "Pilot first" not in review
    do(over, Act.LAUNCH, alice)
    assert client.get("/console/trial/setup/stopping/").status_code == 409


def test_a_pause_within_the_pilot_leads_back_into_it(draft: Campaign, alice: User) -> None:
    do(draft, Act.PILOT, alice, judgments=10)
    do(draft, Act.PAUSE, alice)
    assert do(draft, Act.RESUME, alice).state == "pilot"
    client = Client()
    client.force_login(alice)
    assert "0 of 10 judgments; then it pauses by itself" in words(client.get("/console/trial/"))


def test_what_is_judged_late_in_an_open_batch_is_in_the_summary(draft: Campaign, alice: User) -> None:
    """Seven judgments, batches of five: the pilot ends when the second batch closes by its age, not before."""
    do(draft, Act.PILOT, alice, judgments=7)
    run_only_refits()
    people = [annotator_enrol(campaign=draft) for _ in range(2)]
    while sum(answer(draft, one) for one in people):
        run_only_refits()
    do(draft, Act.REFIT, alice)
    run_only_refits()
    draft.refresh_from_db()
    assert (draft.state, draft.assignments.filter(state="answered").count()) == ("pilot", 7)
    Campaign.objects.update(batch_age_s=1)
    draft.batches.filter(state="open").update(opened_at=draft.created_at.replace(year=2020))
    jobs.sweep()
    run_jobs()
    draft.refresh_from_db()
    assert (draft.state, (draft.pilot.summary or {})["judgments"]) == ("paused", 7)


def test_a_pilot_is_not_launched_before_it_is_over(draft: Campaign, alice: User) -> None:
    tried = do(draft, Act.PILOT, alice, judgments=10)
    with pytest.raises(Conflict, match="being tried") as refused:
        do(draft, Act.LAUNCH, alice)
    assert "end of its pilot" in refused.value.hint
    draft.refresh_from_db()
    assert (draft.state, draft.opened_at) == ("pilot", tried.opened_at)


@pytest.mark.parametrize("stopped", [False, True])
def test_chatbot_joining_a_standing_campaign_keeps_its_pilot(
    draft: Campaign, make_campaign: CampaignMaker, alice: User, stopped: bool
) -> None:
    extra = make_campaign(slug="other", start=False).entrants.all()[0].version
    Campaign.objects.filter(pk=draft.pk).update(standing=True)
    tried = do(draft, Act.PILOT, alice, judgments=10)
    if stopped:
        campaign_stop(campaign=draft, reason="the target is reached")
    joined = do(draft, Act.ADD_ENTRANT, alice, version=extra.public_id)
    assert (joined.state, joined.opened_at) == ("pilot", tried.opened_at), "its judgments are not asked twice"
    do(draft, Act.PAUSE, alice)
    assert do(draft, Act.RESUME, alice).state == "pilot"


def test_chatbot_joining_after_the_pilot_reopens_the_campaign(
    over: Campaign, make_campaign: CampaignMaker, alice: User
) -> None:
    extra = make_campaign(slug="other", start=False).entrants.all()[0].version
    Campaign.objects.filter(pk=over.pk).update(standing=True)
    before = do(over, Act.LAUNCH, alice).opened_at
    joined = do(over, Act.ADD_ENTRANT, alice, version=extra.public_id)
    assert joined.state == "running"
    assert joined.opened_at is not None
    assert before is not None
    assert joined.opened_at > before


def test_extension_during_a_pilot_ends_the_pilot(draft: Campaign, alice: User) -> None:
    do(draft, Act.PILOT, alice, judgments=10)
    campaign_stop(campaign=draft, reason="the target is reached")
    extended = do(draft, Act.EXTEND, alice, target_se=0.2)
    pilot = Pilot.objects.get()
    assert extended.state == "running"
    assert pilot.ended_at is not None
    assert pilot.went_on_at == pilot.ended_at
    do(draft, Act.PAUSE, alice)
    assert do(draft, Act.RESUME, alice).state == "running"


def test_after_the_pilot_who_sees_the_board_is_its_owners_alone(over: Campaign, alice: User, charlie: User) -> None:
    role_give(campaign=over, user=charlie, role="manager", by=alice)
    with pytest.raises(NotAllowed):
        draft_change(campaign=over, changes={"visibility": "link", "quota": 7}, by=charlie)
    unchanged = Campaign.objects.get(pk=over.pk)
    assert (unchanged.visibility, unchanged.quota) == ("public", None), "all of it or nothing"
    draft_change(campaign=over, changes={"visibility": "public", "quota": 7}, by=charlie)
    draft_change(campaign=over, changes={"visibility": "link"}, by=alice)
    changed = Campaign.objects.get(pk=over.pk)
    assert (changed.visibility, changed.quota) == ("link", 7)


def test_a_forecast_that_fails_leaves_the_rest_of_the_summary(over: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> Forecast:
        raise EngineError("no answer", code="did_not_converge", hint="look at the data")

    monkeypatch.setattr(pilot_summary, "campaign_forecast", fails)
    Pilot.objects.update(summary=None)
    pilot_summary_request(over)
    run_jobs()
    summary = Pilot.objects.get().summary
    assert summary is not None
    assert (summary["judgments"], summary["seconds"]) == (10, 8.0)
    assert (summary["forecast"], summary["hours"]) == (None, None)
    assert summary["trouble"].startswith("no answer")


@pytest.mark.parametrize(
    ("given", "size"),
    [({"judgments": 25}, 25), ({"share": 0.1}, 6), ({"share": 0.101}, 7)],
)
def test_its_size_is_a_number_or_a_share_of_all_questions(
    draft: Campaign, alice: User, given: dict[str, float], size: int
) -> None:
    do(draft, Act.PILOT, alice, **given)
    assert Pilot.objects.get().judgments == size


@pytest.mark.parametrize("given", [{}, {"judgments": 3, "share": 0.1}, {"share": 1.0}, {"judgments": 60}])
def test_a_size_that_is_none_is_refused(draft: Campaign, alice: User, given: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        do(draft, Act.PILOT, alice, **given)
    assert (Campaign.objects.get().state, Pilot.objects.count()) == ("draft", 0)


def test_only_a_draft_is_tried(campaign: Campaign, alice: User) -> None:
    with pytest.raises(Conflict, match="only a draft is tried"):
        do(campaign, Act.PILOT, alice, judgments=3)


def test_the_page_takes_a_percentage(draft: Campaign, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert "Or a share of the campaign" in words(client.get("/console/trial/act/pilot/"))
    assert client.post("/console/trial/act/pilot/", {"judgments": "", "percent": ""}).status_code == 400
    client.post("/console/trial/act/pilot/", {"judgments": "", "percent": "50"})
    assert Pilot.objects.get().judgments == 30
