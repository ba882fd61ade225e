"""What a plan is made from and what comes out: frozen values. Nothing here remembers anything between calls.

a, b and prompt are indices into chatbots and prompts; an item is an unordered pair on a prompt, kept with a < b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from irt_engine.arrays import IntArray, frozen
from irt_engine.posterior import Posterior

from .errors import InvalidState


def no_items() -> IntArray:
    """An empty (0, 3) array of items."""
    return np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CampaignState:
    """Everything that a plan or a decision may depend on.

    judged (n, 3) one row per vote; pending (k, 3) asked and not yet answered; closed (m, 3) items that may never be
    asked (equal or missing replies). An item is full when votes_per_item votes are judged or pending, a pair when
    votes_per_pair are (None: no pair is ever full).
    `posterior` is of model board, or None before the first fit. Raises InvalidState.
    """

    chatbots: tuple[str, ...]
    prompts: tuple[str, ...]
    posterior: Posterior | None = None
    judged: IntArray = field(default_factory=no_items)
    pending: IntArray = field(default_factory=no_items)
    closed: IntArray = field(default_factory=no_items)
    votes_per_item: int = 1
    judgments: int = 0
    votes_per_pair: int | None = None

    def __post_init__(self) -> None:
        for name in ("judged", "pending", "closed"):
            object.__setattr__(self, name, self._items(name))
        if self.votes_per_item < 1 or self.judgments < 0:
            raise InvalidState(
                f"votes_per_item {self.votes_per_item}, judgments {self.judgments}",
                code="bad_count",
                hint="votes_per_item is at least 1, judgments at least 0",
            )
        if self.votes_per_pair is not None and self.votes_per_pair < self.votes_per_item:
            raise InvalidState(
                f"votes_per_pair {self.votes_per_pair} is below votes_per_item {self.votes_per_item}",
                code="contradictory_caps",
                hint="a pair has at least the votes of one of its items",
            )
        if self.posterior is not None and self.posterior.model != "board":
            raise InvalidState(
                f"a plan needs a board, not model {self.posterior.model!r}", code="bad_model", hint="fit model 'board'"
            )

    def _items(self, name: str) -> IntArray:
        raw = np.asarray(getattr(self, name), dtype=np.int64).reshape(-1, 3)
        pair = np.sort(raw[:, :2], axis=1)
        items = np.column_stack([pair, raw[:, 2]])
        limit = np.array([len(self.chatbots), len(self.chatbots), len(self.prompts)])
        bad = (items < 0).any(axis=1) | (items >= limit).any(axis=1) | (items[:, 0] == items[:, 1])
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidState(
                f"{name} row {row + 1} is {raw[row].tolist()}",
                code="bad_item",
                hint="two different chatbots and a prompt, as indices into the state's names",
            )
        array: IntArray = frozen(items, np.int64)
        return array


@dataclass(frozen=True, slots=True)
class Ask:
    """One judgment to collect. `value`: expected fall of the target's variance trace(W Sigma) (0 if not valued).

    `probability`: of this draw, given the earlier draws of the same plan.
    """

    a: int
    b: int
    prompt: int
    value: float
    probability: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Asks, best used in order. `reason` says what the plan was made from, and why an empty one is empty."""

    asks: tuple[Ask, ...]
    policy: str
    seed: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, why, and the numbers that the reason rests on."""

    stop: bool
    reason: str
    evidence: Mapping[str, float]
