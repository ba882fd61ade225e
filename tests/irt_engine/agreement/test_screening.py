"""Agreement: published reference numbers, known truths, and laws."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import InvalidResponses, ResponseTable
from irt_engine.agreement.annotator_statistics import annotator_statistics
from irt_engine.agreement.coefficients import category_counts, fleiss_kappa, krippendorff_alpha, vote_agreement
from irt_engine.agreement.screening import Screening, screen, without
from tests.irt_engine.cast import rebuilt, rows, small_board

# Fleiss (1971), table 1: 30 patients, 6 psychiatrists, 5 diagnoses; the columns of counts, as in R's irr::diagnoses.
DIAGNOSES = [
    "444444", "222555", "233335", "555555", "222444", "113333", "333355", "113334", "114444", "555555", "144444",
    "124444", "222333", "144444", "224445", "333335", "111455", "111112", "224444", "133555", "555555", "244444",
    "224555", "114444", "144445", "222224", "111155", "224444", "133333", "555555",
]  # fmt: skip
# Fleiss' kappa in Wikipedia: 14 raters, 10 subjects, 5 categories; kappa .210 (also in statsmodels' tests).
FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C: 4 observers, 12 units, * missing.
FOUR_OBSERVERS = ["123321412***", "1233224125*3", "*3332342251*", "1233244125 1*".replace(" ", "")]
# The computational example of Wikipedia's article on alpha: 3 coders, 15 units.
THREE_CODERS = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]


def counted(coders: list[str], categories: int) -> np.ndarray:
    """(units, categories) from one text per coder."""
    units = itertools.zip_longest(*coders)
    return np.array([[sum(r == str(k) for r in unit) for k in range(1, categories + 1)] for unit in units])


def diagnoses() -> np.ndarray:
    return np.array([[row.count(str(k)) for k in range(1, 6)] for row in DIAGNOSES])


def crowd(kinds: str, *, cells: int = 300, each: int = 100, seed: int = 1, ties: float = 0.2) -> ResponseTable:
    """One annotator per letter, on `each` random cells of 3 chatbots: c careful (right in 3 of 4 decisive votes),
    r random, x adversarial (wrong in 3 of 4), l always the first shown, t always a tie. A cell has one truth."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    truth = rng.choice([-1, 1], size=cells)
    columns: dict[str, list[int]] = {n: [] for n in ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")}
    right = {"c": 0.75, "r": 0.5, "x": 0.25, "l": 0.5, "t": 0.5}
    for who, kind in enumerate(kinds):
        for cell in rng.choice(cells, size=each, replace=False).tolist():
            first = int(rng.integers(2))
            vote = int(truth[cell]) if rng.random() < right[kind] else -int(truth[cell])
            vote = 0 if kind == "t" or (kind != "l" and rng.random() < ties) else vote
            vote = (-1 if first else 1) if kind == "l" else vote
            a, b = pairs[cell % 3]
            for name, value in zip(columns, (a, b, cell // 3, vote, who, first, 0), strict=True):
                columns[name].append(int(value))
    arrays = {name: np.array(column) for name, column in columns.items()}
    names = tuple("xyz"), tuple(f"p{j:03d}" for j in range(cells // 3 + 1))
    a, b, prompt, outcome, annotator, a_first, label = arrays.values()
    return ResponseTable(*names, (), a, b, prompt, outcome, annotator, a_first, label)


def decisions(screening: Screening) -> list[str]:
    return [v.decision for v in screening.verdicts]


# ---- coefficients


def test_fleiss_kappa_of_fleiss_diagnoses() -> None:
    """.430: Fleiss (1971); R's irr documents the same data and kappa (kappam.fleiss(diagnoses))."""
    assert round(fleiss_kappa(diagnoses()).value or 0, 3) == 0.430


def test_fleiss_kappa_of_fourteen_raters() -> None:
    assert round(fleiss_kappa(FOURTEEN).value or 0, 3) == 0.210


def test_fleiss_kappa_is_statsmodels_where_that_is_defined() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as reference

    rng = np.random.default_rng(1)
    for raters, categories in itertools.product((2, 3, 9), (2, 3, 5)):
        counts = rng.multinomial(raters, rng.dirichlet(np.ones(categories)), size=40)
        assert np.isclose(fleiss_kappa(counts).value or 0, reference(counts))


@pytest.mark.parametrize(
    ("coders", "categories", "level", "published"),
    [
        (FOUR_OBSERVERS, 5, "nominal", 0.743),
        (FOUR_OBSERVERS, 5, "ordinal", 0.815),
        (FOUR_OBSERVERS, 5, "interval", 0.849),
        (THREE_CODERS, 4, "nominal", 0.691),
        (THREE_CODERS, 4, "interval", 0.811),
    ],
)
def test_krippendorff_alpha_of_published_examples(
    coders: list[str], categories: int, level: str, published: float
) -> None:
    """Krippendorff (2011), example C, and the encyclopedia's; both are in the tests of the package krippendorff."""
    assert round(krippendorff_alpha(counted(coders, categories), level).value or 0, 3) == published  # type: ignore[arg-type]


def test_kappa_and_nominal_alpha_meet_on_many_ratings() -> None:
    """They differ only by a correction of the order of one over the number of ratings, unequal numbers included."""
    rng = np.random.default_rng(2)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(2, 7, 4000), rng.dirichlet([1, 1, 1], 4000), strict=True)])  # fmt: skip  # noqa: E501
    for mirrored in (False, True):
        kappa, alpha = fleiss_kappa(counts, mirrored=mirrored), krippendorff_alpha(counts, mirrored=mirrored)
        assert np.isclose(kappa.value or 0, alpha.value or 0, atol=2e-4)
        assert np.isclose(kappa.se or 0, alpha.se or 0, rtol=0.01)


def test_mirrored_is_the_value_of_the_items_together_with_their_mirror_images() -> None:
    counts = np.random.default_rng(3).multinomial(4, [0.6, 0.3, 0.1], size=50)
    both = np.vstack([counts, counts[:, ::-1]])
    assert np.isclose(fleiss_kappa(counts, mirrored=True).value or 0, fleiss_kappa(both).value or 0)


def test_the_standard_errors_are_those_of_repeated_samples() -> None:
    rng = np.random.default_rng(4)
    kappas, alphas = [], []
    for _ in range(300):
        counts = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(2, 5, 80), rng.dirichlet([1, 1, 1], 80), strict=True)])  # fmt: skip  # noqa: E501
        kappas.append(fleiss_kappa(counts))
        alphas.append(krippendorff_alpha(counts, "ordinal"))
    for found in (kappas, alphas):
        values, errors = [a.value or 0 for a in found], [a.se or 0 for a in found]
        assert 0.85 < np.mean(errors) / np.std(values) < 1.15


