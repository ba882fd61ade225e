"""Studies as people make, see and launch them. A person sees the arms that their roles show."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings as site
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.analysis_plans import plan_set, plan_values
from evalsite.boards.models import AnalysisPlan
from evalsite.campaigns.endpoint_access import role_in
from evalsite.campaigns.models import Campaign, Entrant, Study
from evalsite.campaigns.permissions import MAKERS, ROLE_WORDS, Act, allows, campaign_for, role_of
from evalsite.campaigns.studies import Arms, study_create
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.throttle import admit_costly
from evalsite.dialogues.models import Conversation, StudyAllocation, Turn
from evalsite.operations.services import campaign_open


@dataclass(frozen=True, slots=True)
class ArmProgress:
    """An arm of a study and how far it is.

    annotators: allocated to it. turns: judged ones that count. planned: turns of its analysis plan, if it has a number.
    """

    campaign: Campaign
    chatbots: Sequence[str]
    annotators: int
    conversations: int
    turns: int
    planned: int | None

    @property
    def setting(self) -> str:
        return self.campaign.live.setting

    @property
    def repetition(self) -> int:
        return self.campaign.live.repetition


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """A study with the arms that a person may see."""

    row: Study
    arms: Sequence[ArmProgress]

    @property
    def drafts(self) -> int:
        return sum(arm.campaign.state == Campaign.State.DRAFT for arm in self.arms)

    @property
    def address(self) -> str:
        """Return the address for annotators."""
        return study_address(self.row)


def study_build(*, campaign: Campaign, name: str, arms: Arms, by: User | None = None) -> Study:
    """Create a study out of a live draft (`study_create`). All arms get the draft's analysis plan."""
    with write_transaction():
        study = study_create(campaign=campaign, name=name, arms=arms, by=by)
        plan = AnalysisPlan.objects.filter(campaign=campaign).first()
        if plan is not None:
            for copy in _arms(study).exclude(pk=campaign.pk):
                plan_set(campaign=copy, values=plan_values(plan), by=by)
    return study


def study_address(study: Study) -> str:
    """Return the address at which annotators are allocated to an arm."""
    return f"{site.SITE_URL}{reverse('study', args=[study.public_id])}"


def study_template(*, key: str, user: User) -> Campaign:
    """Return a draft that this person may make a study of: they set it up, and begin campaigns in its organisation.

    Raises NotFound, NotAllowed.
    """
    campaign, _role = campaign_for(key=key, user=user, act=Act.SET_UP)
    role = role_in(campaign.organisation, user)
    if role not in MAKERS:
        words = ROLE_WORDS[role] if role else _("none")
        raise NotAllowed(
            _("You may not begin campaigns in this organisation."),
            hint=_("Your role in it is: %(role)s. Ask its owner.") % {"role": words},
        )
    return campaign


def study_templates(user: User) -> list[Campaign]:
    """Return the live drafts that this person may make a study of, newest first."""
    drafts = Campaign.objects.all() if user.is_staff else Campaign.objects.of(user)
    found = drafts.filter(mode=Campaign.Mode.LIVE, state=Campaign.State.DRAFT, live__study__isnull=True)
    rows = found.select_related("organisation", "live").distinct().order_by("-pk")[:100]
    return [one for one in rows if role_in(one.organisation, user) in MAKERS and allows(role_of(user, one), Act.SET_UP)]


def study_make(
    *,
    key: str,
    name: str,
    settings: Sequence[str],
    chatbot_sets: Sequence[Collection[uuid.UUID]],
    repetitions: int,
    by: User,
) -> Study:
    """Make a study of the draft at this address. Chatbots are named by the public ids of the draft's entrants.

    Raises NotFound, NotAllowed, InvalidInput, Conflict, TooMany.
    """
    campaign = study_template(key=key, user=by)
    admit_costly(what="campaign", who=by.public_id)
    arms = Arms(settings, entrants_chosen(campaign, chatbot_sets), repetitions)
    return study_build(campaign=campaign, name=name, arms=arms, by=by)


