"""Comparisons of turns with more than two chatbots, in which no selection counts twice.

All pairs of a turn would use each selection several times. Of a turn in which the best reply was selected, the best
meets one of the others at random: by Luce's choice axiom, its chance to win against that one does not depend on the
rest. Any other turn is split at random into pairs, and of an odd number of chatbots one is left out. The draw depends
on the turn's prompt alone, so that every fit draws the same.
"""

import hashlib
from collections.abc import Collection, Sequence

Comparison = tuple[int, int, int]


def turn_comparisons(
    prompt: int, entrants: Sequence[int], selected: Collection[int | None], *, one_best: bool
) -> list[Comparison]:
    """Return pairs of a turn's entrants, each with its outcome.

    The outcome is -1 if only the first was selected, 1 if only the second, 0 if both or neither.
    """
    drawn = sorted(entrants, key=lambda entrant: hashlib.sha256(b"%d:%d" % (prompt, entrant)).digest())
    best = [entrant for entrant in drawn if entrant in selected]
    if one_best and len(best) == 1:
        pairs = [(best[0], next(entrant for entrant in drawn if entrant != best[0]))]
    else:
        pairs = list(zip(drawn[::2], drawn[1::2], strict=False))
    return [(first, second, (second in selected) - (first in selected)) for first, second in map(sorted, pairs)]
