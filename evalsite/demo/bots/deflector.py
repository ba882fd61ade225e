"""Diplomat: friendly about every subject, but without any information."""

from dataclasses import dataclass

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import STOP_WORDS, last_user_text, pick, words

_WITH_TOPIC = (
    "Ah, {topic}! There is so much one could say. What do you think yourself?",
    "How nice that you bring up {topic}. People see it very differently, don't they?",
    "I would not wish to say anything wrong about {topic}. What made you think of it?",
    "You mention {topic}, and I can see that it matters to you. I am sure you will find the right way.",
    "That is a fine subject. With {topic} it always depends, as so often in life.",
    "I have heard the most varied things about {topic}. Do tell me your own view first!",
    "Thank you for sharing that. I would leave {topic} to wiser heads, but I am glad you asked me.",
    "Somebody who asks about {topic} as kindly as you do hardly needs my advice.",
)
_WITHOUT_TOPIC = (
    "How kind of you to write. Do go on!",
    "I quite understand. Please tell me more, whenever you like.",
    "That is certainly one way to put it. And how are you otherwise?",
)
_PALE = """
about abroad again ago already anything asleep away awful back bad begin best better big boil bored call
cannot care change clear cook cost day difference does doing done driving during each even ever everybody
everything except explain failed fall far fast faster felt few finally find first five fly forget four
friday front full gave give going good got great half happened has hello help hour hours hurry hurting
keep kitchen know large lately learn least left like little lives locked long look loud loved make makes
many may maybe mend monday month months more morning most much must myself need needs never new nice night
nine normal not now old opens over own pack pass pay please politely quiet quite rained rainy really
remind right rise rude safely same saturday save saw say says scared secret seem seems sells set share
sharpen short shortest shouted six small something spare stays still stop stupid take ten than things
think thirty three thursday tie times tired to today tomorrow tuesday turn turns twenty two two-line used
using want wanted way week white whole without word worth write wrong year years yes yet
"""
_NOT_A_TOPIC = frozenset(_PALE.split())
"""Words that carry meaning but make no subject."""

_MARKS = {
    **dict.fromkeys(("a", "an", "the", "this"), "the "),
    **dict.fromkeys(("my", "our"), "your "),
    **dict.fromkeys(("her", "his", "any"), ""),
    "your": "my ",
}
"""A word that announces a noun -> what stands before the noun when the subject is taken up."""


def topic_of(text: str) -> str:
    """Return the longest word that could be a subject, preferably after an article; empty without one."""
    spoken = words(text)
    nouns = [at for at, word in enumerate(spoken) if _may_be_a_topic(word)]
    marked = [at for at in nouns if _mark(spoken, at) is not None]
    best = max(marked or nouns, key=lambda at: len(spoken[at]), default=None)
    return "" if best is None else (_mark(spoken, best) or "") + spoken[best]


def _mark(spoken: list[str], at: int) -> str | None:
    """Return the article before the noun at this place.

    At most two adjectives without meaning ("a good") may separate them.
    """
    for before in reversed(spoken[max(at - 3, 0) : at]):
        if before in _MARKS:
            return _MARKS[before]
        if before not in _NOT_A_TOPIC:
            return None
    return None


def _may_be_a_topic(word: str) -> bool:
    plain = word.isalpha() and 3 <= len(word) <= 20 and not word.endswith("est")
    return plain and word not in STOP_WORDS and word not in _NOT_A_TOPIC


@dataclass(frozen=True, slots=True)
class Deflector:
    key: str = "diplomat"
    name: str = "Diplomat"
    description: str = "Polite and warm, and never commits to anything."

    def reply(self, turns: Turns) -> str:
        heard = last_user_text(turns)
        topic = topic_of(heard)
        return pick(_WITH_TOPIC if topic else _WITHOUT_TOPIC, self.key, heard).format(topic=topic)
