"""Against full Bayes: python -m tests.benchmarks.full_bayes [--no-speed]

The everyday fit beside a reference of 4 x 2,000 draws of the same model with the same known scales (kept as numbers in
reference/full_bayes.json; make_full_bayes.py made them): means within 0.1 SD, SDs within 5 %, root mean square. Then
time: `fit` from a cold and from a warm start beside nutpie's 2 x (500 + 500) draws, sampling only, all code compiled.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irt_engine import Posterior, WarmStart, fit, fit_with_warm_start
from irt_engine.fitting.design import design
from irt_engine.full.pymc_model import compiled_model, load_libraries, parameter_layout, sampled_cells
from irt_engine.full.sampling import draw_samples
from tests.benchmarks.problems import Problem, board_size, campaign_size, paper_size

REFERENCE = Path(__file__).parent / "reference" / "full_bayes.json"
MOST_OFF, MOST_SD_OFF = 0.1, 0.05
COLD_TARGET, WARM_TARGET = 300, 1000
_ROUNDS, _REPEATS = 3, 7  # each sampler runs once a round, after so many fits


@dataclass(frozen=True, slots=True)
class Distance:
    """Everyday minus full, for one kind of quantity, root mean square: means in full SDs; ratio of SDs minus 1."""

    what: str
    mean: float
    sd: float
    sd_bias: float
    worst_mean: float
    worst_sd: float

    @property
    def met(self) -> bool:
        return self.mean <= MOST_OFF and self.sd <= MOST_SD_OFF


def main(arguments: list[str]) -> int:
    reference = json.loads(REFERENCE.read_text())
    met = True
    for problem in (paper_size(), board_size(), campaign_size()):
        met &= show_distances(problem, reference[problem.name])
    if "--no-speed" not in arguments:
        met &= show_speed(paper_size())
    return 0 if met else 1


def show_distances(problem: Problem, reference: dict[str, Any]) -> bool:
    """Prints the table of one problem; True if the targets for the thetas (and abilities) are met."""
    found = fit(problem.table, problem.model, form=problem.form, priors=problem.priors)
    chains = reference["diagnostics"]
    say(
        f"\n{problem.name}: everyday fit against {chains['chains']} x {chains['draws']} draws "
        f"(r-hat {chains['r_hat']:.4f}, least effective draws {min(chains['ess_bulk'], chains['ess_tail']):.0f}, "
        f"{chains['divergences']} divergences)"
    )
    if not (found.converged and chains["converged"]):
        say("  one of the two has not converged: nothing to compare")
        return False
    say(f"  {'':10} {'mean off':>9} {'worst':>7} {'SD off':>8} {'worst':>7} {'bias':>8}   target 0.1 SD, 5 %")
    rows = distances(found, reference)
    for row in rows:
        word = "" if row.what == "log alpha" else "met" if row.met else "MISSED"
        say(
            f"  {row.what:10} {row.mean:9.3f} {row.worst_mean:7.3f} {row.sd:8.1%} {row.worst_sd:7.1%} "
            f"{row.sd_bias:+8.1%}   {word}"
        )
    return all(row.met for row in rows if row.what != "log alpha")


def distances(found: Posterior, reference: dict[str, Any]) -> list[Distance]:
    """One row each for thetas, log alpha and, on a board, abilities."""
    kinds = [
        ("theta", "theta", found.theta, found.theta_se),
        ("log alpha", "log_alpha", np.log(found.discrimination), found.discrimination_se / found.discrimination),
    ]
    if len(found.ability):
        kinds.append(("ability", "ability", found.ability, found.se))
    rows = []
    for what, name, mean, sd in kinds:
        off = (mean - np.array(reference[name])) / np.array(reference[f"{name}_sd"])
        ratio = sd / np.array(reference[f"{name}_sd"]) - 1.0
        rows.append(Distance(what, rms(off), rms(ratio), float(ratio.mean()), worst(off), worst(ratio)))
    return rows


def rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))


def worst(values: Any) -> float:
    return float(np.abs(values).max())


def show_speed(problem: Problem) -> bool:
    """Prints the ratios. Fits and samplers go in turn, since machines are shared, and the best of each counts.

    Two samplings: the model as a PyMC user writes it (an ordered logistic likelihood of every cell), and as `fit_full`
    writes it, for speed. Each ratio is held against the targets.
    """
    cold_fit = timed_fit(problem, None)
    start = fit_with_warm_start(problem.table, problem.model, priors=problem.priors).warm_start
    warm_fit = timed_fit(problem, start)
    cold_fit(), warm_fit()
    samplers = {"as usually written": sampler(plain(problem)), "as fit_full writes it": sampler(fast(problem))}
    fits, samplings = [], []
    for _ in range(_ROUNDS):
        fits += [(cold_fit(), warm_fit()) for _ in range(_REPEATS)]
        samplings.append([sample() for sample in samplers.values()])
    cold, warm = np.min(fits, axis=0)
    seconds = dict(zip(samplers, np.min(samplings, axis=0), strict=True))
    say(f"\nspeed on {problem.name}: fit cold {cold * 1e3:.1f} ms, warm {warm * 1e3:.1f} ms; nutpie 2 x (500 + 500):")
    met = True
    for name, full in seconds.items():
        rows = ((full / cold, "cold", COLD_TARGET), (full / warm, "warm", WARM_TARGET))
        words = ", ".join(f"{r:.0f} times {w} (target {t}: {'met' if r >= t else 'MISSED'})" for r, w, t in rows)
        say(f"  {name:22} {full:6.1f} s  {words}")
        met &= all(ratio >= target for ratio, _, target in rows)
    return met


def timed_fit(problem: Problem, start: WarmStart | None) -> Callable[[], float]:
    return lambda: timed(lambda: fit(problem.table, problem.model, priors=problem.priors, start=start))


def fast(problem: Problem) -> Any:
    """The compiled model of `fit_full`."""
    made = design(problem.table, problem.model, "net", problem.priors)
    return compiled_model(made, problem.priors, sampled_cells(made), parameter_layout(made, problem.priors))


def plain(problem: Problem) -> Any:
    """The same model, pair with known scales, as a PyMC user writes it; compiled by nutpie."""
    pymc, tensor, nutpie = load_libraries()
    made, priors = design(problem.table, "pair", "net", problem.priors), problem.priors
    slots, prompts, cells = made.cells.slots, made.problem.prompts, made.cells
    with pymc.Model() as written:
        theta = pymc.Normal("theta", 0.0, priors.theta_sd, shape=made.abilities)
        alpha = tensor.exp(pymc.Normal("log_alpha", 0.0, priors.log_discrimination_sd, shape=slots))
        common = pymc.Normal("common_log_gap", 0.0, priors.common_log_gap_sd, shape=prompts.gaps)
        gap = common + pymc.Normal("log_gap", 0.0, priors.log_gap_sd, shape=(slots, prompts.gaps))
        location = pymc.Normal("location", 0.0, priors.location_sd, shape=(slots, 1))
        thresholds = location + tensor.dot(tensor.exp(gap), prompts.spread.T)
        pymc.OrderedLogistic(
            "u",
            eta=alpha[cells.slot] * theta[cells.comparison],
            cutpoints=(alpha[:, None] * thresholds)[cells.slot],
            observed=made.problem.counts[:, 0].astype(int),
            compute_p=False,
        )
    return nutpie.compile_pymc_model(written)


def sampler(compiled: Any) -> Callable[[], float]:
    """Warmed; a call returns the seconds of sampling alone."""
    draw_samples(compiled, draws=5, tune=5, chains=2, cores=2, seed=0)
    return lambda: timed(lambda: draw_samples(compiled, draws=500, tune=500, chains=2, cores=2, seed=1))


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
