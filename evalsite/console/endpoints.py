"""What the pages of endpoints show: health, cost, tests, collections and alarms, in the reader's words."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.accounts.models import User
from evalsite.campaigns.call_costs import call_cost
from evalsite.campaigns.endpoint_access import endpoint_for, may_use_endpoints, role_in
from evalsite.campaigns.library import prompt_sets_owned
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.campaigns.selectors import as_uuid, entrants_active
from evalsite.chatbots.models import Version
from evalsite.chatbots.selectors import replies_counted
from evalsite.console.endpoint_forms import ADAPTER_WORDS, SecretForm
from evalsite.console.page_frame import CampaignContext
from evalsite.console.tables import chatbots_context
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.endpoints.collecting import collection_resume, collection_start
from evalsite.endpoints.models import Collection, Endpoint, EndpointCheck
from evalsite.endpoints.selectors import (
    CollectionProgress,
    EndpointCost,
    EndpointHealth,
    check_result,
    collection_progress,
    collections_of,
    drifts_open,
    endpoint_cost,
    endpoint_health,
    secret_set_at,
)
from evalsite.presentation.formatting import fixed, share, whole
from evalsite.prompts.models import PromptSet

MOST_CALLS, MOST_SETS, MOST_LIVE = 20, 200, 50


def money_text(amount: Decimal | None, currency: str) -> str:
    """Format an amount: two decimals, or up to four if it is less than a unit. A dash stands for none."""
    if amount is None:
        return "–"
    if 0 < amount < Decimal("0.0001"):
        return _("under %(amount)s %(currency)s") % {"amount": fixed(Decimal("0.0001"), 4), "currency": currency}
    cents = amount >= 1 or amount == round(amount, 2)
    return f"{fixed(amount, 2 if cents else 4)} {currency}"


def endpoint_context(endpoint: Endpoint, user: User) -> dict[str, Any]:
    """Return everything about an endpoint."""
    return {
        "version": endpoint.version,
        "chatbot": endpoint.version.chatbot,
        "settings": _settings(endpoint),
        "secret_set_at": secret_set_at(endpoint),
        "secret_form": SecretForm(),
        "drifts": drifts_open(endpoint),
        "sets": _sets(user),
        **live_context(endpoint, user),
    }


def live_context(endpoint: Endpoint, user: User) -> dict[str, Any]:
    """Return the parts of the page that change: figures, the newest test, collections and calls."""
    health, cost = endpoint_health(endpoint), endpoint_cost(endpoint)
    check = endpoint.checks.filter(kind=EndpointCheck.Kind.TEST).order_by("-pk").first()
    collections = [collection_row(one, collection_progress(one)) for one in collections_of(endpoint)]
    testing = check is not None and check.state == EndpointCheck.State.RUNNING
    return {
        "endpoint": endpoint,
        "may_use": may_use_endpoints(endpoint.version.chatbot.organisation, user),
        "check": None if check is None else _check(check),
        "collections": collections,
        "going": testing or any(row["going"] for row in collections),
        "health": health,
        "reason": _reason(endpoint),
        "errors": errors_text(health.errors),
        "health_facts": _health_facts(health),
        "cost_facts": _cost_facts(cost),
        "at_cap": cost.at_cap,
        "calls": _calls(endpoint),
    }


def collection_row(collection: Collection, progress: CollectionProgress) -> dict[str, Any]:
    """Return a collection as text."""
    return {
        "collection": collection,
        "progress": progress,
        "going": progress.state == Collection.State.RUNNING,
        "waits": waits_text(progress.waits_for),
        "cost": money_text(progress.cost, progress.currency),
        "expected": money_text(progress.expected_cost, progress.currency) if progress.open else "",
        "errors": errors_text(progress.errors),
    }


def waits_text(code: str) -> str:
    """Return why a collection does not go on."""
    words = {
        "paused": _("Paused."),
        "failing": _("The endpoint fails. It goes on once a test succeeds."),
        "endpoint_paused": _("The endpoint is paused. Resume it to go on."),
        "rate_limited": _("The endpoint asked to wait."),
        "daily_cap": _("The cap of the day is reached. It goes on tomorrow (UTC), or with a higher cap."),
        "version_cap": _("The cost cap is reached. Raise it to go on."),
        "campaign_cap": _("The cost cap of the campaign is reached. Raise it to go on."),
    }
    return words.get(code, "")


def error_text(code: str) -> str:
    """Return an error class in words; an unknown one stays as it is."""
    words = {
        "address_refused": _("address refused"),
        "unresolved": _("host not found"),
        "connect": _("no connection"),
        "tls": _("certificate refused"),
        "timeout": _("timeout"),
        "protocol": _("no HTTP"),
        "too_large": _("too large"),
        "encoded": _("compressed"),
        "redirect": _("redirect"),
        "unauthorized": _("secret refused"),
        "payment": _("payment required"),
        "not_found": _("not found"),
        "rate_limited": _("too many calls"),
        "busy": _("busy"),
        "server_error": _("server error"),
        "rejected": _("request rejected"),
        "bad_response": _("no reply in the response"),
        "empty": _("empty reply"),
        "internal": _("internal error"),
        "lost": _("interrupted"),
    }
    return words.get(code, code)


def errors_text(errors: Mapping[str, int]) -> str:
    """Return counts of errors: "timeout: 3, server error: 1"."""
    ordered = sorted(errors.items(), key=lambda one: -one[1])
    return ", ".join(f"{error_text(code)}: {whole(count)}" for code, count in ordered)


def flag_text(flag: str) -> str:
    words = {"truncated": _("cut off"), "refusal": _("refusal"), "tool_call": _("tool call")}
    return words.get(flag, flag)


def endpoints_by_version(versions: Sequence[Version]) -> dict[int, dict[str, Any]]:
    """Return, for each live version, its endpoint with what it has cost."""
    found = Endpoint.objects.filter(version__in=versions)
    return {one.version_id: {"endpoint": one, "cost": _cost_text(endpoint_cost(one))} for one in found}


def entrants_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the entrants of a campaign, and what live ones have cost if this person may know it."""
    context = chatbots_context(desk)
    versions = [row.version for row in context["rows"]]
    knows = role_in(desk.campaign.organisation, desk.user) is not None
    live = endpoints_by_version(versions) if knows else {}
    costs = [{"version": one, **live[one.pk]} for one in versions if one.pk in live]
    cost = campaign_cost_text(desk.campaign) if knows else ""
    return {**context, "costs": costs, "campaign_cost": cost, "may_cap": bool(costs) and desk.may(Act.CAP_CALLS)}


