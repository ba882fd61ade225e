"""Export a campaign as a file that `reader` accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

import yaml
from django.db.models import QuerySet

from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Aspect, Campaign, PlanSpec
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import plan_options
from evalsite.chatbots.models import Version
from evalsite.exchange.campaign_file.gold import gold_written
from evalsite.exchange.campaign_file.models import CampaignPart, LivePart, Part, PlanPart, StoppingPart
from evalsite.exchange.campaign_file.onboarding import onboarding_written
from evalsite.prompts.models import Prompt
from evalsite.scorecards.models import Annotation
from evalsite.submissions.selectors import settings_of
from evalsite.submissions.services import accepted_of


def campaign_write(campaign: Campaign) -> str:
    """Return the campaign as a file. Prompts and replies without a text are left out."""
    annotation = _annotation_written(campaign)
    prompts = [] if campaign.is_live or annotation else list(_prompts(campaign))
    entrants = [] if annotation else _entrants(campaign)
    whole_file = {
        "touchstone": 1,
        "campaign": _fields(campaign, CampaignPart),
        "stopping": _stopping_written(limits_of(campaign.stopping)),
        "plan": _plan_written(plan_options(campaign), {one.pk: str(one.version) for one in entrants}),
        **({"live": _fields(campaign.live, LivePart)} if campaign.is_live else {}),
        **annotation,
        "aspects": [_aspect(one) for one in campaign.rubric.aspects.all()],
        "prompts": [_prompt(prompt) for prompt in prompts],
        "chatbots": [_chatbot(one.version, prompts) for one in entrants],
        "gold": gold_written(campaign, with_prompts=not annotation),
        **_submissions_written(campaign),
        **onboarding_written(campaign),
    }
    written: str = yaml.safe_dump(whole_file, sort_keys=False, allow_unicode=True, width=100)
    return written


def _fields(source: Any, part: type[Part]) -> dict[str, Any]:
    """Return the values of a part's keys, which are called as the fields of their source."""
    return {name: _plain(getattr(source, name)) for name in part.model_fields}


def _aspect(aspect: Aspect) -> dict[str, Any]:
    """Return a question, with its scale where replies are rated or labelled."""
    of_pairs = ("key", "question", "allow_tie", "allow_both_bad")
    of_kind = {
        Aspect.Kind.RATING.value: ("key", "question", "kind", "minimum", "maximum"),
        Aspect.Kind.LABEL.value: ("key", "question", "kind", "labels", "one_label"),
    }
    scope = {} if aspect.scope == Aspect.Scope.TURN or aspect.kind not in of_kind else {"scope": aspect.scope}
    return {name: _plain(getattr(aspect, name)) for name in of_kind.get(aspect.kind, of_pairs)} | scope


def _annotation_written(campaign: Campaign) -> dict[str, Any]:
    """Return the sample that the campaign judges; nothing for one without a sample."""
    found = Annotation.objects.filter(campaign=campaign).select_related("conversation_set").first()
    if found is None:
        return {}
    limit = {} if found.error_below is None else {"error_below": found.error_below}
    size = found.size or {"number": found.largest_sample}
    whole = {"whole": found.whole_conversations, "seed": found.seed}
    unit = {} if found.unit == Annotation.Unit.REPLY else {"unit": found.unit}
    return {"annotation": {"set": found.conversation_set.name, **unit, **size, **whole, **limit}}


def _submissions_written(campaign: Campaign) -> dict[str, Any]:
    """Return what the campaign accepts from submitters; nothing for one that accepts nothing."""
    settings = settings_of(campaign)
    if not settings.pk:
        return {}
    written = asdict(accepted_of(settings))
    return {"submissions": {**written, "organisations": list(written["organisations"])}}


def _stopping_written(limits: Limits) -> dict[str, Any]:
    """The test's alpha and power only where there is a difference to test."""
    beside = set() if limits.min_difference is not None else {"alpha", "power"}
    return {name: getattr(limits, name) for name in StoppingPart.model_fields if name not in beside}


def _plan_written(plan: PlanOptions, names: Mapping[int, str]) -> dict[str, Any]:
    """`names` of who takes part; who has left is not placed: the others are ranked."""
    if plan.newcomer is not None and plan.newcomer not in names:
        plan = unplaced(plan)
    written = _fields(plan, PlanPart)
    balance = None if plan.balance is None else dict(plan.balance)
    return {**written, "newcomer": None if plan.newcomer is None else names[plan.newcomer], "balance": balance}


def unplaced(plan: PlanOptions) -> PlanOptions:
    """The plan where the chatbot to be placed is not there: not yet, or not any more."""
    return plan if plan.newcomer is None else replace(plan, target=PlanSpec.Target.AIM.value, newcomer=None)


def _prompts(campaign: Campaign) -> QuerySet[Prompt]:
    """Return the prompts of a static campaign. Those of a live one are the words of its annotators, and stay here."""
    return campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")


def _entrants(campaign: Campaign) -> list[Any]:
    return list(campaign.entrants.filter(state="active").select_related("version__chatbot").order_by("pk"))


def _plain(value: Any) -> Any:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def _prompt(prompt: Prompt) -> dict[str, Any]:
    turns = prompt.turns
    about = {"id": prompt.key, **({"category": prompt.category} if prompt.category else {})}
    if not turns:
        return about
    if len(turns) == 1:
        return {**about, "text": turns[0]["text"]}
    return {**about, "turns": [dict(turn) for turn in turns]}


def _chatbot(version: Version, prompts: Sequence[Prompt]) -> dict[str, Any]:
    found: dict[int, list[Any]] = {}
    rows = version.replies.filter(prompt__in=prompts, corrected_by__isnull=True, text__isnull=False)
    for prompt, reply in rows.order_by("prompt", "sample").values_list("prompt_id", "text"):
        found.setdefault(prompt, []).append(reply)
    replies = {one.key: found[one.pk] for one in prompts if one.pk in found}
    return {
        "name": version.chatbot.name,
        "version": version.label,
        "description": version.chatbot.description,
        "organisation": (version.chatbot.made_by or version.chatbot.organisation).slug,
        "replies": {key: texts[0] if len(texts) == 1 else texts for key, texts in replies.items()},
    }
