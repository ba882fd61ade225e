"""Launch of studies."""

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Study
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.operations.services import campaign_open


def study_open(*, study: Study, by: User | None = None) -> list[Campaign]:
    """Launch all arms of a study together and return them. If one cannot start, none does."""
    with write_transaction():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        arms = list(Campaign.objects.filter(live__study=locked).order_by("pk"))
        if not arms:
            raise Conflict(_("The study has no arms."), hint=_("Create it again."))
        for arm in arms:
            campaign_open(campaign=arm, by=by)
    return arms