def live_versions_context(campaign: Campaign, user: User) -> dict[str, Any]:
    """Return the live versions of a draft's organisation, with their replies to its prompts and their collections."""
    may = may_use_endpoints(campaign.organisation, user)
    found = (
        Endpoint.objects.filter(version__chatbot__organisation=campaign.organisation_id)
        if may
        else Endpoint.objects.none()
    )
    has, prompts = (
        replies_counted(campaign.prompt_set),
        campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count(),
    )
    rows = [
        _live_row(one, campaign.prompt_set, has.get(one.version_id, 0), prompts)
        for one in found.select_related("version__chatbot").order_by("-pk")[:MOST_LIVE]
    ]
    return {
        "live": rows,
        "live_going": any(row["row"] and row["row"]["going"] for row in rows),
        "prompts": prompts,
        "campaign_cost": campaign_cost_text(campaign) if may else "",
        "may_cap": allows(role_of(user, campaign), Act.CAP_CALLS),
    }


def live_chatbots_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the live chatbots of a live draft: those that take part, and the others of its organisation."""
    campaign = desk.campaign
    taking = list(entrants_active(campaign).select_related("version__chatbot", "version__endpoint"))
    here = {one.version_id for one in taking}
    may = may_use_endpoints(campaign.organisation, desk.user)
    found = Endpoint.objects.filter(version__chatbot__organisation=campaign.organisation_id).exclude(version__in=here)
    others = found.select_related("version__chatbot").order_by("-pk")[:MOST_LIVE] if may else []
    wanted = campaign.live.chatbots_per_conversation
    lacking = max(0, max(2, wanted) - len(taking))
    return {"taking": taking, "others": others, "wanted": wanted, "lacks": lacking}


def replies_collect(campaign: Campaign, endpoint_id: str, by: User) -> None:
    """Collect the replies of a live version of the draft's organisation to its prompts, or go on with it."""
    public_id = as_uuid(endpoint_id)
    if public_id is None:
        raise InvalidInput(_("This page was opened by a broken link."), hint=_("Go back and try again."))
    endpoint = endpoint_for(public_id=public_id, user=by, use=True)
    if endpoint.version.chatbot.organisation_id != campaign.organisation_id:
        raise NotFound(_("There is no such endpoint."), hint=_("It may belong to an organisation that you are not in."))
    collection = collection_start(endpoint=endpoint, prompt_set=campaign.prompt_set, by=by)
    collection_resume(collection=collection, by=by)


def _live_row(endpoint: Endpoint, prompt_set: PromptSet, replies: int, prompts: int) -> dict[str, Any]:
    collection = endpoint.collections.filter(prompt_set=prompt_set).order_by("-pk").first()
    return {
        "endpoint": endpoint,
        "replies": replies,
        "missing": prompts - replies,
        "cost": _cost_text(endpoint_cost(endpoint)),
        "row": collection_row(collection, collection_progress(collection)) if collection else None,
    }


