"""Whatever of a wrong type a public value is made of, the error is the house's own, and says what to give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from irt_engine import EngineError, Priors, ResponseTable
from scheduler import CampaignState
from scheduler.errors import SchedulerError
from scheduler.forecasting.forecast import ForecastTerms
from scheduler.forecasting.goals import AllAbilities, Neighbours, Separated
from scheduler.overlap import Overlap
from scheduler.policies.design import AdaptiveDesign
from scheduler.policies.exposure import Balance
from scheduler.policies.retirement import RetirementRule
from scheduler.stopping.limits import Deadline
from scheduler.stopping.precision import TargetSE
from scheduler.targets import PrecisionTarget
from tests.scheduler.cast import POSTERIOR

WRONG: tuple[object, ...] = (None, "x", object(), [None], 3.5, [["a"], [1, 2]])
VOTES = {name: [0] for name in ("a", "prompt", "outcome", "a_first", "label")} | {"b": [1], "annotator": [-1]}
VALUES: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (CampaignState, {"chatbots": ("a", "b"), "prompts": ("p",), "now": datetime(2026, 1, 1, tzinfo=UTC)}),
    (ResponseTable, {"chatbots": ("a", "b"), "prompts": ("p",), "labels": (), **VOTES}),
    (type(POSTERIOR), {field.name: getattr(POSTERIOR, field.name) for field in fields(POSTERIOR) if field.init}),
    (ForecastTerms, {"goal": AllAbilities(0.3)}),
    (AllAbilities, {"se": 0.3}),
    (Neighbours, {"se": 0.3}),
    (Separated, {"share": 0.5}),
    (TargetSE, {"value": 0.3}),
    (Deadline, {"at": datetime(2026, 1, 1, tzinfo=UTC)}),
    (PrecisionTarget, {}),
    (Priors, {}),
    (Overlap, {}),
    (AdaptiveDesign, {}),
    (Balance, {}),
    (RetirementRule, {}),
]


@pytest.mark.parametrize(("made", "given"), VALUES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_field_of_a_wrong_type_is_refused_with_a_code_and_a_hint_or_taken(
    made: Callable[..., object], given: dict[str, Any]
) -> None:
    made(**given)
    names = [field.name for field in fields(made) if field.init]  # type: ignore[arg-type]
    refused: list[SchedulerError | EngineError] = []
    for name in names:
        for wrong in WRONG:
            try:
                made(**(given | {name: wrong}))
            except (SchedulerError, EngineError) as error:  # what is refused depends on the field
                refused.append(error)
    assert refused
    assert all(error.code and error.hint for error in refused)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: CampaignState(None, ("p",)), "not_names"),  # type: ignore[arg-type]
        (lambda: CampaignState("ab", ("p",)), "not_names"),  # type: ignore[arg-type]
        (lambda: CampaignState(("a", "b"), ("p",), posterior="x"), "bad_type"),  # type: ignore[arg-type]
        (lambda: CampaignState(("a", "b"), ("p",), now="today"), "not_a_time"),  # type: ignore[arg-type]
        (lambda: AllAbilities("0.3"), "not_a_number"),  # type: ignore[arg-type]
        (lambda: ForecastTerms(AllAbilities(0.3), price="1"), "not_a_number"),  # type: ignore[arg-type]
        (lambda: Priors(pair_sd=None), "not_a_number"),  # type: ignore[arg-type]
        (lambda: PrecisionTarget("x"), "bad_contrasts"),  # type: ignore[arg-type]
        (lambda: Balance((("a",),)), "bad_shares"),  # type: ignore[arg-type]
    ],
)
def test_what_is_certainly_of_a_wrong_type_is_refused(make: Callable[[], object], code: str) -> None:
    with pytest.raises((SchedulerError, EngineError)) as refused:
        make()
    assert getattr(refused.value, "code", None) == code


def test_numbers_of_numpy_are_numbers() -> None:
    assert AllAbilities(np.float32(0.5)).se == 0.5  # type: ignore[arg-type]
    assert Overlap(np.float64(0.5), np.int64(3)).votes == 3  # type: ignore[arg-type]
