"""What is told of annotators and prompts after a refit, and what a board would be without somebody."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import refit_request
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.jobs import job_claim, job_is_due, job_run
from evalsite.core.models import Job
from evalsite.judgments.models import Annotator
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.prompts.models import Prompt
from evalsite.refits.mapping import Planner
from evalsite.refits.models import Findings
from evalsite.refits.services import EXCLUSION, findings_request
from scheduler import plan
from tests.evalsite.cast import judge, run_jobs
from tests.shared import shared


@shared
def judged(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, blocks=2)
    run_jobs()


@shared
def both_judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    judge(campaign, bob, "A", blocks=2)
    judge(campaign, dora, "tie", blocks=2)
    run_jobs()


@pytest.mark.usefixtures("both_judged")
def test_after_a_refit_every_annotator_and_every_judged_prompt_has_its_findings(
    campaign: Campaign, bob: Annotator, dora: Annotator
) -> None:
    found = Findings.objects.get(campaign=campaign)
    of = {one["annotator"]: one for one in found.annotators}
    assert (of[bob.pk]["first_share"], of[bob.pk]["tie_share"]) == (1.0, 0.0)
    assert (of[dora.pk]["first_share"], of[dora.pk]["tie_share"]) == (None, 1.0)
    assert {one["decision"] for one in found.annotators} == {"not enough yet"}
    assert sum(one["judgments"] for one in found.prompts) == sum(one["votes"] for one in found.annotators)
    assert all(one["se"] > 0 for one in found.prompts)


@pytest.mark.usefixtures("both_judged")
def test_an_excluded_annotator_is_still_told_of_since_they_may_be_re_admitted(
    campaign: Campaign, alice: User, bob: Annotator
) -> None:
    Findings.objects.all().delete()
    given = ActionArguments(annotator=bob.public_id, reason="tapped one key")
    act_perform(key=campaign.slug, act=Act.EXCLUDE, user=alice, given=given)
    run_jobs()
    found = Findings.objects.get(campaign=campaign)
    assert bob.pk in {one["annotator"] for one in found.annotators}


@pytest.mark.usefixtures("both_judged")
def test_the_board_without_somebody_is_the_one_that_their_exclusion_makes(
    campaign: Campaign, alice: User, bob: Annotator
) -> None:
    args = {"campaign": campaign.pk, "annotator": str(bob.public_id)}
    asked = inquiry_ask(kind=EXCLUSION, args=args)
    assert inquiry_ask(kind=EXCLUSION, args=args) == asked
    run_jobs()
    asked.refresh_from_db()
    assert asked.result
    told = {row["name"]: row["ability"][1] for row in asked.result["rows"] if row["rank"][1]}
    given = ActionArguments(annotator=bob.public_id, reason="tapped one key")
    act_perform(key=campaign.slug, act=Act.EXCLUDE, user=alice, given=given)
    run_jobs()
    board = snapshot_current(campaign.default_board)
    assert board
    assert asked.result["judgments"][1] == board.judgments
    assert {row["name"]: round(row["ability"], 6) for row in board.rows} == {
        name: round(value, 6) for name, value in told.items()
    }


@pytest.mark.usefixtures("judged")
def test_where_nothing_would_be_left_the_question_is_answered_with_that(campaign: Campaign, bob: Annotator) -> None:
    asked = inquiry_ask(kind=EXCLUSION, args={"campaign": campaign.pk, "annotator": str(bob.public_id)})
    run_jobs()
    asked.refresh_from_db()
    assert (asked.result, "no judgment is left" in asked.trouble) == (None, True)
    again = inquiry_ask(kind=EXCLUSION, args=asked.args)
    assert again.answered_at is None, "what failed is asked again"


@pytest.mark.usefixtures("judged")
def test_of_prompts_that_say_the_same_plans_ask_a_pair_about_one(campaign: Campaign, alice: User) -> None:
    found = Findings.objects.get(campaign=campaign)
    alike = [one["prompt"] for one in found.prompts][:3]
    for one in found.prompts:
        one["like"] = [other for other in alike if one["prompt"] in alike and other != one["prompt"]]
    found.save()
    planner = Planner(campaign)
    state = planner.state(None, 0)
    assert state.redundant == (tuple(str(pk) for pk in sorted(alike)),)
    made = plan(state, policy="adaptive", count=15, seed=1, design=planner.design)
    asked = [(ask.a, ask.b) for ask in made.asks if state.prompts[ask.prompt] in state.redundant[0]]
    assert asked
    assert len(set(asked)) == len(asked)
    given = ActionArguments(prompt=Prompt.objects.get(pk=alike[0]).public_id, reason="ambiguous")
    act_perform(key=campaign.slug, act=Act.RETIRE_PROMPT, user=alice, given=given)
    assert Planner(campaign).state(None, 0).redundant == (tuple(str(pk) for pk in sorted(alike[1:])),)


@pytest.mark.usefixtures("judged")
def test_while_a_refit_is_due_findings_of_the_last_minute_stand_and_are_made_anew_after_it(
    campaign: Campaign, dora: Annotator
) -> None:
    first = Findings.objects.get().made_at
    findings_request(campaign)
    judge(campaign, dora, blocks=2)
    waiting = Job.objects.get(kind="findings", state=Job.State.QUEUED)
    assert job_is_due("refit")
    lease = job_claim(owner="test", job_id=waiting.pk)
    assert lease is not None
    assert job_run(lease)
    assert Findings.objects.get().made_at == first
    again = Job.objects.get(kind="findings", state=Job.State.QUEUED)
    assert again.run_after > timezone.now(), "else it might be claimed before the refit is, and again"
    run_jobs()
    assert not job_is_due("refit")
    Job.objects.filter(pk=again.pk).update(run_after=timezone.now())
    run_jobs()
    assert Findings.objects.get().made_at > first


@pytest.mark.parametrize("ago", [timedelta(seconds=61), -timedelta(hours=2)], ids=["a minute", "the clock set back"])
@pytest.mark.usefixtures("judged")
def test_however_many_refits_wait_findings_are_made_once_a_minute(campaign: Campaign, ago: timedelta) -> None:
    first = timezone.now() - ago
    Findings.objects.update(made_at=first)
    findings_request(campaign)
    refit_request(campaign)
    waiting = Job.objects.get(kind="findings", state=Job.State.QUEUED)
    lease = job_claim(owner="test", job_id=waiting.pk)
    assert lease is not None
    assert job_run(lease)
    assert Findings.objects.get().made_at != first
