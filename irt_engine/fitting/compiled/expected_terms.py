"""Expected gradient and information of the cells: slot by slot, block by block of its cells."""

from __future__ import annotations

import numpy as np

from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import Approximation, CellData, CellEffect, KernelResults, SlotData

from .lanes import add_sums, clear, fold, gather, new_lanes, new_sums, place_lanes
from .points import cholesky, new_points, place_points, theta_roots
from .ratings import net_edges, net_log
from .votes import vote_edges

LANES = 1024  # cells times points that are worked on together: what is known of them fits the nearer caches


@compiled
def expected_terms(
    slots: tuple[int, int],
    cells: CellData,
    prompts: SlotData,
    q: Approximation,
    effect: CellEffect,
    observed: bool,
    logs: bool,
    out: KernelResults,
) -> bool:
    """Fill `out` as `reference.expected_terms` does; False where a covariance of q has no root."""
    (E, G), (Q, P) = prompts.spread.shape, (len(prompts.points), prompts.phi.shape[1])
    block = max(1, LANES // Q)
    most = 1
    for j in range(slots[0], slots[1]):
        most = max(most, cells.starts[j + 1] - cells.starts[j])
    lower, root = np.zeros((P, P)), np.zeros((P + 1, most))
    points, sums, lanes = new_points(P, E, G, Q), new_sums(E, Q), new_lanes(E, min(most, block) * Q)
    for j in range(slots[0], slots[1]):
        first, last, here = cells.starts[j], cells.starts[j + 1], j - slots[0]
        if q.averaged and not (cholesky(q.slot[here], lower) and theta_roots(first, last, here, cells, q, lower, root)):
            return False
        place_points(j, prompts, q.averaged, lower, points)
        clear(sums)
        for k in range(3):
            out.sums[j, k] = 0.0
        for start in range(first, last, block):
            stop = min(start + block, last)
            place_lanes(
                cells.theta[start:stop], q.averaged, root[:, start - first : stop - first], prompts, points.alpha, lanes
            )
            if cells.counts.shape[1] == 3:
                vote_edges(cells.counts[start:stop], cells.repeated[start:stop], points, effect, observed, logs, lanes)
            else:
                net_edges(cells.counts[start:stop, 0], points, observed, lanes)
                if logs:
                    net_log(cells.counts[start:stop, 0], points, lanes)
            gather(start, stop - start, cells, prompts, points, lanes, sums, out)
            add_sums(j, start, stop - start, Q, cells, logs, lanes, out)
        fold(j, points, sums, out)
    return True
