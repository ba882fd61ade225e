"""Coalitions that judge honestly except that they always prefer one weak chatbot: found, excluded, and what they lift.

Usage: python -m tests.benchmarks.collusion [--campaigns 100] [--annotators 30]
       python -m tests.benchmarks.collusion --service [--campaigns 3]
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from irt_engine import Posterior, ResponseTable
from irt_engine.agreement.collusion import one_sided
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth
from scheduler.estimator import estimate
from tests.benchmarks import collusion_service

CHATBOTS, PROMPTS = 6, 200
VOTES = {30: 900, 200: 5000}
COALITION = {30: 3, 200: 20}
LOOKS = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """One campaign: members flagged and all members, honest annotators flagged, the lift in SEs, moved neighbours."""

    found: int
    members: int
    wrong: int
    lift: float
    moved: int


def campaign(seed: int, annotators: int, *, honest: bool = False) -> Outcome:
    """Simulate a campaign with looks at equal numbers of votes; whoever is flagged at a look is excluded."""
    members = 0 if honest else COALITION[annotators]
    clean = _votes(seed, annotators)
    shill = clean.annotator < members
    weak = _weak(clean, seed)
    outcome = np.where(shill & (clean.a == weak), -1, np.where(shill & (clean.b == weak), 1, clean.outcome))
    bought = replace(clean, outcome=outcome)
    flagged: set[int] = set()
    fitted: tuple[frozenset[int], Posterior] | None = None
    for look in range(1, LOOKS + 1):
        seen = _rows(bought, np.arange(len(bought)) < len(bought) * look // LOOKS)
        fitted = frozenset(flagged), estimate(_without(seen, flagged), tiers=1)
        flagged |= {one.annotator for one in one_sided(fitted[1], seen)}
    honest_board = estimate(_without(clean, set(range(members))), tiers=1)
    kept = fitted is not None and fitted[0] == flagged
    after = fitted[1] if fitted and kept else estimate(_without(bought, flagged), tiers=1)
    return Outcome(
        found=len(flagged & set(range(members))),
        members=members,
        wrong=len(flagged - set(range(members))),
        lift=_lift(after, honest_board, weak),
        moved=_moved(after, honest_board),
    )


def _votes(seed: int, annotators: int) -> ResponseTable:
    truth = draw_truth(CHATBOTS, PROMPTS, seed=seed, form="vote", reply_sd=0.4, cell_sd=0.2)
    size = VOTES[annotators]
    cells = some_cells(CHATBOTS, PROMPTS, min(1.0, size / (PROMPTS * 15)), seed=seed + 1)
    cells = np.resize(cells, (size, 3))
    rng = np.random.default_rng(seed + 2)
    table = draw_votes(truth, cells[rng.permutation(size)], seed=seed + 3)
    return replace(table, annotator=rng.integers(0, annotators, size))


def _weak(table: ResponseTable, seed: int) -> int:
    """Return the last chatbot but one."""
    truth = draw_truth(CHATBOTS, PROMPTS, seed=seed, form="vote", reply_sd=0.4, cell_sd=0.2)
    return int(np.argsort(truth.ability)[1])


def _rows(table: ResponseTable, keep: np.ndarray) -> ResponseTable:
    names = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return replace(table, **{name: getattr(table, name)[keep] for name in names})


def _without(table: ResponseTable, out: set[int]) -> ResponseTable:
    return _rows(table, ~np.isin(table.annotator, sorted(out)))


def _lift(board: Posterior, honest: Posterior, weak: int) -> float:
    return float((board.ability[weak] - honest.ability[weak]) / np.sqrt(honest.covariance[weak, weak]))


def _moved(board: Posterior, honest: Posterior) -> int:
    """Return how many neighbours that the honest board tells apart have changed places."""
    order = np.argsort(-honest.ability)
    upper, lower = order[:-1], order[1:]
    covariance = honest.covariance
    se = np.sqrt(covariance[upper, upper] + covariance[lower, lower] - 2.0 * covariance[upper, lower])
    clear = honest.ability[upper] - honest.ability[lower] > 2.0 * se
    return int((clear & (board.ability[upper] < board.ability[lower])).sum())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, help="default 100, and 3 of the service")
    parser.add_argument("--first", type=int, default=0, help="number of the first campaign, to go on with a run")
    parser.add_argument("--annotators", type=int, choices=sorted(VOTES), default=30)
    parser.add_argument("--honest", action="store_true", help="no coalition: how many annotators are flagged wrongly")
    parser.add_argument("--service", action="store_true", help="campaigns of the service, by its own refits on SQLite")
    options = parser.parse_args(arguments)
    if options.service:
        return collusion_service.run(options.campaigns or 3, options.first)
    campaigns = options.campaigns or 100
    begin, seen = time.perf_counter(), []
    for seed in range(options.first, options.first + campaigns):
        seen.append(campaign(1000 * seed, options.annotators, honest=options.honest))
        sys.stdout.write(f"{seed:4} {seen[-1]}\n")
        sys.stdout.flush()
    sys.stdout.write(_summary(seen, time.perf_counter() - begin))
    return 0


def _summary(seen: list[Outcome], seconds: float) -> str:
    count = len(seen)
    lines = [f"{count} campaigns, {seconds:.0f} s"]
    lines += [f"coalition flagged: {sum(one.found > 0 for one in seen) / count:.2f} (target >= .80)"]
    lines += [f"members flagged: {sum(one.found for one in seen) / max(1, sum(one.members for one in seen)):.2f}"]
    lines += [f"honest annotators flagged in: {sum(one.wrong > 0 for one in seen)} campaigns (target 0)"]
    lift = [one.lift for one in seen]
    lines += [f"lift in SEs: mean {np.mean(lift):.2f}, 90 % below {np.quantile(lift, 0.9):.2f} (target < 1)"]
    lines += [f"campaigns with moved neighbours: {sum(one.moved > 0 for one in seen)} (target 0)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
