"""Annotation of conversations: samples, blocks of one conversation, labels on the scorecard, and erasure."""

import random
from collections.abc import Sequence

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.boards.models import LabelReport
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.errors import InvalidInput
from evalsite.dialogues.models import Conversation
from evalsite.judgments.models import Annotator, Assignment, Enrolment, Judgment
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.scorecards.annotated_replies import annotated_labels, contents_shown, texts_of
from evalsite.scorecards.annotation import AnnotationRequest, annotation_create, rating_question, sample_plan
from evalsite.scorecards.computing import scorecard_compute
from evalsite.scorecards.conversations import ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.live_sets import live_set_make
from evalsite.scorecards.models import AnnotatedReply, ConversationSet
from evalsite.scorecards.reply_sampling import SampleRequest, replies_draw, replies_for_precision
from evalsite.scorecards.services import conversation_set_delete, conversation_set_open, conversations_add, user_erase
from tests.evalsite.cast import assignment_claim, empty_queue, run_only_refits
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.evalsite.scorecards.test_live_conversations import talk
from tests.shared import shared

ALL = SampleRequest(share=1.0)


def music(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return ["music"] * len(pairs)


def conversation(number: int, chatbot: str, replies: int = 3) -> ScoredConversation:
    turns = [
        turn
        for n in range(1, replies + 1)
        for turn in (
            ScoredTurn(Speaker.USER, f"Question {n} of {number}?"),
            ScoredTurn(Speaker.CHATBOT, f"Answer {n} of {number}."),
        )
    ]
    return ScoredConversation(f"talk-{number}", chatbot, tuple(turns), f"user-{number}")


@shared
def talks(organisation: Organisation) -> ConversationSet:
    """Six conversations of three replies, of two chatbots by turns."""
    found = conversation_set_open(organisation=organisation, name="Talks")
    conversations_add(conversation_set=found, conversations=[conversation(n, f"Bot {'AB'[n % 2]}") for n in range(6)])
    return found


def launched(talks: ConversationSet, sample: SampleRequest = ALL, **more: object) -> Campaign:
    request = AnnotationRequest("Errors", sample, **more)  # type: ignore[arg-type]
    campaign = annotation_create(conversation_set=talks, request=request)
    Campaign.objects.filter(pk=campaign.pk).update(batch_size=1, visibility="link", admission="open", vetting_votes=0)
    campaign.refresh_from_db()
    campaign_open(campaign=campaign)
    run_only_refits()
    campaign.refresh_from_db()
    return campaign


@shared
def campaign(talks: ConversationSet) -> Campaign:
    """Every reply of the talks is asked about."""
    return launched(talks)


def label(campaign: Campaign, annotator: Annotator, choose: dict[str, str], *, blocks: int = 1) -> list[Assignment]:
    """Label each reply by the first word of `choose` that its text contains; others are correct."""
    given = []
    for _ in range(blocks):
        block = assignment_claim(campaign=campaign, annotator=annotator)
        shown = contents_shown(block)
        for one in block:
            text = shown[one.pk].texts[0] or ""
            word = next((choose[part] for part in choose if part in text), "correct")
            judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"label": [word]})
        given += block
        run_only_refits()
    return given


class TestSample:
    def test_half_width_gives_textbook_sizes(self) -> None:
        assert replies_for_precision(0.05, 10**9) == 385
        assert replies_for_precision(0.05, 1000) == 278
        assert replies_for_precision(0.05, 10**9, rate=0.2) == 246
        assert replies_for_precision(0.05, 10**9, together=11) == 769

    def test_share_and_number_are_of_each_chatbot(self, talks: ConversationSet) -> None:
        half = sample_plan(talks, SampleRequest(share=0.5))
        four = sample_plan(talks, SampleRequest(number=4))
        assert [(one.chatbot, one.replies, len(one.drawn)) for one in half] == [("Bot A", 9, 5), ("Bot B", 9, 5)]
        assert [len(one.drawn) for one in four] == [4, 4]

    def test_whole_conversations_have_all_their_replies(self, talks: ConversationSet) -> None:
        plan = sample_plan(talks, SampleRequest(number=4, whole=True))
        assert [[drawn.number for drawn in one.drawn] for one in plan] == [[1, 2, 3, 1, 2, 3]] * 2

    def test_each_reply_is_drawn_equally_often(self) -> None:
        rng, replies = random.Random(1), {1: 1, 2: 4, 3: 5}
        counts = dict.fromkeys(((c, n + 1) for c in replies for n in range(replies[c])), 0)
        for _ in range(2000):
            for drawn in replies_draw(replies, 3, rng=rng):
                counts[drawn] += 1
        assert all(500 < count < 700 for count in counts.values())

    @pytest.mark.parametrize(
        "wrong",
        [{}, {"share": 0.0}, {"share": 1.2}, {"number": 0}, {"half_width": 0.7}, {"share": 0.1, "number": 3}],
    )
    def test_wrong_size_is_refused(self, wrong: dict[str, float]) -> None:
        with pytest.raises(InvalidInput):
            SampleRequest(**wrong)  # type: ignore[arg-type]

    def test_empty_set_is_refused(self, organisation: Organisation) -> None:
        empty = conversation_set_open(organisation=organisation, name="Empty")
        with pytest.raises(InvalidInput, match="no replies"):
            annotation_create(conversation_set=empty, request=AnnotationRequest("Errors", ALL))
        assert not Campaign.objects.filter(name="Errors").exists()


