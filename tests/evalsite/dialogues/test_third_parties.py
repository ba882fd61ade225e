"""A sample of live turns for third parties: what comes in, what does not, and what an erasure takes out again."""

from typing import Any

import pytest

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.services import user_create
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign, Retirement
from evalsite.campaigns.services import REFIT
from evalsite.chatbots.models import Reply
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.core.models import AuditEntry, Job
from evalsite.dialogues.models import Conversation, ReviewedTurn, ThirdPartyReview, Utterance
from evalsite.dialogues.third_parties import conversations_reviewable, third_parties_ask
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Enrolment
from evalsite.judgments.person_erasure import person_erase
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.shared import shared

pytestmark = pytest.mark.django_db
PATTERNS = ["10", "01", "11"]


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def olga(organisation: Organisation) -> User:
    user = user_create(username="olga", password=None)
    Membership.objects.create(organisation=organisation, user=user, role="owner")
    return user


@shared
def talk(organisation: Organisation) -> Campaign:
    """SATA of two chatbots, with three conversations that may be shown and one without consent."""
    campaign = live_campaign_rows(organisation, selection="sata")
    for _ in range(3):
        conversation_rows(campaign, PATTERNS)
    conversation_rows(campaign, PATTERNS, message="Nobody may read this", consents=False)
    return campaign


def texts(draft: Campaign) -> str:
    """Everything that third parties could read."""
    prompts = draft.prompt_set.prompts.all()
    said = [turn["text"] for prompt in prompts for turn in prompt.turns or ()]
    replies = Reply.objects.filter(prompt__in=prompts).exclude(text=None)
    return "\n".join([*said, *(one.text or "" for one in replies)])


def erase(conversation: Conversation) -> None:
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=conversation.annotator))


def test_a_draft_holds_contexts_and_the_shown_replies(talk: Campaign, olga: User) -> None:
    draft = third_parties_ask(campaign=talk, by=olga)
    assert (draft.state, draft.mode, draft.visibility) == ("draft", "static", "private")
    rows = list(ReviewedTurn.objects.filter(review__source=talk).select_related("turn", "prompt"))
    assert len({row.turn.conversation_id for row in rows}) == 3
    for row in rows:
        assert row.turn.counts
        assert row.prompt.turns is not None
        assert row.prompt.turns[-1]["speaker"] == "user"
        shown = {(one.version_id, one.text) for one in row.prompt.replies.all()}
        assert shown == {(one.entrant.version_id, one.text) for one in row.turn.replies.shown()}
    assert set(draft.entrants.values_list("version", flat=True)) == set(talk.entrants.values_list("version", flat=True))
    aspect = draft.rubric.aspects.get()
    assert (aspect.question, aspect.choices) == (talk.rubric.aspects.get().question, ["A", "tie", "B", "both_bad"])
    assert (draft.votes_per_item, limits_of(draft.stopping).budget) == (3, 9)
    assert AuditEntry.objects.filter(act="third_parties", subject=talk.public_id).count() == 1


def test_earlier_turns_are_the_context_and_are_redacted(organisation: Organisation, olga: User) -> None:
    talk = live_campaign_rows(organisation, slug="one")
    conversation = conversation_rows(talk, ["10", "01"], message="I am eva@mail.example, who are you?")
    first = conversation.turns.get(number=1)
    Utterance.objects.create(
        conversation=conversation, turn=first, speaker="chatbot", text="I am one A, call 0660 1234567.", hmac="0" * 64
    )
    draft = third_parties_ask(campaign=talk, by=olga)
    (prompt,) = draft.prompt_set.prompts.all()
    assert prompt.turns == [
        {"speaker": "user", "text": "I am [e-mail], who are you?"},
        {"speaker": "chatbot", "text": "I am [chatbot], call [number]."},
        {"speaker": "user", "text": "I am [e-mail], who are you?"},
    ]
    assert draft.rubric.aspects.get().choices == ["A", "B"]


