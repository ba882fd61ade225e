"""Inputs and outputs of planning: frozen values. Nothing here is remembered between calls.

Notation: chatbots and prompts are named by their index in the state. An item is an unordered pair of chatbots on a
prompt, stored with a < b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from irt_engine.arrays import IntArray, check_fields, frozen, is_names
from irt_engine.posterior import Posterior
from scheduler.errors import InvalidState, is_count
from scheduler.overlap import Overlap
from scheduler.reasons import Reason

MOST_VOTES_PER_ITEM = 10**18  # an integer of 64 bits holds it


def no_items() -> IntArray:
    """Return an empty array of items.

    Returns
    -------
    ndarray of int, shape (0, 3)
        The array.
    """
    return np.empty((0, 3), np.int64)


def no_prompts() -> IntArray:
    """Return an empty array of prompts.

    Returns
    -------
    ndarray of int, shape (0,)
        The array.
    """
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CampaignState:
    """Everything that a plan or a decision may depend on.

    Parameters
    ----------
    chatbots, prompts : tuple of str
        Unique names.
    posterior : Posterior or None
        The last fit of model "board"; None before the first fit.
    judged : (n, 3) int array
        One row (a, b, prompt) per vote.
    pending : (k, 3) int array
        Items that are asked and not answered yet.
    closed : (m, 3) int array
        Items that must not be asked, because replies are missing or equal.
    votes_per_item : int
        Votes that an item may get, judged or pending. Above 1 the policy decides which items get a second vote.
    judgments : int
        Judgments so far, as the budget counts them.
    votes_per_pair : int or None
        Votes that a pair may get on all prompts together; None for no limit.
    overlap : Overlap
        The items that get several votes.
    retired : (r,) int array
        Prompts that are asked about no more.
    categories : tuple of str
        One category per prompt, or none at all.
    redundant : tuple of tuple of str
        Groups of prompts that say the same thing, by name, as `irt_engine` finds them.
    now : datetime or None
        The time, with its time zone, for deadlines. No clock is read here.

    Raises
    ------
    InvalidState
        If the parts contradict each other.
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
    overlap: Overlap = field(default_factory=Overlap)
    retired: IntArray = field(default_factory=no_prompts)
    categories: tuple[str, ...] = ()
    redundant: tuple[tuple[str, ...], ...] = ()
    now: datetime | None = None

    def __post_init__(self) -> None:
        self._check_types()
        self._check_names()
        for name in ("judged", "pending", "closed"):
            object.__setattr__(self, name, self._items(name))
        object.__setattr__(self, "retired", self._retired())
        self._check_votes()
        self._check_prompts()
        if self.now is not None and self.now.utcoffset() is None:
            raise InvalidState(f"{self.now} has no time zone", code="naive_time", hint="give now with its time zone")
        if self.posterior is not None and self.posterior.model != "board":
            raise InvalidState(
                f"a plan needs a board, not model {self.posterior.model!r}", code="bad_model", hint="fit model 'board'"
            )

    @property
    def most_votes(self) -> int:
        """Return the largest number of votes that an item can get."""
        return max(self.votes_per_item, self.overlap.votes) if self.overlap.share > 0.0 else self.votes_per_item

    def _check_types(self) -> None:
        check_fields(self, InvalidState)
        kinds: dict[str, Any] = {"posterior": Posterior | None, "overlap": Overlap, "redundant": tuple | list}
        for name, kind in kinds.items():
            found: Any = getattr(self, name)
            if not isinstance(found, kind) or (name == "redundant" and not all(is_names(group) for group in found)):
                raise InvalidState(
                    f"{name} is of another type: {type(found).__name__}",
                    code="bad_type",
                    hint="posterior is a fit's or None, overlap an Overlap, redundant a tuple of tuples of names",
                )

    def _check_names(self) -> None:
        for kind in ("chatbots", "prompts"):
            names = getattr(self, kind)
            if len(set(names)) < len(names):
                raise InvalidState(f"a name occurs twice in {kind}", code="repeated_name", hint="names are unique")

    def _check_votes(self) -> None:
        counts = is_count(self.votes_per_item, least=1, most=MOST_VOTES_PER_ITEM) and is_count(self.judgments)
        if not counts:
            raise InvalidState(
                f"votes_per_item {self.votes_per_item}, judgments {self.judgments}",
                code="bad_count",
                hint=f"votes_per_item is a whole number from 1 to {MOST_VOTES_PER_ITEM:,}, judgments of at least 0",
            )
        if self.votes_per_pair is not None and not is_count(self.votes_per_pair):
            raise InvalidState(
                f"votes_per_pair {self.votes_per_pair}",
                code="bad_count",
                hint="give a whole number, or None for no cap",
            )
        if self.votes_per_pair is not None and self.votes_per_pair < self.most_votes:
            raise InvalidState(
                f"votes_per_pair {self.votes_per_pair} is below the {self.most_votes} votes of an item",
                code="contradictory_caps",
                hint="a pair has at least the votes of one of its items",
            )

    def _check_prompts(self) -> None:
        if self.categories and len(self.categories) != len(self.prompts):
            raise InvalidState(
                f"{len(self.categories)} categories for {len(self.prompts)} prompts",
                code="bad_categories",
                hint="give one category per prompt, or none at all",
            )
        named = [name for group in self.redundant for name in group]
        if len(set(named)) < len(named) or not set(named) <= set(self.prompts):
            raise InvalidState(
                "a redundant group names a prompt twice, or one that the state does not have",
                code="bad_groups",
                hint="name each prompt of the state in at most one group",
            )

    def _retired(self) -> IntArray:
        found = np.unique(_whole(self.retired, "retired", code="bad_prompt").ravel())
        if len(found) and not 0 <= found[0] <= found[-1] < len(self.prompts):
            raise InvalidState(
                f"retired {found.tolist()} of {len(self.prompts)} prompts",
                code="bad_prompt",
                hint="name prompts by their index in the state",
            )
        return frozen(found, np.int64)

    def _items(self, name: str) -> IntArray:
        raw = _whole(getattr(self, name), name, code="bad_item")
        if raw.size and raw.shape[-1] != 3:
            raise InvalidState(f"{name} is not (n, 3)", code="bad_item", hint="give rows of chatbot, chatbot, prompt")
        raw = raw.reshape(-1, 3)
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


