"""A campaign as one YAML file: it comes back as it was, and a broken file names line and key."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.drafts import draft_prompt_set
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.campaigns.onboarding import qualification_of
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import Design, NewAspect, entrant_withdraw, plan_options
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import text_sha256
from evalsite.core.errors import Conflict
from evalsite.core.models import AuditEntry
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared

GOOD = """\
touchstone: 1
campaign:
  name: Kindness
  slug: kindness
  pay_rate: "0.10"
  currency: EUR
  batch_size: 50
stopping:
  target_se: 0.2
aspects:
- key: overall
  question: Which is kinder?
  allow_both_bad: false
prompts:
- id: p1
  category: help
  text: Help me.
- id: p2
  turns:
  - {speaker: user, text: Hello}
  - {speaker: chatbot, text: Hi}
  - {speaker: user, text: Bye}
chatbots:
- name: Anna
  replies:
    p1: Gladly.
    p2: [Bye, See you]
- name: Bert
  version: "2"
  replies:
    p1: "No."
"""


@shared
def elsewhere(charlie: User) -> Organisation:
    return charlie.personal_organisation


def test_a_file_becomes_a_draft_with_all_that_it_says(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD))
    assert (campaign.state, str(campaign.pay_rate), campaign.batch_size) == ("draft", "0.1000", 50)
    assert (campaign.stopping.target_se, campaign.stopping.budget) == (0.2, None)
    assert campaign.rubric.aspects.get().choices == ["A", "tie", "B"]
    assert [str(entrant.version) for entrant in campaign.entrants.order_by("pk")] == ["Anna 1", "Bert 2"]
    assert list(Reply.objects.filter(prompt__key="p2").values_list("sample", "text")) == [(1, "Bye"), (2, "See you")]


@pytest.mark.database
def test_what_is_written_comes_back_the_same(make_campaign: CampaignMaker, elsewhere: Organisation) -> None:
    plan = PlanOptions(target="top", top=2, overlap_share=0.25, overlap_votes=3, balance={"": 1.0}, retire_after=9)
    aspects = (NewAspect("kind", "Which is kinder?"), NewAspect("right", "Which is right?", allow_tie=False))
    design = Design(plan=plan, screening=Campaign.Screening.ACT, policy="balanced", aspects=aspects)
    campaign = make_campaign(chatbots=3, prompts=4, start=False, design=design)
    Reply.objects.create(
        version=campaign.entrants.all()[0].version,
        prompt=campaign.prompt_set.prompts.all()[0],
        sample=2,
        text="yes: 'no'\n- \u2028 # 1e5 ~",
        sha256=text_sha256("yes: 'no'\n- \u2028 # 1e5 ~"),
        origin=Reply.Origin.FILE,
    )
    Campaign.objects.filter(pk=campaign.pk).update(quota=7, per_day=90, description="null", pay_rate="0.0500")
    campaign.refresh_from_db()
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="moved")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert campaign_write(again) == written
    assert plan_options(again) == plan
    assert [aspect.key for aspect in again.rubric.aspects.all()] == ["kind", "right"]


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("touchstone: 1", "touchstone: 2", 1, "touchstone"),
        ("name: Kindness", "name: [a]", 3, "campaign.name"),
        ("name: Kindness", r'name: "a\ud800"', 3, ""),  # no letter, as YAML itself says
        ("slug: kindness", "slug: Not A Slug", 4, "campaign.slug"),
        ('"0.10"', "0.10", 5, "campaign.pay_rate"),
        ("batch_size: 50", "batch_size: 0", 7, "campaign.batch_size"),
        ("batch_size: 50", "batch_size: true", 7, "campaign.batch_size"),
        ("batch_size: 50", "batchsize: 50", 7, "campaign.batchsize"),
        ("batch_size: 50", "name: again", 7, "campaign.name"),
        ("target_se: 0.2", "target_se: -1", 9, "stopping.target_se"),
        ("target_se: 0.2", "target_se: .nan", 9, "stopping.target_se"),
        ("target_se: 0.2", "target_se: .inf", 9, "stopping.target_se"),
        ("target_se: 0.2", "target_se: 1.0e-320", 9, "stopping.target_se"),
        ("target_se: 0.2", f"target_se: 1{'0' * 400}", 9, "stopping.target_se"),
        ("target_se: 0.2", "min_difference: 0", 9, "stopping.min_difference"),
        ("target_se: 0.2", "target_se: 0.2\n  min_difference: 0.5", 10, "stopping.min_difference"),
        ("target_se: 0.2", "min_difference: 0.5\n  power: 0.01", 10, "stopping.power"),
        ("target_se: 0.2", "deadline: 2027-01-01", 9, "stopping.deadline"),
        ("target_se: 0.2", "deadline: 2027-01-01T12:00:00", 9, "stopping.deadline"),
        ("target_se: 0.2", "deadline: tomorrow", 9, "stopping.deadline"),
        ("  question: Which is kinder?\n", "", 11, "aspects.0.question"),
        ("id: p2", "id: p1", 18, "prompts.1.id"),
        ("id: p2", "id: 2", 18, "prompts.1.id"),
        ("speaker: chatbot", "speaker: robot", 21, "prompts.1.turns.1.speaker"),
        ("  - {speaker: user, text: Bye}\n", "", 18, "prompts.1"),
        ("p1: Gladly.", "p9: Gladly.", 26, "chatbots.0.replies.p9"),
        ("p1: Gladly.", "p1: 7", 26, "chatbots.0.replies.p1"),
        ('p1: "No."', "p1: No", 31, "chatbots.1.replies.p1"),
        ('name: Bert\n  version: "2"', 'name: Anna\n  version: "1"', 28, "chatbots.1.name"),
        ("chatbots:", "robots:", 23, "robots"),
        ("aspects:", "plan: {floor: 2}\naspects:", 10, "plan.floor"),
        ("aspects:", "plan: {top: 2}\naspects:", 10, "plan.top"),
        ("aspects:", "plan: {overlap_votes: 1001}\naspects:", 10, "plan.overlap_votes"),
        ("batch_size: 50", "batch_size: 100001", 7, "campaign.batch_size"),
        ("batch_size: 50", "block_size: 101", 7, "campaign.block_size"),
        ("batch_size: 50", "lease_s: 86401", 7, "campaign.lease_s"),
        ("batch_size: 50", "votes_per_item: 1000001", 7, "campaign.votes_per_item"),
        ("aspects:", "plan: {target: newcomer}\naspects:", 10, "plan.newcomer"),
        ("aspects:", "plan: {newcomer: Anna}\naspects:", 10, "plan.newcomer"),
        ("aspects:", "plan:\n  target: newcomer\n  newcomer: Carl\naspects:", 12, "plan.newcomer"),
        ("aspects:", "plan: {target: newcomer, newcomer: 2}\naspects:", 10, "plan.newcomer"),
        ("aspects:", "plan:\n  balance: {help: 0.5}\naspects:", 11, "plan.balance"),
        ("aspects:", "plan: {votes_per_pair: 2, overlap_share: 0.5, overlap_votes: 3}\naspects:", 10, "votes_per_pair"),
        ("batch_size: 50", "policy: best", 1, "policy"),
        ("aspects:", "aspects: &a", 0, ""),
    ],
)
def test_a_broken_file_names_line_and_key(old: str, new: str, line: int, key: str) -> None:
    assert old in GOOD
    broken = GOOD.replace(old, new, 1)
    if not line:
        broken += "x: *a\n"
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(broken)
    first = caught.value.problems[0]
    if line:
        assert (first.line, first.key) == (line, key), str(first)
    else:
        assert "aliases" in first.message


def test_each_limit_comes_back_as_it_was(organisation: Organisation, elsewhere: Organisation) -> None:
    limits = "min_difference: 0.4\n  alpha: 0.01\n  power: 0.9\n  budget: 900\n  deadline: 2090-05-04T20:00:00+02:00"
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD.replace("target_se: 0.2", limits)))
    deadline = datetime(2090, 5, 4, 18, tzinfo=UTC)
    assert limits_of(campaign.stopping) == Limits(None, 0.4, 0.01, 0.9, 900, deadline)
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="moved")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert limits_of(again.stopping) == limits_of(campaign.stopping)
    assert campaign_write(again) == written


@pytest.mark.parametrize("name", ["target_se", "min_difference"])
@pytest.mark.parametrize("value", [0.001, 0.0125, 250.0, 1000.0])
def test_an_aim_that_a_campaign_may_have_stands_in_a_file_too(
    organisation: Organisation, name: str, value: float
) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD))
    given: dict[str, Any] = {name: value}
    limits = Limits(**given)  # as a program may set them
    StoppingSpec.objects.filter(campaign=campaign).update(
        target_se=limits.target_se, min_difference=limits.min_difference
    )
    campaign.refresh_from_db()
    assert campaign_read(campaign_write(campaign)).stopping == limits


@pytest.mark.parametrize("name", ["Bert", "Bert 2"])
def test_a_chatbot_that_is_to_be_placed_is_named_and_comes_back(
    organisation: Organisation, elsewhere: Organisation, name: str
) -> None:
    placed = GOOD.replace("aspects:", f"plan: {{target: newcomer, newcomer: {name}}}\naspects:")
    campaign = campaign_take(organisation=organisation, given=campaign_read(placed))
    bert = campaign.entrants.get(version__chatbot__name="Bert")
    assert plan_options(campaign) == PlanOptions(target="newcomer", newcomer=bert.pk)
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="moved")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert campaign_write(again) == written
    entrant_withdraw(campaign=campaign, entrant=bert, reason="gone")
    assert campaign_read(campaign_write(campaign)).plan == PlanOptions(), "who has left is not placed"


def test_a_chatbot_of_two_versions_is_named_with_its_version(organisation: Organisation) -> None:
    placed = GOOD.replace("name: Bert", "name: Anna").replace("aspects:", "plan: PLAN\naspects:")
    with pytest.raises(CampaignFileError, match="no chatbot 'Anna' is in this file"):
        campaign_read(placed.replace("PLAN", "{target: newcomer, newcomer: Anna}"))
    read = campaign_read(placed.replace("PLAN", "{target: newcomer, newcomer: Anna 2}"))
    campaign = campaign_take(organisation=organisation, given=read)
    assert str(campaign.plan.newcomer and campaign.plan.newcomer.version) == "Anna 2"


@pytest.mark.parametrize("content", ["", "a: [", "- 1", "\tx: 1", "a: \x00", "7"])
def test_what_is_no_campaign_is_refused(content: str) -> None:
    with pytest.raises(CampaignFileError):
        campaign_read(content)


@pytest.mark.parametrize("piece", ["[", "{", "a: [", "- ", "? ", "[a, {b: "])
def test_what_would_take_minutes_to_read_is_left_where_it_becomes_too_deep(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[object] = []
    scan = yaml.scan

    def counted(*arguments: Any, **options: Any) -> Iterator[Any]:
        for token in scan(*arguments, **options):
            looked_at.append(token)
            yield token

    monkeypatch.setattr(yaml, "scan", counted)
    with pytest.raises(CampaignFileError, match="line 1: it is nested too deeply"):
        campaign_read(piece * 100_000)
    assert len(looked_at) < 1000


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(GOOD.replace("batch_size: 50", "batch_size: 0").replace("p1: Gladly.", "p9: Gladly."))
    assert [problem.line for problem in caught.value.problems] == [7, 26]


def test_a_file_is_taken_once(organisation: Organisation) -> None:
    campaign_take(organisation=organisation, given=campaign_read(GOOD))
    with pytest.raises(Conflict):
        campaign_take(organisation=organisation, given=campaign_read(GOOD))
    assert Campaign.objects.count() == 1


def test_the_commands_write_check_and_take_it(
    make_campaign: CampaignMaker, elsewhere: Organisation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = make_campaign(chatbots=2, prompts=2, start=False)
    call_command("campaign", "export", campaign.slug)
    file = tmp_path / "c.yaml"
    file.write_text(capsys.readouterr().out)
    call_command("campaign", "validate", file)
    assert "right: 2 prompts, 2 chatbots" in capsys.readouterr().out
    file.write_text(file.read_text().replace("slug: trial", "slug: second").replace("block_size: 3", "block_size: x"))
    with pytest.raises(CommandError, match=r"line \d+: campaign.block_size: must be a whole number"):
        call_command("campaign", "import", file, organisation=elsewhere.slug)
    file.write_text(file.read_text().replace("block_size: x", "block_size: 3"))
    call_command("campaign", "import", file, organisation=elsewhere.slug)
    assert Campaign.objects.get(slug="second").organisation == elsewhere


GILDED = (
    GOOD
    + """\
