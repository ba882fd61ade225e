"""Chatbots and prompt sets have pages of their own: versions, where they are used, what is missing, and for whom."""

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_withdraw
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.chatbots.selectors import replies_counted
from evalsite.chatbots.services import replies_add, version_create
from evalsite.prompts.models import Prompt, PromptSet
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=2, prompts=4, start=False)


def second_version(campaign: Campaign) -> Chatbot:
    """Of the first chatbot, with replies to half of the prompts."""
    chatbot = Chatbot.objects.get(name="trial bot 0")
    version = version_create(chatbot=chatbot, label="2")
    prompts = campaign.prompt_set.prompts.order_by("pk")[:2]
    replies_add(version=version, replies=dict.fromkeys(prompts, "Again."), origin=Reply.Origin.FILE)
    return chatbot


def test_chatbots_are_listed_with_their_versions_and_campaigns(owner: Client, draft: Campaign) -> None:
    second_version(draft)
    text = words(owner.get("/console/chatbots/"))
    assert "Your organisations have 2 chatbots." in text
    assert "trial bot 0 alice 2 1" in text
    assert "trial bot 1 alice 1 1" in text


def test_a_chatbot_tells_its_versions_how_complete_they_are_and_where_they_are_used(
    owner: Client, draft: Campaign
) -> None:
    chatbot = second_version(draft)
    entrant_withdraw(campaign=draft, entrant=draft.entrants.order_by("pk")[0], reason="an old one")
    page = owner.get(f"/console/chatbots/{chatbot.public_id}/")
    text = words(page)
    assert "It has 2 versions." in text
    assert "2 trial 2 / 4 2 1 trial 4 / 4 0" in text
    assert "Trial 1 withdrawn: an old one" in text
    assert f"?lacking={chatbot.versions.get(label='2').public_id}" in page.content.decode()


def test_replies_are_counted_as_they_stand_corrections_and_texts_that_are_missing_too(draft: Campaign) -> None:
    first, second = (entrant.version for entrant in draft.entrants.order_by("pk"))
    replies = first.replies.order_by("pk")
    for old, text in ((replies[0], "Better."), (replies[1], None)):
        digest = None if text is None else "0" * 64
        Reply.objects.create(
            version=first, prompt=old.prompt, revision=2, corrects=old, text=text, sha256=digest, origin="file"
        )
    Reply.objects.create(version=first, prompt=replies[0].prompt, sample=2, text="One more.", sha256="1", origin="file")
    assert replies_counted(draft.prompt_set) == {first.pk: 3, second.pk: 4}
    lost = Prompt.objects.order_by("pk")[2]
    Prompt.objects.create(
        prompt_set=draft.prompt_set, key=lost.key, revision=2, corrects=lost, turns=lost.turns, origin="authored"
    )
    assert replies_counted(draft.prompt_set) == {first.pk: 2, second.pk: 3}


def test_a_prompt_set_tells_who_has_replied_and_which_prompts_lack_a_reply(owner: Client, draft: Campaign) -> None:
    version = second_version(draft).versions.get(label="2")
    url = f"/console/prompt-sets/{draft.prompt_set.public_id}/"
    text = words(owner.get(url))
    assert "It has 4 prompts." in text
    assert "trial bot 0 2 2 / 4 2" in text
    assert "p0 Question 0? general 3" in text
    lacking = words(owner.get(url, {"lacking": str(version.public_id)}))
    assert "Prompts without a reply of trial bot 0 2" in lacking
    assert "p2 Question 2?" in lacking
    assert "p0 Question 0?" not in lacking
    assert owner.get(url, {"lacking": str(uuid.uuid4())}).status_code == 400


def test_set_of_a_live_campaign_tells_where_its_texts_are(owner: Client, draft: Campaign) -> None:
    url, told = f"/console/prompt-sets/{draft.prompt_set.public_id}/", "Prompts without a text are turns of live"
    Prompt.objects.create(prompt_set=draft.prompt_set, key="turn", origin="authored")
    assert told not in (text := words(owner.get(url))), "imported prompts may lack a text, too"
    assert "turn 0" in text
    Campaign.objects.update(mode=Campaign.Mode.LIVE)
    assert told in (text := words(owner.get(url)))
    assert "turn –" in text, "its replies are not in the library"


def test_prompts_of_gold_are_in_no_list(owner: Client, draft: Campaign) -> None:
    new = NewGold("g", ("A",), turns=[{"speaker": "user", "text": "Known?"}], texts=("Yes", "No"))
    gold_add(campaign=draft, items=[new])
    draft.refresh_from_db()
    assert "have 1 prompt set." in words(owner.get("/console/prompt-sets/"))
    assert draft.gold_set is not None
    assert owner.get(f"/console/prompt-sets/{draft.gold_set.public_id}/").status_code == 404


def test_a_stranger_finds_nothing_and_staff_find_everything(draft: Campaign, charlie: User) -> None:
    client = Client()
    client.force_login(charlie)
    own = [
        f"/console/chatbots/{Chatbot.objects.all()[0].public_id}/",
        f"/console/prompt-sets/{PromptSet.objects.get().public_id}/",
    ]
    assert [client.get(path).status_code for path in own] == [404, 404]
    assert "No chatbots yet" in words(client.get("/console/chatbots/"))
    assert "No prompt sets yet" in words(client.get("/console/prompt-sets/"))
    assert Client().get(own[0]).status_code == 302
    User.objects.filter(pk=charlie.pk).update(is_staff=True)
    assert [client.get(path).status_code for path in own] == [200, 200]


def test_hostile_names_are_text(owner: Client, draft: Campaign) -> None:
    Chatbot.objects.filter(name="trial bot 0").update(name=HOSTILE, description=HOSTILE)
    PromptSet.objects.update(name=HOSTILE, description=HOSTILE)
    chatbot = Chatbot.objects.get(name=HOSTILE)
    for path in ("chatbots/", f"chatbots/{chatbot.public_id}/", "prompt-sets/"):
        page = owner.get(f"/console/{path}").content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page


@pytest.mark.database
def test_they_ask_as_often_for_many_as_for_few(
    owner: Client,
    make_campaign: CampaignMaker,
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    first = make_campaign(chatbots=8, prompts=9, start=False)
    for n in range(3):
        make_campaign(slug=f"more-{n}", chatbots=2, prompts=2, start=False)
    chatbot = second_version(first)
    for path in ("chatbots/", f"chatbots/{chatbot.public_id}/", "prompt-sets/"):
        with django_assert_max_num_queries(10):
            owner.get(f"/console/{path}")
    with django_assert_max_num_queries(13):
        owner.get(f"/console/prompt-sets/{first.prompt_set.public_id}/")


def test_owners_rename_a_prompt_set(owner: Client, draft: Campaign) -> None:
    page = f"/console/prompt-sets/{draft.prompt_set.public_id}/"
    assert owner.post(page, {"name": "Everyday questions"}).status_code == 302
    text = words(owner.get(page))
    assert text.count("Everyday questions") >= 2, "as the heading, and in the log"
    PromptSet.objects.create(organisation=draft.organisation, name="Riddles")
    refused = words(owner.post(page, {"name": "Riddles"}))
    assert "There is already a prompt set called 'Riddles'." in refused
