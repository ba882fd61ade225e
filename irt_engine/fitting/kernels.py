"""The hot loops: what the cells of each slot say, averaged over the Gaussian q of their parameters.

Notation (grm.py has the model): a slot's parameters are phi = (log alpha, [location], log gaps), P in all; edge c of a
cell is x_c = alpha (theta - b_c), E in all. Everything the likelihood says passes through its edges, as a score (E,)
and a tridiagonal information T, (E,) + (E - 1,), because a category has at most two edges. From there

    dx_c / dtheta = alpha = -dx_c / dlocation,   dx_c / dlog alpha = x_c,   dx_c / dgap_g = -alpha e^gap_g spread_cg.

q of a cell is normal. Its sigma points are laid out with phi first and theta last: then all but theta belongs to the
slot and is computed once a point. The cells of a slot at its points lie side by side in memory, in lanes, so that the
processor works on several at a time, however few cells a slot has. The compiler sees to that only where it can tell
that rows of lanes do not overlap; of rows of one flat array, a constant apart, it can. As arrays of their own, the same
loops take four times as long, and so they do where an index may be negative (a lane that is an argument).

All in one file: the machine code that is kept on disk is made anew when its own file changes, not when another does.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.compilation import compiled
from irt_engine.models.thresholds import FARTHEST

# Cells times points that are worked on together: what is known of them fits the nearer caches. Not a power of 2: rows
# that lie 2,048 bytes apart wait for each other, a sixth of the whole time.
LANES = 248
WIDE = 8  # lanes that the widest processors work on at a time: each point's cells fill whole ones, some lanes idle
TOGETHER = 4  # coordinates of a point whose part in theta is added at a time
MOST_GAPS = 5  # of a slot: as many as the widest shape of thresholds has

# Of a lane, which is a cell at a point:
AT = 0 * LANES  # alpha theta
LOW = 1 * LANES  # exp(-alpha theta)
HEAVY = 2 * LANES  # weight
# Of the edge that is looked at:
SCORE = 3 * LANES
INFO = 4 * LANES  # information
OFF = 5 * LANES  # information with the next edge
EARLIER = 6 * LANES  # with the one before
HELD = 7 * LANES  # heavy T 1
# What a form of votes keeps for itself:
OWN = 8 * LANES
_OWN_ROWS = 20
# Sums over the edges:
PULL = (8 + _OWN_ROWS) * LANES  # heavy score
BENT = PULL + LANES  # heavy x' T 1
ALONG = BENT + LANES  # heavy T 1, over all edges; and a row for each gap behind it, spread' of it
SIZE = ALONG + (1 + MOST_GAPS) * LANES

# Of a point, rows of a table: sums over its cells, E rows of each
WEIGHED, BESIDE, DRAWN, LEANING = range(4)  # of T, beside its diagonal, of score; at T 1
EDGE_ROWS = 4
# and behind them one of each
TURNED, SQUARED = range(2)  # at score, at^2 T 1, over all edges
POINT_ROWS = 2

POWER = OWN  # of 2, while exp(-alpha theta) is made

# Net ratings
CATEGORY = OWN
F = OWN + LANES  # of this edge
HIGHER = OWN + 2 * LANES  # and of the next

# Votes
NODES = 9  # of the quadrature over the cell effect: known when this is compiled, so that its loop is unrolled
ADAPTIVE_FROM = 7  # votes in a cell: from here the cell effect's quadrature is centred on where its votes put it
MOST_FEW = 3  # votes in a cell: up to here their chances are products, and outcomes are few enough to go through
_FACTORIAL = np.array([1.0, 1.0, 2.0, 6.0])
_LEAST_CHANCE = 1e-300  # its logarithm is finite

Y0, Y1 = OWN, OWN + LANES  # odds against, without the cell effect
A, T, B = OWN + 2 * LANES, OWN + 3 * LANES, OWN + 4 * LANES  # votes: A better, tie, B better
LOSE, TIE, WIN = OWN + 5 * LANES, OWN + 6 * LANES, OWN + 7 * LANES  # their chances, over the nodes
D0, D1 = OWN + 8 * LANES, OWN + 9 * LANES  # F' of both edges
E0, E1 = OWN + 10 * LANES, OWN + 11 * LANES  # F' e / sd
C0, C1 = OWN + 12 * LANES, OWN + 13 * LANES  # F''
SCORE1, INFO1 = OWN + 14 * LANES, OWN + 15 * LANES  # of edge 1
BY_SD = OWN + 16 * LANES  # score by log sd
CHANCE = OWN + 17 * LANES  # of the votes that were given
LOG = OWN + 18 * LANES  # of that of many votes, in its place

# Of few votes in a cell, rows of lanes of such cells alone: so short that all of them fit the nearest cache
FEW = 64
FEW_Y0, FEW_Y1 = 0 * FEW, 1 * FEW  # as Y0, Y1
FEW_A, FEW_T, FEW_B = 2 * FEW, 3 * FEW, 4 * FEW  # votes
ODDS = 5 * FEW  # 1 / (e^gap - 1)
CHANCE_A, CHANCE_T, CHANCE_B = 6 * FEW, 7 * FEW, 8 * FEW  # at a node, that of a tie but for the gap
GIVEN = 9 * FEW  # p, that of the votes that were given, times the node's weight
SUM, SUM0, SUM1 = 10 * FEW, 11 * FEW, 12 * FEW  # over the nodes: E p, E p F0, E p F1
SUM00, SUM01, SUM11 = 13 * FEW, 14 * FEW, 15 * FEW  # E p F F; or what outcomes add up to
MOVED = 16 * FEW  # E p e / sd d log p / dx
# Over the nodes, of 4 votes' outcomes, E p: A's before ties before B's; of 3 votes behind them
MOMENTS = 17 * FEW
(
    AAAA, AAAT, AAAB, AATT, AATB, AABB, ATTT, ATTB, ATBB, ABBB, TTTT, TTTB, TTBB, TBBB, BBBB,
) = range(MOMENTS, MOMENTS + 15 * FEW, FEW)  # fmt: skip
OF_THREE = MOMENTS + 15 * FEW

# Of many votes in a cell, in the place of chances and moments
LOG_Y0, LOG_Y1 = 6 * FEW, 7 * FEW
MOVES = 8 * FEW  # 1 where the nodes are moved
CENTRE, WIDTH = 17 * FEW, 18 * FEW  # of the nodes, in e / sd
PLACE = 19 * FEW  # of a node, in the same
MOST = 20 * FEW  # the largest part of the votes' chance that a node has, its logarithm, but for ties' gap
SLOPE, CURVE = 21 * FEW, 22 * FEW  # of the logarithm of that chance and the prior's; at a node F of both edges
INFO00, INFO01, INFO11 = 23 * FEW, 24 * FEW, 25 * FEW  # of one vote
EXP, POWER_OF_2 = 26 * FEW, 27 * FEW  # an exponential, in the place of its argument; its power of 2
ARGUMENT, LOGARITHM, MANTISSA = 28 * FEW, 29 * FEW, 30 * FEW  # a logarithm, what it is of, and that but for powers of 2
BETTER = 31 * FEW  # log F of edge 1
KEPT = 32 * FEW  # at each node: F of both edges, place, logarithm of its part of the chance
FEW_SIZE = KEPT + 4 * NODES * FEW

_PER_LOG2, _LOG2_HIGH, _LOG2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
_T = tuple(1.0 / factorial(k) for k in range(14))  # of the series
_ATANH = tuple(2.0 / (2 * k + 1) for k in range(11))  # of twice its series
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of the root of a half
_MOST_EXP = 700.0  # either way an exponential is still a normal number
_FARTHEST_ODDS = 300.0  # log
_FARTHEST_EDGE = 150.0  # the product of four exponentials of it is still finite
_SMALLEST_GAP = 1e-7  # two thresholds never quite meet, so that no category has probability 0


@compiled
def average_slots(
    slots: IntArray,  # (2,) first and last + 1
    starts: IntArray,  # (J + 1,) where each slot's cells begin
    averaged: bool,  # over the sigma points, or at the mean alone
    theta: FloatArray,  # (n,) means
    counts: FloatArray,  # (n, 1) category of a net rating, or (n, 3) votes
    weight: FloatArray,  # (n,)
    again: BoolArray,  # (n,) from which the cell effect's sd is learned
    phi: FloatArray,  # (J, P) means, the common log gaps included
    located: bool,
    spread: FloatArray,  # (E, G)
    points: FloatArray,  # (Q, P + 1), of equal weight; phi first, theta last
    col: IntArray,  # (n, k)
    coef: FloatArray,  # (n, k)
    covariance: FloatArray,  # (S, S) of the shaft
    pulled: FloatArray,  # (slots, W, S) covariance of phi, and of replies behind it, with the shaft, of these slots
    of_phi: FloatArray,  # (slots, W, W) covariance of phi and replies, of these slots
    own_replies: IntArray,  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without
    effects: FloatArray,  # (5, nodes) of the cell effect; without votes not looked at
    observed: bool,  # information: observed of the edges, or expected
    logs: bool,  # whether the log-likelihood is asked for
    d_theta: FloatArray,  # (n,)         out: gradient, weighted
    d_phi: FloatArray,  # (J, P)         out
    i_theta: FloatArray,  # (n,)         out: information
    cross: FloatArray,  # (n, P)         out: theta x phi
    i_phi: FloatArray,  # (J, P, P)      out
    sums: FloatArray,  # (J, 3)          out: log-likelihood, its derivative by log sd, sum of squares of that
) -> bool:
    """Expected log-likelihood of some slots' cells under q, its gradient and information. False: q has no root."""
    E, P, Q, most = len(spread), phi.shape[1], len(points) if averaged else 1, 1
    for j in range(slots[0], slots[1]):
        most = max(most, starts[j + 1] - starts[j])
    share = 1.0 / Q
    use, votes, kinds = _deepened(points, averaged), counts.shape[1] == 3, (False, False, False, False)
    lower, reach = np.zeros((P, P)), np.zeros((use.shape[1], most + WIDE))
    alpha, crossed = np.empty(Q), np.empty((1 + spread.shape[1], Q))
    level, edge, odds, jacobian = np.empty((E, Q)), np.empty((E, Q)), np.zeros((E + 1, Q)), np.empty((P, E, Q))
    told, few, lanes = np.empty(6), np.zeros(FEW_SIZE), np.zeros(SIZE)
    bits, held = lanes.view(np.int64), np.empty((2, E * Q))
    by_cell, of_points = np.empty((P + 3, LANES)), np.empty((EDGE_ROWS * E + POINT_ROWS, Q))
    along, value = np.ascontiguousarray(use.T), np.empty((P, Q))
    for j in range(slots[0], slots[1]):
        first, cells, here = starts[j], starts[j + 1] - starts[j], j - slots[0]
        if averaged:
            if not _reach_slot(
                first, cells, col, coef, covariance, pulled[here], of_phi[here], own_replies, lower, reach
            ):
                return False
        else:
            lower[:] = 0.0
            reach[:, :cells] = 0.0
        _place_points(
            phi[j], lower, along, located, spread, lanes, bits, value, alpha, crossed, jacobian, level, edge, odds
        )
        sums[j], of_points[:] = 0.0, 0.0
        for offset in range(0, cells, LANES):
            m = min(LANES, cells - offset)
            wide = WIDE * ((m - 1) // WIDE + 1)
            block = (first + offset, m, wide)
            by_cell[:, :wide] = 0.0
            together = min(LANES // wide, Q)
            if votes:
                kinds = _place_votes(block, together, counts, again, lanes)
            for q in range(0, Q, together):
                count = min(together, Q - q)
                n = wide * count
                _place_lanes(block, offset, (q, count), theta, weight, reach, use, alpha, lanes)
                exp_low(n, lanes, bits)
                clear(n, 1 + spread.shape[1], lanes)
                part = (q, count, wide)
                if votes:
                    ask_votes(
                        block, kinds, edge[:, q : q + count], odds[1, q : q + count], counts, effects, observed, told,
                        few, lanes, by_cell[P + 2],
                    )  # fmt: skip
                    if logs:
                        sums[j, 0] += share * vote_log(n, lanes)
                else:
                    place_ratings(counts, block, edge, q, count, lanes)
                    if logs:
                        sums[j, 0] += share * net_log(m, edge[:, q], odds[:, q], lanes)
                for c in range(E):
                    if not votes:
                        net_edge(c, part, edge, odds, observed, lanes)
                    elif c == 1:
                        second_edge(n, lanes)
                    gather_edge(c, part, spread, level, lanes, of_points)
                gather_point(part, lanes, of_points[EDGE_ROWS * E :])
                _sum_cells(part, alpha, crossed, located, lanes, by_cell)
            sums[j, 1:] += _write_cells(block, share, by_cell, again, weight, d_theta, i_theta, cross)
        _fold(jacobian, level, of_points, held, d_phi[j], i_phi[j])
    return True


@compiled
def _deepened(points: FloatArray, averaged: bool) -> FloatArray:
    """(Q, deep) the points with coordinates that are 0 behind theirs, as many as are gone through together; the mean
    alone if nothing is averaged."""
    deep = TOGETHER * ((points.shape[1] - 1) // TOGETHER + 1)
    if not averaged:
        return np.zeros((1, deep))
    use = np.zeros((len(points), deep))
    use[:, : points.shape[1]] = points
    return use


@compiled
def _write_cells(
    block: tuple[int, int, int],
    share: float,
    by_cell: FloatArray,
    again: BoolArray,
    weight: FloatArray,
    d_theta: FloatArray,
    i_theta: FloatArray,
    cross: FloatArray,
) -> FloatArray:
    """The cells' sums over the points, as averages. Returns what their scores by log sd, and the squares, add up to: of
    cells that were voted on again (`scales`)."""
    (first, m, _), P, by_sd = block, cross.shape[1], np.zeros(2)
    for i in range(m):
        cell = first + i
        d_theta[cell], i_theta[cell] = share * by_cell[P, i], share * by_cell[P + 1, i]
        for p in range(P):
            cross[cell, p] = share * by_cell[p, i]
        if again[cell]:
            score = share * by_cell[P + 2, i]
            by_sd[0] += weight[cell] * score
            by_sd[1] += weight[cell] * score**2
    return by_sd


@compiled
def _reach_slot(
    first: int,
    cells: int,
    col: IntArray,
    coef: FloatArray,
    covariance: FloatArray,
    pulled: FloatArray,
    of_phi: FloatArray,
    own_replies: IntArray,
    lower: FloatArray,
    reach: FloatArray,
) -> bool:
    """Cholesky factors of a slot's cells: lower (P, P) of phi, and of each cell the last row, reach (P + 1, cells).

    Cells lie side by side, so that a step of the elimination is taken for several at a time; idle lanes are 0.
    """
    if not spread_of_slot(of_phi, lower):
        return False
    P, wide = len(lower), WIDE * ((cells - 1) // WIDE + 1)
    left = reach[P]  # of theta's variance
    reach[: P + 1, :wide] = 0.0
    for i in range(cells):
        n = first + i
        for k in range(col.shape[1]):
            at, by = col[n, k], coef[n, k]
            for m in range(col.shape[1]):
                left[i] += by * coef[n, m] * covariance[at, col[n, m]]
            for p in range(P):
                reach[p, i] += by * pulled[p, at]
        if own_replies.shape[1] == 2 and own_replies[n, 0] >= 0:
            low, high = P + own_replies[n, 0], P + own_replies[n, 1]
            left[i] += of_phi[low, low] + of_phi[high, high] - 2.0 * of_phi[low, high]
            for k in range(col.shape[1]):
                left[i] += 2.0 * coef[n, k] * (pulled[high, col[n, k]] - pulled[low, col[n, k]])
            for p in range(P):
                reach[p, i] += of_phi[p, high] - of_phi[p, low]
    for p in range(P):
        row = reach[p]
        for c in range(p):
            by, known = lower[p, c], reach[c]
            for i in range(wide):
                row[i] -= by * known[i]
        by = 1.0 / lower[p, p]
        for i in range(wide):
            row[i] *= by
        for i in range(wide):
            left[i] -= row[i] * row[i]
    for i in range(cells):
        if not left[i] > -1e-9:
            return False
    for i in range(wide):
        left[i] = np.sqrt(max(left[i], 0.0))
    return True


@compiled
def turned_by_theta(
    slots: IntArray,  # (2,) first and last + 1
    starts: IntArray,  # (J + 1,)
    col: IntArray,  # (n, k)
    coef: FloatArray,  # (n, k)
    covariance: FloatArray,  # (S, S) of the shaft
    pulled: FloatArray,  # (slots, W, S) covariance of phi, and of replies behind it, with the shaft, of these slots
    of_phi: FloatArray,  # (slots, W, W) covariance of phi and replies, of these slots
    own_replies: IntArray,  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without
    i_theta: FloatArray,  # (n,) information
    parameters: int,  # P
    turned: FloatArray,  # (J,)          out: sum over cells of i_theta var(theta | log alpha)
) -> bool:
    """What each slot's cells leave open of theta where log alpha is known, weighed with what they say of it. False: the
    covariance has no root."""
    lower = np.zeros((parameters, parameters))
    for j in range(slots[0], slots[1]):
        first, cells, here = starts[j], starts[j + 1] - starts[j], j - slots[0]
        reach = np.zeros((parameters + 1, cells + WIDE))
        if not _reach_slot(first, cells, col, coef, covariance, pulled[here], of_phi[here], own_replies, lower, reach):
            return False
        turned[j] = 0.0
        for i in range(cells):
            for p in range(1, parameters + 1):  # the first coordinate is log alpha's
                turned[j] += i_theta[first + i] * reach[p, i] ** 2
    return True


@compiled
def spread_of_slot(covariance: FloatArray, lower: FloatArray) -> bool:
    """Cholesky factor of one slot's covariance of phi, the first (P, P) of it, in place of a library call; False if it
    is not positive."""
    P = len(lower)
    for r in range(P):
        for c in range(r + 1):
            total = covariance[r, c]
            for k in range(c):
                total -= lower[r, k] * lower[c, k]
            if r == c:
                if not total > 0.0:
                    return False
                lower[r, r] = np.sqrt(total)
            else:
                lower[r, c] = total / lower[c, c]
    return True


@compiled
def _place_points(
    phi: FloatArray,  # (P,) mean
    lower: FloatArray,
    along: FloatArray,  # (deep, Q) points, a row for each coordinate
    located: bool,
    spread: FloatArray,  # (E, G)
    lanes: FloatArray,
    bits: IntArray,
    value: FloatArray,  # (P, Q) to work in
    alpha: FloatArray,  # (Q,)          out
    crossed: FloatArray,  # (1 + G, Q)  out: alpha^2; and of each gap -alpha^2 e^gap
    jacobian: FloatArray,  # (P, E, Q)     out: dx_c / dphi_p, but not by log alpha
    level: FloatArray,  # (E, Q)        out: alpha b_c
    edge: FloatArray,  # (E, Q)         out: exp(level)
    odds: FloatArray,  # (E + 1, Q)     out: 1 / (e^gap - 1) of the gap below an edge; 0 outside
) -> None:
    """One slot at all of its points, which lie side by side."""
    (E, G), (P, Q) = spread.shape, value.shape
    first = P - G
    for p in range(P):
        for q in range(Q):
            value[p, q] = phi[p]
        for r in range(p + 1 if Q > 1 else 0):  # a single point is the mean
            by = lower[p, r]
            for q in range(Q):
                value[p, q] += by * along[r, q]
    for q in range(Q):
        crossed[0, q] = min(max(value[0, q], -FARTHEST), FARTHEST)
    for g in range(G):
        for q in range(Q):
            crossed[1 + g, q] = min(max(value[first + g, q], -FARTHEST), FARTHEST)
    exp_all(crossed.reshape(-1), lanes, bits)
    for q in range(Q):
        alpha[q] = crossed[0, q]
    for g in range(G):
        for q in range(Q):
            crossed[1 + g, q] *= -alpha[q]
    for c in range(E):
        for q in range(Q):
            level[c, q] = alpha[q] * value[1, q] if located else 0.0
        for q in range(Q if located else 0):
            jacobian[1, c, q] = -alpha[q]
        for g in range(G):
            by = spread[c, g]
            for q in range(Q):
                jacobian[first + g, c, q] = by * crossed[1 + g, q]
                level[c, q] -= by * crossed[1 + g, q]
        for q in range(Q):
            level[c, q] = min(max(level[c, q], -_FARTHEST_EDGE), _FARTHEST_EDGE)
            edge[c, q] = level[c, q]
        for q in range(Q if c > 0 else 0):
            odds[c, q] = min(max(level[c, q] - level[c - 1, q], _SMALLEST_GAP), 700.0)
    for g in range(1 + G):
        for q in range(Q):
            crossed[g, q] *= alpha[q]
    exp_all(edge.reshape(-1), lanes, bits)
    gaps = odds[1:E].reshape(-1)
    exp_less_one_all(gaps, lanes, bits)
    for q in range(len(gaps)):
        gaps[q] = 1.0 / gaps[q]


@compiled
def _place_lanes(
    block: tuple[int, int, int],
    offset: int,
    part: tuple[int, int],
    theta: FloatArray,
    weight: FloatArray,
    reach: FloatArray,  # (deep, cells)
    points: FloatArray,  # (Q, deep)
    alpha: FloatArray,
    lanes: FloatArray,
) -> None:
    """alpha theta of a block of cells at some points, and the cells' weights; 0 in idle lanes."""
    (first, m, wide), (q, count) = block, part
    for k in range(count):
        lane = k * wide
        for i in range(m):
            lanes[AT + lane + i], lanes[HEAVY + lane + i] = theta[first + i], weight[first + i]
        for i in range(m, wide):
            lanes[AT + lane + i], lanes[HEAVY + lane + i] = 0.0, 0.0
    for c in range(0, points.shape[1], TOGETHER):
        r0, r1 = reach[c, offset : offset + wide], reach[c + 1, offset : offset + wide]
        r2, r3 = reach[c + 2, offset : offset + wide], reach[c + 3, offset : offset + wide]
        for k in range(count):
            move, lane = points[q + k], k * wide
            m0, m1, m2, m3 = move[c], move[c + 1], move[c + 2], move[c + 3]
            for i in range(wide):
                lanes[AT + lane + i] += r0[i] * m0 + r1[i] * m1 + r2[i] * m2 + r3[i] * m3
    for k in range(count):
        lane = k * wide
        for i in range(wide):
            lanes[AT + lane + i] = min(max(alpha[q + k] * lanes[AT + lane + i], -_FARTHEST_EDGE), _FARTHEST_EDGE)


@compiled
def exp_low(n: int, lanes: FloatArray, bits: IntArray) -> None:
    """exp(-alpha theta) of all lanes at a time, to the last digit or so; `bits` are those of the same `lanes`."""
    _exp_parts(n, lanes, bits)
    for i in range(n):
        lanes[LOW + i] = lanes[POWER + i] * lanes[LOW + i] + lanes[POWER + i]


@compiled
def _exp_less_one(r: float) -> float:
    """exp(r) - 1 of r within half a log 2 of 0, by its series."""
    high = ((((_T[13] * r + _T[12]) * r + _T[11]) * r + _T[10]) * r + _T[9]) * r + _T[8]
    middle = (((high * r + _T[7]) * r + _T[6]) * r + _T[5]) * r + _T[4]
    return (((middle * r + _T[3]) * r + _T[2]) * r + 1.0) * r


@compiled
def _exp_parts(n: int, lanes: FloatArray, bits: IntArray) -> None:
    """Of exp(-alpha theta) = 2^k exp(r), r at most half a log 2: 2^k, and in place of the result exp(r) - 1, by its
    series. The library's exp is called lane by lane."""
    for i in range(n):
        x = -lanes[AT + i]
        k = np.floor(x * _PER_LOG2 + 0.5)
        r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
        lanes[LOW + i] = _exp_less_one(r)
        bits[POWER + i] = (np.int64(k) + 1023) << 52  # the number 2^k


@compiled
def exp_all(values: FloatArray, lanes: FloatArray, bits: IntArray) -> None:
    """exp of values (n,), in their place; none beyond 700."""
    for a in range(0, len(values), LANES):
        some = values[a : a + LANES]
        for i in range(len(some)):
            lanes[AT + i] = -some[i]
        exp_low(len(some), lanes, bits)
        for i in range(len(some)):
            some[i] = lanes[LOW + i]


@compiled
def exp_less_one_all(values: FloatArray, lanes: FloatArray, bits: IntArray) -> None:
    """exp - 1 of values (n,), in their place, to the last digit or so of the smallest too; none beyond 700."""
    for a in range(0, len(values), LANES):
        some = values[a : a + LANES]
        for i in range(len(some)):
            lanes[AT + i] = -some[i]
        _exp_parts(len(some), lanes, bits)
        for i in range(len(some)):
            some[i] = lanes[POWER + i] * lanes[LOW + i] + (lanes[POWER + i] - 1.0)


@compiled
def _sum_cells(
    part: tuple[int, int, int],
    alpha: FloatArray,  # (Q,)
    crossed: FloatArray,  # (1 + G, Q)
    located: bool,
    lanes: FloatArray,
    by_cell: FloatArray,
) -> None:
    """Add lanes to their cells: rows theta x phi (P), gradient and information of theta."""
    P, wide, first = len(by_cell) - 3, part[2], 2 if located else 1
    _sum_row(BENT, part, alpha, lanes, by_cell[0, :wide])
    _sum_row(PULL, part, alpha, lanes, by_cell[P, :wide])
    _sum_row(ALONG, part, crossed[0], lanes, by_cell[P + 1, :wide])
    for g in range(len(crossed) - 1):
        _sum_row(ALONG + (1 + g) * LANES, part, crossed[1 + g], lanes, by_cell[first + g, :wide])
    for i in range(wide if located else 0):
        by_cell[1, i] = -by_cell[P + 1, i]  # a location moves all edges, and theta the other way


@compiled
def _sum_row(row: int, part: tuple[int, int, int], share: FloatArray, lanes: FloatArray, total: FloatArray) -> None:
    """Add a row of lanes, of some points, to total (wide,), each point's times its share (Q,); two points at a time."""
    first, count, wide = part
    for pair in range(count // 2):
        q, a = first + 2 * pair, row + 2 * pair * wide
        b, end = a + wide, a + 2 * wide
        _add_two(share[q], lanes[a:b], share[q + 1], lanes[b:end], total)
    if count % 2 == 1:
        q, a = first + count - 1, row + (count - 1) * wide
        _add_two(share[q], lanes[a : a + wide], 0.0, lanes[a : a + wide], total)


@compiled
def _add_two(s: float, one: FloatArray, t: float, other: FloatArray, total: FloatArray) -> None:
    for i in range(len(total)):
        total[i] += s * one[i] + t * other[i]


@compiled
def _fold(
    jacobian: FloatArray,  # (P, E, Q)
    level: FloatArray,  # (E, Q)
    of_points: FloatArray,  # (EDGE_ROWS E + POINT_ROWS, Q)
    held: FloatArray,  # (2, E Q) to work in
    d_phi: FloatArray,
    i_phi: FloatArray,
) -> None:
    """All points' gradient of phi (P,) and information about it (P, P), J' T J with J = (x | jacobian).

    Edges and points are gone through in one: a loop over a slot's points alone is too short to be worth its beginning.
    """
    P, E, Q = jacobian.shape
    share, n = 1.0 / Q, E * Q
    flat, of_level, rows = jacobian.reshape(P, n), level.reshape(-1), of_points.reshape(-1)
    T, off = rows[WEIGHED * n : (WEIGHED + 1) * n], rows[BESIDE * n : (BESIDE + 1) * n]
    drawn, leaning = rows[DRAWN * n : (DRAWN + 1) * n], rows[LEANING * n : (LEANING + 1) * n]
    turned, squared = of_points[EDGE_ROWS * E + TURNED], of_points[EDGE_ROWS * E + SQUARED]
    across, bent = held[0], held[1]
    _hold(Q, T, off, of_level, across)
    score, slope = 0.0, 0.0
    for i in range(n):
        bent[i] = leaning[i] - across[i]  # T x
        score -= of_level[i] * drawn[i]
        slope += of_level[i] * (across[i] - 2.0 * leaning[i])
    for q in range(Q):
        score += turned[q]
        slope += squared[q]
    d_phi[0], i_phi[0, 0] = share * score, share * slope
    for p in range(1, P):
        score, slope, bend = 0.0, 0.0, flat[p]
        for i in range(n):
            score += bend[i] * drawn[i]
            slope += bend[i] * bent[i]
        d_phi[p] = share * score
        i_phi[0, p] = i_phi[p, 0] = share * slope
    for r in range(1, P):
        _hold(Q, T, off, flat[r], across)
        for p in range(1, r + 1):
            total, bend = 0.0, flat[p]
            for i in range(n):
                total += bend[i] * across[i]
            i_phi[p, r] = i_phi[r, p] = share * total


@compiled
def _hold(Q: int, T: FloatArray, off: FloatArray, edges: FloatArray, held: FloatArray) -> None:
    """held (E Q,) = T edges, a tridiagonal matrix for each of Q points."""
    n, next_edges, next_held = len(edges), edges[Q:], held[Q:]
    for i in range(n):
        held[i] = T[i] * edges[i]
    for i in range(n - Q):
        held[i] += off[i] * next_edges[i]
    for i in range(n - Q):
        next_held[i] += off[i] * edges[i]


@compiled
def clear(n: int, rows: int, lanes: FloatArray) -> None:
    """Sums over the edges begin."""
    for i in range(n):
        lanes[PULL + i], lanes[BENT + i] = 0.0, 0.0
    for p in range(rows):
        row = ALONG + p * LANES
        for i in range(n):
            lanes[row + i] = 0.0


@compiled
def gather_edge(
    c: int,
    part: tuple[int, int, int],  # (first point, points, lanes a point)
    spread: FloatArray,  # (E, G)
    level: FloatArray,  # (E, points)
    lanes: FloatArray,
    of_points: FloatArray,  # (EDGE_ROWS E + POINT_ROWS, points)
) -> None:
    """Add the edge that is looked at to its cells' sums and its points'."""
    (E, G), (first, count, wide) = spread.shape, part
    for k in range(count):
        of_edge = level[c, first + k]
        weighed, beside, drawn, leaning = 0.0, 0.0, 0.0, 0.0
        lane = k * wide
        for i in range(wide):
            at, heavy = lanes[AT + lane + i], lanes[HEAVY + lane + i]
            info, off, score = (
                heavy * lanes[INFO + lane + i],
                heavy * lanes[OFF + lane + i],
                heavy * lanes[SCORE + lane + i],
            )
            held = heavy * lanes[EARLIER + lane + i] + info + off
            lanes[HELD + lane + i] = held
            lanes[ALONG + lane + i] += held
            lanes[PULL + lane + i] += score
            lanes[BENT + lane + i] += held * (at - of_edge)
            weighed += info
            beside += off
            drawn += score
            leaning += at * held
        q = first + k
        of_points[WEIGHED * E + c, q] += weighed
        of_points[BESIDE * E + c, q] += beside
        of_points[DRAWN * E + c, q] += drawn
        of_points[LEANING * E + c, q] += leaning
    for g in range(G):
        share, row = spread[c, g], ALONG + LANES + g * LANES
        if share != 0.0:
            for i in range(count * wide):
                lanes[row + i] += share * lanes[HELD + i]


@compiled
def gather_point(part: tuple[int, int, int], lanes: FloatArray, of_points: FloatArray) -> None:
    """Add what all edges say together to the points' sums, of_points (POINT_ROWS, points)."""
    first, count, wide = part
    for k in range(count):
        turned, squared, lane = 0.0, 0.0, k * wide
        for i in range(wide):
            at = lanes[AT + lane + i]
            turned += at * lanes[PULL + lane + i]
            squared += at * at * lanes[ALONG + lane + i]
        of_points[TURNED, first + k] += turned
        of_points[SQUARED, first + k] += squared


@compiled
def place_ratings(
    counts: FloatArray, block: tuple[int, int, int], edge: FloatArray, q: int, count: int, lanes: FloatArray
) -> None:
    """The cells' categories, before their first edge."""
    first, m, wide = block
    for k in range(count):
        to_edge, lane = edge[0, q + k], k * wide
        for i in range(m):
            lanes[CATEGORY + lane + i] = counts[first + i, 0]
        for i in range(wide):
            lanes[HIGHER + lane + i] = 1.0 / (1.0 + lanes[LOW + lane + i] * to_edge)
            lanes[OFF + lane + i] = 0.0


@compiled
def net_edge(
    c: int,
    part: tuple[int, int, int],  # (first point, points, lanes a point)
    edge: FloatArray,  # (E, points) exp(level)
    odds: FloatArray,  # (E + 1, points) 1 / (e^gap - 1) of the gap below each edge; 0 outside
    observed: bool,
    lanes: FloatArray,
) -> None:
    """Score and information, expected or `observed`, of edge c."""
    E, (q, count, wide) = len(edge), part
    for i in range(count * wide):
        lanes[F + i], lanes[EARLIER + i] = lanes[HIGHER + i], lanes[OFF + i]
    for k in range(count):
        below, above = odds[c, q + k], odds[c + 1, q + k]
        to_edge = edge[c + 1, q + k] if c + 1 < E else np.inf
        lane = k * wide
        for i in range(wide):
            at, higher = lanes[F + lane + i], 1.0 / (1.0 + lanes[LOW + lane + i] * to_edge)
            lanes[HIGHER + lane + i] = higher
            lanes[INFO + lane + i] = at * (1.0 - at) * (1.0 + below + above)
            lanes[OFF + lane + i] = -higher * (1.0 - higher) * (1.0 - at + above)
            won = 1.0 if lanes[CATEGORY + lane + i] == c + 1.0 else 0.0
            lost = 1.0 if lanes[CATEGORY + lane + i] == c else 0.0
            lanes[SCORE + lane + i] = won * (1.0 - at + above) - lost * (at + below)
        if observed:
            for i in range(wide):
                own = lanes[F + lane + i] * (1.0 - lanes[F + lane + i])
                won = 1.0 if lanes[CATEGORY + lane + i] == c + 1.0 else 0.0
                lost = 1.0 if lanes[CATEGORY + lane + i] == c else 0.0
                lanes[INFO + lane + i] = won * (own + above * (1.0 + above)) + lost * (own + below * (1.0 + below))
                lanes[OFF + lane + i] = -won * above * (1.0 + above)


@compiled
def net_log(n: int, edge: FloatArray, odds: FloatArray, lanes: FloatArray) -> float:
    """Weighted log-likelihood of some net ratings at one point, whose edges (E,) and odds (E + 1,) are given."""
    E, total = len(edge), 0.0
    for i in range(n):
        k = int(lanes[CATEGORY + i])
        log_p = -np.log1p(odds[k])
        if k > 0:
            log_p -= np.log1p(lanes[LOW + i] * edge[k - 1])
        if k < E:
            log_p -= np.log1p(1.0 / (lanes[LOW + i] * edge[k]))
        total += lanes[HEAVY + i] * log_p
    return total


@compiled
def ask_votes(
    block: tuple[int, int, int],  # (first cell, cells, lanes a point)
    kinds: tuple[bool, bool, bool, bool],  # of cells there are, as `_place_votes` tells
    edge: FloatArray,  # (2, points) exp(level)
    odds: FloatArray,  # (points,) 1 / (e^gap - 1)
    counts: FloatArray,  # (cells, 3) votes: A better, tie, B better
    effects: FloatArray,  # (5, nodes): e / sd and weights of a Gauss-Hermite rule, exp(-e), sd, and what x is times
    observed: bool,  # information: observed, or expected
    told: FloatArray,  # (6,) to work in
    few: FloatArray,  # (FEW_SIZE,) to work in
    lanes: FloatArray,
    by_sd: FloatArray,  # (cells,)   added to: the score by log sd
) -> None:
    """Score and information of both edges; edge 0's are the ones that are looked at (`second_edge`)."""
    first, m, wide = block
    n = wide * len(odds)
    for k in range(len(odds)):
        to0, to1 = edge[0, k], edge[1, k]
        lane = k * wide
        for i in range(wide):
            lanes[Y0 + lane + i], lanes[Y1 + lane + i] = to0 * lanes[LOW + lane + i], to1 * lanes[LOW + lane + i]
            lanes[EARLIER + lane + i] = 0.0
    singles, fews, rest, learned = kinds
    if effects.shape[1] != NODES:
        _sum_pooled_nodes(wide, odds, effects, lanes)
        _single_votes(wide, odds, effects[3, 0], observed, lanes)
        if fews or rest:
            _pooled_cells((first, m, wide), odds, counts, effects, observed, told, lanes)
    else:
        if singles:
            _sum_nodes(n, effects, lanes)
            if observed or learned:
                _sum_bends(n, effects, lanes)
            _single_votes(wide, odds, effects[3, 0], observed, lanes)
        for votes in range(2, MOST_FEW + 1 if fews else 2):
            _few_votes(votes, (m, wide), odds, effects, observed, few, lanes)
        if rest:
            _many_votes((m, wide), odds, effects, observed, few, lanes)
    for k in range(len(odds)):
        for i in range(m):
            by_sd[i] += lanes[BY_SD + k * wide + i]


@compiled
def second_edge(n: int, lanes: FloatArray) -> None:
    """Edge 1 is looked at now."""
    for i in range(n):
        lanes[SCORE + i], lanes[INFO + i] = lanes[SCORE1 + i], lanes[INFO1 + i]
        lanes[EARLIER + i], lanes[OFF + i] = lanes[OFF + i], 0.0


@compiled
def vote_log(n: int, lanes: FloatArray) -> float:
    """Weighted log-likelihood."""
    total = 0.0
    for i in range(n):
        total += lanes[HEAVY + i] * (np.log(lanes[CHANCE + i]) + lanes[LOG + i])
    return total


@compiled
def _is_few(votes: float) -> bool:
    return votes == 2.0 or votes == 3.0


@compiled
def _place_votes(
    block: tuple[int, int, int], points: int, counts: FloatArray, again: BoolArray, lanes: FloatArray
) -> tuple[bool, bool, bool, bool]:
    """The cells' votes at so many points, whichever these are; a tie in idle lanes, which tell nothing of their own.
    Returns whether there are cells of one vote, of few, and of other numbers; and of one vote that tells the cell
    effect's SD, because it is what shares of several come to."""
    first, m, wide = block
    singles, fews, learned = 0, 0, 0
    for i in range(m):
        a, t, b = counts[first + i, 0], counts[first + i, 1], counts[first + i, 2]
        singles += a + t + b == 1.0
        learned += a + t + b == 1.0 and again[first + i]
        fews += _is_few(a + t + b)
        lanes[A + i], lanes[T + i], lanes[B + i] = a, t, b
    for i in range(m, wide):
        lanes[A + i], lanes[T + i], lanes[B + i] = 0.0, 1.0, 0.0
    for k in range(1, points):
        lane = k * wide
        for i in range(wide):
            lanes[A + lane + i], lanes[T + lane + i], lanes[B + lane + i] = lanes[A + i], lanes[T + i], lanes[B + i]
    for i in range(wide * points):
        lanes[CHANCE + i], lanes[LOG + i] = 1.0, 0.0
    return singles > 0, fews > 0, singles + fews < m, learned > 0


@compiled
def _sum_nodes(n: int, effects: FloatArray, lanes: FloatArray) -> None:
    """One vote's chances, and F' of both edges, over the cell effect. What `_sum_bends` tells is not known yet: 0."""
    for i in range(n):
        lose, tie, win, d0, d1 = 0.0, 0.0, 0.0, 0.0, 0.0
        y0, y1 = lanes[Y0 + i], lanes[Y1 + i]
        for q in range(NODES):
            weight, shift = effects[1, q], effects[2, q]
            x0, x1 = y0 * shift, y1 * shift  # odds against
            both = 1.0 / ((1.0 + x0) * (1.0 + x1))
            F0, F1 = both * (1.0 + x1), both * (1.0 + x0)
            against0 = x0 * F0
            lose += weight * against0
            tie += weight * (both * x1)
            win += weight * F1
            d0 += weight * (F0 * against0)
            d1 += weight * (F1 * (x1 * F1))
        lanes[LOSE + i], lanes[TIE + i], lanes[WIN + i] = lose, tie, win
        lanes[D0 + i], lanes[D1 + i], lanes[E0 + i], lanes[E1 + i] = d0, d1, 0.0, 0.0


@compiled
def _sum_bends(n: int, effects: FloatArray, lanes: FloatArray) -> None:
    """F' e / sd and F'' of both edges: what few rounds ask for."""
    for i in range(n):
        e0, e1, c0, c1 = 0.0, 0.0, 0.0, 0.0
        y0, y1 = lanes[Y0 + i], lanes[Y1 + i]
        for q in range(NODES):
            node, weight, shift = effects[0, q], effects[1, q], effects[2, q]
            x0, x1 = y0 * shift, y1 * shift
            both = 1.0 / ((1.0 + x0) * (1.0 + x1))
            F0, F1 = both * (1.0 + x1), both * (1.0 + x0)
            against0, against1 = x0 * F0, x1 * F1
            slope0, slope1 = weight * (F0 * against0), weight * (F1 * against1)
            e0 += node * slope0
            e1 += node * slope1
            c0 += slope0 * (against0 - F0)
            c1 += slope1 * (against1 - F1)
        lanes[E0 + i], lanes[E1 + i] = e0, e1
        lanes[C0 + i], lanes[C1 + i] = c0, c1


@compiled
def _sum_pooled_nodes(wide: int, odds: FloatArray, effects: FloatArray, lanes: FloatArray) -> None:
    """As `_sum_nodes`, where each node has a discrimination of its own, which x is times."""
    for k in range(len(odds)):
        gap = np.log1p(1.0 / odds[k])
        for i in range(k * wide, (k + 1) * wide):
            lose, tie, win = 0.0, 0.0, 0.0
            d0, d1, e0, e1, c0, c1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            log0 = np.log(lanes[Y0 + i])
            for q in range(effects.shape[1]):
                node, weight, slope = effects[0, q], effects[1, q], effects[4, q]
                F0, against0 = _either_way(slope * log0 - effects[3, 0] * node)
                F1, against1 = _either_way(slope * (log0 + gap) - effects[3, 0] * node)
                slope0, slope1 = weight * F0 * against0, weight * F1 * against1
                lose += weight * against0
                tie += weight * F0 * against1 * -np.expm1(-slope * gap)
                win += weight * F1
                d0 += slope * slope0
                d1 += slope * slope1
                e0 += node * slope0
                e1 += node * slope1
                c0 += slope * slope * slope0 * (against0 - F0)
                c1 += slope * slope * slope1 * (against1 - F1)
            lanes[LOSE + i], lanes[TIE + i], lanes[WIN + i] = lose, tie * (1.0 + odds[k]), win
            lanes[D0 + i], lanes[D1 + i], lanes[E0 + i], lanes[E1 + i] = d0, d1, e0, e1
            lanes[C0 + i], lanes[C1 + i] = c0, c1


@compiled
def _single_votes(wide: int, odds: FloatArray, sd: float, observed: bool, lanes: FloatArray) -> None:
    """One vote in each cell: everything follows from its three chances and their derivatives. Wrong for other cells."""
    for k in range(len(odds)):
        lane, meeting = k * wide, 1.0 / (1.0 + odds[k])
        for i in range(wide):
            a, t, b = lanes[A + lane + i], lanes[T + lane + i], lanes[B + lane + i]
            lose, win = max(lanes[LOSE + lane + i], _LEAST_CHANCE), max(lanes[WIN + lane + i], _LEAST_CHANCE)
            tie = max(lanes[TIE + lane + i] * meeting, _LEAST_CHANCE)
            lanes[CHANCE + lane + i] = a * lose + t * tie + b * win
            by_lose, by_tie, by_win = 1.0 / lose, 1.0 / tie, 1.0 / win
            d0, d1 = lanes[D0 + lane + i], lanes[D1 + lane + i]
            of0, of1 = t * by_tie - a * by_lose, b * by_win - t * by_tie
            lanes[SCORE + lane + i], lanes[SCORE1 + lane + i] = d0 * of0, d1 * of1
            lanes[INFO + lane + i] = d0 * d0 * (by_lose + by_tie)
            lanes[INFO1 + lane + i] = d1 * d1 * (by_win + by_tie)
            lanes[OFF + lane + i] = -d0 * d1 * by_tie
            lanes[BY_SD + lane + i] = sd * (lanes[E0 + lane + i] * of0 + lanes[E1 + lane + i] * of1)
            lanes[LOSE + lane + i], lanes[WIN + lane + i] = of0, of1
        if observed:
            for i in range(wide):
                score0, score1 = lanes[SCORE + lane + i], lanes[SCORE1 + lane + i]
                lanes[INFO + lane + i] = score0 * score0 - lanes[C0 + lane + i] * lanes[LOSE + lane + i]
                lanes[INFO1 + lane + i] = score1 * score1 - lanes[C1 + lane + i] * lanes[WIN + lane + i]
                lanes[OFF + lane + i] = score0 * score1


@compiled
def _few_votes(
    votes: int,
    size: tuple[int, int],  # cells, lanes a point
    odds: FloatArray,
    effects: FloatArray,
    observed: bool,
    few: FloatArray,  # (FEW_SIZE,)
    lanes: FloatArray,
) -> None:
    """So many votes in a cell, 2 or 3: such lanes are brought together, and told of where they were."""
    (m, wide), count, where = size, 0, np.empty(FEW, np.int64)
    for k in range(len(odds)):
        for i in range(m):
            lane = k * wide + i
            if lanes[A + lane] + lanes[T + lane] + lanes[B + lane] != votes:
                continue
            _bring(lane, count, odds[k], lanes, few)
            where[count] = lane
            count += 1
            if count == FEW:
                _tell_few(votes, where, effects, observed, few, lanes)
                count = 0
    if count > 0:
        _tell_few(votes, where[:count], effects, observed, few, lanes)


@compiled
def _bring(lane: int, count: int, tie: float, lanes: FloatArray, few: FloatArray) -> None:
    """What is known of a lane, beside those that were brought before."""
    few[FEW_Y0 + count], few[FEW_Y1 + count] = lanes[Y0 + lane], lanes[Y1 + lane]
    few[FEW_A + count], few[FEW_T + count] = lanes[A + lane], lanes[T + lane]
    few[FEW_B + count], few[ODDS + count] = lanes[B + lane], tie


@compiled
def _tell_few(
    votes: int, where: IntArray, effects: FloatArray, observed: bool, few: FloatArray, lanes: FloatArray
) -> None:
    """Score and information of some lanes. The expected one goes through all outcomes of so many votes."""
    n, sd = len(where), effects[3, 0]
    for i in range(n):
        few[SUM + i], few[SUM0 + i], few[SUM1 + i], few[MOVED + i] = 0.0, 0.0, 0.0, 0.0
        few[SUM00 + i], few[SUM01 + i], few[SUM11 + i] = 0.0, 0.0, 0.0
    few[MOMENTS:OF_THREE] = 0.0
    for q in range(NODES):
        _few_at_node(n, effects[0, q], effects[1, q], effects[2, q], few)
        if observed:
            _add_squares(n, few)
        else:
            _add_moments(n, effects[1, q], few)
    for i in range(n):
        by = 1.0 / max(few[SUM + i], _LEAST_CHANCE)
        few[SUM0 + i] *= by
        few[SUM1 + i] *= by
        few[MOVED + i] *= by * sd
    if observed:
        _few_observed(where, few, lanes)
    else:
        if votes == 2:
            _lower_moments(n, few)
        _few_expected(votes, where, few, lanes)
    for i in range(n):
        lane, a, t, b, tie = where[i], few[FEW_A + i], few[FEW_T + i], few[FEW_B + i], few[ODDS + i]
        lanes[SCORE + lane] = t * (1.0 + tie) - (a + t) * few[SUM0 + i]
        lanes[SCORE1 + lane] = b - t * tie - (b + t) * few[SUM1 + i]
        lanes[BY_SD + lane] = few[MOVED + i]
        lanes[CHANCE + lane] = max(few[SUM + i] / _power(1.0 + tie, t), _LEAST_CHANCE)


@compiled
def _power(value: float, times: float) -> float:
    """Of 0 to 3 times, without a loop."""
    square = value * value
    return 1.0 if times == 0.0 else value if times == 1.0 else square if times == 2.0 else square * value


@compiled
def _few_at_node(n: int, node: float, weight: float, shift: float, few: FloatArray) -> None:
    for i in range(n):
        a, t, b = few[FEW_A + i], few[FEW_T + i], few[FEW_B + i]
        x0, x1 = few[FEW_Y0 + i] * shift, few[FEW_Y1 + i] * shift  # odds against
        both = 1.0 / ((1.0 + x0) * (1.0 + x1))
        better, not_worse = both * (1.0 + x0), both * (1.0 + x1)
        lost, tied = x0 * not_worse, not_worse * x1 * better
        p = weight * _power(lost, a) * _power(tied, t) * _power(better, b)
        few[CHANCE_A + i], few[CHANCE_T + i], few[CHANCE_B + i], few[GIVEN + i] = lost, tied, better, p
        few[SUM + i] += p
        few[SUM0 + i] += p * not_worse
        few[SUM1 + i] += p * better
        few[MOVED + i] += node * p * (t + b - (a + t) * not_worse - (b + t) * better)


@compiled
def _add_squares(n: int, few: FloatArray) -> None:
    for i in range(n):
        p, F0, F1 = few[GIVEN + i], 1.0 - few[CHANCE_A + i], few[CHANCE_B + i]
        few[SUM00 + i] += p * F0 * F0
        few[SUM01 + i] += p * F0 * F1
        few[SUM11 + i] += p * F1 * F1


@compiled
def _add_moments(n: int, weight: float, few: FloatArray) -> None:
    for i in range(n):
        A, T, B = few[CHANCE_A + i], few[CHANCE_T + i], few[CHANCE_B + i]
        AA, AT, AB, TT, TB, BB = (
            weight * A * A,
            weight * A * T,
            weight * A * B,
            weight * T * T,
            weight * T * B,
            weight * B * B,
        )
        few[AAAA + i] += AA * (A * A)
        few[AAAT + i] += AA * (A * T)
        few[AAAB + i] += AA * (A * B)
        few[AATT + i] += AA * (T * T)
        few[AATB + i] += AA * (T * B)
        few[AABB + i] += AA * (B * B)
        few[ATTT + i] += AT * (T * T)
        few[ATTB + i] += AT * (T * B)
        few[ATBB + i] += AT * (B * B)
        few[ABBB + i] += AB * (B * B)
        few[TTTT + i] += TT * (T * T)
        few[TTTB + i] += TT * (T * B)
        few[TTBB + i] += TT * (B * B)
        few[TBBB + i] += TB * (B * B)
        few[BBBB + i] += BB * (B * B)


@compiled
def _moment(order: int, a: int, b: int) -> int:
    """Where that of so many votes is, 3 or 4, of which so many are A's and B's."""
    rest = order - a
    return (MOMENTS if order == 4 else OF_THREE) + (rest * (rest + 1) // 2 + b) * FEW


@compiled
def _lower_moments(n: int, few: FloatArray) -> None:
    """Of 3 votes: one more is A's, a tie or B's."""
    for a in range(4):
        for b in range(4 - a):
            at, of_a, of_t, of_b = _moment(3, a, b), _moment(4, a + 1, b), _moment(4, a, b), _moment(4, a, b + 1)
            out, more_a, more_t, more_b = (
                few[at : at + n],
                few[of_a : of_a + n],
                few[of_t : of_t + n],
                few[of_b : of_b + n],
            )
            for i in range(n):
                out[i] = more_a[i] + more_t[i] / (1.0 + few[ODDS + i]) + more_b[i]


@compiled
def _few_expected(votes: int, where: IntArray, few: FloatArray, lanes: FloatArray) -> None:
    """Sum over the outcomes of dP dP' / P. A vote more is A's, a tie or B's: P and what it is by F0 and F1 follow."""
    n = len(where)
    for i in range(n):
        few[SUM00 + i], few[SUM01 + i], few[SUM11 + i] = 0.0, 0.0, 0.0
    for a in range(votes + 1):
        for t in range(votes + 1 - a):
            b = votes - a - t
            ways = _FACTORIAL[votes] / (_FACTORIAL[a] * _FACTORIAL[t] * _FACTORIAL[b])
            at_a, at_t, at_b = _moment(votes + 1, a + 1, b), _moment(votes + 1, a, b), _moment(votes + 1, a, b + 1)
            more_a, more_t, more_b = few[at_a : at_a + n], few[at_t : at_t + n], few[at_b : at_b + n]
            for i in range(n):
                apart = 1.0 + few[ODDS + i]
                by1 = more_b[i]
                by0 = more_t[i] / apart + by1
                P = more_a[i] + by0
                d0 = t * apart * P - (a + t) * by0
                d1 = (b + t - t * apart) * P - (b + t) * by1
                share = ways / (max(P, _LEAST_CHANCE) * _power(apart, t))
                few[SUM00 + i] += share * d0 * d0
                few[SUM01 + i] += share * d0 * d1
                few[SUM11 + i] += share * d1 * d1
    for i in range(n):
        lane = where[i]
        lanes[INFO + lane], lanes[OFF + lane], lanes[INFO1 + lane] = few[SUM00 + i], few[SUM01 + i], few[SUM11 + i]


@compiled
def _few_observed(where: IntArray, few: FloatArray, lanes: FloatArray) -> None:
    for i in range(len(where)):
        lane, by = where[i], 1.0 / max(few[SUM + i], _LEAST_CHANCE)
        low, high, t = few[FEW_A + i] + few[FEW_T + i], few[FEW_B + i] + few[FEW_T + i], few[FEW_T + i]
        of0, of1 = few[SUM0 + i], few[SUM1 + i]
        of00, of01, of11 = by * few[SUM00 + i], by * few[SUM01 + i], by * few[SUM11 + i]
        meeting = t * few[ODDS + i] * (1.0 + few[ODDS + i])
        lanes[INFO + lane] = low * (of0 - of00) + meeting - low * low * (of00 - of0 * of0)
        lanes[INFO1 + lane] = high * (of1 - of11) + meeting - high * high * (of11 - of1 * of1)
        lanes[OFF + lane] = -meeting - low * high * (of01 - of0 * of1)


@compiled
def _many_votes(
    size: tuple[int, int],  # cells, lanes a point
    odds: FloatArray,
    effects: FloatArray,
    observed: bool,
    few: FloatArray,  # (FEW_SIZE,)
    lanes: FloatArray,
) -> None:
    """More votes in a cell, or votes that are not whole: as `_few_votes`."""
    (m, wide), count, where = size, 0, np.empty(FEW, np.int64)
    bits = few.view(np.int64)
    for k in range(len(odds)):
        for i in range(m):
            lane = k * wide + i
            votes = lanes[A + lane] + lanes[T + lane] + lanes[B + lane]
            if votes == 1.0 or _is_few(votes):
                continue
            _bring(lane, count, odds[k], lanes, few)
            few[MOVES + count] = 1.0 if votes >= ADAPTIVE_FROM else 0.0
            where[count] = lane
            count += 1
            if count == FEW:
                _tell_many(where, effects, observed, few, bits, lanes)
                count = 0
    if count > 0:
        _tell_many(where[:count], effects, observed, few, bits, lanes)


@compiled
def _tell_many(
    where: IntArray, effects: FloatArray, observed: bool, few: FloatArray, bits: IntArray, lanes: FloatArray
) -> None:
    """Score and information of some lanes.

    The expected information is that of normal votes, I - I 1 1' I / (1 / sd^2 + 1' I 1); the observed one is exact.
    """
    n, sd = len(where), effects[3, 0]
    for i in range(n):
        few[ARGUMENT + i] = few[FEW_Y0 + i]
    log_many(n, few, bits)
    for i in range(n):
        few[LOG_Y0 + i], few[ARGUMENT + i] = few[LOGARITHM + i], few[FEW_Y1 + i]
    log_many(n, few, bits)
    for i in range(n):
        few[LOG_Y1 + i] = few[LOGARITHM + i]
    _centre_many(n, sd, few, bits)
    for i in range(n):
        few[SUM + i], few[SUM0 + i], few[SUM1 + i], few[MOVED + i] = 0.0, 0.0, 0.0, 0.0
        few[SUM00 + i], few[SUM01 + i], few[SUM11 + i], few[MOST + i] = 0.0, 0.0, 0.0, -np.inf
    for q in range(NODES):
        _keep_node(n, KEPT + 4 * q * FEW, effects[0, q], sd, few, bits)
    for q in range(NODES):
        _add_node(n, KEPT + 4 * q * FEW, effects[1, q], few, bits)
    for i in range(n):
        by = 1.0 / few[SUM + i]
        few[SUM0 + i] *= by
        few[SUM1 + i] *= by
        few[MOVED + i] *= by * sd
    if observed:
        _few_observed(where, few, lanes)
    else:
        _expect_normal(where, effects, few, lanes)
    _log_of_many(n, few, bits)
    for i in range(n):
        lane, a, t, b, tie = where[i], few[FEW_A + i], few[FEW_T + i], few[FEW_B + i], few[ODDS + i]
        lanes[SCORE + lane] = t * (1.0 + tie) - (a + t) * few[SUM0 + i]
        lanes[SCORE1 + lane] = b - t * tie - (b + t) * few[SUM1 + i]
        lanes[BY_SD + lane], lanes[CHANCE + lane], lanes[LOG + lane] = few[MOVED + i], 1.0, few[LOGARITHM + i]


@compiled
def _log_of_many(n: int, few: FloatArray, bits: IntArray) -> None:
    """log P of the votes, where logarithms are."""
    for i in range(n):
        few[ARGUMENT + i] = 1.0 + few[ODDS + i]
    log_many(n, few, bits)
    for i in range(n):
        few[MOST + i] -= few[FEW_T + i] * few[LOGARITHM + i]
        few[ARGUMENT + i] = few[SUM + i]
    log_many(n, few, bits)
    for i in range(n):
        few[LOGARITHM + i] += few[MOST + i]


@compiled
def _centre_many(n: int, sd: float, few: FloatArray, bits: IntArray) -> None:
    """Where many votes put their cell's effect, and how narrow they leave it: nodes are moved there."""
    for i in range(n):
        few[CENTRE + i], few[WIDTH + i] = 0.0, 1.0
    for _ in range(8):
        for i in range(n):
            few[EXP + i] = -sd * few[CENTRE + i]
        exp_many(n, few, bits)
        for i in range(n):
            a, t, b, centre = few[FEW_A + i], few[FEW_T + i], few[FEW_B + i], few[CENTRE + i]
            F0, F1 = 1.0 / (1.0 + few[FEW_Y0 + i] * few[EXP + i]), 1.0 / (1.0 + few[FEW_Y1 + i] * few[EXP + i])
            few[SLOPE + i] = sd * (-a * F0 + t * (1.0 - F0 - F1) + b * (1.0 - F1)) - centre
            few[CURVE + i] = sd * sd * ((a + t) * F0 * (1.0 - F0) + (b + t) * F1 * (1.0 - F1)) + 1.0
        for i in range(n):
            moves, curve = few[MOVES + i], few[CURVE + i]
            few[CENTRE + i] += moves * min(max(few[SLOPE + i] / curve, -1.0), 1.0)
            few[WIDTH + i] = moves / np.sqrt(curve) + (1.0 - moves)


@compiled
def _odds_many(n: int, sd: float, few: FloatArray, bits: IntArray) -> None:
    """Chances at `PLACE`, F of both edges in the rows of slope and curve, and the logarithm of the votes' chance, but
    for ties' gap, where logarithms are."""
    for i in range(n):
        few[EXP + i] = -sd * few[PLACE + i]
    exp_many(n, few, bits)
    for i in range(n):
        few[ARGUMENT + i] = 1.0 + few[FEW_Y1 + i] * few[EXP + i]
    log_many(n, few, bits)
    for i in range(n):
        few[BETTER + i], few[CURVE + i] = -few[LOGARITHM + i], 1.0 / few[ARGUMENT + i]
        few[ARGUMENT + i] = 1.0 + few[FEW_Y0 + i] * few[EXP + i]
    log_many(n, few, bits)
    for i in range(n):
        a, t, b, e = few[FEW_A + i], few[FEW_T + i], few[FEW_B + i], sd * few[PLACE + i]
        few[SLOPE + i] = 1.0 / few[ARGUMENT + i]
        few[LOGARITHM + i] = (
            a * (few[LOG_Y0 + i] - e)
            + t * (few[LOG_Y1 + i] - e)
            - (a + t) * few[LOGARITHM + i]
            + (b + t) * few[BETTER + i]
        )


@compiled
def _keep_node(n: int, kept: int, node: float, sd: float, few: FloatArray, bits: IntArray) -> None:
    """What a node says is kept from row `kept` on, until the largest of its chances is known."""
    for i in range(n):
        few[PLACE + i] = few[CENTRE + i] + few[WIDTH + i] * node
    _odds_many(n, sd, few, bits)
    for i in range(n):
        z = few[PLACE + i]
        few[LOGARITHM + i] -= 0.5 * (z * z - node * node)
        few[MOST + i] = max(few[MOST + i], few[LOGARITHM + i])
    for i in range(n):
        few[kept + i], few[kept + FEW + i] = few[SLOPE + i], few[CURVE + i]
        few[kept + 2 * FEW + i], few[kept + 3 * FEW + i] = few[PLACE + i], few[LOGARITHM + i]


@compiled
def _add_node(n: int, kept: int, weight: float, few: FloatArray, bits: IntArray) -> None:
    for i in range(n):
        few[SLOPE + i], few[CURVE + i] = few[kept + i], few[kept + FEW + i]
        few[PLACE + i], few[EXP + i] = few[kept + 2 * FEW + i], few[kept + 3 * FEW + i]
    for i in range(n):
        few[EXP + i] -= few[MOST + i]
    exp_many(n, few, bits)
    for i in range(n):
        F0, F1, p = few[SLOPE + i], few[CURVE + i], weight * few[WIDTH + i] * few[EXP + i]
        low, high = few[FEW_A + i] + few[FEW_T + i], few[FEW_B + i] + few[FEW_T + i]
        few[SUM + i] += p
        few[SUM0 + i] += p * F0
        few[SUM1 + i] += p * F1
        few[SUM00 + i] += p * F0 * F0
        few[SUM01 + i] += p * F0 * F1
        few[SUM11 + i] += p * F1 * F1
        few[MOVED + i] += few[PLACE + i] * p * (high - low * F0 - high * F1)


@compiled
def exp_many(n: int, few: FloatArray, bits: IntArray) -> None:
    """exp of a row in its place, as `_exp_parts` has it; none beyond `_MOST_EXP` either way."""
    for i in range(n):
        x = min(max(few[EXP + i], -_MOST_EXP), _MOST_EXP)
        k = np.floor(x * _PER_LOG2 + 0.5)
        r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
        few[EXP + i] = _exp_less_one(r)
        bits[POWER_OF_2 + i] = (np.int64(k) + 1023) << 52  # the number 2^k
    for i in range(n):
        few[EXP + i] = few[POWER_OF_2 + i] * few[EXP + i] + few[POWER_OF_2 + i]


@compiled
def log_many(n: int, few: FloatArray, bits: IntArray) -> None:
    """log of a row of numbers that are neither 0 nor subnormal: of 2^k m, m around 1, it is k log 2 and
    2 atanh((m - 1) / (m + 1)), by its series."""
    for i in range(n):
        k = (bits[ARGUMENT + i] - _SQRT_HALF) >> 52
        bits[MANTISSA + i] = bits[ARGUMENT + i] - (k << 52)
        few[LOGARITHM + i] = np.float64(k)
    for i in range(n):
        k, m = few[LOGARITHM + i], few[MANTISSA + i]
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        high = ((((_ATANH[10] * z + _ATANH[9]) * z + _ATANH[8]) * z + _ATANH[7]) * z + _ATANH[6]) * z + _ATANH[5]
        series = ((((high * z + _ATANH[4]) * z + _ATANH[3]) * z + _ATANH[2]) * z + _ATANH[1]) * z + _ATANH[0]
        few[LOGARITHM + i] = k * _LOG2_HIGH + (s * series + k * _LOG2_LOW)


@compiled
def _expect_normal(where: IntArray, effects: FloatArray, few: FloatArray, lanes: FloatArray) -> None:
    n, variance = len(where), effects[3, 0] ** 2
    for i in range(n):
        few[INFO00 + i], few[INFO01 + i], few[INFO11 + i] = 0.0, 0.0, 0.0
    for q in range(NODES):
        weight, shift = effects[1, q], effects[2, q]
        for i in range(n):
            tie, F0, F1 = (
                few[ODDS + i],
                1.0 / (1.0 + few[FEW_Y0 + i] * shift),
                1.0 / (1.0 + few[FEW_Y1 + i] * shift),
            )
            few[INFO00 + i] += weight * F0 * (1.0 - F0) * (1.0 + tie)
            few[INFO11 + i] += weight * F1 * (1.0 - F1) * (1.0 + tie)
            few[INFO01 + i] -= weight * F1 * (1.0 - F1) * (1.0 - F0 + tie)
    for i in range(n):
        lane, votes = where[i], few[FEW_A + i] + few[FEW_T + i] + few[FEW_B + i]
        i00, i01, i11 = votes * few[INFO00 + i], votes * few[INFO01 + i], votes * few[INFO11 + i]
        along0, along1 = i00 + i01, i01 + i11
        taken = variance / (1.0 + variance * (along0 + along1))
        lanes[INFO + lane], lanes[INFO1 + lane] = i00 - taken * along0**2, i11 - taken * along1**2
        lanes[OFF + lane] = i01 - taken * along0 * along1


@compiled
def _pooled_cells(
    block: tuple[int, int, int],  # (first cell, cells, lanes a point)
    odds: FloatArray,
    counts: FloatArray,  # (n, 3)
    effects: FloatArray,
    observed: bool,
    told: FloatArray,
    lanes: FloatArray,
) -> None:
    """Several votes in a cell whose prompt met no other, lane by lane: there are few of them."""
    first, m, wide = block
    for k in range(len(odds)):
        for i in range(m):
            lane = k * wide + i
            a, t, b = counts[first + i, 0], counts[first + i, 1], counts[first + i, 2]
            if a + t + b != 1.0:
                log = _pooled_votes(
                    np.log(lanes[Y0 + lane]), np.log1p(1.0 / odds[k]), (a, t, b), effects, observed, told
                )
                lanes[SCORE + lane], lanes[SCORE1 + lane] = told[0], told[1]
                lanes[INFO + lane], lanes[INFO1 + lane], lanes[OFF + lane] = told[2], told[3], told[4]
                lanes[BY_SD + lane], lanes[CHANCE + lane], lanes[LOG + lane] = told[5], 1.0, log


@compiled
def _pooled_votes(
    against: float,  # -x0
    gap: float,
    votes: tuple[float, float, float],
    effects: FloatArray,  # (5, nodes)
    observed: bool,
    told: FloatArray,  # (6,)   out: score (2), information (0, 0), (1, 1), (0, 1), d log P / d log sd
) -> float:
    """The few votes of a cell whose prompt met no other; where whole, all their outcomes are gone through."""
    (a, t, b), sd = votes, effects[3, 0]
    n = a + t + b
    told[:] = 0.0
    P = 0.0
    for q in range(effects.shape[1]):
        p, F0, F1, tie = _pooled_node(against, gap, a, t, b, effects, q)
        slope = effects[4, q]
        g0, g1 = slope * (-a * F0 + t * (1.0 - F0 + tie)), slope * (b * (1.0 - F1) - t * (F1 + tie))
        P += p
        told[0] += p * g0
        told[1] += p * g1
        told[5] += p * (g0 + g1) / slope * effects[0, q]
        if observed:
            meeting = t * tie * (1.0 + tie)
            told[2] += p * (slope**2 * ((a + t) * F0 * (1.0 - F0) + meeting) - g0 * g0)
            told[3] += p * (slope**2 * ((b + t) * F1 * (1.0 - F1) + meeting) - g1 * g1)
            told[4] -= p * (slope**2 * meeting + g0 * g1)
    P = max(P, _LEAST_CHANCE)
    told /= P
    told[5] *= sd
    if observed:
        told[2] += told[0] * told[0]
        told[3] += told[1] * told[1]
        told[4] += told[0] * told[1]
    else:
        _expect_pooled(against, gap, n, effects, told)
    return float(np.log(P))


@compiled
def _pooled_node(
    against: float, gap: float, a: float, t: float, b: float, effects: FloatArray, q: int
) -> tuple[float, float, float, float]:
    """The chance of some votes and of this node, F of both edges, and the tie's odds there."""
    slope, e = effects[4, q], effects[3, 0] * effects[0, q]
    F0, against0 = _either_way(slope * against - e)
    F1, against1 = _either_way(slope * (against + gap) - e)
    apart = min(max(slope * gap, _SMALLEST_GAP), 700.0)
    p = effects[1, q] * against0**a * F1**b
    if t > 0.0:
        p *= (F0 * against1 * -np.expm1(-apart)) ** t
    return p, F0, F1, 1.0 / np.expm1(apart)


@compiled
def _either_way(against: float) -> tuple[float, float]:
    """sigma(-x) and sigma(x), neither ever 0: a steep prompt takes what is far beyond what exp can hold."""
    far = min(max(against, -_FARTHEST_ODDS), _FARTHEST_ODDS)
    return 1.0 / (1.0 + np.exp(far)), 1.0 / (1.0 + np.exp(-far))


@compiled
def _expect_pooled(against: float, gap: float, n: float, effects: FloatArray, told: FloatArray) -> None:
    """Sum over the outcomes of n votes of dP dP' / P; of votes that are not whole, in between."""
    fewer = np.floor(n)
    for votes, share in ((int(fewer), fewer + 1.0 - n), (int(fewer) + 1, n - fewer)):
        if share > 0.0 and votes > 0:
            _expect_whole(against, gap, votes, share, effects, told)


@compiled
def _expect_whole(against: float, gap: float, n: int, share: float, effects: FloatArray, told: FloatArray) -> None:
    for a in range(n + 1):
        for t in range(n + 1 - a):
            b = n - a - t
            P, d0, d1 = 0.0, 0.0, 0.0
            for q in range(effects.shape[1]):
                p, F0, F1, tie = _pooled_node(against, gap, float(a), float(t), float(b), effects, q)
                P += p
                d0 += p * effects[4, q] * (-a * F0 + t * (1.0 - F0 + tie))
                d1 += p * effects[4, q] * (b * (1.0 - F1) - t * (F1 + tie))
            if P > _LEAST_CHANCE:
                ways = share * _FACTORIAL[n] / (_FACTORIAL[a] * _FACTORIAL[t] * _FACTORIAL[b] * P)
                told[2] += ways * d0 * d0
                told[3] += ways * d1 * d1
                told[4] += ways * d0 * d1
