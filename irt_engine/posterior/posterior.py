"""Posterior: what a fit believes, frozen; questions about it; to and from bytes.

Abilities are approximately jointly normal; everything here is arithmetic on their means and covariance (`ranks`), and
what the next vote will be (`predict`). Units: abilities, differences and SEs in logits at a typical prompt, given the
fit's other effects; or, of boards of campaigns, in marginal logits (`Posterior.marginal`).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray, frozen
from irt_engine.errors import EngineError, InvalidResponses, NotIdentified
from irt_engine.posterior import prediction
from irt_engine.posterior.anchors import Anchored, anchored
from irt_engine.posterior.differences import (
    Differences,
    SimultaneousDifferences,
    above,
    classes_of,
    differences_of,
    pair_variances,
    quantile,
    rank_probabilities_of,
    simultaneous_of,
)
from irt_engine.posterior.marginal_logits import in_marginal_logits
from irt_engine.posterior.warm_start import WarmStart

_FORMAT = 3
# Not in the first bytes of it:
_SINCE = ("thresholds_se", "tier", "tier_discrimination", "tier_discrimination_se", "reply", "reply_se")
_FLOATS = (
    "ability",
    "covariance",
    "theta",
    "theta_se",
    "discrimination",
    "discrimination_se",
    "thresholds",
    "theta_covariance",
    "thresholds_se",
    "tier_discrimination",
    "tier_discrimination_se",
    "reply",
    "reply_se",
)
_INTS = ("group", "chatbot_judgments", "tier")
_WARM = "warm_"
_UNTIL_LATER = ("i_theta", "cross", "i_phi")  # of `Warm`: what earlier bytes keep in the place of the excess
# What numpy, zipfile and json raise on bytes that are damaged or were never an archive (RuntimeError: "encrypted"), and
# what a posterior raises that is made of other things than it has.
_UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, EngineError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A pair of chatbots in its file's orientation; `by` is the label that keeps repeated experiments apart."""

    a: str
    b: str
    by: str | None
    judgments: int


@dataclass(frozen=True, slots=True)
class Difference:
    """s_b - s_a: mean, standard error, P(b is better), and whether the 95 % interval excludes 0."""

    mean: float
    se: float
    p_better: float
    significant: bool


def difference_of(mean: float, se: float) -> Difference:
    """What a normal difference with this mean and SE says; used for chatbots and for comparisons alike.

    Without any uncertainty (se 0) equal is P = 1/2 and not significant, everything else is certain.
    """
    z = mean / se if se > 0 else math.copysign(math.inf, mean) if mean else 0.0
    return Difference(mean, se, float(ndtr(z)), bool(abs(z) > quantile(0.95)))


