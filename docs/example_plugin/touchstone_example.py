"""A policy, a stopping rule and a format of votes for Touchstone."""

from dataclasses import dataclass

from evalsite.exchange.vote_formats.base import VoteFormat
from evalsite.exchange.vote_formats.columns import arena_layout
from scheduler import StoppingDecision
from scheduler.policies.item_sampling import PairThenPromptSampler
from scheduler.policies.pair_selection import BalancedPairs
from scheduler.policies.prompt_selection import UniformPrompts
from scheduler.reasons import Reason


def even(state, pool, design):
    return PairThenPromptSampler(BalancedPairs(), UniformPrompts(), None, Reason("pairs as even as can be"))


@dataclass(frozen=True)
class VotesPerChatbot:
    votes: int
    order = 5

    def decide(self, state):
        mean = 2 * state.judgments / max(1, len(state.chatbots))
        return StoppingDecision(mean >= self.votes, Reason(f"{mean:.0f} votes per chatbot"), {"mean": mean})


SHOWN = VotesPerChatbot(100)  # an example with settings, which the contract test asks


class Duels(VoteFormat):
    name, title, needed = "duels", "votes on duels", ("red", "blue", "won")

    def layout(self, records, first):
        return arena_layout(*self.columns(records.columns).values())
