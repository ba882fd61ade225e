"""Pydantic models of a campaign file, one for each of its parts.

A key that is left out has the default of the service that takes it. `given` returns the keys that a file has.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from evalsite.campaigns.gold import MOST_SHARE
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.live import BOUNDS, LONGEST_TOPIC, live_settings_check
from evalsite.campaigns.models import Aspect, Campaign, LiveSettings, Onboarding, PlanSpec
from evalsite.campaigns.onboarding import LONGEST_REASON, MOST_REASONS, NewQualificationItem
from evalsite.campaigns.plans import (
    LONGEST_LEASE_S,
    MOST_IN_A_BATCH,
    MOST_IN_A_BLOCK,
    MOST_OVERLAP_VOTES,
    MOST_TIERS,
    MOST_VOTES_PER_ITEM,
    PlanOptions,
)
from evalsite.campaigns.questions import LONGEST_LABEL, WIDEST_SCALE, scale_check
from evalsite.campaigns.services import MOST_VETTING_VOTES, NewAspect
from evalsite.campaigns.studies import MOST_REPETITIONS, SETTINGS
from evalsite.core.errors import InvalidInput
from evalsite.exchange.campaign_file.values import (
    AIM,
    AMOUNT,
    FORMAT,
    MOMENT,
    LongText,
    LongTextOrEmpty,
    Switch,
    Text,
    number,
    one_of,
    refused,
    refusing,
    whole,
)
from evalsite.prompts.services import NewPrompt, check_turns
from evalsite.scorecards.models import Annotation
from evalsite.scorecards.reply_sampling import SampleRequest
from evalsite.submissions.models import SubmissionSettings

LEFT_OUT: Any = None
SCALES = (Aspect.Kind.RATING.value, Aspect.Kind.LABEL.value)
KINDS_OF_FILES = [Aspect.Kind.CHOOSE_ONE.value, *SCALES]
VERDICTS = ("A", "B", "tie", "both_bad")
# The part `annotation` has keys `number` and `whole`, which hide the functions in its annotations.
SHARE, HALF_WIDTH, RATING = number(0, 1), number(0.001, 0.5), number(0, WIDEST_SCALE)
COUNT, SEED = whole(1), whole(0)
SAMPLE = ("share", "number", "half_width", "rate", "whole")


class Part(BaseModel):
    """A mapping with fixed keys. Other keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the values of the keys that the file has."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}

    @classmethod
    def required(cls) -> list[str]:
        """Return the keys that a file must have."""
        return [name for name, field in cls.model_fields.items() if field.is_required()]


class CampaignPart(Part):
    name: Annotated[str, Text(200)]
    slug: Annotated[str, Text(80, form="[-a-z0-9_]+")]
    description: Annotated[str, Text(5000, least=0)] = LEFT_OUT
    mode: Annotated[str, one_of([str(mode) for mode in Campaign.Mode.values])] = LEFT_OUT
    visibility: Annotated[str, one_of(Campaign.Visibility.values)] = LEFT_OUT
    admission: Annotated[str, one_of(Campaign.Admission.values)] = LEFT_OUT
    shows_prompts: Switch = LEFT_OUT
    shows_replies: Switch = LEFT_OUT
    releases_data: Switch = LEFT_OUT
    licence: Annotated[str, Text(100, least=0)] = LEFT_OUT
    fits_known_ties: Switch = LEFT_OUT
    standing: Switch = LEFT_OUT
    newcomer_budget: Annotated[int, whole(1)] | None = LEFT_OUT
    policy: Annotated[str, Text(30)] = LEFT_OUT
    seed: Annotated[int, whole(0)] = LEFT_OUT
    batch_size: Annotated[int, whole(1, MOST_IN_A_BATCH)] = LEFT_OUT
    batch_age_s: Annotated[int, whole(1)] = LEFT_OUT
    block_size: Annotated[int, whole(1, MOST_IN_A_BLOCK)] = LEFT_OUT
    lease_s: Annotated[int, whole(1, LONGEST_LEASE_S)] = LEFT_OUT
    votes_per_item: Annotated[int, whole(1, MOST_VOTES_PER_ITEM)] = LEFT_OUT
    screening: Annotated[str, one_of(Campaign.Screening.values)] = LEFT_OUT
    gold_share: Annotated[float, number(0, MOST_SHARE)] = LEFT_OUT
    gold_mark: Annotated[float, number(0.01, 0.99)] | None = LEFT_OUT
    vetting_votes: Annotated[int, whole(0, MOST_VETTING_VOTES)] = LEFT_OUT
    quota: Annotated[int, whole(1)] | None = LEFT_OUT
    pay_rate: Annotated[str, AMOUNT] = LEFT_OUT
    pay_per: Annotated[str, one_of(Campaign.PayPer.values)] = LEFT_OUT
    currency: Annotated[str, Text(3, least=3, form="[A-Z]{3}")] = LEFT_OUT
    per_day: Annotated[int, whole(1)] | None = LEFT_OUT


