"""Several questions about one pair, and what may be said beside them: reasons that the campaign offers, a comment."""

from dataclasses import replace

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.services import NewAspect
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import Answer, Comment, Judgment, JudgmentReason
from tests.evalsite.cast import OPEN, CampaignMaker
from tests.evalsite.pages.reading import Visitor

ASPECTS = (
    NewAspect("overall", "Which is better?"),
    NewAspect("tone", "Which is friendlier?", allow_both_bad=False),
    NewAspect("facts", "Which is right?"),
)


@pytest.fixture
def visitor(make_campaign: CampaignMaker, stranger: Client) -> Visitor:
    make_campaign(design=replace(OPEN, aspects=ASPECTS))
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    return visitor


def test_they_stand_one_below_another_the_primary_first_each_with_its_keys(visitor: Visitor) -> None:
    places = [visitor.page.words.index(aspect.question) for aspect in ASPECTS]
    assert places == sorted(places)
    for field, value, keys in [
        ("overall", "A", "A ArrowLeft"),
        ("tone", "A", "1"),
        ("tone", "B", "3"),
        ("facts", "A", "5"),
        ("facts", "B", "8"),
    ]:
        assert any(
            f'name="answer.{field}" value="{value}"' in piece and f'aria-keyshortcuts="{keys}"' in piece
            for piece in visitor.page.html.split("<input")
        ), (field, value)


def test_each_is_an_answer_of_the_same_judgment(visitor: Visitor) -> None:
    form = {"assignment": visitor.assignment, "answer.overall": "A", "answer.tone": "tie", "answer.facts": "both_bad"}
    visitor.post("answer", form)
    assert "2 of 3" in visitor.page.words
    said = {
        answer.aspect.key: answer.candidate.label if answer.candidate else answer.value
        for answer in Answer.objects.all()
    }
    assert said == {"overall": "A", "tone": "tie", "facts": "both_bad"}
    assert Judgment.objects.count() == 1
    visitor.follow("undo")
    assert visitor.page.html.count(" checked") >= 3, "what was said is marked"


@pytest.mark.parametrize("tone", ["", "both_bad"])
def test_one_that_is_missing_or_not_offered_is_refused_whole(visitor: Visitor, tone: str) -> None:
    form = {"assignment": visitor.assignment, "answer.overall": "A", "answer.tone": tone, "answer.facts": "A"}
    visitor.post("answer", form)
    assert visitor.page.response.status_code == 400
    assert not Judgment.objects.exists()


class TestReasons:
    @pytest.fixture
    def asked(self, campaign: Campaign, stranger: Client) -> Visitor:
        onboarding_set(campaign=campaign, reasons=["more exact", "kinder"], comments=True)
        visitor = Visitor(stranger, "/judge/trial/")
        visitor.begin()
        return visitor

    def test_they_are_kept_with_the_judgment(self, asked: Visitor) -> None:
        asked.answer("A", reason=["kinder", "more exact"], comment="Warm.")  # type: ignore[arg-type]
        assert list(JudgmentReason.objects.values_list("text", flat=True)) == ["more exact", "kinder"]
        assert Comment.objects.get().text == "Warm."

    def test_none_is_needed(self, asked: Visitor) -> None:
        asked.answer("A")
        assert Judgment.objects.count() == 1
        assert not JudgmentReason.objects.exists()

    def test_one_that_is_not_offered_is_refused(self, asked: Visitor) -> None:
        asked.answer("A", reason="invented")
        assert asked.page.response.status_code == 400
        assert not Judgment.objects.exists()

    def test_without_them_the_page_asks_for_none_and_takes_no_comment(
        self, campaign: Campaign, stranger: Client
    ) -> None:
        visitor = Visitor(stranger, "/judge/trial/")
        visitor.begin()
        assert "Say why" not in visitor.page.words
        visitor.answer("A", comment="unasked")
        assert not Comment.objects.exists()

    @pytest.mark.parametrize("reasons", [[""], ["x" * 41], ["same", "same"], [str(n) for n in range(9)]])
    def test_a_campaign_offers_few_short_different_ones(self, campaign: Campaign, reasons: list[str]) -> None:
        with pytest.raises(InvalidInput):
            onboarding_set(campaign=campaign, reasons=reasons)
