"""Intervals and tests of selections when turns of one conversation are alike: with conversations as units, and without.

    python -m tests.benchmarks.selections [--studies 2000] [--only rates | abilities | boards | modes]

Each simulated study has conversations of 6 to 14 turns. A conversation shifts the log odds of each chatbot by a normal
amount (SD 0.8: an annotator likes some chatbots better throughout). Counted are the 95 % intervals of win rates and of
differences that cover the true values, and the tests of equal win rates that reject although all are equal. Targets,
with conversations as units: intervals cover 93 to 97 %; at most 7 % false rejections.

The second part estimates abilities from the selections (pairwise comparisons, each turn weighted once, covariance by
conversation). The true differences are those of 20,000 conversations. Target: 95 % intervals cover 93 to 97 %.

The third part fits the board of the same studies as a campaign does: each conversation is an item, and a turn with more
than two chatbots is split into comparisons that share no selection. Target: 95 % intervals of differences cover 93 to
97 %.

The fourth part tests static against live abilities where both are equal (`mode_test`). The static ones have an SE of
0.1 logits. Target: at most 7 % rejections at the level of 5 %.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit

from evalsite.judgments.turn_comparisons import turn_comparisons
from irt_engine import Posterior, ResponseTable
from irt_engine.arrays import FloatArray
from irt_engine.selections import (
    ModeAbilities,
    SelectionAbilities,
    TurnTable,
    abilities_of,
    analyse,
    analyse_clustered,
    mode_test,
)
from scheduler.estimator import estimate

from .report import Check, conclude

SPREAD = 0.8  # SD of a conversation's shift, in logits
STATIC_SE = 0.1  # of abilities from static judgments, in logits
LEVELS = {"sata": (0.2, -0.1, -0.1, -0.3), "equal": (0.0, 0.0, 0.0, 0.0), "single": (1.6,)}
CONVERSATIONS = (12, 25, 60)
ABILITIES = {
    "two equal": (0.0, 0.0),
    "two": (0.3, -0.3),
    "four": (0.2, -0.1, -0.1, -0.3),
    "eight": (0.4, 0.2) + (0.0,) * 6,
}
_MANY = 20_000  # conversations that give the true differences
_MANY_ON_BOARD = 2_000  # the same of boards
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of one design: covered win rates, covered differences, rejections clustered and with plain turns."""

    rates: float
    plain_rates: float
    differences: float
    rejected: float
    plain_rejected: float


def study(levels: tuple[float, ...], conversations: int, rng: np.random.Generator) -> TurnTable:
    """Draw one study."""
    lengths = rng.integers(6, 15, size=conversations)
    group = np.repeat(np.arange(conversations), lengths)
    logit = np.array(levels) + SPREAD * rng.standard_normal((conversations, len(levels)))
    selected = rng.random((len(group), len(levels))) < expit(logit[group])
    turn = np.concatenate([np.arange(length) for length in lengths])
    return TurnTable(tuple("ABCDEFGH"[: len(levels)]), group, turn, selected.astype(np.int64))


def one_best_study(levels: tuple[float, ...], conversations: int, rng: np.random.Generator) -> TurnTable:
    """Draw one study in which the best reply of each turn is selected (Luce's model within a conversation)."""
    lengths, k = rng.integers(6, 15, size=conversations), len(levels)
    group = np.repeat(np.arange(conversations), lengths)
    utility = (np.array(levels) + SPREAD * rng.standard_normal((conversations, k)))[group]
    best = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
    turn = np.concatenate([np.arange(length) for length in lengths])
    return TurnTable(tuple("ABCDEFGH"[:k]), group, turn, np.eye(k, dtype=np.int64)[best], None, one_best=True)


def abilities_covered(levels: tuple[float, ...], conversations: int, studies: int, *, one_best: bool) -> float:
    """Return the share of 95 % intervals of ability differences that cover the true difference."""
    rng, draw = np.random.default_rng(7), one_best_study if one_best else study
    truth = abilities_of([draw(levels, _MANY, rng)])
    found = [abilities_of([draw(levels, conversations, rng)]) for _ in range(studies)]
    return float(np.mean([one for each in found for one in _covered(each, truth)]))


