"""Threads: how many a fit takes, and that their number changes nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from irt_engine.fitting import expectations, problem, threads
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth
from scheduler.estimator import estimate


@pytest.mark.parametrize(("processors", "taken"), [(1, 1), (4, 4), (64, 8)])
def test_a_fit_takes_the_processors_that_there_are_up_to_eight(
    monkeypatch: pytest.MonkeyPatch, processors: int, taken: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(processors)), raising=False)
    assert threads.threads() == taken


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system ties no process to processors")
def test_a_process_that_is_tied_to_one_processor_takes_one() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert threads.threads() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("reply_sd", [0.0, 0.7])
def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch, reply_sd: float) -> None:
    votes = draw_votes(draw_truth(7, 60, reply_sd=reply_sd, seed=1), some_cells(7, 60, 0.5, seed=2), seed=3)
    monkeypatch.setattr(expectations, "_SHARED_FROM", 0)
    monkeypatch.setattr(problem, "_ONE_PART", 0)
    asked: list[bool] = []
    every = CellEvaluator.every

    def counted(self: CellEvaluator, work: object, chunks: object, *, shared: bool) -> bool:
        asked.append(self.pool is not None)
        return every(self, work, chunks, shared=shared)  # type: ignore[arg-type]

    monkeypatch.setattr(CellEvaluator, "every", counted)
    fits = []
    for count in (1, 2, 5):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, count=count: set(range(count)), raising=False)
        fits.append(estimate(votes))
        assert asked
        assert set(asked) == {count > 1}
        asked.clear()
    for other in fits[1:]:
        np.testing.assert_allclose(other.ability, fits[0].ability, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.covariance, fits[0].covariance, rtol=0, atol=1e-12)


def test_blas_has_one_thread_while_any_fit_of_the_process_goes_on() -> None:
    def most() -> int:
        return max(int(one["num_threads"]) for one in ThreadpoolController().info() if one["user_api"] == "blas")

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert most() == 2
        first, second = threads.one_blas_thread(), threads.one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert most() == 1
        first.__exit__(None, None, None)
        assert most() == 1, "the second goes on"
        second.__exit__(None, None, None)
        assert most() == 2
