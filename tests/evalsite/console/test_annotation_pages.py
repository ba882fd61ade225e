"""The page that annotates conversations: the sample size, the launch, and who may."""

import pytest
from django.test import Client

from evalsite.accounts.models import Membership, User
from evalsite.campaigns.models import Campaign
from evalsite.scorecards.models import AnnotatedReply, ConversationSet
from evalsite.scorecards.services import conversation_set_open, conversations_add
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


@pytest.mark.parametrize(
    "wrong", [{"value": "0"}, {"value": "200"}, {"votes": "0"}, {"labels": "one"}, {"size": "all"}, {"name": ""}]
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
