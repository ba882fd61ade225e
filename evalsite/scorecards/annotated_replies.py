"""Texts and labels of annotated replies. Texts are read from their conversations, where they can be erased."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalsite.boards.live_turns import chatbot_names
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.dialogues.models import Continuation, Conversation, Utterance
from evalsite.dialogues.redaction import redacted
from evalsite.dialogues.third_parties import conversation_names
from evalsite.judgments.claim_selectors import AssignmentContent, contents_of
from evalsite.judgments.models import Answer, Assignment
from evalsite.judgments.selectors import judgments_counted
from evalsite.scorecards.conversations import ERRORS, Speaker, TurnLabel
from evalsite.scorecards.models import AnnotatedReply, Annotation, ConversationSet, ImportedConversation

CONTEXT = 60  # Utterances before a reply that are shown.


@dataclass(frozen=True, slots=True)
class ReplyInContext:
    """A reply with the conversation before it, or a whole conversation (`whole`)."""

    turns: Sequence[Mapping[str, str]] = ()
    text: str | None = None
    whole: Sequence[Mapping[str, str]] = ()


def contents_shown(assignments: Sequence[Assignment]) -> dict[int, AssignmentContent]:
    """Return the content of each assignment by key, with the texts of annotated replies."""
    found = contents_of(assignments)
    # Items of gold end in no entrants, so only their first part is read.
    prompts = {one.pk: int(one.item.partition(":")[0]) for one in assignments if found[one.pk].turns is None}
    texts = texts_of(set(prompts.values())) if prompts else {}
    for key, prompt in prompts.items():
        if prompt in texts:
            found[key] = _with_texts(found[key], texts[prompt])
    return found


def _with_texts(content: AssignmentContent, texts: Mapping[int, ReplyInContext]) -> AssignmentContent:
    """Return the content with the texts of its replies. A text of gold stays; an erased one is unknown."""
    shown = [texts.get(reply or 0) for reply in content.replies]
    transcripts = tuple(one.whole if one else () for one in shown)
    return replace(
        content,
        turns=next(iter(texts.values())).turns,  # All replies to a prompt have the same context.
        texts=tuple(one.text if one else text for one, text in zip(shown, content.texts, strict=True)),
        transcripts=transcripts if any(transcripts) else (),
    )


def texts_of(prompts: Collection[int]) -> dict[int, dict[int, ReplyInContext]]:
    """Return the texts of annotated replies by prompt and by reply (keys), without those that were erased."""
    rows = AnnotatedReply.objects.filter(prompt__in=prompts).select_related("imported", "live")
    found: dict[int, dict[int, ReplyInContext]] = {}
    said: dict[tuple[str, int], list[tuple[str, str, bool]]] = {}
    for row in rows:
        key = ("imported", row.imported_id) if row.imported_id else ("live", row.live_id or 0)
        if key not in said:
            said[key] = _imported(row.imported) if row.imported else _live(row.live)
        text = _whole(said[key]) if row.number is None else _in_context(said[key], row.number)
        if text is not None:
            found.setdefault(row.prompt_id, {})[row.reply_id] = text
    return found


def _whole(said: Sequence[tuple[str, str, bool]]) -> ReplyInContext | None:
    turns = [{"speaker": speaker, "text": text} for speaker, text, _ in said]
    return ReplyInContext(whole=turns) if turns else None


def _imported(conversation: ImportedConversation) -> list[tuple[str, str, bool]]:
    """Return speaker, text, and whether it is a reply of the chatbot, of each utterance."""
    return [(speaker, text, speaker == Speaker.CHATBOT) for speaker, text, _ in conversation.turns]


def _live(conversation: Conversation | None) -> list[tuple[str, str, bool]]:
    """Return the same of a live conversation, redacted. A reply that the annotator wrote is not one of the chatbot."""
    if conversation is None or conversation.erased_at is not None:
        return []
    names = conversation_names(conversation)
    rows = Utterance.objects.filter(conversation=conversation).order_by("pk")
    return [
        (speaker, redacted(text, names), speaker == Speaker.CHATBOT and how != Continuation.How.WRITTEN)
        for speaker, text, how in rows.values_list("speaker", "text", "turn__continuation__how")
    ]


def _in_context(said: Sequence[tuple[str, str, bool]], number: int) -> ReplyInContext | None:
    places = [place for place, (_, _, replies) in enumerate(said) if replies]
    if number > len(places):
        return None
    place = places[number - 1]
    before = [{"speaker": speaker, "text": text} for speaker, text, _ in said[max(0, place - CONTEXT) : place]]
    return ReplyInContext(before, said[place][1])


# Labels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnnotatedLabel:
    """One annotator's label or rating of a reply, and whether it is an error."""

    conversation_id: str
    chatbot: str
    turn: int
    label: str
    erroneous: bool


