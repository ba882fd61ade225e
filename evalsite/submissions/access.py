"""Who may submit to a campaign, for which organisation, and who may download its prompts."""

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import campaign_get
from evalsite.core.errors import NotAllowed, NotFound
from evalsite.submissions.checks import Submitter, submitter_check
from evalsite.submissions.models import SubmissionSettings
from evalsite.submissions.selectors import closed_reason, may_act_for, organisations_to_submit_for, settings_of


def campaign_to_submit_to(*, key: str, user: User | None) -> tuple[Campaign, SubmissionSettings]:
    """Return a campaign that this person sees, and what it accepts. Raises NotFound."""
    campaign = campaign_get(key=key, user=user)
    return campaign, settings_of(campaign)


def submitter_for(*, settings: SubmissionSettings, user: User | None, slug: str = "") -> Submitter:
    """Return who submits. Without a slug it is the person's own organisation, or the first that may.

    Raises NotAllowed without an account or a role, and for an organisation that may not submit here.
    """
    if user is None:
        raise NotAllowed(_("A submission needs an account."), hint=_("Log in, or sign up."), code="account_needed")
    own = organisations_to_submit_for(user, settings)
    if slug:
        found = Organisation.objects.filter(slug=slug).first() if "\0" not in slug else None
        if found is None or not (found in own or may_act_for(found, user)):
            raise NotFound(
                _("There is no such organisation."), hint=_("It may be one that you are not in."), field="organisation"
            )
    else:
        found = own[0] if own else user.personal_organisation
    who = Submitter(user, found)
    submitter_check(settings, who)
    return who


def prompts_check(*, campaign: Campaign, settings: SubmissionSettings, user: User | None) -> None:
    """Raise NotAllowed unless this person may download the prompts: whoever may submit now, if the campaign says so."""
    submitter_for(settings=settings, user=user)
    if closed_reason(campaign, settings, timezone.now())[0] or not settings.prompts_downloadable:
        raise NotAllowed(
            _("The prompts of this campaign are not for download."),
            hint=_("Submit an endpoint, or ask the campaign's owner."),
            code="prompts_closed",
        )
