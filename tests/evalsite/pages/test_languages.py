"""Every page speaks the reader's language: the one chosen, else the browser's, else English."""

from decimal import Decimal

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone, translation

from evalsite.accounts.models import User
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.services import campaign_pause
from evalsite.console.forms import AnnotatorsForm
from evalsite.console.overview import money
from evalsite.console.stopping_rules import limit_lines
from evalsite.core.errors import Conflict
from evalsite.presentation.chart_geometry import axis_for
from evalsite.presentation.formatting import fixed, plain, signed, whole

BOARD, JUDGE = "/boards/trial/", "/judge/trial/"
NOBODY = "00000000-0000-4000-8000-000000000000"


def german() -> Client:
    return Client(headers={"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"})


@pytest.mark.parametrize("address", ["/", BOARD, JUDGE, f"{BOARD}method/", "/account/login/"])
def test_a_german_browser_reads_german(campaign: Campaign, address: str) -> None:
    page = german().get(address)
    assert 'lang="de"' in page.content.decode()
    assert page.headers["Content-Language"] == "de"
    assert "Zum Inhalt springen" in page.content.decode()


def test_a_language_that_nobody_translated_reads_english(campaign: Campaign) -> None:
    page = Client(headers={"Accept-Language": "fr"}).get(BOARD)
    assert "Skip to the content" in page.content.decode()


def test_a_choice_outlasts_what_the_browser_asks_for(campaign: Campaign) -> None:
    reader = german()
    answer = reader.post("/language/", {"language": "en", "next": BOARD})
    assert answer.headers["Location"] == BOARD
    assert answer.cookies[settings.LANGUAGE_COOKIE_NAME]["max-age"] > 0
    assert "Skip to the content" in reader.get(BOARD).content.decode()


def test_a_choice_never_leads_to_another_site(campaign: Campaign) -> None:
    answer = german().post("/language/", {"language": "en", "next": "https://elsewhere.example/"})
    assert answer.headers["Location"] == "/"


def test_the_choice_is_on_the_page_with_the_present_one_marked(campaign: Campaign) -> None:
    page = german().get(f"{BOARD}?sort=wins").content.decode()
    assert 'value="de" lang="de" aria-current="true"' in page
    assert 'name="next" value="/boards/trial/?sort=wins"' in page


def test_a_reader_keeps_their_own_copy_of_a_live_board(campaign: Campaign) -> None:
    english, deutsch = Client().get(f"{BOARD}live/"), german().get(f"{BOARD}live/")
    assert english.headers["ETag"] != deutsch.headers["ETag"]
    assert {"Accept-Language", "Cookie"} <= {part.strip() for part in deutsch.headers["Vary"].split(",")}
    again = german().get(f"{BOARD}live/", headers={"If-None-Match": deutsch.headers["ETag"]})
    assert again.status_code == 304


def test_programs_read_one_language(campaign: Campaign) -> None:
    answer = german().get("/api/v1/boards/nothing-of-this-name")
    assert answer.json() == Client().get("/api/v1/boards/nothing-of-this-name").json()
    assert german().get(f"{BOARD}badge.svg").content == Client().get(f"{BOARD}badge.svg").content


@pytest.fixture
def german_viewer(campaign: Campaign, charlie: User) -> Client:
    CampaignRole.objects.create(campaign=campaign, user=charlie, role="viewer")
    client = german()
    client.force_login(charlie)
    return client


@pytest.mark.parametrize(("state", "said"), [("running", "Läuft"), ("paused", "Angehalten"), ("stopped", "Beendet")])
def test_the_console_says_a_state_in_the_readers_language(german_viewer: Client, state: str, said: str) -> None:
    Campaign.objects.update(state=state, stopped_at=timezone.now() if state == "stopped" else None)
    for address in ("/console/", "/console/trial/"):
        assert f'data-state="{state}">{said}</span>' in german_viewer.get(address).content.decode()
    english = german_viewer.get("/console/trial/", headers={"Accept-Language": "en"}).content.decode()
    assert f'data-state="{state}">{Campaign.State(state).label}</span>' in english


def test_a_refusal_is_german_on_a_page_and_english_to_a_program(german_viewer: Client) -> None:
    page = german_viewer.get("/console/trial/payments/")
    assert page.status_code == 403
    assert "Das dürfen Sie nicht: sehen, was Bewertenden zusteht" in page.content.decode()
    assert "Ihre Rolle hier: Ansicht." in page.content.decode()
    said = german_viewer.post("/api/v1/campaigns/trial/acts/pause", {}, "application/json")
    assert said.status_code == 403
    assert said.json()["error"]["message"] == "You may not pause it."
    assert said.json()["error"]["hint"] == "Your role here is viewer. Ask its owner."