def test_only_consenting_annotators_in_good_standing_come_in(talk: Campaign, olga: User) -> None:
    excluded, erased, _kept, _silent = talk.conversations.order_by("pk")
    annotator_exclude(campaign=talk, annotator=excluded.annotator, reason="tapped one key", by=olga)
    erase(erased)
    assert conversations_reviewable(talk) == 1
    draft = third_parties_ask(campaign=talk, by=olga)
    assert ReviewedTurn.objects.filter(review__campaign=draft).count() == 1
    assert "Nobody may read this" not in texts(draft)


def test_the_sample_is_as_large_as_wished(talk: Campaign, olga: User) -> None:
    draft = third_parties_ask(campaign=talk, by=olga, conversations=2)
    assert draft.prompt_set.prompts.count() == 2
    again = third_parties_ask(campaign=talk, by=olga)
    assert again.pk != draft.pk
    assert ThirdPartyReview.objects.filter(source=talk).count() == 2


def test_an_erasure_takes_the_texts_out_again(talk: Campaign, olga: User) -> None:
    draft = third_parties_ask(campaign=talk, by=olga)
    row = ReviewedTurn.objects.filter(review__campaign=draft).select_related("turn__conversation").first()
    assert row is not None
    erase(row.turn.conversation)
    row.prompt.refresh_from_db()
    assert row.prompt.turns is None
    assert set(row.prompt.replies.values_list("text", "sha256")) == {(None, None)}
    assert Retirement.objects.get(campaign=draft).prompt == row.prompt
    assert draft.prompt_set.prompts.filter(turns__isnull=False).count() == 2


def test_an_erasure_reaches_every_campaign_with_the_prompts(
    talk: Campaign, olga: User, make_campaign: CampaignMaker
) -> None:
    draft = third_parties_ask(campaign=talk, by=olga)
    other = make_campaign(slug="other", organisation=talk.organisation, start=False)
    Campaign.objects.filter(pk=other.pk).update(prompt_set=draft.prompt_set, state="running")
    row = ReviewedTurn.objects.select_related("turn__conversation").order_by("pk")[0]
    erase(row.turn.conversation)
    assert set(Retirement.objects.values_list("campaign", "prompt")) == {
        (draft.pk, row.prompt_id),
        (other.pk, row.prompt_id),
    }
    assert Job.objects.filter(kind=REFIT, args={"campaign": other.pk}).exists()


def test_an_erasure_touches_no_other_prompt(talk: Campaign, olga: User) -> None:
    third_parties_ask(campaign=talk, by=olga)
    before = set(Prompt.objects.filter(turns__isnull=False).values_list("pk", flat=True))
    silent = talk.conversations.get(consents_to_review=False)
    erase(silent)
    assert set(Prompt.objects.filter(turns__isnull=False).values_list("pk", flat=True)) == before


@pytest.mark.parametrize("wish", [0, 1_001, True, "60"])
def test_an_odd_sample_size_is_refused(talk: Campaign, olga: User, wish: Any) -> None:
    with pytest.raises(InvalidInput):
        third_parties_ask(campaign=talk, by=olga, conversations=wish)
    assert not ThirdPartyReview.objects.exists()


def test_nothing_is_made_without_a_turn_or_a_right(organisation: Organisation, talk: Campaign, olga: User) -> None:
    empty = live_campaign_rows(organisation, slug="empty")
    single = live_campaign_rows(organisation, slug="single", chatbots=1, selection="sata")
    conversation_rows(single, ["1", "0"])
    for campaign in (empty, single):
        with pytest.raises(Conflict):
            third_parties_ask(campaign=campaign, by=olga)
    with pytest.raises(NotAllowed):
        third_parties_ask(campaign=talk, by=user_create(username="guest", password=None))
    assert not ThirdPartyReview.objects.exists()
    assert not Campaign.objects.filter(mode="static").exists()
