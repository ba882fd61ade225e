"""Write operations on campaigns."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.campaigns.events import state_tell
from evalsite.campaigns.limits import ALPHA, LIMITS, POWER, Limits, deadline_check, limits_of
from evalsite.campaigns.models import (
    Aspect,
    Campaign,
    CampaignRole,
    Entrant,
    Pilot,
    PlanSpec,
    Retirement,
    Rubric,
    StoppingSpec,
    offered_choices,
)
from evalsite.campaigns.plans import PlanOptions, policy_check
from evalsite.campaigns.questions import kinds_check, scale_check
from evalsite.campaigns.selectors import gold_in_use, gold_misfits, qualification_misfits
from evalsite.campaigns.single_replies import screening_data_check
from evalsite.chatbots.models import Version
from evalsite.core import jobs
from evalsite.core.audit import audit_record
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.reasons import as_stored
from evalsite.prompts.models import Prompt, PromptSet
from scheduler.reasons import Reason

REFIT = "refit"


@dataclass(frozen=True, slots=True)
class NewAspect:
    """A question about the candidates. `minimum` and `maximum` are those of a rating, `labels` those of a label."""

    key: str
    question: str
    allow_tie: bool = True
    allow_both_bad: bool = True
    kind: Aspect.Kind = Aspect.Kind.CHOOSE_ONE
    scope: Aspect.Scope = Aspect.Scope.CANDIDATE
    minimum: int | None = None
    maximum: int | None = None
    labels: tuple[str, ...] = ()
    one_label: bool = False

    @property
    def choices(self) -> list[str]:
        """Return the possible answers, as `campaigns.models.Aspect` does."""
        return offered_choices(self)


def questions_of(rubric: Rubric) -> tuple[NewAspect, ...]:
    """Return the questions of a rubric, the primary one first, to ask them in another one."""
    return tuple(
        NewAspect(
            one.key,
            one.question,
            one.allow_tie,
            one.allow_both_bad,
            kind=Aspect.Kind(one.kind),
            scope=Aspect.Scope(one.scope),
            minimum=one.minimum,
            maximum=one.maximum,
            labels=tuple(one.labels),
            one_label=one.one_label,
        )
        for one in rubric.aspects.order_by("position")
    )


LONGEST_LICENCE = 100
VETTING_VOTES = 10  # of newcomers to open campaigns, unless the owner chooses another number
MOST_VETTING_VOTES = 1000


@dataclass(frozen=True, slots=True)
class Design:
    """Settings of a campaign: sizes, pay and limits. Units as in campaigns.models."""

    mode: Campaign.Mode = Campaign.Mode.STATIC
    visibility: Campaign.Visibility = Campaign.Visibility.PRIVATE
    admission: Campaign.Admission = Campaign.Admission.MEMBERS
    shows_prompts: bool = False
    shows_replies: bool = False
    releases_data: bool = False
    licence: str = ""
    fits_known_ties: bool = False
    standing: bool = False
    newcomer_budget: int | None = None
    policy: str = "adaptive"
    seed: int = 0
    batch_size: int = 100
    batch_age_s: int = 60
    block_size: int = 10
    lease_s: int = 1200
    votes_per_item: int = 1
    plan: PlanOptions = field(default_factory=PlanOptions)
    screening: Campaign.Screening = Campaign.Screening.PROPOSE
    gold_share: float = 0.0
    gold_mark: float | None = None
    vetting_votes: int = VETTING_VOTES
    quota: int | None = None
    target_se: float | None = 0.15
    min_difference: float | None = None
    alpha: float = ALPHA
    power: float = POWER
    budget: int | None = None
    deadline: datetime | None = None
    aspects: tuple[NewAspect, ...] = field(
        default=(NewAspect("overall", "Which reply is better, given what was said before?"),)
    )

    @property
    def limits(self) -> Limits:
        """Return the stopping limits. Raises InvalidInput for inconsistent ones."""
        return Limits(**{name: getattr(self, name) for name in LIMITS})


def rubric_create(*, organisation: Organisation, name: str, aspects: tuple[NewAspect, ...]) -> Rubric:
    """Create a rubric. Its first aspect is the primary one."""
    if not aspects:
        raise InvalidInput(_("A rubric needs at least one aspect."), field="aspects")
    for aspect in aspects:
        scale_check(kind=aspect.kind, labels=aspect.labels, minimum=aspect.minimum, maximum=aspect.maximum)
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
                kind=aspect.kind,
                scope=aspect.scope,
                minimum=aspect.minimum,
                maximum=aspect.maximum,
                labels=list(aspect.labels),
                one_label=aspect.one_label,
            )
            for position, aspect in enumerate(aspects)
        )
    return rubric


def rubric_replace(*, draft: Campaign, aspects: tuple[NewAspect, ...]) -> None:
    """Give a locked draft a new rubric with the name of its old one. Questions never change."""
    old = draft.rubric
    name, shared = old.name, old.campaigns.exclude(pk=draft.pk).exists()
    draft.rubric = rubric_create(organisation=draft.organisation, name=f"{name[:190]} anew", aspects=aspects)
    draft.save(update_fields=["rubric"])
    if not shared:
        old.delete()
        draft.rubric.name = name
        draft.rubric.save(update_fields=["name"])


# Slugs of the console's own pages. A campaign with such a slug could not be reached.
RESERVED_SLUGS = frozenset({"new", "health", "notices", "chatbots", "prompt-sets", "conversations", "votes", "studies"})


def campaign_create(
    *,
    organisation: Organisation,
    name: str,
    slug: str,
    prompt_set: PromptSet,
    design: Design | None = None,
    description: str = "",
) -> Campaign:
    """Create a draft campaign with its rubric, plan and stopping rules. Private unless the design says otherwise.

    Raises Conflict for a used or reserved address, and InvalidInput for inconsistent options or limits.
    """
    design = design or Design()
    limits = design.limits
    policy_check(design.policy)
    design.plan.check_votes(design.votes_per_item)
    if design.mode == Campaign.Mode.SINGLE and design.screening == Campaign.Screening.ACT:
        by_gold = bool(design.gold_share) and design.gold_mark is not None
        screening_data_check(design.plan, design.votes_per_item, by_gold=by_gold)
    with write_transaction():
        if slug in RESERVED_SLUGS:
            raise Conflict(
                _("%(slug)s is the address of a page.") % {"slug": repr(slug)},
                hint=_("Give the campaign another one."),
                field="slug",
            )
        if Campaign.objects.filter(slug=slug).exists():
            raise Conflict(_("There is already a campaign called %(slug)s.") % {"slug": repr(slug)}, field="slug")
        rubric = rubric_create(organisation=organisation, name=slug, aspects=design.aspects)
        campaign = Campaign(
            organisation=organisation,
            name=name,
            slug=slug,
            description=description,
            prompt_set=prompt_set,
            rubric=rubric,
            mode=design.mode,
            visibility=design.visibility,
            admission=design.admission,
            shows_prompts=design.shows_prompts,
            shows_replies=design.shows_replies,
            releases_data=design.releases_data,
            licence=design.licence,
            fits_known_ties=design.fits_known_ties,
            standing=design.standing,
            newcomer_budget=design.newcomer_budget,
            policy=design.policy,
            seed=design.seed,
            batch_size=design.batch_size,
            batch_age_s=design.batch_age_s,
            block_size=design.block_size,
            lease_s=design.lease_s,
            votes_per_item=design.votes_per_item,
            screening=design.screening,
            gold_share=design.gold_share,
            gold_mark=design.gold_mark,
            vetting_votes=design.vetting_votes,
            quota=design.quota,
        )
        campaign.names_check()
        campaign.save()
        StoppingSpec.objects.create(campaign=campaign, **{name: getattr(limits, name) for name in LIMITS})
        PlanSpec.objects.create(campaign=campaign, **_columns(design.plan))
    return campaign


def plan_set(
    *, campaign: Campaign, options: PlanOptions, policy: str | None = None, votes_per_item: int | None = None
) -> None:
    """Change the plan. The queue is then planned anew. Raises InvalidInput."""
    if policy is not None:
        policy_check(policy, stored=campaign.policy)
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        locked.policy = policy or locked.policy
        locked.votes_per_item = votes_per_item or locked.votes_per_item
        locked.save(update_fields=["policy", "votes_per_item"])
        plan_save(locked, options)
        if locked.state != Campaign.State.DRAFT:
            plan_check(locked)
        options.check_votes(locked.votes_per_item)
        screening_check(locked, options)
        if locked.collecting:
            refit_request(locked)
    campaign.refresh_from_db()


def screening_check(campaign: Campaign, options: PlanOptions | None = None) -> None:
    """Raise InvalidInput if the campaign excludes annotators of single replies by rule, but these options (default:
    its own) check nobody. Votes on pairs are checked by their fit."""
    if campaign.is_single and campaign.screening == Campaign.Screening.ACT:
        by_gold = bool(campaign.gold_share) and campaign.gold_mark is not None
        screening_data_check(options or plan_options(campaign), campaign.votes_per_item, by_gold=by_gold)


def plan_options(campaign: Campaign) -> PlanOptions:
    """Return the campaign's plan as checked values."""
    [spec] = _plan_spec(campaign.pk)
    columns = {option.name: getattr(spec, option.name) for option in fields(PlanOptions)}
    return PlanOptions(**{**columns, "newcomer": spec.newcomer_id})


