"""Honest stopping: campaigns that are looked at after every batch, run to their stop and on to the end of their money.

    python -m tests.benchmarks.stopping [--campaigns 1000] [--file var/benchmarks/stopping.jsonl]

Each campaign draws its truth from the estimator's priors, lets the policy `adaptive` choose 50 judgments at a time,
fits after each batch (a published snapshot, a look) and asks `decide` whether to stop: at a target SE, at a resolved
ranking, or at the end of the budget. Three truths: all parameters from the priors; the first two chatbots equal; all
equal. Counted are the 95 % intervals of all differences at the stop, and who is ever shown as different, by the rule of
`irt_engine.posterior` and by others. Looks after the stop count too: nobody is promised that they will not be taken.

One line is written for every finished campaign; a second call goes on from there. Targets: intervals cover 93 % or
more; at most 5 % of the campaigns ever show the two equals, or any two of all equals, as different, or a difference as
smaller than it is.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from irt_engine import EngineWarning, Posterior, WarmStart
from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.posterior.sequential_tests import discoveries, log_p_apart, log_p_equal
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import Truth, draw_truth
from scheduler import Budget, CampaignState, RankingResolved, StoppingRule, TargetSE, decide, plan
from scheduler.estimator import CAMPAIGN_PRIORS, estimate_with_warm_start
from scheduler.replay import rows_of

from .report import Check, conclude, say, table
from .workers import run, whole_lines, write_line

TRUTHS = {"a": "from the priors", "b": "two equal", "c": "all equal"}
CHATBOTS, PROMPTS = 6, 40
BATCH, BUDGET = 50, 600
LOOKS = BUDGET // BATCH
RULES: tuple[StoppingRule, ...] = (TargetSE(0.25), RankingResolved(looks=LOOKS), Budget(BUDGET))
ALPHA, COVERED = 0.05, 0.93
MARGIN = 0.5  # the least difference that matters, for who is shown to be equivalent
ENOUGH = 1000  # campaigns of each truth
_CELLS = all_cells(CHATBOTS, PROMPTS)
_ROW = {tuple(cell): row for row, cell in enumerate(_CELLS.tolist())}
_LOW, _HIGH = np.triu_indices(CHATBOTS, 1)
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """One campaign to simulate, and the file to which it is written."""

    truth: str
    seed: int
    file: str


@dataclass(frozen=True, slots=True)
class Record:
    """One finished campaign: P pairs a < b, K looks. stop: the look at which it stopped, from 0, and why.

    true (P,); mean, se (K, P) of the differences s_b - s_a.
    """

    truth: str
    seed: int
    stop: int
    reason: str
    true: list[float]
    mean: list[list[float]]
    se: list[list[float]]


def truth_of(kind: str, seed: int) -> Truth:
    """Parameters from the estimator's priors; of the abilities two, or all, are made equal."""
    truth = draw_truth(
        CHATBOTS,
        PROMPTS,
        seed=seed,
        form="vote",
        priors=CAMPAIGN_PRIORS,
        pair_sd=CAMPAIGN_PRIORS.pair_sd,
        cell_sd=CAMPAIGN_PRIORS.cell_sd,
        reply_sd=CAMPAIGN_PRIORS.reply_sd,
    )
    ability = truth.ability.copy()
    if kind == "b":
        ability[1] = ability[0]
    if kind == "c":
        ability[:] = 0.0
    return replace(truth, ability=ability)


