"""Notices to the owners of campaigns, and who has opted out of their mail."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign


class Notice(models.Model):
    """A notice to the owners of a campaign, by mail and as a banner in the console.

    `mark` identifies the occurrence. Each occurrence is sent only once.
    """

    class Event(models.TextChoices):
        STOP = "stop", _("a campaign has stopped")
        ALARM = "alarm", _("its board cannot be updated")
        QUEUE = "queue", _("nothing waits to be judged")
        BUDGET = "budget", _("four fifths of its budget are spent")
        REACH = "reach", _("its target is out of reach")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="notices")
    event = models.CharField(max_length=10, choices=Event)
    mark = models.CharField(max_length=80)
    text = models.TextField(help_text="in English; operations.notices says it in other languages")
    facts = models.JSONField(default=dict, blank=True, help_text="that it tells, by name; none of earlier releases")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_by = models.ManyToManyField(User, blank=True, related_name="notices_seen")

    class Meta:
        db_table = "adaptive_notice"  # Table name from before the app was split.
        constraints = [
            models.UniqueConstraint(fields=["campaign", "event", "mark"], name="notice_once"),
            models.CheckConstraint(
                condition=Q(event__in=["stop", "alarm", "queue", "budget", "reach"]), name="notice_event_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} of {self.campaign}"


class NotificationOptOut(models.Model):
    """A person's choice to get no mail about events of this kind."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="mail_unwanted")
    event = models.CharField(max_length=10, choices=Notice.Event)

    class Meta:
        db_table = "adaptive_unwanted"  # Table name from before the app was split.
        verbose_name_plural = "unwanted mail"
        constraints = [
            models.UniqueConstraint(fields=["user", "event"], name="unwanted_once"),
            models.CheckConstraint(
                condition=Q(event__in=["stop", "alarm", "queue", "budget", "reach"]), name="unwanted_event_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} wants no mail about {self.event}"
