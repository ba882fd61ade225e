"""Win rates, ties and tests, against the published numbers."""

import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.selections import Selections, analyse
from irt_engine.significance import binomial, chi_square
from tests.published_selections import CHATBOTS, OMNIBUS, ONE_BEST, PAIRS, SINGLE, TABLES, cut


@pytest.mark.parametrize("setting", TABLES)
def test_table_5_is_reproduced(setting: str) -> None:
    found = analyse(Selections.from_counts(CHATBOTS, TABLES[setting]))
    assert (cut(found.omnibus.statistic, 2), cut(found.omnibus.p, 3)) == OMNIBUS[setting]
    assert (found.omnibus.method, found.omnibus.df) == ("Cochran's Q", 3)
    printed = {(pair.a, pair.b): (cut(pair.test.statistic, 2), cut(pair.test.p, 3)) for pair in found.pairs}
    assert printed == PAIRS[setting]


def test_holm_is_over_all_pairs_of_a_setting() -> None:
    found = analyse(Selections.from_counts(CHATBOTS, TABLES["SATA-User"]))
    pair = next(pair for pair in found.pairs if (pair.a, pair.b) == ("BST", "M"))
    assert pair.test.p < 0.05 < pair.p_holm
    least = min(found.pairs, key=lambda pair: pair.test.p)
    assert least.p_holm == pytest.approx(6 * least.test.p)


@pytest.mark.parametrize("chatbot", SINGLE)
def test_table_6_is_reproduced(chatbot: str) -> None:
    k, n, percent, lower, upper = SINGLE[chatbot]
    found = analyse(Selections.from_counts((chatbot,), {"1": k, "0": n - k}), interval="wald")
    (rate,) = found.win_rates
    assert (rate.selected, round(100 * rate.rate)) == (k, percent)
    assert (round(rate.lower, 2), round(rate.upper, 2)) == (lower, upper)
    assert found.omnibus.p == binomial(k, n, null=0.8).p
    assert found.pairs == ()


@pytest.mark.parametrize("counts", [{"10": 321, "01": 254, "11": 67, "00": 25}, {"11": 2, "00": 1}, {"01": 4}])
def test_shares_of_two_chatbots_and_ties_add_up(counts: dict[str, int]) -> None:
    found = analyse(Selections.from_counts(("A", "B"), counts), method="exact")
    a, b = found.win_rates
    (pair,) = found.pairs
    assert a.rate + b.rate - pair.tie_win + pair.tie_loss == pytest.approx(1.0)


def test_two_chatbots_with_one_best_have_a_binomial_test() -> None:
    found = analyse(Selections.from_counts(("A", "B"), {"10": 124, "01": 75}, one_best=True))
    assert found.omnibus.method == "exact binomial"
    assert found.omnibus.p == binomial(124, 199).p
    assert found.pairs[0].test == found.omnibus


def test_several_chatbots_with_one_best_have_a_chi_square_test() -> None:
    found = analyse(Selections.from_counts(CHATBOTS, ONE_BEST, one_best=True))
    assert found.omnibus == chi_square([122, 83, 118, 113])
    pair = found.pairs[0]
    assert (pair.only_a, pair.only_b, pair.both, pair.neither) == (122, 83, 0, 231)
    assert pair.test.p == binomial(122, 205).p


def test_a_pair_that_never_won_differs_by_nothing() -> None:
    found = analyse(Selections.from_counts(("A", "B", "C"), {"001": 30}, one_best=True))
    assert (found.pairs[0].test.statistic, found.pairs[0].test.p) == (0.0, 1.0)


def test_mcnemar_has_three_forms_with_different_names() -> None:
    selections = Selections.from_counts(("A", "B"), {"10": 40, "01": 22, "11": 5, "00": 3})
    plain, corrected, exact = (analyse(selections, method=m).omnibus for m in ("chi_square", "corrected", "exact"))
    assert plain.statistic == pytest.approx(18**2 / 62)
    assert corrected.statistic == pytest.approx(17**2 / 62)
    assert exact.statistic == 22
    assert len({plain.method, corrected.method, exact.method}) == 3


def test_unknown_options_are_refused() -> None:
    selections = Selections.from_counts(("A",), {"1": 4})
    with pytest.raises(InvalidResponses):
        analyse(selections, method="other")  # type: ignore[arg-type]
    with pytest.raises(InvalidResponses):
        analyse(selections, baseline=1.0)