@composed
def _plan_spec(campaign: int) -> QuerySet[PlanSpec, PlanSpec]:
    return PlanSpec.objects.filter(campaign=campaign)


def design_hash(campaign: Campaign) -> str:
    """Return a hash of all inputs of a plan: entrants, retired prompts, options, limits and policy.

    A plan with another hash is outdated.
    """
    words = (
        _entrants_active(campaign.pk),
        _prompts_retired(campaign.pk),
        plan_options(campaign),
        limits_of(campaign.stopping),
    )
    return hashlib.sha256(repr((*words, campaign.policy, campaign.votes_per_item)).encode()).hexdigest()


@composed
def _entrants_active(campaign: int) -> QuerySet[Entrant, int]:
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE)
    return active.order_by("pk").values_list("pk", flat=True)


@composed
def _prompts_retired(campaign: int) -> QuerySet[Retirement, int]:
    return Retirement.objects.filter(campaign=campaign).order_by("prompt").values_list("prompt", flat=True)


def plan_save(campaign: Campaign, options: PlanOptions) -> None:
    """Store a plan that the caller has checked. Runs in the caller's transaction, which has locked the campaign."""
    PlanSpec.objects.filter(campaign=campaign).update(**_columns(options))


def _columns(options: PlanOptions) -> dict[str, Any]:
    columns = {option.name: getattr(options, option.name) for option in fields(PlanOptions)}
    columns["newcomer_id"] = columns.pop("newcomer")
    return columns


