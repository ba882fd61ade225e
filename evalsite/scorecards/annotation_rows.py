"""Rows of a sample of conversations: its prompts, its replies without a text, and their conversations."""

from __future__ import annotations

import random
from collections.abc import Sequence

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompts_add
from evalsite.scorecards.models import AnnotatedReply, Annotation
from evalsite.scorecards.reply_sampling import Drawn

VERSION = "conversations"
Sample = Sequence[tuple[str, Sequence[Drawn]]]  # What is drawn of each chatbot.
Slot = Sequence[tuple[str, Drawn]]  # What stands on one prompt.


def sample_store(annotation: Annotation, sample: Sample) -> int:
    """Write a prompt of each slot, and a reply with its conversation of each chatbot there. Return the chatbots."""
    slots = _pair_slots(sample) if annotation.unit == Annotation.Unit.PAIR else _single_slots(annotation, sample)
    prompts = prompts_add(
        prompt_set=annotation.campaign.prompt_set,
        prompts=[NewPrompt(f"r{number}", None) for number in range(1, len(slots) + 1)],
        origin=Prompt.Origin.LIVE,
    )
    placed = [(prompt, chatbot, drawn) for prompt, slot in zip(prompts, slots, strict=True) for chatbot, drawn in slot]
    replies = _replies(annotation.campaign, placed)
    source = "live_id" if annotation.conversation_set.campaign_id else "imported_id"
    whole = annotation.unit != Annotation.Unit.REPLY
    AnnotatedReply.objects.bulk_create(
        (
            AnnotatedReply(
                annotation=annotation,
                prompt=prompt,
                reply=replies[prompt.pk, chatbot],
                number=None if whole else drawn.number,
                **{source: drawn.conversation},
            )
            for prompt, chatbot, drawn in placed
        ),
        batch_size=500,
    )
    return len({chatbot for _, chatbot, _ in placed})


def _single_slots(annotation: Annotation, sample: Sample) -> list[Slot]:
    """Return one slot for each reply, by conversation. Conversations of all chatbots are mixed."""
    by_conversation: dict[int, list[tuple[str, Drawn]]] = {}
    for chatbot, mine in sample:
        for drawn in mine:
            by_conversation.setdefault(drawn.conversation, []).append((chatbot, drawn))
    order = list(by_conversation)
    random.Random(f"{annotation.pk}:{annotation.seed}").shuffle(order)  # noqa: S311  an order to mix, not a secret
    return [[row] for conversation in order for row in by_conversation[conversation]]


def _pair_slots(sample: Sample) -> list[Slot]:
    """Return slots with one conversation of each chatbot, as long as it has one. They are drawn in random order."""
    longest = max(len(mine) for _, mine in sample)
    return [[(chatbot, mine[place]) for chatbot, mine in sample if place < len(mine)] for place in range(longest)]


def _replies(campaign: Campaign, placed: Sequence[tuple[Prompt, str, Drawn]]) -> dict[tuple[int, str], Reply]:
    """Write the replies, with an entrant of each chatbot. Return them by prompt (key) and chatbot."""
    prompts: dict[str, list[tuple[Prompt, str | None]]] = {}
    for prompt, chatbot, _ in placed:
        prompts.setdefault(chatbot, []).append((prompt, None))
    found = {}
    for chatbot, mine in prompts.items():
        for reply in replies_add(version=_entered(campaign, chatbot), replies=mine, origin=Reply.Origin.LIVE):
            found[reply.prompt_id, chatbot] = reply
    return found


def _entered(campaign: Campaign, name: str) -> Version:
    """Return the version that stands for a chatbot of conversations, with an entrant in the campaign."""
    chatbot = Chatbot.objects.filter(organisation=campaign.organisation, name=name).first() or chatbot_create(
        organisation=campaign.organisation, name=name, imported=True
    )
    version = chatbot.versions.filter(label=VERSION).first() or version_create(chatbot=chatbot, label=VERSION)
    entrant_add(campaign=campaign, version=version, imported=True)
    return version
