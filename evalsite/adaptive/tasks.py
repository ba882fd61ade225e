"""What the worker does for the adaptive room."""

from evalsite.adaptive.services import alarm_clear, alarm_raise
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT
from evalsite.core import jobs


@jobs.handles(REFIT, tireless=True)
def refit(lease: jobs.Lease) -> None:
    """Refit, decide and plan for the campaign that the job names. Whatever goes wrong raises an alarm."""
    # Imported here: every process registers this handler, and only the worker should pay for numpy and scipy.
    from evalsite.adaptive.refit import refit_campaign

    campaign = Campaign.objects.select_related("stopping").get(pk=lease.args["campaign"])
    try:
        refit_campaign(campaign, lease)
    except jobs.LeaseLost:
        raise
    except Exception as error:
        alarm_raise(campaign=campaign, message=f"{type(error).__name__}: {error}")
        raise
    alarm_clear(campaign=campaign)