def plan_check(campaign: Campaign) -> None:
    """Raise InvalidInput unless the plan fits the campaign's chatbots and prompts."""
    options = plan_options(campaign)
    chatbots_check(campaign, options)
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
    options.check_categories(Counter(prompts.values_list("category", flat=True)))


def chatbots_check(campaign: Campaign, options: PlanOptions) -> None:
    """Raise InvalidInput unless the entrants allow the plan's goal."""
    active = set(campaign.entrants.filter(state=Entrant.State.ACTIVE).values_list("pk", flat=True))
    if options.top is not None and options.top >= len(active):
        raise InvalidInput(
            _("The best %(top)s of %(active)s chatbots are all of them.") % {"top": options.top, "active": len(active)},
            hint=_("Ask for fewer, or add chatbots."),
            field="top",
        )
    if options.newcomer is not None and options.newcomer not in active:
        raise InvalidInput(
            _("The chatbot to be placed does not take part."),
            hint=_("Name an entrant of this campaign."),
            field="newcomer",
        )


def _check_gold(campaign: Campaign) -> None:
    """Raise Conflict if gold is requested but there is none: annotators would silently not be checked.

    The same applies if the question or the prompts changed after gold was added: nobody could pass it.
    """
    if not campaign.gold_share:
        return
    if not gold_in_use(campaign).exists():
        raise Conflict(
            _("A share of gold is set, and there are no gold items."),
            hint=_("Add gold items, or set the share to 0."),
            field="gold_share",
        )
    telling_nothing, elsewhere = gold_misfits(campaign)
    if telling_nothing:
        raise Conflict(
            _("Gold item %(telling_nothing)s is passed by no answer to the question, or by every one.")
            % {"telling_nothing": repr(telling_nothing[0])},
            hint=_("Withdraw it and give it anew, or ask the question that it was given for."),
            field="gold",
        )
    if elsewhere:
        raise Conflict(
            _("Gold item %(elsewhere)s is on a prompt that the campaign does not have.")
            % {"elsewhere": repr(elsewhere[0])},
            hint=_("Withdraw it and give it anew, or use the prompt set that it was given for."),
            field="gold",
        )


