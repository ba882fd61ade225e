"""A live campaign as a file: its settings come back as they were, and wrong ones name line and key."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign, Study
from evalsite.chatbots.services import chatbot_create
from evalsite.core.env import networks
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write
from evalsite.operations.studies import study_address

GOOD = """\
touchstone: 1
campaign:
  name: Talks
  slug: talks
  mode: live
  pay_rate: "0.60"
live:
  selection: sata
  fallback: written
  chatbots_per_conversation: 2
  minimum_turns: 5
  maximum_turns: 12
  opening_topics: [A trip, Cooking]
  pay_per: conversation
aspects:
- key: overall
  question: Which replies fit?
chatbots:
- name: Anna
- name: Bert
  version: "2"
"""


@pytest.fixture
def versions(organisation: Organisation, settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    for name, label in (("Anna", "1"), ("Bert", "2")):
        chatbot = chatbot_create(organisation=organisation, name=name)
        address = EndpointSettings(adapter="openai", url="https://chat.example.org/v1", model="m")
        endpoint_register(chatbot=chatbot, label=label, settings=address)


@pytest.mark.usefixtures("versions")
def test_live_campaign_comes_back_as_it_was(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD))
    live = campaign.live
    assert (campaign.mode, live.setting, live.minimum_turns, live.maximum_turns) == ("live", "sata_written", 5, 12)
    assert (live.opening_topics, live.pay_per) == (["A trip", "Cooking"], "conversation")
    assert campaign.rubric.aspects.get().kind == Aspect.Kind.SELECT_ANY
    assert campaign.entrants.count() == 2
    written = yaml.safe_load(campaign_write(campaign))
    assert written["campaign"]["mode"] == "live"
    assert written["prompts"] == []
    again = campaign_read(campaign_write(campaign).replace("slug: talks", "slug: again"))
    assert again.live == {**written["live"]}


QUESTIONS = """\
- key: error
  question: Is it correct?
  kind: label
  labels: [correct, incorrect]
  one_label: true
  scope: candidate
- key: fun
  question: How engaging is it?
  kind: rating
  minimum: 1
  maximum: 5
  scope: selected
"""


@pytest.mark.usefixtures("versions")
def test_questions_about_replies_come_back_as_they_were(organisation: Organisation) -> None:
    given = GOOD.replace("chatbots:\n", f"{QUESTIONS}chatbots:\n")
    campaign = campaign_take(organisation=organisation, given=campaign_read(given))
    asked = campaign.rubric.aspects.values_list("key", "kind", "scope", "one_label")
    assert list(asked)[1:] == [("error", "label", "candidate", True), ("fun", "rating", "selected", False)]
    written = yaml.safe_load(campaign_write(campaign))
    assert written["aspects"][1:] == yaml.safe_load(QUESTIONS)


def test_second_selection_in_a_live_file_is_refused() -> None:
    given = GOOD.replace("chatbots:\n", "- key: other\n  question: Which is kinder?\nchatbots:\n")
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(given)
    (problem,) = caught.value.problems
    assert (problem.key, "only the first question selects" in problem.message) == ("aspects.1", True)


STUDY = """\
study:
  name: How to select
  settings: [soba, sata_written]
  chatbot_sets: [[Anna, Bert 2]]
"""


@pytest.mark.usefixtures("versions")
def test_a_study_of_the_file_has_its_arms(organisation: Organisation, tmp_path: Path) -> None:
    file, out = tmp_path / "study.yaml", StringIO()
    file.write_text(GOOD + STUDY)
    call_command("campaign", "import", str(file), f"--organisation={organisation.slug}", stdout=out)
    study = Study.objects.get()
    arms = Campaign.objects.filter(live__study=study).order_by("pk")
    assert [(arm.live.setting, arm.entrants.count(), arm.state) for arm in arms] == [
        ("soba", 2, "draft"),
        ("sata_written", 2, "draft"),
    ]
    assert arms[0].slug == "talks"
    assert f"How to select: a study of 2 arms, {study_address(study)}" in out.getvalue()


@pytest.mark.usefixtures("versions")
def test_a_study_that_cannot_be_leaves_nothing(organisation: Organisation) -> None:
    alone = GOOD + STUDY.replace("[soba, sata_written]", "[soba]")
    with pytest.raises(InvalidInput, match="2 to 24 arms"):
        campaign_take(organisation=organisation, given=campaign_read(alone))
    assert not organisation.campaigns.exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("Bert 2", "Carl", 25, "study.chatbot_sets.0.1"),
        ("sata_written]", "best]", 24, "study.settings.1"),
        ("  name: How to select\n", "", 23, "study.name"),
        ("  name: How", "  repetitions: 11\n  name: How", 23, "study.repetitions"),
        ("  name: How", "  arms: 3\n  name: How", 23, "study.arms"),
    ],
)
def test_wrong_studies_name_line_and_key(old: str, new: str, line: int, key: str) -> None:
    with pytest.raises(CampaignFileError) as refused:
        campaign_read(GOOD + STUDY.replace(old, new))
    (problem,) = refused.value.problems
    assert (problem.line, problem.key) == (line, key)


def test_a_static_campaign_has_no_study() -> None:
    static = GOOD.replace("  mode: live\n", "").replace(GOOD[GOOD.index("live:\n  sel") : GOOD.index("aspects:")], "")
    with pytest.raises(CampaignFileError) as refused:
        campaign_read(static + STUDY)
    assert [problem.key for problem in refused.value.problems] == ["study"]


def test_live_chatbot_that_is_not_there_is_refused(organisation: Organisation) -> None:
    with pytest.raises(Conflict, match="has no live chatbot Anna of version '1'"):
        campaign_take(organisation=organisation, given=campaign_read(GOOD))
    assert not organisation.campaigns.exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "said"),
    [
        ("minimum_turns: 5", "minimum_turns: 13", 12, "live.maximum_turns", "is above the maximum"),
        (
            "chatbots_per_conversation: 2",
            "chatbots_per_conversation: 3",
            10,
            "live.chatbots_per_conversation",
            "must be at most 2",
        ),
        ("fallback: written", "fallback: none", 9, "live.fallback", "must be one of"),
        ("pay_per: conversation", "pay_by: turn", 14, "live.pay_by", "is not known here"),
        ("  mode: live\n", "", 6, "live", "needs mode: live"),
        ("chatbots:\n", "prompts:\n- {id: p, text: Hi}\nchatbots:\n", 18, "prompts", "must be empty"),
    ],
    ids=["minimum above maximum", "too many chatbots", "fallback", "unknown key", "static", "prompts"],
)
def test_wrong_setting_names_line_and_key(old: str, new: str, line: int, key: str, said: str) -> None:
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(GOOD.replace(old, new))
    found = [(one.line, one.key) for one in caught.value.problems if said in one.message]
    assert found == [(line, key)]
