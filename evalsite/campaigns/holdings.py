"""What a campaign holds, in bytes, and whether there is room for what somebody sends."""

from collections.abc import Sequence

from django.conf import settings
from django.db.models import Sum, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.chatbots.models import Reply
from evalsite.core.db import Octets
from evalsite.core.errors import TooLarge
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import Incoming, uploads_bytes, uploads_check
from evalsite.prompts.models import Prompt


def bytes_held(campaign: Campaign, *, but_for: str = "") -> int:
    """Of its prompts, all replies to them, its gold, and the files that wait, but for those of one purpose."""
    sets = [campaign.prompt_set_id, *([campaign.gold_set_id] if campaign.gold_set_id else [])]
    prompts = Prompt.objects.filter(prompt_set__in=sets).aggregate(bytes=Sum(Octets(Cast("turns", TextField()))))
    replies = Reply.objects.filter(prompt__prompt_set=campaign.prompt_set_id).aggregate(bytes=Sum(Octets("text")))
    texts = Octets("text_a") + Octets("text_b") + Octets("explanation")
    gold = GoldItem.objects.filter(campaign=campaign).aggregate(bytes=Sum(texts))
    held = sum(found["bytes"] or 0 for found in (prompts, replies, gold))
    return held + uploads_bytes(subject=campaign.public_id, but_for=but_for)


def files_read(*, campaign: Campaign, purpose: str, files: Sequence[Incoming], by: User) -> list[tuple[str, bytes]]:
    """(name, content) of the files that a person sends, to be kept instead of those kept for the same purpose before.

    Counted first, then measured, and only then read into memory. Raises TooMany, TooLarge.
    """
    admit_costly(what="upload", who=by.public_id)
    _room_check(campaign, uploads_check(files), but_for=purpose, field="file")
    return [(file.name or "", file.read()) for file in files]


def rows_admit(*, campaign: Campaign, sent: int, by: User) -> None:
    """Whether a person may take in rows of `sent` bytes that come without a file. Raises TooMany, TooLarge."""
    admit_costly(what="upload", who=by.public_id)
    _room_check(campaign, sent)


def _room_check(campaign: Campaign, sent: int, *, but_for: str = "", field: str = "") -> None:
    held, most = bytes_held(campaign, but_for=but_for), settings.CAMPAIGN_MEGABYTES
    if held + sent > 1_000_000 * most:
        raise TooLarge(
            _("The campaign holds %(held)s MB of %(most)s MB: there is no room for these %(sent)s MB.")
            % {"held": f"{held / 1e6:.1f}", "most": most, "sent": f"{sent / 1e6:.1f}"},
            hint=_("Send less, or begin another campaign; who runs this site can set TOUCHSTONE_CAMPAIGN_MEGABYTES."),
            field=field,
        )
