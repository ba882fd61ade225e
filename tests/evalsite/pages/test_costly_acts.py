"""What costs the site much has a measure: how often one person may do it, and how much a campaign may hold."""

import uuid
from typing import Any

import pytest
import time_machine
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.drafts import draft_create
from evalsite.campaigns.gold import NewGold, gold_add, gold_bytes
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.campaigns.services import NewAspect
from evalsite.campaigns.storage_quota import bytes_held, files_read
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.errors import TooLarge, TooMany
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import Inquiry, Job, Upload
from evalsite.core.uploads import uploads_keep
from evalsite.exchange.draft_forecasts import FORECAST
from evalsite.prompts.models import Prompt
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.console.test_setup import GOAL, draft, file, fill, url
from tests.evalsite.pages.test_pages import words

__all__ = ["draft"]  # a fixture

pytestmark = [pytest.mark.django_db]
PROMPTS = "prompt_id,text\np1,Fine?\n"
STOPPING = {"target_se": "0.3", "budget": ""}


@pytest.fixture(autouse=True)
def _one_hour() -> Any:
    """An hour's end within a test would begin another count."""
    with time_machine.travel("2030-01-01T12:00:00Z", tick=False):
        yield


class Huge:
    """A file too long to be read: whoever does fails."""

    name: str | None = "huge.csv"
    size: int | None = 20_000_001

    def read(self) -> bytes:
        raise AssertionError("it was read into memory")


def send_prompts(owner: Client, draft: Campaign) -> Any:
    return owner.post(url(draft, "prompts"), {"file": file("p.csv", PROMPTS), "pasted": ""})


def test_one_person_begins_so_many_campaigns_in_an_hour_and_another_still_may(
    owner: Client, alice: User, charlie: User, settings: Any
) -> None:
    settings.CAMPAIGNS_PER_HOUR = 2
    answers = [owner.post("/console/new/", GOAL) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [302, 302, 429]
    assert 0 < int(answers[2]["Retry-After"]) <= 3600
    assert "Try again in" in words(answers[2])
    assert Campaign.objects.count() == 2
    other = Client()
    other.force_login(charlie)
    assert other.post("/console/new/", GOAL).status_code == 302


def test_the_count_is_the_services_so_that_every_door_has_the_same(owner: Client, alice: User, settings: Any) -> None:
    settings.CAMPAIGNS_PER_HOUR = 1
    owner.post("/console/new/", GOAL)
    with pytest.raises(TooMany):
        draft_create(organisation=alice.personal_organisation, name="x", aspect=NewAspect("a", "b"), by=alice)


def test_who_may_not_begin_one_is_told_so_and_not_counted(draft: Campaign, charlie: User, settings: Any) -> None:
    settings.CAMPAIGNS_PER_HOUR = 0
    Membership.objects.filter(user=charlie).delete()
    other = Client()
    other.force_login(charlie)
    assert other.post("/console/new/", GOAL).status_code == 403


@pytest.mark.parametrize("step", ["prompts", "chatbots"])
@pytest.mark.parametrize("taking", [False, True])
def test_one_person_sends_and_takes_in_so_many_files_in_an_hour(
    owner: Client, draft: Campaign, settings: Any, step: str, taking: bool
) -> None:
    fill(owner, draft)
    settings.UPLOADS_PER_HOUR = 4  # as many as that took
    sent = {"take": "yes"} if taking else {"file": file("p.csv", PROMPTS), "pasted": ""}
    answer = owner.post(url(draft, step), sent)
    assert (answer.status_code, "That was too often. Try again in" in words(answer)) == (429, True)
    assert not Upload.objects.exists()


def test_new_questions_to_the_worker_are_counted_and_known_ones_are_not(
    owner: Client, draft: Campaign, settings: Any
) -> None:
    fill(owner, draft)
    settings.QUESTIONS_PER_HOUR = 1
    forecast = f"/console/{draft.public_id}/forecast/"
    for _ in range(3):
        assert "Computing the forecast" in words(owner.post(forecast, STOPPING))
    answer = owner.post(forecast, {**STOPPING, "target_se": "0.4"})
    assert "That was too often. Try again in" in words(answer)
    assert (Inquiry.objects.count(), Job.objects.count()) == (1, 1)


def test_what_the_service_asks_itself_is_not_counted(settings: Any) -> None:
    settings.QUESTIONS_PER_HOUR = 0
    assert inquiry_ask(kind=FORECAST, args={}).pk
    with pytest.raises(TooMany):
        inquiry_ask(kind=FORECAST, args={"n": 1}, by=uuid.uuid4())


def test_a_file_too_long_is_refused_by_its_size_and_not_read(draft: Campaign, alice: User) -> None:
    with pytest.raises(TooLarge, match=r"huge\.csv is longer than 20 MB"):
        files_read(campaign=draft, purpose="replies", files=[ContentFile(b"x", name="a"), Huge()], by=alice)


def test_files_beyond_what_a_campaign_may_hold_are_refused_and_not_read(
    draft: Campaign, alice: User, settings: Any
) -> None:
    settings.CAMPAIGN_MEGABYTES = 30
    fits = Huge()
    fits.size = 20_000_000
    with pytest.raises(TooLarge, match=r"holds 0.0 MB of 30 MB: there is no room for these 40.0 MB") as refused:
        files_read(campaign=draft, purpose="replies", files=[fits, fits], by=alice)
    assert "TOUCHSTONE_CAMPAIGN_MEGABYTES" in refused.value.hint


def test_too_many_files_at_once_are_refused_and_not_read(draft: Campaign, alice: User) -> None:
    with pytest.raises(TooLarge, match="These are 51 files"):
        files_read(campaign=draft, purpose="replies", files=[Huge()] * 51, by=alice)


def test_a_campaign_holds_its_prompts_the_replies_to_them_and_the_files_that_wait(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(start=False, chatbots=0, prompts=0)
    make_campaign(slug="other", start=False)
    assert bytes_held(campaign) == 0
    turns = [{"speaker": "user", "text": "é" * 1000}]
    prompt = Prompt.objects.create(prompt_set=campaign.prompt_set, key="k", turns=turns, origin="authored")
    of_prompts = bytes_held(campaign)
    assert 1000 < of_prompts < 7000, "JSON may write a letter in up to six bytes"
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="Bot"))
    replies_add(version=version, replies={prompt: "é" * 500}, origin=Reply.Origin.FILE)
    assert bytes_held(campaign) == of_prompts + 1000
    uploads_keep(subject=campaign.public_id, purpose="prompts", files=[("a", b"\xff\x00" * 50)])
    uploads_keep(subject=campaign.public_id, purpose="replies", files=[("a", b"12345"), ("b", b"67")])
    assert bytes_held(campaign) == of_prompts + 1000 + 107
    assert bytes_held(campaign, excluding="replies") == of_prompts + 1000 + 100, "they are replaced"


