"""Requests made up from docs/openapi.yaml, right ones and wrong ones: no 500, no answer that the file does not name.

Each operation gets a fixed number of requests from a fixed seed; half of them name things that are there.
"""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import override_settings
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import assignment_claim, token_issue
from tests.evalsite.cast import judge, run_jobs

FILE = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
REQUESTS = 25  # of each kind to each operation
NO_LIMIT = {"ENROLMENTS_PER_HOUR": 10**9, "ANSWERS_PER_MINUTE": 10**9, "READS_PER_MINUTE": 10**9}
NAMES = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@cache
def handler() -> Any:
    return get_wsgi_application()


def application(environ: Any, start_response: Any) -> Any:
    """The site; made at the first request, since the static files of the production form are collected before it."""
    return handler()(environ, start_response)


schema = schemathesis.openapi.from_path(FILE)
schema.app = application
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}  # type: ignore[union-attr]
load_all_checks()
CHECKED: list[Any] = [CHECKS.get_one(name) for name in NAMES]


@pytest.fixture
def there(campaign: Campaign, bob: Annotator, dora: Annotator, alice: User) -> dict[str, Any]:
    """Names of what is there, and the tokens of who may see it."""
    judge(campaign, bob, blocks=2)
    run_jobs()
    block = assignment_claim(campaign=campaign, annotator=dora)
    return {
        "key": campaign.slug,
        "assignment": str(block[0].public_id),
        "number": 1,
        "act": "refit",
        "annotator": token_issue(annotator=dora),
        "person": api_token_issue(user=alice, name="all", scopes=ApiToken.Scope.values, days=1),
    }


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Requests share the test's connection and transaction, as those of Django's own test client do."""
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield
    for signal in ends:
        signal.connect(close_old_connections)


def aim(case: Case, there: dict[str, Any], luck: random.Random) -> None:
    """Let about half of the requests name what is there, and nine of ten have a token."""
    case.headers["Accept-Encoding"] = "identity"
    for name in case.path_parameters:
        if luck.random() < 0.5:
            case.path_parameters[name] = there[name]
    who = "annotator" if "judge" in (case.operation.tags or []) else "person"
    if luck.random() < 0.9:
        case.headers["Authorization"] = f"Bearer {there[who]}"


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_that_the_file_names(there: dict[str, Any], label: str) -> None:
    with override_settings(**NO_LIMIT):
        answered = {mode: statuses(there, label, mode) for mode in GenerationMode}
    assert 200 in answered[GenerationMode.POSITIVE] or label.startswith(("POST", "PUT")), "right ones were asked"
    assert 400 in answered[GenerationMode.NEGATIVE] or 404 in answered[GenerationMode.NEGATIVE], "and wrong ones"


def statuses(there: dict[str, Any], label: str, mode: GenerationMode) -> set[int]:
    """What was answered to right or wrong requests, each checked against the file."""
    seen: set[int] = set()

    @seed(20_261_121)
    @settings(
        max_examples=REQUESTS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode), luck=st.randoms(use_true_random=False))
    def ask(case: Case, luck: random.Random) -> None:
        aim(case, there, luck)
        seen.add(case.call_and_validate(checks=CHECKED).status_code)

    ask()
    return seen


def test_there_is_an_operation_for_everything() -> None:
    assert {label.split("/api/v1")[1].split("/")[1] for label in OPERATIONS} == {
        "annotators",
        "assignments",
        "boards",
        "campaigns",
    }
