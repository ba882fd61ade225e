"""The recursion adds up the information that a fit adds up: entry by entry, as a whole, and against fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import EngineWarning
from irt_engine.arrays import FloatArray
from irt_engine.fitting.kernels import use_kernels
from irt_engine.information import vote_information
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth
from scheduler.estimator import CAMPAIGN_PRIORS, estimate
from scheduler.forecasting import kernels
from scheduler.forecasting.allocation import AdaptiveAllocation, EvenAllocation, LeastCertainAllocation
from scheduler.forecasting.course import Allocation, ExpectedCourse, course
from scheduler.forecasting.expected_precision import CampaignEnsemble
from scheduler.forecasting.forecast import unjudged_state
from scheduler.forecasting.goals import AllAbilities
from scheduler.forecasting.inputs import CLASSES, ForecastInputs, forecast_inputs
from scheduler.forecasting.vote_information import VoteInformation
from scheduler.policies.design import AdaptiveDesign
from tests.environment import FULL

M, J = 4, 10
ALPHA, HALF_WIDTH = np.array([0.6, 1.0, 1.7]), 0.4


def inputs(chatbots: int = M, prompts: int = J, **change: object) -> ForecastInputs:
    return replace(forecast_inputs(unjudged_state(chatbots, prompts), CAMPAIGN_PRIORS), **change)  # type: ignore[arg-type]


def probabilities(theta: float, log_alpha: float, log_width: float) -> FloatArray:
    """P(A), P(tie), P(B) of a vote, written down once more."""
    alpha, width = np.exp(log_alpha), np.exp(log_width)
    edges = alpha * (theta + np.array([width, -width]))
    above = 1.0 / (1.0 + np.exp(-edges))
    return np.array([1.0 - above[0], above[0] - above[1], above[1]])


def told_at(theta: float, slope: float, *, cell_sd: float = 0.0, slope_sd: float = 1e-9) -> VoteInformation:
    """Return what the next vote tells on two chatbots that lie theta apart; all prompts have the same slope."""
    known = inputs(
        2,
        mean=np.array([-0.5, 0.5]) * theta,
        slope=slope,
        half_width=HALF_WIDTH,
        cell_sd=cell_sd,
        log_slope_sd=slope_sd,
    )
    return VoteInformation(*(entry[0, 0, 0] for entry in CampaignEnsemble(known, 1, 0).vote_information))


@pytest.mark.parametrize("theta", [-6.5, 0.0, 2.25])
@pytest.mark.parametrize("slope", ALPHA)
def test_a_vote_tells_about_theta_and_its_prompt_what_its_probabilities_say(theta: float, slope: float) -> None:
    at = np.array([theta, np.log(slope), np.log(HALF_WIDTH)])
    slopes = np.array([(probabilities(*(at + step)) - probabilities(*(at - step))) / 2e-5 for step in 1e-5 * np.eye(3)])
    wanted = (slopes / probabilities(*at)) @ slopes.T
    told = np.array(told_at(theta, slope))
    assert told == pytest.approx([*wanted[np.triu_indices(3)], wanted[0, 0]], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("theta", [-6.5, -1.5, 0.0, 2.25])
def test_the_only_vote_on_a_prompt_tells_what_its_averaged_probabilities_say(theta: float) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()

    def averaged(at: float) -> FloatArray:
        each = [probabilities(at, np.log(ALPHA[2]) + 0.5 * node, np.log(HALF_WIDTH)) for node in nodes]
        return np.asarray(weights @ np.array(each))

    slope = (averaged(theta + 1e-5) - averaged(theta - 1e-5)) / 2e-5
    told = told_at(theta, ALPHA[2], slope_sd=0.5).alone
    assert told == pytest.approx((slope**2 / averaged(theta)).sum(), rel=0.02, abs=2e-3)


def test_with_a_cell_effect_it_is_the_engines_information() -> None:
    thetas = np.linspace(-9.0, 8.75, 72)
    wanted = vote_information(thetas[:, None], ALPHA, np.array([-HALF_WIDTH, HALF_WIDTH]), 0.9)
    told = [[told_at(theta, slope, cell_sd=0.9).theta for slope in ALPHA] for theta in thetas]
    assert np.array(told) == pytest.approx(wanted, rel=2e-3)


def known_cohort(votes: FloatArray) -> CampaignEnsemble:
    """One campaign whose abilities are known, and whose pairs and replies have no effects."""
    judged = np.repeat(votes[:, None] / CLASSES, CLASSES, axis=1)
    return CampaignEnsemble(
        inputs(pair_sd=1e-9, reply_sd=0.0, mean=np.array([-1.0, -0.2, 0.4, 0.8]), judged=judged), 1, 0
    )


def expected(ensemble: CampaignEnsemble) -> FloatArray:
    """Return the expected covariance (M, M) of the first campaign's abilities about their mean."""
    whole = ensemble.covariance_without_shared_replies(noisy=False)[0] + ensemble.shared_reply_covariance()[0]
    centre = np.eye(len(whole)) - 1.0 / len(whole)
    covariance: FloatArray = centre @ whole @ centre
    return covariance


