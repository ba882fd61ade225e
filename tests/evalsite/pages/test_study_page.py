"""The entry of a study: who comes is led to one arm, and to the same one again."""

from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign, Study
from evalsite.campaigns.services import campaign_pause
from evalsite.campaigns.studies import Arms, study_create
from evalsite.core.env import networks
from evalsite.dialogues.models import StudyAllocation
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.operations.studies import study_open
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.evalsite.pages.test_pages import words
from tests.shared import shared


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def study(organisation: Organisation) -> Study:
    draft = live_campaign_make(organisation=organisation, slug="talk", start=False)
    made = study_create(campaign=draft, name="How to select", arms=Arms(("soba", "sata_random")))
    study_open(study=made)
    return made


def test_two_visitors_get_both_arms_and_keep_them(study: Study) -> None:
    url = f"/studies/{study.public_id}/"
    visitors = [Client(), Client()]
    assert "How to select" in words(visitors[0].get(url))
    assert not Annotator.objects.exists(), "a look allocates nobody"
    led = [visitor.post(url).headers["Location"] for visitor in visitors]
    assert len(set(led)) == 2
    assert [visitor.post(url).headers["Location"] for visitor in visitors] == led
    assert StudyAllocation.objects.count() == 2


def test_the_allocated_annotator_is_the_one_who_joins(study: Study) -> None:
    visitor = Client()
    led = visitor.post(f"/studies/{study.public_id}/").headers["Location"]
    assert "Go to the chat" in words(visitor.get(led))
    visitor.post(f"{led}begin/")
    assert Enrolment.objects.get().annotator == StudyAllocation.objects.get().annotator


def test_a_study_without_an_open_arm_allocates_nobody(study: Study) -> None:
    for arm in Campaign.objects.filter(live__study=study):
        campaign_pause(campaign=arm)
    answer = Client().post(f"/studies/{study.public_id}/")
    assert answer.status_code == 409
    assert not Annotator.objects.exists()


def test_private_and_unknown_studies_are_not_found(study: Study) -> None:
    Campaign.objects.filter(live__study=study).update(visibility=Campaign.Visibility.PRIVATE)
    for name in (study.public_id, "00000000-0000-4000-8000-000000000000"):
        assert Client().get(f"/studies/{name}/").status_code == 404
