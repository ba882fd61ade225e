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
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import judge, run_jobs

FILE = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
REQUESTS = 25  # of each kind to each operation
NO_LIMIT = {
    "ENROLMENTS_PER_HOUR": 10**9,
    "ANSWERS_PER_MINUTE": 10**9,
    "READS_PER_MINUTE": 10**9,
    "UPLOADS_PER_HOUR": 10**9,
}
NAMES = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@cache
def handler() -> Any:
    return get_wsgi_application()


def application(environ: Any, start_response: Any) -> Any:
    """The site; made at the first request, since the static files of the production form are collected before it."""
    return handler()(environ, start_response)


CELLS = st.one_of(
    st.sampled_from(["p0", "p1", "", '"', '\\ud800"', "\\u0000", "=1", "x" * 100_000]), st.text(max_size=9)
)
HEADS = st.sampled_from([["prompt_id", "text", "reply"], ["prompt_id", "turns"], ["prompt_id", "reply", "sample"]])


@st.composite
def csv_files(draw: st.DrawFn) -> bytes:
    """Well formed or not: quotes may stand anywhere."""
    head = draw(HEADS)
    rows = draw(st.lists(st.lists(CELLS, min_size=len(head), max_size=len(head)), max_size=3))
    return "\n".join(",".join(row) for row in [head, *rows]).encode("utf-8", "surrogatepass")


@st.composite
def json_files(draw: st.DrawFn) -> bytes:
    """A row a line: texts, nesting at any depth, and what is no JSON."""
    deep = st.integers(min_value=1, max_value=2000).map(lambda depth: "[" * depth + "]" * depth)
    cells = st.one_of(CELLS.map(lambda text: f'"{text}"'), deep, st.just("1e999"))
    rows = draw(st.lists(st.lists(st.tuples(draw(HEADS.map(st.sampled_from)), cells), max_size=3), max_size=3))
    lines = ["{" + ", ".join(f'"{name}": {cell}' for name, cell in row) + "}" for row in rows]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


GOOD = st.sampled_from([b"prompt_id,text,reply\np0,Why?,Because.\n", b'{"prompt_id": "p0", "text": "x", "reply": "y"}'])
for media, files in (("text/csv", csv_files()), ("application/jsonl", json_files()), ("text/plain", st.binary())):
    also = ["application/x-ndjson"] if media == "application/jsonl" else []
    schemathesis.openapi.media_type(media, st.one_of(GOOD, files, st.binary(max_size=50)), aliases=also)
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
    asked = [NewPrompt("p0", [{"speaker": "user", "text": "Why?"}])]
    prompt_set_create(organisation=campaign.organisation, name="Spring", prompts=asked)
    return {
        "key": campaign.slug,
        "assignment": str(block[0].public_id),
        "number": 1,
        "act": "refit",
        "organisation": "alice",
        "set": "Spring",
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
    if "set" in case.query and luck.random() < 0.5:
        case.query["set"] = there["set"]
    who = "annotator" if "judge" in (case.operation.tags or []) else "person"
    if luck.random() < 0.9:
        case.headers["Authorization"] = f"Bearer {there[who]}"


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_that_the_file_names(there: dict[str, Any], label: str) -> None:
    with override_settings(**NO_LIMIT):
        answered = {mode: statuses(there, label, mode) for mode in GenerationMode}
    assert 200 in answered[GenerationMode.POSITIVE] or label.startswith(("POST", "PUT")), "right ones were asked"
    assert answered[GenerationMode.POSITIVE] & {200, 201} or "/organisations/" not in label, "and files taken in"
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
        "claims",
        "organisations",
    }