@pytest.mark.parametrize("counts", [[[1, 0, 0], [0, 1, 0]], np.zeros((0, 3)), [[3, 0, 0], [2, 0, 0]], [[0, 0, 0]]])
def test_without_disagreement_to_measure_a_coefficient_is_none(counts: list[list[int]]) -> None:
    assert fleiss_kappa(counts).value is None
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(counts, level).value is None


@pytest.mark.parametrize("counts", [[[0.5, 1.5]], [[-1, 3]], [[float("nan"), 2]], [1, 2, 3]])
def test_what_are_no_counts_is_refused(counts: list[list[float]]) -> None:
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(InvalidResponses) as caught:
            coefficient(counts)
        assert caught.value.code == "bad_counts"
    for level in ("ratio", np.array([1, 2])):
        with pytest.raises(InvalidResponses, match="level"):
            krippendorff_alpha([[1, 1]], level)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ([["a", "b"]], "not_a_number"),
        ([["1", "2"]], "not_a_number"),
        ("text", "not_a_number"),
        ({}, "not_a_number"),
        ([[1j, 2]], "not_a_number"),
        ([[10**400, 1]], "not_a_number"),
        ([[1, 2], [3]], "shape"),
        (None, "bad_counts"),
    ],
)
def test_what_are_no_numbers_is_refused(counts: Any, code: str) -> None:
    for coefficient in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(InvalidResponses) as caught:
            coefficient(counts)
        assert caught.value.code == code
        assert caught.value.hint


def test_an_annotator_counts_once_per_cell() -> None:
    table = ResponseTable.from_votes(
        ["x", "y", "x", "x"], ["y", "x", "y", "y"], ["p"] * 4, [1, -1, 1, -1], annotator_id=["w", "w", "w", "v"]
    )
    assert category_counts(table).tolist() == [[1, 0, 1]]
    torn = ResponseTable.from_votes(["x", "x"], ["y", "y"], ["p", "p"], [1, -1], annotator_id=["w", "w"])
    assert category_counts(torn).tolist() == [[0, 1, 0]]
    assert category_counts(torn, ties=False).tolist() == [[0, 0]]


def test_unknown_annotators_are_different_people() -> None:
    table = ResponseTable.from_votes(["x"] * 3, ["y"] * 3, ["p"] * 3, [1, 1, 0])
    assert category_counts(table).tolist() == [[0, 1, 2]]
    assert annotator_statistics(table) == ()
    assert screen(table).verdicts == ()
    assert screen(table).excluded_share == 0.0