def dense(ensemble: CampaignEnsemble, cells: Any) -> FloatArray:
    """(M, M) the board's precision by plain linear algebra: columns for all prompts, then eliminated one by one.

    cells (N, J) votes. All prompts are alike before the first fit.
    """
    known = ensemble.inputs
    size = M + 1 + 2 * J
    total = np.zeros((size, size))
    total[:M, :M] += np.eye(M) / known.ability_sd**2
    total[M, M] += known.common_width_sd**-2
    for j in range(J):
        total[M + 1 + 2 * j, M + 1 + 2 * j] += known.log_slope_sd**-2
        total[M + 2 + 2 * j, M + 2 + 2 * j] += known.log_width_sd**-2
    for p, (a, b) in enumerate(zip(ensemble.low, ensemble.high, strict=True)):
        entries = [float(table[0, p, 0]) for table in ensemble.vote_information[:6]]
        of_vote = np.zeros((3, 3))
        of_vote[np.triu_indices(3)] = entries
        of_vote = of_vote + np.triu(of_vote, 1).T
        for j in range(J):
            turn = np.zeros((3, size))
            turn[0, a], turn[0, b] = -1.0, 1.0
            turn[1, M + 1 + 2 * j] = 1.0
            turn[2, M] = turn[2, M + 2 + 2 * j] = 1.0
            total += cells[p, j] * turn.T @ of_vote @ turn
    out = total[: M + 1, M + 1 :] @ np.linalg.inv(total[M + 1 :, M + 1 :]) @ total[M + 1 :, : M + 1]
    precision: FloatArray = total[: M + 1, : M + 1] - out
    return precision


def centred_covariance(precision: FloatArray) -> FloatArray:
    centre = np.eye(M) - 1.0 / M
    covariance: FloatArray = centre @ np.linalg.inv(precision)[:M, :M] @ centre
    return covariance


def test_when_everything_is_judged_prompts_are_eliminated_exactly() -> None:
    ensemble = known_cohort(np.full(6, 1.0 * J))
    # At 6 votes a prompt e^-6 of them are thought to be alone on theirs.
    assert expected(ensemble) == pytest.approx(centred_covariance(dense(ensemble, np.ones((6, J)))), rel=5e-3)


def test_when_a_part_is_judged_it_is_the_mean_over_what_falls_to_whom() -> None:
    share, rng = 0.5, np.random.default_rng(0)
    ensemble = known_cohort(np.full(6, share * J))
    mean = np.mean([dense(ensemble, 1.0 * (rng.random((6, J)) < share)) for _ in range(400 if FULL else 200)], axis=0)
    assert expected(ensemble) == pytest.approx(centred_covariance(mean), rel=0.05)


def test_a_pairs_own_effect_is_a_ceiling() -> None:
    """A pair with endless votes leaves the difference of its abilities as uncertain as its own effect is."""
    two = inputs(2, 4000, pair_sd=0.3, reply_sd=0.0)
    ensemble = CampaignEnsemble(replace(two, judged=two.room), 1, 0, noisy=False)
    variance = 4.0 * expected(ensemble)[0, 0]  # of the difference: twice the distance from the mean
    ceiling = 1.0 / (0.3**-2 + 0.5 / two.ability_sd**2)
    assert ceiling < variance < 1.02 * ceiling


