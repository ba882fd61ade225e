"""The console's home page and the overview of a campaign: progress, forecast end, and cost."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.accounts.models import User
from evalsite.boards.models import Decision
from evalsite.boards.selectors import BoardState, campaigns_progress
from evalsite.campaigns.limits import budget_of, limits_now
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import pilot_waits
from evalsite.console.formatting import duration
from evalsite.console.pilot import pilot_context
from evalsite.console.stopping_rules import limit_lines
from evalsite.judgments.annotator_statistics import qualifying_count
from evalsite.judgments.selectors import judgments_spent
from evalsite.operations.campaign_status import CampaignStatus, StatusAlarm, campaign_status_get
from evalsite.presentation.board_head import headline, status
from evalsite.presentation.formatting import fixed, whole
from evalsite.presentation.label_report import label_report_context

SHOWN_ON_HOME = 50


def home_context(user: User, start: int) -> dict[str, Any]:
    """Return the person's campaigns, newest first."""
    rows = campaigns_progress(user, start=start, count=SHOWN_ON_HOME + 1)
    shown = rows[:SHOWN_ON_HOME]
    campaigns = [
        {
            "name": row.campaign.name,
            "organisation": row.campaign.organisation.name,
            "state": row.campaign.state,
            "state_text": row.campaign.state_label,
            "url": reverse("console_campaign", args=[row.campaign.public_id]),
            "percent": percent(row.progress),
            "judgments": row.judgments,
            "chatbots": row.chatbots,
            "reason": row.campaign.stop_reason_text,
        }
        for row in shown
    ]
    more = start + SHOWN_ON_HOME if rows[SHOWN_ON_HOME:] else None
    running = sum(row.campaign.collecting for row in shown)
    return {"campaigns": campaigns, "more": more, "lead": _lead(len(shown), running)}


def _lead(count: int, running: int) -> str:
    if not count:
        return _("You have no campaign yet.")
    if not running:
        return _("No campaign is collecting now.")
    return ngettext("%(n)s campaign is collecting.", "%(n)s campaigns are collecting.", running) % {"n": running}


def percent(progress: float | None) -> int | None:
    return None if progress is None else round(100 * min(1.0, max(0.0, progress)))


def overview_context(campaign: Campaign) -> dict[str, Any]:
    """Return the context of the overview. The first line answers "is it going well?"."""
    outlook = campaign_status_get(campaign)
    board_state = outlook.board_state
    rows = board_state.ranked if board_state else []
    return {
        "answer": _answer(campaign, outlook),
        "percent": percent(outlook.progress),
        "status": status(board_state)["text"] if board_state else "",
        "headline": headline(rows, more_to_come=campaign.collecting) if rows else "",
        "facts": _facts(campaign, outlook),
        "alarms": [alarm_text(alarm) for alarm in outlook.alarms],
        "decision": _decision(campaign, board_state) if board_state else None,
        "pilot": pilot_context(campaign),
        "limits": limit_lines(
            limits_now(campaign),
            board_state.evidence if board_state else {},
            votes=campaign.votes_per_item if campaign.is_single else None,
        ),
    }


def _decision(campaign: Campaign, board_state: BoardState) -> Decision | None:
    """Return the last decision; None where the campaign has opened again since it."""
    decision = board_state.decision
    return None if decision is not None and decision.stop and campaign.collecting else decision


def _answer(campaign: Campaign, outlook: CampaignStatus) -> str:
    if outlook.alarms:
        return ngettext(
            "Something needs you: there is %(n)s alarm.",
            "Something needs you: there are %(n)s alarms.",
            len(outlook.alarms),
        ) % {"n": len(outlook.alarms)}
    if pilot_waits(campaign):
        return _("Its pilot is over: look at what it taught, then launch it, or change its set-up.")
    if campaign.waits_for_chatbots:
        return _("It waits for new chatbots: %(reason)s.") % {"reason": campaign.stop_reason_text}
    answers: Mapping[str, str] = {
        Campaign.State.DRAFT: _("It is a draft: nobody is asked yet."),
        Campaign.State.PAUSED: _("It is paused: nothing new is issued."),
        Campaign.State.STOPPED: _("It has ended: %(reason)s.")
        % {"reason": campaign.stop_reason_text or _("by its owner")},
    }
    return answers.get(campaign.state) or _running_text(campaign, outlook)


def _running_text(campaign: Campaign, outlook: CampaignStatus) -> str:
    if not (outlook.board_state and outlook.board_state.tally.judgments):
        return _unjudged_text(campaign)
    if outlook.to_go is None and campaign.is_single:
        return _("It is going well. Its replies are being queued.")
    if outlook.to_go is None and outlook.looks_anew:
        return _(
            "The campaign continues with another target. The next update of the board checks whether its prompts"
            " suffice."
        )
    if outlook.to_go is None:
        return _("It is going well. A forecast needs the first batches.")
    parts = [_("%(n)s judgments to go") % {"n": whole(outlook.to_go)}]
    if outlook.days is not None:
        parts.append(duration(outlook.days))
    if outlook.money is not None:
        parts.append(fixed(outlook.money))
    return _("It is going well: %(what)s.") % {"what": ", ".join(parts)}


