"""Read the conversations of a live campaign as plain values, for the live report."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.dialogues.models import Continuation, Conversation, Turn, TurnReply, Utterance
from evalsite.judgments.models import Answer
from evalsite.judgments.selectors import standings

NAMES_MAKER = "names_maker"  # Flag of a reply (dialogues).
_SETTINGS = {"soba": "SOBA", "sata_random": "SATA-Random", "sata_written": "SATA-Written"}


@dataclass(frozen=True, slots=True)
class LiveReply:
    """A judged reply: the chatbot, its display position from 1, and whether it was selected."""

    chatbot: str
    position: int
    selected: bool


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """A judged turn. written: the fallback was a reply that the annotator wrote."""

    number: int
    counts: bool
    replies: tuple[LiveReply, ...]
    written: bool

    @property
    def pattern(self) -> str:
        """Return the selection by display position, such as "10"."""
        return "".join(str(int(one.selected)) for one in sorted(self.replies, key=lambda one: one.position))


@dataclass(frozen=True, slots=True)
class LiveConversation:
    """A conversation of a live campaign with its judged turns.

    excluded: its annotator is excluded, or a newcomer. tokens: of the annotator's messages whose text still exists.
    """

    public_id: uuid.UUID
    annotator: uuid.UUID
    setting: str
    excluded: bool
    turns: tuple[LiveTurn, ...]
    tokens: tuple[int, ...]
    names_maker: bool
    rating: int | None

    @property
    def counted(self) -> tuple[LiveTurn, ...]:
        """Return the turns that count for the board."""
        return tuple(turn for turn in self.turns if turn.counts)


@dataclass(frozen=True, slots=True)
class ReplyOutcomes:
    """How many of a chatbot's replies came, and how many failed for good."""

    came: int
    failed: int


def setting_name(setting: str, chatbots: int) -> str:
    """Return the name of a setting, such as PM-SATA-Random: one, two or several chatbots, and what is selected."""
    return f"{'SM' if chatbots == 1 else 'PM' if chatbots == 2 else 'MM'}-{_SETTINGS[setting]}"


def live_conversations(campaign: Campaign) -> list[LiveConversation]:
    """Return the campaign's conversations with at least one judged turn, oldest first."""
    rows = Conversation.objects.filter(campaign=campaign).select_related("annotator").order_by("pk")
    turns, tokens, makers = _turns(campaign), _tokens(campaign), _names_maker(campaign)
    out = {number for number, standing in standings(campaign).items() if not standing.counts}
    return [
        LiveConversation(
            row.public_id,
            row.annotator.public_id,
            row.setting,
            row.annotator_id in out,
            tuple(turns[row.pk]),
            tuple(tokens.get(row.pk, ())),
            row.pk in makers,
            row.rating,
        )
        for row in rows
        if turns.get(row.pk)
    ]


def chatbot_names(campaign: Campaign) -> dict[int, str]:
    """Return the names of the entrants; with the version where two versions of a chatbot take part."""
    entrants = list(campaign.entrants.select_related("version__chatbot").order_by("pk"))
    names = [entrant.version.chatbot.name for entrant in entrants]
    found: dict[int, str] = {}
    for entrant, name in zip(entrants, names, strict=True):
        own = name if names.count(name) == 1 else f"{name} {entrant.version.label}".strip()
        found[entrant.pk] = own if own not in found.values() else f"{own} ({entrant.pk})"
    return found


def reply_outcomes(campaign: Campaign) -> dict[str, ReplyOutcomes]:
    """Return for each chatbot how many replies came and failed. A failed one never counts for or against anybody."""
    names = chatbot_names(campaign)
    rows = TurnReply.objects.filter(turn__conversation__campaign=campaign).exclude(state=TurnReply.State.WAITING)
    counts: dict[int, dict[str, int]] = {}
    for entrant, state in rows.values_list("entrant", "state"):
        of = counts.setdefault(entrant, {"came": 0, "failed": 0})
        of[state] += 1
    return {names[pk]: ReplyOutcomes(of["came"], of["failed"]) for pk, of in sorted(counts.items())}


def prompts_by_conversation(campaign: Campaign) -> dict[int, int]:
    """Return the conversation (key) of each turn's prompt (key)."""
    return dict(Turn.objects.filter(conversation__campaign=campaign).values_list("prompt", "conversation"))


def _turns(campaign: Campaign) -> dict[int, list[LiveTurn]]:
    """Return the judged turns by conversation, in order."""
    names, chosen, written = chatbot_names(campaign), entrants_selected(campaign), _written(campaign)
    judged = Turn.objects.filter(conversation__campaign=campaign, state=Turn.State.JUDGED, assignment__isnull=False)
    replies = _positions(campaign)
    found: dict[int, list[LiveTurn]] = {}
    for turn in judged.order_by("conversation", "number"):
        picked = chosen.get(turn.assignment_id or 0)
        if picked is None:
            continue  # Erased with its annotator.
        shown = tuple(
            LiveReply(names[entrant], position + 1, entrant in picked) for entrant, position in replies[turn.pk]
        )
        found.setdefault(turn.conversation_id, []).append(LiveTurn(turn.number, turn.counts, shown, turn.pk in written))
    return found


def _positions(campaign: Campaign) -> dict[int, list[tuple[int, int]]]:
    """Return (entrant, position from 0) of the replies that were shown in each turn."""
    rows = TurnReply.objects.filter(
        turn__conversation__campaign=campaign, turn__state=Turn.State.JUDGED, position__isnull=False
    )
    found: dict[int, list[tuple[int, int]]] = {}
    for turn, entrant, position in rows.order_by("turn", "position").values_list("turn", "entrant", "position"):
        if position is not None:
            found.setdefault(turn, []).append((entrant, position))
    return found


def entrants_selected(campaign: Campaign) -> dict[int, set[int]]:
    """Return the selected entrants by assignment, by the latest judgment on the first aspect."""
    aspect = Aspect.objects.filter(rubric=campaign.rubric_id).order_by("position").first()
    answers = Answer.objects.filter(
        judgment__assignment__turn__conversation__campaign=campaign,
        judgment__superseded_by__isnull=True,
        aspect=aspect,
    )
    found: dict[int, set[int]] = {}
    for assignment, entrant in answers.values_list("judgment__assignment", "candidate__entrant"):
        selected = found.setdefault(assignment, set())
        if entrant is not None:
            selected.add(entrant)
    return found


def _written(campaign: Campaign) -> set[int]:
    rows = Continuation.objects.filter(turn__conversation__campaign=campaign, how=Continuation.How.WRITTEN)
    return set(rows.values_list("turn", flat=True))


def _tokens(campaign: Campaign) -> Mapping[int, list[int]]:
    rows = Utterance.objects.filter(
        conversation__campaign=campaign, speaker=Utterance.Speaker.USER, erased_at__isnull=True
    )
    found: dict[int, list[int]] = {}
    for conversation, text in rows.values_list("conversation", "text").iterator():
        found.setdefault(conversation, []).append(len(text.split()))
    return found


def _names_maker(campaign: Campaign) -> set[int]:
    rows: Iterable[tuple[int, list[str]]] = TurnReply.objects.filter(
        turn__conversation__campaign=campaign, state=TurnReply.State.CAME
    ).values_list("turn__conversation", "flags")
    return {conversation for conversation, flags in rows if NAMES_MAKER in flags}
