"""Notes on the votes after which those of a new annotator count."""

from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign
from evalsite.judgments.annotator_statistics import votes_median
from evalsite.presentation.formatting import whole


def vetting_fact(campaign: Campaign) -> list[tuple[str, str, str]]:
    """Return the line of the review; none where the owner knows every annotator."""
    if not campaign.vets_newcomers:
        return []
    return [("annotators", _("New annotators count"), _("after %(n)s votes") % _number(campaign))]


def vetting_notes(campaign: Campaign) -> list[str]:
    """Warn if few annotators give as many votes as vetting takes."""
    if not campaign.vets_newcomers or campaign.qualification_items.exists():
        return []
    lower = _("Lower the number in the step Annotators, or set it to 0 to count every vote at once.")
    if campaign.quota is not None and campaign.quota < campaign.vetting_votes:
        text = _("No vote of a new annotator would count: it takes %(n)s votes, and each may give %(most)s.")
        return [f"{text % {**_number(campaign), 'most': whole(campaign.quota)}} {lower}"]
    median = votes_median(campaign)
    if median is None or median >= campaign.vetting_votes:
        return []
    text = _("Half of the annotators gave %(median)s votes or fewer, and those of a new annotator count after %(n)s.")
    return [f"{text % {**_number(campaign), 'median': whole(median)}} {lower}"]


def _number(campaign: Campaign) -> dict[str, str]:
    return {"n": whole(campaign.vetting_votes)}
