"""Studies: live campaigns that are launched together as arms, one for each setting, chatbot set and repetition."""

import secrets
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import free_slug
from evalsite.campaigns.live import live_set_make, live_settings_set
from evalsite.campaigns.models import (
    Campaign,
    CampaignRole,
    Entrant,
    LiveSettings,
    Onboarding,
    PlanSpec,
    QualificationItem,
    StoppingSpec,
    Study,
)
from evalsite.campaigns.selectors import entrants_active
from evalsite.campaigns.services import questions_of, rubric_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput

SETTINGS = {
    "soba": ("soba", "random"),
    "sata_random": ("sata", "random"),
    "sata_written": ("sata", "written"),
}
"""Setting, as reports name it -> selection and fallback."""
MOST_ARMS = 24
MOST_REPETITIONS = 10


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of a study: every setting with every chatbot set, `repetitions` times.

    chatbot_sets: primary keys of the draft's entrants; without a set, all entrants take part in every arm.
    """

    settings: Sequence[str]
    chatbot_sets: Sequence[Collection[int]] = ()
    repetitions: int = 1


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """An arm before it exists. chatbots: primary keys of the draft's entrants."""

    chatbots: frozenset[int]
    setting: str
    repetition: int


def arms_planned(*, campaign: Campaign, arms: Arms) -> list[PlannedArm]:
    """Return the arms that a study of this live draft would have; the draft itself becomes the first one.

    Raises InvalidInput for arms that cannot be, and Conflict for a campaign that is no live draft or is an arm already.
    """
    live = _live_draft(campaign)
    sets = _sets(arms, list(entrants_active(campaign)), live)
    plans = product(sets, arms.settings, range(1, arms.repetitions + 1))
    return [PlannedArm(*plan) for plan in plans]


def study_create(*, campaign: Campaign, name: str, arms: Arms, by: User | None = None) -> Study:
    """Create a study whose arms are copies of a live draft. The draft itself becomes the first arm.

    Nothing is launched (`operations.studies`). Raises InvalidInput for arms that cannot be, and Conflict for a campaign
    that is no live draft or is an arm already, or a name that another study has.
    """
    with write_transaction():
        draft = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        plans = arms_planned(campaign=draft, arms=arms)
        entrants = list(entrants_active(draft))
        name = _name(draft, name)
        study = Study.objects.create(organisation=draft.organisation, name=name, seed=secrets.randbelow(2**31))
        stem = draft.name
        copies = [_copy(draft, f"{stem[:170]} {number}") for number in range(2, len(plans) + 1)]
        for arm, plan in zip([draft, *copies], plans, strict=True):
            _fill(arm, entrants, plan.chatbots, first=arm is draft)
            _set(arm, study, plan.setting, plan.repetition, by)
        after = {"study": name, "arms": len(plans), "settings": list(arms.settings), "repetitions": arms.repetitions}
        audit_record(act="set_up", subject=draft.public_id, by=by, after=after)
    return study


def _live_draft(draft: Campaign) -> LiveSettings:
    if draft.state != Campaign.State.DRAFT or not draft.is_live:
        raise Conflict(
            _("A study begins with a draft of a live campaign."),
            hint=_("Set up a new campaign in which annotators chat."),
        )
    live: LiveSettings = draft.live
    if draft.plan.newcomer_id is not None:
        raise Conflict(
            _("The plan of the campaign aims at one newcomer, but every arm has chatbots of its own."),
            hint=_("Choose another aim first."),
        )
    if live.study_id is not None:
        raise Conflict(_("The campaign is an arm of a study already."), hint=_("Set up another draft."))
    return live


