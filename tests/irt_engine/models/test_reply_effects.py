"""What a chatbot's reply to a prompt is worth: one text, met with many, is not many facts about its chatbot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irt_engine import Posterior, Priors, ResponseTable, fit, fit_with_warm_start
from irt_engine.fitting.design import FitDesign, design
from irt_engine.fitting.everyday import Form
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.schur_complement import factored
from irt_engine.fitting.variance_estimation import estimation_variances
from irt_engine.fitting.variational import solve, state_at
from irt_engine.models.effects import Effects, Group
from irt_engine.models.parameters import Point
from irt_engine.models.reply_effects import most_replies, replies_of
from irt_engine.responses.cells import cells_of, compare
from irt_engine.simulate import all_cells, draw_votes, some_cells
from irt_engine.truth import Truth, draw_truth
from tests.environment import FULL
from tests.irt_engine.cast import rebuilt, rows, small_board, start_of

FORMS = pytest.mark.parametrize("form", ["net", "vote"])
WITHOUT = replace(Priors(), reply_sd=0.0)
SEEDS = (1, 11, 21) if FULL else (1, 11)


def with_a_lonely_prompt() -> ResponseTable:
    """A small board, and one prompt in a single cell, which has no parameters of its own."""
    table = small_board(share=0.3)
    columns = rows(table)
    first = np.flatnonzero(columns["prompt"] == 0)
    same = (columns["a"][first] == columns["a"][first[0]]) & (columns["b"][first] == columns["b"][first[0]])
    kept = np.sort(np.concatenate([np.flatnonzero(columns["prompt"] != 0), first[same]]))
    return rebuilt(table, {name: column[kept] for name, column in columns.items()})


def drawn(reply_sd: float, seed: int, chatbots: int = 8, prompts: int = 40) -> tuple[Truth, ResponseTable]:
    truth = draw_truth(chatbots, prompts, seed=seed, form="vote", cell_sd=0.2, reply_sd=reply_sd)
    cells = some_cells(chatbots, prompts, 0.6, seed=seed + 1)
    return truth, draw_votes(truth, cells, seed=seed + 2, votes=2)


def somewhere(made: FitDesign, seed: int = 0) -> Point:
    rng = np.random.default_rng(seed)
    problem = made.problem
    return Point(
        0.3 * rng.standard_normal(problem.shared_size), 0.3 * rng.standard_normal((problem.slots, problem.width))
    )


def test_every_reply_that_was_met_on_a_prompt_has_a_column() -> None:
    table = with_a_lonely_prompt()
    comparisons, index = compare(table)
    cells = cells_of(table, index, votes=True)
    replies = replies_of(cells, comparisons, len(table.chatbots))
    for i, slot in enumerate(cells.slot):
        pair = {int(comparisons.low[cells.comparison[i]]), int(comparisons.high[cells.comparison[i]])}
        if slot == cells.shared:
            assert (replies.own[i] == -1).all()
        else:
            assert set(replies.chatbot[slot, replies.own[i]].tolist()) == pair
    assert not replies.there[cells.shared].any()
    met = [len(set(row[row >= 0].tolist())) for row in replies.chatbot]
    assert met == replies.there.sum(axis=1).tolist()


@pytest.mark.parametrize("table", [with_a_lonely_prompt(), small_board(share=0.5), drawn(0.8, 3)[1]])
def test_how_many_replies_a_prompt_has_at_most_is_known_without_them(table: ResponseTable) -> None:
    comparisons, index = compare(table)
    of = cells_of(table, index, votes=True), comparisons, len(table.chatbots)
    assert most_replies(*of) == replies_of(*of).most > 0


def test_prompts_that_were_all_met_once_have_no_replies_of_their_own() -> None:
    table = ResponseTable.from_votes(["a", "b"], ["b", "c"], ["p", "q"], [1, 0])
    comparisons, index = compare(table)
    assert most_replies(cells_of(table, index, votes=True), comparisons, 3) == 0


def test_a_reply_is_judged_again_by_another_vote_in_whatever_cell() -> None:
    names, prompts = ["ab", "ac", "de", "de", "fg"], ["p"] * 5
    table = ResponseTable.from_votes([one[0] for one in names], [one[1] for one in names], prompts, [1, -1, 1, -1, 1])
    comparisons, index = compare(table)
    expected = {"a": True, "b": False, "c": False, "d": True, "e": True, "f": False, "g": False}
    for votes in (True, False):
        replies = replies_of(cells_of(table, index, votes=votes), comparisons, len(table.chatbots))
        columns = zip(replies.chatbot[0], replies.again[0], strict=True)
        met = {table.chatbots[whose]: bool(again) for whose, again in columns}
        one_rating = {"d": False, "e": False}  # of two votes, where ratings are net
        assert met == expected | ({} if votes else one_rating)


def of_four_pairs(prompts: int, seed: int, *, votes: int = 1, reply_sd: float = 0.0) -> ResponseTable:
    """Votes without a tie, of eight chatbots in four pairs on each prompt: no reply meets two others."""
    rng = np.random.default_rng(seed)
    a, b, asked, verdicts = [], [], [], []
    for prompt in range(prompts):
        u = reply_sd * rng.normal(size=8)
        for low, high in np.sort(rng.permutation(8).reshape(4, 2), axis=1):
            theta = 0.5 * (high - low) + u[high] - u[low]
            for _ in range(votes):
                a.append(f"c{low}")
                b.append(f"c{high}")
                asked.append(f"p{prompt}")
                verdicts.append(1 if rng.logistic() < theta else -1)
    return ResponseTable.from_votes(a, b, asked, verdicts)


def test_the_spreads_of_what_was_never_judged_again_stay_as_given() -> None:
    priors = Priors(reply_sd=0.6, cell_sd=0.3)
    scales = fit(of_four_pairs(prompts=60, seed=1), form="vote", priors=priors).scales
    assert scales.learned
    assert scales.reply == pytest.approx(0.6, abs=1e-9)
    assert scales.cell == pytest.approx(0.3, abs=1e-9)
    assert scales.log_discrimination != pytest.approx(priors.log_discrimination_sd, abs=1e-3)


@pytest.mark.parametrize(("reply_sd", "least", "most"), [(0.0, 0.1, 0.6), (1.5, 1.0, 2.2)])
def test_votes_on_the_same_two_replies_tell_how_far_replies_spread_and_leave_cells_alone(
    reply_sd: float, least: float, most: float
) -> None:
    """Learned from replies in two cells or more, it stayed at .7, and cells went to their limit of 1."""
    priors = Priors(reply_sd=0.7, cell_sd=0.25, pair_sd=0.1, shared_width=0.5)  # a campaign's
    scales = fit(of_four_pairs(prompts=120, seed=5, votes=3, reply_sd=reply_sd), form="vote", priors=priors).scales
    assert scales.reply is not None
    assert least < scales.reply < most
    assert scales.cell is not None
    assert scales.cell < 0.4


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.full), 2])
def test_single_votes_without_ties_widen_no_effect_that_is_not_there(seed: int) -> None:
    """They led the SD of replies to its limit of 2.8, in hundreds of rounds; 20 chatbots on 600 prompts."""
    rng = np.random.default_rng(seed)
    every = [(a, b, prompt) for prompt in range(600) for a in range(20) for b in range(a + 1, 20)]
    asked = [every[i] for i in rng.permutation(len(every))[: 2000 if seed == 0 else 1000]]
    verdicts = [1 if rng.logistic() < 0.3 * (b - a) else -1 for a, b, _ in asked]
    a, b, prompts = ([str(one[place]) for one in asked] for place in range(3))
    priors = Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5)  # a campaign's
    found = fit(ResponseTable.from_votes(a, b, prompts, verdicts), form="vote", priors=priors)
    assert found.scales.learned
    assert found.scales.reply is not None
    assert found.scales.reply < 2.0 * priors.reply_sd
    assert found.iterations < 100


def test_what_cells_put_on_replies_is_the_transpose_of_what_replies_put_on_cells() -> None:
    replies = design(with_a_lonely_prompt(), "board", "vote", Priors()).problem.replies
    assert replies is not None
    rng = np.random.default_rng(0)
    effects, of_cells = rng.standard_normal(replies.chatbot.shape), rng.standard_normal(len(replies.own))
    assert replies.theta(effects) @ of_cells == pytest.approx((effects * replies.gathered(of_cells)).sum())


@FORMS
def test_the_gradient_by_replies_is_the_finite_difference(form: Form) -> None:
    made, step = design(with_a_lonely_prompt(), "board", form, Priors()), 1e-5
    cells, log_sd, at = CellEvaluator(made.problem, made.effects), made.effects.start(), somewhere(made)
    gradient = cells.evaluate(at, log_sd, None).gradient
    for seed in range(1, 6):
        way = somewhere(made, seed)
        up, down = (cells.evaluate(at.moved(way, sign * step), log_sd, None).log_posterior for sign in (1, -1))
        slope = gradient.z @ way.z + (gradient.phi * way.phi).sum()
        assert slope == pytest.approx((up - down) / (2.0 * step), rel=1e-5)


@FORMS
@pytest.mark.parametrize(
    ("gain", "one_part"),
    [(0, 1 << 18), (1000, 1 << 18), (1000, 0)],
    ids=["slot by slot", "all slots together", "in parts"],
)
def test_a_step_and_the_covariances_are_those_of_the_whole_precision(
    form: Form, gain: int, one_part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The factors eliminates prompts and replies; here the whole matrix is built and inverted."""
    monkeypatch.setattr("irt_engine.fitting.problem._DENSE_GAIN", gain)
    monkeypatch.setattr("irt_engine.fitting.problem._ONE_PART", one_part)
    made = design(with_a_lonely_prompt(), "board", form, Priors())
    problem, log_sd = made.problem, made.effects.start()
    cells, at = CellEvaluator(problem, made.effects), somewhere(made)
    told, prior = cells.evaluate(at, log_sd, None), made.effects.precision(log_sd)
    factors = factored(problem, told.information, prior)
    assert problem.dense == (gain > 0)
    assert len(problem.dense_parts()) == (8 if one_part == 0 else 1)
    shaft, slots, width, own = problem.shared_size, problem.slots, problem.width, problem.prompts.size
    whole = np.diag(np.concatenate([prior.z, prior.phi.ravel()]))
    slot = np.repeat(np.arange(slots), np.diff(problem.starts))
    for i in range(len(problem.weight)):
        by_theta = np.zeros(len(whole))
        np.add.at(by_theta, problem.col[i], problem.coef[i])
        base = shaft + slot[i] * width
        if problem.own[i, 0] >= 0:
            by_theta[base + own + problem.own[i]] += [-1.0, 1.0]
        by_phi = np.zeros((own, len(whole)))
        by_phi[np.arange(own), base + np.arange(own)] = 1.0
        by_phi[problem.prompts.first_gap :, problem.common] = np.eye(problem.prompts.gaps)
        whole += told.information.i_theta[i] * np.outer(by_theta, by_theta)
        cross = np.outer(by_theta, told.information.cross[i] @ by_phi)
        whole += cross + cross.T
    for j in range(slots):
        by_phi = np.zeros((own, len(whole)))
        by_phi[np.arange(own), shaft + j * width + np.arange(own)] = 1.0
        by_phi[problem.prompts.first_gap :, problem.common] = np.eye(problem.prompts.gaps)
        whole += by_phi.T @ told.information.i_phi[j] @ by_phi
    inverse = np.linalg.inv(whole)
    covariance = factors.covariance()
    assert np.allclose(covariance, inverse[:shaft, :shaft], atol=1e-9)
    step = factors.step(told.gradient)
    expected = inverse @ np.concatenate([told.gradient.z, told.gradient.phi.ravel()])
    assert np.allclose(step.z, expected[:shaft], atol=1e-8)
    assert np.allclose(step.phi.ravel(), expected[shaft:], atol=1e-8)
    variance = np.diag(inverse)[shaft:].reshape(slots, width)
    assert np.allclose(factors.own_variances(covariance), variance, atol=1e-9)


