"""Parrot: repeats the user's text."""

from dataclasses import dataclass

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import clip, last_user_text


@dataclass(frozen=True, slots=True)
class Echo:
    key: str = "parrot"
    name: str = "Parrot"
    description: str = "Repeats what it heard, word for word."

    def reply(self, turns: Turns) -> str:
        heard = last_user_text(turns)
        return clip(heard) if heard else "…"
