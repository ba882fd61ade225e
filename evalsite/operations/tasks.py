"""The worker's jobs of operations: notices to owners, and their mail."""

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core import jobs
from evalsite.operations.models import Notice
from evalsite.operations.notices import MAIL, alarm_tell, empty_queues_tell, mail_send, progress_tell, stop_tell
from evalsite.refits.models import Alarm
from evalsite.refits.services import NOTICE

jobs.sweeps(empty_queues_tell)


@jobs.handles(NOTICE)
def notice(lease: jobs.Lease) -> None:
    """Notify the owners that the campaign stopped, that its refits fail, or what its last decision shows."""
    campaign = Campaign.objects.select_related("stopping").get(pk=lease.args["campaign"])
    if "alarm" in lease.args:
        alarm_tell(Alarm.objects.get(pk=lease.args["alarm"]))
    elif "evidence" in lease.args:
        progress_tell(campaign, lease.args["evidence"])
    else:
        stop_tell(campaign)


@jobs.handles(MAIL)
def mail(lease: jobs.Lease) -> None:
    """Send one notice to one person."""
    notice = Notice.objects.select_related("campaign").get(pk=lease.args["notice"])
    mail_send(notice, User.objects.get(pk=lease.args["user"]))