def test_block_has_whole_conversations_in_their_order(campaign: Campaign) -> None:
    block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign), count=6)
    rows = {one.prompt_id: one for one in AnnotatedReply.objects.all()}
    places = [(rows[one.place.prompt_id].imported_id, rows[one.place.prompt_id].number) for one in block]
    assert [number for _, number in places] == [1, 2, 3, 1, 2, 3]
    assert len({conversation for conversation, _ in places}) == 2


def test_reply_is_shown_with_the_conversation_before_it(campaign: Campaign) -> None:
    block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
    third = contents_shown(block)[block[2].pk]
    assert third.texts[0] is not None
    assert third.texts[0].startswith("Answer 3 of ")
    assert [turn["speaker"] for turn in third.turns] == ["user", "chatbot", "user", "chatbot", "user"]
    assert "talk-" not in third.prompt, "the id of the file may name the chatbot"


def test_labels_become_the_response_error_rate(talks: ConversationSet, campaign: Campaign) -> None:
    label(
        campaign, annotator_enrol(campaign=campaign), {"Answer 1": "incorrect", "Answer 2": "weakly related"}, blocks=3
    )
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert len(annotated_labels(talks)) == 18
    cells = scorecard_compute(conversation_set=talks, classify=music).content["metrics"]["response_error_rate"]
    assert cells["Bot A"]["n"] == 9
    assert cells["Bot A"]["value"] == pytest.approx(1 / 3)
    assert cells["Bot A"]["lower"] < 1 / 3 < cells["Bot A"]["upper"]


@pytest.mark.parametrize(("below", "errors"), [(None, 6), pytest.param(2.0, 6, marks=pytest.mark.full), (3.0, 12)])
def test_low_ratings_are_errors(talks: ConversationSet, below: float | None, errors: int) -> None:
    campaign = launched(talks, question=rating_question(minimum=1, maximum=5), error_below=below)
    annotator = annotator_enrol(campaign=campaign)
    for _ in range(3):
        for one in assignment_claim(campaign=campaign, annotator=annotator):
            text = contents_shown([one])[one.pk].texts[0] or ""
            judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"rating": int(text.split()[1])})
        run_only_refits()
    assert sum(one.erroneous for one in annotated_labels(talks)) == errors


@pytest.mark.parametrize("below", [0.0, 2.5])
def test_limit_of_errors_lies_on_the_scale(talks: ConversationSet, below: float) -> None:
    request = AnnotationRequest("Errors", ALL, rating_question(), error_below=below)
    with pytest.raises(InvalidInput, match="limit of errors"):
        annotation_create(conversation_set=talks, request=request)
    assert not Campaign.objects.exists()


def test_gold_on_a_sampled_reply_keeps_its_own_text(talks: ConversationSet) -> None:
    campaign = annotation_create(conversation_set=talks, request=AnnotationRequest("Errors", ALL))
    Campaign.objects.filter(pk=campaign.pk).update(gold_share=0.5, visibility="link", admission="open", vetting_votes=0)
    campaign.refresh_from_db()
    items = [NewGold(f"g{n}", ("incorrect",), prompt=f"r{n}", texts=("Two and two are five.", "")) for n in (1, 2, 3)]
    gold_add(campaign=campaign, items=items)
    campaign_open(campaign=campaign)
    run_only_refits()
    block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
    (first, *_) = [one for one in block if one.gold_id]
    shown = contents_shown(block)[first.pk]
    assert shown.texts == ("Two and two are five.",)
    assert shown.turns[0]["text"].startswith("Question 1 of")