# ---- annotators


def test_the_correlation_is_that_with_the_others_mean_over_both_orientations() -> None:
    table = crowd("cccccc", cells=60, each=40)
    found = annotator_statistics(table)[2]
    mine, others = [], []
    for row in np.flatnonzero(table.annotator == 2):
        same = (table.a == table.a[row]) & (table.b == table.b[row]) & (table.prompt == table.prompt[row])
        rest = table.outcome[same & (table.annotator != 2)]
        if len(rest):
            mine.append(table.outcome[row])
            others.append(rest.mean())
    x, y = np.array(mine), np.array(others)
    assert found.cells == len(x)
    expected = np.corrcoef(np.concatenate([x, -x]), np.concatenate([y, -y]))[0, 1]
    assert np.isclose(found.correlation or 0, expected)


def test_the_test_counts_signs_exactly_where_votes_are_few() -> None:
    """Four of four: 1/16. Three of four: 5/16. With ties the products that say nothing do not count."""
    for votes, p in (([1, 1, 1, 1], 1 / 16), ([1, 1, 1, -1], 5 / 16), ([1, 1, 0, 0], 1 / 4), ([0, 0, 0, 0], 1.0)):
        prompts = [f"p{i}" for i in range(4)] * 2
        table = ResponseTable.from_votes(["x"] * 8, ["y"] * 8, prompts, votes + [1] * 4, annotator_id=["w"] * 4 + ["v"] * 4)  # fmt: skip  # noqa: E501
        assert annotator_statistics(table)[1].p_value == p


def test_habits_are_described() -> None:
    table = ResponseTable.from_votes(
        ["x"] * 5, ["y"] * 5, list("pqrst"), [-1, 1, -1, 0, 1], annotator_id=["w"] * 5, a_first=[1, 0, 0, 1, None]
    )
    (w,) = annotator_statistics(table, seconds=[1.0, 9.0, None, 2.0, 3.0])
    assert (w.votes, w.cells, w.correlation, w.p_value, w.expected) == (5, 0, None, None, None)
    assert (w.first_share, w.tie_share, w.median_seconds) == (2 / 3, 0.2, 2.5)
    assert annotator_statistics(table)[0].median_seconds is None
    assert annotator_statistics(table, seconds=[None] * 5)[0].median_seconds is None


@pytest.mark.parametrize("seconds", [[1.0], [1.0, -1.0], [1.0, float("nan")], [float("inf"), 1.0], [[1.0], [2.0]]])
def test_times_that_are_none_are_refused(seconds: list[Any]) -> None:
    table = ResponseTable.from_votes(["x", "x"], ["y", "y"], ["p", "q"], [1, 0], annotator_id=["w", "w"])
    with pytest.raises(InvalidResponses) as caught:
        screen(table, seconds=seconds)
    assert caught.value.code == "bad_seconds"


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (["a", "b"], "not_a_number"),
        (["1", None], "not_a_number"),
        ([10**400, 1.0], "not_a_number"),
        ([[1.0, 2.0], [3.0]], "shape"),
        ([[1.0, 2.0], [3.0, 4.0]], "bad_seconds"),
        (3.0, "bad_seconds"),
    ],
)
def test_times_that_are_no_numbers_are_refused(seconds: Any, code: str) -> None:
    table = ResponseTable.from_votes(["x", "x"], ["y", "y"], ["p", "q"], [1, 0], annotator_id=["w", "w"])
    for ask in (annotator_statistics, screen):
        with pytest.raises(InvalidResponses) as caught:
            ask(table, seconds=seconds)
        assert caught.value.code == code


def test_careless_and_adversarial_annotators_are_excluded_and_careful_ones_kept() -> None:
    screening = screen(crowd("c" * 40 + "rrrxlt", each=200))
    assert decisions(screening) == ["keep"] * 40 + ["exclude"] * 6
    assert screening.excluded == (40, 41, 42, 43, 44, 45)
    assert screening.excluded_share == 6 / 46


def test_careful_annotators_with_few_votes_wait() -> None:
    """Ten votes each: the paper's rule alone would exclude most of them."""
    verdicts = screen(crowd("c" * 60, cells=120, each=10)).verdicts
    assert sum((v.statistics.p_value or 1.0) > 0.05 for v in verdicts) > 20
    assert [v.annotator for v in verdicts if v.decision == "exclude"] == []
    assert "correlation_not_positive" not in {v.reason_code for v in verdicts}