class StoppingPart(Part):
    target_se: Annotated[float, AIM] | None = LEFT_OUT
    min_difference: Annotated[float, AIM] | None = LEFT_OUT
    alpha: Annotated[float, number(0, 1)] = LEFT_OUT
    power: Annotated[float, number(0, 1)] = LEFT_OUT
    budget: Annotated[int, whole(1)] | None = LEFT_OUT
    deadline: Annotated[datetime, MOMENT] | None = LEFT_OUT

    def limits(self) -> Limits:
        """Return the limits. Raises InvalidInput."""
        return Limits(**self.given())

    @model_validator(mode="after")
    def _check_limits(self) -> StoppingPart:
        with refusing(at_field=True):
            self.limits()
        return self


class PlanPart(Part):
    """The newcomer to be placed is one of the file's chatbots, by its name, or its name and version.

    `balance` holds each category's share, or is null for none at all.
    """

    target: Annotated[str, one_of([str(target) for target in PlanSpec.Target.values])] = LEFT_OUT
    top: Annotated[int, whole(1)] | None = LEFT_OUT
    newcomer: Annotated[str, Text(301)] | None = LEFT_OUT
    overlap_share: Annotated[float, number(0, 1)] = LEFT_OUT
    overlap_votes: Annotated[int, whole(2, MOST_OVERLAP_VOTES)] = LEFT_OUT
    votes_per_pair: Annotated[int, whole(1)] | None = LEFT_OUT
    pair_share: Annotated[float, number(0, 1)] = LEFT_OUT
    floor: Annotated[float, number(0, 1)] = LEFT_OUT
    exposure: Annotated[float, number(1, 1e6)] = LEFT_OUT
    retire_after: Annotated[int, whole(1)] | None = LEFT_OUT
    retire_below: Annotated[float, number(0, 1)] = LEFT_OUT
    tiers: Annotated[int, whole(1, MOST_TIERS)] = LEFT_OUT
    style_control: Switch = LEFT_OUT
    merge_redundant: Switch = LEFT_OUT
    balance: dict[str, Annotated[float, number(0, 1)]] | None = LEFT_OUT

    def options(self, newcomer: int | None) -> PlanOptions:
        """Return the options; `newcomer`: the place of the newcomer among the file's chatbots. Raises InvalidInput."""
        given = self.given()
        return PlanOptions(**{**given, "newcomer": newcomer} if given.get("newcomer") else given)

    @model_validator(mode="after")
    def _check_options(self) -> PlanPart:
        with refusing():
            self.options(newcomer=0)
        return self


class LivePart(Part):
    """Settings of a live campaign, named as the fields of `campaigns.models.LiveSettings`."""

    selection: Annotated[str, one_of([str(one) for one in LiveSettings.Selection.values])] = LEFT_OUT
    fallback: Annotated[str, one_of([str(one) for one in LiveSettings.Fallback.values])] = LEFT_OUT
    chatbots_per_conversation: Annotated[int, whole(*BOUNDS["chatbots_per_conversation"])] = LEFT_OUT
    minimum_turns: Annotated[int, whole(*BOUNDS["minimum_turns"])] = LEFT_OUT
    maximum_turns: Annotated[int, whole(*BOUNDS["maximum_turns"])] | None = LEFT_OUT
    opening_topics: list[Annotated[str, Text(LONGEST_TOPIC)]] = LEFT_OUT
    count_first_turn: Switch = LEFT_OUT
    pay_per: Annotated[str, one_of([str(one) for one in LiveSettings.PayPer.values])] = LEFT_OUT
    end_rating: Switch = LEFT_OUT
    end_feedback: Switch = LEFT_OUT
    data_notice: LongTextOrEmpty = LEFT_OUT
    conversations_per_annotator: Annotated[int, whole(*BOUNDS["conversations_per_annotator"])] = LEFT_OUT
    turn_deadline_s: Annotated[int, whole(*BOUNDS["turn_deadline_s"])] = LEFT_OUT
    idle_minutes: Annotated[int, whole(*BOUNDS["idle_minutes"])] = LEFT_OUT
    reports_to_pause: Annotated[int, whole(*BOUNDS["reports_to_pause"])] = LEFT_OUT

    @model_validator(mode="after")
    def _check_settings(self) -> LivePart:
        with refusing(at_field=True):
            live_settings_check(self.given())
        return self


