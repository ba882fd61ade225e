"""The live report: statistics of conversations before and after cleaning."""

from typing import Any

import pytest

from evalsite.accounts.models import Organisation, User
from evalsite.boards.live_report import live_report_content
from evalsite.boards.live_reports import LIVE_REPORT, live_report_get, outdated_reports_request
from evalsite.boards.models import LiveReport
from evalsite.campaigns.models import Campaign
from evalsite.core.models import Job
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit
from tests.evalsite.cast import run_jobs
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.shared import shared

pytestmark = pytest.mark.django_db
MIXED = ["10", "01", "11", "10", "00", "10", "01"]


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def talk(organisation: Organisation) -> Campaign:
    """SATA of two chatbots: two ordinary conversations, a careless one, and one with a failed turn."""
    campaign = live_campaign_rows(organisation, selection="sata", fallback="written")
    conversation_rows(campaign, MIXED, rating=5, written=(5,))
    conversation_rows(campaign, [*MIXED[1:], "10"], rating=3, failed=2)
    conversation_rows(campaign, ["11"] * 6, message="ok", flags=["names_maker"])
    return campaign


def test_two_chatbots_keep_the_identity_of_shares(talk: Campaign) -> None:
    content, _ = live_report_content(talk)
    found = content["settings"]["PM-SATA-Written"]
    a, b = (rate["rate"] for rate in found["win_rates"].values())
    assert a + b - found["ties"]["tie_win"] + found["ties"]["tie_loss"] == pytest.approx(1.0)
    assert found["turns"] == 6 + 6 + 5, "the first turn does not count"


def test_win_rates_are_those_of_the_counted_turns(talk: Campaign) -> None:
    content, _ = live_report_content(talk)
    rates = content["settings"]["PM-SATA-Written"]["win_rates"]
    counted = [*MIXED[1:], *MIXED[2:], "10", *["11"] * 5]
    assert rates["talk A"]["selected"] == sum(pattern[0] == "1" for pattern in counted)
    assert rates["talk B"]["selected"] == sum(pattern[1] == "1" for pattern in counted)


def test_all_forms_of_mcnemar_stand_beside_the_clustered_tests(talk: Campaign) -> None:
    content, _ = live_report_content(talk)
    found = content["settings"]["PM-SATA-Written"]
    names = [test["test"] for test in found["tests"]]
    assert names == ["McNemar", "McNemar with continuity correction", "exact McNemar"]
    assert found["clustered"]["conversations"] == 3
    assert set(found["clustered"]["positions"]["shares"]) == {"1", "2"}


def test_failures_count_for_nobody(talk: Campaign) -> None:
    content, _ = live_report_content(talk)
    assert content["failures"]["talk B"]["failed"] == 2
    assert content["failures"]["talk A"]["failed"] == 0
    assert content["ratings"] == {"PM-SATA-Written": {"conversations": 2, "mean": 4.0}}
    assert content["written"] == {"PM-SATA-Written": {"turns": 20, "written": 1}}


def test_careless_conversations_are_proposed_with_a_preview(talk: Campaign) -> None:
    _, cleaning = live_report_content(talk)
    (proposal,) = cleaning["proposals"]
    assert proposal["reasons"] == ["fixed_pattern", "short_messages", "names_maker"]
    preview = cleaning["preview"]["PM-SATA-Written"]
    assert (preview["now"]["dialogues"], preview["then"]["dialogues"]) == (3, 2)
    assert preview["then"]["win_rates"]["talk A"] < preview["now"]["win_rates"]["talk A"]


def test_cleaning_is_an_exclusion_and_can_be_undone(talk: Campaign, alice: User) -> None:
    careless = talk.conversations.order_by("pk").last()
    assert careless is not None
    before, _ = live_report_content(talk)
    annotator_exclude(campaign=talk, annotator=careless.annotator, reason="fixed pattern", by=alice)
    after, cleaning = live_report_content(talk)
    sample = after["samples"]["PM-SATA-Written"]
    assert (sample["before"]["dialogues"], sample["after"]["dialogues"]) == (3, 2)
    assert sample["removed"] == {"dialogues": pytest.approx(1 / 3), "turns": pytest.approx(5 / 17)}
    assert cleaning["proposals"] == []
    annotator_readmit(campaign=talk, annotator=careless.annotator, reason="it was fine", by=alice)
    assert live_report_content(talk)[0] == before


def test_three_chatbots_have_cochrans_q_and_abilities(organisation: Organisation) -> None:
    campaign = live_campaign_rows(organisation, slug="three", chatbots=3, selection="sata", count_first_turn=True)
    for patterns in (["100", "110", "010", "101"], ["100", "000", "111", "001"]):
        conversation_rows(campaign, patterns)
    content, _ = live_report_content(campaign)
    found = content["settings"]["MM-SATA-Random"]
    assert found["omnibus"]["test"] == "Cochran's Q"
    assert found["ties"] is None
    assert content["abilities"]["chatbots"]["three A"]["ability"] > 0


def test_one_chatbot_is_tested_against_the_baseline(organisation: Organisation) -> None:
    campaign = live_campaign_rows(organisation, slug="one", chatbots=1, selection="sata")
    conversation_rows(campaign, ["1", "1", "0", "1"])
    content, _ = live_report_content(campaign)
    assert content["settings"]["SM-SATA-Random"]["omnibus"]["test"] == "exact binomial against 0.8"
    assert content["abilities"] is None


def test_a_campaign_without_conversations_has_an_empty_report(organisation: Organisation) -> None:
    campaign = live_campaign_rows(organisation, slug="empty")
    assert live_report_content(campaign)[0]["settings"] == {}
    assert live_report_get(campaign).content is None


def test_worker_renews_a_report_only_after_a_change(talk: Campaign, alice: User) -> None:
    outdated_reports_request()
    run_jobs()
    first = LiveReport.objects.get(campaign=talk)
    assert live_report_get(talk).content == first.content
    outdated_reports_request()
    assert not Job.objects.filter(kind=LIVE_REPORT, state=Job.State.QUEUED).exists()
    conversation_rows(talk, MIXED)
    outdated_reports_request()
    assert Job.objects.filter(kind=LIVE_REPORT, state=Job.State.QUEUED).exists()
