"""What a campaign holds, in bytes, and whether there is room for what somebody sends."""

from collections.abc import Sequence

from django.conf import settings
from django.db.models import Sum, TextField
from django.db.models.functions import Cast

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.core.db import Octets
from evalsite.core.errors import TooLarge
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import Incoming, uploads_bytes, uploads_check


def bytes_held(campaign: Campaign, *, but_for: str = "") -> int:
    """Of its prompts, of all replies to them, and of the files that wait, but for those of one purpose."""
    prompts = campaign.prompt_set.prompts.aggregate(bytes=Sum(Octets(Cast("turns", TextField()))))
    replies = Reply.objects.filter(prompt__prompt_set=campaign.prompt_set_id).aggregate(bytes=Sum(Octets("text")))
    held = (prompts["bytes"] or 0) + (replies["bytes"] or 0)
    return held + uploads_bytes(subject=campaign.public_id, but_for=but_for)


def files_read(*, campaign: Campaign, purpose: str, files: Sequence[Incoming], by: User) -> list[tuple[str, bytes]]:
    """(name, content) of the files that a person sends, to be kept instead of those kept for the same purpose before.

    Counted first, then measured, and only then read into memory. Raises TooMany, TooLarge.
    """
    admit_costly(what="upload", who=by.public_id)
    sent, most = uploads_check(files), settings.CAMPAIGN_MEGABYTES
    held = bytes_held(campaign, but_for=purpose)
    if held + sent > 1_000_000 * most:
        raise TooLarge(
            f"The campaign holds {held / 1e6:.1f} MB of {most} MB: there is no room for these {sent / 1e6:.1f} MB.",
            hint="Send less, or begin another campaign; who runs this site can set TOUCHSTONE_CAMPAIGN_MEGABYTES.",
            field="file",
        )
    return [(file.name or "", file.read()) for file in files]