class AnnotationPart(Part):
    """The sample that the campaign annotates: exactly one of share, number and half_width.

    unit: what an assignment shows, a reply, a whole conversation, or a pair of them.
    """

    set: Annotated[str, Text(200)]
    unit: Annotated[str, one_of([str(one) for one in Annotation.Unit.values])] = Annotation.Unit.REPLY.value
    share: Annotated[float, SHARE] = LEFT_OUT
    number: Annotated[int, COUNT] = LEFT_OUT
    half_width: Annotated[float, HALF_WIDTH] = LEFT_OUT
    rate: Annotated[float, SHARE] = LEFT_OUT
    whole: Switch = LEFT_OUT
    seed: Annotated[int, SEED] = 0
    error_below: Annotated[float, RATING] | None = None

    @property
    def sample(self) -> SampleRequest:
        """Return the sample. Raises InvalidInput."""
        given = self.given()
        return SampleRequest(**{name: given[name] for name in SAMPLE if name in given})

    @model_validator(mode="after")
    def _check_sample(self) -> AnnotationPart:
        with refusing():
            _ = self.sample
        return self


class AspectPart(Part):
    key: Annotated[str, Text(60, form="[-a-zA-Z0-9_]+")]
    question: Annotated[str, Text(300)]
    allow_tie: Switch = LEFT_OUT
    allow_both_bad: Switch = LEFT_OUT
    kind: Annotated[str, one_of(KINDS_OF_FILES)] = LEFT_OUT
    minimum: Annotated[int, whole(0)] = LEFT_OUT
    maximum: Annotated[int, whole(1)] = LEFT_OUT
    labels: list[Annotated[str, Text(LONGEST_LABEL)]] = LEFT_OUT
    one_label: Switch = LEFT_OUT
    scope: Annotated[str, one_of([str(one) for one in Aspect.Scope.values])] = LEFT_OUT

    @property
    def aspect(self) -> NewAspect:
        given = self.given()
        if given.get("kind") in SCALES:
            given = {"scope": Aspect.Scope.TURN, **given, "labels": tuple(given.get("labels", ()))}
        return NewAspect(**given)

    @model_validator(mode="after")
    def _check_scale(self) -> AspectPart:
        aspect = self.aspect
        try:
            scale_check(kind=aspect.kind, labels=aspect.labels, minimum=aspect.minimum, maximum=aspect.maximum)
        except InvalidInput as error:
            raise refused(f"{error.message} {error.hint}".strip()) from None
        return self


class TurnPart(Part):
    speaker: Annotated[str, one_of(["user", "chatbot"])]
    text: LongText


def turns_of(text: str | None, turns: Sequence[TurnPart] | None) -> list[dict[str, str]] | None:
    """Return the turns of a prompt that is a text or turns; None where neither is given."""
    if turns is not None:
        return [turn.given() for turn in turns]
    return None if text is None else [{"speaker": "user", "text": text}]


class PromptPart(Part):
    id: Annotated[str, Text(200)]
    category: Annotated[str, Text(100, least=0)] = ""
    text: LongText = LEFT_OUT
    turns: list[TurnPart] = LEFT_OUT

    @property
    def prompt(self) -> NewPrompt:
        return NewPrompt(self.id, turns_of(self.text, self.turns), self.category)

    @model_validator(mode="after")
    def _check_turns(self) -> PromptPart:
        try:
            if self.prompt.turns is not None:
                check_turns(self.prompt)
        except InvalidInput as error:  # its field is one of rows of prompts
            raise refused(error.message) from None
        return self