@dataclass(frozen=True, slots=True)
class Scales:
    """SDs of the fit's effects, as learned or given; None where the model has no such effect.

    log_discrimination, location, log_gap: of prompts. pair: of theta about the difference of abilities. side: of the
    advantage of the side shown first. cell: of what the votes of a cell share (logit scale). tier: of a prompt's log
    discrimination in one tier of quality about its own. reply: of what one chatbot's reply to one prompt is worth,
    about its ability. unit: of abilities, in logits given all these effects (`marginal`); 1 as a fit leaves it.
    """

    log_discrimination: float
    log_gap: float
    location: float | None = None
    pair: float | None = None
    side: float | None = None
    cell: float | None = None
    learned: bool = False
    tier: float | None = None
    reply: float | None = None
    unit: float = 1.0

    @property
    def fresh(self) -> float:
        """SD of all that the votes of a new cell share, on the logit scale of a typical prompt (whose discrimination is
        the unit): the cell's own effect, and what two replies that have met nobody else are worth."""
        return math.sqrt((self.cell or 0.0) ** 2 + 2.0 * (self.unit * (self.reply or 0.0)) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Frozen result of a fit. M chatbots, C comparisons, J prompts; no entry is ever NaN.

    ability (M,), covariance (M, M): model board; minus the mean of its group. A chatbot alone in its group has no
    mean but its own, so it stands at 0 with the prior's variance. Empty under model pair.
    group (M,): 1 = the largest connected part of the comparison graph.
    theta, theta_se (C,): per comparison, > 0 means b is better.
    Under board it has the pair's own effect in it: theta = s_b - s_a + effect.
    discrimination (J,), discrimination_se (J,); thresholds (J, E) in the comparison's orientation: E = 6 for
    u >= -2..3 (form net), E = 2 for "not worse" and "better" (form vote).
    side, side_se: advantage of the side shown first, in units of ability; 0 and 0 where no order is known.
    converged: the everyday fit has solved its equations, or raised; False is a full fit whose chains disagree.
    iterations counts both stages.
    theta_covariance (C, C): of theta under model pair, whose comparisons may be set against each other; else empty.
    thresholds_se (J, E); empty where nobody worked it out.
    tier (M,): of the chatbots, where discriminations differ by tier; else empty, as are the next two.
    tier_discrimination (J, T, T) and its SE: of each prompt for a chatbot of tier s and one of tier t; the diagonal is
    that inside a tier. `discrimination` is then the geometric mean over the tiers.
    reply (J, M) and its SE: what each chatbot's reply to each prompt is worth about its ability, in units of ability; 0
    and `scales.reply` where it was not met, or the prompt was seen in one cell only. Empty without such effects.
    warm: where the fit ended, for the next one to begin with; it says nothing that the rest does not.
    ties: how many of the judgments are ties, which net ratings alone do not tell; None where nobody counted.
    """

    model: str
    chatbots: tuple[str, ...]
    ability: FloatArray
    covariance: FloatArray
    group: IntArray
    chatbot_judgments: IntArray
    comparisons: tuple[Comparison, ...]
    theta: FloatArray
    theta_se: FloatArray
    prompts: tuple[str, ...]
    discrimination: FloatArray
    discrimination_se: FloatArray
    thresholds: FloatArray
    judgments: int
    cells: int
    converged: bool
    iterations: int
    seed: int
    form: str
    side: float
    side_se: float
    scales: Scales
    ties: int | None = None
    theta_covariance: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    warm: WarmStart | None = None
    thresholds_se: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    tier: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    tier_discrimination: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    tier_discrimination_se: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    reply: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    reply_se: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        for name in _FLOATS:
            array = frozen(getattr(self, name), np.float64)
            if not np.isfinite(array).all():
                raise EngineError(
                    f"{name} is not finite", code="not_finite", hint="report this with the votes that led to it"
                )
            object.__setattr__(self, name, array)
        for name in _INTS:
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))

    @property
    def se(self) -> FloatArray:
        """(M,) standard error of each ability minus the mean of its group."""
        se: FloatArray = np.sqrt(np.diag(self.covariance))
        return se

    def interval(self, level: float = 0.95) -> FloatArray:
        """(M, 2) central intervals of the abilities. Raises EngineError unless 0 < level < 1."""
        half = quantile(level) * self.se
        return np.stack([self.ability - half, self.ability + half], axis=1)

    def difference(self, a: str, b: str) -> Difference:
        """s_b - s_a. Raises NotIdentified for unknown names, a == b, or chatbots in separate groups."""
        i, j = self.index(a), self.index(b)
        if i == j:
            raise NotIdentified(f"{a!r} against itself", code="self_comparison", hint="name two chatbots")
        if self.group[i] != self.group[j]:
            raise NotIdentified(
                f"{a!r} and {b!r} are in separate parts of the graph",
                code="separate_groups",
                hint="collect votes on a pair that links the two parts",
            )
        variance = pair_variances(self.covariance, np.array([i]), np.array([j]))[0]
        return difference_of(float(self.ability[j] - self.ability[i]), float(np.sqrt(variance)))

    def differences(self) -> Differences:
        """s_b - s_a of all pairs a < b inside the groups at once: indices, means, SEs, P(b better), (P,) each."""
        return differences_of(self.ability, self.covariance, self.group)

    def simultaneous(self, level: float = 0.95) -> SimultaneousDifferences:
        """Intervals of all pairs that hold together with probability `level` in each group, adjusted p, clearly better.

        The quantile of max |z| under the joint normal (Hothorn, Bretz & Westfall 2008), by quasi-random draws with a
        fixed seed. Raises EngineError unless 0 < level < 1.
        """
        return simultaneous_of(self.ability, self.covariance, self.group, level)

    def rank_bounds(self, level: float = 0.95, *, simultaneous: bool = False) -> IntArray:
        """(M, 3) rank, best possible, worst possible, within the group; 1 is best, and equals share a rank.

        Best possible = 1 + how many are significantly better; worst = size - how many are significantly worse. Pair by
        pair at `level`, or (`simultaneous`) so that the bounds of all chatbots of a group hold together with that
        probability (Al Mohamad, Goeman & van Zwet 2022). Raises EngineError unless 0 < level < 1.
        """
        better = self.simultaneous(level).clearly_better if simultaneous else self._clearly_better(level)
        same = self.group[:, None] == self.group[None, :]
        rank = 1 + above(self.ability, self.covariance, self.group).sum(axis=1)
        lower = 1 + (better & same).sum(axis=0)
        upper = same.sum(axis=1) - (better & same).sum(axis=1)
        return np.stack([rank, lower, upper], axis=1)

    def _clearly_better(self, level: float) -> BoolArray:
        """(M, M): row is better than column at this level, pair by pair."""
        pairs, z = self.differences(), quantile(level)
        better = np.zeros((len(self.ability), len(self.ability)), bool)
        for up, low, high in ((1.0, pairs.b, pairs.a), (-1.0, pairs.a, pairs.b)):
            clear = up * pairs.mean > z * pairs.se
            better[low[clear], high[clear]] = True
        return better

    def rank_probabilities(self) -> FloatArray:
        """(M, M) P(chatbot has rank r + 1 in its group), 1 the best, by quasi-random draws with a fixed seed.

        Rows sum to 1; so do the columns of a group up to its size. Accurate to about .005; 16 bytes x M^2 of memory.
        """
        return rank_probabilities_of(self.ability, self.covariance, self.group)

    def classes(self, level: float = 0.95) -> IntArray:
        """(M,) class within the group, 1 the strongest: chatbots of a class cannot be told from the one that opens it.

        The strongest opens a class; in order of ability others join while their upper bound reaches its lower bound;
        the next one opens the next class. Bounds are those of `interval`. Raises EngineError unless 0 < level < 1.
        """
        return classes_of(self.ability, self.interval(level), self.group)

    def anchored(self, *, chatbot: str | None = None, value: float = 0.0) -> Anchored:
        """What is shown when a chatbot, or the mean of each group, stands at `value`: a shift of the abilities alone.

        Every group has its own anchor: where the chatbot is not in it, its mean stands at the value. SEs, widths of
        intervals, differences and ranks never change. Raises NotIdentified for an unknown chatbot, EngineError for a
        value that is not finite.
        """
        return anchored(self, None if chatbot is None else self.index(chatbot), value)

    def vote_probabilities(
        self, a: IntArray, b: IntArray, prompt: IntArray, a_first: IntArray | None = None
    ) -> FloatArray:
        """(n, 3) P(A better), P(tie), P(B better) of one further vote; a, b, prompt (n,) are indices. Board only.

        theta (with the pair's own effect), the cell effect and what the two replies are worth are integrated out;
        prompts stand at their means;
        prompt -1 is one that is not known, the mean over those that are. a_first (n,) is 1, 0 or -1 as in
        ResponseTable, default unknown. Form net: see `prediction.votes_of_rating`. Raises InvalidResponses (indices),
        NotIdentified (model pair, separate groups).
        """
        return prediction.vote_probabilities(self, a, b, prompt, a_first)

    def comparison_vote_probabilities(
        self, comparison: IntArray, prompt: IntArray, a_first: IntArray | None = None
    ) -> FloatArray:
        """As `vote_probabilities`, for indices (n,) into `comparisons` in their own orientation; any model."""
        return prediction.comparison_vote_probabilities(self, comparison, prompt, a_first)

    def marginal(self) -> Posterior:
        """The same beliefs in marginal logits, the log odds of a vote on replies that nobody has judged: `marginal`.

        Abilities and their SEs are divided by `scales.unit`, once; what is said of votes does not change.
        """
        return in_marginal_logits(self)

    def index(self, name: str) -> int:
        """Where a chatbot stands in `chatbots`. Raises NotIdentified (unknown_chatbot)."""
        try:
            return self.chatbots.index(name)
        except ValueError:
            raise NotIdentified(
                f"{name!r} is not on this board", code="unknown_chatbot", hint="see Posterior.chatbots"
            ) from None

    def to_bytes(self) -> bytes:
        """A compressed numpy archive without pickles; equal posteriors give equal bytes."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _FLOATS + _INTS}
        words = {part.name: getattr(self, part.name) for part in fields(self) if part.name not in (*arrays, "warm")}
        if self.warm is not None:
            arrays |= {_WARM + part.name: getattr(self.warm, part.name) for part in fields(WarmStart)}
        words["comparisons"] = [(c.a, c.b, c.by, c.judgments) for c in self.comparisons]
        words["scales"] = asdict(self.scales)
        words["format"] = _FORMAT
        words["digest"] = _digest(words, arrays)
        head = np.frombuffer(json.dumps(words, sort_keys=True).encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, head=head, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The posterior that `to_bytes` wrote, now or earlier. Raises InvalidResponses on anything else."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                words = json.loads(archive["head"].tobytes())
                arrays: dict[str, Any] = {name: archive[name] for name in archive.files if name != "head"}
            digest = words.pop("digest", None)  # earlier bytes have none, and may lack arrays
            whole = digest in (None, _digest(words, arrays)) and words.pop("format") == _FORMAT
            words["comparisons"] = tuple(Comparison(*row) for row in words["comparisons"])
            words["scales"] = Scales(**words["scales"])
            words["chatbots"], words["prompts"] = tuple(words["chatbots"]), tuple(words["prompts"])
            warm = {name.removeprefix(_WARM): arrays.pop(name) for name in list(arrays) if name.startswith(_WARM)}
            if all(name in warm for name in _UNTIL_LATER):
                warm = _without_excess(warm)
            there = [name for name in _FLOATS + _INTS if name not in _SINCE or name in arrays]
            found = cls(**words, **{name: arrays[name] for name in there}, warm=WarmStart(**warm) if warm else None)
            whole = whole and _fits_together(found)
        except _UNREADABLE as error:
            raise _not_a_posterior() from error
        if not whole:
            raise _not_a_posterior()
        return found


def _without_excess(warm: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit may begin with, of earlier bytes."""
    P = warm["phi"].shape[-1]
    none = {"excess_theta": np.zeros(0), "excess_cross": np.zeros((0, P)), "excess_phi": np.zeros((0, P, P))}
    none |= {"comparison": np.zeros(0, np.int64), "prompt": np.zeros(0, np.int64)}
    return {name: value for name, value in warm.items() if name not in _UNTIL_LATER} | none


def _digest(words: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """Of all that a posterior's bytes say: what was renamed, cut or changed has another one."""
    found = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _fits_together(posterior: Posterior) -> bool:
    """Whether all arrays have the shapes that `Posterior` and `Warm` promise; those that may be empty, or none."""
    M, C, J = len(posterior.chatbots), len(posterior.comparisons), len(posterior.prompts)
    E, T = 6 if posterior.form == "net" else 2, int(posterior.tier.max(initial=-1)) + 1
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("ability", "group", "chatbot_judgments"), (M,)),
        **dict.fromkeys(("theta", "theta_se"), (C,)),
        **dict.fromkeys(("discrimination", "discrimination_se"), (J,)),
        "covariance": (M, M),
        "thresholds": (J, E),
    }
    or_empty: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("tier_discrimination", "tier_discrimination_se"), (J, T, T)),
        **dict.fromkeys(("reply", "reply_se"), (J, M)),
        "theta_covariance": (C, C),
        "thresholds_se": (J, E),
        "tier": (M,),
    }
    fitting = all(getattr(posterior, name).shape == shape for name, shape in shapes.items())
    fitting &= all(
        getattr(posterior, name).shape == shape for name, shape in or_empty.items() if getattr(posterior, name).size
    )
    warm = posterior.warm
    if warm is None or not fitting:
        return fitting
    P, n = warm.phi.shape[-1], len(warm.excess_theta)
    return (
        (warm.z.ndim, warm.log_sd.ndim) == (1, 1)
        and (warm.own.shape, warm.phi.shape, warm.flip.shape) == ((J,), (J, P), (C,))
        and warm.excess_phi.shape in ((J, P, P), (0, P, P))
        and (warm.excess_theta.shape, warm.excess_cross.shape) == ((n,), (n, P))
        and (warm.comparison.shape, warm.prompt.shape) == ((n,), (n,))
        and (warm.reply.size == 0 or len(warm.reply) == J)
    )


def _not_a_posterior() -> InvalidResponses:
    return InvalidResponses(
        "these bytes are not a posterior of this version", code="bad_bytes", hint="fit the votes again"
    )
