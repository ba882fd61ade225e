"""Tables of a campaign: pairs, prompts, chatbots, annotators, judgments, fits, log."""

import math
import uuid
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.chart_data import DIFFERENCES, MARGIN
from evalsite.boards.models import Refit
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, board_state_get, snapshot_current
from evalsite.campaigns.models import Aspect, Campaign, Onboarding
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.selectors import as_uuid, aspect_primary, entrants_with_replies, onboarding_of
from evalsite.console.formatting import unchecked_text
from evalsite.console.page_frame import CampaignContext, act_labels
from evalsite.console.vetting import vetting_notes
from evalsite.core.audit import audit_of
from evalsite.core.errors import InvalidInput
from evalsite.core.models import AuditEntry
from evalsite.core.reasons import reason_text
from evalsite.judgments.annotator_statistics import WORKING_S, Person, next_planned, people_count, people_page
from evalsite.judgments.arrivals import arrivals_are_checked
from evalsite.judgments.judgment_lists import Wanted, entrant_names, judgments_page, skips_count, skips_page
from evalsite.judgments.models import Skip
from evalsite.judgments.selectors import tally
from evalsite.operations.campaign_status import board_of, change_of, findings_of, gold_findings_of, refits_of
from evalsite.presentation.data_files import FILES
from evalsite.presentation.figures.base import figure_input
from evalsite.presentation.figures.matrices import counts
from evalsite.presentation.formatting import fixed, share, signed
from evalsite.presentation.page_cache import cached_part
from evalsite.presentation.ranking import tier_words
from evalsite.prompts.models import Prompt

ROWS = 50
LEAST_IN_TIER = 2
PLANNED = 15
FITS = 25


