"""Attack: a thousand pseudonyms from one address hold a campaign's whole queue, and answer nothing."""

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from evalsite.accounts.models import Membership, User
from evalsite.campaigns.models import Campaign
from evalsite.judgments.arrivals import invitation_accept, invitation_issue
from evalsite.judgments.leases import lease_renew
from evalsite.judgments.models import Annotator, Assignment, Enrolment
from evalsite.judgments.newcomer_limits import network_of
from evalsite.judgments.services import annotator_enrol, block_claim, judgment_record
from tests.environment import PATIENCE_S
from tests.evalsite.api.client import Api, answer, error_of, judgment_url
from tests.evalsite.cast import OPEN, CampaignMaker

pytestmark = pytest.mark.database  # counts in Redis, locks

ADDRESS, ELSEWHERE = "198.51.100.7", "203.0.113.9"


@pytest.fixture(autouse=True)
def _a_quarter(settings: Any) -> None:
    settings.NEWCOMER_PERCENT = 25
    settings.ENROLMENTS_PER_HOUR = 10**6


@pytest.fixture
def study(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="study", prompts=20, design=replace(OPEN, batch_size=20, block_size=5))


def pseudonym(address: str = ADDRESS) -> Api:
    token = Api(address=address).post("/api/v1/annotators", {"campaign": "study"}).json()["token"]
    return Api(token, address=address)


def claim(api: Api) -> Any:
    return api.post("/api/v1/campaigns/study/claims").json()


def counts() -> tuple[int, int]:
    """Issued, and open in all."""
    issued = Assignment.objects.filter(state="issued").count()
    return issued, issued + Assignment.objects.filter(state="queued").count()


@pytest.mark.parametrize("pseudonyms", [20, pytest.param(1000, marks=pytest.mark.full)])
def test_pseudonyms_of_one_address_hold_a_share_at_most(study: Campaign, pseudonyms: int) -> None:
    found = [claim(pseudonym()) for _ in range(pseudonyms)]
    issued, open_queue = counts()
    assert 0 < issued <= max(study.block_size, open_queue // 4)
    assert found[-1]["campaign"]["reason"] == "network"
    assert "Ask again in a minute" in found[-1]["campaign"]["hint"]
    assert len(claim(pseudonym(ELSEWHERE))["assignments"]) == 3, "elsewhere people judge on"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("threads", [12, pytest.param(40, marks=pytest.mark.full)])
def test_claims_at_the_same_moment_share_one_limit(study: Campaign, threads: int) -> None:
    newcomers = [(annotator_enrol(campaign=study), (ADDRESS, ELSEWHERE)[n % 2]) for n in range(threads)]
    kept = Assignment.objects.order_by("priority")[: 4 * threads]  # so short that each network reaches its share
    Assignment.objects.exclude(pk__in=[one.pk for one in kept]).update(state="withdrawn")
    together, refused = threading.Barrier(threads), []

    def hoard(newcomer: Annotator, address: str) -> None:
        together.wait(PATIENCE_S)
        try:
            for _ in range(3):
                claimed = block_claim(campaign=Campaign.objects.get(pk=study.pk), annotator=newcomer, address=address)
                refused.extend([newcomer] * (not claimed.block))
        finally:
            connection.close()

    running = [threading.Thread(target=hoard, args=one) for one in newcomers]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    _, open_queue = counts()
    most = max(study.block_size, open_queue // 4)
    for address in (ADDRESS, ELSEWHERE):
        network = Enrolment.objects.filter(network=network_of(study, address)).values("annotator")
        held = Assignment.objects.filter(annotator__in=network, state="issued").count()
        assert most - 3 < held <= most, "all of its share, and no more"
    assert refused


def test_other_addresses_of_one_ipv6_network_are_one(study: Campaign) -> None:
    for number in range(1, 20):
        claim(pseudonym(f"2001:db8:1:2::{number:x}"))
    issued, open_queue = counts()
    assert issued <= max(study.block_size, open_queue // 4)
    assert claim(pseudonym("2001:db8:1:3::1"))["assignments"]


def test_whoever_answers_a_first_block_gets_whole_ones(study: Campaign) -> None:
    api = pseudonym()
    first = claim(api)["assignments"]
    assert len(first) == 3
    for one in first:
        api.post(judgment_url(one), answer())
    assert len(claim(api)["assignments"]) == 5
    assert Enrolment.objects.get(network="").blocks_claimed == 2, "and nothing is kept of their network"


def test_shared_address_gets_one_block_at_least(study: Campaign) -> None:
    kept = Assignment.objects.order_by("pk")[:6]
    Assignment.objects.exclude(pk__in=[one.pk for one in kept]).update(state="withdrawn")
    claim(pseudonym())
    assert len(claim(pseudonym())["assignments"]) == 2, "five of the six, although a quarter is one"


def test_members_and_invited_people_are_exempt(study: Campaign, charlie: User) -> None:
    while claim(pseudonym())["assignments"]:
        pass
    Membership.objects.create(organisation=study.organisation, user=charlie, role="viewer")
    member = annotator_enrol(campaign=study, user=charlie)
    invited = invitation_accept(secret=invitation_issue(campaign=study, name="panel")).annotator
    Campaign.objects.filter(pk=study.pk).update(visibility="private")  # where members judge their own chatbots
    for annotator in (member, invited):
        claimed = block_claim(campaign=study, annotator=annotator, address=ADDRESS)
        assert len(claimed.block) == 5


def test_newcomer_renews_little_until_it_has_answered(study: Campaign) -> None:
    newcomer: Annotator = annotator_enrol(campaign=study)
    first, second, _ = block_claim(campaign=study, annotator=newcomer, address=ADDRESS).block
    assert first.issued_at is not None
    limit: datetime = first.issued_at + timedelta(seconds=2 * study.lease_s)
    begun = timezone.now()
    with time_machine.travel(begun + timedelta(seconds=study.lease_s - 1), tick=False):
        lease_renew(annotator=newcomer, assignment_id=first.public_id)
    with time_machine.travel(begun + timedelta(seconds=2 * study.lease_s - 5), tick=False):
        assert lease_renew(annotator=newcomer, assignment_id=first.public_id) == limit
        judgment_record(annotator=newcomer, assignment_id=first.public_id, choices={"overall": "A"})
        assert lease_renew(annotator=newcomer, assignment_id=second.public_id) > limit


def test_no_address_is_stored(study: Campaign) -> None:
    claim(pseudonym())
    kept = Enrolment.objects.get().network
    assert len(kept) == 64
    assert ADDRESS not in str(list(Enrolment.objects.values()))
    other = Campaign(public_id="00000000-0000-0000-0000-000000000000")
    assert network_of(other, ADDRESS) != kept, "nor can two campaigns be compared"


def test_limit_can_be_switched_off(study: Campaign, settings: Any) -> None:
    settings.NEWCOMER_PERCENT = 100
    assert len(claim(pseudonym())["assignments"]) == 5
    assert Enrolment.objects.get().network == ""
    assert error_of(Api().post("/api/v1/campaigns/study/claims"))["code"] == "not_authenticated"
