"""A campaign from its draft to its stop, and what it refuses on the way."""

import pytest
from django.db import IntegrityError, transaction

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.services import (
    NewAspect,
    campaign_create,
    campaign_start,
    campaign_stop,
    entrant_add,
    rubric_create,
)
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.models import Job
from evalsite.judgments.models import Annotator, Candidate
from evalsite.prompts.services import prompt_set_create
from tests.evalsite.cast import CampaignMaker, assignment_claim


def test_a_new_campaign_is_a_private_draft(organisation: Organisation) -> None:
    prompt_set = prompt_set_create(organisation=organisation, name="Set", prompts=[])
    campaign = campaign_create(organisation=organisation, name="C", slug="c", prompt_set=prompt_set)
    assert (campaign.state, campaign.visibility, campaign.admission) == ("draft", "private", "members")
    assert campaign.rubric.aspects.get().choices == ["A", "tie", "B", "both_bad"]


def test_an_address_is_given_once(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(start=False)
    with pytest.raises(Conflict, match="already"):
        campaign_create(
            organisation=campaign.organisation, name="Other", slug=campaign.slug, prompt_set=campaign.prompt_set
        )


@pytest.mark.parametrize(("chatbots", "prompts", "words"), [(1, 3, "two chatbots"), (3, 0, "empty")])
def test_a_campaign_that_cannot_ask_does_not_start(
    make_campaign: CampaignMaker, chatbots: int, prompts: int, words: str
) -> None:
    campaign = make_campaign(chatbots=chatbots, prompts=prompts, start=False)
    with pytest.raises(Conflict, match=words):
        campaign_start(campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.DRAFT


def test_starting_asks_for_the_first_plan_and_cannot_be_repeated(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(start=False)
    campaign_start(campaign=campaign)
    assert campaign.state == Campaign.State.RUNNING
    assert Job.objects.filter(kind="refit").count() == 1
    with pytest.raises(Conflict, match="running"):
        campaign_start(campaign=campaign)


def test_the_reason_of_the_first_stop_is_kept(campaign: Campaign) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    stopped_at = campaign.stopped_at
    campaign_stop(campaign=campaign, reason="again")
    assert (campaign.stop_reason, campaign.stopped_at) == ("enough", stopped_at)


def test_chatbot_does_not_reopen_a_stopped_ordinary_campaign(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign()
    extra = make_campaign(slug="other", start=False).entrants.all()[0].version
    campaign_stop(campaign=campaign, reason="enough")
    entrant_add(campaign=campaign, version=extra)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED


def test_a_rubric_without_aspects_is_refused(organisation: Organisation) -> None:
    with pytest.raises(InvalidInput):
        rubric_create(organisation=organisation, name="R", aspects=())


class TestWhatTheDatabaseRefuses:
    """What no service writes, the tables refuse."""

    def test_an_unknown_kind_is_no_aspect(self, organisation: Organisation) -> None:
        rubric = rubric_create(organisation=organisation, name="R", aspects=(NewAspect("overall", "Which?"),))
        with pytest.raises(IntegrityError), transaction.atomic():
            Aspect.objects.create(rubric=rubric, position=1, key="k", question="q", kind="nonsense")

    def test_a_chatbot_is_never_shown_against_itself(self, campaign: Campaign, bob: Annotator) -> None:
        assignment = assignment_claim(campaign=campaign, annotator=bob)[0]
        first = assignment.candidates.get(position=0)
        with deletion_permitted():
            assignment.candidates.filter(position=1).delete()
        with pytest.raises(IntegrityError), transaction.atomic():
            Candidate.objects.create(assignment=assignment, position=1, entrant=first.entrant, reply=first.reply)
