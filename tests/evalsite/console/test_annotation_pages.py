"""The page that annotates conversations: the sample size, the launch, and who may."""

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.scorecards.annotation import QUESTION, QUESTIONS
from evalsite.scorecards.models import AnnotatedReply, Annotation, ConversationSet
from evalsite.scorecards.services import conversation_set_open, conversations_add
from tests.evalsite.api.client import Api
from tests.evalsite.scorecards.test_annotation import conversation
from tests.shared import shared

FORM = {
    "name": "Errors of talks",
    "size": "percent",
    "value": "50",
    "rate": "50",
    "votes": "2",
    "question": "Is it correct?",
    "labels": "correct\nincorrect\n<b>odd</b>",
}


@shared
def talks(alice: User) -> ConversationSet:
    found = conversation_set_open(organisation=alice.personal_organisation, name="Talks")
    conversations_add(conversation_set=found, conversations=[conversation(n, f"Bot {'AB'[n % 2]}") for n in range(4)])
    return found


def page_of(talks: ConversationSet) -> str:
    return f"/console/conversations/{talks.public_id}/annotate/"


def test_form_proposes_the_five_labels(owner: Client, talks: ConversationSet) -> None:
    page = owner.get(page_of(talks))
    assert page.status_code == 200
    assert "weakly related" in page.content.decode()


def test_sample_size_is_shown_and_nothing_is_made(owner: Client, talks: ConversationSet) -> None:
    page = owner.post(page_of(talks), {**FORM, "check": "yes"})
    assert "12 judgments on 6 replies" in " ".join(page.content.decode().split())
    assert not Campaign.objects.exists()


def test_launch_makes_a_campaign_that_collects(owner: Client, talks: ConversationSet) -> None:
    answer = owner.post(page_of(talks), FORM)
    campaign = Campaign.objects.get()
    assert answer["Location"] == f"/console/{campaign.public_id}/"
    assert (campaign.state, campaign.mode, campaign.votes_per_item) == ("running", "single", 2)
    assert AnnotatedReply.objects.count() == 6
    scorecard = owner.get(f"/console/conversations/{talks.public_id}/").content.decode()
    assert "Errors of talks" in scorecard


def test_rating_on_a_scale_takes_the_place_of_labels(owner: Client, talks: ConversationSet) -> None:
    scale = {"kind": "rating", "minimum": "1", "maximum": "5", "error_below": "3"}
    assert owner.post(page_of(talks), FORM | scale).status_code == 302
    campaign = Campaign.objects.get()
    aspect = campaign.rubric.aspects.get()
    assert (aspect.kind, aspect.minimum, aspect.maximum) == ("rating", 1, 5)
    assert campaign.annotation.error_below == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": "0"},
        {"value": "200"},
        {"votes": "0"},
        {"labels": "one"},
        {"size": "all"},
        {"name": ""},
        {"kind": "rating", "minimum": "5", "maximum": "1"},
        {"kind": "rating", "minimum": "1", "maximum": "5", "error_below": "1"},
    ],
)
def test_wrong_value_is_named_and_nothing_is_made(owner: Client, talks: ConversationSet, wrong: dict[str, str]) -> None:
    assert owner.post(page_of(talks), FORM | wrong).status_code == 400
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("role", "status", "state"),
    [("owner", 302, "running"), ("manager", 302, "draft"), ("viewer", 403, None), (None, 404, None)],
)
def test_role_decides(talks: ConversationSet, charlie: User, role: str | None, status: int, state: str | None) -> None:
    if role is not None:
        Membership.objects.create(user=charlie, organisation=talks.organisation, role=role)
    client = Client()
    client.force_login(charlie)
    assert client.post(page_of(talks), FORM).status_code == status
    assert Campaign.objects.values_list("state", flat=True).first() == state


