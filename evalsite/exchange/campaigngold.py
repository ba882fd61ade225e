"""The gold of a campaign's file: what may stand in an item, and what its names stand for before there are any rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.campaigns.gold import GoldBook, by_name
from evalsite.campaigns.gold_file import gold_from
from evalsite.campaigns.models import Campaign, Entrant, GoldItem
from evalsite.campaigns.selectors import gold_in_use
from evalsite.core.errors import InvalidInput
from evalsite.prompts.models import Prompt

FIELDS = (
    *("id", "prompt_id", "category", "text", "reply_a", "reply_b", "chatbot_a", "chatbot_b", "explanation"),
    *("right", "turns"),
)


def book_of(
    choices: Sequence[str], prompts: Iterable[str], chatbots: Iterable[tuple[str, str, Mapping[str, Any]]]
) -> GoldBook:
    """What gold may name in a file of these prompts and chatbots (name, version, replies by prompt)."""
    rows = {key: Prompt(pk=number, key=key) for number, key in enumerate(prompts, start=1)}
    entrants, answered = [], set()
    for number, (name, version, replies) in enumerate(chatbots, start=1):
        entrants.append((name, f"{name} {version}", Entrant(pk=number, version_id=number)))
        answered |= {(rows[key].pk, number) for key in replies if key in rows}
    return GoldBook(choices, rows, by_name(entrants), frozenset(answered), {})


def gold_written(campaign: Campaign) -> list[dict[str, Any]]:
    """The campaign's gold as its file has it; left out is what is withdrawn, and what its reader would refuse.

    That is gold of a chatbot or on a prompt that the file does not have, or whose verdicts are no longer asked for.
    """
    book = replace(GoldBook.of(campaign), there={})
    items = gold_in_use(campaign).select_related("prompt", "entrant_a__version__chatbot", "entrant_b__version__chatbot")
    written = [{name: value for name, value in _item(campaign, item).items() if value} for item in items]
    return [values for values in written if _readable(book, values)]


def _readable(book: GoldBook, values: Mapping[str, Any]) -> bool:
    try:
        book.resolve(gold_from(values, values["id"]))
    except InvalidInput:
        return False
    return True


def _item(campaign: Campaign, item: GoldItem) -> dict[str, Any]:
    own = item.prompt.prompt_set_id != campaign.prompt_set_id
    turns = [dict(turn) for turn in item.prompt.turns or []]
    a, b = item.entrant_a, item.entrant_b
    return {
        "id": item.key,
        "prompt_id": "" if own else item.prompt.key,
        "category": item.prompt.category if own else "",
        "text": turns[0]["text"] if own and len(turns) == 1 else "",
        "turns": turns if own and len(turns) > 1 else [],
        "reply_a": item.text_a,
        "reply_b": item.text_b,
        "chatbot_a": str(a.version) if a else "",
        "chatbot_b": str(b.version) if b else "",
        "right": list(item.right),
        "explanation": item.explanation,
    }
