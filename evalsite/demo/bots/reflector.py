"""Mirror: an ELIZA-style chatbot that rephrases the user's words as questions.

The idea is J. Weizenbaum's (Communications of the ACM 9(1), 1966). The rules and texts are this project's own.
"""

import re
from dataclasses import dataclass

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import clip, last_user_text, pick, sentences, turned

_MAX_PART = 120
"""Characters of the user's words that a reply repeats."""

_RULES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replies)
    for pattern, replies in (
        (
            r"\bi (?:feel|have felt|am feeling) (.+)",
            ("How long have you felt {0}?", "Do you often feel {0}?", "What is it like to feel {0}?"),
        ),
        (
            r"\bi miss (.+)",
            ("What do you miss most about {0}?", "Does it help you to speak about {0}?"),
        ),
        (
            r"\bi (?:need|want) (.+)",
            ("What would it mean to you if you got {0}?", "Suppose you had {0}. What then?"),
        ),
        (
            r"\bi (?:am|have been) (.+)",
            ("Since when have you been {0}?", "How do you feel about being {0}?"),
        ),
        (
            r"\bi (?:love|like) (.+)",
            ("What do you love about {0}?", "It is good to hear that {0} gives you joy. Why does it?"),
        ),
        (
            r"\b(my (?:sister|brother|mother|father|(?:best )?friend|neighbour|cat|dog|grandmother))\b",
            ("Tell me more about {0}.", "What does {0} mean to you?"),
        ),
        (
            r"^how (?:do|can|could|should) (?:i|we) (.+)",
            ("What have you tried so far to {0}?", "What would change if you knew how to {0}?"),
        ),
        (
            r"^what (?:can|could|should) (?:i|we) (.+)",
            ("What would you {0} if nobody gave you advice?", "What is your own feeling about what to {0}?"),
        ),
        (
            r"^(?:do|does) (.+)",
            (
                "You ask whether {0}. Perhaps you have a feeling already?",
                "What would you like the answer to be?",
            ),
        ),
        (
            r"^is it (?:ever )?(.+)",
            ("Do you think yourself that it is {0}?", "Has somebody told you that it is {0}?"),
        ),
        (
            r"^(?:should|would|is|are|can) .+",
            ("What would you like the answer to be?", "And if the answer were no, what then?"),
        ),
        (
            r"^(?:why|how|what|which|who|where|when)\b.*",
            (
                "What comes to your mind first when you ask that?",
                "Why does that question matter to you?",
                "What answer would please you most?",
                "Have you asked anybody else about it?",
                "What do you think yourself?",
                "Is there something else behind that question?",
            ),
        ),
        (
            r"^(?:please|tell|give|write|make|say|explain|pick|keep)\b.+",
            (
                "What do you hope to hear?",
                "Why do you ask me for that?",
                "Suppose I did. What would you feel?",
            ),
        ),
        (
            r"\bmy (\w+)",
            (
                "You say it is your own {0}. Why is that important to you?",
                "What else comes to mind about your {0}?",
            ),
        ),
        (r"\b(?:hello|hi|good morning|good evening)\b", ("Hello. What would you like to talk about?",)),
        (
            r"\bi (.+)",
            ("Why do you say that you {0}?", "What does it mean to you that you {0}?"),
        ),
    )
)
_OTHERWISE = (
    "Please go on.",
    "How does that make you feel?",
    "I see. And what does that mean for you?",
    "Could you say a little more about that?",
)


def reflect(text: str) -> str:
    """Return the reply of the first rule that matches a sentence, starting with the last sentence."""
    parts = list(sentences(text))[::-1]
    for pattern, replies in _RULES:
        for part in parts:
            if found := pattern.search(part):
                piece = turned(found.group(1) if found.lastindex else "").strip(" .,!?;:")
                return pick(replies, "mirror", text).format(clip(piece, _MAX_PART) or "that")
    return pick(_OTHERWISE, "mirror", text)


@dataclass(frozen=True, slots=True)
class Reflector:
    key: str = "mirror"
    name: str = "Mirror"
    description: str = "Listens, turns your words round, and asks about them."

    def reply(self, turns: Turns) -> str:
        return reflect(last_user_text(turns))
