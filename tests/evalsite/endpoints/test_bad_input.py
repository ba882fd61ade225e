"""Endpoints that were entered wrongly: a test says what to change, costs nothing, and leaves nothing half-done."""

from typing import Any

import pytest

from evalsite.chatbots.models import Chatbot, Reply
from evalsite.demo.chatbot_server import chatbots_served
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.failures import ErrorClass, advice
from evalsite.endpoints.models import Call, DailyCost
from evalsite.endpoints.selectors import check_result, endpoint_health
from evalsite.endpoints.services import endpoint_register
from tests.evalsite.endpoints.steps import SECRET, call_all, wanted
from tests.processes import free_port

pytestmark = pytest.mark.django_db(transaction=True)
PLAIN = {"adapter": "http_json", "model": "parrot", "path": "/chat"}


@pytest.mark.parametrize(
    ("changes", "secret", "error"),
    [
        pytest.param({"url": "https://10.0.0.1/v1"}, SECRET, ErrorClass.ADDRESS_REFUSED, id="private"),
        pytest.param({"url": "http://169.254.169.254/v1"}, SECRET, ErrorClass.ADDRESS_REFUSED, id="metadata"),
        pytest.param({"url": "https://[::ffff:10.0.0.1]/v1"}, SECRET, ErrorClass.ADDRESS_REFUSED, id="mapped"),
        pytest.param({"url": "http://127.0.0.1:{closed}/v1"}, SECRET, ErrorClass.CONNECT, id="unreachable"),
        pytest.param({"model": "parrot"}, "sk-the-wrong-one", ErrorClass.UNAUTHORIZED, id="wrong-key"),
        pytest.param({"model": "nobody"}, SECRET, ErrorClass.NOT_FOUND, id="unknown-model"),
        pytest.param({**PLAIN, "reply_path": "answer.0.text"}, SECRET, ErrorClass.BAD_RESPONSE, id="no-reply-there"),
    ],
)
def test_wrong_entry_is_named_and_costs_nothing(
    chatbot: Chatbot, changes: dict[str, Any], secret: str, error: ErrorClass
) -> None:
    with chatbots_served(api_key=SECRET) as server:
        given = {"url": server.url + changes.pop("path", ""), **changes}
        given["url"] = given["url"].replace("{closed}", str(free_port()))
        endpoint = endpoint_register(chatbot=chatbot, label="1", settings=wanted(timeout_s=5, **given), secret=secret)
        check = endpoint_test(endpoint=endpoint)
        call_all()
    check.refresh_from_db()
    result, health = check_result(check), endpoint_health(endpoint)
    assert (result.state, [turn.error for turn in result.turns]) == ("failed", [error])
    assert result.advice == advice(error)
    endpoint.refresh_from_db()
    assert (endpoint.state, health.error_rate) == ("failing", 1.0)
    assert not Reply.objects.exists()
    assert Call.objects.get().cost == DailyCost.objects.get().cost == result.cost == 0
