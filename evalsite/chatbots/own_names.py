"""Replies that name their chatbot or a maker, so that annotators would recognise it."""

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from evalsite.chatbots.reply_report import ReplyReport, ReplyRow

SHORTEST_NAME = 3  # shorter ones stand in other words
MASK = "[name]"
MAKERS = (
    *("OpenAI", "ChatGPT", "GPT-4", "Anthropic", "Claude", "Google DeepMind", "Gemini", "Meta AI", "Llama", "Mistral"),
    *("Qwen", "Alibaba Cloud", "DeepSeek", "xAI", "Grok", "Cohere", "Command R", "Microsoft", "Phi-3", "Gemma"),
)


class Treatment(StrEnum):
    """What happens to replies with a name in them."""

    KEEP = "keep"
    MASK = "mask"
    LEAVE_OUT = "leave_out"


def names_pattern(own_names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of these names and of well-known makers, as whole words."""
    names = {name.strip() for name in (*MAKERS, *own_names) if len(name.strip()) >= SHORTEST_NAME}
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def rows_naming(report: ReplyReport, own_names: Iterable[str]) -> list[ReplyRow]:
    """Return the usable rows whose reply has a name in it."""
    pattern = names_pattern(own_names)
    return [row for row in report.rows if row.fate == "add" and pattern.search(row.text)]


def names_treated(report: ReplyReport, own_names: Iterable[str], treatment: Treatment) -> ReplyReport:
    """Return the report with names masked, or without the replies that have one."""
    if treatment == Treatment.KEEP:
        return report
    pattern = names_pattern(own_names)
    if treatment == Treatment.MASK:
        masked = (replace(row, text=pattern.sub(MASK, row.text)) if row.fate == "add" else row for row in report.rows)
        return replace(report, rows=tuple(masked))
    named = set(rows_naming(report, own_names))
    return replace(report, rows=tuple(row for row in report.rows if row not in named))
