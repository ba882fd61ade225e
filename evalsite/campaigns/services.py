"""Writes of the campaigns room."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign, Entrant, PlanSpec, Rubric, StoppingSpec
from evalsite.campaigns.plans import PlanOptions, policy_check
from evalsite.chatbots.models import Version
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.prompts.models import PromptSet

REFIT = "refit"


@dataclass(frozen=True, slots=True)
class NewAspect:
    """A question asked about two candidates."""

    key: str
    question: str
    allow_tie: bool = True
    allow_both_bad: bool = True


@dataclass(frozen=True, slots=True)
class Design:
    """How a campaign collects: sizes, pay and when it has learnt enough. Units as in campaigns.models."""

    visibility: Campaign.Visibility = Campaign.Visibility.PRIVATE
    admission: Campaign.Admission = Campaign.Admission.MEMBERS
    standing: bool = False
    policy: str = "adaptive"
    seed: int = 0
    batch_size: int = 100
    batch_age_s: int = 60
    block_size: int = 10
    lease_s: int = 1200
    votes_per_item: int = 1
    plan: PlanOptions = field(default_factory=PlanOptions)
    screening: Campaign.Screening = Campaign.Screening.PROPOSE
    quota: int | None = None
    target_se: float | None = 0.15
    budget: int | None = None
    aspects: tuple[NewAspect, ...] = field(
        default=(NewAspect("overall", "Which response is better, given what was said before?"),)
    )


def rubric_create(*, organisation: Organisation, name: str, aspects: tuple[NewAspect, ...]) -> Rubric:
    """A rubric; the first aspect is the primary one."""
    if not aspects:
        raise InvalidInput("A rubric needs at least one aspect.", field="aspects")
    with write_transaction():
        rubric = Rubric.objects.create(organisation=organisation, name=name)
        Aspect.objects.bulk_create(
            Aspect(
                rubric=rubric,
                position=position,
                key=aspect.key,
                question=aspect.question,
                allow_tie=aspect.allow_tie,
                allow_both_bad=aspect.allow_both_bad,
            )
            for position, aspect in enumerate(aspects)
        )
    return rubric


def campaign_create(
    *,
    organisation: Organisation,
    name: str,
    slug: str,
    prompt_set: PromptSet,
    design: Design | None = None,
    description: str = "",
) -> Campaign:
    """A draft campaign with its rubric, plan and stopping rule. Private unless the design says otherwise.

    Raises Conflict for an address that is taken, InvalidInput for plan options that contradict each other.
    """
    design = design or Design()
    policy_check(design.policy)
    design.plan.check_votes(design.votes_per_item)
    design.plan.check_screening(design.votes_per_item, acts=design.screening == Campaign.Screening.ACT)
    with write_transaction():
        if Campaign.objects.filter(slug=slug).exists():
            raise Conflict(f"There is already a campaign called {slug!r}.", field="slug")
        rubric = rubric_create(organisation=organisation, name=slug, aspects=design.aspects)
        campaign = Campaign.objects.create(
            organisation=organisation,
            name=name,
            slug=slug,
            description=description,
            prompt_set=prompt_set,
            rubric=rubric,
            visibility=design.visibility,
            admission=design.admission,
            standing=design.standing,
            policy=design.policy,
            seed=design.seed,
            batch_size=design.batch_size,
            batch_age_s=design.batch_age_s,
            block_size=design.block_size,
            lease_s=design.lease_s,
            votes_per_item=design.votes_per_item,
            screening=design.screening,
            quota=design.quota,
        )
        StoppingSpec.objects.create(campaign=campaign, target_se=design.target_se, budget=design.budget)
        PlanSpec.objects.create(campaign=campaign, **_columns(design.plan))
    return campaign


def plan_set(
    *, campaign: Campaign, options: PlanOptions, policy: str | None = None, votes_per_item: int | None = None
) -> None:
    """Plan in another way from now on: what waits in the queue is chosen anew. Raises InvalidInput."""
    if policy is not None:
        policy_check(policy)
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        locked.policy = policy or locked.policy
        locked.votes_per_item = votes_per_item or locked.votes_per_item
        locked.save(update_fields=["policy", "votes_per_item"])
        PlanSpec.objects.filter(campaign=locked).update(**_columns(options))
        if locked.state != Campaign.State.DRAFT:
            _check_plan(locked)
        options.check_votes(locked.votes_per_item)
        options.check_screening(locked.votes_per_item, acts=locked.screening == Campaign.Screening.ACT)
        if locked.collecting:
            refit_request(locked)
    campaign.refresh_from_db()


def plan_options(campaign: Campaign) -> PlanOptions:
    """The campaign's plan as checked values."""
    spec = PlanSpec.objects.get(campaign=campaign)
    columns = {option.name: getattr(spec, option.name) for option in fields(PlanOptions)}
    return PlanOptions(**{**columns, "newcomer": spec.newcomer_id})


