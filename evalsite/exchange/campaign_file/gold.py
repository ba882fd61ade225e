"""Gold of a campaign file: reading and writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsite.campaigns.gold import GoldBook, NewGold, by_name
from evalsite.campaigns.gold_file import gold_from
from evalsite.campaigns.models import Campaign, Entrant, GoldItem
from evalsite.campaigns.selectors import gold_in_use
from evalsite.core.errors import InvalidInput
from evalsite.exchange.campaign_file.lines import Document, Path, dotted
from evalsite.exchange.campaign_file.models import File
from evalsite.exchange.campaign_file.problems import Problem
from evalsite.prompts.models import Prompt


def book_of(choices: Sequence[str], file: File) -> GoldBook:
    """Return the prompts and chatbots that gold of the file may name; they have no rows yet."""
    rows = {one.id: Prompt(pk=number, key=one.id) for number, one in enumerate(file.prompts, start=1)}
    entrants, answered = [], set()
    for number, one in enumerate(file.chatbots, start=1):
        entrants.append((one.name, f"{one.name} {one.version}", Entrant(pk=number, version_id=number)))
        answered |= {(rows[key].pk, number) for key in one.replies if key in rows}
    single = file.campaign.given().get("mode") == Campaign.Mode.SINGLE
    return GoldBook(choices, rows, by_name(entrants), frozenset(answered), {}, single)


def gold_read(document: Document, book: GoldBook, problems: list[Problem]) -> list[NewGold]:
    """Return the gold of a file, and add its problems to `problems`. Items that have one already are skipped."""
    broken = {tuple(problem.key.split(".")[:2]) for problem in problems}
    gold: dict[str, NewGold] = {}
    items = document.value.get("gold")
    for position, item in enumerate(items if isinstance(items, list) else ()):
        path: Path = ("gold", position)
        if ("gold", str(position)) in broken:
            continue
        try:
            new = gold_from(item, item["id"])
            book.resolve(new)
        except InvalidInput as error:
            path = (*path, error.field) if error.field else path
            problems.append(Problem(document.key_line(path), dotted(path), error.message))
            continue
        if new.key in gold:
            problems.append(Problem(document.line(path), dotted((*path, "id")), f"{new.key!r} stands here twice"))
        gold[new.key] = new
    return list(gold.values())


def gold_written(campaign: Campaign, *, with_prompts: bool = True) -> list[dict[str, Any]]:
    """The campaign's gold as its file has it; left out is what is withdrawn, and what its reader would refuse.

    That is gold of a chatbot or on a prompt that the file does not have, or whose verdicts are no longer asked for.

    with_prompts: whether the file has the campaign's prompts.
    """
    book = replace(GoldBook.of(campaign), there={})
    if not with_prompts:
        book = replace(book, prompts={})
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
