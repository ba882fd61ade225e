"""Actions on a campaign by name, for both the console's pages and the API."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns import services
from evalsite.campaigns.call_costs import call_cap_set
from evalsite.campaigns.gold import gold_of, gold_withdraw
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.chatbots.models import Version
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.judgments.annotator_actions import annotator_hold, annotator_note
from evalsite.judgments.exclusions import annotator_exclude, annotator_in, annotator_readmit
from evalsite.judgments.skips import skips_reopen
from evalsite.operations.campaign_status import exclusion_suggested
from evalsite.operations.extension import NewLimits, target_extend
from evalsite.operations.pilot_size import pilot_size
from evalsite.operations.services import campaign_open
from evalsite.prompts.models import Prompt
from evalsite.refits.full_check import check_ask
from evalsite.refits.services import campaign_close
from scheduler.reasons import Reason


@dataclass(frozen=True, slots=True)
class ActionArguments:
    """The arguments of an action.

    Contains public IDs of its objects, the user name of a person, and the reason. judgments, share: size of a pilot, or
    its share of the campaign's judgments. target_se to deadline: the extended limits.
    call_cap: None removes it. The last three fields: who sees the board, and which parts.
    """

    reason: str = ""
    annotator: uuid.UUID | None = None
    entrant: uuid.UUID | None = None
    version: uuid.UUID | None = None
    prompt: uuid.UUID | None = None
    gold: uuid.UUID | None = None
    username: str = ""
    role: str = ""
    judgments: int | None = None
    share: float | None = None
    target_se: float | None = None
    min_difference: float | None = None
    power: float | None = None
    alpha: float | None = None
    budget: int | None = None
    deadline: datetime | None = None
    call_cap: Decimal | None = None
    visibility: str | None = None
    shows_prompts: bool | None = None
    shows_replies: bool | None = None
    releases_data: bool | None = None
    licence: str | None = None


def act_perform(*, key: str, act: Act, user: User | None, given: ActionArguments) -> Campaign:
    """Perform an action if this person may, and return the campaign afterwards.

    The role is checked before any object is looked up.

    Raises NotFound, NotAllowed, InvalidInput, and Conflict if the action does not fit the campaign's state.
    """
    campaign, _ = campaign_for(key=key, user=user, act=act)
    assert user is not None  # noqa: S101  a stranger has no role
    _DO[act](campaign, given, user)
    campaign.refresh_from_db()
    return campaign


def _pilot(campaign: Campaign, given: ActionArguments, by: User) -> None:
    campaign_open(campaign=campaign, by=by, pilot=pilot_size(campaign, given.judgments, given.share))


def _extend(campaign: Campaign, given: ActionArguments, by: User) -> None:
    wish = NewLimits(**{one.name: getattr(given, one.name) for one in fields(NewLimits)})
    target_extend(campaign=campaign, wish=wish, by=by)


def _show(campaign: Campaign, given: ActionArguments, by: User) -> None:
    services.campaign_show(
        campaign=campaign,
        visibility=given.visibility,
        shows_prompts=given.shows_prompts,
        shows_replies=given.shows_replies,
        releases_data=given.releases_data,
        licence=given.licence,
        by=by,
    )


def _stop(campaign: Campaign, given: ActionArguments, by: User) -> None:
    campaign_close(campaign=campaign, reason=given.reason.strip() or Reason("owner_ended"), by=by)
    services.refit_request(campaign)  # The refit includes the last batch and empties the queue.


def _exclude(campaign: Campaign, given: ActionArguments, by: User) -> None:
    annotator = annotator_in(campaign=campaign, annotator_id=_named(given.annotator, "annotator"))
    suggested = exclusion_suggested(campaign, annotator)
    reason = suggested if given.reason == suggested.text else given.reason
    annotator_exclude(campaign=campaign, annotator=annotator, reason=reason, by=by)


def _readmit(campaign: Campaign, given: ActionArguments, by: User) -> None:
    annotator = annotator_in(campaign=campaign, annotator_id=_named(given.annotator, "annotator"))
    annotator_readmit(campaign=campaign, annotator=annotator, reason=given.reason, by=by)


def _note(campaign: Campaign, given: ActionArguments, by: User) -> None:
    annotator = annotator_in(campaign=campaign, annotator_id=_named(given.annotator, "annotator"))
    annotator_note(campaign=campaign, annotator=annotator, text=given.reason, by=by)


def _hold(paused: bool) -> Callable[[Campaign, ActionArguments, User], None]:
    def act(campaign: Campaign, given: ActionArguments, by: User) -> None:
        annotator = annotator_in(campaign=campaign, annotator_id=_named(given.annotator, "annotator"))
        annotator_hold(campaign=campaign, annotator=annotator, paused=paused, reason=given.reason, by=by)

    return act


def _add_entrant(campaign: Campaign, given: ActionArguments, by: User) -> None:
    version = version_of(campaign, _named(given.version, "version"))
    services.entrant_add(campaign=campaign, version=version, by=by)


def version_of(campaign: Campaign, public_id: uuid.UUID) -> Version:
    """Return a version of a chatbot of the campaign's organisation.

    Raises NotFound.
    """
    own = Version.objects.filter(chatbot__organisation=campaign.organisation_id, public_id=public_id)
    found = own.select_related("chatbot").first()
    if found is None:
        raise NotFound(gettext("The organisation has no such version."), field="version")
    return found


def _withdraw_entrant(campaign: Campaign, given: ActionArguments, by: User) -> None:
    services.entrant_withdraw(
        campaign=campaign,
        entrant=entrant_of(campaign, _named(given.entrant, "entrant")),
        reason=given.reason,
        by=by,
    )


def entrant_of(campaign: Campaign, public_id: uuid.UUID) -> Entrant:
    """Return an entrant of the campaign.

    Raises NotFound.
    """
    found = campaign.entrants.filter(public_id=public_id).select_related("version__chatbot").first()
    if found is None:
        raise NotFound(gettext("No such chatbot takes part."), field="entrant")
    return found


def _retire_prompt(campaign: Campaign, given: ActionArguments, by: User) -> None:
    prompt = prompt_of(campaign, _named(given.prompt, "prompt"))
    services.prompt_retire(campaign=campaign, prompt=prompt, reason=given.reason, by=by)


def prompt_of(campaign: Campaign, public_id: uuid.UUID) -> Prompt:
    """Return a prompt of the campaign's set.

    Raises NotFound.
    """
    found = Prompt.objects.filter(prompt_set=campaign.prompt_set_id, public_id=public_id).first()
    if found is None:
        raise NotFound(gettext("The campaign has no such prompt."), field="prompt")
    return found


def _withdraw_gold(campaign: Campaign, given: ActionArguments, by: User) -> None:
    item = gold_of(campaign, _named(given.gold, "gold"))
    gold_withdraw(campaign=campaign, item=item, reason=given.reason, by=by)


def _share(campaign: Campaign, given: ActionArguments, by: User) -> None:
    person = User.objects.filter(username=given.username, is_active=True).first()
    if person is None:
        raise InvalidInput(
            gettext("There is no account called %(username)s.") % {"username": repr(given.username)}, field="username"
        )
    services.role_give(campaign=campaign, user=person, role=given.role or None, by=by)


def _named(public_id: uuid.UUID | None, field: str) -> uuid.UUID:
    if public_id is None:
        raise InvalidInput(gettext("This act needs to know which %(field)s.") % {"field": field}, field=field)
    return public_id


_DO: Mapping[Act, Callable[[Campaign, ActionArguments, User], object]] = {
    Act.LAUNCH: lambda campaign, _, by: campaign_open(campaign=campaign, by=by),
    Act.PILOT: _pilot,
    Act.EXTEND: _extend,
    Act.CAP_CALLS: lambda campaign, given, by: call_cap_set(campaign=campaign, cap=given.call_cap, by=by),
    Act.SHOW: _show,
    Act.PAUSE: lambda campaign, _, by: services.campaign_pause(campaign=campaign, by=by),
    Act.RESUME: lambda campaign, _, by: services.campaign_resume(campaign=campaign, by=by),
    Act.STOP: _stop,
    Act.REFIT: lambda campaign, _, by: services.refit_request_manually(campaign=campaign, by=by),
    Act.FULL_CHECK: lambda campaign, _, by: check_ask(campaign=campaign, by=by),
    Act.EXCLUDE: _exclude,
    Act.READMIT: _readmit,
    Act.NOTE: _note,
    Act.PAUSE_ANNOTATOR: _hold(True),
    Act.RESUME_ANNOTATOR: _hold(False),
    Act.ADD_ENTRANT: _add_entrant,
    Act.WITHDRAW_ENTRANT: _withdraw_entrant,
    Act.RETIRE_PROMPT: _retire_prompt,
    Act.REOPEN_SKIPPED: lambda campaign, _, by: skips_reopen(campaign=campaign, by=by),
    Act.WITHDRAW_GOLD: _withdraw_gold,
    Act.SHARE: _share,
}
PERFORMED = tuple(_DO)
