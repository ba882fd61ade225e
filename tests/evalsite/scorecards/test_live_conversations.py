"""Live conversations on scorecards: they appear by themselves, keep to their campaign, and vanish when erased."""

from collections.abc import Sequence

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.dialogues.endings import conversation_end
from evalsite.dialogues.models import Conversation
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol
from evalsite.scorecards.computing import scorecard_compute
from evalsite.scorecards.live_conversations import live_conversations
from evalsite.scorecards.live_sets import live_sets_update
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.services import conversation_set_delete, conversation_set_open, user_erase
from tests.evalsite.cast import run_jobs
from tests.evalsite.dialogues.steps import begin, choose, live_campaign_make, released
from tests.evalsite.pages.test_pages import words
from tests.shared import shared


def music(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return ["music"] * len(pairs)


def talk(campaign: Campaign, annotator: Annotator, rating: int, turns: int = 2) -> Conversation:
    conversation = begin(campaign, annotator)
    for number in range(turns):
        choose(released(conversation, f"Message {number}"), ["A"])
    return conversation_end(annotator=annotator, conversation_id=conversation.public_id, rating=rating)


@shared
def chat(alice: User) -> Campaign:
    """A live campaign with one of two chatbots in each conversation, and three rated conversations."""
    home = alice.personal_organisation
    campaign = live_campaign_make(organisation=home, chatbots=2, chatbots_per_conversation=1, selection="sata")
    for rating in (5, 3, 4):
        talk(campaign, annotator_enrol(campaign=campaign), rating)
    return campaign


def test_conversation_has_its_texts_chatbot_user_and_rating(chat: Campaign) -> None:
    found = list(live_conversations(chat))
    assert [one.ratings[0].value for one in found] == [5, 3, 4]
    assert {one.chatbot for one in found} <= {"chat speaker 0", "chat speaker 1"}
    assert [turn.text for turn in found[0].turns][::2] == ["Message 0", "Message 1"]
    assert len({one.user_id for one in found}) == 3
    assert all(one.reply_count == 2 and one.duration_s is not None for one in found)


def test_open_conversation_is_not_counted_yet(chat: Campaign) -> None:
    conversation = begin(chat, annotator_enrol(campaign=chat))
    choose(released(conversation), ["A"])
    assert len(list(live_conversations(chat))) == 3


def test_conversations_with_two_chatbots_are_left_out(alice: User) -> None:
    pair = live_campaign_make(organisation=alice.personal_organisation, slug="pair", chatbots=2, minimum_turns=1)
    conversation = begin(pair, annotator_enrol(campaign=pair))
    choose(released(conversation))
    conversation_end(annotator=conversation.annotator, conversation_id=conversation.public_id, rating=3)
    assert list(live_conversations(pair)) == []


def test_set_appears_by_itself_and_is_computed_once(chat: Campaign) -> None:
    live_sets_update()
    run_jobs()
    found = ConversationSet.objects.get(campaign=chat)
    assert (found.name, found.scorecards.get().conversations) == (chat.name, 3)
    live_sets_update()
    run_jobs()
    assert found.scorecards.count() == 1, "nothing has changed"


def test_taken_name_of_a_set_gets_the_address_of_the_campaign(chat: Campaign) -> None:
    conversation_set_open(organisation=chat.organisation, name=chat.name)
    live_sets_update()
    assert ConversationSet.objects.get(campaign=chat).name == f"{chat.name} ({chat.slug})"


def test_erased_person_leaves_the_scorecard(chat: Campaign) -> None:
    first = Conversation.objects.filter(campaign=chat).order_by("pk")[0]
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=first.annotator))
    assert [one.ratings[0].value for one in live_conversations(chat)] == [3, 4]


def test_live_set_takes_no_import_erasure_or_deletion(chat: Campaign) -> None:
    live_sets_update()
    found = ConversationSet.objects.get(campaign=chat)
    for change in (
        lambda: conversation_set_open(organisation=chat.organisation, name=found.name),
        lambda: user_erase(conversation_set=found, user_id="u"),
        lambda: conversation_set_delete(conversation_set=found),
    ):
        with pytest.raises(Conflict, match="live conversations"):
            change()


def test_page_leads_to_the_campaign_and_to_each_chatbot(chat: Campaign, owner: Client) -> None:
    live_sets_update()
    found = ConversationSet.objects.get(campaign=chat)
    scorecard_compute(conversation_set=found, classify=music)
    page = words(owner.get(f"/console/conversations/{found.public_id}/"))
    assert "3 conversations" in page
    assert "The campaign" in page
    assert "Delete the whole set" not in page
    name = next(live_conversations(chat)).chatbot
    assert owner.get(f"/console/conversations/{found.public_id}/chatbot/", {"name": name}).status_code == 200
    assert owner.get(f"/console/conversations/{found.public_id}/chatbot/", {"name": "nobody"}).status_code == 404
