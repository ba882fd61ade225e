"""Tests, daily checks and attempts after failures; health and drift follow from them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evalsite.core.errors import Conflict
from evalsite.endpoints.checking import checks_schedule, endpoint_test, unreadable_secrets_pause
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.drift_alarms import drift_dismiss, drift_follow
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.messages import DAILY_PROMPTS, TEST_TURNS
from evalsite.endpoints.models import CallRequest, Drift, Endpoint, EndpointCheck
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.endpoints.selectors import check_result, drifts_open, endpoint_health
from evalsite.endpoints.services import endpoint_pause, endpoint_resume, secret_set
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import SECRET, claim, failed, make_due, said, work

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def state_of(endpoint: Endpoint) -> str:
    return Endpoint.objects.get(pk=endpoint.pk).state


def check_due(endpoint: Endpoint) -> EndpointCheck:
    """Begin the check that is due next."""
    Endpoint.objects.filter(pk=endpoint.pk).update(next_check_at=timezone.now() - timedelta(seconds=1))
    checks_schedule()
    return EndpointCheck.objects.get(endpoint=endpoint, state=EndpointCheck.State.RUNNING)


def daily(endpoint: Endpoint, *texts: str, **more: str) -> None:
    """Let a daily check get these replies."""
    check_due(endpoint)
    work(endpoint, *[said(text, **more) for text in texts])


SAME = ("Paris.", "32, 64, 128.", "Light scatters.")


def test_test_sends_three_turns_with_the_whole_history(endpoint: Endpoint) -> None:
    check = endpoint_test(endpoint=endpoint)
    for number in range(3):
        (plan,) = claim(endpoint)
        assert [message.role for message in plan.messages] == ["user", "assistant"] * number + ["user"]
        calls_record([CallResult(plan, said(f"Answer {number}."))])
    check.refresh_from_db()
    result = check_result(check)
    assert result.state == "passed"
    assert [(turn.prompt, turn.reply) for turn in result.turns] == [
        (text, f"Answer {number}.") for number, text in enumerate(TEST_TURNS)
    ]
    assert result.turns[2].latency_ms == pytest.approx(250)
    assert result.turns[0].first_byte_ms == pytest.approx(150)
    assert str(result.cost.normalize()) == "0.00063"
    assert state_of(endpoint) == Endpoint.State.HEALTHY


def test_shown_request_holds_no_secret(endpoint: Endpoint) -> None:
    check = endpoint_test(endpoint=endpoint)
    work(endpoint, said())
    shown = check_result(check).turns[0].request
    assert TEST_TURNS[0] in shown.body
    assert "Authorization" in shown.headers
    assert SECRET not in repr(shown)


def test_failed_test_says_what_to_change_and_is_not_repeated(endpoint: Endpoint) -> None:
    check = endpoint_test(endpoint=endpoint)
    work(endpoint, failed(ErrorClass.UNAUTHORIZED, status=401))
    check.refresh_from_db()
    result = check_result(check)
    assert (result.state, result.turns[0].status, result.turns[0].error) == ("failed", 401, "unauthorized")
    assert result.advice.startswith("Enter the secret again")
    assert state_of(endpoint) == Endpoint.State.FAILING
    assert claim(endpoint) == []


def test_second_test_waits_for_the_first(endpoint: Endpoint) -> None:
    assert endpoint_test(endpoint=endpoint) == endpoint_test(endpoint=endpoint)


def test_paused_endpoint_can_be_tested_and_stays_paused(endpoint: Endpoint) -> None:
    endpoint_pause(endpoint=endpoint)
    check = endpoint_test(endpoint=endpoint)
    for _ in range(3):
        work(endpoint, said())
    check.refresh_from_db()
    assert check.state == EndpointCheck.State.PASSED
    assert state_of(endpoint) == Endpoint.State.PAUSED


def test_failing_endpoint_gets_new_work_after_a_check_passed(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, failed(ErrorClass.NOT_FOUND, status=404))
    assert state_of(endpoint) == Endpoint.State.FAILING
    make_due()
    assert claim(endpoint) == []
    check_due(endpoint)
    assert work(endpoint, failed(ErrorClass.NOT_FOUND, status=404)) == 1
    assert Endpoint.objects.get().failed_checks == 1
    assert Endpoint.objects.get().next_check_at - timezone.now() > timedelta(seconds=50), "the delay grows"
    check_due(endpoint)
    work(endpoint, said())
    assert state_of(endpoint) == Endpoint.State.HEALTHY
    assert len(claim(endpoint)) == 4
    assert not CallRequest.objects.filter(collection__isnull=False, state=CallRequest.State.FAILED).exists()


def test_eight_failures_in_a_row_make_it_failing(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    Endpoint.objects.update(state=Endpoint.State.HEALTHY)
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, *[failed(ErrorClass.TIMEOUT)] * 4)
    assert state_of(endpoint) == Endpoint.State.HEALTHY
    work(endpoint, *[failed(ErrorClass.TIMEOUT)] * 4)
    assert state_of(endpoint) == Endpoint.State.FAILING
    assert endpoint_health(Endpoint.objects.get()).reason == "8 of the last 8 calls failed: timeout"


def test_endpoint_that_sometimes_fails_is_degraded_and_recovers(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, said(), failed(ErrorClass.SERVER_ERROR), said(), said())
    assert state_of(endpoint) == Endpoint.State.HEALTHY, "one failure says little"
    work(endpoint, said(), said(), said(), said())
    work(endpoint, said(), failed(ErrorClass.SERVER_ERROR))
    assert state_of(endpoint) == Endpoint.State.DEGRADED
    health = endpoint_health(Endpoint.objects.get())
    assert (health.calls, health.error_rate, health.errors) == (10, 0.2, {"server_error": 2})
    assert health.p50_ms == health.p95_ms == pytest.approx(250)


def test_rate_limits_do_not_make_it_failing(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    for _ in range(10):
        work(endpoint, failed(ErrorClass.RATE_LIMITED, status=429))
        make_due()
    assert state_of(endpoint) != Endpoint.State.FAILING


def test_each_endpoint_is_checked_once_a_day(endpoint: Endpoint) -> None:
    checks_schedule()
    assert not EndpointCheck.objects.exists(), "a new one is called a day later"
    check = check_due(endpoint)
    assert (check.kind, check.requests.count()) == (EndpointCheck.Kind.DAILY, len(DAILY_PROMPTS))
    checks_schedule()
    assert EndpointCheck.objects.count() == 1


def test_another_model_name_raises_an_alarm_once(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, said(fingerprint="fp-1"), said(fingerprint="fp-1"))
    assert drifts_open(endpoint) == []
    work(endpoint, said(model="tiny-2", fingerprint="fp-1"), said(model="tiny-2", fingerprint="fp-1"))
    (drift,) = drifts_open(endpoint)
    assert (drift.sign, drift.before, drift.value) == (Drift.Sign.MODEL, "tiny-1", "tiny-2")
    drift_dismiss(drift=drift)
    work(endpoint, said(), said(model="tiny-2"))
    assert drifts_open(endpoint) == []
    with pytest.raises(Conflict, match="settled already"):
        drift_dismiss(drift=drift)


def test_other_replies_to_the_fixed_prompts_raise_an_alarm(endpoint: Endpoint) -> None:
    daily(endpoint, *SAME)
    daily(endpoint, *SAME)
    daily(endpoint, "Paris, I think.", *SAME[1:])
    assert drifts_open(endpoint) == [], "one reply may vary"
    daily(endpoint, *SAME)
    daily(endpoint, *SAME)
    daily(endpoint, "Lyon.", "Three.", "Magic.")
    assert [drift.sign for drift in drifts_open(endpoint)] == [Drift.Sign.REPLIES]


def test_alarm_is_settled_by_a_new_version(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, said(), said(model="tiny-2"))
    (drift,) = drifts_open(endpoint)
    follower = drift_follow(drift=drift)
    assert follower.version.label == f"1 ({timezone.now():%Y-%m-%d})"
    drift.refresh_from_db()
    assert (drift.outcome, drift.new_version) == (Drift.Outcome.VERSION, follower.version)


def test_secret_of_another_key_pauses_the_endpoint(endpoint: Endpoint, settings: object) -> None:
    collection_key = "another-key-of-these-tests-0123456789abc"
    settings.ENDPOINT_KEYS = [collection_key]  # type: ignore[attr-defined]
    unreadable_secrets_pause()
    endpoint.refresh_from_db()
    assert endpoint.state == Endpoint.State.PAUSED
    assert "Enter the secret again" in endpoint.state_text
    for act in (endpoint_resume, endpoint_test):
        with pytest.raises(Conflict) as refused:
            act(endpoint=endpoint)
        assert refused.value.hint == "Enter the secret again."
    secret_set(endpoint=endpoint, secret="a-new-secret-0123")
    assert state_of(endpoint) == Endpoint.State.UNTESTED


def test_claim_notices_a_secret_that_cannot_be_read(endpoint: Endpoint, settings: object) -> None:
    endpoint_test(endpoint=endpoint)
    settings.ENDPOINT_KEYS = ["another-key-of-these-tests-0123456789abc"]  # type: ignore[attr-defined]
    assert claim(endpoint) == []
    assert state_of(endpoint) == Endpoint.State.PAUSED
    assert check_result(EndpointCheck.objects.get()).state == "failed"