def _columns(options: PlanOptions) -> dict[str, Any]:
    columns = {option.name: getattr(options, option.name) for option in fields(PlanOptions)}
    columns["newcomer_id"] = columns.pop("newcomer")
    return columns


def _check_plan(campaign: Campaign) -> None:
    """Raise InvalidInput unless the plan fits the campaign's chatbots and prompts."""
    options = plan_options(campaign)
    active = set(campaign.entrants.filter(state=Entrant.State.ACTIVE).values_list("pk", flat=True))
    if options.top is not None and options.top >= len(active):
        raise InvalidInput(
            f"The best {options.top} of {len(active)} chatbots are all of them.",
            hint="Ask for fewer, or add chatbots.",
            field="top",
        )
    if options.newcomer is not None and options.newcomer not in active:
        raise InvalidInput(
            "The chatbot to be placed does not take part.", hint="Name an entrant of this campaign.", field="newcomer"
        )
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
    options.check_categories(Counter(prompts.values_list("category", flat=True)))


def entrant_add(*, campaign: Campaign, version: Version) -> Entrant:
    """Let a chatbot take part. A standing campaign opens again for it, with its whole budget."""
    with write_transaction():
        entrant = Entrant.objects.create(campaign=campaign, version=version)
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if locked.standing and (locked.collecting or locked.state == Campaign.State.STOPPED):
            _set_running(locked, opens=True)
        elif locked.collecting:
            refit_request(locked)
    return entrant


def campaign_start(*, campaign: Campaign) -> None:
    """Open a draft, or go on after a pause. What it lacks is named."""
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if locked.state not in {Campaign.State.DRAFT, Campaign.State.PILOT, Campaign.State.PAUSED}:
            raise Conflict(f"The campaign is {locked.state}; only a draft or a paused one can start.")
        if locked.entrants.filter(state=Entrant.State.ACTIVE).count() < 2:
            raise Conflict("A campaign needs at least two chatbots.", hint="Add entrants first.", field="entrants")
        if not locked.prompt_set.prompts.exists():
            raise Conflict("The prompt set is empty.", hint="Add prompts first.", field="prompt_set")
        _check_plan(locked)
        _set_running(locked, opens=locked.state != Campaign.State.PAUSED)
    campaign.refresh_from_db()


def campaign_stop(*, campaign: Campaign, reason: str) -> None:
    """End the collecting: nothing new is issued; what is issued may still be answered."""
    with write_transaction():
        Campaign.objects.filter(pk=campaign.pk).exclude(state=Campaign.State.STOPPED).update(
            state=Campaign.State.STOPPED, stopped_at=timezone.now(), stop_reason=reason
        )
    campaign.refresh_from_db()


def refit_request(campaign: Campaign) -> None:
    """Ask the worker for a refit (or only a plan, when nothing changed). Ten requests are one refit."""
    jobs.job_enqueue(kind=REFIT, key=refit_key(campaign), args={"campaign": campaign.pk})


def refit_key(campaign: Campaign) -> str:
    """One refit per campaign at a time."""
    return f"{REFIT}:{campaign.pk}"


def _set_running(campaign: Campaign, *, opens: bool) -> None:
    """`opens`: the budget counts from now on."""
    now = timezone.now()
    campaign.state = Campaign.State.RUNNING
    campaign.started_at = campaign.started_at or now
    campaign.opened_at = now if opens else campaign.opened_at
    campaign.stopped_at, campaign.stop_reason = None, ""
    campaign.save(update_fields=["state", "started_at", "opened_at", "stopped_at", "stop_reason"])
    refit_request(campaign)