def _check_qualification(campaign: Campaign) -> None:
    """Raise Conflict if the question changed after the items were set.

    An item without a possible correct answer would reject every annotator. Only drafts are checked: later both are
    fixed, and a refusal would be permanent.
    """
    misfits = qualification_misfits(campaign) if campaign.state == Campaign.State.DRAFT else []
    if misfits:
        raise Conflict(
            _("Comparison %(number)s that is asked first has a right answer that nobody can give.")
            % {"number": misfits[0]},
            hint=_("Remove it and write it anew, or allow its answer in the step Goal."),
            field="qualification",
        )


def entrant_add(*, campaign: Campaign, version: Version, by: User | None = None, imported: bool = False) -> Entrant:
    """Add a chatbot to a campaign, or add it again. A stopped `standing` campaign reopens for it.

    A reopened campaign has its whole budget again, or the budget per newcomer if there is one (`limits.budget_of`). A
    pilot stays a pilot: its owner decides how the campaign continues.
    Raises Conflict for a name that looks like another one here, unless the chatbot was imported with its votes.
    """
    with write_transaction():
        locked = _locked(campaign)
        if not imported:
            Entrant(campaign=locked, version=version).looks_check()
        entrant, before = _entrant_activated(locked, version)
        _log(locked, "add_entrant", by, before={"state": before}, after={"state": "active"}, target=str(version))
        if locked.standing and (locked.collecting or locked.state == Campaign.State.STOPPED):
            tried = pilot_runs(locked)
            adds = locked.collecting and locked.newcomer_budget is not None  # to the budget that is being spent
            earlier = locked.state
            _set_running(locked, opens=not tried and not adds, pilot=tried, at=entrant.joined_at)
            state_tell(locked, earlier)
        elif locked.collecting:
            refit_request(locked)
    return entrant


def _entrant_activated(campaign: Campaign, version: Version) -> tuple[Entrant, str | None]:
    """Return the active entrant, and its previous state."""
    entrant = campaign.entrants.filter(version=version).first()
    if entrant is None:
        return Entrant.objects.create(campaign=campaign, version=version), None
    if entrant.state == Entrant.State.ACTIVE:
        raise Conflict(_("%(version)s takes part already.") % {"version": version}, field="version")
    entrant.state, entrant.withdrawn_reason, entrant.joined_at = Entrant.State.ACTIVE, "", timezone.now()
    entrant.save(update_fields=["state", "withdrawn_reason", "joined_at"])
    return entrant, Entrant.State.WITHDRAWN


def entrant_withdraw(*, campaign: Campaign, entrant: Entrant, reason: str, by: User | None = None) -> None:
    """Withdraw an entrant. It gets no new assignments, its judgments still count, and boards show that it left."""
    with write_transaction():
        locked = _locked(campaign)
        left = locked.entrants.filter(pk=entrant.pk, state=Entrant.State.ACTIVE)
        if not left.update(state=Entrant.State.WITHDRAWN, withdrawn_reason=_reason(reason, 300)):
            raise Conflict(_("%(name)s does not take part now.") % {"name": entrant.name}, field="entrant")
        change = {"before": {"state": "active"}, "after": {"state": "withdrawn"}}
        _log(locked, "withdraw_entrant", by, **change, target=str(entrant.version), reason=reason)
        if locked.collecting:
            refit_request(locked)
    entrant.refresh_from_db()


