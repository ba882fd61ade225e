"""The production form's cache while no Redis answers: people go on judging, and throttles still hold."""

from collections.abc import Iterator

import pytest

from evalsite.core import throttle
from evalsite.core.errors import TooMany
from evalsite.core.memory_cache import Memory
from evalsite.core.redis_cache import RedisOrMemory
from tests.processes import free_port

pytestmark = pytest.mark.database


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisOrMemory]:
    """A cache whose Redis is not there; the throttle counts in it."""
    monkeypatch.setattr(RedisOrMemory, "ask_again_at", 0.0)
    cache = RedisOrMemory(f"redis://127.0.0.1:{free_port()}/0", {"OPTIONS": {"socket_connect_timeout": 1}})
    monkeypatch.setattr(throttle, "cache", cache)
    yield cache
    Memory("without-redis", {}).clear()


def test_a_throttle_admits_its_number_without_redis(away: RedisOrMemory) -> None:
    for _ in range(5):
        throttle.admit(what="answer", who="bob", at_most=5, per_s=3600)
    with pytest.raises(TooMany):
        throttle.admit(what="answer", who="bob", at_most=5, per_s=3600)


def test_what_is_kept_is_found_and_can_be_forgotten(away: RedisOrMemory) -> None:
    away.set("board", "made", 60)
    assert away.get("board") == "made"
    assert away.delete("board")
    assert away.get("board") is None


def test_a_redis_that_did_not_answer_is_left_alone_for_a_while(
    away: RedisOrMemory, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        away.get("board")
    assert sum("Redis does not answer" in line for line in caplog.messages) == 1