def test_the_worth_of_replies_is_found_where_it_is_and_shrinks_where_it_is_not() -> None:
    with_effect = [fit(drawn(0.8, seed)[1], form="vote").scales.reply for seed in SEEDS]
    without = [fit(drawn(0.0, seed)[1], form="vote").scales.reply for seed in SEEDS]
    assert all(sd is not None and 0.5 < sd < 1.1 for sd in with_effect)
    assert all(sd is not None and sd < 0.35 for sd in without)


def members(effects: Effects, group: Group, point: Point) -> np.ndarray:
    """Return the effects that a group's SD is learned from: of replies, those that were judged again."""
    if group.z is not None:
        return point.z[group.z]
    own = effects.again if group.name == "reply" else np.arange(len(point.phi)) != effects.shared
    found: np.ndarray = point.phi[:, group.phi][own].ravel()
    return found


def test_what_scales_are_learned_from_adds_up_to_what_was_drawn() -> None:
    """At the true SD, squares of means and variances of a group add up to its SD squared, averaged over boards."""
    shares: dict[tuple[str, str], list[float]] = {}
    for seed in range(12):
        priors = replace(Priors(), cell_sd=0.25, learn=False)
        truth = draw_truth(8, 60, seed=seed, form="vote", priors=priors, pair_sd=0.25, cell_sd=0.25, reply_sd=0.7)
        votes = draw_votes(truth, some_cells(8, 60, 0.143, seed=seed + 100), seed=seed + 200)
        made = design(votes, "board", "vote", priors, None)
        with CellEvaluator(made.problem, made.effects) as cells:
            found = solve(cells, state_at(cells, find_joint_mode(cells, made.origin)[0]))
        state, prior = found.state, made.effects.precision(found.state.log_sd)
        q = factored(made.problem, found.at_mean.plus(found.state.excess), prior)
        under_q = Point(np.diag(q.covariance()), q.own_variances(q.covariance()))
        with CellEvaluator(made.problem, made.effects) as cells:
            learned = estimation_variances(cells, found.at_mean, prior, under_q)
        for group in made.effects.groups:
            for way, variance in (("q", under_q), ("learned", learned)):
                m, v = (members(made.effects, group, point) for point in (state.point, variance))
                if group.name == "log_discrimination":
                    m = m - m.mean()  # what all discriminations share is not their spread
                shares.setdefault((group.name, way), []).append(float((m @ m + v.sum()) / (m.size * group.sd**2)))
    total = {key: float(np.mean(values)) for key, values in shares.items()}
    assert 0.93 < total["log_discrimination", "learned"] < 1.03
    assert total["log_discrimination", "q"] < 0.92
    assert 0.985 < total["reply", "learned"] < 1.015
    assert total["reply", "q"] < 0.99


