"""Campaigns in which each answer needs a justification: the page, the API, and the set-up."""

import re

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import Annotator, Comment, Judgment
from evalsite.judgments.services import judgment_record
from tests.evalsite.cast import assignment_claim
from tests.evalsite.pages.test_pages import words
from tests.shared import shared


@shared
def justified(campaign: Campaign) -> Campaign:
    onboarding_set(campaign=campaign, comments=True, comment_required=True)
    return campaign


@pytest.mark.parametrize("comment", ["", "  \n "])
def test_answer_without_a_justification_is_refused(justified: Campaign, bob: Annotator, comment: str) -> None:
    first = assignment_claim(campaign=justified, annotator=bob)[0]
    with pytest.raises(InvalidInput) as refused:
        judgment_record(annotator=bob, assignment_id=first.public_id, choices={"overall": "A"}, comment=comment)
    assert (refused.value.code, refused.value.field) == ("comment_missing", "comment")
    assert not Judgment.objects.exists()


def test_page_asks_for_the_justification_and_sends_by_a_button(justified: Campaign, stranger: Client) -> None:
    stranger.post("/judge/trial/begin/")
    page = stranger.get("/judge/trial/").content.decode()
    assert re.search(r"<textarea[^>]* required", page)
    assert "Say why (optional)" not in page
    assert "data-sends-itself" not in page
    found = re.search(r'name="assignment" value="([^"]+)"', page)
    assert found
    form = {"assignment": found.group(1), "answer.overall": "A"}
    refused = stranger.post("/judge/trial/answer/", {**form, "comment": " "})
    assert "An answer needs a justification here." in words(refused)
    stranger.post("/judge/trial/answer/", {**form, "comment": "It names its source."})
    assert Comment.objects.get().text == "It names its source."


def test_required_comment_needs_comments(campaign: Campaign) -> None:
    with pytest.raises(InvalidInput, match="needs comments"):
        onboarding_set(campaign=campaign, comment_required=True)
    assert not Onboarding.objects.filter(comment_required=True).exists()