def prompt_retire(*, campaign: Campaign, prompt: Prompt, reason: str, by: User | None = None) -> None:
    """Retire a prompt in this campaign. Its judgments still count."""
    with write_transaction():
        locked = _locked(campaign)
        if prompt.prompt_set_id != locked.prompt_set_id or locked.retirements.filter(prompt=prompt).exists():
            raise Conflict(_("Prompt %(key)s is not in use here.") % {"key": repr(prompt.key)}, field="prompt")
        Retirement.objects.create(campaign=locked, prompt=prompt, reason=_reason(reason, 300))
        change = {"before": {"retired": False}, "after": {"retired": True}}
        _log(locked, "retire_prompt", by, **change, target=prompt.key, reason=reason)
        if locked.collecting:
            refit_request(locked)


def campaign_start(*, campaign: Campaign, by: User | None = None, pilot: int | None = None) -> None:
    """Start a draft, or resume after a pause. An error names missing parts.

    `pilot`: the number of judgments after which a draft pauses. Raises Conflict, InvalidInput.
    """
    with write_transaction():
        locked = _locked(campaign)
        _check_start(locked, pilot)
        before, waited = locked.state, pilot_waits(locked)
        if pilot is not None:
            Pilot.objects.create(campaign=locked, judgments=pilot)
        _set_running(locked, opens=before != Campaign.State.PAUSED, pilot=pilot_runs(locked))
        act = "resume" if before == Campaign.State.PAUSED and not waited else "launch"
        after = {"state": locked.state, **({"judgments": pilot} if pilot is not None else {})}
        _log(locked, "pilot" if pilot is not None else act, by, before={"state": before}, after=after)
        state_tell(locked, before)
    campaign.refresh_from_db()


def _check_start(campaign: Campaign, pilot: int | None) -> None:
    if pilot is not None and campaign.state != Campaign.State.DRAFT:
        raise Conflict(_("The campaign is %(state)s; only a draft is tried.") % {"state": campaign.state_text})
    if campaign.state == Campaign.State.PILOT:
        raise Conflict(_("The campaign is being tried."), hint=_("Wait for the end of its pilot, then launch it."))
    if campaign.state not in {Campaign.State.DRAFT, Campaign.State.PAUSED}:
        raise Conflict(
            _("The campaign is %(state)s; only a draft or a paused one can start.") % {"state": campaign.state_text}
        )
    _check_entrants(campaign)
    kinds_check(campaign)
    if not campaign.is_live and not campaign.prompt_set.prompts.exists():
        raise Conflict(_("The prompt set is empty."), hint=_("Add prompts first."), field="prompt_set")
    plan_check(campaign)
    _check_gold(campaign)
    _check_qualification(campaign)
    deadline_check(campaign, timezone.now())


def _check_entrants(campaign: Campaign) -> None:
    active = campaign.entrants.filter(state=Entrant.State.ACTIVE).count()
    if campaign.is_single and not active:
        raise Conflict(_("A campaign needs at least one chatbot."), hint=_("Add entrants first."), field="entrants")
    if not campaign.is_single and active < 2:
        raise Conflict(_("A campaign needs at least two chatbots."), hint=_("Add entrants first."), field="entrants")


def pilot_waits(campaign: Campaign) -> bool:
    """Return whether the pilot is over and awaits a decision."""
    if campaign.state != Campaign.State.PAUSED:
        return False
    return Pilot.objects.filter(campaign=campaign, ended_at__isnull=False, went_on_at__isnull=True).exists()


def pilot_runs(campaign: Campaign) -> bool:
    """Return whether the campaign is in its pilot, even if it is paused."""
    return Pilot.objects.filter(campaign=campaign, ended_at__isnull=True).exists()


def pilot_end(*, campaign: Campaign) -> None:
    """End the pilot and wait for a decision. Runs in the caller's transaction, which has locked the campaign."""
    pilot = Pilot.objects.get(campaign=campaign)
    pilot.ended_at = timezone.now()
    pilot.save(update_fields=["ended_at"])
    before, campaign.state = campaign.state, Campaign.State.PAUSED
    campaign.save(update_fields=["state"])
    reason = Reason("pilot_complete", {"judgments": pilot.judgments})
    _log(campaign, "pause", None, before={"state": before}, after={"state": campaign.state}, reason=reason)
    state_tell(campaign, before, reason)


