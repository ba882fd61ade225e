"""Rankings on the scale of Elo ratings."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite.core.errors import InvalidInput
from evalsite.exchange.elo import Anchor, in_elo
from evalsite.exchange.file_ranking import Ranking, rank_votes
from evalsite.exchange.vote_file import read_votes

Write = Callable[..., Path]

HEAD = "system_a,system_b,prompt_id,outcome\n"


@pytest.fixture
def ranking(write: Write) -> Ranking:
    """good > bad in one group, and x, y alone in another."""
    votes = [f"bad,good,p{n % 5},{1 if n % 4 else -1}\n" for n in range(40)]
    votes += [f"x,y,p{n % 5},{1 if n % 3 else -1}\n" for n in range(30)]
    return rank_votes(read_votes(write(HEAD + "".join(votes))))


def test_400_points_are_odds_of_10_to_1(ranking: Ranking) -> None:
    rated = {row.name: row for row in in_elo(ranking).chatbots}
    for row in ranking.chatbots:
        assert row.ability is not None
        assert rated[row.name].ability == pytest.approx(1000 + 400 * row.ability / math.log(10))
        assert rated[row.name].se == pytest.approx(400 * (row.se or 0) / math.log(10))
    assert sum(rated[name].ability or 0 for name in ("good", "bad")) == pytest.approx(2000)


def test_anchor_has_its_rating_and_moves_its_group_alone(ranking: Ranking) -> None:
    plain = {row.name: row for row in in_elo(ranking).chatbots}
    rated = {row.name: row for row in in_elo(ranking, Anchor("bad", 1200.0)).chatbots}
    assert rated["bad"].ability == pytest.approx(1200.0)
    gap = (plain["good"].ability or 0) - (plain["bad"].ability or 0)
    assert (rated["good"].ability or 0) - 1200.0 == pytest.approx(gap)
    assert (rated["good"].upper or 0) - (rated["good"].lower or 0) == pytest.approx(
        (plain["good"].upper or 0) - (plain["good"].lower or 0)
    )
    assert rated["x"] == plain["x"]


def test_differences_of_pairs_are_points(ranking: Ranking) -> None:
    points = [pair.delta for pair in in_elo(ranking).pairs]
    assert points == pytest.approx([(pair.delta or 0) * 400 / math.log(10) for pair in ranking.pairs])


def test_unknown_anchor_is_refused_with_the_names(ranking: Ranking) -> None:
    with pytest.raises(InvalidInput, match="'best' is not in the ranking") as caught:
        in_elo(ranking, Anchor("best", 1000.0))
    assert "'good'" in caught.value.hint