def entrants_chosen(campaign: Campaign, chatbot_sets: Sequence[Collection[uuid.UUID]]) -> list[list[int]]:
    """Return the primary keys of the draft's active entrants. Raises InvalidInput for others."""
    own = dict(campaign.entrants.filter(state=Entrant.State.ACTIVE).values_list("public_id", "pk"))
    if any(one not in own for chosen in chatbot_sets for one in chosen):
        raise InvalidInput(
            _("A set has a chatbot that does not take part in the campaign."),
            hint=_("Name chatbots by the entrant ids of the campaign."),
            field="chatbot_sets",
        )
    return [[own[one] for one in chosen] for chosen in chatbot_sets]


def study_open(*, study: Study, by: User | None = None) -> list[Campaign]:
    """Launch all arms of a study that are drafts, together, and return them. If one cannot start, none does."""
    with write_transaction():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        arms = list(_arms(locked).filter(state=Campaign.State.DRAFT))
        if not arms:
            raise Conflict(_("No arm of the study waits to be launched."), hint=_("Look at its arms."))
        for arm in arms:
            campaign_open(campaign=arm, by=by)
    return arms


def study_launch(*, public_id: uuid.UUID, by: User) -> Study:
    """Launch a study if this person may launch all of its arms. Raises NotFound, NotAllowed, Conflict."""
    study = study_for(public_id=public_id, user=by)
    if not study_launchable(study, by):
        raise NotAllowed(
            _("You may not launch all arms of this study."), hint=_("Ask the owner of its organisation to launch it.")
        )
    study_open(study=study, by=by)
    return study


def study_launchable(study: Study, user: User) -> bool:
    """Return whether this person may launch every arm of the study."""
    return all(allows(role_of(user, arm), Act.LAUNCH) for arm in _arms(study))


def studies_of(user: User | None) -> QuerySet[Study]:
    """Return the studies with an arm that this person's roles show; staff see all."""
    if user is not None and user.is_staff:
        return Study.objects.select_related("organisation")
    arms = Campaign.objects.of(user).filter(live__study__isnull=False)
    return Study.objects.filter(pk__in=arms.values("live__study")).select_related("organisation")


def study_for(*, public_id: uuid.UUID, user: User | None) -> Study:
    """Return the study if this person may see an arm of it. Raises NotFound."""
    found = studies_of(user).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("There is no such study."), hint=_("It may belong to an organisation that you are not in."))
    return found


def studies_progress(studies: Iterable[Study], user: User | None) -> list[StudyProgress]:
    """Return these studies with the arms that this person may see, by a fixed number of queries."""
    rows = list(studies)
    seen = Campaign.objects.all() if user is not None and user.is_staff else Campaign.objects.of(user)
    arms = list(seen.filter(live__study__in=rows).select_related("live", "organisation").distinct().order_by("pk"))
    progress = _progress(arms)
    return [StudyProgress(row, [one for one in progress if one.campaign.live.study_id == row.pk]) for row in rows]


def _arms(study: Study) -> QuerySet[Campaign]:
    return Campaign.objects.filter(live__study=study).order_by("pk")


def _progress(arms: Sequence[Campaign]) -> list[ArmProgress]:
    names: Mapping[int, list[str]] = defaultdict(list)
    active = Entrant.objects.filter(campaign__in=arms, state=Entrant.State.ACTIVE).order_by("pk")
    for campaign, name in active.values_list("campaign", "version__chatbot__name"):
        names[campaign].append(name)
    annotators = _counts(StudyAllocation.objects.filter(campaign__in=arms), "campaign")
    conversations = _counts(Conversation.objects.filter(campaign__in=arms), "campaign")
    judged = Q(conversation__campaign__in=arms, state=Turn.State.JUDGED, counts=True)
    turns = _counts(Turn.objects.filter(judged), "conversation__campaign")
    planned = dict(AnalysisPlan.objects.filter(campaign__in=arms).values_list("campaign", "turns"))
    return [
        ArmProgress(
            arm,
            names[arm.pk],
            annotators.get(arm.pk, 0),
            conversations.get(arm.pk, 0),
            turns.get(arm.pk, 0),
            planned.get(arm.pk),
        )
        for arm in arms
    ]


def _counts(rows: QuerySet, field: str) -> dict[int, int]:  # type: ignore[type-arg]
    return dict(rows.order_by().values_list(field).annotate(n=Count("pk")))