def campaign_pause(*, campaign: Campaign, by: User | None = None) -> None:
    """Issue no new assignments until the campaign resumes. Issued ones may still be answered."""
    with write_transaction():
        locked = _locked(campaign)
        if not locked.collecting:
            raise Conflict(
                _("The campaign is %(state)s; only one that collects can pause.") % {"state": locked.state_text}
            )
        before, locked.state = locked.state, Campaign.State.PAUSED
        locked.save(update_fields=["state"])
        _log(locked, "pause", by, before={"state": before}, after={"state": locked.state})
        state_tell(locked, before)
    campaign.refresh_from_db()


def campaign_resume(*, campaign: Campaign, by: User | None = None) -> None:
    """Resume after a pause."""
    if campaign.state != Campaign.State.PAUSED:
        raise Conflict(_("The campaign is %(state)s; only a paused one can resume.") % {"state": campaign.state_text})
    if pilot_waits(campaign):
        raise Conflict(_("Its pilot is over."), hint=_("Launch it, or change its set-up first."))
    campaign_start(campaign=campaign, by=by)


def campaign_stop(*, campaign: Campaign, reason: str | Reason, by: User | None = None) -> None:
    """Stop collecting. No new assignments are issued; issued ones may still be answered."""
    kept = as_stored(reason)
    with write_transaction():
        locked = _locked(campaign)
        if locked.state != Campaign.State.STOPPED:
            before, locked.state = locked.state, Campaign.State.STOPPED
            locked.stopped_at, locked.stop_reason, locked.stop_reason_data = timezone.now(), *kept
            locked.save(update_fields=["state", "stopped_at", "stop_reason", "stop_reason_data"])
            _log(locked, "stop", by, before={"state": before}, after={"state": locked.state}, reason=kept)
            state_tell(locked, before, kept)
    campaign.refresh_from_db()


def role_give(*, campaign: Campaign, user: User, role: str | None, by: User | None = None) -> None:
    """Give a person a role in this campaign. None removes the role."""
    if role is not None and role not in Membership.Role.values:
        raise InvalidInput(
            _("%(role)s is not a role.") % {"role": repr(role)},
            hint=_("Use one of: %(values)s.") % {"values": ", ".join(Membership.Role.values)},
            field="role",
        )
    with write_transaction():
        held = CampaignRole.objects.filter(campaign=campaign, user=user)
        before = held.values_list("role", flat=True).first()
        if role is None:
            held.delete()
        else:
            CampaignRole.objects.update_or_create(campaign=campaign, user=user, defaults={"role": role})
        change = {"before": {"role": before}, "after": {"role": role}}
        _log(campaign, "share", by, **change, target=str(user.public_id))


def refit_request_manually(*, campaign: Campaign, by: User | None = None) -> None:
    """Request a refit for a person. Raises Conflict for a draft, which has nothing to fit or plan."""
    with write_transaction():
        locked = _locked(campaign)
        if locked.state == Campaign.State.DRAFT:
            raise Conflict(_("The campaign is a draft: nothing was judged yet."), hint=_("Launch it first."))
        refit_request(locked)
        _log(locked, "refit", by)


def refit_request(campaign: Campaign) -> None:
    """Queue a refit (or only a plan, if nothing changed). Ten requests cause one refit."""
    jobs.job_enqueue(kind=REFIT, key=refit_key(campaign), args={"campaign": campaign.pk})


def plan_request(campaign: Campaign) -> None:
    """Queue a plan, unless a refit is queued or running.

    A refit also plans. It fills the queue in parts, so the queue stays low for a while.
    """
    if not jobs.job_is_pending(refit_key(campaign)):
        refit_request(campaign)


def refit_key(campaign: Campaign) -> str:
    """Return the job key that allows one refit per campaign at a time."""
    return f"{REFIT}:{campaign.pk}"