def page_number(query: QueryDict, name: str = "from") -> int:
    """Return the first row of the page; 0 for an invalid number."""
    text = query.get(name, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def pairs_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return votes for each pair, the next items, and the reason."""
    campaign = desk.campaign
    board = board_of(campaign)
    board_state = board_state_get(board) if board else None
    planned = [
        {
            "prompt": one.place.prompt.key,
            "names": [entrant.name for entrant in entrants],
            "policy": one.policy,
            "probability": one.probability,
            "purpose": one.get_purpose_display(),
        }
        for one, entrants in next_planned(campaign, PLANNED)
    ]
    return {
        "figure": _counts_drawn(desk, board_state, page_number(query)) if board_state else None,
        "planned": planned,
        "adaptive": any(one["policy"] == "adaptive" for one in planned),
        "decision": board_state.decision if board_state else None,
    }


def _counts_drawn(desk: CampaignContext, board_state: BoardState, first: int) -> dict[str, str] | None:
    """Return the matrix of counts from row `first` on (from 1), with its heading.

    It is drawn once per snapshot.
    """
    if board_state.snapshot is None:
        return None
    start = max(0, first - 1)
    start = (
        start if start < len(board_state.snapshot.rows) else 0
    )  # Limits the cache keys: a reader can type any number.
    return cached_part(
        f"console-pairs-{desk.key}-{board_state.snapshot.pk}-{start}", lambda: _counts_html(desk, board_state, start)
    )


def _counts_html(desk: CampaignContext, board_state: BoardState, start: int) -> dict[str, str] | None:
    given = figure_input(board_state, desk.key, start, past=False)
    if given is None:
        return None
    figure = counts(given)
    drawing = figure.drawing.leading_to(desk.url("console_pairs"))
    html = render_to_string("charts/_matrix.html", {"figure": figure, "drawing": drawing})
    return {"title": figure.title, "finding": figure.finding, "html": html}


def prompts_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the prompts with their statistics."""
    campaign, start = desk.campaign, page_number(query)
    in_force = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")
    prompts = list(in_force[start : start + ROWS + 1])
    retired = dict(campaign.retirements.values_list("prompt_id", "reason"))
    found = findings_of(campaign, "prompts")
    board = board_of(campaign)
    snapshot = snapshot_current(board) if board else None
    even = sum(one["judgments"] for one in found.values()) / max(1, in_force.count() - len(retired))
    alike = {key for prompt in prompts for key in found.get(prompt.pk, {}).get("like", ())}
    names = dict(Prompt.objects.filter(pk__in=alike).values_list("pk", "key"))
    tiers = tier_gaps(snapshot.rows) if snapshot else []
    rows = [
        {
            "id": prompt.public_id,
            "key": prompt.key,
            "category": prompt.category,
            "text": (prompt.turns or [{"text": ""}])[-1]["text"],
            "judgments": found.get(prompt.pk, {}).get("judgments", 0),
            **_discrimination(found.get(prompt.pk)),
            **_prompt_statistics(found.get(prompt.pk, {}), even, tiers),
            "like": [names[key] for key in found.get(prompt.pk, {}).get("like", ()) if key in names],
            "retired": retired.get(prompt.pk),
        }
        for prompt in prompts[:ROWS]
    ]
    return {
        "rows": rows,
        "tiers": [words for words, _gap in tiers],
        "redundant": sum(bool(one.get("like")) for one in found.values()),
        "of": in_force.count(),
        "retired": len(retired),
        **paged(query, start, bool(prompts[ROWS:])),
        "may_retire": desk.may(Act.RETIRE_PROMPT) and campaign.state != Campaign.State.DRAFT,
    }


def _discrimination(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the discrimination with its 95 % interval (lognormal)."""
    value, se = (found or {}).get("discrimination"), (found or {}).get("se")
    if not value or se is None:
        return {"discrimination": "", "interval": ""}
    factor = math.exp(MARGIN * se / value)
    return {
        "discrimination": fixed(value),
        "interval": f"{fixed(value / factor)} – {fixed(value * factor)}",
        "among": [fixed(one) for one in (found or {}).get("by_tier", ())],
    }


def tier_gaps(rows: Sequence[BoardRow]) -> list[tuple[str, float]]:
    """Return the tiers of the board with the mean ability difference of neighbours, in logits.

    Returns none if a tier has too few chatbots.
    """
    words = tier_words(rows)
    tiers = {tier: sorted(row["ability"] for row in rows if row.get("tier") == tier) for tier in words}
    if min(map(len, tiers.values()), default=0) < LEAST_IN_TIER:
        return []
    return [(words[tier], (each[-1] - each[0]) / (len(each) - 1)) for tier, each in tiers.items()]


def _prompt_statistics(found: Mapping[str, Any], even: float, tiers: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return the difficulty of a prompt, its information by tier, and its exposure relative to an even share."""
    half, information = found.get("half_at"), found.get("information") or ()
    return {
        "difficulty": "" if half is None else fixed(half),
        "by_tier": [fixed(_at(information, gap)) for _words, gap in tiers] if information else [],
        "exposure": _("%(n)s times") % {"n": fixed(found["judgments"] / even, 1)} if found and even else "",
    }


def _at(information: Sequence[float], difference: float) -> float:
    """Return the information at an ability difference, interpolated between stored points."""
    place = bisect_right(DIFFERENCES, difference)
    if place >= len(DIFFERENCES):
        return information[-1]
    low, high = DIFFERENCES[place - 1], DIFFERENCES[place]
    return information[place - 1] + (information[place] - information[place - 1]) * (difference - low) / (high - low)


def chatbots_context(desk: CampaignContext) -> dict[str, Any]:
    """Return entrants, the completeness of their replies, and candidates."""
    rows, others, prompts = entrants_with_replies(desk.campaign)
    return {
        "rows": rows,
        "others": others,
        "prompts": prompts,
        "may_add": desk.may(Act.ADD_ENTRANT),
        "may_withdraw": desk.may(Act.WITHDRAW_ENTRANT),
    }


def annotators_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the annotators with their judgments and quality."""
    campaign, start = desk.campaign, page_number(query)
    people = people_page(campaign=campaign, start=start, count=ROWS + 1)
    found, gold = findings_of(campaign, "annotators"), gold_findings_of(campaign, "annotators")
    sent = onboarding_of(campaign).platform != Onboarding.Platform.NONE
    decisions = [one["decision"] for one in found.values()]
    rows = [{**_annotator(one, campaign, found.get(one.key, {})), **_gold(gold.get(one.key))} for one in people[:ROWS]]
    reasons = [row["reason"] for row in rows if row["reason"]]  # Annotators without judgments have none.
    shared = reasons[0] if len(reasons) > 1 and len(set(reasons)) == 1 else ""
    return {
        "rows": [{**row, "reason": ""} for row in rows] if shared else rows,
        "shared_reason": shared,
        "agreement_applies": not campaign.is_single or _one_answer(campaign),
        "of": people_count(campaign),
        "suspects": decisions.count("exclude"),
        "judged": len(decisions) - decisions.count("not enough yet"),
        **paged(query, start, bool(people[ROWS:])),
        "has_gold": bool(campaign.gold_share or gold),
        "vetting_notes": vetting_notes(campaign) if campaign.collecting else [],
        "may_exclude": desk.may(Act.EXCLUDE),
        "may_note": desk.may(Act.NOTE),
        "may_invite": desk.may(Act.INVITE),
        "may_pay": desk.may(Act.PAY),
        "sent": sent,
        "unchecked": unchecked_text() if sent and not arrivals_are_checked(campaign) else "",
    }


def _one_answer(campaign: Campaign) -> bool:
    """Return whether each reply gets one answer. Several labels of a reply have no agreement."""
    aspect = aspect_primary(campaign)
    return aspect.kind == Aspect.Kind.RATING or aspect.one_label


def _gold(found: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the share of passed gold items, with its 95 % interval."""
    if found is None:
        return {"gold": "–", "gold_interval": ""}
    interval = f"{share(found['lower'])} – {share(found['upper'])}"
    return {"gold": f"{found['passed']} / {found['given']}", "gold_interval": interval}


def _annotator(one: Person, campaign: Campaign, found: Mapping[str, Any]) -> dict[str, Any]:
    seconds = found.get("seconds")
    agreement, lower, upper = found.get("agreement"), found.get("lower"), found.get("upper")
    return {
        "id": one.annotator.public_id,
        "name": str(one.annotator.public_id)[:8],
        "kind": one.annotator.get_kind_display(),
        "state": _person_state(one, campaign),
        "done": one.done,
        "quota": campaign.quota,
        "seconds": "" if seconds is None else f"{fixed(seconds, 0)} s" if seconds >= 10 else f"{fixed(seconds, 1)} s",
        "first_share": share(found.get("first_share")),
        "tie_share": share(found.get("tie_share")),
        "agreement": "" if agreement is None else signed(agreement),
        "interval": "" if lower is None or upper is None else f"{signed(lower)} – {signed(upper)}",
        "decision": _decision(found.get("decision", "")),
        "suspect": found.get("decision") == "exclude",
        "reason": reason_text(found.get("reason", ""), found.get("reason_data")),
        "excluded": None if one.excluded is None else reason_text(*one.excluded),
        "paused": one.paused,
        "note": one.note,
        "pace": sparkline(found.get("pace", [])),
        "proposed": one.proposed,
        "newcomer": one.newcomer,
    }


SPARK_WIDTH, SPARK_HEIGHT = 60, 16


def sparkline(values: Sequence[float]) -> str:
    """Return the points of a sparkline, from 0 to the largest value; "" for fewer than two values."""
    if len(values) < 2 or max(values) <= 0:
        return ""
    step, most = SPARK_WIDTH / (len(values) - 1), max(values)
    points = (
        f"{place * step:.1f},{SPARK_HEIGHT - 1 - (SPARK_HEIGHT - 2) * value / most:.1f}"
        for place, value in enumerate(values)
    )
    return " ".join(points)


def _person_state(one: Person, campaign: Campaign) -> str:
    if one.excluded is not None:
        return _("excluded")
    if one.paused:
        return _("paused")
    if one.newcomer:
        return _("new: votes do not count yet")
    if campaign.quota is not None and one.done >= campaign.quota:
        return _("done")
    if one.open or (one.last and (timezone.now() - one.last).total_seconds() < WORKING_S):
        return _("at work")
    return _("away") if one.done else _("joined")


def _decision(decision: str) -> str:
    words = {"keep": _("keep"), "exclude": _("exclude"), "not enough yet": _("not enough yet")}
    return words.get(decision, "–")


# Judgments ----------------------------------------------------------------------------------------------


FILTERS = ("counted", "category", "chatbot", "annotator", "late", "explained")


def judgments_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return single judgments by the filters and the cursor in the address."""
    campaign = desk.campaign
    wanted = _wanted(query, gold=desk.may(Act.GOLD))
    found = judgments_page(
        campaign=campaign,
        aspect=aspect_primary(campaign),
        wanted=wanted,
        after=_id(query, "cursor"),
        count=ROWS + 1,
    )
    names = entrant_names(campaign)
    filters = {name: query[name] for name in FILTERS if query.get(name)}
    more = urlencode({**filters, "cursor": str(found[ROWS - 1].judgment)}) if found[ROWS:] else ""
    rows = [
        {
            "row": row,
            "first": names[row.first],
            "second": names[row.second],
            "seconds": _seconds(row.client_ms),
            "verdict": {"tie": _("tie"), "both_bad": _("both bad")}.get(row.choice, row.choice),
            "reasons": "; ".join(row.reasons),
            "comment": row.comment,
        }
        for row in found[:ROWS]
    ]
    entrants = campaign.entrants.select_related("version__chatbot").order_by("pk")
    return {
        "rows": rows,
        "judged": tally([campaign]).judgments,
        "more": more,
        "files": _files(desk, wanted),
        "data": [(name, desk.url("console_data", name)) for name in FILES],
        "skipped": skips_count(campaign, gold=desk.may(Act.GOLD)),
        "chosen": {name: query.get(name, "") for name in FILTERS},
        "filtered": bool(filters),
        "chatbots": [(str(one.version.chatbot.public_id), names[one.pk]) for one in entrants],
        "categories": _categories(campaign),
    }


def _seconds(client_ms: int | None) -> str:
    return "–" if client_ms is None else f"{fixed(client_ms / 1000, 1)} s"


def _categories(campaign: Campaign) -> list[str]:
    found = campaign.prompt_set.prompts.exclude(category="").order_by("category")
    return list(found.values_list("category", flat=True).distinct()[:200])


def _wanted(query: QueryDict, *, gold: bool) -> Wanted:
    flags = {"yes": True, "no": False}
    return Wanted(
        counted=flags.get(query.get("counted", "")),
        gold=gold,
        category=query.get("category") or None,
        chatbot=_id(query, "chatbot"),
        annotator=_id(query, "annotator"),
        late=flags.get(query.get("late", "")),
        explained=flags.get(query.get("explained", "")),
    )


def _files(desk: CampaignContext, wanted: Wanted) -> dict[str, str]:
    """Return the addresses of files with the listed rows, by format."""
    chosen = {
        "counted": _flag(wanted.counted) or "any",
        "category": wanted.category,
        "chatbot": wanted.chatbot,
        "annotator": wanted.annotator,
        "late": _flag(wanted.late),
        "explained": _flag(wanted.explained),
    }
    query = urlencode({name: value for name, value in chosen.items() if value})
    return {form: f"{reverse(f'api_{form}', args=[desk.key])}?{query}" for form in ("csv", "jsonl")}


def _flag(value: bool | None) -> str:
    return {True: "true", False: "false", None: ""}[value]


def skips_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the skips one by one, with the reasons and notes of their annotators."""
    campaign, gold = desk.campaign, desk.may(Act.GOLD)
    found = skips_page(campaign=campaign, gold=gold, after=_id(query, "cursor"), count=ROWS + 1)
    names, words = entrant_names(campaign), dict(Skip.Reason.choices)
    rows = [
        {"row": row, "first": names[row.first], "second": names[row.second], "reason": words.get(row.reason, "")}
        for row in found[:ROWS]
    ]
    return {
        "rows": rows,
        "skipped": skips_count(campaign, gold=gold),
        "more": urlencode({"cursor": str(found[ROWS - 1].assignment)}) if found[ROWS:] else "",
        "files": {form: reverse(f"api_skips_{form}", args=[desk.key]) for form in ("csv", "jsonl")},
    }


def _id(query: QueryDict, name: str) -> uuid.UUID | None:
    text = query.get(name, "")
    if not text:
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        raise InvalidInput(
            _("%(text)s is not an id.") % {"text": repr(text[:40])}, hint=_("Go back and choose again."), field=name
        ) from None


# Fits and log -------------------------------------------------------------------------------------------


def fits_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the refits: duration, convergence, and changes."""
    board, start = board_of(desk.campaign), page_number(query)
    found = list(refits_of(board)[start : start + FITS + 1]) if board else []
    rows = [_fit(refit, found[index + 1 :]) for index, refit in enumerate(found[:FITS])]
    return {"rows": rows, **paged(query, start, bool(found[FITS:]), FITS)}


def _fit(refit: Refit, earlier: Sequence[Refit]) -> dict[str, Any]:
    snapshot = refit.snapshot
    before = next((one.snapshot for one in earlier if one.snapshot and one.snapshot != snapshot), None)
    change = change_of(snapshot, before) if snapshot else None
    took = (refit.finished_at - refit.started_at).total_seconds()
    return {
        "at": refit.finished_at,
        "outcome": refit.get_outcome_display(),
        "failed": refit.outcome == Refit.Outcome.FAILED,
        "number": snapshot.number if snapshot else None,
        "judgments": snapshot.judgments if snapshot else None,
        "converged": snapshot.converged if snapshot else None,
        "took": f"{fixed(took, 1)} s",
        "message": refit.message,
        "change": "" if change is None else f"{change.name} {signed(change.by)}",
        "order": change is not None and change.order,
    }


def log_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the actions with their authors, newest first."""
    start = page_number(query)
    found = list(audit_of(desk.campaign.public_id)[start : start + ROWS + 1])
    return {"rows": log_rows(found[:ROWS]), **paged(query, start, bool(found[ROWS:]))}


def log_rows(found: Sequence[AuditEntry]) -> list[dict[str, Any]]:
    """Return log entries as text, with the names of people."""
    people = {str(entry.actor) for entry in found if entry.actor}
    people |= {entry.target for entry in found if entry.act == Act.SHARE and as_uuid(entry.target)}
    named = User.objects.filter(public_id__in=people).values_list("public_id", "username")
    names = {str(public_id): username for public_id, username in named}
    return [
        {
            "at": entry.at,
            "who": names.get(str(entry.actor), str(entry.actor)) if entry.actor else _("the service"),
            "act": _act_label(entry.act),
            "target": names.get(entry.target, _target(entry)),
            "change": _change(entry),
            "reason": entry.reason_text,
        }
        for entry in found
    ]


def _target(entry: AuditEntry) -> str:
    """Return the target of an entry.

    Older entries name the recipient of an invitation, which only people who invite may see.
    """
    visible = entry.act not in {"invite", "revoke_invitation"} or as_uuid(entry.target) is not None
    return entry.target if visible else ""


def _act_label(act: str) -> str:
    labels = {**{str(key): label for key, label in act_labels().items()}, **_more_labels()}
    return labels.get(act, act)


def _more_labels() -> dict[str, str]:
    """Return labels of logged actions without a button."""
    return {
        "set_up": _("Set up"),
        "add_prompts": _("Add prompts"),
        "add_version": _("Add a version"),
        "rename": _("Rename"),
        "record_maker": _("Record who made it"),
        **_endpoint_labels(),
        "make_conversation_set": _("Make a set of conversations"),
        "annotate": _("Annotate conversations"),
        "import_conversations": _("Import conversations"),
        "erase_user": _("Erase a user"),
        "invite": _("Invite"),
        "revoke_invitation": _("End an invitation"),
        "bonus": _("Give bonuses"),
        "export_payments": _("Download the payment file"),
        "remove_judgments": _("Remove judgments with their annotator"),
        "add_webhook": _("Add a webhook"),
        "rotate_webhook": _("Rotate the secret of a webhook"),
        "delete_webhook": _("Delete a webhook"),
    }


def _endpoint_labels() -> dict[str, str]:
    return {
        "register_endpoint": _("Register an endpoint"),
        "change_endpoint": _("Change an endpoint"),
        "pause_endpoint": _("Pause an endpoint"),
        "resume_endpoint": _("Resume an endpoint"),
        "set_endpoint_secret": _("Store a secret"),
        "remove_endpoint_secret": _("Remove a secret"),
        "test_endpoint": _("Test an endpoint"),
        "start_collection": _("Collect replies"),
        "pause_collection": _("Pause a collection"),
        "resume_collection": _("Resume a collection"),
        "settle_drift": _("Settle an alarm"),
        "rotate_endpoint_key": _("Encrypt a secret with the newest key"),
    }


def _change(entry: AuditEntry) -> str:
    keys = [*entry.before, *[key for key in entry.after if key not in entry.before]]
    return "; ".join(f"{key}: {_value(entry.before.get(key))} → {_value(entry.after.get(key))}" for key in keys)


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return {True: _("yes"), False: _("no")}[value] if isinstance(value, bool) else str(value)


def paged(query: QueryDict, start: int, more: bool, size: int = ROWS) -> dict[str, Any]:
    """Return links to the page before and the page after."""
    others = {name: query[name] for name in query if name != "from"}
    before = urlencode({**others, "from": max(0, start - size)}) if start else None
    after = urlencode({**others, "from": start + size}) if more else None
    return {"before": before, "after": after, "start": start + 1}
