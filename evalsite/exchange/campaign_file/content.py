"""The content of a campaign file as values of the services that take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.campaigns.gold import NewGold
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.onboarding import NewQualificationItem
from evalsite.campaigns.plans import PlanOptions, policy_check
from evalsite.campaigns.services import Design, NewAspect
from evalsite.campaigns.single_replies import screening_data_check
from evalsite.core.errors import InvalidInput
from evalsite.exchange.campaign_file.lines import Document
from evalsite.exchange.campaign_file.models import SCALES, AnnotationPart, ChatbotPart, File
from evalsite.exchange.campaign_file.problems import Problem
from evalsite.exchange.campaign_file.references import chatbot_place
from evalsite.prompts.services import NewPrompt
from evalsite.scorecards.annotation import error_check, mode_of
from evalsite.scorecards.models import Annotation
from evalsite.scorecards.reply_sampling import SampleRequest


@dataclass(frozen=True, slots=True)
class NewStudy:
    """A study of the file's campaign. chatbot_sets: places, from 0, among the file's chatbots."""

    name: str
    settings: Sequence[str]
    chatbot_sets: Sequence[Sequence[int]]
    repetitions: int


@dataclass(frozen=True, slots=True)
class NewAnnotation:
    """The sample of replies in a set of conversations, named by `conversation_set`, that the file's campaign judges."""

    conversation_set: str
    sample: SampleRequest
    seed: int
    error_below: float | None
    unit: Annotation.Unit


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """What a file says, checked. The newcomer of its plan is a place, from 0, among its chatbots."""

    campaign: Mapping[str, Any]
    stopping: Limits
    plan: PlanOptions
    aspects: Sequence[NewAspect]
    prompts: Sequence[NewPrompt]
    chatbots: Sequence[ChatbotPart]
    gold: Sequence[NewGold] = ()
    reception: Mapping[str, Any] = field(default_factory=dict)
    qualification: Sequence[NewQualificationItem] = ()
    submissions: Mapping[str, Any] = field(default_factory=dict)
    live: Mapping[str, Any] | None = None  # Settings of conversations; None for a static campaign.
    study: NewStudy | None = None
    annotation: NewAnnotation | None = None


def design_problems(file: File, document: Document) -> Iterator[Problem]:
    """Yield contradictions among the campaign, its plan and its screening."""
    usual, campaign = Design(), file.campaign.given()
    votes = campaign.get("votes_per_item", usual.votes_per_item)
    by_gold = bool(campaign.get("gold_share")) and campaign.get("gold_mark") is not None
    single = campaign.get("mode", usual.mode) == Campaign.Mode.SINGLE
    acts = single and campaign.get("screening", usual.screening) == Campaign.Screening.ACT
    plan = _plan(file)
    try:
        policy_check(campaign.get("policy", usual.policy))
        plan.check_votes(votes)
        if acts:
            screening_data_check(plan, votes, by_gold=by_gold)
    except InvalidInput as error:
        yield Problem(document.line(("plan",)), error.field or "", error.message)
    yield from _live_problems(file, document)
    yield from _annotation_problems(file, document)


def _annotation_problems(file: File, document: Document) -> Iterator[Problem]:
    """Yield what does not fit a campaign that annotates conversations."""
    part = file.annotation
    if part is None:
        return
    mode = mode_of(Annotation.Unit(part.unit))
    if file.campaign.given().get("mode", Campaign.Mode.STATIC) != mode:
        yield Problem(document.key_line(("annotation",)), "annotation", f"needs mode: {mode} under campaign")
    for section in (name for name in ("prompts", "chatbots") if getattr(file, name)):
        yield Problem(document.key_line((section,)), section, "must be empty: the sample of conversations gives them")
    try:
        error_check(file.aspects[0].aspect, part.error_below)
    except InvalidInput as error:
        path = ("annotation", "error_below")
        yield Problem(document.key_line(path), ".".join(path), error.message)


def _live_problems(file: File, document: Document) -> Iterator[Problem]:
    """Yield what does not fit the mode of the campaign."""
    if not is_live(file):
        for part in ("live", "study"):
            if part in file.given():
                yield Problem(document.key_line((part,)), part, "needs mode: live under campaign")
        return
    wanted = {"chatbots_per_conversation": LiveSettings().chatbots_per_conversation, **file.live.given()}
    if wanted["chatbots_per_conversation"] > len(file.chatbots):
        path = ("live", "chatbots_per_conversation")
        line = document.key_line(path) if path[1] in file.live.given() else document.line(("campaign",))
        yield Problem(line, ".".join(path), f"must be at most {len(file.chatbots)}: the file names no more chatbots")
    yield from _static_parts(file, document)


def _static_parts(file: File, document: Document) -> Iterator[Problem]:
    """Yield the parts that a live campaign does not have."""
    for place, aspect in enumerate(file.aspects[1:], start=1):
        if aspect.kind not in SCALES:
            message = "must label or rate replies: in a live campaign only the first question selects them"
            yield Problem(document.line(("aspects", place)), f"aspects.{place}", message)
    for section in (name for name in ("prompts", "gold") if getattr(file, name)):
        message = "must be empty: in a live campaign annotators write the prompts"
        yield Problem(document.key_line((section,)), section, message)
    for place in (place for place, chatbot in enumerate(file.chatbots) if chatbot.replies):
        message = "must not be there: a live chatbot replies by its endpoint"
        yield Problem(document.line(("chatbots", place)), f"chatbots.{place}.replies", message)


def _plan(file: File) -> PlanOptions:
    chatbots = [(one.name, one.version) for one in file.chatbots]
    name = file.plan.given().get("newcomer")
    return file.plan.options(newcomer=None if name is None else chatbot_place(name, chatbots))


def campaign_file(file: File, gold: Sequence[NewGold]) -> CampaignFile:
    """Return the content of a file and its gold. Raises InvalidInput for what `design_problems` names."""
    return CampaignFile(
        file.campaign.given(),
        file.stopping.limits(),
        _plan(file),
        [aspect.aspect for aspect in file.aspects],
        [prompt.prompt for prompt in file.prompts],
        file.chatbots,
        gold,
        file.reception.given(),
        [item.item for item in file.qualification],
        file.submissions.given(),
        file.live.given() if is_live(file) else None,
        _study(file),
        _annotation(file.annotation),
    )


def _annotation(part: AnnotationPart | None) -> NewAnnotation | None:
    return (
        None
        if part is None
        else NewAnnotation(part.set, part.sample, part.seed, part.error_below, Annotation.Unit(part.unit))
    )


def _study(file: File) -> NewStudy | None:
    """Return the study. `reference_problems` has named chatbots that are not there."""
    part = file.study
    if part is None:
        return None
    chatbots = [(one.name, one.version) for one in file.chatbots]
    places = [[chatbot_place(name, chatbots) for name in members] for members in part.chatbot_sets]
    sets = [[place for place in members if place is not None] for members in places]
    return NewStudy(part.name, part.settings, sets, part.repetitions)


def is_live(file: File) -> bool:
    return file.campaign.given().get("mode") == Campaign.Mode.LIVE
