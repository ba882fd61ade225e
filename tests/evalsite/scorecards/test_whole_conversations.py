"""Whole conversations are judged: pairs on a board, ratings of one, erasure, files, and what annotators see."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.boards.models import LabelReport
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import InvalidInput
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write
from evalsite.judgments.models import Annotator, Assignment, Judgment
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.scorecards.annotated_replies import annotated_labels, contents_shown
from evalsite.scorecards.annotation import (
    AnnotationRequest,
    annotation_create,
    judgments_planned,
    pair_question,
    rating_question,
    sample_plan,
)
from evalsite.scorecards.conversations import ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.live_sets import live_set_make
from evalsite.scorecards.models import AnnotatedReply, Annotation, ConversationSet
from evalsite.scorecards.reply_sampling import SampleRequest
from evalsite.scorecards.services import conversation_set_open, conversations_add, user_erase
from tests.evalsite.api.client import Api
from tests.evalsite.cast import assignment_claim, run_only_refits
from tests.evalsite.dialogues.steps import begin, choose, live_campaign_make, released
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

ALL = SampleRequest(share=1.0)
PAIR, ONE = Annotation.Unit.PAIR, Annotation.Unit.CONVERSATION


def talk(number: int, chatbot: str, text: str = "Answer") -> ScoredConversation:
    turns = [
        turn
        for n in (1, 2)
        for turn in (
            ScoredTurn(Speaker.USER, f"Question {n} of {number}?"),
            ScoredTurn(Speaker.CHATBOT, f"{text} {n} of {chatbot} in {number}."),
        )
    ]
    return ScoredConversation(f"talk-{number}", chatbot, tuple(turns), f"user-{number}")


@shared
def talks(organisation: Organisation) -> ConversationSet:
    """Four conversations of Bot A, three of Bot B and two of Bot C."""
    found = conversation_set_open(organisation=organisation, name="Talks")
    conversations_add(conversation_set=found, conversations=[talk(n, f"Bot {c}") for n, c in enumerate("AAAABBBCC")])
    return found


def launched(talks: ConversationSet, unit: Annotation.Unit, **more: Any) -> Campaign:
    question = pair_question() if unit == PAIR else rating_question(minimum=1, maximum=5)
    request = AnnotationRequest("Whole talks", ALL, more.pop("question", question), unit=unit, **more)
    campaign = annotation_create(conversation_set=talks, request=request)
    Campaign.objects.filter(pk=campaign.pk).update(batch_size=1, visibility="link", admission="open", vetting_votes=0)
    campaign.refresh_from_db()
    campaign_open(campaign=campaign)
    run_only_refits()
    campaign.refresh_from_db()
    return campaign


@shared
def campaign(talks: ConversationSet) -> Campaign:
    """Pairs of the talks are asked about."""
    return launched(talks, PAIR)


def said_by(turns: Sequence[Any], speaker: str = "chatbot") -> str:
    return " ".join(turn["text"] for turn in turns if turn["speaker"] == speaker)


def judge_pairs(campaign: Campaign, annotator: Annotator, best: str = "Bot A") -> list[Assignment]:
    """Judge one block: the best chatbot wins, others tie."""
    block = assignment_claim(campaign=campaign, annotator=annotator)
    shown = contents_shown(block)
    for one in block:
        wins = [label for label, turns in zip("AB", shown[one.pk].transcripts, strict=True) if best in said_by(turns)]
        choice = wins[0] if wins else "tie"
        judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"overall": choice})
    run_only_refits()
    return block


class TestPairs:
    def test_prompt_has_one_conversation_of_each_chatbot(self, campaign: Campaign) -> None:
        assert (campaign.mode, campaign.entrants.count()) == ("static", 3)
        rows = AnnotatedReply.objects.filter(annotation__campaign=campaign).order_by("prompt", "reply")
        sizes = [rows.filter(prompt=prompt).count() for prompt in campaign.prompt_set.prompts.order_by("pk")]
        assert sizes == [3, 3, 2, 1]
        assert len({row.imported_id for row in rows}) == rows.count() == 9

    def test_pair_shows_two_transcripts_and_no_name(self, campaign: Campaign) -> None:
        block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
        shown = contents_shown(block)[block[0].pk]
        assert (list(shown.turns), shown.texts) == ([], (None, None))
        assert [len(turns) for turns in shown.transcripts] == [4, 4]
        assert said_by(shown.transcripts[0]) != said_by(shown.transcripts[1])
        assert "talk-" not in shown.prompt

    @pytest.mark.full
    def test_board_ranks_the_chatbots_and_ends_with_the_pairs(self, campaign: Campaign) -> None:
        annotator = annotator_enrol(campaign=campaign)
        for _ in range(4):  # a block has no prompt twice
            judge_pairs(campaign, annotator)
        campaign.refresh_from_db()
        snapshot = snapshot_current(campaign.default_board)
        assert snapshot is not None
        assert (snapshot.rows[0]["name"], snapshot.judgments) == ("Bot A", 7)
        assert campaign.state == Campaign.State.STOPPED

    def test_erased_conversation_is_not_compared_any_more(self, talks: ConversationSet, campaign: Campaign) -> None:
        user_erase(conversation_set=talks, user_id="user-0")
        run_only_refits()
        left = set(AnnotatedReply.objects.values_list("reply__version__entrants", "prompt"))
        queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)
        pairs = {
            (int(entrant), one.place.prompt_id)
            for one in queued.select_related("place")
            for entrant in one.item.split(":")[1].split("-")
        }
        assert queued.exists()
        assert pairs <= left

    def test_erased_conversation_in_a_block_is_unknown(self, talks: ConversationSet, campaign: Campaign) -> None:
        block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
        for number in range(9):
            user_erase(conversation_set=talks, user_id=f"user-{number}")
        shown = contents_shown(block)[block[0].pk]
        assert (shown.texts, shown.transcripts) == ((None, None), ())

    def test_one_chatbot_has_no_pairs(self, organisation: Organisation) -> None:
        alone = conversation_set_open(organisation=organisation, name="Alone")
        conversations_add(conversation_set=alone, conversations=[talk(1, "Bot A"), talk(2, "Bot A")])
        with pytest.raises(InvalidInput, match="two chatbots"):
            annotation_create(conversation_set=alone, request=AnnotationRequest("P", ALL, pair_question(), unit=PAIR))
        assert not Campaign.objects.filter(name="P").exists()

    def test_sample_is_of_conversations(self, talks: ConversationSet) -> None:
        plan = sample_plan(talks, SampleRequest(number=3), unit=PAIR)
        assert [len(one.drawn) for one in plan] == [3, 3, 2]
        assert judgments_planned(plan, 2, PAIR) == 2 * (3 + 2 + 2)
        with pytest.raises(InvalidInput, match="half-width"):
            sample_plan(talks, SampleRequest(half_width=0.1), unit=PAIR)


class TestRatings:
    def test_board_shows_the_mean_rating_of_conversations(self, talks: ConversationSet, stranger: Client) -> None:
        campaign = launched(talks, ONE)
        annotator = annotator_enrol(campaign=campaign)
        for _ in range(2):
            block = assignment_claim(campaign=campaign, annotator=annotator)
            shown = contents_shown(block)
            for one in block:
                value = 5 if "Bot A" in said_by(shown[one.pk].transcripts[0]) else 2
                judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"rating": value})
            run_only_refits()
        (report,) = LabelReport.objects.get(board__default_of=campaign).content
        means = {row["chatbot"]: (row["n"], row["values"][0]["value"]) for row in report["chatbots"]}
        assert means == {"Bot A": (4, 5.0), "Bot B": (3, 2.0), "Bot C": (2, 2.0)}
        assert annotated_labels(talks) == [], "the response error rate is of replies alone"
        campaign.refresh_from_db()
        assert campaign.state == Campaign.State.STOPPED


def test_page_shows_both_transcripts_and_hostile_text_is_text(organisation: Organisation, stranger: Client) -> None:
    odd = conversation_set_open(organisation=organisation, name="Odd")
    conversations_add(conversation_set=odd, conversations=[talk(n, f"Bot {'AB'[n]}", HOSTILE) for n in (0, 1)])
    campaign = launched(odd, PAIR, justify=True)
    address = f"/judge/{campaign.public_id}/"
    assert "You read two conversations of people with chatbots" in words(stranger.get(address))
    stranger.post(f"{address}begin/")
    page = stranger.get(address).content.decode()
    assert page.count('class="said"') == 2
    assert "Conversation A" in page
    assert "<script>alert" not in page
    assert 'class="prompt scrolls"' not in page
    assert "required" in page.split("<textarea")[1].split(">")[0]


def test_api_gives_the_messages_of_each_conversation(
    talks: ConversationSet, campaign: Campaign, stranger: Client
) -> None:
    path = f"/api/v1/campaigns/{campaign.public_id}"
    joined = stranger.post("/api/v1/annotators", {"campaign": str(campaign.public_id)}, "application/json").json()
    api = Api(joined["token"])
    claimed = api.post(f"{path}/claims", {"count": 1}).json()["assignments"][0]
    assert [one["text"] for one in claimed["candidates"]] == [None, None]
    assert [turn["speaker"] for turn in claimed["candidates"][0]["conversation"]] == ["user", "chatbot"] * 2
    answer = {"answers": [{"aspect": "overall", "choice": "A"}]}
    assert api.post(f"/api/v1/assignments/{claimed['id']}/judgment", answer).status_code == 201
    assert Judgment.objects.count() == 1


FILE = """\
touchstone: 1
campaign: {name: Which talks, slug: which-talks, mode: static}
annotation: {set: Talks, unit: pair, number: 3, seed: 4}
reception: {comments: true, comment_required: true}
aspects:
- {key: engaging, question: Who is more engaging?}
- {key: human, question: Who sounds more human?}
"""


def test_file_makes_pairs_and_comes_back_as_it_was(talks: ConversationSet) -> None:
    campaign = campaign_take(organisation=talks.organisation, given=campaign_read(FILE))
    assert AnnotatedReply.objects.filter(annotation__campaign=campaign, number=None).count() == 8
    assert campaign.block_size == 5
    campaign_open(campaign=campaign)
    written = yaml.safe_load(campaign_write(campaign))
    assert written["annotation"] == {"set": "Talks", "unit": "pair", "number": 3, "whole": False, "seed": 4}
    assert [one["key"] for one in written["aspects"]] == ["engaging", "human"]


@pytest.mark.parametrize(("unit", "mode"), [("pair", "single"), ("conversation", "static"), ("reply", "static")])
def test_file_with_another_mode_is_refused(unit: str, mode: str) -> None:
    with pytest.raises(CampaignFileError, match="needs mode"):
        campaign_read(FILE.replace("unit: pair", f"unit: {unit}").replace("mode: static", f"mode: {mode}"))


def test_command_launches_pairs(talks: ConversationSet, capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    call_command("annotate_conversations", "--set", "Talks", "--unit", "pair", "--share", "1", "--json", stdout=out)
    assert json.loads(out.getvalue())["judgments"] == 7
    assert Campaign.objects.get(annotation__unit="pair").state == Campaign.State.RUNNING


class TestLive:
    @pytest.fixture
    def chat(self, organisation: Organisation) -> Campaign:
        """Conversations of one turn with one of two chatbots. The last annotator does not consent to a review."""
        live = live_campaign_make(
            organisation=organisation, chatbots=2, chatbots_per_conversation=1, selection="sata", minimum_turns=1
        )
        for number in range(5):
            conversation = begin(live, annotator_enrol(campaign=live))
            conversation.consents_to_review = number < 4
            conversation.save()
            choose(released(conversation, f"Call me at +49 170 1234567, number {number}"), ["A"])
            conversation.state, conversation.ended_at = "ended", conversation.started_at
            conversation.save()
        return live

    def test_only_consenting_annotators_are_read_and_redacted(self, chat: Campaign) -> None:
        talks = live_set_make(chat)
        assert sum(len(one.drawn) for one in sample_plan(talks, ALL, unit=ONE)) == 4
        campaign = launched(talks, ONE)
        block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
        shown = [contents_shown(block)[one.pk].transcripts[0] for one in block]
        assert all("1234567" not in said_by(turns, "user") for turns in shown)
        assert all("[number]" in said_by(turns, "user") for turns in shown)
