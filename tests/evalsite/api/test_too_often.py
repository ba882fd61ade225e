"""At every operation of docs/openapi.yaml: who comes too often is told so as the file says, and when to come again."""

import pytest
from django.test import override_settings

from tests.evalsite.api.client import error_of
from tests.evalsite.api.operations import OPERATIONS, Tenant, everything, right

KNOCKS = {"ENROLMENTS_PER_HOUR": 0, "ANSWERS_PER_MINUTE": 0, "READS_PER_MINUTE": 0}
COSTLY = {
    "FILES_PER_HOUR": {"judgments_csv", "judgments_jsonl", "known_ties", "skips_csv", "skips_jsonl"},
    "UPLOADS_PER_HOUR": {"send_prompts", "send_replies", "send_votes", "add_gold", "submit"},
}


def refused(there: Tenant, label: str) -> None:
    response = right(there, OPERATIONS[label]).send()
    assert (response.status_code, label) == (429, label)
    error = error_of(response)
    assert error["code"] == "too_many"
    assert error["hint"].startswith("Try again in ")
    assert 0 < int(response["Retry-After"]) <= 3600
    documented = OPERATIONS[label].described["responses"]["429"]
    assert documented["content"]["application/json"]["schema"]["$ref"].endswith("/Error")
    assert documented["headers"]["Retry-After"]["schema"] == {"type": "integer", "minimum": 1}


def test_every_operation_tells_who_comes_too_often(there: Tenant) -> None:
    before = everything()
    with override_settings(**KNOCKS):
        for label in OPERATIONS:
            refused(there, label)
    assert everything() == before


@pytest.mark.parametrize("setting", COSTLY)
def test_what_costs_much_has_a_limit_of_its_own(there: Tenant, setting: str) -> None:
    before = everything()
    labels = [label for label, one in OPERATIONS.items() if one.described["operationId"] in COSTLY[setting]]
    assert len(labels) == len(COSTLY[setting])
    with override_settings(**{setting: 0}):
        for label in labels:
            refused(there, label)
    assert everything() == before


def test_an_unavailable_site_is_documented_to_say_when_to_come_again() -> None:
    for one in OPERATIONS.values():
        assert one.described["responses"]["503"]["headers"]["Retry-After"]["required"]
