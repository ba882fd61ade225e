"""Posterior: what a fit believes, frozen; questions about it; to and from bytes.

Abilities are approximately jointly normal; everything here is arithmetic on their means and covariance.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from .arrays import FloatArray, IntArray, frozen
from .errors import EngineError, InvalidResponses, NotIdentified

_FORMAT = 1
_FLOATS = ("ability", "covariance", "theta", "theta_se", "discrimination", "discrimination_se", "thresholds")
_INTS = ("group", "chatbot_judgments")


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
    """What a normal difference with this mean and SE says; used for chatbots and for comparisons alike."""
    z = mean / se
    return Difference(mean, se, float(ndtr(z)), bool(abs(z) > ndtri(0.975)))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Frozen result of a fit. M chatbots, C comparisons, J prompts; no entry is ever NaN.

    ability (M,), covariance (M, M): model board; minus the mean of its group. A chatbot alone in its group has no
    mean but its own, so it stands at 0 with the prior's variance. Empty under model pair.
    group (M,): 1 = the largest connected part of the comparison graph.
    theta, theta_se (C,): per comparison, > 0 means b is better.
    discrimination (J,), discrimination_se (J,); thresholds (J, 6) for u >= -2..3 in the comparison's orientation.
    converged: the fit solved the equations that data of this size call for (see `fit`); False means that the SEs are
    those of a joint mode, too small, on data that should have been averaged. iterations counts both stages.
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
        half = _quantile(level) * self.se
        return np.stack([self.ability - half, self.ability + half], axis=1)

    def difference(self, a: str, b: str) -> Difference:
        """s_b - s_a. Raises NotIdentified for unknown names, a == b, or chatbots in separate groups."""
        i, j = self._index(a), self._index(b)
        if i == j:
            raise NotIdentified(f"{a!r} against itself", code="self_comparison", hint="name two chatbots")
        if self.group[i] != self.group[j]:
            raise NotIdentified(
                f"{a!r} and {b!r} are in separate parts of the graph",
                code="separate_groups",
                hint="collect votes on a pair that links the two parts",
            )
        C = self.covariance
        variance = C[i, i] + C[j, j] - 2.0 * C[i, j]
        return difference_of(float(self.ability[j] - self.ability[i]), float(np.sqrt(variance)))

    def rank_bounds(self, level: float = 0.95) -> IntArray:
        """(M, 3) rank, best possible, worst possible, within the group; 1 is best.

        Best possible = 1 + how many are significantly better; worst = size - how many are significantly worse.
        """
        better = self._clearly_better(level)
        same = self.group[:, None] == self.group[None, :]
        above = same & (self.ability[None, :] > self.ability[:, None])
        rank = 1 + above.sum(axis=1)
        lower = 1 + (better & same).sum(axis=0)
        upper = same.sum(axis=1) - (better & same).sum(axis=1)
        return np.stack([rank, lower, upper], axis=1)

    def _clearly_better(self, level: float) -> Any:
        """(M, M) boolean: row is better than column at this level."""
        v = np.diag(self.covariance)
        se = np.sqrt(np.maximum(v[:, None] + v[None, :] - 2.0 * self.covariance, 0.0))
        return self.ability[:, None] - self.ability[None, :] > _quantile(level) * se

    def _index(self, name: str) -> int:
        try:
            return self.chatbots.index(name)
        except ValueError:
            raise NotIdentified(
                f"{name!r} is not on this board", code="unknown_chatbot", hint="see Posterior.chatbots"
            ) from None

    def to_bytes(self) -> bytes:
        """A compressed numpy archive without pickles; equal posteriors give equal bytes."""
        words = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _FLOATS + _INTS}
        words["comparisons"] = [(c.a, c.b, c.by, c.judgments) for c in self.comparisons]
        words["format"] = _FORMAT
        head = np.frombuffer(json.dumps(words, sort_keys=True).encode(), np.uint8)
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _FLOATS + _INTS}
        np.savez_compressed(buffer, head=head, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The posterior that `to_bytes` wrote. Raises InvalidResponses on anything else."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                words = json.loads(archive["head"].tobytes())
                arrays = {name: archive[name] for name in _FLOATS + _INTS}
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise _not_a_posterior() from error
        if words.pop("format", None) != _FORMAT:
            raise _not_a_posterior()
        words["comparisons"] = tuple(Comparison(*row) for row in words["comparisons"])
        words["chatbots"], words["prompts"] = tuple(words["chatbots"]), tuple(words["prompts"])
        return cls(**words, **arrays)


def _not_a_posterior() -> InvalidResponses:
    return InvalidResponses(
        "these bytes are not a posterior of this version", code="bad_bytes", hint="fit the votes again"
    )


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise EngineError(f"level {level} is not a probability", code="bad_level", hint="give for example 0.95")
    return float(ndtri(0.5 + level / 2.0))
