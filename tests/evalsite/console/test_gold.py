"""Gold in the console and by the API: added by file, form and call, seen with who fails it, hidden from who judges."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, CampaignRole, GoldItem
from evalsite.core.models import AuditEntry, Upload
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.models import Findings
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker, judge
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

FILE = """\
id,prompt_id,text,reply_a,reply_b,chatbot_a,chatbot_b,right,shade
known,,What is two and two?,Four,Five,,,A,blue
pair,p1,,,,trial bot 0,trial bot 1,B|tie,blue
nobody,p1,,,,trial bot 0,Carl,A,blue
known,p1,,Yes,No,,,A,blue
,p2,,Yes,No,,,C,blue
"""
PAGE = "/console/trial/gold/"
API = "/api/v1/campaigns/trial/gold"


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=3, prompts=4, start=False)


def test_a_gold_file_is_looked_at_row_by_row_before_it_is_taken_in(owner: Client, draft: Campaign) -> None:
    sent = owner.post(PAGE, {"file": SimpleUploadedFile("gold.csv", FILE.encode())}, follow=True)
    text = words(sent)
    assert "2 gold items to add, 3 refused" in re.sub(r"\s+,", ",", text)
    assert "Columns that mean nothing here: shade" in text
    for problem in ("no chatbot 'Carl' takes part", "line 2 has the same id", "right must be of: A, tie, B, both_bad"):
        assert problem in text.replace("&#x27;", "'")
    assert not GoldItem.objects.exists()
    assert "2 gold items were added" in words(owner.post(PAGE, {"take": "yes"}, follow=True))
    assert list(GoldItem.objects.order_by("pk").values_list("key", "right")) == [
        ("known", ["A"]),
        ("pair", ["tie", "B"]),
    ]
    assert not Upload.objects.exists()
    entry = AuditEntry.objects.get(act="gold")
    assert (entry.after, entry.actor) == ({"added": 2}, draft.organisation.personal_of.public_id)  # type: ignore[union-attr]


def test_the_same_file_again_adds_nothing(owner: Client, draft: Campaign) -> None:
    lines = FILE.splitlines(keepends=True)
    for _ in range(2):
        owner.post(PAGE, {"file": SimpleUploadedFile("gold.csv", "".join(lines[:2]).encode())})
        owner.post(PAGE, {"take": "yes"})
    assert GoldItem.objects.count() == 1


def test_one_item_is_written_in_a_form_and_what_is_wrong_is_said(owner: Client, draft: Campaign) -> None:
    given = {"write": "yes", "id": "mine", "text": "Two and two?", "reply_a": "4", "reply_b": "5", "right": ["A"]}
    assert "The gold item was added" in words(owner.post(PAGE, given, follow=True))
    refused = owner.post(PAGE, {**given, "id": "other", "text": "", "prompt_id": "p99"})
    assert (refused.status_code, "has no prompt" in words(refused)) == (400, True)
    assert "5" in refused.content.decode(), "what was written is still there"
    assert owner.post(PAGE, {"write": "yes"}).status_code == 400
    assert GoldItem.objects.count() == 1


@pytest.mark.parametrize("file", [None, SimpleUploadedFile("gold.csv", b"id,text\n1,2\n")])
def test_what_is_no_gold_file_is_said_and_not_kept(owner: Client, draft: Campaign, file: object) -> None:
    assert owner.post(PAGE, {"file": file} if file else {}).status_code == 400
    assert not Upload.objects.exists()


def test_the_share_is_set_in_percent_beside_the_other_marks_of_quality(owner: Client, draft: Campaign) -> None:
    url = "/console/trial/setup/quality/"
    given = {"votes_per_item": 1, "block_size": 5, "lease_s": 600, "batch_size": 20, "gold_share": "12.5"}
    owner.post(url, {**given, "gold_mark": "70"})
    draft.refresh_from_db()
    assert (draft.gold_share, draft.gold_mark) == (0.125, 0.7)
    assert 'value="12.5"' in owner.get(url).content.decode()
    assert owner.post(url, {**given, "gold_share": "60"}).status_code == 400
    assert "there are no gold items" in words(owner.get("/console/trial/setup/review/"))
    owner.post(url, {**given, "gold_share": "", "gold_mark": ""})
    draft.refresh_from_db()
    assert (draft.gold_share, draft.gold_mark) == (0.0, None)


def test_known_ties_are_let_into_the_fit_there_too_and_the_review_says_so(owner: Client, draft: Campaign) -> None:
    url, review = "/console/trial/setup/quality/", "/console/trial/setup/review/"
    given = {"votes_per_item": 1, "block_size": 5, "lease_s": 600, "batch_size": 20}
    assert "Known ties in shares of wins" in words(owner.get(review))
    owner.post(url, {**given, "fits_known_ties": "on"})
    draft.refresh_from_db()
    assert draft.fits_known_ties
    assert "Known ties in shares of wins and abilities" in words(owner.get(review))
    owner.post(url, given)
    draft.refresh_from_db()
    assert not draft.fits_known_ties


def test_who_fails_an_item_is_seen_and_a_wrong_one_can_be_withdrawn(owner: Client, draft: Campaign) -> None:
    item, _ = gold_add(
        campaign=draft, items=[NewGold(f"g{n}", ("A",), prompt="p1", texts=("Good", f"Bad {n}")) for n in range(2)]
    )
    found = {"item": item.pk, "doubtful": True, "passed": 1, "given": 5, "lower": 0.01, "upper": 0.72}
    Findings.objects.create(campaign=draft, annotators=[], prompts=[], gold={"items": [found], "annotators": []})
    Campaign.objects.update(state="running")
    text = words(owner.get(PAGE))
    assert "1 gold item is perhaps wrong itself" in text
    assert "80 % 28 % – 99 %" in text
    given = {"gold": str(item.public_id), "reason": "it is five in base three"}
    assert "counts neither for nor against" in words(owner.get("/console/trial/act/withdraw_gold/", given))
    assert "withdrawn: it is five" in words(owner.post("/console/trial/act/withdraw_gold/", given, follow=True))


def test_hostile_gold_is_text(owner: Client, draft: Campaign) -> None:
    gold_add(campaign=draft, items=[NewGold(HOSTILE, ("A",), prompt="p1", texts=(HOSTILE, "x"), explanation=HOSTILE)])
    page = owner.get(PAGE).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page


ITEM = {"id": "known", "text": "Two and two?", "reply_a": "4", "reply_b": "5", "right": ["A"]}


def token(user: User, scope: str) -> Api:
    return Api(api_token_issue(user=user, name=scope, scopes=[scope], days=1))


def test_gold_is_added_and_read_by_the_api(draft: Campaign, alice: User) -> None:
    acts, reads = token(alice, ApiToken.Scope.ACTS), token(alice, ApiToken.Scope.JUDGMENTS)
    assert acts.post(API, {"items": [ITEM]}).status_code == 201
    refused = acts.post(API, {"items": [{**ITEM, "id": "other"}, ITEM]})
    assert (refused.status_code, error_of(refused)["field"]) == (400, "id")
    assert [one["key"] for one in reads.get(API).json()["results"]] == ["known"]
    assert reads.post(API, {"items": [ITEM]}).status_code == 403


@pytest.mark.parametrize("role", ["viewer", "manager", None])
def test_gold_is_seen_and_added_by_whom_the_role_allows_and_by_nobody_else(
    draft: Campaign, charlie: User, role: str | None
) -> None:
    Campaign.objects.update(state="running")
    if role:
        CampaignRole.objects.create(campaign=draft, user=charlie, role=role)
    client = Client()
    client.force_login(charlie)
    given = {"write": "yes", "id": "g", "text": "?", "reply_a": "4", "reply_b": "5", "right": ["A"]}
    sees, adds = client.get(PAGE).status_code, client.post(PAGE, given).status_code
    by_api = token(charlie, ApiToken.Scope.ACTS).post(API, {"items": [{**ITEM, "id": "by api"}]}).status_code
    reads = token(charlie, ApiToken.Scope.JUDGMENTS).get(API).status_code
    wanted = {"viewer": (403, 403, 403, 403), "manager": (200, 302, 201, 200), None: (403, 403, 403, 403)}
    assert (sees, adds, by_api, reads) == wanted[role]
    assert Client().get(PAGE).status_code == 302


@pytest.mark.parametrize("state", ["draft", "running"])
@pytest.mark.parametrize("role", ["viewer", "manager"])
def test_who_may_judge_and_no_more_finds_no_way_to_the_gold(
    draft: Campaign, charlie: User, role: str, state: str
) -> None:
    """A viewer may judge where members do."""
    Campaign.objects.update(state=state)
    CampaignRole.objects.create(campaign=draft, user=charlie, role=role)
    client = Client()
    client.force_login(charlie)
    assert (PAGE in client.get("/console/trial/").content.decode()) == (role == "manager")


@pytest.mark.parametrize("role", ["viewer", "manager"])
def test_who_may_judge_and_no_more_does_not_learn_which_judgments_were_gold(
    campaign: Campaign, charlie: User, role: str
) -> None:
    """Neither on the page nor by the API, in a list or a file."""
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    checks = campaign.assignments.filter(state="answered").order_by("pk").last()
    assert checks is not None
    campaign.assignments.filter(pk=checks.pk).update(purpose="gold")
    CampaignRole.objects.create(campaign=campaign, user=charlie, role=role)
    client = Client()
    client.force_login(charlie)
    given = 6 if role == "manager" else 5
    assert client.get("/console/trial/judgments/").content.decode().count("</tr>") == given + 1
    api = token(charlie, ApiToken.Scope.JUDGMENTS)
    listed = api.get("/api/v1/campaigns/trial/judgments?counted=any").json()["results"]
    assert (len(listed), "gold" in {one["purpose"] for one in listed}) == (given, role == "manager")
    file = api.get("/api/v1/campaigns/trial/judgments.jsonl?counted=any").getvalue().decode()
    assert (file.count("\n"), '"purpose": "gold"' in file) == (given, role == "manager")


def test_annotators_stand_with_the_gold_that_they_passed(owner: Client, draft: Campaign) -> None:
    annotator = annotator_enrol(campaign=draft, user=draft.organisation.personal_of)
    found = {"annotator": annotator.pk, "passed": 3, "given": 4, "lower": 0.194, "upper": 0.994}
    Findings.objects.create(campaign=draft, annotators=[], prompts=[], gold={"items": [], "annotators": [found]})
    assert "3 / 4 19 % – 99 %" in words(owner.get("/console/trial/annotators/"))
