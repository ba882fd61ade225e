"""Settings of live campaigns and reports of their replies, by the API."""

from typing import Any

import pytest

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import api_token_issue, user_create
from evalsite.campaigns.models import Aspect, Campaign, CampaignRole
from evalsite.core.env import networks
from evalsite.dialogues.models import ChatbotReport, EntrantPause
from evalsite.dialogues.reports import reply_report
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.dialogues.steps import begin, live_campaign_make, released
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.shared import shared


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def draft(organisation: Organisation) -> Campaign:
    return live_campaign_make(organisation=organisation, slug="plan", chatbots=3, start=False)


@shared
def report(organisation: Organisation) -> ChatbotReport:
    """A report in a running campaign that pauses a chatbot at the first report."""
    campaign = live_campaign_make(organisation=organisation, slug="talk", chatbots=2, reports_to_pause=1)
    turn = released(begin(campaign, annotator_enrol(campaign=campaign)), "Say something rude.")
    annotator = turn.conversation.annotator
    return reply_report(annotator=annotator, turn_id=turn.public_id, label="A", reason="harmful", note="It was rude.")


def api_of(user: User) -> Api:
    return Api(api_token_issue(user=user, name="t", scopes=list(ApiToken.Scope), days=1))


def member(organisation: Organisation, role: str) -> User:
    user = user_create(username=role, password=None)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user


def patch(api: Api, campaign: Campaign, body: dict[str, Any]) -> Any:
    path = f"/api/v1/campaigns/{campaign.public_id}/live"
    return api.client.patch(path, body, "application/json", headers=api.headers)


def test_settings_that_are_sent_change_and_others_stay(draft: Campaign, organisation: Organisation) -> None:
    api = api_of(member(organisation, "manager"))
    answer = patch(api, draft, {"selection": "sata", "fallback": "written", "maximum_turns": 12})
    live = answer.json()["live"]
    assert (answer.status_code, live["setting"], live["maximum_turns"]) == (200, "sata_written", 12)
    assert live["minimum_turns"] == 2
    assert Aspect.objects.get(rubric__campaigns=draft, position=0).kind == "select_any"
    assert patch(api, draft, {"maximum_turns": None}).json()["live"]["maximum_turns"] is None


def test_questions_about_replies_are_replaced(draft: Campaign, organisation: Organisation) -> None:
    api = api_of(member(organisation, "manager"))
    error = {"key": "error", "question": "Is it correct?", "kind": "label", "labels": ["correct", "incorrect"]}
    fun = {"key": "fun", "question": "How good?", "kind": "rating", "minimum": 1, "maximum": 5, "scope": "selected"}
    answer = patch(api, draft, {"turn_questions": [error, fun]})
    assert [one["key"] for one in answer.json()["aspects"]] == ["best", "error", "fun"]
    asked = Aspect.objects.filter(rubric__campaigns=draft).exclude(position=0)
    assert list(asked.values_list("scope", "one_label", "maximum")) == [
        ("candidate", True, None),
        ("selected", True, 5),
    ]
    assert len(patch(api, draft, {"turn_questions": []}).json()["aspects"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"turn_questions": [{"key": "a", "question": "?", "kind": "select_any"}]}, "turn_questions.0.kind"),
        ({"turn_questions": [{"key": "a b", "question": "?", "kind": "label"}]}, "turn_questions"),
        ({"turn_questions": [{"key": "a", "question": "?", "kind": "rating"}]}, "aspects"),
        ({"minimum_turns": 9, "maximum_turns": 4}, "maximum_turns"),
        ({"chatbots_per_conversation": 9}, "chatbots_per_conversation"),
        ({"chatbots_per_conversation": 1}, "selection"),
        ({"selection": "best"}, "selection"),
        ({"end_rating": "yes"}, "end_rating"),
        ({"mode": "static"}, "mode"),
        ({"opening_topics": [" "]}, "opening_topics.0"),
    ],
)
def test_wrong_settings_are_refused_and_nothing_changes(
    draft: Campaign, organisation: Organisation, body: dict[str, Any], field: str
) -> None:
    api = api_of(member(organisation, "owner"))
    answer = patch(api, draft, {"end_feedback": False, **body})
    assert (answer.status_code, error_of(answer)["field"]) == (400, field)
    draft.live.refresh_from_db()
    assert draft.live.end_feedback