def test_intervals_hold_the_abilities_where_replies_differ_and_without_their_effects_they_do_not() -> None:
    """Eight chatbots on twelve prompts, all pairs five times: many votes on few replies."""
    z: dict[str, list[np.ndarray]] = {"with": [], "without": []}
    for seed in range(12 if FULL else 6):
        truth = draw_truth(8, 12, seed=seed, form="vote", reply_sd=0.8)
        votes = draw_votes(truth, all_cells(8, 12), seed=seed + 100, votes=5)
        for name, priors in (("with", Priors()), ("without", WITHOUT)):
            found = fit(votes, form="vote", priors=priors)
            z[name].append(z_of(found, truth))
    rms = {name: float(np.sqrt(np.mean(np.concatenate(values) ** 2))) for name, values in z.items()}
    assert rms["with"] < 1.25
    assert rms["without"] > 1.4


def z_of(found: Posterior, truth: Truth) -> np.ndarray:
    pairs = found.differences()
    gap = truth.ability[pairs.b] - truth.ability[pairs.a]
    z: np.ndarray = (gap - pairs.mean) / pairs.se
    return z


def test_a_warm_fit_with_replies_ends_where_the_cold_one_does() -> None:
    _, votes = drawn(0.8, 5)
    part = {name: column[: len(votes) // 2] for name, column in rows(votes).items()}
    half = start_of(rebuilt(votes, part), form="vote")
    found, warm = fit_with_warm_start(votes, form="vote"), fit(votes, form="vote", start=half)
    cold = found.posterior
    assert np.allclose(cold.ability, warm.ability, atol=1e-8)
    assert np.allclose(cold.se, warm.se, rtol=1e-8)
    assert fit(votes, form="vote", start=found.warm_start).iterations < 5


def test_what_each_reply_is_worth_is_told_and_covered() -> None:
    truth, votes = drawn(0.8, 9)
    found = fit(votes, form="vote")
    assert truth.reply is not None
    assert found.reply.shape == found.reply_se.shape == (len(votes.prompts), len(votes.chatbots))
    assert np.corrcoef(found.reply.ravel(), truth.reply.T.ravel())[0, 1] > 0.6
    assert (np.abs(found.reply - truth.reply.T) < 1.96 * found.reply_se).mean() > 0.9
    again = Posterior.from_bytes(found.to_bytes())
    assert np.array_equal(again.reply_se, found.reply_se)


def test_a_reply_that_won_before_is_expected_to_win_again() -> None:
    truth, _ = drawn(0.8, 9, prompts=150)
    cells = all_cells(8, 150)
    kept = np.random.default_rng(0).random(len(cells)) < 0.5
    found = fit(draw_votes(truth, cells[kept], seed=1, votes=2), form="vote")
    unseen = draw_votes(truth, cells[~kept], seed=2)
    p = found.vote_probabilities(unseen.a, unseen.b, unseen.prompt)
    p_new = replace(found, reply=np.empty((0, 0)), reply_se=np.empty((0, 0))).vote_probabilities(
        unseen.a, unseen.b, unseen.prompt
    )
    n = np.arange(len(unseen))
    gain = np.log(p[n, unseen.outcome + 1]) - np.log(p_new[n, unseen.outcome + 1])
    assert gain.mean() > 3.0 * gain.std() / np.sqrt(len(n))


def test_swapping_every_pair_changes_nothing() -> None:
    _, votes = drawn(0.8, 7)
    turned = replace(votes, a=votes.b, b=votes.a, outcome=-votes.outcome)
    assert np.allclose(fit(votes, form="vote").ability, fit(turned, form="vote").ability, atol=1e-9)


def test_a_board_that_would_take_too_long_is_fitted_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irt_engine.fitting.design.MOST_WORK", 1000)
    with monkeypatch.context() as made:  # nor are they gone through one by one
        made.setattr("irt_engine.fitting.design.replies_of", None)
        assert fit(small_board(), form="vote").scales.reply is None
    monkeypatch.undo()
    assert fit(small_board(), form="vote").scales.reply is not None


def test_a_pair_model_has_no_effects_of_replies() -> None:
    assert fit(small_board(), "pair", form="vote").scales.reply is None