def campaign(kind: str, seed: int) -> Record:
    """A campaign on to the end of its budget; where it stopped is noted."""
    truth_seed, vote_seed = np.random.SeedSequence([seed, ord(kind)]).generate_state(2).tolist()
    truth = truth_of(kind, truth_seed)
    votes = draw_votes(truth, _CELLS, seed=vote_seed)
    state = CampaignState(votes.chatbots, votes.prompts)
    used: list[int] = []
    mean: list[list[float]] = []
    se: list[list[float]] = []
    stop, reason = -1, ""
    start: WarmStart | None = None
    while len(used) < BUDGET:
        made = plan(state, policy="adaptive", count=BATCH, seed=seed * 1000 + len(mean))
        used += [_ROW[ask.a, ask.b, ask.prompt] for ask in made.asks]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # SDs that few votes do not tell stand as given
            result = estimate_with_warm_start(rows_of(votes, np.array(used)), start)
        posterior, start = result.posterior, result.warm_start
        state = replace(state, posterior=posterior, judged=_CELLS[used], judgments=len(used))
        found = decide(state, rules=RULES)
        if found.stop and stop < 0:
            stop, reason = len(mean), str(found.reason)
        for values, kept in zip(_differences(posterior), (mean, se), strict=True):
            kept.append([round(float(value), _DIGITS) for value in values])
    true = (truth.ability[_HIGH] - truth.ability[_LOW]) / truth.unit
    return Record(kind, seed, stop, reason, [float(d) for d in true], mean, se)


