"""Attack: a pseudonym claims and gives back for ever: it reads the whole queue, and nobody gets a judgment."""

from dataclasses import replace

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.judgments.annotators import campaign_leave
from evalsite.judgments.models import Assignment, Enrolment
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.api.client import Api, answer, error_of, judgment_url
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim


@pytest.fixture
def study(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="study", prompts=20, design=replace(OPEN, batch_size=100, block_size=5))


@pytest.fixture
def hoarder(study: Campaign) -> Api:
    return Api(Api().post("/api/v1/annotators", {"campaign": "study"}).json()["token"])


def claim(api: Api) -> list[dict[str, str]]:
    return api.post("/api/v1/campaigns/study/claims").json()["assignments"]  # type: ignore[no-any-return]


def give_back(api: Api) -> tuple[int, str]:
    found = api.post("/api/v1/campaigns/study/returns")
    return found.status_code, "" if found.status_code == 200 else error_of(found)["code"]


def returned() -> int:
    return Assignment.objects.filter(state="returned").count()


def test_nobody_claims_and_gives_back_for_ever(hoarder: Api) -> None:
    answers = [give_back(hoarder) for _ in range(20) if claim(hoarder)]
    assert answers[-1] == (409, "returns_used")
    assert 20 <= returned() < 25
    assert claim(hoarder), "what is held stays theirs to judge"


def test_answers_allow_more_returns(hoarder: Api) -> None:
    while claim(hoarder) and give_back(hoarder)[0] == 200:
        pass
    before = returned()
    for one in claim(hoarder)[:2]:
        hoarder.post(judgment_url(one), answer())
    assert give_back(hoarder) == (200, "")
    assert returned() > before


def test_a_return_of_nothing_is_always_answered(hoarder: Api) -> None:
    while claim(hoarder) and give_back(hoarder)[0] == 200:
        pass
    Assignment.objects.filter(state="issued").update(state="expired")
    assert give_back(hoarder) == (200, "")


def test_who_leaves_and_begins_again_is_limited_too(study: Campaign) -> None:
    annotator = annotator_enrol(campaign=study)
    for _ in range(10):
        assignment_claim(campaign=study, annotator=annotator)
        campaign_leave(enrolment=Enrolment.objects.get(annotator=annotator))
        Enrolment.objects.update(left_at=None)  # begins again
    assert returned() == 20
    assert Assignment.objects.filter(state="issued", annotator=annotator).count() == 5, "held until its lease ends"
