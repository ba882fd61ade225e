"""The prompts of a campaign as files for submitters: CSV, JSONL or text. Each has the ids that a reply file names."""

import json

from evalsite.campaigns.models import Campaign
from evalsite.core.row_files import csv_text
from evalsite.prompts.models import Prompt

TYPES = {"csv": "text/csv", "jsonl": "application/jsonl", "txt": "text/plain"}


def prompt_file(campaign: Campaign, form: str) -> str:
    """Return the prompts in use, in the order of their set. Those without a known text are left out."""
    retired = campaign.retirements.values("prompt")
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True, turns__isnull=False)
    rows = [_row(prompt) for prompt in prompts.exclude(pk__in=retired).order_by("pk")]
    if form == "csv":
        columns = ("prompt_id", "text", "turns", "category")
        return csv_text([columns, *([row.get(name, "") for name in columns] for row in rows)])
    if form == "jsonl":
        return "".join(json.dumps(_lines(row), ensure_ascii=False) + "\n" for row in rows)
    return "".join(f"{_one_line(row)}\n" for row in rows)


def _row(prompt: Prompt) -> dict[str, str]:
    turns = prompt.turns or []
    about = {"prompt_id": prompt.key, "category": prompt.category}
    if len(turns) == 1:
        return {**about, "text": turns[0]["text"]}
    return {**about, "turns": json.dumps(turns, ensure_ascii=False)}


def _lines(row: dict[str, str]) -> dict[str, object]:
    return {name: json.loads(value) if name == "turns" else value for name, value in row.items()}


def _one_line(row: dict[str, str]) -> str:
    """Return the prompt on one line: its text, or several turns as JSON. Line breaks become blanks."""
    return " ".join((row.get("text") or row["turns"]).split())
