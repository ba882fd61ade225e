"""A live campaign is set up in the console: its mode, its conversations, its chatbots, and its review."""

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.chatbots.models import Version
from evalsite.chatbots.services import chatbot_create
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

GOAL = {"mode": "live", "name": "Spring talks", "question": "Which replies fit?"}
CONVERSATION = {
    "setting": "sata_written",
    "chatbots_per_conversation": "3",
    "minimum_turns": "4",
    "maximum_turns": "",
    "conversations_per_annotator": "2",
    "opening_topics": "A trip\n\n  Cooking for guests ",
    "pay_per": "conversation",
    "end_rating": "on",
    "data_notice": "Your words go to **Example Inc**.",
    "turn_deadline_s": "60",
    "reports_to_pause": "2",
}


@shared
def draft(alice: User) -> Campaign:
    client = Client()
    client.force_login(alice)
    client.post("/console/new/", GOAL)
    return Campaign.objects.latest("pk")


def url(draft: Campaign, step: str) -> str:
    return f"/console/{draft.public_id}/setup/{step}/"


def live_version(organisation: Organisation, name: str) -> Version:
    settings = EndpointSettings(adapter="openai", url="https://chat.example.org/v1", model="m")
    chatbot = chatbot_create(organisation=organisation, name=name)
    return endpoint_register(chatbot=chatbot, label="1", settings=settings).version


def test_new_live_campaign_has_a_step_for_conversations(owner: Client, draft: Campaign) -> None:
    assert (draft.mode, draft.live.setting, draft.live.minimum_turns) == ("live", "soba", 10)
    assert draft.rubric.aspects.get().choices == ["A", "B"]
    sent = owner.post("/console/new/", GOAL)
    assert sent["Location"].endswith("/setup/conversation/")
    page = words(owner.get(url(draft, "conversation")))
    assert "What annotators select in each turn" in page
    assert owner.get(url(draft, "prompts")).status_code == 404


def test_saved_conversation_settings_are_shown_again(owner: Client, draft: Campaign) -> None:
    sent = owner.post(url(draft, "conversation"), CONVERSATION)
    assert sent["Location"].endswith("/setup/chatbots/")
    draft.refresh_from_db()
    live = draft.live
    assert (live.setting, live.chatbots_per_conversation, live.maximum_turns) == ("sata_written", 3, None)
    assert live.opening_topics == ["A trip", "Cooking for guests"]
    assert (live.count_first_turn, live.end_rating, live.end_feedback) == (False, True, False)
    assert draft.rubric.aspects.get().kind == Aspect.Kind.SELECT_ANY
    shown = owner.get(url(draft, "conversation")).content.decode()
    assert "Cooking for guests" in shown
    assert 'value="sata_written" checked' in shown.replace('"  ', '" ') or "checked" in shown


def test_new_question_keeps_the_kind_of_selection(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "conversation"), CONVERSATION)
    owner.post(url(draft, "goal"), {"name": "Spring talks", "question": "Which replies are right?"})
    draft.refresh_from_db()
    aspect = draft.rubric.aspects.get()
    assert (aspect.question, aspect.kind, aspect.allow_tie) == ("Which replies are right?", "select_any", False)


QUESTIONS = """\
error: Is it correct? | correct, incorrect, irrelevant | each
fun: How engaging is it? | 1-5 | selected
marks: Which marks does the turn have? | any: long, odd | turn"""


def test_further_questions_are_lines_and_shown_again(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "conversation"), {**CONVERSATION, "turn_questions": QUESTIONS})
    draft.refresh_from_db()
    asked = draft.rubric.aspects.exclude(position=0).values_list("key", "kind", "scope", "one_label", "maximum")
    assert list(asked) == [
        ("error", "label", "candidate", True, None),
        ("fun", "rating", "selected", False, 5),
        ("marks", "label", "turn", False, None),
    ]
    assert QUESTIONS in owner.get(url(draft, "conversation")).content.decode()
    owner.post(url(draft, "conversation"), CONVERSATION)
    draft.refresh_from_db()
    assert draft.rubric.aspects.count() == 4, "a form without the field keeps them"
    assert "How engaging is it?" in words(owner.get(url(draft, "review")))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Is it correct?", "This line is not understood: Is it correct?"),
        ("error: Is it correct? | yes", "error: A question needs 2 to 50 different labels."),
        ("error: Is it correct? | yes, no | both", "Write: name: question | answers | each, selected or turn."),
        ("fun: How good? | 5-1", "fun: A rating needs a scale."),
        ("overall: Again? | 1-5", "The name overall stands here twice."),
    ],
)
def test_wrong_question_is_named(owner: Client, draft: Campaign, line: str, said: str) -> None:
    page = owner.post(url(draft, "conversation"), {**CONVERSATION, "turn_questions": line})
    assert page.status_code == 400
    assert said in words(page)
    assert draft.rubric.aspects.count() == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"minimum_turns": "12", "maximum_turns": "11"}, "The maximum is below the minimum of 12 turns."),
        ({"setting": "soba", "chatbots_per_conversation": "1"}, "A single chatbot has no best reply."),
        ({"chatbots_per_conversation": "9"}, "less than or equal to 8"),
        ({"opening_topics": "x" * 301}, "A topic has at most 300 characters."),
    ],
    ids=["maximum below minimum", "one chatbot", "nine chatbots", "long topic"],
)
def test_settings_that_do_not_fit_are_explained(
    owner: Client, draft: Campaign, changed: dict[str, str], said: str
) -> None:
    refused = owner.post(url(draft, "conversation"), {**CONVERSATION, **changed})
    assert refused.status_code == 400
    assert said in words(refused)
    draft.refresh_from_db()
    assert draft.live.minimum_turns == 10


def test_review_names_the_chatbots_that_are_missing(owner: Client, draft: Campaign, alice: User) -> None:
    owner.post(url(draft, "conversation"), CONVERSATION)
    assert "A conversation has 3 chatbots, but only 0" in words(owner.get(url(draft, "review")))
    for name in ("Anna", "Bert", "Cleo"):
        version = live_version(alice.personal_organisation, name)
        assert name in words(owner.get(url(draft, "chatbots")))
        owner.post(f"/console/{draft.public_id}/act/add_entrant/", {"version": str(version.public_id)})
    assert "3 chatbots take part." in words(owner.get(url(draft, "chatbots")))
    review = words(owner.get(url(draft, "review")))
    assert "It can begin." in review
    assert "All appropriate replies, or a better one" in review
    assert "Your words go to **Example Inc**." in review


def test_pay_of_a_live_campaign_is_for_a_conversation_or_a_turn(owner: Client, draft: Campaign) -> None:
    page = words(owner.get(url(draft, "annotators")))
    assert "The step Conversation says what the pay is for" in page
    sent = {"visibility": "public", "admission": "open", "pay_rate": "0.60", "currency": "USD"}
    assert owner.post(url(draft, "annotators"), sent).status_code == 302
    draft.refresh_from_db()
    assert (draft.pay_per, f"{draft.pay_rate:.2f}") == ("judgment", "0.60")


def test_conversations_page_says_everything_that_is_set(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "conversation"), CONVERSATION)
    page = words(owner.get(f"/console/{draft.public_id}/conversations/"))
    assert "No conversation has begun yet." in page
    assert "A trip; Cooking for guests" in page
    assert "Minutes until an idle conversation ends" in page
