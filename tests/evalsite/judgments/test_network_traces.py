"""Networks of annotators: a keyed hash of the address block, for one campaign and 30 days, erased with the person."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Enrolment, NetworkTrace
from evalsite.judgments.network_traces import (
    NETWORKS_KEPT,
    address_block,
    network_trace_record,
    network_traces_expire,
    networks_shared,
)
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import block_claim


@pytest.mark.parametrize(
    ("address", "block"),
    [
        ("192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.1", "192.0.2.0/24"),
        ("2001:db8:1:2::9", "2001:db8:1::/48"),
        ("unix:", None),
    ],
)
def test_block_of_an_address(address: str, block: str | None) -> None:
    assert address_block(address) == block


def test_claim_leaves_one_trace_without_the_address(campaign: Campaign, bob: Annotator) -> None:
    block_claim(campaign=campaign, annotator=bob, address="192.0.2.77")
    network_trace_record(campaign=campaign, annotator=bob.pk, address="192.0.2.99")
    trace = NetworkTrace.objects.get()
    assert trace.annotator == bob
    assert "192.0.2" not in trace.network


def test_campaign_without_screening_keeps_no_trace(campaign: Campaign, bob: Annotator) -> None:
    campaign.screening = Campaign.Screening.OFF
    campaign.save(update_fields=["screening"])
    block_claim(campaign=campaign, annotator=bob, address="192.0.2.77")
    assert not NetworkTrace.objects.exists()


def test_annotators_of_one_block_share_a_network(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    for annotator, address in ((bob, "192.0.2.1"), (dora, "198.51.100.1")):
        network_trace_record(campaign=campaign, annotator=annotator.pk, address=address)
    assert networks_shared(campaign) == []
    network_trace_record(campaign=campaign, annotator=dora.pk, address="192.0.2.200")
    assert networks_shared(campaign) == [{bob.pk, dora.pk}]


def test_trace_ends_after_thirty_days_and_with_the_person(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    for annotator in (bob, dora):
        network_trace_record(campaign=campaign, annotator=annotator.pk, address="192.0.2.1")
    person_erase(user=None, parts=[Enrolment.objects.get(campaign=campaign, annotator=dora)])
    assert NetworkTrace.objects.get().annotator == bob
    NetworkTrace.objects.update(seen_at=timezone.now() - NETWORKS_KEPT - timedelta(minutes=1))
    network_traces_expire()
    assert not NetworkTrace.objects.exists()