def test_of_many_careful_annotators_hardly_any_is_excluded() -> None:
    """150 careful annotators, 15 to 60 votes, ten crowds: with nobody careless any exclusion is false."""
    lost = [len(screen(crowd("c" * 15, cells=90, each=each, seed=each)).excluded) for each in range(15, 65, 5)]
    assert sum(lost) <= 2


def test_random_votes_pass_the_test_as_often_as_it_says() -> None:
    """Type I error of the one-sided test at 5 %, random annotators among careful ones, few votes and many."""
    for each in (8, 40):
        p = [
            v.p_value or 1.0
            for seed in range(15)
            for v in annotator_statistics(crowd("c" * 6 + "r" * 20, cells=90, each=each, seed=seed))[6:]
        ]
        assert np.mean(np.array(p) <= 0.05) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(p))


def test_one_who_always_clicks_the_first_has_no_more_than_chance() -> None:
    verdict = screen(crowd("cccccccclc", each=150)).verdicts[8]
    assert verdict.statistics.first_share == 1.0
    assert verdict.decision == "exclude"


def test_where_nobody_agrees_nobody_is_judged() -> None:
    assert set(decisions(screen(crowd("r" * 12, each=200)))) == {"not enough yet"}


def test_an_annotator_on_hard_comparisons_is_not_blamed() -> None:
    """On pair (x, y) nobody agrees. Who judged only that pair correlates with nobody, and is not excluded for it."""
    table = crowd("c" * 30, cells=300, each=200)
    hard = (table.a == 0) & (table.b == 1)
    noise = np.random.default_rng(5).integers(-1, 2, len(table))
    keep = (table.annotator > 3) | hard
    columns = rows(table) | {"outcome": np.where(hard, noise, table.outcome)}
    screening = screen(rebuilt(table, {name: column[keep] for name, column in columns.items()}))
    for verdict in screening.verdicts[:4]:
        assert verdict.statistics.cells > 50
        assert (verdict.statistics.expected or 0) < 0.1 < (screening.verdicts[9].statistics.expected or 0)
    assert screening.excluded == ()
    assert decisions(screening)[4:].count("keep") >= 24


def test_shrinking_moves_few_votes_far_and_many_little() -> None:
    moved = []
    for each in (10, 80, 2000):
        found = annotator_statistics(crowd("c" * 12, cells=3000 if each == 2000 else 300, each=each))
        gap = [abs((s.correlation or 0) - s.shrunken) for s in found]
        assert np.std([s.shrunken for s in found]) < np.std([s.correlation or 0 for s in found])
        moved.append(np.mean(gap))
    assert moved[0] > 2 * moved[1] > 4 * moved[2]


def test_power_grows_with_votes_and_is_a_chance() -> None:
    powers = [np.mean([v.power for v in screen(crowd("c" * 12, each=each)).verdicts]) for each in (5, 20, 80, 250)]
    assert powers == sorted(powers)
    assert 0.0 <= powers[0] < 0.5
    assert 0.95 < powers[-1] <= 1.0


def test_one_annotator_alone_cannot_be_judged() -> None:
    table = crowd("c")
    (verdict,) = screen(table).verdicts
    assert (verdict.decision, verdict.power, verdict.statistics.correlation) == ("not enough yet", 0.0, None)
    agreement = vote_agreement(table)
    assert (agreement.kappa.value, agreement.alpha_ordinal.value) == (None, None)


def test_the_votes_of_the_excluded_can_be_left_out() -> None:
    table = crowd("ccccccccr", each=150)
    rest = without(table, screen(table).excluded)
    assert set(rest.annotator.tolist()) == set(range(8))
    assert (vote_agreement(rest).kappa.value or 0) > (vote_agreement(table).kappa.value or 0)
    with pytest.raises(InvalidResponses) as caught:
        without(table, range(9))
    assert caught.value.code == "no_votes"