def test_a_static_campaign_never_becomes_live(make_campaign: CampaignMaker, alice: User) -> None:
    static = make_campaign(start=False)
    Membership.objects.get_or_create(organisation=static.organisation, user=alice, defaults={"role": "owner"})
    answer = patch(api_of(alice), static, {"selection": "sata"})
    static.refresh_from_db()
    assert (answer.status_code, static.mode) == (409, "static")


def test_settings_of_a_running_campaign_stay(report: ChatbotReport, organisation: Organisation) -> None:
    campaign = report.reply.entrant.campaign
    assert patch(api_of(member(organisation, "owner")), campaign, {"minimum_turns": 5}).status_code == 409


def test_a_report_is_listed_settled_and_its_chatbot_resumed(report: ChatbotReport, organisation: Organisation) -> None:
    api, home = api_of(member(organisation, "manager")), "/api/v1/campaigns/talk"
    (row,) = api.get(f"{home}/reports").json()["results"]
    assert (row["reason"], row["note"], row["message"]) == ("harmful", "It was rude.", "Say something rude.")
    assert (row["outcome"], row["chatbot_paused"]) == ("open", True)
    settled = api.post(f"{home}/reports/{row['id']}/settlement", {"outcome": "upheld"}).json()
    assert (settled["outcome"], settled["chatbot_paused"]) == ("upheld", True)
    resumed = api.post(f"{home}/chatbots/{row['entrant']}/resume")
    assert (resumed.status_code, resumed.json()["paused"]) == (200, False)
    assert not EntrantPause.objects.exists()
    assert api.post(f"{home}/chatbots/{row['entrant']}/pause").json()["paused"] is True
    report.refresh_from_db()
    assert (report.outcome, report.settled_by) == ("upheld", User.objects.get(username="manager"))


def test_viewers_see_reports_and_settle_none(report: ChatbotReport, organisation: Organisation) -> None:
    api, home = api_of(member(organisation, "viewer")), "/api/v1/campaigns/talk"
    assert len(api.get(f"{home}/reports").json()["results"]) == 1
    answer = api.post(f"{home}/reports/{report.public_id}/settlement", {"outcome": "dismissed"})
    entrant = report.reply.entrant.public_id
    assert (answer.status_code, api.post(f"{home}/chatbots/{entrant}/resume").status_code) == (403, 403)
    report.refresh_from_db()
    assert report.outcome == "open"


def test_a_report_of_another_campaign_is_not_found(report: ChatbotReport, draft: Campaign) -> None:
    stranger = user_create(username="stranger", password=None)
    CampaignRole.objects.create(campaign=draft, user=stranger, role="owner")
    api = api_of(stranger)
    path = f"/reports/{report.public_id}/settlement"
    assert api.post(f"/api/v1/campaigns/{draft.public_id}{path}", {"outcome": "upheld"}).status_code == 404
    assert api.get("/api/v1/campaigns/talk/reports").status_code == 403


@pytest.mark.parametrize(("role", "status"), [("manager", 201), ("viewer", 403)])
def test_third_parties_get_a_draft_of_consenting_conversations(
    organisation: Organisation, role: str, status: int
) -> None:
    live = live_campaign_rows(organisation, slug="rows", selection="sata")
    conversation_rows(live, ["10", "01"])
    conversation_rows(live, ["10", "01"], consents=False)
    answer = api_of(member(organisation, role)).post("/api/v1/campaigns/rows/third_parties", {"conversations": 9})
    assert answer.status_code == status
    drafts = Campaign.objects.filter(review__source=live)
    assert [draft.prompt_set.prompts.count() for draft in drafts] == ([1] if status == 201 else [])
    if status == 201:
        assert (answer.json()["slug"], answer.json()["mode"]) == (drafts[0].slug, "static")
