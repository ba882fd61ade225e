"""Posterior: questions about it, and its bytes. What it says of all pairs at once is in test_ranks."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from irt_engine import (
    Comparison,
    EngineError,
    InvalidResponses,
    NotIdentified,
    Posterior,
    fit,
    fit_with_warm_start,
    read_warm_start,
)
from irt_engine.posterior.moments import Scales
from tests.environment import FULL
from tests.irt_engine.cast import small_board
from tests.irt_engine.posteriors import made_up, random_board

BOARD = random_board(5, 3)
numbers = st.floats(-1e9, 1e9)
positive = st.floats(0, 1e9)
SDS = [field for field in fields(Scales) if field.name not in ("learned", "at_limit")]
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def some(count: int, elements: st.SearchStrategy[float] = numbers) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.float64, count, elements=elements)


@st.composite
def posteriors(draw: st.DrawFn) -> Posterior:
    """Any that its fields allow: names of any alphabet, both models and forms, empty parts, effects there or not."""
    chatbots = tuple(sorted(draw(st.sets(names, min_size=2, max_size=5))))
    prompts = tuple(sorted(draw(st.sets(names, max_size=4))))
    model, form = draw(st.sampled_from(["pair", "board"])), draw(st.sampled_from(["net", "vote"]))
    m, j, e = len(chatbots) if model == "board" else 0, len(prompts), 6 if form == "net" else 2
    pair = st.tuples(*[st.sampled_from(chatbots)] * 2, st.none() | names, st.integers(0, 10**9))
    comparisons = tuple(Comparison(*row) for row in draw(st.lists(pair, max_size=4)))
    sds = {field.name: draw(positive if field.default is MISSING else st.none() | positive) for field in SDS}
    scales: Any = sds | {"learned": draw(st.booleans()), "at_limit": tuple(draw(st.lists(names, max_size=2)))}
    covariates = tuple(draw(st.lists(names, max_size=3, unique=True)))
    return made_up(
        draw(some(m)),
        draw(arrays.arrays(np.float64, (m, m), elements=numbers)),
        group=draw(arrays.arrays(np.int64, m, elements=st.integers(1, 3))),
        model=model,
        form=form,
        chatbots=chatbots if model == "board" else (),
        comparisons=comparisons,
        theta=draw(some(len(comparisons))),
        theta_se=draw(some(len(comparisons), positive)),
        prompts=prompts,
        discrimination=draw(some(j, positive)),
        discrimination_se=draw(some(j, positive)),
        thresholds=draw(arrays.arrays(np.float64, (j, e), elements=numbers)),
        scales=Scales(**scales),
        side=draw(numbers),
        converged=draw(st.booleans()),
        seed=draw(st.integers(0, 2**63)),
        ties=draw(st.none() | st.integers(0, 10**9)),
        style_names=covariates,
        style=draw(some(len(covariates))),
        style_se=draw(some(len(covariates), positive)),
    )


@settings(max_examples=60 if FULL else 12)
@given(posteriors())
def test_bytes_round_trip(before: Posterior) -> None:
    after = Posterior.from_bytes(before.to_bytes())
    assert after.to_bytes() == before.to_bytes()
    for field in fields(Posterior):
        there, here = getattr(before, field.name), getattr(after, field.name)
        if isinstance(there, np.ndarray):
            assert there.dtype == here.dtype
            assert np.array_equal(there, here)
            assert not here.flags.writeable
        else:
            assert there == here, field.name


WHOLE = BOARD.to_bytes()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", WHOLE[:-40], WHOLE[:200] + bytes(40) + WHOLE[240:]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidResponses, match="not a posterior"):
        Posterior.from_bytes(data)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_a_damaged_byte_is_refused_or_does_no_harm(place: int, value: int) -> None:
    """A zip file has bytes that mean nothing to its reader, such as dates."""
    try:
        after = Posterior.from_bytes(WHOLE[:place] + bytes([value]) + WHOLE[place + 1 :])
    except InvalidResponses:
        return
    assert after.to_bytes() == WHOLE


FOUND = fit_with_warm_start(small_board(), form="vote")
FITTED = FOUND.posterior.to_bytes(FOUND.warm_start)


@pytest.mark.parametrize("name", ["reply", "reply_se", "thresholds_se", "tier", "warm_z", "warm_reply", "head"])
@pytest.mark.parametrize("flip", [1, 32, 255])
def test_an_array_whose_name_is_damaged_is_not_taken_for_one_that_was_never_there(name: str, flip: int) -> None:
    """Each byte of each of its two places in the archive."""
    whole, found = f"{name}.npy".encode(), 0
    for place in range(len(FITTED)):
        if FITTED[place : place + len(whole)] != whole or FITTED[place - 1 : place] in (b"_",):
            continue
        for at in range(place, place + len(whole)):
            found += 1
            with pytest.raises(InvalidResponses, match="not a posterior"):
                Posterior.from_bytes(FITTED[:at] + bytes([FITTED[at] ^ flip]) + FITTED[at + 1 :])
    assert found == 2 * len(whole)


def rewritten(data: bytes, words: Mapping[str, Any], change: Mapping[str, Any], without: tuple[str, ...] = ()) -> bytes:
    """Bytes as earlier releases wrote them, without a digest, and with other words or arrays."""
    with np.load(io.BytesIO(data)) as archive:
        arrays = {name: archive[name] for name in archive.files if name not in without}
    head = {**json.loads(arrays.pop("head").tobytes()), **words}
    head.pop("digest", None)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=np.frombuffer(json.dumps(head).encode(), np.uint8), **({**arrays, **change}))
    return buffer.getvalue()


def test_bytes_of_earlier_releases_are_read() -> None:
    now = Posterior.from_bytes(FITTED)
    undigested = rewritten(FITTED, {}, {})
    assert Posterior.from_bytes(undigested).to_bytes(read_warm_start(undigested)) == FITTED
    since = ("thresholds_se", "tier", "tier_discrimination", "tier_discrimination_se", "reply", "reply_se")
    without = rewritten(FITTED, {}, {}, (*since, "warm_reply"))
    oldest = Posterior.from_bytes(without)
    assert np.array_equal(oldest.ability, now.ability)
    assert oldest.reply.size == oldest.thresholds_se.size == 0
    assert read_warm_start(without) is not None


def test_where_a_fit_of_an_earlier_release_ended_the_next_one_begins() -> None:
    """It kept what cells said, where now is kept by how much that exceeds what they say at the mean."""
    now = FOUND.warm_start
    kept = {"warm_i_theta": now.excess_theta, "warm_cross": now.excess_cross, "warm_i_phi": now.excess_phi}
    since = ("warm_excess_theta", "warm_excess_cross", "warm_excess_phi")
    earlier = read_warm_start(rewritten(FITTED, {}, kept, since))
    assert earlier is not None
    assert earlier.excess_theta.size == 0
    assert np.array_equal(earlier.z, now.z)
    cold, warm = fit(small_board(), form="vote"), fit(small_board(), form="vote", start=earlier)
    assert warm.iterations < cold.iterations
    assert np.allclose(warm.theta, cold.theta, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ({}, {"ability": np.zeros(2)}),
        ({}, {"covariance": np.eye(3)}),
        ({}, {"thresholds": np.zeros((2, 6))}),
        ({}, {"reply": np.zeros((1, 1))}),
        ({}, {"theta": np.full(1, np.nan)}),
        ({}, {"warm_own": np.zeros(1)}),
        ({}, {"warm_other": np.zeros(1)}),
        ({"chatbots": ["one"]}, {}),
        ({"chatbots": None}, {}),
        ({"comparisons": [["a", "b"]]}, {}),
        ({"scales": {"unknown": 1.0}}, {}),
        ({"another": 1}, {}),
        ({"form": "net"}, {}),
        ({"format": 2}, {}),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(words: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(InvalidResponses, match="not a posterior"):
        Posterior.from_bytes(rewritten(FITTED, words, change))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["ability", "covariance", "theta", "discrimination_se", "thresholds"])
def test_what_is_not_finite_is_refused(field: str, bad: float) -> None:
    good: dict[str, Any] = {"ability": np.zeros(2), "covariance": np.eye(2)}
    with pytest.raises(EngineError) as caught:
        made_up(**(good | {field: np.full((2, 2), bad)}))
    assert caught.value.code == "not_finite"


def test_differences_are_antisymmetric_and_their_probabilities_complementary() -> None:
    a, b = BOARD.chatbots[:2]
    there, back = BOARD.difference(a, b), BOARD.difference(b, a)
    assert there.mean == -back.mean
    assert there.se == pytest.approx(back.se)
    assert there.p_better + back.p_better == pytest.approx(1.0)
    assert there.excludes_zero == back.excludes_zero == (abs(there.mean) > 1.959963984540054 * there.se)


def test_ranks_lie_within_their_bounds() -> None:
    rank, lower, upper = BOARD.rank_bounds().T
    assert sorted(rank.tolist()) == list(range(1, len(rank) + 1))
    assert (lower <= rank).all()
    assert (rank <= upper).all()
    assert np.array_equal(np.argsort(rank), np.argsort(-BOARD.ability))


def test_rank_bounds_count_who_is_clearly_better_and_worse() -> None:
    board = made_up([0.0, 1.0, 1.1, 3.0], 0.01 * np.eye(4))
    assert board.rank_bounds().tolist() == [[4, 4, 4], [3, 2, 3], [2, 2, 3], [1, 1, 1]]


def test_a_wider_level_gives_wider_intervals_and_bounds() -> None:
    narrow, wide = BOARD.interval(0.5), BOARD.interval(0.99)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    assert (BOARD.rank_bounds(0.99)[:, 1] <= BOARD.rank_bounds(0.5)[:, 1]).all()


def test_what_cannot_be_compared_is_refused_with_a_code() -> None:
    apart = random_board(4, 1, group=[1, 1, 2, 2])
    for first, second, code in (
        ("bot0", "bot2", "separate_groups"),
        ("bot0", "bot0", "self_comparison"),
        ("bot0", "?", "unknown_chatbot"),
    ):
        with pytest.raises(NotIdentified) as caught:
            apart.difference(first, second)
        assert caught.value.code == code
    with pytest.raises(EngineError, match="level"):
        apart.interval(1.0)


def test_its_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BOARD.ability[0] = 0.0