@pytest.mark.parametrize(
    ("annotators", "code"),
    [
        (["w"], "not_a_number"),
        ([[0], [1, 2]], "shape"),
        ([0.5], "not_whole"),
        ([None], "not_whole"),
        ({0}, "not_a_number"),
    ],
)
def test_annotators_who_are_not_named_by_their_numbers_are_refused(annotators: Any, code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        without(small_board(), annotators)
    assert caught.value.code == code


@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan"), "a", None, [0.1], np.array([0.1, 0.2])])
def test_a_level_that_is_no_probability_is_refused(alpha: Any) -> None:
    with pytest.raises(InvalidResponses) as caught:
        screen(small_board(), alpha=alpha)
    assert caught.value.code == "bad_alpha"


@pytest.mark.parametrize("bad", ["a", None, [1, 2], float("nan"), float("inf")])
def test_bounds_of_the_screening_that_are_no_numbers_are_refused(bad: Any) -> None:
    for bound, code in (("least", "bad_least"), ("min_cells", "bad_count")):
        with pytest.raises(InvalidResponses) as caught:
            screen(small_board(), **{bound: bad})
        assert caught.value.code == code


def close(one: Screening, other: Screening) -> bool:
    """Equal verdicts, and numbers equal but for rounding."""
    if decisions(one) != decisions(other):
        return False
    return all(
        np.allclose(
            [p.statistics.shrunken, p.statistics.p_value or 2, p.power, p.statistics.correlation or 2],
            [q.statistics.shrunken, q.statistics.p_value or 2, q.power, q.statistics.correlation or 2],
            atol=1e-7,
        )
        for p, q in zip(one.verdicts, other.verdicts, strict=True)
    )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_orientation_and_names_do_not_matter(seed: int) -> None:
    table = crowd("cccccrxl", cells=90, each=60)
    rng = np.random.default_rng(seed)
    order, turn, new = rng.permutation(len(table)), rng.random(len(table)) < 0.5, rng.permutation(3)
    columns = {name: column[order] for name, column in rows(table).items()}
    a, b, first = new[columns["a"]], new[columns["b"]], columns["a_first"]
    columns |= {"a": np.where(turn, b, a), "b": np.where(turn, a, b), "a_first": np.where(turn, 1 - first, first)}
    columns["outcome"] = np.where(turn, -columns["outcome"], columns["outcome"])
    changed = rebuilt(table, columns)
    assert close(screen(table), screen(changed))
    one, other = vote_agreement(table), vote_agreement(changed)
    for name in ("kappa", "kappa_decisive", "alpha_nominal", "alpha_ordinal"):
        assert np.isclose(getattr(one, name).value, getattr(other, name).value)
        assert np.isclose(getattr(one, name).se, getattr(other, name).se)


@settings(max_examples=15, deadline=None)
@given(new=st.permutations(range(8)))
def test_permuting_annotators_permutes_their_verdicts(new: list[int]) -> None:
    table = crowd("cccccrxl", cells=90, each=60)
    other = screen(rebuilt(table, rows(table) | {"annotator": np.array(new)[table.annotator]}))
    before = decisions(screen(table))
    assert [other.verdicts[new[i]].decision for i in range(8)] == before


@given(data=st.data(), n=st.integers(1, 25))
def test_nothing_that_a_table_can_hold_gives_nan(data: st.DataObject, n: int) -> None:
    def column(low: int, high: int) -> np.ndarray:
        return np.array(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    a = column(0, 2)
    table = ResponseTable(
        tuple("xyz"), tuple("pq"), (), a, (a + column(1, 2)) % 3, column(0, 1), column(-1, 1), column(-1, 3),
        column(-1, 1), np.zeros(n, np.int64),
    )  # fmt: skip
    screening, agreement = screen(table), vote_agreement(table)
    numbers = [screening.spread, screening.careful, screening.excluded_share]
    for v in screening.verdicts:
        s = v.statistics
        numbers += [
            v.power,
            s.shrunken,
            s.tie_share,
            s.correlation or 0,
            s.p_value or 0,
            s.expected or 0,
            s.first_share or 0,
        ]
    for c in (agreement.kappa, agreement.kappa_decisive, agreement.alpha_nominal, agreement.alpha_ordinal):
        numbers += [c.value or 0, c.se or 0]
    assert np.isfinite(numbers).all()


@pytest.mark.skipif(
    not os.environ.get("EVAL_DATA_DIR"), reason="EVAL_DATA_DIR names no folder with the published votes"
)
def test_on_the_published_crowd_votes_screening_raises_agreement() -> None:
    with gzip.open(Path(os.environ["EVAL_DATA_DIR"]) / "chateval_ncm_human.csv.gz", "rt", newline="") as file:
        lines = list(csv.DictReader(file))
    columns = [
        [line[name] for line in lines] for name in ("system_a", "system_b", "prompt_id", "annotator_id", "category")
    ]
    a, b, prompt, annotator, run = columns
    outcome = [int(line["outcome"]) for line in lines]
    table = ResponseTable.from_votes(a, b, prompt, outcome, annotator_id=annotator, label=run)
    before, screening = vote_agreement(table).kappa.value or 0, screen(table)
    after = vote_agreement(without(table, screening.excluded)).kappa.value or 0
    assert 0.2 < before < 0.25 < 0.3 < after
    assert len(screening.excluded) < 0.1 * len(screening.verdicts)
