"""Effects of many pairs, eliminated apart from the shaft: nearly what the exact elimination gives."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import Posterior, Priors, fit
from irt_engine.fit import Form
from irt_engine.simulate import draw_truth, draw_votes, some_cells

FORMS = pytest.mark.parametrize("form", ["net", "vote"])
TABLE = draw_votes(draw_truth(12, 40, seed=5, pair_sd=0.3), some_cells(12, 40, 0.33, seed=6), seed=7, form="net")


def apart(monkeypatch: pytest.MonkeyPatch, form: Form, *, learn: bool, start: Posterior | None = None) -> Posterior:
    with monkeypatch.context() as patch:
        patch.setattr("irt_engine.design.MOST_PAIR_EFFECTS", 0)
        return fit(TABLE, form=form, priors=Priors(learn=learn), start=start)


@FORMS
@pytest.mark.parametrize("learn", [False, True])
def test_it_is_close_to_the_exact_elimination(monkeypatch: pytest.MonkeyPatch, form: Form, learn: bool) -> None:
    exact, near = fit(TABLE, form=form, priors=Priors(learn=learn)), apart(monkeypatch, form, learn=learn)
    assert np.abs((near.ability - exact.ability) / exact.se).max() < 0.05
    assert np.abs((near.theta - exact.theta) / exact.theta_se).max() < 0.15
    assert np.abs(near.se / exact.se - 1.0).mean() < 0.15
    assert np.abs(near.theta_se / exact.theta_se - 1.0).mean() < 0.15
    assert exact.scales.pair is not None
    assert near.scales.pair == pytest.approx(exact.scales.pair, rel=0.1)


@FORMS
def test_it_is_closer_than_a_board_without_the_effects(monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    exact, near = fit(TABLE, form=form), apart(monkeypatch, form, learn=True)
    without = fit(TABLE, form=form, priors=Priors(pair_sd=0.0))
    assert np.abs(near.ability - exact.ability).max() < 0.5 * np.abs(without.ability - exact.ability).max()
    assert np.abs(near.theta - exact.theta).max() < 0.5 * np.abs(without.theta - exact.theta).max()


@FORMS
def test_it_begins_where_it_ended(monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    cold = apart(monkeypatch, form, learn=True)
    warm = apart(monkeypatch, form, learn=True, start=cold)
    assert warm.iterations <= 3
    assert np.allclose(warm.ability, cold.ability, rtol=0, atol=1e-9)
    assert np.allclose(warm.theta_se, cold.theta_se, rtol=0, atol=1e-9)