gold:
- id: known
  text: What is two and two?
  category: help
  reply_a: Four.
  reply_b: Five.
  right: A
  explanation: It is four.
- id: pair
  prompt_id: p1
  chatbot_a: Anna
  chatbot_b: Bert
  right: [A, tie]
"""
)


RECEPTION = """
reception:
  platform: prolific
  code_complete: C1AB
  instructions: Read both.
  consent_required: true
  pass_mark: 1
  reasons: [clearer, kinder]
qualification:
- text: Two and two?
  reply_a: Four.
  reply_b: Five.
  right: A
  explanation: Four is right.
- turns:
  - {speaker: user, text: Hi}
  - {speaker: chatbot, text: Hello}
  - {speaker: user, text: "Two and two?"}
  reply_a: Five.
  reply_b: Four.
  right: B
  explanation: Four, again.
"""


def test_how_annotators_are_received_comes_back_the_same(organisation: Organisation, elsewhere: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD + RECEPTION))
    reception = campaign.onboarding
    assert (reception.platform, reception.code_complete, reception.pass_mark) == ("prolific", "C1AB", 1)
    assert reception.reasons == ["clearer", "kinder"]
    assert [item.right for item in campaign.qualification_items.all()] == ["A", "B"]
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="moved")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert campaign_write(again) == written
    assert qualification_of(again) == qualification_of(campaign)
    assert AuditEntry.objects.filter(subject=again.public_id, target="YAML").count() == 1


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("platform: prolific", "platform: facebook", "reception.platform"),
        ("  code_complete: C1AB\n", "", "reception.code_complete"),
        ("code_complete: C1AB", "code: C1AB", "reception.code"),
        ("pass_mark: 1", "pass_mark: 3", "reception.pass_mark"),
        ("[clearer, kinder]", "[clearer, clearer]", "reception.reasons"),
        ("[clearer, kinder]", "[7]", "reception.reasons.0"),
        ("right: A", "right: both_bad", "qualification.0.right"),
        ("right: A", "right: C", "qualification.0.right"),
        ("  explanation: Four is right.\n", "", "qualification.0.explanation"),
        ("- text: Two and two?\n  reply_a", "- reply_a", "qualification.0"),
        ("speaker: chatbot, text: Hello", "speaker: robot, text: Hello", "qualification.1.turns.1.speaker"),
    ],
)
def test_a_broken_reception_names_line_and_key(old: str, new: str, key: str) -> None:
    assert old in RECEPTION
    broken = GOOD + RECEPTION.replace(old, new, 1)
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(broken)
    problem = next(one for one in caught.value.problems if one.key == key)
    first_line = GOOD.count("\n") + 2
    assert first_line <= problem.line <= broken.count("\n"), str(problem)


def test_gold_is_taken_in_and_comes_back_the_same(organisation: Organisation, elsewhere: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GILDED))
    known, pair = campaign.gold_items.order_by("pk")
    assert (known.text_a, known.right, known.prompt.prompt_set_id == campaign.prompt_set_id) == ("Four.", ["A"], False)
    assert (pair.prompt.key, str(pair.entrant_b and pair.entrant_b.version), pair.right) == (
        "p1",
        "Bert 2",
        ["A", "tie"],
    )
    assert campaign.prompt_set.prompts.count() == 2, "gold's own prompts are not among those that are asked to rank"
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="the-first")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert campaign_read(campaign_write(again)) == campaign_read(written)


def test_gold_of_a_chatbot_that_left_is_not_written_and_the_file_is_read_back(
    organisation: Organisation, elsewhere: Organisation
) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GILDED))
    bert = campaign.entrants.get(version__chatbot__name="Bert")
    entrant_withdraw(campaign=campaign, entrant=bert, reason="gone")
    written = campaign_write(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(slug="the-first")
    again = campaign_take(organisation=elsewhere, given=campaign_read(written))
    assert [item.key for item in again.gold_items.all()] == ["known"]


def test_gold_on_a_prompt_that_is_not_written_is_not_either(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GILDED))
    others = prompt_set_create(
        organisation=organisation, name="Others", prompts=[NewPrompt("q1", [{"speaker": "user", "text": "Why?"}])]
    )
    draft_prompt_set(campaign=campaign, prompt_set=others)
    assert [item.key for item in campaign_read(campaign_write(campaign)).gold] == ["known"]


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("  right: A\n", "  right: both_bad\n", "gold.0.right"),
        ("  chatbot_b: Bert\n", "  chatbot_b: Carl\n", "gold.1.chatbot_b"),
        ("  prompt_id: p1\n", "  prompt_id: p2\n", "gold.1.prompt_id"),
        ("  reply_b: Five.\n", "  reply_b: 5\n", "gold.0.reply_b"),
        ("- id: pair\n", "- id: known\n", "gold.1.id"),
        ("  explanation: It", "  reason: It", "gold.0.reason"),
    ],
)
def test_broken_gold_names_line_and_key(before: str, after: str, key: str) -> None:
    line = GILDED.count("\n", 0, GILDED.index(before)) + 1
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(GILDED.replace(before, after))
    assert [(one.line, one.key) for one in caught.value.problems] == [(line, key)]