def test_a_full_campaign_takes_no_more_files_and_says_so_on_the_page(
    owner: Client, draft: Campaign, settings: Any
) -> None:
    assert send_prompts(owner, draft).status_code == 302
    settings.CAMPAIGN_MEGABYTES = 0
    answer = send_prompts(owner, draft)
    assert (answer.status_code, "there is no room" in words(answer)) == (413, True)
    pasted = owner.post(url(draft, "prompts"), {"pasted": "One?"})
    assert (pasted.status_code, "there is no room" in words(pasted)) == (413, True)
    replies = owner.post(url(draft, "chatbots"), {"file": SimpleUploadedFile("r.csv", b"prompt_id,reply\np1,x\n")})
    assert (replies.status_code, "there is no room" in words(replies)) == (413, True)
    assert Upload.objects.count() == 1


# Gold and bonuses ------------------------------------------------------------------------------------------


GOLD = {"write": "yes", "id": "g", "text": "Two and two?", "reply_a": "4", "reply_b": "5", "right": ["A"]}
FILES = {
    "gold": b"id,text,reply_a,reply_b,right\ng,Two and two?,4,5,A\n",
    "payments": b"annotator,amount,reason\nnobody,1,kind\n",
}


@pytest.mark.parametrize("page", FILES)
def test_gold_and_bonuses_are_sent_and_taken_in_within_the_same_measure(
    owner: Client, make_campaign: CampaignMaker, settings: Any, page: str
) -> None:
    make_campaign(start=False)
    address, settings.UPLOADS_PER_HOUR = f"/console/trial/{page}/", 2
    sent = [owner.post(address, {"file": SimpleUploadedFile("f.csv", FILES[page])}) for _ in range(3)]
    assert [answer.status_code for answer in sent] == [302, 302, 429]
    taken = owner.post(address, {"take": "yes"})
    assert (taken.status_code, "That was too often. Try again in" in words(taken)) == (429, True)
    assert not GoldItem.objects.exists()
    assert Upload.objects.count() == 1


@pytest.mark.parametrize("page", FILES)
def test_gold_and_bonuses_find_no_room_in_a_full_campaign(
    owner: Client, make_campaign: CampaignMaker, settings: Any, page: str
) -> None:
    make_campaign(start=False)
    settings.CAMPAIGN_MEGABYTES = 0
    answer = owner.post(f"/console/trial/{page}/", {"file": SimpleUploadedFile("f.csv", FILES[page])})
    assert (answer.status_code, "there is no room" in words(answer)) == (413, True)
    assert not Upload.objects.exists()


@pytest.mark.parametrize(("setting", "status"), [("UPLOADS_PER_HOUR", 429), ("CAMPAIGN_MEGABYTES", 413)])
def test_gold_without_a_file_has_the_same_measures(
    owner: Client, alice: User, make_campaign: CampaignMaker, settings: Any, setting: str, status: int
) -> None:
    make_campaign(start=False)
    setattr(settings, setting, 0)
    written = owner.post("/console/trial/gold/", GOLD)
    token = api_token_issue(user=alice, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
    item = {name: value for name, value in GOLD.items() if name != "write"}
    called = Api(token).post("/api/v1/campaigns/trial/gold", {"items": [item]})
    assert (written.status_code, called.status_code) == (status, status)
    assert error_of(called)["hint"]
    assert not GoldItem.objects.exists()


def test_a_campaign_holds_its_gold(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(start=False, chatbots=0, prompts=1)
    before = bytes_held(campaign)
    of_texts = NewGold("a", ("A",), prompt="p0", texts=("é" * 100, "x"), explanation="y" * 10)
    gold_add(campaign=campaign, items=[of_texts])
    assert bytes_held(campaign) == before + 211 == before + gold_bytes([of_texts])
    own_prompt = NewGold("b", ("A",), turns=[{"speaker": "user", "text": "z" * 1000}], texts=("1", "2"))
    gold_add(campaign=campaign, items=[own_prompt])
    assert 1002 < bytes_held(campaign) - before - 211 < 1100
