"""Simulation-based calibration: do intervals cover what was drawn from the prior as often as they say?

    python -m tests.benchmarks.calibration [--sets 1000] [--only board] [--gaps typical] [--off 1.5]

Every data set draws parameters from the prior, votes from the parameters, and fits. Counted are the 50, 80 and 95 %
intervals of all differences (pair: theta_i - theta_j; board: s_i - s_j). Differences of one data set hang together, so
the Monte Carlo SE of a coverage is that of the mean over data sets. Target: within 2 points with known scales, 3 with
learned ones, plus two Monte Carlo SEs. Learned scales start at the SDs that the truth was drawn with; `--off` F draws
the truth with all SDs of prompts, pairs and cells F times as large, to see what a wrong start does.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtri

from irt_engine import EngineError, EngineWarning, Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray
from irt_engine.simulate import comparison_cells, draw_votes, some_cells
from irt_engine.truth import Form, Truth, draw_truth

from .report import Check, conclude, say, table
from .workers import run

LEVELS = (0.5, 0.8, 0.95)
ALLOWED = {"known": 0.02, "learned": 0.03}
PAIR_SIZE, BOARD_SIZE = (20, 60), (12, 40)
ENOUGH = 1000  # data sets
_SEEN = 1 / 3  # share of a board's cells
Scales = Literal["known", "learned"]
KNOWN: Scales = "known"
LEARNED: Scales = "learned"
FORMS: tuple[Form, Form] = ("net", "vote")
DENSE_SIZE = (30, 10)  # a board whose cells are all seen: 435 of each prompt


@dataclass(frozen=True, slots=True)
class Setting:
    """What is drawn and fitted. size: comparisons (pair) or chatbots (board), and prompts."""

    model: Literal["pair", "board"]
    form: Form
    scales: Scales
    size: tuple[int, int]
    gaps: Literal["prior", "typical"] = "prior"
    off: float = 1.0
    seen: float = _SEEN  # share of a board's cells

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.model} {self.form}{' dense' if self.seen == 1.0 else ''}, {self.scales}"

    @property
    def fitted(self) -> Priors:
        """What the fit is told."""
        return Priors(learn=self.scales == "learned")


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One data set. covered (3,): share of the differences inside their intervals."""

    covered: FloatArray
    spread: float  # root mean square of (true - mean) / SE
    along: float  # z along the means themselves: the scale (theta times alpha), which is what a normal fits worst
    products: tuple[float, float]  # of the differences: true x mean, and mean squared, for the slope of truth on mean
    settled: bool
    failure: str  # of a fit that raised: its name; covered is then NaN


def settings(
    size_pair: tuple[int, int] = PAIR_SIZE,
    size_board: tuple[int, int] = BOARD_SIZE,
    size_dense: tuple[int, int] = DENSE_SIZE,
) -> list[Setting]:
    """Both models in both forms, and a board with many votes of every prompt; scales known and learned."""
    return [
        setting
        for scales in (KNOWN, LEARNED)
        for setting in (
            *(Setting("pair", form, scales, size_pair) for form in FORMS),
            *(Setting("board", form, scales, size_board) for form in FORMS),
            Setting("board", "vote", scales, size_dense, seen=1.0),
        )
    ]


def draw(setting: Setting, seed: int) -> tuple[Truth, ResponseTable]:
    """Parameters and votes. Every vote cell has 1 to 3 votes, every net cell 3."""
    groups, prompts = setting.size
    board, vote = setting.model == "board", setting.form == "vote"
    priors = _scaled(setting.fitted, setting.off)
    truth_seed, cell_seed, count_seed, vote_seed = np.random.SeedSequence(seed).generate_state(4).tolist()
    truth = draw_truth(
        groups if board else 2 * groups,
        prompts,
        seed=truth_seed,
        model=setting.model,
        form=setting.form,
        priors=priors,
        common_log_gap_sd=priors.common_log_gap_sd if setting.gaps == "prior" else None,
        pair_sd=priors.pair_sd if board else 0.0,
        cell_sd=priors.cell_sd if vote else 0.0,
        reply_sd=priors.reply_sd if board else 0.0,
    )
    cells = some_cells(groups, prompts, setting.seen, seed=cell_seed) if board else comparison_cells(groups, prompts)
    votes = np.random.default_rng(count_seed).integers(1, 4, len(cells)) if vote else 1
    return truth, draw_votes(truth, cells, seed=vote_seed, votes=votes, form=setting.form)


def _scaled(priors: Priors, factor: float) -> Priors:
    names = ("log_discrimination_sd", "location_sd", "log_gap_sd", "pair_sd", "cell_sd", "reply_sd")
    return replace(priors, **{name: factor * getattr(priors, name) for name in names})


def one(job: tuple[Setting, int]) -> Outcome:
    """Draw, fit and count one data set."""
    setting, seed = job
    truth, votes = draw(setting, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)
            mean, covariance, settled = believed(votes, setting)
    except (EngineError, np.linalg.LinAlgError) as error:
        return Outcome(np.full(len(LEVELS), np.nan), np.nan, np.nan, (0.0, 0.0), False, type(error).__name__)
    true = truth.ability if setting.model == "board" else truth.theta(*_ends(setting.size[0]))
    return counted(true, mean, covariance, settled)


