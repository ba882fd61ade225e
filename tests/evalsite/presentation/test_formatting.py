"""What the board says and draws: no more than the intervals support, and never an ability without its interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.boards.rows import BoardRow
from evalsite.presentation.board_head import headline
from evalsite.presentation.chart_geometry import axis_for, bell, frame_for, whisker
from evalsite.presentation.formatting import chance, signed

values = st.floats(-20, 20)


def row(name: str, rank: int, lower: int, upper: int, group: int = 1) -> BoardRow:
    return BoardRow(
        chatbot="id",
        name=name,
        organisation="org",
        kind="static",
        rank=rank,
        rank_lower=lower,
        rank_upper=upper,
        ability=0.0,
        se=0.1,
        lower=-0.2,
        upper=0.2,
        judgments=50,
        group=group,
        preliminary=False,
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "Nothing is ranked yet."),
        ([row("Ant", 1, 1, 1), row("Bee", 2, 2, 2)], "Ant leads."),
        (
            [row("Ant", 1, 1, 1), row("Bee", 2, 2, 3), row("Cow", 3, 2, 3)],
            "Ant leads; the next two cannot be told apart yet.",
        ),
        ([row("Ant", 1, 1, 2), row("Bee", 2, 1, 2)], "Ant and Bee cannot be told apart at the top yet."),
        (
            [row("Ant", 1, 1, 3), row("Bee", 2, 1, 3), row("Cow", 3, 1, 3)],
            "Ant, Bee and Cow cannot be told apart at the top yet.",
        ),
        ([row(name, 1, 1, 5) for name in "VWXYZ"], "V and four others cannot be told apart at the top yet."),
        ([row("Ant", 1, 1, 1), row("Fox", 1, 1, 1, group=2)], "Ant leads."),
    ],
)
def test_the_headline_claims_what_the_intervals_support(rows: list[BoardRow], words: str) -> None:
    assert headline(rows) == words
    assert headline(rows, more_to_come=False) == words.replace(" yet.", ".").replace("is ranked.", "is ranked yet.")


@pytest.mark.parametrize(
    ("value", "text"), [(0.523, "+0.52"), (-0.523, "−0.52"), (0.001, "0.00"), (-0.001, "0.00"), (12.0, "+12.00")]
)
def test_abilities_are_written_with_a_true_sign(value: float, text: str) -> None:
    assert signed(value) == text


@given(st.lists(st.tuples(values, st.floats(0, 5), st.floats(0, 5)), max_size=20))
def test_every_interval_and_zero_lie_on_the_axis_in_their_order(rows: list[tuple[float, float, float]]) -> None:
    intervals = [(middle - below, middle, middle + above) for middle, below, above in rows]
    axis = axis_for([low for low, _, _ in intervals], [high for _, _, high in intervals])
    assert 0 <= axis.zero <= 100
    for low, middle, high in intervals:
        drawn = whisker(axis, low, middle, high)
        assert 0 <= drawn.left <= drawn.mid <= drawn.right <= 100
        assert drawn.width >= 0


@given(values, st.floats(0.01, 40))
def test_the_axis_has_a_few_round_ticks(low: float, width: float) -> None:
    ticks = axis_for([low], [low + width]).ticks
    assert 2 <= len(ticks) <= 8
    assert [tick.x for tick in ticks] == sorted(tick.x for tick in ticks)
    assert len({tick.label for tick in ticks}) == len(ticks)


@given(st.lists(st.tuples(st.integers(0, 10_000), values, st.floats(0, 5)), min_size=1, max_size=20))
def test_a_frame_holds_all_its_points_and_up_is_up(points: list[tuple[int, float, float]]) -> None:
    lows, highs = [y for _, y, _ in points], [y + height for _, y, height in points]
    frame = frame_for([x for x, _, _ in points], lows, highs, top=10, bottom=110)
    for x, low, high in zip([x for x, _, _ in points], lows, highs, strict=True):
        assert 0 <= frame.across.x(x) <= 100
        assert 10 <= frame.y(high) <= frame.y(low) <= 110
    assert frame.line([(0, 0.0)]).startswith("M0.0,")
    assert all(10 <= level.y <= 110 for level in frame.levels)


@given(values, st.floats(0.01, 5))
def test_a_bell_is_highest_at_its_mean_and_symmetric(mean: float, se: float) -> None:
    points = bell(mean, se)
    heights = [y for _, y in points]
    assert max(heights) == 1.0
    assert points[heights.index(1.0)][0] == pytest.approx(mean)
    assert heights == pytest.approx(heights[::-1])


@pytest.mark.parametrize(
    ("probability", "text"), [(0.999, "over 99 %"), (0.99, "99 %"), (0.5, "50 %"), (0.001, "under 1 %")]
)
def test_a_probability_never_claims_certainty(probability: float, text: str) -> None:
    assert chance(probability) == text
