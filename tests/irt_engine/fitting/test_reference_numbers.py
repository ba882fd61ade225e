"""The graded model and its information against numbers that other programs have published.

mirt (Chalmers 2012, https://philchalmers.github.io/mirt/): the `Science` survey under the graded model. Coefficients:
its own test suite (test-mirtTwo.R, modLouis, five decimals). Expected scores: the example of `fscores` (expected.test
at nine EAP scores). SEs of modes under a prior variance of 1000: the same example, method 'MAP'. `LSAT7` under the
two-parameter model, which is the graded one with a single edge: coefficients from the example of `mirt`, areas from
that of `areainfo`.

girth 0.8.0 (PyPI), which is no requirement of ours:
    from girth.synthetic.polytomous import _graded_func
    out = np.zeros((4, 3))
    _graded_func(np.array([-1.2, 0.3, 1.7])[:, None], 1.4, np.array([-1.0, 0.0, 2.0]), out); print(out.T)
"""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine.information import category_information, total_information
from irt_engine.models.graded_response import category_probabilities

# mirt's slope-intercept form: x_c = a theta + d_c, so b_c = - d_c / a.
SCIENCE_A = np.array([1.0416, 1.22583, 2.29511, 1.09488])
SCIENCE_D = np.array(
    [
        [4.86371, 2.63978, -1.46592],
        [2.92402, 0.90114, -2.26652],
        [5.23747, 2.21511, -1.96461],
        [3.34766, 0.99163, -1.68810],
    ]
)
SCIENCE_B = -SCIENCE_D / SCIENCE_A[:, None]
EXPECTED_SCORES = {
    -2.7492669: 6.791606,
    -1.4198318: 9.266012,
    -0.7141976: 10.584682,
    -0.4469265: 11.041648,
    0.4015613: 12.34882,
    0.0520324: 11.81643,
    -0.8906436: 10.26478,
    0.7653806: 12.93068,
    0.6695350: 12.77499,
}
# answers (1-4) to the four questions: mode, SE
MODES: dict[tuple[int, ...], tuple[float, float]] = {
    (1, 3, 2, 1): (-2.104, 0.689),
    (1, 4, 2, 3): (-1.151, 0.705),
    (1, 4, 3, 1): (-0.781, 0.807),
    (2, 2, 1, 1): (-3.248, 0.812),
    (2, 2, 2, 2): (-1.911, 0.588),
    (2, 2, 3, 3): (-0.797, 0.639),
    (2, 3, 2, 3): (-1.254, 0.630),
}
LSAT7_A = np.array([0.988, 1.081, 1.706, 0.765, 0.736])
LSAT7_B = -np.array([1.856, 0.808, 1.804, 0.486, 1.855]) / LSAT7_A
GIRTH = np.array(
    [
        [0.43045378, 0.43011235, 0.11712043, 0.02231344],
        [0.15709547, 0.44638778, 0.31180618, 0.08471057],
        [0.01120641, 0.07350416, 0.31180618, 0.60348325],
    ]
)


@pytest.mark.parametrize(("theta", "score"), EXPECTED_SCORES.items())
def test_expected_scores_of_the_science_survey_are_mirts(theta: float, score: float) -> None:
    p = category_probabilities(np.full(4, theta), SCIENCE_A, SCIENCE_B)
    assert (p @ np.arange(1, 5)).sum() == pytest.approx(score, abs=2e-4)


@pytest.mark.parametrize("answers", MODES)
def test_standard_errors_of_modes_are_mirts(answers: tuple[int, ...]) -> None:
    """The curvature of a pattern's log-likelihood is the sum of its category informations."""
    mode, se = MODES[answers]
    of_each = category_information(np.full(4, mode), SCIENCE_A, SCIENCE_B)[np.arange(4), np.array(answers) - 1]
    assert 1.0 / np.sqrt(of_each.sum() + 1.0 / 1000.0) == pytest.approx(se, abs=1e-3)


@pytest.mark.parametrize(("items", "area"), [(1, 0.3899825), (3, 2.095673), (5, 2.568988)])
def test_areas_under_the_test_information_are_mirts(items: int, area: float) -> None:
    """Between -2 and 0; three decimals of the coefficients leave 5e-4."""
    theta = np.linspace(-2.0, 0.0, 401)
    information = total_information(theta, LSAT7_A[:items], LSAT7_B[:items, None])
    assert np.trapezoid(information, theta) == pytest.approx(area, abs=1e-3)


def test_category_probabilities_are_girths() -> None:
    p = category_probabilities(np.array([-1.0, 0.0, 2.0]), np.full(3, 1.4), np.array([-1.2, 0.3, 1.7]))
    assert np.allclose(p, GIRTH, atol=1e-8)
