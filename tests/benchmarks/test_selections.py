"""The benchmark of selections, at toy size."""

import pytest

from tests.benchmarks import selections


def test_clustered_intervals_cover_where_plain_ones_do_not() -> None:
    found = selections.tally(selections.LEVELS["equal"], 20, 60, seed=3)
    assert found.rates > 0.9
    assert found.differences > 0.9
    assert found.rejected < 0.15 < found.plain_rejected


@pytest.mark.full
@pytest.mark.parametrize("one_best", [False, True], ids=["SATA", "SOBA"])
def test_boards_of_conversations_cover(one_best: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selections, "_MANY_ON_BOARD", 60)
    found = selections.boards_tally((0.3, 0.0, -0.3), 12, 5, one_best=one_best)
    assert found.covered > 0.8
    assert 0.5 < found.se / found.rmse < 2.0


def test_true_rates_are_means_over_conversations() -> None:
    (rate,) = selections.true_rates((0.0,))
    assert rate == pytest.approx(0.5)
    (high,) = selections.true_rates((1.6,))
    assert 0.75 < high < 0.832, "nearer to one half than in a conversation without a shift"


@pytest.mark.parametrize("one_best", [False, True], ids=["SATA", "SOBA"])
def test_intervals_of_abilities_cover(one_best: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selections, "_MANY", 2000)
    assert 0.85 < selections.abilities_covered((0.3, 0.0, -0.3), 20, 60, one_best=one_best) <= 1.0
