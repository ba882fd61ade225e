"""The gold of a campaign's file: what may stand in an item, and what its names stand for before there are any rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsite.campaigns.gold import GoldBook, by_name
from evalsite.campaigns.models import Campaign, Entrant, GoldItem
from evalsite.campaigns.selectors import gold_in_use
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
    """The campaign's gold as its file has it; what is withdrawn is left out."""
    items = gold_in_use(campaign).select_related("prompt", "entrant_a__version__chatbot", "entrant_b__version__chatbot")
    return [{name: value for name, value in _item(campaign, item).items() if value} for item in items]


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
