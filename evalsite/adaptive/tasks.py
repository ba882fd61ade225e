"""What the worker does for the adaptive room."""

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT
from evalsite.core import jobs


@jobs.handles(REFIT)
def refit(lease: jobs.Lease) -> None:
    """Refit, decide and plan for the campaign that the job names."""
    # Imported here: every process registers this handler, and only the worker should pay for numpy and scipy.
    from evalsite.adaptive.refit import refit_campaign

    refit_campaign(Campaign.objects.select_related("stopping").get(pk=lease.args["campaign"]), lease)