def _name(draft: Campaign, name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise InvalidInput(_("A study has a name of 1 to 200 characters."), field="name")
    if Study.objects.filter(organisation=draft.organisation, name=name).exists():
        raise Conflict(_("There is already a study of this name."), hint=_("Choose another one."), field="name")
    return name


def _sets(arms: Arms, entrants: Sequence[Entrant], live: LiveSettings) -> list[frozenset[int]]:
    """Return the chatbot sets. Raises InvalidInput for arms that cannot be."""
    own = frozenset(one.pk for one in entrants)
    sets = [frozenset(one) for one in arms.chatbot_sets] or [own]
    if unknown := [one for one in arms.settings if one not in SETTINGS]:
        raise InvalidInput(
            _("%(setting)s is no setting.") % {"setting": repr(unknown[0])},
            hint=_("Use of: %(choices)s.") % {"choices": ", ".join(SETTINGS)},
            field="settings",
        )
    if not arms.settings or len(set(arms.settings)) < len(arms.settings) or len(set(sets)) < len(sets):
        raise InvalidInput(
            _("Choose at least one setting, and each setting and each set of chatbots once."),
            hint=_("For more arms of the same kind, raise the repetitions."),
            field="settings",
        )
    if type(arms.repetitions) is not int or not 1 <= arms.repetitions <= MOST_REPETITIONS:
        raise InvalidInput(
            _("Repetitions are a whole number from 1 to %(most)s.") % {"most": MOST_REPETITIONS}, field="repetitions"
        )
    _check_count(len(arms.settings) * len(sets) * arms.repetitions)
    wanted = live.chatbots_per_conversation
    if any(not one <= own or len(one) < wanted for one in sets):
        raise InvalidInput(
            _("Every set needs at least %(wanted)s of the campaign's chatbots.") % {"wanted": wanted},
            hint=_("Add chatbots to the set, or set fewer for a conversation."),
            field="chatbot_sets",
        )
    if wanted == 1 and "soba" in arms.settings:
        raise InvalidInput(
            _("A single chatbot has no best reply."),
            hint=_("Leave that setting out, or let more chatbots reply."),
            field="settings",
        )
    return sets


def _check_count(arms: int) -> None:
    if not 2 <= arms <= MOST_ARMS:
        raise InvalidInput(
            _("A study has 2 to %(most)s arms; this one would have %(arms)s.") % {"most": MOST_ARMS, "arms": arms},
            hint=_("Change the settings, the sets of chatbots or the repetitions."),
            field="settings",
        )


def _copy(draft: Campaign, name: str) -> Campaign:
    """Return a copy of a live draft without entrants: its own address, questions and prompt set, the same rest."""
    slug = free_slug(name)
    organisation = draft.organisation
    prompt_set = live_set_make(organisation=organisation, name=f"{slug} {secrets.token_hex(3)}")
    rubric = rubric_create(
        organisation=organisation, name=f"{slug} {secrets.token_hex(3)}", aspects=questions_of(draft.rubric)
    )
    copy = Campaign.objects.get(pk=draft.pk)
    own = {"name": name, "slug": slug, "prompt_set": prompt_set, "rubric": rubric, "created_at": timezone.now()}
    _renew(copy, public_id=uuid.uuid4(), call_budget=None, gold_set=None, **own)
    for model in (StoppingSpec, PlanSpec, LiveSettings, Onboarding, QualificationItem):
        for row in model._base_manager.filter(campaign=draft).order_by("pk"):
            _renew(row, campaign=copy)
    roles = CampaignRole.objects.filter(campaign=draft)
    CampaignRole.objects.bulk_create(CampaignRole(campaign=copy, user=one.user, role=one.role) for one in roles)
    return copy


def _renew(row: Model, **changes: object) -> None:
    """Save a row as a new one."""
    row.pk, row._state.adding = None, True
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(force_insert=True)


def _fill(arm: Campaign, entrants: Sequence[Entrant], members: Collection[int], *, first: bool) -> None:
    """Give an arm its chatbots. Those of the draft that are not in the first set are withdrawn from it."""
    if first:
        others = Entrant.objects.filter(campaign=arm).exclude(pk__in=members)
        others.update(state=Entrant.State.WITHDRAWN, withdrawn_reason="not in this arm of the study")
        return
    Entrant.objects.bulk_create(
        Entrant(campaign=arm, version_id=one.version_id) for one in entrants if one.pk in members
    )


def _set(arm: Campaign, study: Study, setting: str, repetition: int, by: User | None) -> None:
    selection, fallback = SETTINGS[setting]
    live_settings_set(campaign=arm, values={"selection": selection, "fallback": fallback}, by=by)
    LiveSettings.objects.filter(campaign=arm).update(study=study, repetition=repetition)