def _whole(values: ArrayLike, name: str, *, code: str) -> IntArray:
    """Indices as an array of integers; whole numbers that came as floats pass."""
    try:
        raw = np.asarray(values)
    except ValueError:  # rows of unequal length
        raw = np.empty(1, object)
    if raw.dtype.kind not in "iuf" or not ((raw == np.floor(raw)) & (np.abs(raw) < 2.0**53)).all():
        raise InvalidState(
            f"{name} holds something that is no whole number", code=code, hint="give indices into the state's names"
        )
    return raw.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Ask:
    """One judgment to collect.

    Parameters
    ----------
    a, b, prompt : int
        The item.
    value : float
        Expected fall of the target's variance trace(W Sigma); 0 if the policy does not value items.
    probability : float
        Probability of this draw, given the earlier draws of the same plan.
    """

    a: int
    b: int
    prompt: int
    value: float
    probability: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Judgments to collect, best used in order.

    Parameters
    ----------
    asks : tuple of Ask
        The judgments.
    policy : str
        The policy that chose them.
    seed : int
        The seed of the plan.
    reason : Reason
        What the plan rests on, or why it is empty.
    """

    asks: tuple[Ask, ...]
    policy: str
    seed: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class StoppingDecision:
    """Whether to stop, why, and the numbers that the reason rests on.

    Parameters
    ----------
    stop : bool
        Whether to stop.
    reason : Reason
        Why, or why not yet.
    evidence : mapping of str to float
        Numbers by name.
    """

    stop: bool
    reason: Reason
    evidence: Mapping[str, float]
