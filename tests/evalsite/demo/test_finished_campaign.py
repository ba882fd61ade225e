"""The finished campaign of the demonstration: an example with careless and adversarial annotators."""

import pytest
from django.test import Client

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core.jobs import job_run_now
from evalsite.demo.annotators import AnnotatorKind, panel
from evalsite.demo.finished_campaign import ANNOTATORS, ITEMS, VOTES_PER_ITEM
from evalsite.demo.finished_campaign import finished_campaign_load_after as load_after
from evalsite.demo.services import FINISHED_SLUG, SEED, SLUG, demonstration_load
from evalsite.demo.truth import SimulatedTruth, load_prompts
from evalsite.judgments.models import Judgment
from evalsite.judgments.selectors import standings
from tests.shared import shared

JUDGMENTS = ITEMS * VOTES_PER_ITEM


@shared
def finished() -> Campaign:
    """Loaded beside a demonstration without a board, and fitted."""
    demonstration_load()
    campaign = load_after(Campaign.objects.get(slug=SLUG), at_most_s=0.0)
    assert job_run_now(key=refit_key(campaign), owner="test")
    return campaign


@pytest.mark.full
def test_finished_campaign_is_stopped_with_a_public_board(finished: Campaign, stranger: Client) -> None:
    snapshot = finished.default_board.snapshots.latest("number")
    assert (finished.state, snapshot.judgments) == (Campaign.State.STOPPED, JUDGMENTS)
    assert stranger.get(f"/boards/{FINISHED_SLUG}/").status_code == 200


def test_screening_finds_careless_and_adversarial(finished: Campaign) -> None:
    members = panel(ANNOTATORS, SEED, SimulatedTruth.of(load_prompts()))
    judged = Judgment.objects.filter(assignment__campaign=finished)
    people = sorted(judged.values_list("annotator", flat=True).distinct())
    kinds = {person: member.kind for person, member in zip(people, members, strict=True)}
    proposed = {kinds[person] for person, standing in standings(finished).items() if standing.proposal is not None}
    assert proposed == {AnnotatorKind.CARELESS, AnnotatorKind.ADVERSARIAL}


def test_finished_campaign_is_created_once(finished: Campaign) -> None:
    assert load_after(Campaign.objects.get(slug=SLUG), at_most_s=0.0) == finished
    assert Judgment.objects.filter(assignment__campaign=finished).count() == JUDGMENTS


def test_finished_campaign_comes_without_a_first_board_too(finished: Campaign) -> None:
    assert not Snapshot.objects.filter(board__default_of__slug=SLUG).exists()
    assert Campaign.objects.get(slug=FINISHED_SLUG).state == Campaign.State.STOPPED
