"""Overlap: the items that get several votes, so that annotators can be compared with each other.

A hash of names and a seed draws the items: the same ones in every plan and on every machine, whichever chatbots have
joined or left meanwhile. A second vote on an item teaches less about abilities than a first vote on another item. The
overlap is the share of items for which a campaign pays this price.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irt_engine.arrays import BoolArray, IntArray, check_fields
from scheduler.errors import InvalidRequest, is_count

MOST_VOTES = 1_000  # of an item of the overlap: a forecast keeps a number for each of them
_Hashes = NDArray[np.uint64]
_TWO64 = 2.0**64


@dataclass(frozen=True, slots=True)
class Overlap:
    """A share of all items gets several votes each, the same items for the same seed.

    Parameters
    ----------
    share : float
        Share of all items, from 0 to 1.
    votes : int
        Votes of each of these items, from 2 to `MOST_VOTES`.
    seed : int
        Seed of the draw, 0 or more.

    Raises
    ------
    InvalidRequest
        For other values.
    """

    share: float = 0.0
    votes: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        counts = is_count(self.votes, least=2, most=MOST_VOTES) and is_count(self.seed)
        if not (math.isfinite(self.share) and 0.0 <= self.share <= 1.0 and counts):
            raise InvalidRequest(
                f"overlap of a share {self.share}, {self.votes} votes, seed {self.seed}",
                code="bad_overlap",
                hint=f"share is from 0 to 1, votes from 2 to {MOST_VOTES:,}, the seed 0 or more",
            )

    @property
    def judgments_each(self) -> float:
        """Return the mean number of judgments per item that has a first vote."""
        return 1.0 + self.share * (self.votes - 1)


class OverlapSample:
    """Represent the items of some chatbots and prompts that an overlap has drawn.

    Parameters
    ----------
    overlap : Overlap
        The overlap.
    chatbots, prompts : sequence of str
        Names, from which the draw follows.
    """

    def __init__(self, overlap: Overlap, chatbots: Sequence[str], prompts: Sequence[str]) -> None:
        self.share = overlap.share
        if self.share > 0.0:
            self.chatbots = _hashes(chatbots, overlap.seed, b"chatbot")
            self.prompts = _hashes(prompts, overlap.seed, b"prompt")

    def chosen(self, a: IntArray, b: IntArray, prompt: IntArray) -> BoolArray:
        """Return which items are in the sample.

        Parameters
        ----------
        a, b, prompt : ndarray of int
            Indices that broadcast to (n,); a and b in either order.

        Returns
        -------
        ndarray of bool, shape (n,)
            Whether the item is in the sample.
        """
        if self.share == 0.0:
            return np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(prompt)), bool)
        pair = np.atleast_1d(self.chatbots[a] ^ self.chatbots[b])  # of an array, numbers wrap around silently
        mixed = _mixed(_mixed(pair) ^ np.atleast_1d(self.prompts[prompt]))
        found: BoolArray = mixed < self.share * _TWO64
        return found


def _hashes(names: Sequence[str], seed: int, kind: bytes) -> _Hashes:
    """(n,) unsigned 64-bit hashes of names; a prompt and a chatbot of the same name have different ones."""
    salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    digests = (hashlib.blake2b(name.encode(), digest_size=8, salt=salt, person=kind).digest() for name in names)
    return np.frombuffer(b"".join(digests), np.dtype("<u8"))


def _mixed(x: _Hashes) -> _Hashes:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): every bit of x changes every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