def _ends(comparisons: int) -> tuple[np.ndarray, np.ndarray]:
    first = 2 * np.arange(comparisons)
    return first, first + 1


def believed(votes: ResponseTable, setting: Setting) -> tuple[FloatArray, FloatArray, bool]:
    """Means, covariance of the abilities, and whether the average settled."""
    found = fit(votes, setting.model, form=setting.form, priors=setting.fitted)
    if setting.model == "board":
        return found.ability, found.covariance, found.converged
    return found.theta, found.theta_covariance, found.converged


def counted(true: FloatArray, mean: FloatArray, covariance: FloatArray, settled: bool) -> Outcome:
    i, j = np.triu_indices(len(true), 1)
    variance = np.diag(covariance)
    se = np.sqrt(variance[i] + variance[j] - 2.0 * covariance[i, j])
    gap, believed_gap = true[i] - true[j], mean[i] - mean[j]
    z = np.abs(gap - believed_gap) / se
    covered = np.array([(z < ndtri(0.5 + level / 2.0)).mean() for level in LEVELS])
    centred = mean - mean.mean()
    along = float(centred @ (true - mean) / np.sqrt(centred @ covariance @ centred)) if centred.any() else 0.0
    products = float(gap @ believed_gap), float(believed_gap @ believed_gap)
    return Outcome(covered, float(np.sqrt((z**2).mean())), along, products, settled, "")


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """A setting's data sets together."""

    setting: Setting
    outcomes: list[Outcome]

    @property
    def counted(self) -> list[Outcome]:
        """Those whose fit gave an answer."""
        return [outcome for outcome in self.outcomes if not outcome.failure]

    def share(self) -> tuple[FloatArray, FloatArray]:
        """(3,) coverages and their Monte Carlo SEs. A fit without an answer covers nothing."""
        covered = np.array([np.zeros(len(LEVELS)) if o.failure else o.covered for o in self.outcomes])
        return covered.mean(axis=0), covered.std(axis=0, ddof=1) / np.sqrt(len(covered))

    def checks(self) -> list[Check]:
        """One for each level."""
        return [self._check(*each) for each in zip(LEVELS, *self.share(), strict=True)]

    def _check(self, level: float, share: float, se: float) -> Check:
        """Few data sets can refute, but their Monte Carlo SE is too wide to confirm."""
        allowed = ALLOWED[self.setting.scales]
        within, enough = bool(abs(share - level) <= allowed + 2.0 * se), len(self.outcomes) >= ENOUGH
        return Check(
            f"{self.setting.name}: {level:.0%}",
            f"{100 * share:.1f} % (SE {100 * se:.1f})" + ("" if enough else f", only {len(self.outcomes)} sets"),
            f"{100 * level:.0f} +- {100 * allowed:.0f} + 2 SE",
            None if within and not enough else within,
        )

    def row(self) -> tuple[str, ...]:
        """Beside the coverages, what helps to find out why: a slope of truth on mean below 1 is exaggeration."""
        good = self.counted
        along = np.sqrt(np.mean([o.along**2 for o in good])) if good else np.nan
        spread = np.sqrt(np.mean([o.spread**2 for o in good])) if good else np.nan
        cross, square = np.sum([o.products for o in good], axis=0) if good else (np.nan, np.nan)
        unsettled = sum(not o.settled and not o.failure for o in self.outcomes)
        settled = [o.covered[-1] for o in good if o.settled]
        of_settled = f"{100 * np.mean(settled):.1f}" if settled else "-"
        return (
            self.setting.name,
            str(len(self.outcomes)),
            str(len(self.outcomes) - len(good)),
            str(unsettled),
            of_settled,
            f"{spread:.3f}",
            f"{along:.3f}",
            f"{cross / square:.3f}",
        )


def measure(setting: Setting, sets: int, *, processes: int = 0, seed: int = 0) -> Coverage:
    """`sets` data sets of one setting."""
    jobs = [(setting, seed + index) for index in range(sets)]
    return Coverage(setting, run(one, jobs, setting.name, processes=processes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="calibration", description="Simulation-based calibration of the fit.")
    parser.add_argument("--sets", type=int, default=1000, help="data sets per setting (default 1000)")
    parser.add_argument("--only", default="", help="settings whose name contains this, for example 'board vote'")
    parser.add_argument("--gaps", choices=["prior", "typical"], default="prior", help="where common log gaps come from")
    parser.add_argument("--off", type=float, default=1.0, help="the truth's SDs are this many times the prior's")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.sets < 2:
        parser.error("--sets must be 2 or more: one data set has no Monte Carlo SE")
    chosen = [replace(s, gaps=options.gaps, off=options.off) for s in settings() if options.only in s.name]
    if not chosen:
        parser.error(f"no setting's name contains {options.only!r}")
    found = [measure(setting, options.sets, processes=options.processes) for setting in chosen]
    head = (
        "setting",
        "sets",
        "failed",
        "not settled",
        "95 % where settled",
        "RMS z",
        "of the scale",
        "slope of truth on mean",
    )
    say(table(head, [coverage.row() for coverage in found]))
    title = f"Calibration: coverage of all differences, common log gaps {options.gaps}, true SDs x {options.off:g}"
    return conclude(title, [check for coverage in found for check in coverage.checks()])


if __name__ == "__main__":
    sys.exit(main())
