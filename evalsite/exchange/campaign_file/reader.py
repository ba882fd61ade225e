"""Read a campaign file and report every problem by line and key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evalsite.campaigns.gold import NewGold
from evalsite.exchange.campaign_file.content import CampaignFile, campaign_file, design_problems
from evalsite.exchange.campaign_file.gold import book_of, gold_read
from evalsite.exchange.campaign_file.lines import Document, Path, dotted
from evalsite.exchange.campaign_file.models import File, part_at
from evalsite.exchange.campaign_file.problems import CampaignFileError, Problem
from evalsite.exchange.campaign_file.references import reference_problems, verdict_problems
from evalsite.exchange.campaign_file.values import FORMAT

LEAVES = {"gold", "reception", "qualification"}  # parts that no other part depends on
ROOTS = File.model_fields.keys() - LEAVES
MESSAGES = {
    "string_type": "must be a text (put it in quotes)",
    "dict_type": "must have keys and values",
    "model_type": "must have keys and values",
    "list_type": "must be a list",
}
MISSING: dict[Path, str] = {("touchstone",): FORMAT.message}


def campaign_read(content: str) -> CampaignFile:
    """Return what the file says. Raises CampaignFileError with everything that is wrong, by line and key."""
    document = Document(content)
    problems = [*document.problems, *reference_problems(document)]
    file = _validated(document, problems)
    gold: list[NewGold] = []
    if file is not None and _only_leaves(problems):
        problems += design_problems(file, document)
    if file is not None and _only_leaves(problems):
        choices = file.aspects[0].aspect.choices
        problems += verdict_problems(document, choices)
        gold = gold_read(document, book_of(choices, file), problems)
    if file is None or problems:
        raise CampaignFileError(list(dict.fromkeys(problems)))
    return campaign_file(file, gold)


def _only_leaves(problems: Sequence[Problem]) -> bool:
    """Return whether all problems are of parts that no other part depends on."""
    return all(problem.key.partition(".")[0] in LEAVES for problem in problems)


def _validated(document: Document, problems: list[Problem]) -> File | None:
    """Return the file, and add its problems to `problems`.

    With problems only in leaves the file comes without them. With any other problem there is no file.
    """
    try:
        return File.model_validate(document.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            problems.extend(_problems_of(detail, document))
    if not _only_leaves(problems):
        return None
    return File.model_validate({name: document.value[name] for name in ROOTS if name in document.value})


def _problems_of(error: ErrorDetails, document: Document) -> Iterator[Problem]:
    """Yield the problems that an error of pydantic stands for."""
    path: Path = error["loc"]
    kind, context = error["type"], error.get("ctx", {})
    message = context.get("message", MESSAGES.get(kind, error["msg"]))
    key = path[:4] if path[2:3] == ("replies",) else path  # a sample is named by its prompt
    if kind == "extra_forbidden":
        known = ", ".join(part_at(path[:-1]).model_fields)
        yield Problem(document.key_line(path), dotted(path), f"is not known here; there are {known}")
    elif kind == "missing":
        yield Problem(document.line(path[:-1]), dotted(path), MISSING.get(path, "is missing"))
    elif field := context.get("field"):
        line = document.key_line((*path, field)) if context["at_field"] else document.line(path)
        yield Problem(line, dotted((*path, field)), message)
    else:
        yield Problem(document.line(path), dotted(key), message)
    if kind == "model_type":
        for inside in [(*path, name) for name in part_at(path).required()]:
            yield Problem(document.line(path), dotted(inside), MISSING.get(inside, "is missing"))