def annotated_labels(conversation_set: ConversationSet) -> list[AnnotatedLabel]:
    """Return the labels and ratings that count, of all campaigns that annotate the set."""
    found: list[AnnotatedLabel] = []
    for annotation in conversation_set.annotations.select_related("campaign").order_by("pk"):
        found += _labels_of(annotation)
    return found


def turn_labels(conversation_set: ConversationSet) -> list[TurnLabel]:
    """Return the same as errors or not."""
    return [
        TurnLabel(one.conversation_id, one.chatbot, one.turn, one.erroneous)
        for one in annotated_labels(conversation_set)
    ]


def _labels_of(annotation: Annotation) -> Iterator[AnnotatedLabel]:
    campaign = annotation.campaign
    aspect = campaign.rubric.aspects.get(position=0)
    replies, erroneous = dict(_replies_of(campaign)), _error_rule(aspect, annotation.error_below)
    answers = Answer.objects.filter(judgment__in=judgments_counted([campaign]), aspect=aspect).order_by("pk")
    for prompt, label in answers.values_list("judgment__assignment__place__prompt", "value").iterator():
        if prompt in replies:
            yield AnnotatedLabel(*replies[prompt], label, erroneous(label))


def _error_rule(aspect: Aspect, below: float | None) -> Callable[[str], bool]:
    """Return what tells errors from other answers. Without a limit, the lowest rating is an error."""
    if aspect.kind != Aspect.Kind.RATING:
        return ERRORS.__contains__
    lowest, limit = aspect.minimum or 0, below
    return lambda value: int(value) < limit if limit is not None else int(value) == lowest


def _replies_of(campaign: Campaign) -> Iterator[tuple[int, tuple[str, str, int]]]:
    """Yield the conversation, the chatbot and the number of each annotated reply, by prompt."""
    rows = AnnotatedReply.objects.filter(annotation__campaign=campaign, number__isnull=False)
    imported = rows.exclude(imported=None).values_list("prompt", "imported__key", "imported__chatbot", "number")
    for prompt, key, chatbot, number in imported.iterator():
        yield prompt, (key, chatbot, number or 0)
    live = rows.exclude(live=None).filter(live__erased_at=None, live__members__left_at=None)
    names: dict[int, str] = {}
    for prompt, public_id, entrant, number, source in live.values_list(
        "prompt", "live__public_id", "live__members__entrant", "number", "live__campaign"
    ):
        if entrant not in names:
            names |= chatbot_names(Campaign.objects.get(pk=source))
        yield prompt, (str(public_id), names[entrant], number or 0)


def annotates(campaign: Campaign) -> bool:
    """Return whether the campaign judges a sample of conversations."""
    return Annotation.objects.filter(campaign=campaign).exists()


# Planning -----------------------------------------------------------------------------------------------


def conversations_annotated(campaign: Campaign) -> dict[int, tuple[int | None, int | None]]:
    """Return the conversation of each annotated reply that is not erased, by prompt (key)."""
    rows = AnnotatedReply.objects.filter(annotation__campaign=campaign).exclude(live__erased_at__isnull=False)
    return {prompt: (imported, live) for prompt, imported, live in rows.values_list("prompt", "imported", "live")}


def replies_annotated(campaign: Campaign) -> dict[tuple[int, int], str | None]:
    """Return a mark of each annotated reply that is not erased, by version and prompt (keys).

    Their texts are not read: two replies of a sample are taken as different.
    """
    rows = AnnotatedReply.objects.filter(annotation__campaign=campaign).exclude(live__erased_at__isnull=False)
    return {
        (version, prompt): f"reply {reply}"
        for version, prompt, reply in rows.values_list("reply__version", "prompt", "reply")
    }


def unit_judged(campaign: Campaign) -> Annotation.Unit | None:
    """Return what an assignment of the campaign shows of conversations; None if it annotates none."""
    unit = Annotation.objects.filter(campaign=campaign).values_list("unit", flat=True).first()
    return None if unit is None else Annotation.Unit(unit)