def campaign_extend(*, campaign: Campaign, limits: Limits, by: User | None = None) -> None:
    """Continue with these limits. A stopped campaign runs again within its budget.

    A stopped pilot is over: wider limits are the owner's decision to continue. The caller has checked that the limits
    are wider and that items are left (operations.extension).
    """
    with write_transaction():
        locked = _locked(campaign)
        spec = locked.stopping
        names = [name for name in LIMITS if getattr(spec, name) != getattr(limits, name)]
        before = {name: plain(getattr(spec, name)) for name in names} | {"state": locked.state}
        for name in names:
            setattr(spec, name, getattr(limits, name))
        spec.save(update_fields=names)
        if locked.state == Campaign.State.STOPPED:
            _set_running(locked, opens=False)
        elif locked.collecting:
            refit_request(locked)
        after = {name: plain(getattr(spec, name)) for name in names} | {"state": locked.state}
        _log(locked, "extend", by, before=before, after=after)
        state_tell(locked, before["state"])
    campaign.refresh_from_db()


def campaign_show(
    *,
    campaign: Campaign,
    visibility: str | None = None,
    shows_prompts: bool | None = None,
    shows_replies: bool | None = None,
    releases_data: bool | None = None,
    licence: str | None = None,
    by: User | None = None,
) -> None:
    """Change the visibility of the board and its contents. None leaves a setting unchanged. Only changes are logged.

    Raises Conflict for a draft, which others cannot see yet: there it is part of the set-up.
    """
    if visibility is not None and visibility not in Campaign.Visibility.values:
        raise InvalidInput(
            _("%(value)s is not known.") % {"value": repr(visibility)},
            hint=_("Use one of: %(values)s.") % {"values": ", ".join(Campaign.Visibility.values)},
            field="visibility",
        )
    if licence is not None and (len(licence) > LONGEST_LICENCE or not licence.isprintable()):
        raise InvalidInput(
            _("A licence has at most %(longest)s characters.") % {"longest": LONGEST_LICENCE}, field="licence"
        )
    wanted = {
        "visibility": visibility,
        "shows_prompts": shows_prompts,
        "shows_replies": shows_replies,
        "releases_data": releases_data,
        "licence": licence,
    }
    with write_transaction():
        locked = _locked(campaign)
        if locked.state == Campaign.State.DRAFT:
            raise Conflict(_("The campaign is a draft: nobody else sees it."), hint=_("Change it in its set-up."))
        after = {name: value for name, value in wanted.items() if value not in (None, getattr(locked, name))}
        before = {name: plain(getattr(locked, name)) for name in after}
        if after:
            for name, value in after.items():
                setattr(locked, name, value)
            locked.save(update_fields=list(after))
            _log(locked, "show", by, before=before, after=after)
    campaign.refresh_from_db()


def plain(value: Any) -> Any:
    """Convert a value for the audit log."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _set_running(campaign: Campaign, *, opens: bool, pilot: bool = False, at: datetime | None = None) -> None:
    """Set the state to running, at a time (default: now).

    `opens` restarts the count of the budget. Without `pilot`, a pilot ends.
    """
    now = at or timezone.now()
    if not pilot:
        open_pilot = Pilot.objects.filter(campaign=campaign, went_on_at__isnull=True)
        open_pilot.update(ended_at=Coalesce("ended_at", now), went_on_at=now)
    campaign.state = Campaign.State.PILOT if pilot else Campaign.State.RUNNING
    campaign.started_at = campaign.started_at or now
    campaign.opened_at = now if opens else campaign.opened_at
    campaign.stopped_at, campaign.stop_reason, campaign.stop_reason_data = None, "", None
    stopped = ("stopped_at", "stop_reason", "stop_reason_data")
    campaign.save(update_fields=["state", "started_at", "opened_at", *stopped])
    refit_request(campaign)


def _locked(campaign: Campaign) -> Campaign:
    locked: Campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    return locked


def _log(campaign: Campaign, act: str, by: User | None, **more: Any) -> None:
    audit_record(act=act, subject=campaign.public_id, by=by, **more)


def _reason(text: str, longest: int) -> str:
    text = text.strip()
    if not text or len(text) > longest:
        raise InvalidInput(_("Give a reason of 1 to %(longest)s characters.") % {"longest": longest}, field="reason")
    return text
