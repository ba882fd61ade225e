"""Judged live turns as CSV: a row for each reply, as `selection_report` reads it, with the answers to questions.

No text of a conversation is in it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from evalsite.boards.live_turns import LiveConversation, LiveTurn, chatbot_names, live_conversations, setting_name
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.core.row_files import csv_text
from evalsite.judgments.models import Answer

COLUMNS = ("conversation_id", "turn", "setting", "chatbot", "position", "selected")
Said = Mapping[tuple[str, int, str], Mapping[str, Sequence[str]]]  # By conversation, turn and chatbot ("": the turn).


def turns_csv(campaign: Campaign) -> Iterator[str]:
    """Yield the turns that the live report counts, without those of excluded annotators."""
    questions = list(campaign.rubric.aspects.exclude(position=0).values_list("key", flat=True))
    said = _answers(campaign)
    yield csv_text([(*COLUMNS, *questions)])
    for conversation in live_conversations(campaign):
        if not conversation.excluded:
            rows = [row for turn in conversation.counted for row in _rows(conversation, turn, questions, said)]
            yield csv_text(rows)


def _rows(
    conversation: LiveConversation, turn: LiveTurn, questions: Sequence[str], said: Said
) -> Iterator[tuple[object, ...]]:
    """Yield a row of each reply. Turns with other chatbots than the first one are a conversation of their own."""
    key = str(conversation.public_id)
    shown = sorted(reply.chatbot for reply in turn.replies)
    first = sorted(reply.chatbot for reply in conversation.turns[0].replies)
    name = key if shown == first else f"{key} {' '.join(shown)}"
    setting = setting_name(conversation.setting, len(turn.replies))
    of_turn = said.get((key, turn.number, ""), {})
    for reply in turn.replies:
        own = said.get((key, turn.number, reply.chatbot), {})
        answers = ("|".join(own.get(one) or of_turn.get(one) or ()) for one in questions)
        yield name, turn.number, setting, reply.chatbot, reply.position, int(reply.selected), *answers


def _answers(campaign: Campaign) -> Said:
    names = chatbot_names(campaign)
    found: defaultdict[tuple[str, int, str], defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    others = Aspect.objects.filter(rubric=campaign.rubric_id).exclude(position=0)
    answers = Answer.objects.filter(aspect__in=others, judgment__superseded_by=None).exclude(value=Answer.Value.NONE)
    turn = "judgment__assignment__turn"
    rows = answers.filter(**{f"{turn}__conversation__campaign": campaign}).order_by("pk")
    fields = (f"{turn}__conversation__public_id", f"{turn}__number", "candidate__entrant", "aspect__key", "value")
    for conversation, number, entrant, key, value in rows.values_list(*fields).iterator():
        found[str(conversation), number, names[entrant] if entrant else ""][key].append(value)
    return found
