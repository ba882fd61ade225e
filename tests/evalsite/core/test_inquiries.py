"""A question that the worker answers: worked out once, and never left without an answer because a job was lost."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evalsite.core import inquiries, jobs
from evalsite.core.inquiries import answers, inquiry_ask
from evalsite.core.models import Inquiry, Job

pytestmark = [pytest.mark.django_db, pytest.mark.database]

LOST = {
    "its job was deleted": lambda: Job.objects.all().delete(),
    "its job died": lambda: Job.objects.update(state=Job.State.DEAD, attempts=jobs.MAX_ATTEMPTS),
    "its job ended without an answer": lambda: Job.objects.update(state=Job.State.DONE),
}


@pytest.fixture
def worked_out() -> Iterator[list[int]]:
    """How often the sum was worked out: its results."""
    results: list[int] = []

    @answers("sum")
    def add(args: Mapping[str, Any]) -> Mapping[str, Any]:
        results.append(args["a"] + args["b"])
        return {"sum": results[-1]}

    yield results
    del inquiries._answerers["sum"]


def ask() -> Inquiry:
    return inquiry_ask(kind="sum", args={"a": 1, "b": 2})


def run_all() -> None:
    while jobs.work_once("w"):
        pass


def test_the_same_question_is_worked_out_once(worked_out: list[int]) -> None:
    assert ask() == ask()
    run_all()
    assert ask().result == {"sum": 3}
    run_all()
    assert (worked_out, Job.objects.count()) == ([3], 1)


@pytest.mark.parametrize("lose", list(LOST.values()), ids=list(LOST))
def test_asked_again_it_is_answered_though_its_job_was_lost(worked_out: list[int], lose: Any) -> None:
    first = ask()
    lose()
    run_all()
    assert worked_out == []
    assert ask() == first
    run_all()
    assert ask().result == {"sum": 3}


def test_repeated_inquiry_is_not_queued_while_it_runs(worked_out: list[int]) -> None:
    ask()
    lease = jobs.job_claim(owner="w")
    assert lease is not None
    ask()
    assert Job.objects.count() == 1
    jobs.job_run(lease)
    assert ask().result == {"sum": 3}
