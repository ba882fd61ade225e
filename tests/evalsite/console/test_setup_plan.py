"""The set-up asks what is worth learning, how annotators are compared, and what is done with careless ones."""

import inspect
import re
from collections import Counter

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import entrant_withdraw, plan_options, plan_set
from evalsite.core.models import AuditEntry, Inquiry
from evalsite.exchange.campaign_file import campaign_read, campaign_take, campaign_write
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.answer_agreement import LEAST_CELLS
from evalsite.refits.mapping import Planner
from irt_engine.agreement import screen
from scheduler import NewEntrantTarget
from tests.environment import FULL
from tests.evalsite.cast import CampaignMaker, judge, run_jobs, run_only_refits
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

STOPPING = {"target_se": "0.2", "budget": "400"}
QUALITY = {"votes_per_item": "1", "block_size": "5", "lease_s": "600", "batch_size": "20"}


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=3, prompts=60, start=False)


def url(draft: Campaign, step: str) -> str:
    return f"/console/{draft.public_id}/setup/{step}/"


def chosen(page: str, name: str) -> list[str]:
    """The values of the options that are ticked."""
    inputs = re.findall(rf'<input type="radio" name="{name}"[^>]*>', page)
    return [found[1] for one in inputs if " checked" in one and (found := re.search(r'value="(\w+)"', one))]


def test_the_default_is_what_the_campaign_waits_for_and_exclusions_are_proposed(owner: Client, draft: Campaign) -> None:
    assert chosen(owner.get(url(draft, "stopping")).content.decode(), "target") == ["aim"]
    assert chosen(owner.get(url(draft, "quality")).content.decode(), "screening") == ["propose"]
    owner.post(url(draft, "stopping"), {**STOPPING, "target": "aim", "top": "1", "newcomer": ""})
    owner.post(url(draft, "quality"), {**QUALITY, "overlap_share": "0", "overlap_votes": "2", "screening": "propose"})
    draft.refresh_from_db()
    assert (plan_options(draft), draft.screening) == (PlanOptions(), "propose")


@pytest.mark.parametrize("target", ["ranking", "precision"])
def test_what_is_worth_learning_is_saved_shown_again_and_reviewed(owner: Client, draft: Campaign, target: str) -> None:
    assert owner.post(url(draft, "stopping"), {**STOPPING, "target": target, "top": "2"}).status_code == 302
    assert plan_options(draft) == PlanOptions(target=target), "a number that belongs to another choice is left out"
    assert chosen(owner.get(url(draft, "stopping")).content.decode(), "target") == [target]
    said = {"ranking": "Who is above whom", "precision": "How good each chatbot is"}[target]
    assert f"Worth learning {said}" in words(owner.get(url(draft, "review")))


def test_how_many_are_the_best_is_fewer_than_there_are(owner: Client, draft: Campaign) -> None:
    sent = {**STOPPING, "target": "top"}
    answer = owner.post(url(draft, "stopping"), {**sent, "top": "3"})
    assert answer.status_code == 400
    assert "The best 3 of 3 chatbots are all of them. Ask for fewer, or add chatbots." in words(answer)
    assert 'aria-invalid="true"' in answer.content.decode()
    assert "Say how many are the best." in words(owner.post(url(draft, "stopping"), {**sent, "top": ""}))
    assert plan_options(draft) == PlanOptions()
    owner.post(url(draft, "stopping"), {**sent, "top": "2"})
    assert plan_options(draft) == PlanOptions(target="top", top=2)
    assert "Worth learning Which are the best: 2" in words(owner.get(url(draft, "review")))
    assert 'name="top" value="2"' in owner.get(url(draft, "stopping")).content.decode()