def _differences(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Means and SEs (P,); the first batch joins all chatbots, so all pairs are there."""
    pairs = posterior.differences()
    assert len(pairs.mean) == len(_LOW)
    return pairs.mean, pairs.se


def one(job: Job) -> None:
    """Simulate, and write one line."""
    line = json.dumps(asdict(campaign(job.truth, job.seed)) | {"design": _design()})
    write_line(Path(job.file), line)


def _design() -> str:
    """What a file's lines must have in common."""
    return f"{CHATBOTS} x {PROMPTS}, {BUDGET} by {BATCH}, {RULES}"


def finished(path: Path) -> list[Record]:
    """The campaigns of an earlier call; a line that was cut off by its end is left out."""
    found: dict[tuple[str, int], Record] = {}
    for row in whole_lines(path):
        if row.pop("design") != _design():
            raise SystemExit(f"{path} holds campaigns of another design; give another --file")
        found[row["truth"], row["seed"]] = Record(**row)
    return list(found.values())


# Means and SEs (P,) of look k = 1..K -> which pairs are shown (P,).
Rule = Callable[[FloatArray, FloatArray, int], BoolArray]


def at_level(level: float) -> Rule:
    """Pair by pair, look by look: an interval at this level leaves 0 out."""
    z = float(ndtri(0.5 + level / 2.0))
    return lambda mean, se, k: np.abs(mean) > z * se


def by_looks(looks: int | None) -> Rule:
    """The rule of `looks.told_apart`."""
    return lambda mean, se, k: discoveries(log_p_equal(mean, se, looks=looks), ALPHA)


def all_pairs(looks: int | None) -> Rule:
    """The same sequential p with Bonferroni's correction for all pairs."""
    return lambda mean, se, k: log_p_equal(mean, se, looks=looks) <= np.log(ALPHA / len(mean))


def obrien_fleming(mean: FloatArray, se: FloatArray, k: int) -> BoolArray:
    """|z| (k / K)^(1/2) against one critical value: hardly anything early, nearly a single look's test at the end."""
    reached = np.abs(mean) / se * np.sqrt(k / LOOKS)
    p = 1.0 - np.searchsorted(_walks(), reached) / len(_walks())
    return discoveries(np.log(np.maximum(p, 1e-300)), ALPHA)


@cache
def _walks() -> FloatArray:
    """The largest |W_k| / K^(1/2) of many random walks of K steps, sorted."""
    steps = np.random.default_rng(0).standard_normal((200_000, LOOKS))
    return np.sort(np.abs(np.cumsum(steps, axis=1)).max(axis=1) / np.sqrt(LOOKS))


SHOWN_BY: dict[str, Rule] = {
    "95 % interval at each look": at_level(1.0 - ALPHA),
    "all pairs at once, at each look": at_level(1.0 - ALPHA / len(_LOW)),
    f"{LOOKS} looks planned": by_looks(LOOKS),
    "40 looks planned": by_looks(40),
    "any number of looks": by_looks(None),
    f"{LOOKS} looks, O'Brien and Fleming": obrien_fleming,
    f"{LOOKS} looks planned, all pairs": all_pairs(LOOKS),
    "any number of looks, all pairs": all_pairs(None),
}
RULE = f"{LOOKS} looks planned"


@dataclass(frozen=True, slots=True, eq=False)
class Campaigns:
    """All of one truth: true (n, P); mean, se (n, K, P); stop (n,)."""

    true: FloatArray
    mean: FloatArray
    se: FloatArray
    stop: np.ndarray

    @classmethod
    def of(cls, records: Sequence[Record]) -> Campaigns:
        """In one array each."""
        mean, se = (np.array([getattr(r, name) for r in records]) for name in ("mean", "se"))
        return cls(np.array([r.true for r in records]), mean, se, np.array([r.stop for r in records]))

    def shown(self, rule: Rule) -> BoolArray:
        """(n, K, P)."""
        looks = range(1, self.mean.shape[1] + 1)
        every = zip(self.mean, self.se, strict=True)
        return np.array([[rule(*look) for look in zip(*each, looks, strict=True)] for each in every])

    def covered(self) -> tuple[float, float]:
        """Share of the differences inside their 95 % intervals at the stop, and its Monte Carlo SE."""
        at = np.arange(len(self.stop)), self.stop
        inside = np.abs(self.mean[at] - self.true) <= ndtri(0.975) * self.se[at]
        return share(inside.mean(axis=1))

    def ever_wrong(self, rule: Rule) -> tuple[float, float]:
        """Share of the campaigns that ever show two equals as different."""
        return share((self.shown(rule) & (self.true == 0.0)[:, None, :]).any(axis=(1, 2)))

    def ever_belittled(self, looks: int | None) -> tuple[float, float]:
        """Share of the campaigns that ever show a difference of MARGIN or more as smaller than that."""
        log_p = log_p_apart(self.mean.ravel(), self.se.ravel(), MARGIN, looks=looks).reshape(self.mean.shape)
        return share(((log_p <= np.log(ALPHA)) & (np.abs(self.true) >= MARGIN)[:, None, :]).any(axis=(1, 2)))

    def ever_turned(self, rule: Rule) -> tuple[float, float]:
        """Share of the campaigns that ever show two chatbots the wrong way round."""
        turned = (np.sign(self.mean) == -np.sign(self.true)[:, None, :]) & (self.true != 0.0)[:, None, :]
        return share((self.shown(rule) & turned).any(axis=(1, 2)))

    def false_at_stop(self, rule: Rule) -> tuple[float, float]:
        """Of what is shown at the stop, the share of equals (0 where nothing is), on average."""
        shown = self.shown(rule)[np.arange(len(self.stop)), self.stop]
        return share((shown & (self.true == 0.0)).sum(axis=1) / np.maximum(shown.sum(axis=1), 1))

    def votes_until(self, rule: Rule, part: float) -> float:
        """Judgments until this part of the pairs is shown, and rightly, on average over the campaigns; or infinite."""
        right = self.shown(rule) & (np.sign(self.mean) == np.sign(self.true)[:, None, :])
        curve = np.maximum.accumulate(right.mean(axis=(0, 2)))
        if curve[-1] < part:
            return float("inf")
        return float(np.interp(part, np.concatenate([[0.0], curve]), BATCH * np.arange(len(curve) + 1)))


def share(values: np.ndarray) -> tuple[float, float]:
    """Mean and its Monte Carlo SE. Where all campaigns agree, the SE is that of one more which does not."""
    n, mean = len(values), float(np.mean(values))
    spread = float(np.std(values, ddof=1)) if n > 1 else 0.0
    return mean, max(spread, float(np.sqrt(n / (n + 1) ** 2))) / float(np.sqrt(n))


PARTS = (0.6, 0.7, 0.75, 0.8)


def row(name: str, rule: Rule, by: dict[str, Campaigns]) -> tuple[str, ...]:
    """A rule's errors in percent with their SEs, and its votes."""
    drawn, two, equal = by["a"], by["b"], by["c"]
    errors = [two.ever_wrong(rule), equal.ever_wrong(rule), two.false_at_stop(rule), drawn.ever_turned(rule)]
    votes = [drawn.votes_until(rule, part) for part in PARTS]
    return (name, *(f"{100 * e:.1f} ({100 * s:.1f})" for e, s in errors), *(f"{v:.0f}" for v in votes))


def checks_of(by: dict[str, Campaigns]) -> list[Check]:
    """What is promised. Few campaigns can refute them, but not confirm."""
    found = [checked("coverage at the stop, from the priors", by["a"], by["a"].covered(), COVERED, up=True)]
    for kind in ("b", "c"):
        for name in (RULE, "any number of looks"):
            wrong = by[kind].ever_wrong(SHOWN_BY[name])
            found.append(checked(f"{TRUTHS[kind]}, ever shown as different, {name}", by[kind], wrong, ALPHA, up=False))
    small = by["a"].ever_belittled(LOOKS)
    found.append(checked(f"from the priors, ever shown within {MARGIN} and is not", by["a"], small, ALPHA, up=False))
    return found


def checked(name: str, campaigns: Campaigns, found: tuple[float, float], bound: float, *, up: bool) -> Check:
    (value, se), n = found, len(campaigns.stop)
    beyond = (bound - value if up else value - bound) / se
    passed = None if n < ENOUGH and beyond <= 2.0 else beyond <= 0.0
    measured = f"{100 * value:.1f} % (SE {100 * se:.1f})" + ("" if n >= ENOUGH else f", only {n} campaigns")
    return Check(name, measured, f"{'>=' if up else '<='} {100 * bound:.0f} %", passed)


def report(records: Sequence[Record]) -> int:
    """Tables, checks, exit status."""
    by = {kind: Campaigns.of([r for r in records if r.truth == kind]) for kind in TRUTHS}
    head = ("shown as different by", "two equal, ever", "all equal, ever", "of shown, equal", "turned round, ever")
    say(table((*head, *(f"votes to {part:.0%}" for part in PARTS)), [row(n, r, by) for n, r in SHOWN_BY.items()]))
    say()
    ends = [(TRUTHS[kind], *_ends([r for r in records if r.truth == kind])) for kind in TRUTHS]
    say(table(("truth", "campaigns", "target SE", "ranking", "budget", "median votes at the stop"), ends))
    return conclude(f"Honest stopping: {_design()}", checks_of(by))


def _ends(records: Sequence[Record]) -> tuple[str, ...]:
    why = [sum(word in r.reason for r in records) for word in ("target", "neighbours are", "budget")]
    return (str(len(records)), *map(str, why), f"{np.median([BATCH * (r.stop + 1) for r in records]):.0f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate what is missing, print, judge."""
    parser = argparse.ArgumentParser(prog="stopping", description="Honest stopping under repeated looks.")
    parser.add_argument("--campaigns", type=int, default=int(os.environ.get("CAMPAIGNS", "200")), help="of each truth")
    parser.add_argument("--file", type=Path, default=Path("var/benchmarks/stopping.jsonl"), help="finished campaigns")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.campaigns < 2:
        parser.error("--campaigns must be 2 or more: one campaign has no Monte Carlo SE")
    options.file.parent.mkdir(parents=True, exist_ok=True)
    done = {(r.truth, r.seed) for r in finished(options.file)}
    wanted = [(kind, seed) for seed in range(options.campaigns) for kind in TRUTHS]
    jobs = [Job(kind, seed, str(options.file)) for kind, seed in wanted if (kind, seed) not in done]
    if jobs:
        run(one, jobs, "campaigns", processes=options.processes)
    return report([r for r in finished(options.file) if r.seed < options.campaigns])


if __name__ == "__main__":
    sys.exit(main())
