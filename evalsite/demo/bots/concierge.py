"""Concierge: the best chatbot. It uses earlier turns, simple arithmetic, the almanac and the shelf."""

import re
from dataclasses import dataclass

from evalsite.demo.bots.almanac import Entry, look_up
from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.memory import left_out, recall
from evalsite.demo.bots.reflector import reflect
from evalsite.demo.bots.shelf import closest
from evalsite.demo.bots.sums import work_out
from evalsite.demo.bots.text import clip, earlier_user_texts, last_user_text, pick, sentence_case

_CLOSE = 0.2
"""Cosine from which a sentence of the shelf is worth saying."""

_SAD = re.compile(
    r"\b(?:fail\w*|stupid|miss|nervous|quiet|worry\w*|ill|awful|bored|scared|sad|lonely|afraid|alone)\b", re.I
)
_GLAD = re.compile(r"\b(?:happy|got the job|wanted for years|expecting|glad|proud|excited)\b", re.I)
_KIND_WORDS = (
    "I am sorry, that is not easy. ",
    "That sounds hard, and I am glad you told me. ",
    "Oh dear. Anybody would feel that. ",
)
_GLAD_WORDS = ("How wonderful! ", "That is lovely to hear! ")
_REMEMBERED = (
    "Of course: you told me that {said}.",
    "I have not forgotten: {said}.",
    "Certainly. You said that {said}.",
)


def tone(heard: str) -> str:
    """Return a kind opening if the user writes about something personal that is glad or sad."""
    if not re.search(r"\b(?:i|my|me|we)\b", heard, re.I):
        return ""
    if _GLAD.search(heard):
        return pick(_GLAD_WORDS, "glad", heard)
    return pick(_KIND_WORDS, "sad", heard) if _SAD.search(heard) else ""


def remembered(heard: str, earlier: tuple[str, ...]) -> str:
    """Return an answer from the earlier turns, or an empty text."""
    if found := recall(heard, earlier):
        return pick(_REMEMBERED, "memory", heard).format(said=found.sentence)
    if note := left_out(heard, earlier):
        return f"I would leave out the {note.sentence}. Shall we think of something that is just as good?"
    return ""


def known(heard: str, earlier: tuple[str, ...]) -> Entry | None:
    """Return the almanac's entry for the last turn.

    A better match that includes earlier turns replaces a weak one.
    """
    entry, size = look_up(heard)
    if size >= 2 or not earlier:
        return entry
    wider, wider_size = look_up(" ".join((*earlier, heard)))
    return wider if wider_size > size else entry


@dataclass(frozen=True, slots=True)
class Concierge:
    key: str = "concierge"
    name: str = "Concierge"
    description: str = "Remembers what you said, knows many useful things, and cares how you are."

    def reply(self, turns: Turns) -> str:
        heard, earlier = last_user_text(turns), earlier_user_texts(turns)
        return clip(sentence_case(remembered(heard, earlier) or _answered(turns, heard, earlier)))


def _answered(turns: Turns, heard: str, earlier: tuple[str, ...]) -> str:
    if total := work_out(heard):
        return f"{total} Shall I work out anything else for you?"
    if entry := known(heard, earlier):
        return tone(heard) + " ".join(part for part in (entry.say, entry.more, entry.ask) if part)
    line, similarity = closest(turns)
    if similarity >= _CLOSE:
        return f"{tone(heard)}{line} Would you like to tell me more?"
    return f"{tone(heard)}I want to get this right. {reflect(heard)}"