def test_the_chatbot_to_be_placed_is_one_that_takes_part(owner: Client, draft: Campaign) -> None:
    second, third = draft.entrants.order_by("pk")[1:]
    entrant_withdraw(campaign=draft, entrant=third, reason="gone")
    sent = {**STOPPING, "target": "newcomer"}
    for away in (third.public_id, draft.public_id):
        answer = owner.post(url(draft, "stopping"), {**sent, "newcomer": str(away)})
        assert (answer.status_code, "does not take part" in words(answer)) == (400, True)
    assert "Say which chatbot is to be placed." in words(owner.post(url(draft, "stopping"), {**sent, "newcomer": ""}))
    owner.post(url(draft, "stopping"), {**sent, "newcomer": str(second.public_id)})
    assert plan_options(draft) == PlanOptions(target="newcomer", newcomer=second.pk)
    assert "Where one chatbot stands: trial bot 1 1" in words(owner.get(url(draft, "review")))
    assert f'<option value="{second.public_id}" selected>' in owner.get(url(draft, "stopping")).content.decode()
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert (entry.before["newcomer"], entry.after["newcomer"]) == (None, "trial bot 1 1")
    assert "newcomer: – → trial bot 1 1" in words(owner.get(f"/console/{draft.public_id}/log/"))
    entrant_withdraw(campaign=draft, entrant=second, reason="gone too")
    review = words(owner.get(url(draft, "review")))
    assert "The chatbot to be placed does not take part. Name an entrant of this campaign." in review
    assert "It can begin." not in review


def test_a_step_that_says_nothing_of_the_plan_leaves_it(owner: Client, draft: Campaign) -> None:
    plan_set(campaign=draft, options=PlanOptions(target="top", top=1, floor=0.5))
    Campaign.objects.update(screening="off")
    owner.post(url(draft, "stopping"), STOPPING)
    owner.post(url(draft, "quality"), QUALITY)
    draft.refresh_from_db()
    assert (plan_options(draft), draft.screening) == (PlanOptions(target="top", top=1, floor=0.5), "off")


def test_the_forecast_is_of_what_is_chosen_and_says_what_cannot_be(owner: Client, draft: Campaign) -> None:
    forecast = f"/console/{draft.public_id}/forecast/"
    said = words(owner.post(forecast, {**STOPPING, "target": "top", "top": "3"}))
    assert "The best 3 of 3 chatbots are all of them." in said
    newcomer = draft.entrants.order_by("pk")[2]
    asked: list[dict[str, str]] = [
        {"target": "aim"},
        {"target": "top", "top": "1"},
        {"target": "newcomer", "newcomer": str(newcomer.public_id)},
    ]
    for choice in asked:
        sent = {**STOPPING, "budget": "400" if FULL else "10", **choice}
        owner.post(forecast, sent)
        if FULL or choice["target"] == "top":
            run_jobs()
            assert "This campaign" in words(owner.post(forecast, sent))
    plans = [inquiry.args["plan"] for inquiry in Inquiry.objects.order_by("pk")]
    assert [(plan["target"], plan["top"], plan["newcomer"]) for plan in plans] == [
        ("aim", None, None),
        ("top", 1, None),
        ("newcomer", None, 2),
    ]
    assert plan_options(draft) == PlanOptions(), "asking what it would take saves nothing"


def test_the_overlap_is_given_in_percent_and_reviewed(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "quality"), {**QUALITY, "overlap_share": "12.5", "overlap_votes": "3"})
    assert plan_options(draft) == PlanOptions(overlap_share=0.125, overlap_votes=3)
    page = owner.get(url(draft, "quality")).content.decode()
    assert 'name="overlap_share" value="12.5"' in page
    assert "12.5 %, by 3 annotators each" in words(owner.get(url(draft, "review")))


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"overlap_share": "101"}, "less than or equal to 100"),
        ({"overlap_share": "20", "overlap_votes": "1"}, "greater than or equal to 2"),
        ({"overlap_share": "20", "overlap_votes": "2", "votes_per_item": "2"}, "an overlap of 2 adds none."),
        ({"screening": "magic"}, "is not one of the available choices"),
    ],
)
def test_what_cannot_be_is_said_on_the_page_and_nothing_is_kept(
    owner: Client, draft: Campaign, sent: dict[str, str], said: str
) -> None:
    answer = owner.post(url(draft, "quality"), {**QUALITY, **sent})
    assert (answer.status_code, said in words(answer)) == (400, True)
    draft.refresh_from_db()
    assert (plan_options(draft), draft.screening, draft.votes_per_item) == (PlanOptions(), "propose", 1)


