"""The set-up of a campaign that judges replies one at a time, from its first step to its launch."""

from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.campaigns.models import Campaign
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.evalsite.single import SINGLE

NEW = {
    "mode": "single",
    "name": "Manners",
    "reply_question": "Is this reply polite?",
    "kind": "label",
    "labels": "polite\nrude",
}
PROMPTS = "prompt_id,text\np1,Hello?\np2,Who are you?\n"
REPLIES = "prompt_id,reply\np1,Hello.\np2,I am Anna.\n"
ANNOTATORS = {
    "visibility": "private",
    "admission": "members",
    "pay_rate": "0",
    "currency": "EUR",
    "pay_per": "judgment",
}
QUALITY = {"votes_per_item": 2, "block_size": 5, "lease_s": 600, "batch_size": 10, "screening": "propose"}


def begun(owner: Client, **changes: str) -> Campaign:
    assert owner.post("/console/new/", NEW | changes).status_code == 302
    return Campaign.objects.get()


def test_replies_are_set_up_and_launched(owner: Client) -> None:
    campaign = begun(owner)
    setup = f"/console/{campaign.public_id}/setup/"
    owner.post(f"{setup}prompts/", {"file": SimpleUploadedFile("prompts.csv", PROMPTS.encode())})
    owner.post(f"{setup}prompts/", {"take": "yes"})
    owner.post(f"{setup}chatbots/", {"file": SimpleUploadedFile("Anna.csv", REPLIES.encode())})
    owner.post(f"{setup}chatbots/", {"take": "yes"})
    assert owner.post(f"{setup}annotators/", ANNOTATORS).status_code == 302
    assert owner.post(f"{setup}quality/", QUALITY).status_code == 302
    assert owner.post(f"{setup}stopping/", {"budget": "100"}).status_code == 302
    review = " ".join(owner.get(f"{setup}review/").content.decode().split())
    assert "It can begin." in review
    assert "100 judgments" in review
    owner.post(f"/console/{campaign.public_id}/act/launch/")
    run_jobs()
    campaign.refresh_from_db()
    assert (campaign.mode, campaign.state, campaign.stopping.target_se) == ("single", "running", None)
    overview = owner.get(f"/console/{campaign.public_id}/").content.decode()
    assert "It collects, and nobody has judged yet." in overview
    assert "To the target" not in overview
    assert "Aim" not in overview
    assert "Every reply has 2 judgments" in overview
    assert "Extend the limits" in overview


def test_campaign_without_limits_has_none_to_extend(owner: Client, make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, target_se=None))
    overview = owner.get(f"/console/{campaign.public_id}/").content.decode()
    assert "Stop now" in overview
    assert "Extend" not in overview


def test_question_and_scale_can_be_changed(owner: Client) -> None:
    campaign = begun(owner)
    step = f"/console/{campaign.public_id}/setup/goal/"
    assert "polite\nrude" in owner.get(step).content.decode()
    changed = {"name": "Quality", "question": "How good is it?", "kind": "rating", "minimum": "1", "maximum": "7"}
    assert owner.post(step, changed).status_code == 302
    aspect = Campaign.objects.get().rubric.aspects.get()
    assert (aspect.question, aspect.kind, aspect.scope, aspect.minimum, aspect.maximum) == (
        "How good is it?",
        "rating",
        "turn",
        1,
        7,
    )


@pytest.mark.parametrize(
    "wrong", [{"labels": "one"}, {"reply_question": ""}, {"kind": "rating", "minimum": "5", "maximum": "2"}]
)
def test_wrong_scale_is_named_and_nothing_is_made(owner: Client, wrong: dict[str, str]) -> None:
    page = owner.post("/console/new/", NEW | wrong)
    assert page.context["form"].errors
    assert not Campaign.objects.exists()


def test_review_names_what_is_missing(owner: Client) -> None:
    campaign = begun(owner)
    review = owner.get(f"/console/{campaign.public_id}/setup/review/").content.decode()
    assert "It has no prompts." in review
    assert "It has no chatbot." in review
