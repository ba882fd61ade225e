"""Campaign set-up. A draft is a campaign from its first step on, and every step is saved on its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.campaigns.library import prompt_sets_owned
from evalsite.campaigns.limits import LIMITS, limits_check
from evalsite.campaigns.models import Campaign, CampaignRole, Entrant, StoppingSpec
from evalsite.campaigns.permissions import MAKERS, Act, allows, role_of
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import (
    RESERVED_SLUGS,
    Design,
    NewAspect,
    campaign_create,
    chatbots_check,
    pilot_waits,
    plain,
    plan_options,
    plan_save,
    questions_of,
    rubric_replace,
    screening_check,
)
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.core.throttle import admit_costly
from evalsite.prompts.models import PromptSet
from evalsite.prompts.services import prompt_set_create

OWN_FIELDS = frozenset(
    {
        "name",
        "description",
        "visibility",
        "shows_prompts",
        "shows_replies",
        "releases_data",
        "licence",
        "admission",
        "quota",
        "pay_rate",
        "pay_per",
        "currency",
        "per_day",
        "votes_per_item",
        "block_size",
        "batch_size",
        "lease_s",
        "gold_share",
        "gold_mark",
        "vetting_votes",
        "screening",
        "fits_known_ties",
        "standing",
        "newcomer_budget",
    }
)
SHOWN_FIELDS = frozenset({"visibility", "shows_prompts", "shows_replies", "releases_data", "licence"})
LEARNT_FIELDS = frozenset({"target", "top", "newcomer"})
PLAN_FIELDS = LEARNT_FIELDS | {"overlap_share", "overlap_votes", "tiers", "style_control", "merge_redundant"}
# Fields that decide how careless annotators are found, and how they are handled.
CHECKED_BY = frozenset({"votes_per_item", "gold_share", "gold_mark", "screening", "overlap_share", "overlap_votes"})
STOPPING_FIELDS = frozenset(LIMITS)


def organisations_to_set_up_in(user: User) -> list[Organisation]:
    """Return the organisations in which this person may create campaigns (owner or manager), their own first."""
    held = Membership.objects.filter(user=user, role__in=MAKERS).select_related("organisation")
    own = [membership.organisation for membership in held.order_by("pk")]
    return sorted(own, key=lambda organisation: organisation.personal_of_id != user.pk)


def draft_create(
    *,
    organisation: Organisation,
    name: str,
    aspect: NewAspect,
    by: User,
    mode: Campaign.Mode = Campaign.Mode.STATIC,
) -> Campaign:
    """Create a draft with an empty prompt set of its own. Raises NotAllowed without the right to set up here, and
    TooMany.

    A live draft begins as a static one; `live_settings_set` changes it.
    """
    if not by.is_staff and organisation not in organisations_to_set_up_in(by):
        raise NotAllowed(_("You may not set up campaigns of this organisation."), hint=_("Ask its owner."))
    admit_costly(what="campaign", who=by.public_id)
    design = Design(aspects=(aspect,))
    if mode == Campaign.Mode.SINGLE:
        design = replace(design, mode=mode, target_se=None)
    with write_transaction():
        slug = free_slug(name)
        prompt_set = prompt_set_create(organisation=organisation, name=_free_set_name(organisation, slug), prompts=[])
        campaign = campaign_create(
            organisation=organisation, name=name, slug=slug, prompt_set=prompt_set, design=design
        )
        CampaignRole.objects.create(campaign=campaign, user=by, role=Membership.Role.OWNER)
        audit_record(act="set_up", subject=campaign.public_id, by=by, after={"name": name})
    return campaign


def free_slug(name: str) -> str:
    stem = slugify(name)[:60] or "campaign"
    taken = RESERVED_SLUGS | set(Campaign.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    numbered = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
    return stem if stem not in taken else next(slug for slug in numbered if slug not in taken)


def _free_set_name(organisation: Organisation, stem: str) -> str:
    taken = set(PromptSet.objects.filter(organisation=organisation).values_list("name", flat=True))
    numbered = (f"{stem} {number}" for number in range(2, len(taken) + 3))
    return stem if stem not in taken else next(name for name in numbered if name not in taken)


def draft_change(*, campaign: Campaign, changes: Mapping[str, Any], by: User | None = None) -> None:
    """Save a step of the set-up, and log the changed values. A newcomer is given by its entrant's key.

    - Conflict: the campaign is no longer a draft.
    - InvalidInput: the limits or the plan are inconsistent, the entrants do not allow the goal, or the screening acts
      without any basis.
    - NotAllowed: others may already see the board, and this person may not change its visibility (`campaign_show`).
    """
    unknown = set(changes) - OWN_FIELDS - STOPPING_FIELDS - PLAN_FIELDS
    if unknown:
        raise InvalidInput(
            _("%(unknown)s is not set up here.") % {"unknown": repr(sorted(unknown)[0])}, field=sorted(unknown)[0]
        )
    with write_transaction():
        draft = _locked_draft(campaign, fixed=False)
        spec: StoppingSpec = draft.stopping
        old = plan_options(draft)
        plan = plan_changed(old, changes)
        if LEARNT_FIELDS & set(changes):
            chatbots_check(draft, plan)
        before: dict[str, Any] = {}
        after: dict[str, Any] = {}
        for name, value in changes.items():
            row = old if name in PLAN_FIELDS else spec if name in STOPPING_FIELDS else draft
            if getattr(row, name) != value:
                before[name], after[name] = _value_for_log(name, getattr(row, name)), _value_for_log(name, value)
                if name not in PLAN_FIELDS:
                    setattr(row, name, value)
        if after:
            draft.names_check()
            _check_changed(draft, spec, plan, set(after), by)
            draft.save(update_fields=sorted(OWN_FIELDS & set(after)))
            spec.save()
            plan_save(draft, plan)
            audit_record(act="set_up", subject=draft.public_id, by=by, before=before, after=after)
    campaign.refresh_from_db()


def _check_changed(draft: Campaign, spec: StoppingSpec, plan: PlanOptions, changed: set[str], by: User | None) -> None:
    limits_check(spec)
    if CHECKED_BY & changed:
        plan.check_votes(draft.votes_per_item)
        screening_check(draft, plan)
    if SHOWN_FIELDS & changed:
        _check_show(draft, by)


def _check_show(draft: Campaign, by: User | None) -> None:
    """Raise NotAllowed unless the owner changes the visibility of the board, also after a pilot."""
    if draft.state != Campaign.State.DRAFT and by is not None and not allows(role_of(by, draft), Act.SHOW):
        raise NotAllowed(_("After the pilot only its owner changes who sees the board."), hint=_("Ask its owner."))


def plan_changed(plan: PlanOptions, changes: Mapping[str, Any]) -> PlanOptions:
    """Return the plan with its part of the changes. Raises InvalidInput for an inconsistent plan."""
    return replace(plan, **{name: changes[name] for name in PLAN_FIELDS & set(changes)})


def _value_for_log(name: str, value: Any) -> Any:
    """Convert a value for the audit log: an entrant becomes its name and version."""
    if name == "newcomer" and value is not None:
        return str(Entrant.objects.select_related("version__chatbot").get(pk=value).version)
    return plain(value)


def draft_questions_set(
    *,
    campaign: Campaign,
    aspect: NewAspect,
    others: Sequence[NewAspect] | None = None,
    by: User | None = None,
) -> None:
    """Replace the first question, and the other ones by `others`. None leaves the others unchanged.

    Questions never change, so the draft gets a new rubric.
    """
    with write_transaction():
        draft = _locked_draft(campaign)
        asked, *beside = questions_of(draft.rubric)
        known = {(one.key, one.question): one for one in beside}
        kind = aspect.kind if draft.is_single else asked.kind
        wanted = (
            replace(aspect, key=asked.key, kind=kind, scope=asked.scope),
            *(beside if others is None else [known.get((one.key, one.question), one) for one in others]),
        )
        if wanted == (asked, *beside):
            return
        rubric_replace(draft=draft, aspects=wanted)
        was, now = _questions_for_log(asked, *beside), _questions_for_log(*wanted)
        before = {name: value for name, value in was.items() if now.get(name) != value}
        after = {name: value for name, value in now.items() if was.get(name) != value}
        audit_record(act="set_up", subject=draft.public_id, by=by, before=before, after=after)
    campaign.refresh_from_db()


def _questions_for_log(first: NewAspect, *others: NewAspect) -> dict[str, Any]:
    """Convert the questions for the audit log."""
    verdicts = {"verdicts": ", ".join(first.choices)}
    return {"question": first.question, **verdicts, **{one.key: one.question for one in others}}


def draft_prompt_set(*, campaign: Campaign, prompt_set: PromptSet, by: User | None = None) -> None:
    """Use another prompt set of the organisation. Raises NotAllowed if `by` may not use it."""
    with write_transaction():
        draft = _locked_draft(campaign)
        if prompt_set.organisation_id != draft.organisation_id:
            raise NotAllowed(_("This prompt set belongs to another organisation."))
        if by is not None and not prompt_sets_owned(by).filter(pk=prompt_set.pk).exists():
            raise NotAllowed(
                _("Only members of the organisation use its prompt sets."), hint=_("Ask one of them to choose the set.")
            )
        if prompt_set.pk == draft.prompt_set_id:
            return
        before, after = {"prompt_set": draft.prompt_set.name}, {"prompt_set": prompt_set.name}
        draft.prompt_set = prompt_set
        draft.save(update_fields=["prompt_set"])
        audit_record(act="set_up", subject=draft.public_id, by=by, before=before, after=after)
    campaign.refresh_from_db()


def draft_check(campaign: Campaign, *, fixed: bool = True) -> None:
    """Raise Conflict unless the campaign may still be set up. A pilot closes the `fixed` settings."""
    if campaign.state == Campaign.State.DRAFT:
        return
    if not pilot_waits(campaign):
        raise Conflict(
            _("The campaign is %(state)s: only a draft is set up.") % {"state": campaign.state_text},
            hint=_("Act on it instead."),
        )
    if fixed:
        raise Conflict(
            _("Its pilot has asked this already: the question, the prompts and the chatbots stay."),
            hint=_("Change who judges, how carefully and until when; add a chatbot or retire a prompt as an act."),
        )


def _locked_draft(campaign: Campaign, *, fixed: bool = True) -> Campaign:
    draft: Campaign = Campaign.objects.select_for_update(no_key=True).select_related(None).get(pk=campaign.pk)
    draft_check(draft, fixed=fixed)
    return draft