def test_board_shows_shares_of_labels(talks: ConversationSet, stranger: Client) -> None:
    campaign = launched(talks, votes=2)
    words = {"Answer 1": "incorrect"}
    for _ in range(2):
        label(campaign, annotator_enrol(campaign=campaign), words, blocks=3)
    report_row = LabelReport.objects.get(board__default_of=campaign)
    (report,) = report_row.content
    assert (report["alpha"], report["shared"]) == (pytest.approx(1.0), 18)
    assert [(row["chatbot"], row["n"]) for row in report["chatbots"]] == [("Bot A", 9), ("Bot B", 9)]
    share = report["chatbots"][0]["values"][report["labels"].index("incorrect")]
    assert share["value"] == pytest.approx(1 / 3)
    assert share["lower"] < 1 / 3 < share["upper"]
    page = " ".join(stranger.get(f"/boards/{report_row.board.public_id}/").content.decode().split())
    assert "Weakly related" in page
    assert "33 %" in page
    assert "Ability" not in page


def test_two_votes_are_given_by_two_annotators(talks: ConversationSet) -> None:
    campaign = launched(talks, SampleRequest(number=2), votes=2)
    first = label(campaign, annotator_enrol(campaign=campaign), {}, blocks=4)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.RUNNING
    second = label(campaign, annotator_enrol(campaign=campaign), {}, blocks=4)
    campaign.refresh_from_db()
    assert sorted(one.item for one in first) == sorted(one.item for one in second)
    assert campaign.state == Campaign.State.STOPPED


def test_erased_user_is_not_shown_and_not_counted(talks: ConversationSet, campaign: Campaign) -> None:
    user_erase(conversation_set=talks, user_id="user-0")
    assert Assignment.objects.filter(campaign=campaign, state="queued").count() == 15
    run_only_refits()
    assert Assignment.objects.filter(campaign=campaign, state="queued").count() == 15
    given = label(campaign, annotator_enrol(campaign=campaign), {}, blocks=5)
    assert len(given) == 15
    user_erase(conversation_set=talks, user_id="user-1")
    assert len(annotated_labels(talks)) == 12
    assert Judgment.objects.count() == 15
    shown = contents_shown(list(Assignment.objects.filter(pk__in=[one.pk for one in given])))
    assert sum(one.texts == (None,) for one in shown.values()) == 3


def test_deleted_set_ends_its_annotation(talks: ConversationSet, campaign: Campaign) -> None:
    conversation_set_delete(conversation_set=talks)
    assert not Assignment.objects.filter(campaign=campaign, state="queued").exists()
    assert not AnnotatedReply.objects.exists()
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED


@shared
def chat(organisation: Organisation) -> Campaign:
    """Three ended live conversations of two turns, each with one of two chatbots."""
    live = live_campaign_make(organisation=organisation, chatbots=2, chatbots_per_conversation=1, selection="sata")
    for rating in (5, 3, 4):
        talk(live, annotator_enrol(campaign=live), rating)
    live.conversations.update(consents_to_review=True)
    return live


class TestLive:
    def test_live_replies_are_labelled_and_counted(self, chat: Campaign) -> None:
        campaign = launched(live_set_make(chat))
        given = label(campaign, annotator_enrol(campaign=campaign), {}, blocks=2)
        assert len(given) == 6
        labels = annotated_labels(ConversationSet.objects.get())
        assert sorted(one.turn for one in labels) == [1, 1, 1, 2, 2, 2]
        assert {one.chatbot for one in labels} <= {"chat speaker 0", "chat speaker 1"}

    def test_only_conversations_with_consent_are_drawn_and_redacted(self, chat: Campaign) -> None:
        first, *others = chat.conversations.order_by("pk")
        chat.conversations.filter(pk__in=[one.pk for one in others]).update(consents_to_review=False)
        first.utterances.filter(speaker="user").update(text="Write to me@example.org")
        campaign = launched(live_set_make(chat))
        prompts = Assignment.objects.filter(campaign=campaign).values_list("place__prompt", flat=True)
        shown = [text for of_prompt in texts_of(set(prompts)).values() for text in of_prompt.values()]
        assert len(shown) == 2
        assert all("[e-mail]" in one.turns[0]["text"] for one in shown)
        chat.conversations.update(consents_to_review=False)
        with pytest.raises(InvalidInput) as refused:
            sample_plan(ConversationSet.objects.get(), SampleRequest(share=1.0))
        assert "consented" in refused.value.hint

    def test_erased_conversation_is_not_planned_again(self, chat: Campaign) -> None:
        campaign = launched(live_set_make(chat))
        person = Conversation.objects.order_by("pk")[0].annotator
        person_erase(user=None, parts=Enrolment.objects.filter(annotator=person))
        empty_queue(campaign)
        refit_request(campaign)
        run_only_refits()
        assert Assignment.objects.filter(campaign=campaign, state="queued").count() == 4
