"""Makes the reference numbers of `tests.benchmarks.full_bayes`: python -m tests.benchmarks.reference.make_full_bayes

4 chains of 2,000 draws for each problem, kept as one JSON file: means and SDs of the thetas and of log alpha, how the
chains went, and with which versions. Some minutes; once, and again only when the model or a problem changes: then with
the names of the problems that are to be made anew.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from irt_engine.full.sampling import FullPosterior, fit_full
from tests.benchmarks.problems import Problem, board_size, campaign_size, paper_size

PATH = Path(__file__).with_name("full_bayes.json")
SEED = 7
PROBLEMS = (paper_size(), board_size(), campaign_size())
_DIGITS = 6


def main() -> None:
    made = json.loads(PATH.read_text()) if PATH.exists() else {}
    wanted = sys.argv[1:] or [problem.name for problem in PROBLEMS]
    for problem in (one for one in PROBLEMS if one.name in wanted):
        made[problem.name] = asked(problem)
        sys.stdout.write(f"{problem.name}: {made[problem.name]['diagnostics']}\n")
    PATH.write_text(json.dumps(made, indent=1) + "\n")


def asked(problem: Problem) -> dict[str, Any]:
    """The numbers of one problem, ready for JSON."""
    full = fit_full(
        problem.table,
        problem.model,
        form=problem.form,
        priors=problem.priors,
        draws=2000,
        tune=1000,
        chains=4,
        cores=2,
        seed=SEED,
    )
    return {
        "versions": {name: version(name) for name in ("pymc", "nutpie")},
        "seed": SEED,
        "diagnostics": {**asdict(full.diagnostics), "converged": full.diagnostics.converged},
        **{name: np.round(values, _DIGITS).tolist() for name, values in numbers(full).items()},
    }


def numbers(full: FullPosterior) -> dict[str, Any]:
    """What a reference is made of; the mean log alpha is the log of the posterior's discrimination."""
    posterior = full.posterior
    return {
        "theta": posterior.theta,
        "theta_sd": posterior.theta_se,
        "log_alpha": np.log(posterior.discrimination),
        "log_alpha_sd": posterior.discrimination_se / posterior.discrimination,
        "ability": posterior.ability,
        "ability_sd": posterior.se,
    }


if __name__ == "__main__":
    main()
