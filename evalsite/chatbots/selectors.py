"""Reads of the chatbots room."""

from django.core.cache import cache
from django.db.models import Count

from evalsite.chatbots.models import Reply
from evalsite.prompts.models import Prompt, PromptSet

KEPT_S = 60
REPLIES, PROMPTS = Reply.objects.all(), Prompt.objects.all()


def replies_counted(prompt_set: PromptSet) -> dict[int, int]:
    """Version id -> to how many of the set's prompts in force it has a first reply that can be shown.

    Counting a million replies takes a second. Replies and prompts are only ever added, so a count is kept until there
    is another of either, and for a minute at most: rows of PostgreSQL may appear out of the order of their ids.
    """
    newest = [rows.order_by("-pk").values_list("public_id", flat=True).first() for rows in (REPLIES, PROMPTS)]
    name = f"replies:{prompt_set.public_id}:{newest[0]}:{newest[1]}"
    found: dict[int, int] | None = cache.get(name)
    if found is None:
        found = _counted(prompt_set)
        cache.set(name, found, KEPT_S)
    return found


def _counted(prompt_set: PromptSet) -> dict[int, int]:
    shown = Reply.objects.filter(
        prompt__in=prompt_set.prompts.filter(corrected_by__isnull=True),
        sample=1,
        corrected_by__isnull=True,
        text__isnull=False,
    )
    return dict(shown.order_by().values_list("version").annotate(count=Count("pk")))
