"""Shrug: says in many ways that it does not know."""

from dataclasses import dataclass

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import last_user_text, pick

_SHRUGS = (
    "I don't know.",
    "No idea, sorry.",
    "I am afraid I do not know that.",
    "Hmm. I really could not say.",
    "Sorry, I have no answer to that.",
    "That is beyond me.",
    "I wish I knew!",
    "You have got me there. I don't know.",
    "I am not sure about that one, sorry.",
    "Honestly? I have not the faintest idea.",
    "I would only be guessing, so I had better say nothing.",
    "Good question. I do not know.",
)


@dataclass(frozen=True, slots=True)
class DontKnow:
    key: str = "shrug"
    name: str = "Shrug"
    description: str = "Honest about not knowing anything."

    def reply(self, turns: Turns) -> str:
        return pick(_SHRUGS, self.key, last_user_text(turns))
