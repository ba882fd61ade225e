"""What the pages of a live campaign show its owner: progress, conversations, chatbots, and reported replies."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.campaigns.endpoint_access import role_in
from evalsite.campaigns.live import turn_questions_of
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.permissions import MAKERS, Act, allows, role_of
from evalsite.campaigns.selectors import visible_to
from evalsite.console.live_forms import SETTINGS
from evalsite.console.page_frame import CampaignContext
from evalsite.console.tables import page_number
from evalsite.dialogues.models import ChatbotReport, Conversation, Turn
from evalsite.dialogues.progress import LiveProgress, conversations_page, live_chatbots, live_progress
from evalsite.dialogues.selectors import reports_of
from evalsite.dialogues.third_parties import CONVERSATIONS, MOST_CONVERSATIONS, conversations_reviewable
from evalsite.presentation.formatting import fixed, share, whole

ROWS = 50


def conversations_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the numbers of a live campaign and its conversations, newest first."""
    start = page_number(query)
    found = conversations_page(desk.campaign, start=start, count=ROWS + 1)
    progress = live_progress(desk.campaign)
    return {
        "answer": _answer(progress),
        "facts": _facts(progress),
        "rows": found[:ROWS],
        "more": start + ROWS if found[ROWS:] else None,
        "settings": settings_facts(desk.campaign),
        "study": desk.campaign.live.study,
    }


def _answer(progress: LiveProgress) -> str:
    if not progress.begun:
        return _("No conversation has begun yet.")
    open_now = progress.conversations.get(Conversation.State.OPEN, 0)
    begun = ngettext("%(n)s conversation", "%(n)s conversations", progress.begun) % {"n": whole(progress.begun)}
    return _("%(begun)s, %(open)s of them in progress.") % {"begun": begun, "open": whole(open_now)}


def _facts(progress: LiveProgress) -> list[tuple[str, str]]:
    turns = progress.turns
    return [
        (_("Annotators"), whole(progress.annotators)),
        (_("Turns judged"), whole(turns.get(Turn.State.JUDGED, 0))),
        (_("Skipped"), whole(turns.get(Turn.State.SKIPPED, 0))),
        (_("Not judged: a chatbot failed"), whole(turns.get(Turn.State.VOID, 0))),
        (_("Left early"), whole(progress.conversations.get(Conversation.State.LEFT, 0))),
        (_("Turns per conversation"), "–" if progress.mean_turns is None else fixed(progress.mean_turns, 1)),
    ]


def settings_facts(campaign: Campaign) -> list[tuple[str, str]]:
    """Return every setting of the conversations in words."""
    live: LiveSettings = campaign.live
    yes_no: Mapping[bool, str] = {True: _("yes"), False: _("no")}
    return [
        (_("Annotators select"), str(SETTINGS[live.setting][0])),
        *((_("Also asked"), one.question) for one in turn_questions_of(campaign)),
        (_("Chatbots in one conversation"), whole(live.chatbots_per_conversation)),
        (_("Turns, at least"), whole(live.minimum_turns)),
        (_("Turns, at most"), whole(live.maximum_turns) if live.maximum_turns else _("no limit")),
        (_("First turn counts"), yes_no[live.count_first_turn]),
        (_("Conversations with the same chatbots"), whole(live.conversations_per_annotator)),
        (_("Topics"), "; ".join(live.opening_topics) or _("none")),
        (_("It is paid"), str(live.get_pay_per_display())),
        (_("Rating at the end"), yes_no[live.end_rating]),
        (_("Feedback at the end"), yes_no[live.end_feedback]),
        (_("Where the texts go"), live.data_notice or _("not said")),
        (_("Seconds for missing replies"), whole(live.turn_deadline_s)),
        (_("Minutes until an idle conversation ends"), whole(live.idle_minutes)),
        (_("Reports that pause a chatbot"), whole(live.reports_to_pause)),
    ]


def reports_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the chatbots with their failures and reports, and the reported replies, open ones first."""
    reports = reports_of(desk.campaign)
    open_now = sum(one.row.outcome == ChatbotReport.Outcome.OPEN for one in reports)
    chatbots = [
        {"row": one, "failure_rate": share(one.failed / total) if (total := one.replies + one.failed) else "–"}
        for one in live_chatbots(desk.campaign)
    ]
    answer = ngettext("%(n)s report waits for you.", "%(n)s reports wait for you.", open_now) % {"n": whole(open_now)}
    return {
        "answer": answer if open_now else _("No report waits."),
        "chatbots": chatbots,
        "reports": reports,
        "may_act": desk.may(Act.WITHDRAW_ENTRANT),
        "least": desk.campaign.live.reports_to_pause,
    }


def static_choices(desk: CampaignContext) -> list[tuple[str, str, bool]]:
    """Return the static campaigns that could share a board: id, name, and whether it is the linked one."""
    chosen = desk.campaign.live.static_campaign_id
    found = Campaign.objects.of(desk.user) if not desk.user.is_staff else Campaign.objects.all()
    chatbots = desk.campaign.entrants.values("version__chatbot")
    same = found.filter(
        organisation=desk.campaign.organisation_id,
        mode=Campaign.Mode.STATIC,
        review__isnull=True,
        entrants__version__chatbot__in=chatbots,
    )
    rows = same.distinct().order_by("-pk")[:100]
    return [
        (str(one.public_id), one.name, one.pk == chosen) for one in rows if allows(role_of(desk.user, one), Act.SHOW)
    ]


def samples_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the samples for third parties that this person may see, and whether they can make one."""
    seen = Campaign.objects.filter(visible_to(desk.user, by_link=False), review__source=desk.campaign)
    return {
        "samples_of": list(seen.order_by("pk")),
        "may_sample": role_in(desk.campaign.organisation, desk.user) in MAKERS,
        "reviewable": conversations_reviewable(desk.campaign),
        "wanted": CONVERSATIONS,
        "most": MOST_CONVERSATIONS,
    }