def _covered(found: SelectionAbilities, truth: SelectionAbilities) -> list[bool]:
    pairs = list(combinations(found.chatbots, 2))
    bounds = [found.difference(a, b)[1:] for a, b in pairs]
    return [low <= truth.difference(a, b)[0] <= high for (a, b), (low, high) in zip(pairs, bounds, strict=True)]


@dataclass(frozen=True, slots=True)
class BoardTally:
    """Coverage of 95 % intervals of differences on boards, their mean SE, the RMSE, and that of `abilities_of`."""

    covered: float
    se: float
    rmse: float
    rmse_of_selections: float


def board_of(table: TurnTable) -> Posterior:
    """Fit the turns as the board of a live campaign does."""
    a, b, item, outcome = [], [], [], []
    for turn, (conversation, row) in enumerate(zip(table.conversation, table.selected, strict=True)):
        selected = set(np.flatnonzero(row).tolist())
        for first, second, found in turn_comparisons(turn, range(len(row)), selected, one_best=table.one_best):
            a.append(table.chatbots[first])
            b.append(table.chatbots[second])
            item.append(f"conversation {conversation}")
            outcome.append(found)
    return estimate(ResponseTable.from_votes(a, b, item, outcome))


def boards_tally(levels: tuple[float, ...], conversations: int, studies: int, *, one_best: bool) -> BoardTally:
    """Compare boards of simulated studies with the board of very many conversations."""
    rng, draw = np.random.default_rng(7), one_best_study if one_best else study
    many = draw(levels, _MANY_ON_BOARD, rng)
    truth, truth_of_selections = board_of(many), abilities_of([many])
    errors, ses, others = [], [], []
    for _ in range(studies):
        table = draw(levels, conversations, rng)
        found, selections = board_of(table), abilities_of([table])
        for a, b in combinations(truth.chatbots, 2):
            difference = found.difference(b, a)
            errors.append(difference.mean - truth.difference(b, a).mean)
            ses.append(difference.se)
            others.append(selections.difference(a, b)[0] - truth_of_selections.difference(a, b)[0])
    covered = np.abs(errors) <= 1.96 * np.array(ses)
    spread = [float(np.sqrt(np.mean(np.square(each)))) for each in (errors, others)]
    return BoardTally(float(covered.mean()), float(np.mean(ses)), *spread)


def true_rates(levels: tuple[float, ...]) -> FloatArray:
    """Return the win rates, averaged over conversations, shape (k,)."""
    curve = expit(np.array(levels)[:, None] + SPREAD * _NODES)
    rates: FloatArray = curve @ (_WEIGHTS / _WEIGHTS.sum())
    return rates


def tally(levels: tuple[float, ...], conversations: int, studies: int, *, seed: int = 0) -> Tally:
    """Return the shares over simulated studies."""
    rng, truth = np.random.default_rng(seed), true_rates(levels)
    covered, plain, apart, rejected, plain_rejected = ([] for _ in range(5))
    for _ in range(studies):
        table = study(levels, conversations, rng)
        found, alone = analyse_clustered(table), analyse(table.selections, baseline=float(truth[0]))
        assert found is not None
        covered += [rate.lower <= true <= rate.upper for rate, true in zip(found.win_rates, truth, strict=True)]
        plain += [rate.lower <= true <= rate.upper for rate, true in zip(alone.win_rates, truth, strict=True)]
        for pair, (a, b) in zip(found.pairs, combinations(truth, 2), strict=True):
            apart.append(pair.lower is not None and pair.upper is not None and pair.lower <= a - b <= pair.upper)
        rejected.append(found.omnibus.p is not None and found.omnibus.p <= 0.05)
        plain_rejected.append(alone.omnibus.p <= 0.05)
    means = [float(np.mean(x)) if x else 1.0 for x in (covered, plain, apart, rejected, plain_rejected)]
    return Tally(*means)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--only", choices=["rates", "abilities", "boards", "modes"])
    options = parser.parse_args(arguments)
    parts = {"rates": rate_checks, "abilities": ability_checks, "boards": board_checks, "modes": mode_checks}
    chosen = [options.only] if options.only else list(parts)
    checks = [check for name in chosen for check in parts[name](options.studies)]
    return conclude("Selections with conversations as units", checks)


