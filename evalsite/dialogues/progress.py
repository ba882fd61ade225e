"""Progress of a live campaign for its owner: conversations, turns, and chatbots with their failures and reports."""

from dataclasses import dataclass

from django.db.models import Count, Q

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.dialogues.models import ChatbotReport, Conversation, ConversationEntrant, EntrantPause, Turn, TurnReply

CLOSED = (Turn.State.JUDGED, Turn.State.SKIPPED, Turn.State.VOID)


@dataclass(frozen=True, slots=True)
class LiveProgress:
    """Numbers of a campaign. `conversations` and `turns` map states to counts; states without any are left out.

    `over`: conversations that are over; `mean_turns`: of these.
    """

    conversations: dict[str, int]
    turns: dict[str, int]
    annotators: int
    over: int
    mean_turns: float | None

    @property
    def begun(self) -> int:
        return sum(self.conversations.values())

    @property
    def closed_turns(self) -> int:
        """Turns that are over: judged, skipped or void."""
        return sum(self.turns.get(state, 0) for state in CLOSED)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in the owner's list."""

    row: Conversation
    chatbots: list[str]
    turns: int
    judged: int
    void: int


@dataclass(frozen=True, slots=True)
class LiveChatbot:
    """A chatbot of a live campaign: how often it was asked, failed and was reported, and whether it is paused."""

    entrant: Entrant
    conversations: int
    replies: int
    failed: int
    open_reports: int
    paused: EntrantPause | None


def live_progress(campaign: Campaign) -> LiveProgress:
    """Return the numbers of a live campaign, by four grouped queries."""
    own = Conversation.objects.filter(campaign=campaign)
    states = dict(own.values_list("state").annotate(n=Count("pk")).order_by())
    turns = Turn.objects.filter(conversation__campaign=campaign)
    turn_states = dict(turns.values_list("state").annotate(n=Count("pk")).order_by())
    over = own.exclude(state=Conversation.State.OPEN).count()
    of_these = turns.filter(state__in=CLOSED).exclude(conversation__state=Conversation.State.OPEN).count()
    return LiveProgress(
        states,
        turn_states,
        own.values("annotator").distinct().count(),
        over,
        of_these / over if over else None,
    )


def conversations_page(campaign: Campaign, *, start: int, count: int) -> list[ConversationRow]:
    """Return conversations, newest first, with their chatbots."""
    closed = Count("turns", filter=Q(turns__state__in=CLOSED))
    found = list(
        Conversation.objects.filter(campaign=campaign)
        .select_related("annotator")
        .annotate(
            n_turns=closed,
            n_judged=Count("turns", filter=Q(turns__state=Turn.State.JUDGED)),
            n_void=Count("turns", filter=Q(turns__state=Turn.State.VOID)),
        )
        .order_by("-pk")[start : start + count]
    )
    names: dict[int, list[str]] = {}
    members = ConversationEntrant.objects.filter(conversation__in=found).select_related("entrant__version__chatbot")
    for member in members.order_by("pk"):
        names.setdefault(member.conversation_id, []).append(member.entrant.name)
    return [ConversationRow(one, names.get(one.pk, []), one.n_turns, one.n_judged, one.n_void) for one in found]


def live_chatbots(campaign: Campaign) -> list[LiveChatbot]:
    """Return the chatbots that take part, those with open reports first."""
    entrants = campaign.entrants.filter(state=Entrant.State.ACTIVE).select_related("version__chatbot", "live_pause")
    met = dict(
        ConversationEntrant.objects.filter(entrant__in=entrants)
        .values_list("entrant")
        .annotate(n=Count("pk"))
        .order_by()
    )
    came, failed = TurnReply.State.CAME, TurnReply.State.FAILED
    replies = TurnReply.objects.filter(entrant__in=entrants).values("entrant").order_by()
    counts = {
        row["entrant"]: (row["came"], row["failed"])
        for row in replies.annotate(came=Count("pk", filter=Q(state=came)), failed=Count("pk", filter=Q(state=failed)))
    }
    reports = ChatbotReport.objects.filter(reply__entrant__in=entrants, outcome=ChatbotReport.Outcome.OPEN)
    reported = dict(reports.values_list("reply__entrant").annotate(n=Count("pk")).order_by())
    rows = [
        LiveChatbot(
            one,
            met.get(one.pk, 0),
            *counts.get(one.pk, (0, 0)),
            reported.get(one.pk, 0),
            getattr(one, "live_pause", None),
        )
        for one in entrants
    ]
    return sorted(rows, key=lambda row: (-row.open_reports, row.entrant.name))
