"""The judging page with one reply: labels and ratings as buttons and keys, and hostile texts."""

from dataclasses import replace

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import NewAspect
from evalsite.chatbots.models import Reply
from evalsite.judgments.models import Answer
from evalsite.operations.services import campaign_open
from tests.console_pages import CAMPAIGN
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.evalsite.pages.reading import Visitor
from tests.evalsite.single import LABELS, QUALITY, SINGLE

HOSTILE = "<img src=x onerror=alert(1)>"


def visitor_of(make_campaign: CampaignMaker, stranger: Client, *aspects: NewAspect) -> Visitor:
    make_campaign(design=replace(SINGLE, aspects=aspects), chatbots=1, prompts=3)
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    return visitor


@pytest.fixture
def visitor(make_campaign: CampaignMaker, stranger: Client) -> Visitor:
    return visitor_of(make_campaign, stranger, LABELS)


def test_labels_are_buttons_with_digits_in_their_order(visitor: Visitor) -> None:
    buttons = [piece for piece in visitor.page.html.split("<button") if 'name="choice"' in piece]
    assert len(buttons) == 5
    for digit, (label, piece) in enumerate(zip(LABELS.labels, buttons, strict=True), 1):
        assert f'value="{label}"' in piece
        assert f'aria-keyshortcuts="{digit}"' in piece
    assert "Weakly related" in visitor.page.words
    assert "Reply B" not in visitor.page.words


def test_button_answers_and_can_be_undone(visitor: Visitor) -> None:
    visitor.answer("irrelevant")
    assert Answer.objects.get().value == "irrelevant"
    visitor.follow("undo")
    (pressed,) = [one for one in visitor.page.html.split("<button") if 'aria-pressed="true"' in one]
    assert 'value="irrelevant"' in pressed


def test_two_labels_of_a_forged_form_are_refused(visitor: Visitor) -> None:
    visitor.post("answer", {"assignment": visitor.assignment, "choice": ["correct", "irrelevant"]})
    assert visitor.page.response.status_code == 400
    assert not Answer.objects.exists()


def test_ratings_are_the_numbers_of_the_scale(make_campaign: CampaignMaker, stranger: Client) -> None:
    visitor = visitor_of(make_campaign, stranger, QUALITY)
    assert 'value="5"' in visitor.page.html
    visitor.answer("5")
    assert Answer.objects.get().value == "5"


def test_several_questions_share_the_digits(make_campaign: CampaignMaker, stranger: Client) -> None:
    visitor = visitor_of(make_campaign, stranger, QUALITY, replace(LABELS, labels=("fine", "bad")))
    keys = [piece.split('"')[1] for piece in visitor.page.html.split("aria-keyshortcuts=")[1:]]
    assert [key for key in keys if key.isdigit()] == ["1", "2", "3", "4", "5", "6", "7"]
    visitor.post("answer", {"assignment": visitor.assignment, "answer.quality": "2", "answer.error": "bad"})
    assert set(Answer.objects.values_list("value", flat=True)) == {"2", "bad"}


def test_any_number_of_labels_are_boxes(make_campaign: CampaignMaker, stranger: Client) -> None:
    visitor = visitor_of(make_campaign, stranger, replace(LABELS, one_label=False))
    assert visitor.page.html.count('type="checkbox" name="answer.error"') == 5
    visitor.post("answer", {"assignment": visitor.assignment, "answer.error": ["incorrect", "irrelevant"]})
    assert set(Answer.objects.values_list("value", flat=True)) == {"incorrect", "irrelevant"}


def test_hostile_reply_and_label_are_shown_as_text(make_campaign: CampaignMaker, stranger: Client) -> None:
    labels = (HOSTILE, '"><script>alert(1)</script>')
    campaign = make_campaign(
        design=replace(SINGLE, aspects=(replace(LABELS, labels=labels),)), chatbots=1, prompts=1, start=False
    )
    reply = Reply.objects.get()
    Reply.objects.create(
        version=reply.version,
        prompt=reply.prompt,
        revision=2,
        corrects=reply,
        text=HOSTILE,
        sha256="0" * 64,
        origin="file",
    )
    _open(campaign)
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    assert "<img src=x" not in visitor.page.html
    assert "<script>alert" not in visitor.page.html
    assert visitor.page.html.count("&lt;img src=x") >= 2
    visitor.answer(labels[1])
    assert Answer.objects.get().value == labels[1]


def test_welcome_page_explains_known_labels(make_campaign: CampaignMaker, stranger: Client) -> None:
    make_campaign(design=SINGLE, chatbots=1, prompts=1)
    words = Visitor(stranger, "/judge/trial/").page.words
    assert "judge that reply" in words
    assert "misses the point" in words
    assert "two replies" not in words


def _open(campaign: Campaign) -> None:
    campaign_open(campaign=campaign)
    run_jobs()


def test_pages_of_the_campaign_open(make_campaign: CampaignMaker, owner: Client, visitor: Visitor) -> None:
    for page in [
        "/boards/trial/",
        "/boards/trial/charts/",
        "/boards/trial/method/",
        "/boards/trial/data/",
        *(f"/console/trial/{one}" for one in CAMPAIGN),
    ]:
        assert owner.get(page, follow=True).status_code == 200, page
