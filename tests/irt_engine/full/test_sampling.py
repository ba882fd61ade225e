"""fit_full: the reference agrees with the everyday fit, and says honestly how its chains went."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from irt_engine import DidNotConverge, EngineError, EngineWarning, InvalidResponses, Priors, ResponseTable, fit
from irt_engine.fitting.design import design
from irt_engine.fitting.everyday import Form, Model
from irt_engine.full.sampling import FullPosterior, agreement, draw_samples, fit_full
from irt_engine.models.graded_response import log_likelihood
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import Truth, draw_truth
from tests.irt_engine.cast import rebuilt, rows, small_board

KNOWN = Priors(learn=False)


def mixed_board() -> ResponseTable:
    """Five chatbots on twelve prompts; some comparisons stand the other way round in the file."""
    table = small_board()
    columns = rows(table)
    turned = (table.a + table.b) % 2 == 1
    columns["a"] = np.where(turned, table.b, table.a)
    columns["b"] = np.where(turned, table.a, table.b)
    columns["outcome"] = np.where(turned, -table.outcome, table.outcome)
    return rebuilt(table, columns)


def board_with_everything() -> ResponseTable:
    """Known order shown, two prompts with a single cell each, and an entrant without votes."""
    drawn = draw_truth(4, 10, seed=4)
    truth = Truth(drawn.ability, drawn.discrimination, drawn.thresholds, side=0.4)
    cells = some_cells(4, 8, 0.6, seed=5)
    cells = np.concatenate([cells, [[0, 1, 8], [0, 1, 9]]])
    table = draw_votes(truth, cells, seed=6, votes=2)
    return ResponseTable((*table.chatbots, "zz-new"), table.prompts, (), **rows(table))


def quick(table: ResponseTable, *args: Any, draws: int = 100, tune: int = 200, **more: Any) -> FullPosterior:
    """A short run; whether it has converged is not what the test asks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return fit_full(table, *args, draws=draws, tune=tune, **more)


@pytest.mark.full  # without a warm cache of numba the compilation takes a minute
@pytest.mark.parametrize("form", ["vote", "net"])
@pytest.mark.parametrize("model", ["board", "pair"])
def test_it_agrees_with_the_everyday_fit_of_the_same_votes(model: Model, form: Form) -> None:
    table = mixed_board()
    everyday = fit(table, model, form=form, priors=KNOWN)
    full = quick(table, model, form=form, priors=KNOWN, draws=1000, tune=500, seed=1)
    assert agreement(everyday, full).mean < 0.2
    assert agreement(everyday, full).sd < 0.25
    assert (full.diagnostics.draws, full.diagnostics.tune, full.diagnostics.chains) == (1000, 500, 2)
    found = full.posterior
    assert np.allclose(found.theta, everyday.theta, atol=0.5 * everyday.theta_se.max())
    assert np.allclose(np.log(found.discrimination), np.log(everyday.discrimination), atol=0.3)
    assert found.thresholds.shape == everyday.thresholds.shape
    assert (np.diff(found.thresholds, axis=1) > 0).all()
    assert found.comparisons == everyday.comparisons
    assert found.chatbots == everyday.chatbots
    assert found.scales.learned is False
    assert found.scales.cell == everyday.scales.cell


@pytest.mark.full
def test_learned_scales_and_every_effect_at_once() -> None:
    table = board_with_everything()
    stages: list[tuple[int, int]] = []
    full = quick(table, form="vote", seed=2, progress=lambda done, most: stages.append((done, most)))
    found = full.posterior
    assert stages == [(1, 3), (2, 3), (3, 3)]
    scales = [found.scales.log_discrimination, found.scales.log_gap, found.scales.pair, found.scales.side]
    assert all(sd is not None and sd > 0 for sd in [*scales, found.scales.cell])
    assert found.scales.learned
    assert found.scales.location is None
    assert found.side_se > 0
    # Drawn as others are, and known as little as they were before: the SD is itself drawn, from .3 to 1.
    met_once = found.discrimination_se[[8, 9]] / found.discrimination[[8, 9]]
    assert met_once == pytest.approx(found.scales.log_discrimination, rel=0.4)
    assert found.group.tolist() == [1, 1, 1, 1, 2]
    assert found.ability[-1] == 0.0
    assert abs(found.ability[:4].sum()) < 1e-9
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-9
    assert type(found).from_bytes(found.to_bytes()).to_bytes() == found.to_bytes()


