"""Attack: anonymous pseudonyms skip what they do not want, to end a public campaign or to decide it alone."""

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_of
from evalsite.judgments.models import Assignment, Judgment, Skip
from evalsite.judgments.services import annotator_enrol
from evalsite.judgments.skips import items_closed
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs

pytestmark = pytest.mark.database  # counts in Redis, locks


def pseudonym(campaign: Campaign, address: str) -> Api:
    answer = Api(address=address).post("/api/v1/annotators", {"campaign": campaign.slug})
    return Api(answer.json()["token"], address=address)


def skip_all(campaign: Campaign, api: Api, *, claims: int) -> None:
    """Claim again and again, skip all that can be skipped, and give back the rest."""
    for _ in range(claims):
        found = api.post(f"/api/v1/campaigns/{campaign.slug}/claims").json()["assignments"]
        for assignment in found:
            api.post(f"/api/v1/assignments/{assignment['id']}/skip", {"reason": "broken"})
        api.post(f"/api/v1/campaigns/{campaign.slug}/returns")
        run_jobs()


@pytest.mark.parametrize(
    ("pseudonyms", "prompts"), [(2, 2), pytest.param(12, 8, marks=pytest.mark.full)], ids=["two", "twelve"]
)
def test_skip_ring_ends_no_campaign(make_campaign: CampaignMaker, pseudonyms: int, prompts: int) -> None:
    campaign = make_campaign(slug="ring", chatbots=2, prompts=prompts)
    for number in range(pseudonyms):
        skip_all(campaign, pseudonym(campaign, f"198.51.100.{number}"), claims=4)
    campaign.refresh_from_db()
    assert Skip.objects.exists()
    assert campaign.state == Campaign.State.RUNNING
    assert items_closed(campaign) == set()
    assert "stop" not in {entry.act for entry in audit_of(campaign.public_id)}
    honest = annotator_enrol(campaign=campaign)
    assert assignment_claim(campaign=campaign, annotator=honest), "others are asked all the same"


def test_skip_ring_does_not_choose_its_items(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(slug="ring", chatbots=3, prompts=6)
    ring = pseudonym(campaign, "198.51.100.1")
    skipped = refused = 0
    for _ in range(6):
        for assignment in ring.post("/api/v1/campaigns/ring/claims").json()["assignments"]:
            answer = ring.post(f"/api/v1/assignments/{assignment['id']}/skip", {"reason": "other"})
            skipped, refused = skipped + (answer.status_code == 200), refused + (answer.status_code == 409)
        ring.post("/api/v1/campaigns/ring/returns")
        run_jobs()
    assert refused, "half of a block is the most"
    assert skipped <= 10, "and ten skips before an answer"
    items = set(Assignment.objects.filter(campaign=campaign, skip__isnull=False).values_list("item", flat=True))
    honest = annotator_enrol(campaign=campaign)
    while judge(campaign, honest):
        run_jobs()
    judged = set(Judgment.objects.values_list("assignment__item", flat=True))
    assert items <= judged, "what the ring skipped is judged by others"
