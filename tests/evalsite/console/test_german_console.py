"""A German reader of the console reads German, also where the service itself said something without a reader."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone, translation

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign, Pilot
from evalsite.core.inquiries import SUPERSEDED, out_of_time
from evalsite.core.models import AuditEntry, Inquiry
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.judgments.models import Annotator
from evalsite.judgments.payments import payment_file
from evalsite.refits.full_check import check_ask
from evalsite.refits.models import FullCheck
from scheduler.reasons import Reason
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.evalsite.refits.test_screening import crowd

GERMAN = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"}


@pytest.fixture
def german(alice: User) -> Client:
    """alice, whose browser asks for German."""
    client = Client(headers=GERMAN)
    client.force_login(alice)
    return client


@pytest.mark.full
def test_why_the_screening_excludes_somebody_is_german_wherever_it_is_shown(
    german: Client, make_campaign: CampaignMaker
) -> None:
    _, adversary = crowd(make_campaign, Campaign.Screening.ACT)
    pages = [words(german.get(f"/console/trial/{page}/")) for page in ("annotators", "log")]
    pages.append(german.get(f"/console/trial/act/exclude/?annotator={adversary.public_id}").content.decode())
    for page in pages:
        assert "sorgfältigen Bewertenden" in page
        assert "Korrelation mit den anderen −" in page
        assert "careful annotators" not in page
        assert "correlation" not in page
    kept = AuditEntry.objects.get(act="exclude").reason
    assert "careful annotators" in kept, "what is kept is a fact, which no wording changes"


@pytest.mark.full
def test_a_reason_that_is_taken_over_as_shown_is_kept_as_every_reader_is_told_it(
    german: Client, make_campaign: CampaignMaker
) -> None:
    _, adversary = crowd(make_campaign, Campaign.Screening.PROPOSE)
    form = german.get(f"/console/trial/act/exclude/?annotator={adversary.public_id}").content.decode()
    shown = re.search(r"<textarea[^>]*>\s*(.*?)</textarea>|name=.reason.[^>]*value=.([^\"]*)", form, re.DOTALL)
    assert shown is not None
    reason = html.unescape(shown[1] or shown[2]).strip()
    assert "sorgfältigen Bewertenden" in reason
    german.post("/console/trial/act/exclude/", {"annotator": str(adversary.public_id), "reason": reason})
    entry = AuditEntry.objects.get(act="exclude")
    assert "careful annotators" in entry.reason
    assert "sorgfältig" not in entry.reason
    assert entry.reason_data is not None
    assert entry.reason_data["code"] == "correlation_not_positive"


def test_what_a_forecast_advises_is_german(german: Client, make_campaign: CampaignMaker) -> None:
    draft = make_campaign(chatbots=3, prompts=4, start=False)
    asked = f"/console/{draft.public_id}/forecast/"
    german.post(asked, {"target_se": "0.05", "budget": "10"})
    run_jobs()
    page = words(german.post(asked, {"target_se": "0.05", "budget": "10"}))
    assert re.search(r"Das Ziel ist nicht zu erreichen: Nach allen \d+ Urteilen gilt: der größte SE ist \d,\d+", page)
    assert "Mehr Prompts helfen nicht genug" in page
    english = words(german.post(asked, {"target_se": "0.05", "budget": "10"}, headers={"Accept-Language": "en"}))
    assert "The goal is out of reach: after all" in english
    assert "The goal" not in page


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (
            as_stored(Reason("not_worked_out")),
            "Das ließ sich nicht ausrechnen. Das Protokoll des Servers sagt, warum.",
        ),
        (SUPERSEDED, "Eine neuere Frage hat diese ersetzt."),
        (
            out_of_time(),
            "Das hat länger als 120 Sekunden gedauert. Fragen Sie nach weniger: weniger Prompts oder Chatbots.",
        ),
    ],
)
def test_what_the_worker_could_not_do_is_german(
    german: Client, make_campaign: CampaignMaker, trouble: StoredReason, said: str
) -> None:
    campaign = make_campaign(chatbots=3, prompts=4, start=False)
    asked = f"/console/{campaign.public_id}/forecast/"
    german.post(asked, {"target_se": "0.05", "budget": "10"})
    Inquiry.objects.update(trouble=trouble.text, trouble_data=trouble.data, answered_at=timezone.now())
    answer = words(german.get(f"{asked}{Inquiry.objects.get().public_id}/"))
    assert answer == said


def test_what_a_pilot_could_not_forecast_is_german(german: Client, make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=3, prompts=4)
    params = {"policy": "'thompson'", "policies": "adaptive, random"}
    trouble = as_stored(Reason("forecast_without_policy", params))
    taught = {"judgments": 10, "annotators": 2, "seconds": 8, "tie_share": 0.5, "shared": 0, "agreement": None}
    summary: dict[str, Any] = {
        **taught,
        "suspects": 0,
        "forecast": None,
        "hours": None,
        "trouble": trouble.text,
        "trouble_data": trouble.data,
    }
    Pilot.objects.create(campaign=campaign, judgments=10, ended_at=timezone.now(), summary=summary)
    page = words(german.get("/console/trial/"))
    assert "für die Strategie &#x27;thompson&#x27; gibt es keine schnelle Prognose" in page.replace("'", "&#x27;")
    assert "quick forecast" not in page


@pytest.mark.full
def test_why_a_full_check_was_not_made_is_german(german: Client, make_campaign: CampaignMaker, alice: User) -> None:
    campaign, _ = crowd(make_campaign, Campaign.Screening.PROPOSE)
    check = check_ask(campaign=campaign, by=alice)
    text, data = as_stored(Reason("workers_died"))
    ended = timezone.now() + timedelta(seconds=1)
    FullCheck.objects.filter(pk=check.pk).update(trouble=text, trouble_data=data, finished_at=ended)
    page = words(german.get("/console/trial/check/"))
    assert "Die Arbeitsprozesse dafür sind immer wieder abgebrochen" in page
    assert "again and again" not in page


# Files, row by row ------------------------------------------------------------------------------------------

PROMPTS = r"""{"prompt_id": "new", "text": "Fine?"}
{"prompt_id": "p0", "text": "Another text under an old id."}
{"text": "Nothing names it."}
{"prompt_id": "new", "text": "Twice?"}
{"prompt_id": "odd", "text": "x\u0000"}
{"prompt_id": "list", "text": ["x"]}
{"prompt_id": "both", "text": "x", "turns": [1]}
{"prompt_id": "turns", "turns": [1]}
["no object"]
no JSON
"""
PROMPT_PROBLEMS = [
    "die Sammlung hat unter dieser prompt_id einen anderen Text; Prompts ändern sich nie",
    "die prompt_id fehlt",
    "Zeile 1 hat dieselbe prompt_id",
    "ein NUL-Zeichen steht in „text“",
    "„text“ ist kein Text",
    "„text“ und „turns“ stehen beide da",
    "„turns“ ist keine Liste von",
    "sie ist kein JSON-Objekt",
    "sie ist kein JSON",
]
REPLIES = "prompt_id,reply,sample\np0,Yes.,1\np0,Again.,1\n,No.,1\np9,No.,1\np1,No.,x\np2,,1\np3,No.,1,more\np3\n"
REPLY_PROBLEMS = [
    "Zeile 2 enthält eine Antwort auf denselben Prompt",
    "die prompt_id fehlt",
    "kein Prompt hat die ID 'p9'",
    "„sample“ ist keine Zahl von 1 bis 100",
    "die Antwort ist leer",
    "sie hat mehr Zellen als die Kopfzeile",
    "sie hat weniger Zellen als die Kopfzeile",
]
GOLD = """\
id,prompt_id,text,reply_a,reply_b,chatbot_a,chatbot_b,right
nobody,p1,,,,trial bot 0,Carl,A
itself,p1,,,,trial bot 0,trial bot 0,A
strange,,Hm?,,,trial bot 0,trial bot 1,A
same,p1,,Yes,Yes,,,A
none,p1,,,,,,A
prompt,p99,,Yes,No,,,A
lost,,,Yes,No,,,A
wrong,p1,,Yes,No,,,C
all,p1,,Yes,No,,,A|tie|B|both_bad
"""
GOLD_PROBLEMS = [
    "es nimmt kein Chatbot 'Carl' teil",
    "beide Chatbots sind derselbe",
    "Chatbots haben nur auf die Prompts der Kampagne geantwortet",
    "beide Antworten sind gleich",
    "nötig sind reply_a und reply_b, oder chatbot_a und chatbot_b",
    "die Kampagne hat keinen Prompt 'p99'",
    "nötig ist eine prompt_id der Kampagne",
    "„right“ muss aus diesen sein: A, tie, B, both_bad (mehrere mit |)",
    "jede Antwort würde sie bestehen",
]
BONUSES = "annotator,amount,reason\nnobody,1,x\n,1,x\n%(who)s,0,x\n%(who)s,1,\n"
BONUS_PROBLEMS = [
    "niemand namens 'nobody' nimmt teil",
    "„annotator“ fehlt",
    "„amount“ ist kein Betrag von −10.000 bis 10.000 mit höchstens vier Nachkommastellen, und nicht 0",
    "„reason“ muss 1 bis 200 Zeichen haben",
]


ENGLISH = re.compile(r"\b(it|its|the set|the same|there is|takes part|stands in|must|no prompt|no chatbot|nobody)\b")


def reported(client: Client, address: str, name: str, content: str) -> list[str]:
    """What the page that looks at a file says of its refused rows."""
    page = client.post(address, {"file": SimpleUploadedFile(name, content.encode()), "pasted": ""}, follow=True)
    text = words(page)
    assert page.status_code == 200, text
    assert "abgelehnt" in text
    refusals = [refusal for refusal in re.findall(r"abgelehnt: .{30}", text) if "nobody" not in refusal]
    assert [refusal for refusal in refusals if ENGLISH.search(refusal)] == []
    html = page.content.decode()
    return [words_of(found) for found in re.findall(r"(?s)<(?:tr|li)>(?:(?!</?(?:tr|li)>).)*</(?:tr|li)>", html)]


def words_of(html: str) -> str:
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    return text.replace("&#x27;", "'").replace("&quot;", '"')


@pytest.mark.parametrize(
    ("page", "name", "content", "problems"),
    [
        ("setup/prompts", "prompts.jsonl", PROMPTS, PROMPT_PROBLEMS),
        ("setup/chatbots", "bot.csv", REPLIES, REPLY_PROBLEMS),
        ("gold", "gold.csv", GOLD, GOLD_PROBLEMS),
    ],
    ids=["prompts", "replies", "gold"],
)
def test_every_problem_of_a_row_of_a_file_is_german(
    german: Client, make_campaign: CampaignMaker, page: str, name: str, content: str, problems: list[str]
) -> None:
    draft = make_campaign(chatbots=3, prompts=4, start=False)
    rows = reported(german, f"/console/{draft.public_id}/{page}/", name, content)
    for problem in problems:
        assert any(problem in row for row in rows), (problem, rows)


def test_every_problem_of_a_row_of_a_bonus_list_is_german(german: Client, campaign: Campaign, bob: Annotator) -> None:
    rows = reported(german, "/console/trial/payments/", "b.csv", BONUSES % {"who": bob.public_id})
    for problem in BONUS_PROBLEMS:
        assert any(problem in row for row in rows), (problem, rows)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", "id,words\n1,x\n", "Eine Promptdatei hat prompt_id, text oder turns, category; diese hat id, words."),
        ("p.jsonl", "1\n", "Eine Promptdatei hat prompt_id, text oder turns, category; diese hat keine davon."),
        ("p.csv", 'prompt_id,text\n1,"open', "Zeile 2 ist kein CSV: ein Anführungszeichen bleibt bis zum Ende offen."),
        ("p.csv", 'prompt_id,text\n1,"a"b\n', 'Zeile 2 ist kein CSV: nach „"“ fehlt ein Komma.'),
    ],
)
def test_why_a_file_cannot_be_read_is_german(
    german: Client, make_campaign: CampaignMaker, name: str, content: str, said: str
) -> None:
    draft = make_campaign(chatbots=3, prompts=4, start=False)
    sent = {"file": SimpleUploadedFile(name, content.encode()), "pasted": ""}
    assert said in words(german.post(f"/console/{draft.public_id}/setup/prompts/", sent, follow=True))


def test_programs_are_told_the_problems_of_rows_in_english(alice: User) -> None:
    key = api_token_issue(user=alice, name="files", scopes=[ApiToken.Scope.PROMPTS], days=1)
    program = Client(headers={**GERMAN, "Authorization": f"Bearer {key}"})
    address = "/api/v1/organisations/alice/prompts?set=Spring&check=true"
    answer = program.post(address, PROMPTS, "application/x-ndjson")
    assert "it has no prompt_id" in answer.content.decode()
    assert "a NUL character stands in its text" in answer.content.decode()


def test_what_was_promised_is_german_on_the_page_and_english_in_the_file(
    german: Client, campaign: Campaign, bob: Annotator
) -> None:
    Campaign.objects.update(pay_rate="0.1250")
    judge(campaign, bob)
    assert "0,125 je Urteil" in words(german.get("/console/trial/payments/"))
    assert "0.125 a judgment" in words(german.get("/console/trial/payments/", headers={"Accept-Language": "en"}))
    with translation.override("de"):
        assert "0.125 a judgment" in "".join(payment_file(campaign))