def test_the_screening_may_act_by_itself(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "quality"), {**QUALITY, "screening": "act"})
    draft.refresh_from_db()
    assert draft.screening == "act"
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert (entry.before["screening"], entry.after["screening"]) == ("propose", "act")
    review = words(owner.get(url(draft, "review")))
    assert "Careless annotators Exclude them by the rule" in review


def test_the_page_says_the_rule_that_the_worker_follows(owner: Client, draft: Campaign) -> None:
    said = words(owner.get(url(draft, "quality")))
    assert f"below {inspect.signature(screen).parameters['least'].default:g}" in said
    assert f"It takes {LEAST_CELLS} such comparisons" in said


def test_what_was_set_up_is_written_to_a_file_and_read_back_the_same(
    owner: Client, draft: Campaign, charlie: User
) -> None:
    newcomer = draft.entrants.order_by("pk")[1]
    owner.post(url(draft, "quality"), {**QUALITY, "overlap_share": "20", "overlap_votes": "3", "screening": "act"})
    owner.post(url(draft, "stopping"), {**STOPPING, "target": "newcomer", "newcomer": str(newcomer.public_id)})
    draft.refresh_from_db()
    written = campaign_write(draft)
    assert "newcomer: trial bot 1 1" in written
    Campaign.objects.filter(pk=draft.pk).update(slug="moved")
    again = campaign_take(organisation=charlie.personal_organisation, given=campaign_read(written))
    assert campaign_write(again) == written
    assert (again.screening, plan_options(again).overlap_share, plan_options(again).overlap_votes) == ("act", 0.2, 3)


def test_after_a_pilot_both_can_still_be_changed(owner: Client, draft: Campaign) -> None:
    owner.post(f"/console/{draft.public_id}/act/pilot/", {"judgments": "10"})
    draft.pilot.ended_at = draft.pilot.begun_at
    draft.pilot.save()
    Campaign.objects.update(state="paused")
    owner.post(url(draft, "stopping"), {**STOPPING, "target": "top", "top": "1"})
    owner.post(url(draft, "quality"), {**QUALITY, "overlap_share": "50", "overlap_votes": "2"})
    assert plan_options(draft) == PlanOptions(target="top", top=1, overlap_share=0.5)


def test_a_chatbots_name_is_shown_as_text(owner: Client, draft: Campaign) -> None:
    chatbot = draft.entrants.order_by("pk")[0].version.chatbot
    chatbot.name = HOSTILE
    chatbot.save()
    page = owner.get(url(draft, "stopping")).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_what_was_set_up_is_what_is_asked(owner: Client, draft: Campaign) -> None:
    newcomer = draft.entrants.order_by("pk")[2]
    owner.post(url(draft, "quality"), {**QUALITY, "overlap_share": "100", "overlap_votes": "2", "screening": "act"})
    owner.post(url(draft, "stopping"), {**STOPPING, "target": "newcomer", "newcomer": str(newcomer.public_id)})
    owner.post(f"/console/{draft.public_id}/act/launch/")
    run_only_refits()
    for annotator in [annotator_enrol(campaign=draft) for _ in range(2)]:
        judge(draft, annotator, blocks=2)
        run_only_refits()
    judged = Counter(draft.assignments.filter(state="answered").values_list("item", flat=True))
    assert max(judged.values()) == 2, "both were asked the same"
    assert Planner(draft).design.target == NewEntrantTarget(2)