def _samples(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class ChatbotPart(Part):
    """A chatbot's version and its replies by prompt, one a sample."""

    name: Annotated[str, Text(200)]
    version: Annotated[str, Text(100)] = "1"
    description: Annotated[str, Text(5000, least=0)] = ""
    organisation: Annotated[str, Text(80, least=0)] = ""
    replies: dict[str, Annotated[list[LongText], BeforeValidator(_samples)]] = {}


class GoldPart(Part):
    id: Annotated[str, Text(200)]
    prompt_id: Annotated[str, Text(200, least=0)] = LEFT_OUT
    category: LongTextOrEmpty = LEFT_OUT
    text: LongTextOrEmpty = LEFT_OUT
    reply_a: LongTextOrEmpty = LEFT_OUT
    reply_b: LongTextOrEmpty = LEFT_OUT
    chatbot_a: LongTextOrEmpty = LEFT_OUT
    chatbot_b: LongTextOrEmpty = LEFT_OUT
    explanation: LongTextOrEmpty = LEFT_OUT
    right: Any = LEFT_OUT  # a verdict, or several: campaigns.gold_file checks them
    turns: list[TurnPart] = LEFT_OUT


def _each_once(reasons: list[str]) -> list[str]:
    if len(reasons) > MOST_REASONS or len(set(reasons)) < len(reasons):
        raise refused(f"must have at most {MOST_REASONS}, each once")
    return reasons


class OnboardingPart(Part):
    """Onboarding of annotators; the key in files is `reception`."""

    platform: Annotated[str, one_of([str(platform) for platform in Onboarding.Platform.values])] = LEFT_OUT
    code_complete: Annotated[str, Text(40, least=0)] = LEFT_OUT
    code_screened_out: Annotated[str, Text(40, least=0)] = LEFT_OUT
    code_failed: Annotated[str, Text(40, least=0)] = LEFT_OUT
    instructions: LongTextOrEmpty = LEFT_OUT
    notice: LongTextOrEmpty = LEFT_OUT
    consent_required: Switch = LEFT_OUT
    erasure: Annotated[str, one_of([str(erasure) for erasure in Onboarding.Erasure.values])] = LEFT_OUT
    pass_mark: Annotated[int, whole(0)] = LEFT_OUT
    comments: Switch = LEFT_OUT
    comment_required: Switch = LEFT_OUT
    reveal_chatbots: Switch = LEFT_OUT
    language: Annotated[str, Text(60, least=0)] = LEFT_OUT
    secret_required: Switch = LEFT_OUT
    study: Annotated[str, Text(200, least=0)] = LEFT_OUT
    reasons: Annotated[list[Annotated[str, Text(LONGEST_REASON)]], AfterValidator(_each_once)] = LEFT_OUT


class SubmissionsPart(Part):
    """What the campaign accepts from submitters. Organisations are named by their slugs."""

    admission: Annotated[str, one_of([str(one) for one in SubmissionSettings.Admission.values])] = LEFT_OUT
    takes: Annotated[str, one_of([str(one) for one in SubmissionSettings.Takes.values])] = LEFT_OUT
    organisations: list[Annotated[str, Text(80)]] = LEFT_OUT
    versions_per_week: Annotated[int, whole(1, 1000)] | None = LEFT_OUT
    deadline: Annotated[datetime, MOMENT] | None = LEFT_OUT
    licence_note: LongTextOrEmpty = LEFT_OUT
    terms: LongTextOrEmpty = LEFT_OUT
    prompts_downloadable: Switch = LEFT_OUT


class StudyPart(Part):
    """A study of this live campaign: an arm for each setting with each set of chatbots, `repetitions` times.

    Chatbots are named as in the plan's `newcomer`; without sets, all take part in every arm.
    """

    name: Annotated[str, Text(200)]
    settings: list[Annotated[str, one_of(list(SETTINGS))]]
    chatbot_sets: list[list[Annotated[str, Text(400)]]] = []
    repetitions: Annotated[int, whole(1, MOST_REPETITIONS)] = 1


class QualificationPart(Part):
    text: LongText = LEFT_OUT
    turns: list[TurnPart] = LEFT_OUT
    reply_a: LongText
    reply_b: LongText
    right: Annotated[str, one_of(VERDICTS)]
    explanation: LongText

    @property
    def item(self) -> NewQualificationItem:
        turns = turns_of(self.text, self.turns) or []
        return NewQualificationItem(turns, self.reply_a, self.reply_b, self.right, self.explanation)


class File(Part):
    touchstone: Annotated[int, FORMAT]
    campaign: CampaignPart
    stopping: StoppingPart = StoppingPart()
    plan: PlanPart = PlanPart()
    live: LivePart = LivePart()
    annotation: AnnotationPart | None = None
    aspects: list[AspectPart]
    prompts: list[PromptPart] = []
    chatbots: list[ChatbotPart] = []
    gold: list[GoldPart] = []
    submissions: SubmissionsPart = SubmissionsPart()
    reception: OnboardingPart = OnboardingPart()
    qualification: list[QualificationPart] = []
    study: StudyPart | None = None


def part_at(path: Sequence[str | int]) -> type[Part]:
    """Return the model of the mapping at a path of the file."""
    if "turns" in path:
        return TurnPart
    kind: Any = File.model_fields[str(path[0])].annotation if path else File
    part: type[Part] = next(iter(get_args(kind)), kind)  # of list[part]
    return part
