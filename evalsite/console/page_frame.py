"""The frame of console pages: the person, the campaign's head, tabs, and available actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import ROLE_WORDS, Act, Role, allows, campaign_for
from evalsite.campaigns.selectors import stopped_by_hand
from evalsite.campaigns.services import pilot_waits
from evalsite.judgments.skips import has_skips
from evalsite.operations.notices import notice_text, notices_for


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    here: bool = False


@dataclass(frozen=True, slots=True)
class CampaignContext:
    """A campaign with the person's role in it."""

    campaign: Campaign
    role: Role
    key: str
    user: User

    def may(self, act: Act) -> bool:
        return allows(self.role, act)

    def url(self, name: str, *more: Any) -> str:
        return reverse(name, args=[self.key, *more])


def person(request: HttpRequest) -> User:
    """Return the person who is logged in. Every page of the console requires one."""
    assert isinstance(request.user, User)  # noqa: S101
    return request.user


def campaign_context_for(request: HttpRequest, key: str, act: Act = Act.SEE) -> CampaignContext:
    """Return the campaign with this person's role.

    Raises NotFound, NotAllowed.
    """
    campaign, role = campaign_for(key=key, user=person(request), act=act)
    return CampaignContext(campaign, role, key, person(request))


def frame(desk: CampaignContext, here: str) -> Mapping[str, Any]:
    """Return head and tabs of a campaign's pages.

    here: name of the open page.
    """
    campaign = desk.campaign
    return {
        "campaign": campaign,
        "key": desk.key,
        "role": ROLE_WORDS[desk.role],
        "tabs": [Link(label, desk.url(name), name == here) for name, label in _pages(desk)],
        "acts": acts_offered(desk),
        "notices": [(notice_text(one), one.raised_at) for one in notices_for(desk.user, campaign)],
        "board_url": reverse("board", args=[campaign.slug]) if campaign.state != Campaign.State.DRAFT else None,
        "state_text": campaign.state_label,
    }


def _pages(desk: CampaignContext) -> list[tuple[str, str]]:
    campaign = desk.campaign
    overview = ("console_campaign", _("Overview"))
    if campaign.is_live:
        return _live_pages(desk, overview)
    content = [("console_prompts", _("Prompts")), ("console_chatbots", _("Chatbots"))]
    gold = [("console_gold", _("Gold"))] if desk.may(Act.GOLD) else []
    log = _log_pages(desk)
    submitted = [("console_submissions", _("Submissions"))] if desk.may(Act.MODERATE) else []
    if campaign.state == Campaign.State.DRAFT:  # No judgments yet.
        return [("console_setup", _("Set-up")), overview, *content, *gold, *log]
    setup = [("console_setup", _("Set-up"))] if pilot_waits(campaign) else []
    money = [("console_payments", _("Payments"))] if desk.may(Act.PAY) else []
    judged = [("console_annotators", _("Annotators")), *gold, ("console_judgments", _("Judgments"))]
    pairs, fits = ("console_pairs", _("Pairs")), ("console_fits", _("Fits"))
    if campaign.is_single:  # Nothing is compared or fitted.
        return [overview, *setup, *content, *judged, *money, *log]
    return [overview, *setup, pairs, *content, *submitted, *judged, fits, *money, *log]


def _log_pages(desk: CampaignContext) -> list[tuple[str, str]]:
    webhooks = [("console_webhooks", _("Webhooks"))] if desk.may(Act.WEBHOOKS) else []
    return [*webhooks, ("console_log", _("Log"))]


def _live_pages(desk: CampaignContext, overview: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the pages of a live campaign: it has conversations and reports in place of prompts and pairs."""
    chatbots, log = ("console_chatbots", _("Chatbots")), _log_pages(desk)
    talks = ("console_conversations", _("Conversations"))
    if desk.campaign.state == Campaign.State.DRAFT:
        plan = ("console_analysis_plan", _("Analysis plan"))
        return [("console_setup", _("Set-up")), plan, overview, talks, chatbots, *log]
    setup = [("console_setup", _("Set-up"))] if pilot_waits(desk.campaign) else []
    money = [("console_payments", _("Payments"))] if desk.may(Act.PAY) else []
    judged = [("console_annotators", _("Annotators")), ("console_judgments", _("Judgments"))]
    reports, fits = ("console_reports", _("Reports")), ("console_fits", _("Fits"))
    statistics = ("console_live_report", _("Live report"))
    return [overview, *setup, talks, statistics, chatbots, reports, *judged, fits, *money, *log]


OFFERED: Mapping[str, tuple[Act, ...]] = {
    Campaign.State.DRAFT: (),
    Campaign.State.PILOT: (Act.PAUSE, Act.REFIT, Act.STOP, Act.SHOW),
    Campaign.State.RUNNING: (Act.PAUSE, Act.REFIT, Act.EXTEND, Act.STOP, Act.SHOW),
    Campaign.State.PAUSED: (Act.RESUME, Act.REFIT, Act.EXTEND, Act.STOP, Act.SHOW),
    Campaign.State.STOPPED: (Act.EXTEND, Act.REFIT, Act.SHOW),
}
AFTER_PILOT = (Act.LAUNCH, Act.REFIT, Act.STOP, Act.SHOW)


def acts_offered(desk: CampaignContext) -> list[Link]:
    """Return the actions that this person may do with the campaign in its current state."""
    words = act_labels()
    if desk.campaign.is_single:
        words |= {Act.EXTEND: _("Extend the limits")}
    offered = AFTER_PILOT if pilot_waits(desk.campaign) else OFFERED[desk.campaign.state]
    if Act.EXTEND in offered and stopped_by_hand(desk.campaign):
        offered = tuple(act for act in offered if act != Act.EXTEND)
    if desk.campaign.is_single and not limits_of(desk.campaign.stopping).ends:
        offered = tuple(act for act in offered if act != Act.EXTEND)
    skipped = (Act.REOPEN_SKIPPED,) if desk.campaign.collecting and has_skips(desk.campaign) else ()
    acts = (*offered, *skipped, Act.SHARE)
    return [Link(words[act], desk.url("console_act", act.value)) for act in acts if desk.may(act)]


def act_labels() -> dict[Act, str]:
    return {
        Act.PILOT: _("Pilot"),
        Act.LAUNCH: _("Launch"),
        Act.PAUSE: _("Pause"),
        Act.RESUME: _("Resume"),
        Act.STOP: _("Stop now"),
        Act.EXTEND: _("Extend the target"),
        Act.CAP_CALLS: _("Cost cap of calls"),
        Act.SHOW: _("Visibility"),
        Act.REFIT: _("Update the board"),
        Act.FULL_CHECK: _("Full check now"),
        Act.EXCLUDE: _("Exclude"),
        Act.READMIT: _("Re-admit"),
        Act.NOTE: _("Note"),
        Act.PAUSE_ANNOTATOR: _("Pause the annotator"),
        Act.RESUME_ANNOTATOR: _("Let the annotator go on"),
        Act.ADD_ENTRANT: _("Add a chatbot"),
        Act.WITHDRAW_ENTRANT: _("Withdraw"),
        Act.RETIRE_PROMPT: _("Retire"),
        Act.REOPEN_SKIPPED: _("Reopen skipped items"),
        Act.GOLD: _("Add gold"),
        Act.WITHDRAW_GOLD: _("Withdraw gold"),
        Act.PAY: _("Mark as paid"),
        Act.SHARE: _("Roles"),
    }
