"""Net ratings: scores and information of their edges (`reference_ratings` has the equations)."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.compilation import compiled

from .lanes import Lanes
from .points import SlotPoints


@compiled
def net_edges(category: FloatArray, points: SlotPoints, observed: bool, lanes: Lanes) -> None:
    """Fill score, information and the information beside its diagonal, of all edges; category (m,)."""
    (E, Q), m = points.edge.shape, len(category)
    for c in range(E):
        for q in range(Q):
            below, above, edge = points.odds[c, q], points.odds[c + 1, q], points.edge[c, q]
            edge_after = points.edge[c + 1, q] if c + 1 < E else np.inf
            low = lanes.low[q * m : (q + 1) * m]
            score, info = lanes.score[c, q * m : (q + 1) * m], lanes.info[c, q * m : (q + 1) * m]
            off = lanes.off[c + 1, q * m : (q + 1) * m]
            for i in range(m):
                F = 1.0 / (1.0 + low[i] * edge)
                won, lost = 1.0 if category[i] == c + 1.0 else 0.0, 1.0 if category[i] == c else 0.0
                score[i] = won * (1.0 - F + above) - lost * (F + below)
            if observed:
                for i in range(m):
                    F = 1.0 / (1.0 + low[i] * edge)
                    won, lost = 1.0 if category[i] == c + 1.0 else 0.0, 1.0 if category[i] == c else 0.0
                    info[i] = (won + lost) * F * (1.0 - F) + won * above * (1.0 + above) + lost * below * (1.0 + below)
                    off[i] = -won * above * (1.0 + above)
            else:
                for i in range(m):
                    F, after = 1.0 / (1.0 + low[i] * edge), 1.0 / (1.0 + low[i] * edge_after)
                    info[i] = F * (1.0 - F) * (1.0 + below + above)
                    off[i] = -after * (1.0 - after) * (1.0 - F + above)


@compiled
def net_log(category: FloatArray, points: SlotPoints, lanes: Lanes) -> None:
    """Fill the log-likelihood."""
    (E, Q), m = points.edge.shape, len(category)
    for q in range(Q):
        for i in range(m):
            k, low = int(category[i]), lanes.low[q * m + i]
            log = -np.log1p(points.odds[k, q])
            if k > 0:
                log -= np.log1p(low * points.edge[k - 1, q])
            if k < E:
                log -= np.log1p(1.0 / (low * points.edge[k, q]))
            lanes.log[q * m + i] = log
