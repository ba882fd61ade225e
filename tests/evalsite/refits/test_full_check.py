"""The full Bayesian check: asked for once, worked out beside all else, kept with its diagnostics and told in words."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.console.full_check import answer_of, figure_of
from evalsite.core import jobs
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict
from evalsite.core.models import Job
from evalsite.judgments.models import Annotator
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.refits.models import FullCheck
from irt_engine import Priors, ResponseTable, fit
from irt_engine.fitting.everyday import Form, Model
from irt_engine.full.convergence import Diagnostics
from irt_engine.full.sampling import FullPosterior
from tests.evalsite.cast import by_number, judge_as, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared


def ask(campaign: Campaign, by: User) -> None:
    act_perform(key=campaign.slug, act=Act.FULL_CHECK, user=by, given=ActionArguments())


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    for annotator in (bob, dora, bob, dora):
        judge_as(campaign, annotator, by_number)
    run_jobs()
    return campaign


def summarised(
    table: ResponseTable, model: Model, *, form: Form, priors: Priors, progress: Callable[[int, int], None], **run: Any
) -> FullPosterior:
    """Return an everyday fit in place of the one by chains, whose model takes ten seconds to compile."""
    for stage in range(1, 4):
        progress(stage, 3)
    posterior = fit(table, model, form=form, priors=priors)
    run = {name: run[name] for name in ("draws", "tune", "chains")}
    return FullPosterior(posterior, Diagnostics(1.0, 900.0, 900.0, 0, **run, sampler="none"))


@pytest.mark.parametrize("by", ["an everyday fit", pytest.param("chains", marks=pytest.mark.full)])
def test_from_the_question_to_the_answer_past_a_worker_that_dies(
    owner: Client, judged: Campaign, alice: User, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """That fits by chains agree with everyday ones is tested with the engine, in tests/irt_engine/full."""
    for name, value in (("DRAWS", 400), ("TUNE", 300), ("CHAINS", 2)):
        monkeypatch.setattr(f"evalsite.refits.full_check_fit.{name}", value)
    if by != "chains":
        monkeypatch.setattr("evalsite.refits.full_check_fit.fit_full", summarised)
    assert "No check yet" in words(owner.get("/console/trial/check/"))
    assert "takes some minutes" in words(owner.get("/console/trial/act/full_check/"))
    answer = owner.post("/console/trial/act/full_check/")
    assert answer["Location"] == "/console/trial/check/"
    assert "is being checked" in words(owner.get("/console/trial/check/state/"))

    lost = jobs.job_claim(owner="a worker that dies", lane=jobs.Lane.SLOW)
    assert lost is not None
    with pytest.raises(Conflict, match="under way"):
        ask(judged, alice)
    Job.objects.filter(pk=lost.job_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert run_jobs() == 1
    with pytest.raises(jobs.LeaseLost):
        lost.confirm()

    check = FullCheck.objects.get()
    assert (check.stage, check.trouble) == (3, "")
    result: dict[str, Any] = check.result or {}
    snapshot = check.snapshot
    assert result["judgments"] == snapshot.judgments
    by_name = {row["name"]: (row["ability"], row["se"]) for row in snapshot.rows}
    assert {row["name"]: tuple(row["everyday"]) for row in result["rows"]} == {
        name: (pytest.approx(ability, abs=1e-4), pytest.approx(se, abs=1e-4)) for name, (ability, se) in by_name.items()
    }
    turned = [-row["everyday"][0] - row["full"][0] for row in result["rows"]]
    far = np.sqrt(np.mean([(by / row["full"][1]) ** 2 for by, row in zip(turned, result["rows"], strict=True)]))
    assert result["agreement"]["mean"] < far / 2, "both fits are of the same votes, and not of their mirror image"
    assert result["diagnostics"]["draws"] == 400

    page = owner.get("/console/trial/check/")
    for said in ("r-hat", "Effective draws", "Divergences", "Distance of the means", "SEs, everyday over full"):
        assert said in words(page)
    assert page.content.decode().count('class="dot"') == 4
    assert "style=" not in page.content.decode()

    ask(judged, alice)
    assert (FullCheck.objects.count(), run_jobs()) == (1, 0), "the same judgments are checked once"
    log = [one.after["known"] for one in audit_of(judged.public_id).filter(act="full_check")]
    assert log == [True, False]


def test_without_a_fit_there_is_nothing_to_check(campaign: Campaign, alice: User) -> None:
    with pytest.raises(Conflict, match="no fit to check yet"):
        ask(campaign, alice)
    assert not FullCheck.objects.exists()


def test_what_would_keep_a_worker_for_hours_is_refused(
    owner: Client, judged: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsite.refits.full_check.MOST_JUDGMENTS", 3)
    answer = owner.post("/console/trial/act/full_check/")
    assert (answer.status_code, "up to 3 judgments" in words(answer)) == (409, True)
    assert not FullCheck.objects.exists()


def test_what_the_engine_refuses_is_told_and_can_be_asked_again(
    owner: Client, judged: Campaign, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irt_engine.full.pymc_model.MAX_PARAMETERS", 1)
    ask(judged, alice)
    run_jobs()
    assert "parameters are more than 1" in words(owner.get("/console/trial/check/"))
    ask(judged, alice)
    assert FullCheck.objects.filter(finished_at=None).exists()


def test_a_check_whose_workers_died_each_time_is_said_and_begun_anew(
    owner: Client, judged: Campaign, alice: User
) -> None:
    ask(judged, alice)
    Job.objects.filter(kind="full_check").update(state=Job.State.DEAD, finished_at=timezone.now())
    page = owner.get("/console/trial/check/")
    assert "workers died" in words(page)
    assert "hx-get" not in page.content.decode()
    ask(judged, alice)
    assert [bool(one.trouble) for one in FullCheck.objects.order_by("pk")] == [True, False]


def test_other_work_does_not_wait_for_it(judged: Campaign, alice: User) -> None:
    ask(judged, alice)
    act_perform(key="trial", act=Act.REFIT, user=alice, given=ActionArguments())
    while jobs.work_once("test", lane=jobs.Lane.PLAIN):
        pass
    assert not jobs.job_is_pending(f"refit:{judged.pk}")
    assert jobs.job_is_pending(f"full_check:{judged.pk}")


@pytest.mark.parametrize(
    ("mean", "sd", "converged", "said"),
    [
        (0.1, 0.05, True, "can be trusted"),
        (0.1, 0.3, True, "the same story"),
        (0.4, 0.05, True, "the same story"),
        (0.6, 0.05, True, "differs from the board"),
        (0.1, 0.05, False, "have not settled"),
    ],
)
def test_the_answer_says_whether_to_trust_the_board(mean: float, sd: float, converged: bool, said: str) -> None:
    result = {"agreement": {"mean": mean, "sd": sd}, "diagnostics": {"converged": converged}}
    assert said in answer_of(result)


def test_equal_fits_lie_on_the_diagonal_and_no_interval_leaves_the_picture() -> None:
    rows = [{"name": str(n), "everyday": [n, 0.5], "full": [n, 0.7]} for n in (-2.0, 0.0, 3.0)]
    drawn = figure_of(rows)
    assert all(mark.x == pytest.approx(drawn.side - mark.y, abs=0.2) for mark in drawn.marks)
    for mark in drawn.marks:
        assert 0.0 <= mark.left < mark.x < mark.right <= drawn.side
        assert 0.0 <= mark.top < mark.y < mark.bottom <= drawn.side
