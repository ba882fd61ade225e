"""What webhooks of a campaign are told, and that the guide's examples say the same."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from evalsite.accounts.models import User
from evalsite.campaigns.events import CampaignEvent
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_pause, campaign_resume, role_give
from evalsite.campaigns.webhooks import campaign_webhook_create, campaign_webhook_rotate
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit, exclusion_propose
from evalsite.judgments.models import Annotator
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.services import campaign_close
from evalsite.webhooks.models import Delivery, Webhook
from evalsite.webhooks.services import webhook_create
from scheduler.reasons import Reason
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.evalsite.single import SINGLE, label_all
from tests.evalsite.webhooks.receiver import answers, parts
from tests.servers import raw_server

pytestmark = pytest.mark.django_db
URL = "https://hooks.example/in"
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "api.md"


@pytest.fixture
def webhook(alice: User, campaign: Campaign) -> Webhook:
    return campaign_webhook_create(campaign=campaign, url=URL, by=alice)[0]


def told(event: str = "") -> list[dict[str, Any]]:
    """Return the content of the messages, in their order."""
    found = Delivery.objects.order_by("pk")
    return [json.loads(one.body)["data"] for one in (found.filter(event_type=event) if event else found)]


@pytest.mark.usefixtures("webhook")
def test_pause_resumption_and_stop_are_told(campaign: Campaign) -> None:
    campaign_pause(campaign=campaign)
    campaign_resume(campaign=campaign)
    campaign_close(campaign=campaign, reason=Reason("owner_ended"))
    campaign_close(campaign=campaign, reason="again")
    states = [(one["before"], one["state"], one["reason_code"]) for one in told(CampaignEvent.STATE)]
    assert states == [
        ("running", "paused", ""),
        ("paused", "running", ""),
        ("running", "stopped", "owner_ended"),
    ]


@pytest.mark.usefixtures("webhook")
def test_reason_is_told_in_the_language_of_the_receiver(campaign: Campaign, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(language="de")
    campaign_close(campaign=campaign, reason=Reason("owner_ended"))
    assert told()[0]["reason"] == "die Inhaberin oder der Inhaber hat die Kampagne beendet"


@pytest.mark.usefixtures("webhook")
def test_new_results_of_the_board_are_told(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, blocks=2)
    run_jobs()
    snapshot = campaign.default_board.snapshots.get()
    assert told(CampaignEvent.BOARD) == [
        {
            "campaign": "trial",
            "board": "trial",
            "snapshot": snapshot.number,
            "judgments": snapshot.judgments,
            "url": told()[0]["url"],
        }
    ]
    run_jobs()
    assert len(told(CampaignEvent.BOARD)) == 1


def test_new_labels_of_single_replies_are_told(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(slug="single", design=SINGLE, chatbots=1, prompts=2)
    campaign_webhook_create(campaign=campaign, url=URL, events=[CampaignEvent.BOARD], by=alice)
    label_all(campaign, annotator_enrol(campaign=campaign), "correct", blocks=1)
    assert [(one["snapshot"], one["judgments"]) for one in told()] == [(None, 2)]


@pytest.mark.usefixtures("webhook")
def test_exclusions_and_proposals_are_told(campaign: Campaign, bob: Annotator, alice: User) -> None:
    said: dict[str, Any] = {"campaign": campaign, "annotator": bob}
    exclusion_propose(**said, lifted=False, reason="too fast", evidence={})
    annotator_exclude(**said, reason="tapped one key", by=alice)
    exclusion_propose(**said, lifted=True, reason="careful now", evidence={})
    annotator_readmit(**said, reason="was a fast reader", by=alice)
    assert [(one["status"], one["decided_by"]) for one in told(CampaignEvent.ANNOTATOR)] == [
        ("exclusion_proposed", "screening"),
        ("excluded", "person"),
        ("readmission_proposed", "screening"),
        ("readmitted", "person"),
    ]
    assert {one["annotator"] for one in told()} == {str(bob.public_id)}


def test_only_chosen_events_of_the_campaign_are_told(
    campaign: Campaign, make_campaign: CampaignMaker, bob: Annotator, alice: User
) -> None:
    other = make_campaign(slug="other", start=False)
    campaign_webhook_create(campaign=other, url=URL, by=alice)
    webhook_create(user=alice, url=URL)
    chosen, _ = campaign_webhook_create(campaign=campaign, url=URL, events=[CampaignEvent.ANNOTATOR], by=alice)
    campaign_pause(campaign=campaign)
    annotator_exclude(campaign=campaign, annotator=bob, reason="tapped one key")
    assert [(one.webhook, one.event_type) for one in Delivery.objects.all()] == [(chosen, "annotator.changed")]


def test_person_without_a_role_is_told_nothing_more(campaign: Campaign, charlie: User) -> None:
    role_give(campaign=campaign, user=charlie, role="manager")
    campaign_webhook_create(campaign=campaign, url=URL, by=charlie)
    campaign_pause(campaign=campaign)
    role_give(campaign=campaign, user=charlie, role="viewer")
    campaign_resume(campaign=campaign)
    assert [one["state"] for one in told()] == ["paused"]


def test_erasure_of_a_person_deletes_their_webhooks_of_campaigns(campaign: Campaign, charlie: User) -> None:
    role_give(campaign=campaign, user=charlie, role="manager")
    campaign_webhook_create(campaign=campaign, url=URL, by=charlie)
    person_erase(user=charlie, parts=[])
    assert not Webhook.objects.exists()


def examples() -> dict[str, Any]:
    """Return the messages of the guide by their type."""
    section = GUIDE.read_text().partition("## Webhooks of a campaign")[2].partition("\n## ")[0]
    found = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    return {one["type"]: one for one in found}


def happened(campaign: Campaign, annotator: Annotator) -> None:
    """Let each event happen once."""
    judge(campaign, annotator, blocks=2)
    run_jobs()
    annotator_exclude(campaign=campaign, annotator=annotator, reason="tapped one key")
    campaign_close(campaign=campaign, reason=Reason("owner_ended"))
    run_jobs()


def shape(value: Any) -> Any:
    """Return the names and types of a message."""
    return {name: shape(one) for name, one in value.items()} if isinstance(value, dict) else type(value)


def test_examples_of_the_guide_have_the_shape_of_messages(alice: User, campaign: Campaign, bob: Annotator) -> None:
    with raw_server(answers(200)) as server:
        _, secret = campaign_webhook_create(campaign=campaign, url=server.url, by=alice)
        happened(campaign, bob)
    received = {}
    for request in server.requests:
        headers, body = parts(request)
        message = Verifier(secret).verify(body, headers)
        received[message["type"]] = message
        with pytest.raises(WebhookVerificationError):
            Verifier(secret).verify(body.replace("trial", "other"), headers)
    assert set(examples()) == set(CampaignEvent.values) == set(received)
    assert {name: shape(one) for name, one in examples().items()} == {
        name: shape(one) for name, one in received.items()
    }


def test_both_secrets_verify_after_a_rotation(alice: User, campaign: Campaign) -> None:
    with raw_server(answers(200)) as server:
        webhook, old = campaign_webhook_create(campaign=campaign, url=server.url, by=alice)
        new = campaign_webhook_rotate(webhook=webhook, by=alice)
        campaign_pause(campaign=campaign)
        run_jobs()
    headers, body = parts(server.requests[0])
    assert Verifier(old).verify(body, headers) == Verifier(new).verify(body, headers)