def _unjudged_text(campaign: Campaign) -> str:
    """Say that nobody has judged yet, and how many annotators are at the qualification."""
    waiting = qualifying_count(campaign)
    if not waiting:
        return _("It collects, and nobody has judged yet.")
    text = ngettext(
        "It collects, and nobody has judged yet: %(n)s annotator is at the qualification.",
        "It collects, and nobody has judged yet: %(n)s annotators are at the qualification.",
        waiting,
    )
    return text % {"n": whole(waiting)}


def _facts(campaign: Campaign, outlook: CampaignStatus) -> list[tuple[str, str, str]]:
    """Return label, value and key of each number. Pages that show the same number mark it with the same key."""
    shared = {_("Judgments"): "judgments", _("Annotators"): "annotators"}
    return [(label, value, shared.get(label, "")) for label, value in _labelled(campaign, outlook)]


def _labelled(campaign: Campaign, outlook: CampaignStatus) -> list[tuple[str, str]]:
    judged = outlook.board_state.tally if outlook.board_state else None
    to_go, time_to_go = _("To the target"), _("Time to the target")
    if campaign.is_single:
        to_go, time_to_go = _("Judgments to go"), _("Time to go")
    facts = [
        (_("Judgments"), whole(judged.judgments if judged else 0)),
        *_budget(campaign),
        (_("Annotators"), whole(judged.annotators if judged else 0)),
        (_("Pace"), _("%(n)s a day") % {"n": fixed(outlook.per_day, 0)} if outlook.per_day else "–"),
        (to_go, whole(outlook.to_go) if outlook.to_go is not None else "–"),
        (time_to_go, duration(outlook.days) if outlook.days is not None else "–"),
        (_("Spent"), money(outlook.spent)),
    ]
    if outlook.money is not None:
        facts.append((_("Still to be spent"), f"{fixed(outlook.money)} {campaign.currency}"))
    return [*facts, *_agreement(outlook)] if campaign.is_single else facts


def _agreement(outlook: CampaignStatus) -> list[tuple[str, str]]:
    """Return the agreement on the first question, of replies that two annotators or more have judged."""
    report = label_report_context(outlook.board_state.board) if outlook.board_state else {"aspects": []}
    found = [
        _("%(alpha)s on %(n)s replies") % {"alpha": one["alpha"], "n": whole(one["shared"])}
        for one in report["aspects"][:1]
        if one["alpha"] is not None
    ]
    return [(_("Agreement (alpha)"), found[0] if found else "–")]


def _budget(campaign: Campaign) -> list[tuple[str, str]]:
    """Return the judgments that the budget has paid since the campaign opened."""
    budget = budget_of(campaign)
    if budget is None:
        return []
    spent = judgments_spent(campaign)
    words = _("%(spent)s of %(budget)s spent") % {"spent": whole(min(spent, budget)), "budget": whole(budget)}
    if spent > budget:
        words += _(", and %(more)s that were under way") % {"more": whole(spent - budget)}
    label = _("Budget since it opened again") if campaign.opened_again else _("Budget")
    return [(label, words)]


def money(amounts: Mapping[str, Decimal]) -> str:
    return ", ".join(f"{fixed(amount)} {currency}" for currency, amount in sorted(amounts.items())) or _("nothing")


def alarm_text(alarm: StatusAlarm) -> str:
    words = {
        "refit_fails": _("The update of the board fails and is tried again; the board before it is shown: %(value)s"),
        "slices_fail": _("A filtered board could not be fitted; the board itself goes on: %(value)s"),
        "proposals": _("Annotators whom the screening would exclude or re-admit, and you decide: %(value)s."),
        "not_converged": _(
            "The last fit did not converge; its intervals may be too narrow. Choose “Update the board”."
        ),
        "queue_empty": _("Nothing waits to be judged, and no plan is being made. Ask for one with “Update the board”."),
        "unqualified": _(
            "The qualification keeps %(value)s annotators from work, which is most of them. Look at its items and its "
            "pass mark: programs must answer it, too."
        ),
        "skipped": _("Items that two or more annotators skipped: %(value)s. “Reopen skipped items” asks them again."),
        "refit_late": _(
            "An update of the board has waited for more than five minutes. Check on the health page that a worker is"
            " running."
        ),
        "budget": _("Four fifths of the budget are spent: %(value)s judgments."),
    }
    return words[alarm.what] % {"value": alarm.value}