@pytest.mark.full
def test_the_same_seed_gives_the_same_digits_on_any_number_of_cores() -> None:
    table = small_board()
    first, again, other = (
        quick(table, "pair", priors=KNOWN, draws=20, tune=30, cores=cores, seed=seed).posterior
        for seed, cores in ((3, 1), (3, 2), (4, 2))
    )
    assert first.to_bytes() == again.to_bytes()
    assert not np.array_equal(first.theta, other.theta)


@pytest.mark.full
def test_too_few_draws_are_said_to_be_too_few() -> None:
    with pytest.warns(EngineWarning, match="no reference yet"):
        full = fit_full(small_board(), "pair", priors=KNOWN, draws=10, tune=20)
    assert not full.posterior.converged
    assert not full.diagnostics.converged
    assert full.diagnostics.ess_bulk < 400
    assert (full.diagnostics.draws, full.diagnostics.tune, full.diagnostics.chains) == (10, 20, 2)


def test_draws_of_the_sampler_have_the_moments_of_the_density() -> None:
    """nutpie itself, on a density that needs no compilation."""
    mean, sd = np.array([1.0, -2.0, 0.5]), np.array([0.5, 1.0, 2.0])

    def log_density(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = (x - mean) / sd
        return float(-0.5 * z @ z), -z / sd

    compiled = importlib.import_module("nutpie").compiled_pyfunc.from_pyfunc(
        3, lambda: log_density, lambda *_: lambda x: {"standard": x}, [np.dtype(float)], [(3,)], ["standard"]
    )
    drawn, divergences = draw_samples(compiled, draws=300, tune=150, chains=2, cores=1, seed=1)
    assert drawn["standard"].shape == (2, 300, 3)
    assert drawn["standard"].mean(axis=(0, 1)) == pytest.approx(mean, abs=0.4)
    assert drawn["standard"].std(axis=(0, 1)) == pytest.approx(sd, rel=0.2)
    assert divergences == 0
    again, _ = draw_samples(compiled, draws=300, tune=150, chains=2, cores=2, seed=1)
    assert np.array_equal(again["standard"], drawn["standard"])


class PriorSampler:
    """A stand-in for nutpie that draws from the prior, so that nothing has to be compiled."""

    __spec__ = ModuleSpec("nutpie", None)  # newer PyMC looks for it

    def compile_pymc_model(self, written: Any, var_names: list[str]) -> Any:
        self.effects = {variable.name: variable.type.shape for variable in written.free_RVs}
        return {name: self.effects[name] for name in var_names}

    def sample(self, compiled: Any, *, draws: int, chains: int, seed: int, **_: Any) -> Any:
        rng = np.random.default_rng(seed)
        drawn = {name: rng.standard_normal((chains, draws, *shape)) for name, shape in compiled.items()}
        if "ratio" in drawn:
            drawn["ratio"] = 2.0 * np.abs(drawn["ratio"])
        values = {name: SimpleNamespace(values=array) for name, array in drawn.items()}
        diverging = SimpleNamespace(values=np.zeros((chains, draws), bool))
        return {"posterior": Draws(values), "sample_stats": {"diverging": diverging}}


class Draws(dict[str, Any]):
    """Draws by the name of their variable, with the interface of ArviZ."""

    @property
    def data_vars(self) -> list[str]:
        return list(self)


@pytest.mark.parametrize("form", ["net", "vote"])
def test_prior_draws_give_a_posterior_as_wide_as_the_prior(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = PriorSampler()
    monkeypatch.setitem(sys.modules, "nutpie", sampler)
    table, stages = board_with_everything(), list[tuple[int, int]]()
    full = fit_full(table, form=form, seed=3, progress=lambda done, most: stages.append((done, most)))
    found, priors = full.posterior, Priors()
    assert stages == [(1, 3), (2, 3), (3, 3)]
    # Equal cells, which the design merges, have effects of their own.
    assert sampler.effects.get("cell") == ((found.cells,) if form == "vote" else None)
    assert full.diagnostics.converged
    assert (full.diagnostics.draws, full.diagnostics.tune, full.diagnostics.chains) == (1000, 1000, 2)
    assert found.iterations == 4000
    assert found.group.tolist() == [1, 1, 1, 1, 2]
    assert found.ability[-1] == 0.0
    assert abs(found.ability[:4].sum()) < 1e-9
    assert found.se[:4] == pytest.approx(priors.ability_sd * np.sqrt(0.75), rel=0.1)  # about the mean of four
    mean = 2.0 * np.sqrt(2.0 / np.pi)  # of a half-normal SD
    assert found.scales.log_discrimination == pytest.approx(mean * priors.log_discrimination_sd, rel=0.1)
    assert found.scales.log_gap == pytest.approx(mean * priors.log_gap_sd, rel=0.1)
    assert found.scales.pair == pytest.approx(mean * priors.pair_sd, rel=0.1)
    assert found.scales.side == pytest.approx(mean * priors.side_sd, rel=0.1)
    assert found.scales.reply == pytest.approx(mean * priors.reply_sd, rel=0.1)
    assert found.scales.cell == (pytest.approx(mean * priors.cell_sd, rel=0.1) if form == "vote" else None)
    assert found.scales.learned
    assert found.scales.location is None
    assert found.theta_se == pytest.approx(np.sqrt(2.0 * priors.ability_sd**2 + 4.0 * priors.pair_sd**2), rel=0.1)
    assert found.side == pytest.approx(0.0, abs=0.2 * priors.side_sd)
    assert found.side_se == pytest.approx(2.0 * priors.side_sd, rel=0.1)
    assert np.log(found.discrimination) == pytest.approx(0.0, abs=0.1)
    assert (np.diff(found.thresholds, axis=1) > 0).all()
    assert type(found).from_bytes(found.to_bytes()).to_bytes() == found.to_bytes()


@pytest.mark.parametrize("form", ["net", "vote"])
def test_few_draws_are_said_to_be_no_reference(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", PriorSampler())
    with pytest.warns(EngineWarning, match="no reference yet"):
        full = fit_full(small_board(), "pair", form=form, priors=KNOWN, draws=10, tune=20)
    assert not full.posterior.converged
    assert not full.diagnostics.converged
    assert full.diagnostics.ess_bulk < 400
    assert (full.diagnostics.draws, full.diagnostics.tune, full.diagnostics.chains) == (10, 20, 2)


def test_a_sampler_that_stops_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object, **__: object) -> None:
        raise RuntimeError("no start was found")

    sampler = PriorSampler()
    monkeypatch.setattr(sampler, "sample", stops)
    monkeypatch.setitem(sys.modules, "nutpie", sampler)
    with pytest.raises(DidNotConverge, match="no start was found") as caught:
        fit_full(small_board(), "pair", priors=KNOWN)
    assert caught.value.code == "sampler_stopped"


class OnePoint(PriorSampler):
    """A stand-in for nutpie whose draws all lie at one point, where the likelihood of the model is kept."""

    __spec__ = ModuleSpec("nutpie", None)

    def compile_pymc_model(self, written: Any, var_names: list[str]) -> Any:
        compiled = super().compile_pymc_model(written, var_names)
        self.at = 0.5 * np.random.default_rng(5).standard_normal(compiled["standard"])
        given = [written["standard"], *([written["cell"]] if "cell" in written.named_vars else [])]
        values = [written.rvs_to_values[one] for one in given]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pytensor: Any = importlib.import_module("pytensor")
        mode = pytensor.compile.mode.Mode(linker="py", optimizer=None)
        no_effects = [np.zeros(variable.type.shape) for variable in given[1:]]
        self.log_likelihood = float(pytensor.function(given, written["votes"], mode=mode)(self.at, *no_effects))
        log_density = pytensor.function(values, written.logp(), mode=mode)
        self.log_prior = float(log_density(self.at, *no_effects)) - self.log_likelihood
        self.normals = sum(int(np.prod(variable.type.shape)) for variable in given)
        return compiled

    def sample(self, compiled: Any, *, draws: int, chains: int, seed: int, **more: Any) -> Any:
        trace = super().sample(compiled, draws=draws, chains=chains, seed=seed, **more)
        trace["posterior"]["standard"].values = self.at + 1e-9 * trace["posterior"]["standard"].values
        return trace


@pytest.mark.parametrize("form", ["net", "vote"])
@pytest.mark.parametrize("model", ["pair", "board"])
def test_its_density_is_that_of_the_graded_response_model(
    model: Model, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At one point, of cells without effects of their own."""
    sampler = OnePoint()
    monkeypatch.setitem(sys.modules, "nutpie", sampler)
    table, priors = mixed_board(), Priors(learn=False, reply_sd=0.0)
    found = quick(table, model, form=form, priors=priors, draws=10).posterior
    made = design(table, model, form, priors, pool=form == "net")
    cells, counts = made.cells, made.problem.counts
    assert cells.prompt_slot.tolist() == list(range(cells.slots))
    theta = np.where(made.comparisons.flip, -found.theta, found.theta) if model == "board" else found.theta
    slope, levels = found.discrimination[cells.slot, None], found.thresholds[cells.slot]
    x = slope * (theta[cells.comparison, None] - levels)
    if form == "net":
        expected = cells.weight @ log_likelihood(x, counts[:, 0].astype(np.int64))
    else:
        not_worse, better = expit(x).T
        each = np.log(np.stack([1.0 - not_worse, not_worse - better, better], axis=1))
        expected = cells.weight @ (counts * each).sum(axis=1)
    assert sampler.log_likelihood == pytest.approx(expected, rel=1e-6)
    assert sampler.log_prior == pytest.approx(-0.5 * (sampler.at @ sampler.at + sampler.normals * np.log(2.0 * np.pi)))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model": "rasch"}, "unknown_model"),
        ({"form": "stars"}, "unknown_form"),
        ({"draws": 3}, "bad_run"),
        ({"tune": 0}, "bad_run"),
        ({"chains": 0}, "bad_run"),
        ({"cores": 0}, "bad_run"),
        ({"seed": -1}, "bad_run"),
    ],
)
def test_what_it_cannot_run_has_a_typed_error(change: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        fit_full(small_board(), **change)
    assert caught.value.code == code
    assert caught.value.hint


def test_too_many_parameters_are_refused_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irt_engine.full.pymc_model.MAX_PARAMETERS", 40)
    with pytest.raises(InvalidResponses) as caught:
        fit_full(small_board())
    assert caught.value.code == "too_many_parameters"


def test_without_the_sampler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(EngineError) as caught:
        fit_full(small_board())
    assert caught.value.code == "no_sampler"
    assert "touchstone-eval[full]" in caught.value.hint


def test_agreement_measures_in_full_standard_deviations() -> None:
    reference = fit(small_board(), "pair", priors=KNOWN)
    full = FullPosterior(reference, diagnostics=None)  # type: ignore[arg-type]
    same = agreement(reference, full)
    assert (same.mean, same.sd, same.worst_mean, same.worst_sd) == (0.0, 0.0, 0.0, 0.0)
    theta, theta_se = reference.theta + 0.3 * reference.theta_se, 0.9 * reference.theta_se
    off = replace(reference, theta=theta, theta_se=theta_se)
    found = agreement(off, full)
    assert [found.mean, found.worst_mean] == pytest.approx([0.3, 0.3])
    assert [found.sd, found.worst_sd] == pytest.approx([0.1, 0.1])


def test_agreement_refuses_posteriors_of_different_votes() -> None:
    full = FullPosterior(fit(small_board(), "pair", priors=KNOWN), diagnostics=None)  # type: ignore[arg-type]
    for other in (fit(small_board(), priors=KNOWN), fit(small_board(votes=3), "pair", priors=KNOWN)):
        with pytest.raises(InvalidResponses) as caught:
            agreement(other, full)
        assert caught.value.code == "different_fits"


def test_the_engine_does_not_load_pymc_until_a_full_fit_is_asked_for() -> None:
    code = "import sys, irt_engine.full; print(sorted({'pymc', 'pytensor', 'nutpie', 'arviz'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
