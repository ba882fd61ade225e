"""A campaign that judges replies one at a time, as a file."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from tests.evalsite.cast import CampaignMaker, assignment_claim, run_jobs
from tests.evalsite.single import LABELS, QUALITY, SINGLE

GOOD = """\
touchstone: 1
campaign:
  name: Errors
  slug: errors
  mode: single
  visibility: public
  admission: open
aspects:
- key: error
  question: Is this reply correct?
  kind: label
  labels: [correct, incorrect]
  one_label: true
- key: quality
  question: How good is it?
  kind: rating
  minimum: 1
  maximum: 5
prompts:
- id: p1
  text: Two and two?
chatbots:
- name: Anna
  replies: {p1: Four.}
"""


def test_file_makes_a_campaign_that_labels_replies(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD))
    first, second = campaign.rubric.aspects.all()
    assert (campaign.mode, first.kind, first.scope) == (Campaign.Mode.SINGLE, Aspect.Kind.LABEL, Aspect.Scope.TURN)
    assert (second.minimum, second.maximum) == (1, 5)
    campaign_open(campaign=campaign)
    run_jobs()
    (assignment,) = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
    assert [one.text for one in assignment.candidates.all()] == ["Four."]


def test_campaign_comes_back_as_it_was(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, aspects=(LABELS, QUALITY)), start=False)
    written = campaign_write(campaign)
    assert [set(one) for one in yaml.safe_load(written)["aspects"]] == [
        {"key", "question", "kind", "labels", "one_label"},
        {"key", "question", "kind", "minimum", "maximum"},
    ]
    assert list(campaign_read(written).aspects) == [LABELS, QUALITY]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("labels: [correct, incorrect]", "labels: [correct]", "different labels"),
        ("labels: [correct, incorrect]", "labels: [tie, incorrect]", "cannot be a label"),
        ("maximum: 5", "maximum: 1", "needs a scale"),
        ("kind: label", "kind: odd", "kind"),
    ],
)
def test_wrong_scale_is_named_with_its_line(before: str, after: str, said: str) -> None:
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(GOOD.replace(before, after))
    problems: Any = caught.value
    assert said in str(problems)


def test_gold_with_one_reply_comes_back(organisation: Organisation) -> None:
    gold = "gold:\n- {id: g1, prompt_id: p1, reply_a: Five., right: [incorrect]}\n"
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD + gold))
    assert [(one.text_a, one.text_b, one.right) for one in campaign.gold_items.all()] == [("Five.", "", ["incorrect"])]
    again = campaign_read(campaign_write(campaign).replace("slug: errors", "slug: again"))
    assert [(one.texts, one.right) for one in again.gold] == [(("Five.", ""), ("incorrect",))]
