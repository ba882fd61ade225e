"""Writes of the campaigns room."""

from dataclasses import dataclass, field

from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign, Entrant, Rubric, StoppingSpec
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
    policy: str = "least_certain"
    seed: int = 0
    batch_size: int = 100
    batch_age_s: int = 60
    block_size: int = 10
    lease_s: int = 1200
    votes_per_item: int = 1
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
    """A draft campaign with its rubric and stopping rule. Private unless the design says otherwise."""
    design = design or Design()
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
            quota=design.quota,
        )
        StoppingSpec.objects.create(campaign=campaign, target_se=design.target_se, budget=design.budget)
    return campaign


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
        if locked.rubric.aspects.count() != 1:
            raise Conflict("The judging page asks one question.", hint="Use a rubric of one aspect.", field="rubric")
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
