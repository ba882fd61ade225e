"""Requests made up from docs/openapi.yaml, right ones and wrong ones: no 500, no answer that the file does not name.

Each operation gets a fixed number of requests from a fixed seed; half of them name things that are there. Before them
it gets a request that is done, and one that names what is not there.
"""

import random
import uuid
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.test import override_settings
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from evalsite.core.http import Handler
from tests.environment import FULL
from tests.evalsite.api.operations import ACTS, EACH_ACT, FILE, Operation, Sent, Tenant, done_before, right
from tests.evalsite.api.operations import OPERATIONS as LISTED

# How many made-up requests of each kind each operation gets.
REQUESTS = dict.fromkeys(GenerationMode, 25) if FULL else {GenerationMode.POSITIVE: 3, GenerationMode.NEGATIVE: 2}
NO_LIMIT = {
    "ENROLMENTS_PER_HOUR": 10**9,
    "ANSWERS_PER_MINUTE": 10**9,
    "READS_PER_MINUTE": 10**9,
    "UPLOADS_PER_HOUR": 10**9,
}
NAMES = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@cache
def handler() -> Any:
    return Handler()


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


def aim(case: Case, there: Tenant, mode: GenerationMode, luck: random.Random, rights: dict[str, Sent]) -> None:
    """Let about half of the requests name what is there, and nine of ten have a token.

    Of the right ones about half say what makes sense there; what else was made up stands beside it or not.
    `rights` keeps the right request to each act.
    """
    case.headers["Accept-Encoding"] = "identity"
    act = case.path_parameters.get("act", "")
    act = act if act in ACTS else ""
    if act not in rights:
        rights[act] = right(there, replace(LISTED[case.operation.label], act=act))
    known = rights[act]
    for part, names in ((case.path_parameters, known.path), (case.query, known.query)):
        for name in part.keys() & names.keys() - {"act"}:
            if luck.random() < 0.5:
                part[name] = names[name]
    if mode is GenerationMode.POSITIVE and isinstance(known.body, dict) and luck.random() < 0.5:
        more = case.body if isinstance(case.body, dict) and luck.random() < 0.5 else {}
        case.body = {**more, **known.body}
        case.media_type = known.kind
    if luck.random() < 0.9:
        case.headers["Authorization"] = f"Bearer {known.token or there.tokens['judge']}"


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_that_the_file_names(there: Tenant, label: str) -> None:
    with override_settings(**NO_LIMIT):
        refused = lost(there, LISTED[label]).call_and_validate(checks=CHECKED).status_code
        done = exact(there, LISTED[label]).call_and_validate(checks=CHECKED).status_code
        answered = {mode: statuses(there, label, mode) for mode in GenerationMode}
    assert done in {200, 201, 202}, "the right one is done"
    assert refused in {400, 404}, "and not the one that names what is not there"
    if FULL:  # two wrong ones may both happen to be right
        assert {400, 404} & answered[GenerationMode.NEGATIVE], "many wrong ones are refused as well"


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("one", EACH_ACT, ids=lambda one: one.act)
def test_every_act_is_done_and_answered_as_the_file_says(there: Tenant, one: Operation) -> None:
    """They share an address, and so the made up requests above need not meet them all."""
    done_before(there, one)
    assert exact(there, one).call_and_validate(checks=CHECKED).status_code == 200


def exact(there: Tenant, one: Operation) -> Case:
    """Return the right request, as it is."""
    known = right(there, one)
    token = {"Authorization": f"Bearer {known.token}"} if known.token else {}
    body: dict[str, Any] = {"body": known.body or {}, "media_type": known.kind} if one.writes else {}
    return OPERATIONS[one.label].Case(
        path_parameters=dict(known.path),
        query=dict(known.query),
        headers={**token, "Accept-Encoding": "identity", "Idempotency-Key": str(uuid.uuid4())},
        **body,
    )


def lost(there: Tenant, one: Operation) -> Case:
    """Return the right request, but to what is not there, or with a field that nobody knows."""
    case = exact(there, one)
    names = [name for name in case.path_parameters if name != "act"]
    if names:
        case.path_parameters[names[0]] = str(uuid.uuid4())
    elif one.writes:
        body: Any = case.body
        case.body = {**body, "nonsense": 1}
    else:
        case.query["nonsense"] = "1"
    return case


def statuses(there: Tenant, label: str, mode: GenerationMode) -> set[int]:
    """What was answered to right or wrong requests, each checked against the file."""
    seen: set[int] = set()
    rights: dict[str, Sent] = {}

    @seed(20_261_121)
    @settings(
        max_examples=REQUESTS[mode],
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode), luck=st.randoms(use_true_random=False))
    def ask(case: Case, luck: random.Random) -> None:
        aim(case, there, mode, luck, rights)
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
        "collections",
        "conversation_sets",
        "conversations",
        "endpoint_tests",
        "endpoints",
        "organisations",
        "studies",
        "submissions",
        "vote_files",
    }
