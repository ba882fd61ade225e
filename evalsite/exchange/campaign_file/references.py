"""Checks across the parts of a campaign file: duplicate names, and references to nothing.

They read the plain values, so that a file with wrong values gets all its problems at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalsite.campaigns.models import Onboarding
from evalsite.exchange.campaign_file.lines import Document, Path, dotted
from evalsite.exchange.campaign_file.problems import Problem

Rows = list[tuple[int, dict[str, Any]]]  # position, mapping


def reference_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems of names, and of values that depend on other parts."""
    content = document.value if isinstance(document.value, dict) else {}
    prompts, chatbots = _rows(content, "prompts", "id"), _rows(content, "chatbots", "name")
    if "aspects" in content and not (isinstance(content["aspects"], list) and content["aspects"]):
        yield _problem(document, ("aspects",), "must have one")
    yield from _repeated(document, "prompts.{}.id", [(n, repr(str(one["id"]))) for n, one in prompts])
    yield from _texts(document, content)
    names = [(str(one["name"]), str(one.get("version", "1"))) for _, one in chatbots]
    words = [f"{name!r} of version {version!r}" for name, version in names]
    yield from _repeated(document, "chatbots.{}.name", [(n, one) for (n, _), one in zip(chatbots, words, strict=True)])
    yield from _replies(document, {str(one["id"]) for _, one in prompts}, _rows(content, "chatbots", "replies"))
    plan, onboarding = content.get("plan"), content.get("reception")
    newcomer = plan.get("newcomer") if isinstance(plan, dict) else None
    if isinstance(newcomer, str) and chatbot_place(newcomer, names) is None:
        yield _problem(document, ("plan", "newcomer"), f"no chatbot {newcomer[:60]!r} is in this file")
    yield from _sets(document, content.get("study"), names)
    if isinstance(onboarding, dict):
        yield from _onboarding(document, onboarding, content.get("qualification"))


def verdict_problems(document: Document, choices: Sequence[str]) -> Iterator[Problem]:
    """Yield the qualification items whose right answer is none of the first aspect's choices."""
    for position, item in _rows(document.value, "qualification", "right"):
        if item["right"] not in choices:
            yield _problem(document, ("qualification", position, "right"), f"must be one of: {', '.join(choices)}")


def chatbot_place(name: str, chatbots: Sequence[tuple[str, str]]) -> int | None:
    """Return the place of a chatbot among (name, version); of one with several versions only by both."""
    wholes = [" ".join(one) for one in chatbots]
    if name in wholes:
        return wholes.index(name)
    names = [one for one, _ in chatbots]
    return names.index(name) if names.count(name) == 1 else None


def _problem(document: Document, path: Path, message: str) -> Problem:
    return Problem(document.line(path), dotted(path), message)


def _rows(content: dict[str, Any], section: str, *keys: str) -> Rows:
    """Return the mappings of a list that have the keys."""
    items = content.get(section)
    rows = enumerate(items if isinstance(items, list) else ())
    return [(position, item) for position, item in rows if isinstance(item, dict) and set(keys) <= item.keys()]


def _repeated(document: Document, key: str, names: Sequence[tuple[int, str]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for position, name in names:
        if name in seen:
            line = document.line((key.partition(".")[0], position))
            yield Problem(line, key.format(position), f"{name} stands here twice")
        seen.add(name)


def _texts(document: Document, content: dict[str, Any]) -> Iterator[Problem]:
    for position, _ in _rows(content, "prompts", "text", "turns"):
        yield _problem(document, ("prompts", position), "has both a text and turns")
    for position, item in _rows(content, "qualification"):
        if ("text" in item) == ("turns" in item):
            yield _problem(document, ("qualification", position), "must have a text, or turns")


def _replies(document: Document, prompts: set[str], chatbots: Rows) -> Iterator[Problem]:
    for position, chatbot in chatbots:
        replies = chatbot["replies"]
        for name in replies if isinstance(replies, dict) else ():
            if name not in prompts:
                path = ("chatbots", position, "replies", name)
                yield Problem(document.key_line(path), dotted(path), "is no prompt of this file")


def _sets(document: Document, study: Any, chatbots: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Yield the names in a study's sets that no chatbot of the file has."""
    sets = study.get("chatbot_sets") if isinstance(study, dict) else None
    for number, members in enumerate(sets if isinstance(sets, list) else ()):
        for position, name in enumerate(members if isinstance(members, list) else ()):
            if isinstance(name, str) and chatbot_place(name, chatbots) is None:
                path = ("study", "chatbot_sets", number, position)
                yield _problem(document, path, f"no chatbot {name[:60]!r} is in this file")


def _onboarding(document: Document, onboarding: dict[str, Any], asked: Any) -> Iterator[Problem]:
    on_platform = onboarding.get("platform", Onboarding.Platform.NONE) != Onboarding.Platform.NONE
    if on_platform and not onboarding.get("code_complete"):
        message = "is missing: a crowd platform needs a completion code"
        yield Problem(document.line(("reception",)), "reception.code_complete", message)
    mark, most = onboarding.get("pass_mark", 0), len(asked) if isinstance(asked, list) else 0
    if isinstance(mark, int) and mark > most:
        yield _problem(document, ("reception", "pass_mark"), f"must be at most {most}, as many as are asked")
