from django.db import models
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Judgment


class VoteSource(models.Model):
    """A vote file that was imported as a campaign's judgments. Importing it again changes nothing."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="vote_sources")
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, help_text="of the votes read, not of the file's bytes")
    votes = models.PositiveIntegerField()
    imported_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="vote_source_once_per_campaign")]

    def __str__(self) -> str:
        return self.name


class ImportedVote(models.Model):
    """The origin of a judgment: the source's row (or its own vote ID), and a digest to detect changes."""

    source = models.ForeignKey(VoteSource, on_delete=models.PROTECT, related_name="imported", db_index=False)
    vote_id = models.CharField(max_length=210)
    digest = models.CharField(max_length=32)
    category = models.CharField(max_length=100, blank=True, default="", help_text="as the file has it")
    timestamp = models.CharField(max_length=40, blank=True, default="", help_text="as the file writes it")
    judgment = models.OneToOneField(Judgment, on_delete=models.PROTECT, related_name="imported_from")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "vote_id"], name="imported_vote_once")]

    def __str__(self) -> str:
        return self.vote_id