@pytest.mark.parametrize("how", [{}, {"Origin": "https://elsewhere.example"}, {"HX-Request": "true"}])
def test_a_form_without_its_token_is_refused_by_our_own_page(campaign: Campaign, how: dict[str, str]) -> None:
    for language, said in (("de", "Dieses Formular ist abgelaufen"), ("en", "This form has expired")):
        strict = Client(enforce_csrf_checks=True, headers={"Accept-Language": language})
        answer = strict.post("/judge/trial/begin/", headers=how)
        assert answer.status_code == 403
        assert said in answer.content.decode()
        assert "CSRF" not in answer.content.decode()


@pytest.mark.parametrize(
    ("address", "status", "said", "hint"),
    [
        (f"{BOARD}chatbots/{NOBODY}/", 404, "keinen solchen Chatbot", "Wählen Sie einen aus der Rangfolge."),
        (f"{BOARD}charts/luck.csv", 404, "Solche Zahlen gibt es nicht.", "nennt alle Abbildungen"),
        ("/boards/nothing/", 404, "Diese Rangliste gibt es nicht.", "müssen Sie angemeldet sein"),
        (f"{BOARD}?category=x&kind=live", 400, "nur nach einem Merkmal", "Behalten Sie eines von category und kind"),
        ("/join/nothing/", 404, "Diese Einladung gilt nicht.", "um eine neue"),
        ("/console/nothing/", 404, "Diese Kampagne gibt es nicht.", "Prüfen Sie die Adresse"),
        ("/console/health/", 403, "nur für den Betrieb", "Fragen Sie, wer diese Website betreibt."),
        ("/console/trial/judgments/?chatbot=me", 400, "&#x27;me&#x27; ist keine ID.", "wählen Sie noch einmal"),
    ],
)
def test_what_goes_wrong_on_a_page_is_said_in_the_readers_language(
    german_viewer: Client, address: str, status: int, said: str, hint: str
) -> None:
    answer = german_viewer.get(address)
    assert answer.status_code == status
    assert said in answer.content.decode()
    assert hint in answer.content.decode()


def test_a_state_stands_in_a_sentence_of_the_readers_language(campaign: Campaign) -> None:
    Campaign.objects.update(state=Campaign.State.PAUSED)
    campaign.refresh_from_db()
    with translation.override("de"), pytest.raises(Conflict, match=r"^Die Kampagne ist angehalten; anhalten"):
        campaign_pause(campaign=campaign)
    with pytest.raises(Conflict, match=r"^The campaign is paused; only one that collects"):
        campaign_pause(campaign=campaign)


def test_a_form_offers_its_choices_in_the_readers_language() -> None:
    with translation.override("en"):
        assert ">everybody</option>" in str(AnnotatorsForm()["visibility"])
    with translation.override("de"):
        assert ">alle</option>" in str(AnnotatorsForm()["visibility"])


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["1,234,567", "+1.25", "−0.30", "0.00", "1,234.50", "0.2", "5"]),
        ("de", ["1.234.567", "+1,25", "−0,30", "0,00", "1.234,50", "0,2", "5"]),
    ],
)
def test_numbers_are_written_as_the_language_writes_them(language: str, words: list[str]) -> None:
    with translation.override(language):
        numbers = [whole(1234567), signed(1.25), signed(-0.3), signed(-0.001), fixed(1234.5), plain(0.2), plain(5.0)]
    assert numbers == words


def test_limits_money_and_axes_are_written_as_the_language_writes_them() -> None:
    aimed, judged = Limits(target_se=0.2), {"judgments": 1234.0, "open_items": 5678.0}
    with translation.override("de"):
        lines = {line.name: line for line in limit_lines(aimed, judged)}
        assert lines["Ziel"].text.endswith("0,2")
        assert lines["Fragen"].now.startswith("5.678 ")
        assert money({"EUR": Decimal("1234.5")}) == "1.234,50 EUR"
        assert {"0,5", "1,0"} <= {tick.label for tick in axis_for([0.0], [1.1]).ticks}
    with translation.override("en"):
        assert {"0.5", "1.0"} <= {tick.label for tick in axis_for([0.0], [1.1]).ticks}