def test_draft_is_set_up_before_its_launch(owner: Client, talks: ConversationSet) -> None:
    setup = owner.post(page_of(talks), {**FORM, "draft": "yes"})["Location"]
    steps = {name: owner.get(f"{setup}{name}/") for name in ("annotators", "quality", "review", "goal")}
    assert [one.status_code for one in steps.values()] == [200, 200, 200, 404]
    assert "overlap" not in steps["quality"].content.decode()
    assert "It can begin." in steps["review"].content.decode()
    campaign = Campaign.objects.get()
    sizes = {"votes_per_item": 3, "block_size": 5, "lease_s": 600, "batch_size": 7}
    answer = owner.post(f"{setup}quality/", {**sizes, "gold_share": 0, "screening": "propose"})
    assert answer.status_code == 302
    campaign.refresh_from_db()
    assert (campaign.votes_per_item, campaign.block_size, campaign.batch_size) == (3, 5, 7)
    owner.post(f"/console/{campaign.public_id}/act/launch/")
    campaign.refresh_from_db()
    assert campaign.state == "running"


def test_gold_of_one_reply_is_written_in_the_console(owner: Client, talks: ConversationSet) -> None:
    owner.post(page_of(talks), {**FORM, "draft": "yes"})
    campaign = Campaign.objects.get()
    home = f"/console/{campaign.public_id}/gold/"
    page = owner.get(home).content.decode()
    assert 'value="incorrect"' in page
    assert "&lt;b&gt;odd" in page
    assert "reply_b" not in page
    gold = {"id": "g1", "text": "Two and two?", "reply_a": "Five.", "right": ["incorrect"], "write": "yes"}
    assert owner.post(home, gold).status_code == 302
    assert [(one.text_a, one.text_b, one.right) for one in campaign.gold_items.all()] == [("Five.", "", ["incorrect"])]


def test_draft_of_a_manager_opens_in_the_console(talks: ConversationSet, charlie: User, owner: Client) -> None:
    Membership.objects.create(user=charlie, organisation=talks.organisation, role="manager")
    client = Client()
    client.force_login(charlie)
    page = client.post(page_of(talks), FORM)["Location"]
    home = f"/console/{Campaign.objects.get().public_id}/"
    pages = [owner.get(path, follow=True).status_code for path in (page, home, f"{home}prompts/", f"{home}chatbots/")]
    assert pages == [200] * 4
    assert owner.post(f"{home}act/launch/").status_code == 302
    assert Campaign.objects.get().state == "running"


def test_pairs_of_conversations_have_their_usual_question(owner: Client, talks: ConversationSet) -> None:
    pairs = {"unit": "pair", "size": "number", "value": "2", "question": QUESTION, "justify": "on"}
    checked = owner.post(page_of(talks), {**FORM, **pairs, "check": "yes"}).content.decode()
    assert "At most 4 judgments on 4 conversations" in " ".join(checked.split())
    assert owner.post(page_of(talks), {**FORM, **pairs}).status_code == 302
    campaign = Campaign.objects.get()
    aspect = campaign.rubric.aspects.get()
    assert (campaign.mode, campaign.state, campaign.onboarding.comment_required) == ("static", "running", True)
    assert (aspect.kind, aspect.allow_tie, aspect.question) == ("choose_one", False, QUESTIONS[Annotation.Unit.PAIR])


def test_half_width_of_conversations_is_refused(owner: Client, talks: ConversationSet) -> None:
    page = owner.post(page_of(talks), {**FORM, "unit": "conversation", "size": "half_width", "value": "5"})
    assert page.status_code == 400
    assert "Give a share or a number of conversations." in page.content.decode()
    assert not Campaign.objects.exists()


def test_api_launches_ratings_of_conversations(alice: User, talks: ConversationSet) -> None:
    token = api_token_issue(user=alice, name="t", scopes=list(ApiToken.Scope), days=1)
    path = f"/api/v1/conversation_sets/{talks.public_id}/annotations"
    sent = {"name": "Whole", "unit": "conversation", "share": 1, "kind": "rating", "minimum": 1, "maximum": 5}
    refused = Api(token).post(path, {"name": "Whole", "unit": "pair", "half_width": 0.1})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "half_width")
    answer = Api(token).post(path, sent)
    assert (answer.status_code, answer.json()["judgments"]) == (201, 4)
    campaign = Campaign.objects.get()
    assert (campaign.mode, campaign.annotation.unit) == ("single", "conversation")
    assert campaign.rubric.aspects.get().question == QUESTIONS[Annotation.Unit.CONVERSATION]
