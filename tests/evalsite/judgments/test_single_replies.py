"""Replies that are judged one at a time: labels and ratings through the queue, the claim and gold of pairs."""

from dataclasses import replace

import pytest

from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.services import NewAspect, refit_request
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.gold_answers import gold_answers
from evalsite.judgments.models import Annotator, Answer, Assignment, Exclusion
from evalsite.judgments.selectors import votes_counted
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, run_only_refits
from tests.evalsite.single import LABELS, QUALITY, SINGLE, label_all
from tests.shared import shared

pytestmark = pytest.mark.database


@shared
def campaign(make_campaign: CampaignMaker) -> Campaign:
    """Two chatbots with replies to three prompts: six replies to label."""
    return make_campaign(design=SINGLE, chatbots=2, prompts=3)


def test_each_reply_waits_once_for_each_wanted_vote(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, votes_per_item=2), chatbots=2, prompts=3)
    items = list(Assignment.objects.filter(campaign=campaign, state="queued").values_list("item", flat=True))
    assert len(items) == 12
    assert len(set(items)) == 6
    assert all("-" not in item for item in items)


def test_block_keeps_order_of_prompts_and_shows_one_reply(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    prompts = [assignment.place.prompt_id for assignment in block]
    assert len(block) == campaign.block_size
    assert prompts == sorted(prompts)
    assert all(assignment.candidates.count() == 1 for assignment in block)


def test_two_annotators_get_blocks_of_their_own(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    of_bob = {one.item for one in assignment_claim(campaign=campaign, annotator=bob)}
    of_dora = {one.item for one in assignment_claim(campaign=campaign, annotator=dora)}
    assert len(of_bob) == len(of_dora) == 3
    assert not of_bob & of_dora


def test_campaign_stops_when_every_reply_has_its_label(campaign: Campaign, bob: Annotator) -> None:
    label_all(campaign, bob, "incorrect")
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert str(campaign.stop_reason) == "nothing is left to ask"
    assert Answer.objects.filter(value="incorrect", candidate=None).count() == 6


def test_campaign_stops_at_its_budget(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, budget=4), chatbots=2, prompts=3)
    label_all(campaign, annotator_enrol(campaign=campaign), "correct")
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert Answer.objects.count() == 4


def test_excluded_annotators_replies_wait_again(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    for one in block:
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"error": ["correct"]})
    Exclusion.objects.create(campaign=campaign, annotator=bob, reason="by hand")
    refit_request(campaign)
    run_only_refits()
    waiting = Assignment.objects.filter(campaign=campaign, state="queued").values_list("item", flat=True)
    assert {one.item for one in block} <= set(waiting)
    assert len(waiting) == 6


@pytest.mark.parametrize("labels", [[], ["correct", "irrelevant"], ["wrong"], "correct"])
def test_label_question_takes_exactly_one_offered_label(campaign: Campaign, bob: Annotator, labels: object) -> None:
    first = assignment_claim(campaign=campaign, annotator=bob)[0]
    with pytest.raises(InvalidInput):
        judgment_record(annotator=bob, assignment_id=first.public_id, choices={"error": labels})  # type: ignore[dict-item]
    assert not Answer.objects.exists()


def test_rating_is_stored_as_its_number(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, aspects=(QUALITY,)), chatbots=1, prompts=2)
    bob = annotator_enrol(campaign=campaign)
    first = assignment_claim(campaign=campaign, annotator=bob)[0]
    with pytest.raises(InvalidInput, match="6"):
        judgment_record(annotator=bob, assignment_id=first.public_id, choices={"quality": 6})
    judgment_record(annotator=bob, assignment_id=first.public_id, choices={"quality": 4})
    assert Answer.objects.get().value == "4"


def test_labels_are_no_votes_of_the_board(campaign: Campaign, bob: Annotator) -> None:
    label_all(campaign, bob, "correct")
    assert votes_counted([campaign], campaign.rubric.aspects.get()) == []


@shared
def gilded(make_campaign: CampaignMaker) -> Campaign:
    made = make_campaign(design=replace(SINGLE, gold_share=0.3, gold_mark=0.5), chatbots=2, prompts=3, start=False)
    gold = [
        NewGold(f"g{n}", ("incorrect",), turns=[{"speaker": "user", "text": "Two and two?"}], texts=("Five.", ""))
        for n in range(4)
    ]
    gold_add(campaign=made, items=gold)
    campaign_open(campaign=made)
    run_only_refits()
    made.refresh_from_db()
    return made


class TestGold:
    @pytest.fixture
    def campaign(self, gilded: Campaign) -> Campaign:
        return gilded

    def test_it_hides_in_the_block_with_one_text(self, campaign: Campaign, bob: Annotator) -> None:
        seen = [one for _ in range(3) for one in _label(campaign, bob, "correct")]
        gold = [one for one in seen if one.purpose == Assignment.Purpose.GOLD]
        assert gold
        assert [one.candidates.get().text for one in gold] == ["Five."] * len(gold)

    def test_label_passes_or_fails(self, campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
        label_all(campaign, bob, "correct", blocks=2)
        label_all(campaign, dora, "incorrect", blocks=2)
        passed = {(one.annotator, one.passed) for one in gold_answers(campaign)}
        assert passed <= {(bob.pk, False), (dora.pk, True)}
        assert passed

    def test_two_replies_are_refused(self, campaign: Campaign) -> None:
        with pytest.raises(InvalidInput, match="one reply"):
            gold_add(
                campaign=campaign,
                items=[NewGold("two", ("correct",), turns=[{"speaker": "user", "text": "Hi"}], texts=("a", "b"))],
            )


@pytest.mark.parametrize(
    "aspect",
    [
        NewAspect("best", "Which is better?"),
        replace(LABELS, scope=Aspect.Scope.CANDIDATE),
    ],
)
def test_question_that_does_not_fit_is_refused_at_launch(make_campaign: CampaignMaker, aspect: NewAspect) -> None:
    campaign = make_campaign(design=replace(SINGLE, aspects=(aspect,)), start=False)
    with pytest.raises(Conflict, match="does not fit"):
        campaign_open(campaign=campaign)


def test_labels_do_not_fit_pairs(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, aspects=(LABELS,)), start=False)
    with pytest.raises(Conflict, match="does not fit"):
        campaign_open(campaign=campaign)


@pytest.mark.parametrize("labels", [(), ("one",), ("tie", "x"), ("a", "A"), ("a", " b"), ("a", "b\n"), ("a", "")])
def test_labels_nobody_could_choose_are_refused(make_campaign: CampaignMaker, labels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        make_campaign(design=replace(SINGLE, aspects=(replace(LABELS, labels=labels),)))


def _label(campaign: Campaign, annotator: Annotator, label: str) -> list[Assignment]:
    block = assignment_claim(campaign=campaign, annotator=annotator)
    for one in block:
        judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"error": [label]})
    return block