def fitted_se(seed: int, votes: int) -> float:
    """The mean SE of a board of 5 chatbots on 40 prompts, so many random votes of its 400."""
    priors = CAMPAIGN_PRIORS
    sds = {"pair_sd": priors.pair_sd, "cell_sd": priors.cell_sd, "reply_sd": priors.reply_sd}
    truth = draw_truth(5, 40, seed=seed, form="vote", priors=priors, **sds)  # type: ignore[arg-type]
    table = draw_votes(truth, some_cells(5, 40, votes / 400, seed=seed), seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return float(estimate(table).se.mean())


def test_votes_on_replies_that_were_judged_before_cannot_tell_more_than_these_replies() -> None:
    """Endless votes on 40 prompts: an ability is as uncertain as the mean of 40 replies is, at the least."""
    two = inputs(2, 40, pair_sd=0.0)
    ensemble = CampaignEnsemble(replace(two, judged=1e6 * two.room), 1, 0)
    variance = 2.0 * expected(ensemble)[0, 0]  # of an ability, the other's being as uncertain
    assert variance == pytest.approx(two.reply_sd**2 / 40, rel=0.02)


@pytest.mark.parametrize("votes", [120, pytest.param(300, marks=pytest.mark.full)])
def test_it_expects_the_ses_that_fits_of_drawn_votes_have(votes: int) -> None:
    found = [fitted_se(seed, votes) for seed in range(16 if FULL else 8)]
    ensemble = CampaignEnsemble(inputs(5, 40), 200, 1)
    for count in (100, votes - 100):
        ensemble.advance(EvenAllocation().votes(ensemble, count))
    ses = np.sqrt(np.einsum("dmm->dm", ensemble.covariance))
    assert ses.mean() == pytest.approx(np.mean(found), rel=0.1)


@pytest.mark.parametrize(
    "policy", [EvenAllocation(), AdaptiveAllocation(), LeastCertainAllocation()], ids=lambda p: type(p).__name__
)
@given(
    fill=st.floats(0.05, 0.95),
    part=st.floats(0.01, 1.0),
    reliability=st.floats(0.0, 0.9),
    shut=st.sets(st.integers(0, 5), max_size=4),
)
def test_every_allocation_spends_its_votes_and_only_where_there_is_room(
    policy: Allocation, fill: float, part: float, reliability: float, shut: set[int]
) -> None:
    room = np.full((6, CLASSES), J / CLASSES)
    room[list(shut)] = 0.0
    ensemble = CampaignEnsemble(inputs(judged=fill * room, room=room, reliability=reliability, fitted=True), 3, 0)
    left = ensemble.room - ensemble.votes
    count = part * float(left[0].sum())
    votes = policy.votes(ensemble, count)
    assert votes.sum(axis=(1, 2)) == pytest.approx(count)
    assert (votes >= -1e-9).all()
    assert (votes <= left + 1e-9).all()


def test_the_adaptive_allocation_picks_all_prompts_but_those_of_the_floor() -> None:
    assert AdaptiveAllocation(AdaptiveDesign(floor=0.25)).selected_share == 0.75
    assert EvenAllocation().selected_share == 0.0


def test_the_adaptive_allocation_prefers_the_pair_that_is_known_least() -> None:
    unsure = np.diag([1.0, 0.01, 0.01, 0.01])
    ensemble = CampaignEnsemble(inputs(covariance=unsure, reliability=0.5, fitted=True), 1, 0)
    votes = AdaptiveAllocation().votes(ensemble, 10).sum(axis=(0, 2))
    assert votes[ensemble.low == 0].min() > votes[ensemble.low != 0].max()


@pytest.mark.parametrize("shortlist", [2, 5, 10])
def test_no_pair_gets_more_than_its_part_of_draws_that_the_best_few_share(shortlist: int) -> None:
    """A draw is even over the best few: whoever is by far the best gets one in so many, and the others the rest."""
    unsure = np.diag([100.0, 0.1, 0.1, 0.1, 0.1])
    ensemble = CampaignEnsemble(inputs(5, 40, covariance=unsure, reliability=0.5, fitted=True), 1, 0)
    allocation = AdaptiveAllocation(AdaptiveDesign(floor=0.0, best=shortlist, cap=1.0))
    votes = allocation.votes(ensemble, 10).sum(axis=(0, 2))
    assert votes.sum() == pytest.approx(10.0)
    assert votes.max() <= 10.0 / shortlist + 1e-9


def test_the_goal_is_reached_where_precision_passes_it_and_never_where_it_does_not() -> None:
    shortfall = np.array([[2.0, 4.0, 0.5], [1.0, 3.0, 0.5], [0.5, 2.0, 0.5]])
    found = ExpectedCourse(np.array([100.0, 400.0, 800.0]), shortfall, np.zeros((3, 2)), np.zeros((3, 2, 2)))
    assert found.reached_at().tolist() == [400.0, np.inf, 100.0]
    halfway = ExpectedCourse(np.array([0.0, 100.0]), np.array([[2.0], [0.8]]), np.zeros((1, 2)), np.zeros((1, 2, 2)))
    assert halfway.reached_at() == pytest.approx([100.0 * (1.0 - 0.25) / (0.8**-2 - 0.25)])


def test_a_course_never_becomes_less_precise_on_the_whole_and_ends_at_what_may_be_asked() -> None:
    found = course(inputs(), AllAbilities(1e-3).shortfall, EvenAllocation(), most=60, batch=20, seed=0)
    assert found.judgments[0] == 0.0
    assert found.judgments[-1] == 60.0
    assert (np.diff(np.median(found.shortfall, axis=1)) < 0.0).all()


def test_a_board_of_many_pairs_takes_fewer_steps_where_nothing_is_picked_and_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def random_baseline() -> ExpectedCourse:
        return course(inputs(8, 200), AllAbilities(0.3).shortfall, EvenAllocation(), most=5600, batch=20, seed=0)

    small = random_baseline()
    monkeypatch.setattr("scheduler.forecasting.course._MANY_PAIRS", 27)
    large = random_baseline()
    assert len(large.judgments) < 0.75 * len(small.judgments)
    assert np.median(large.reached_at()) == pytest.approx(np.median(small.reached_at()), rel=0.04)


@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("draws", [1, 3])
def test_what_is_compiled_is_called_with_arrays_of_one_layout(
    draws: int, noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or else it would be compiled once more for each layout."""
    seen: set[tuple[str, bool]] = set()

    def noted(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def called(*values: Any) -> Any:
            seen.update((name, x.flags.c_contiguous) for x in values if isinstance(x, np.ndarray))
            return kernel(*values)

        name = kernel.__name__
        return called

    names = ("information_at", "chatbot_sums", "mix_classes", "add_board_information", "votes_on_grid")
    for name in (*names, "spread_over_classes"):
        monkeypatch.setattr(kernels, name, noted(getattr(kernels, name)))
    with use_kernels("compiled"):
        follow_campaigns(draws, noisy=noisy)
    assert len(seen) == 6
    assert all(straight for _, straight in seen)


def follow_campaigns(draws: int, *, noisy: bool) -> None:
    """Call every kernel for campaigns before and after their first fit."""
    for begun in (inputs(), inputs(reliability=0.5, fitted=True)):
        ensemble = CampaignEnsemble(begun, draws, 0, noisy=noisy)
        for _ in range(2):
            ensemble.advance(LeastCertainAllocation().votes(ensemble, 5.0))
            ensemble.add_expected_votes(EvenAllocation().votes(ensemble, 5.0))
        ensemble.covariance_without_shared_replies(noisy=noisy)
        ensemble.shared_reply_covariance()


@pytest.mark.parametrize(
    ("policy", "chatbots", "se"),
    [
        (EvenAllocation(), 4, 0.3),
        (AdaptiveAllocation(), 4, 0.3),
        (LeastCertainAllocation(), 4, 0.3),
        *(
            pytest.param(policy, 20, 0.25, marks=pytest.mark.full)
            for policy in (EvenAllocation(), AdaptiveAllocation(), LeastCertainAllocation())
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, int | float) else type(value).__name__,
)
def test_steps_are_so_short_that_shorter_ones_find_the_same(
    policy: Allocation, chatbots: int, se: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judgments() -> float:
        found = course(inputs(chatbots, 200), AllAbilities(se).shortfall, policy, most=20_000, batch=50, seed=0)
        return float(np.median(found.reached_at()))

    usual = judgments()
    for name in ("_GROWTH_PICKED", "_GROWTH_UNPICKED"):
        monkeypatch.setattr(f"scheduler.forecasting.course.{name}", (1.03, 1.03))
    assert usual == pytest.approx(judgments(), rel=0.03)


@pytest.mark.parametrize(
    "policy", [EvenAllocation(), AdaptiveAllocation(), LeastCertainAllocation()], ids=lambda p: type(p).__name__
)
@given(
    chatbots=st.integers(2, 7),
    prompts=st.integers(1, 30),
    votes_per_item=st.integers(1, 3),
    pair_sd=st.floats(0.0, 0.5),
    log_slope_sd=st.floats(0.2, 1.0),
)
@settings(max_examples=6 if FULL else 2)
def test_covariances_stay_positive_wherever_a_course_leads(
    policy: Allocation, chatbots: int, prompts: int, votes_per_item: int, pair_sd: float, log_slope_sd: float
) -> None:
    def positive(ability: FloatArray, covariance: FloatArray) -> FloatArray:
        values = np.linalg.eigvalsh(covariance)
        assert (values[:, 1] > 0.0).all()  # the first is 0: abilities sum to 0
        assert np.isfinite(ability).all()
        looked.append(len(ability))
        return np.full(len(ability), 2.0)

    looked: list[int] = []
    design = unjudged_state(chatbots, prompts, votes_per_item=votes_per_item)
    known = replace(forecast_inputs(design, CAMPAIGN_PRIORS), pair_sd=pair_sd, log_slope_sd=log_slope_sd)
    course(known, positive, policy, most=round(known.room.sum()), batch=20, seed=0)
    assert looked