def _reason(endpoint: Endpoint) -> str:
    """Return the reason of the state, with the class of the error in words."""
    params = (endpoint.state_data or {}).get("params") or {}
    error = str(params.get("error", ""))
    return endpoint.state_text.replace(error, error_text(error)) if error else endpoint.state_text


def _health_facts(health: EndpointHealth) -> list[tuple[str, str]]:
    return [
        (_("Calls, last day"), whole(health.calls)),
        (_("Failed"), share(health.error_rate)),
        (_("Median latency"), _milliseconds(health.p50_ms)),
        (_("Latency, 95 %"), _milliseconds(health.p95_ms)),
    ]


def _cost_facts(cost: EndpointCost) -> list[tuple[str, str]]:
    return [
        (_("Cost today (UTC)"), _of_cap(cost.today, cost.daily_cap, cost.currency)),
        (_("Cost so far"), _of_cap(cost.total, cost.version_cap, cost.currency)),
        (_("Expected further cost"), money_text(cost.expected, cost.currency)),
        (_("Calls so far"), whole(cost.calls)),
    ]


def _of_cap(amount: Decimal, cap: Decimal | None, currency: str) -> str:
    text = money_text(amount, currency)
    return text if cap is None else _("%(amount)s of %(cap)s") % {"amount": text, "cap": money_text(cap, currency)}


def _cost_text(cost: EndpointCost) -> str:
    """Return what an endpoint has cost, and what its open requests are expected to cost."""
    so_far = _of_cap(cost.total, cost.version_cap, cost.currency)
    if not cost.expected:
        return so_far
    expected = money_text(cost.expected, cost.currency)
    return _("%(so_far)s, expected further %(expected)s") % {"so_far": so_far, "expected": expected}


def campaign_cost_text(campaign: Campaign) -> str:
    """Return what calls for the campaign have cost, with its cap; "" without a cap."""
    cost = call_cost(campaign)
    if cost is None:
        return ""
    text = _of_cap(cost.spent, cost.cap, cost.currency)
    return _("Calls for this campaign have cost %(amount)s.") % {"amount": text}


def _milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return (
        _("%(ms)s ms") % {"ms": whole(round(value))} if value < 1000 else _("%(s)s s") % {"s": fixed(value / 1000, 1)}
    )


def _settings(endpoint: Endpoint) -> list[tuple[str, str]]:
    prices = (endpoint.input_price, endpoint.output_price)
    rows = [
        (_("Kind of endpoint"), str(ADAPTER_WORDS.get(endpoint.adapter, endpoint.adapter))),
        (_("Address"), endpoint.url),
        (_("Model"), endpoint.model),
        (_("System prompt"), endpoint.system_prompt),
        (_("Temperature"), "" if endpoint.temperature is None else f"{endpoint.temperature:g}"),
        (_("Tokens of a reply, at most"), whole(endpoint.max_tokens)),
        (
            _("Price of a million tokens, input / output"),
            " / ".join(money_text(one, endpoint.currency) for one in prices),
        ),
        (_("Seconds that a reply may take"), whole(endpoint.timeout_s)),
        (_("Calls at a time, at most"), whole(endpoint.concurrency)),
        (_("Further headers"), "\n".join(f"{name}: {value}" for name, value in endpoint.headers.items())),
        (_("Body template"), endpoint.body_template),
        (_("Reply path"), endpoint.reply_path),
    ]
    return [(name, value) for name, value in rows if value]


def _sets(user: User) -> list[Any]:
    owned: QuerySet[Any] = prompt_sets_owned(user)
    return list(owned.filter(prompts_count__gt=0).order_by("-pk")[:MOST_SETS])


def _calls(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "call": call,
            "ms": _milliseconds(1000 * (call.ended_at - call.started_at).total_seconds()),
            "cost": money_text(call.cost, endpoint.currency),
            "error": error_text(call.error_class),
            "flags": ", ".join(flag_text(flag) for flag in call.flags),
        }
        for call in endpoint.calls.order_by("-pk")[:MOST_CALLS]
    ]


def _check(check: EndpointCheck) -> dict[str, Any]:
    result = check_result(check)
    turns = [
        {
            "turn": turn,
            "ms": _milliseconds(turn.latency_ms),
            "cost": money_text(turn.cost, result.currency),
            "error": error_text(turn.error),
            "flags": ", ".join(flag_text(flag) for flag in turn.flags),
        }
        for turn in result.turns
    ]
    answer = {
        "running": ngettext("Testing: %(n)s of %(of)s turn.", "Testing: %(n)s of %(of)s turns.", result.expected_turns),
        "passed": _("The test passed."),
        "failed": _("The test failed."),
    }[result.state]
    return {
        "check": check,
        "result": result,
        "turns": turns,
        "answer": answer % {"n": len(turns), "of": result.expected_turns} if result.state == "running" else answer,
        "cost": money_text(result.cost, result.currency),
    }