def rate_checks(studies: int) -> list[Check]:
    """Return the coverage of win rates and differences, and false rejections."""
    checks = []
    for name, levels in LEVELS.items():
        for conversations in CONVERSATIONS:
            found = tally(levels, conversations, studies)
            design = f"{name}, {conversations} conversations"
            told = f"{found.rates:.1%} (plain turns {found.plain_rates:.1%})"
            checks.append(Check(f"{design}: win rates", told, "93-97 %", 0.93 <= found.rates <= 0.97))
            if len(levels) > 1:
                inside = 0.93 <= found.differences <= 0.97
                checks.append(Check(f"{design}: differences", f"{found.differences:.1%}", "93-97 %", inside))
            if name == "equal":
                told = f"{found.rejected:.1%} (plain turns {found.plain_rejected:.1%})"
                checks.append(Check(f"{design}: false rejections", told, "<= 7 %", found.rejected <= 0.07))
    return checks


def ability_checks(studies: int) -> list[Check]:
    """Return the coverage of differences of abilities, for select all appropriate and for one best."""
    checks = []
    for name, levels in ABILITIES.items():
        for one_best in (False, True):
            for conversations in CONVERSATIONS:
                share = abilities_covered(levels, conversations, studies, one_best=one_best)
                design = f"{name}, {'SOBA' if one_best else 'SATA'}, {conversations} conversations"
                checks.append(Check(f"{design}: abilities", f"{share:.1%}", "93-97 %", 0.93 <= share <= 0.97))
    return checks


def board_checks(studies: int) -> list[Check]:
    """Return the coverage of differences on boards of live campaigns."""
    checks = []
    for name in ("two", "four", "eight"):
        for one_best in (False, True):
            for conversations in CONVERSATIONS:
                found = boards_tally(ABILITIES[name], conversations, studies, one_best=one_best)
                design = f"{name}, {'SOBA' if one_best else 'SATA'}, {conversations} conversations"
                told = f"{found.covered:.1%} (SE {found.se:.3f}, RMSE {found.rmse:.3f}, {found.rmse_of_selections:.3f})"
                checks.append(Check(f"{design}: boards", told, "93-97 %", 0.93 <= found.covered <= 0.97))
    return checks


def rejected_modes(levels: tuple[float, ...], conversations: int, studies: int) -> float:
    """Return the share of mode tests that reject although the mode makes no difference."""
    rng, k = np.random.default_rng(5), len(levels)
    truth = abilities_of([study(levels, _MANY, rng)])
    covariance = STATIC_SE**2 * (np.eye(k) - 1.0 / k)
    rejected = []
    for _ in range(studies):
        live = abilities_of([study(levels, conversations, rng)])
        static = truth.ability + rng.multivariate_normal(np.zeros(k), covariance)
        modes = (
            ModeAbilities(truth.chatbots, static, covariance),
            ModeAbilities(live.chatbots, live.ability, live.covariance, live.conversations),
        )
        rejected.append(mode_test(*modes).p <= 0.05)
    return float(np.mean(rejected))


def mode_checks(studies: int) -> list[Check]:
    """Return false rejections of the test that decides on one board or two."""
    checks = []
    for name in ("two", "four"):
        for conversations in CONVERSATIONS:
            share = rejected_modes(ABILITIES[name], conversations, studies)
            design = f"{name}, {conversations} conversations"
            checks.append(Check(f"{design}: false rejections of equal modes", f"{share:.1%}", "<= 7 %", share <= 0.07))
    return checks


if __name__ == "__main__":
    sys.exit(main())
