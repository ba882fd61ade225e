"""Proposals to leave conversations out of a report, and what a report loses by them.

| reason | proposed if |
|---|---|
| `fixed_pattern` | every counted turn has the same display positions selected, and another pattern was possible |
| `short_messages` | the messages have fewer than two tokens on average (a token: a run of characters without space) |
| `names_maker` | a reply names its maker, so that the chatbot is not anonymous |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CleaningReason = Literal["fixed_pattern", "short_messages", "names_maker"]
REASONS: tuple[CleaningReason, ...] = ("fixed_pattern", "short_messages", "names_maker")
FEWEST_TURNS = 5  # of two chatbots, five equal one-best choices in a row have a chance of 1 in 16
FEWEST_TOKENS = 2.0


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """Store what the proposals look at in one conversation.

    Parameters
    ----------
    name : str
        Name of the conversation.
    patterns : tuple of str
        Selection pattern of each counted turn, by display position: 1 = selected, 0 = not.
    tokens : tuple of int
        Number of tokens of each message of the annotator; empty if the texts are erased.
    names_maker : bool
        Whether a reply names its maker.
    """

    name: str
    patterns: tuple[str, ...]
    tokens: tuple[int, ...]
    names_maker: bool = False


@dataclass(frozen=True, slots=True)
class CleaningProposal:
    """Store a proposal to leave a conversation out.

    Parameters
    ----------
    name : str
        Name of the conversation.
    reasons : tuple of str
        The reasons, at least one.
    """

    name: str
    reasons: tuple[CleaningReason, ...]


@dataclass(frozen=True, slots=True)
class SampleSizes:
    """Store the size of a sample of conversations.

    Parameters
    ----------
    dialogues, turns : int
        Number of conversations and of their counted turns.
    """

    dialogues: int
    turns: int

    @property
    def mean_turns(self) -> float | None:
        """Return the mean number of turns in a conversation; None without conversations."""
        return self.turns / self.dialogues if self.dialogues else None

    def removed_from(self, before: SampleSizes) -> tuple[float, float]:
        """Return the shares of dialogues and of turns that this sample lacks.

        Parameters
        ----------
        before : SampleSizes
            The sample before cleaning.

        Returns
        -------
        tuple of float, length 2
            Shares from 0 to 1; 0 for an empty sample.
        """
        return _lost(before.dialogues, self.dialogues), _lost(before.turns, self.turns)


def _lost(before: int, after: int) -> float:
    return (before - after) / before if before else 0.0


def cleaning_proposals(conversations: Sequence[ConversationFacts]) -> tuple[CleaningProposal, ...]:
    """Return the conversations that a report should leave out, with the reasons.

    Parameters
    ----------
    conversations : sequence of ConversationFacts
        The conversations.

    Returns
    -------
    tuple of CleaningProposal
        Those with a reason, in the given order.

    Examples
    --------
    >>> cleaning_proposals([ConversationFacts("c1", ("10",) * 10, (4,) * 10)])[0].reasons
    ('fixed_pattern',)
    """
    found = ((one.name, _reasons(one)) for one in conversations)
    return tuple(CleaningProposal(name, reasons) for name, reasons in found if reasons)


def _reasons(one: ConversationFacts) -> tuple[CleaningReason, ...]:
    several = bool(one.patterns) and len(one.patterns[0]) > 1
    holds: dict[CleaningReason, bool] = {
        "fixed_pattern": several and len(one.patterns) >= FEWEST_TURNS and len(set(one.patterns)) == 1,
        "short_messages": bool(one.tokens) and sum(one.tokens) / len(one.tokens) < FEWEST_TOKENS,
        "names_maker": one.names_maker,
    }
    return tuple(reason for reason in REASONS if holds[reason])
