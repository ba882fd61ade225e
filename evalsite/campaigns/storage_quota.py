"""Storage quota of a campaign in bytes."""

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
from evalsite.prompts.models import Prompt, PromptSet


def bytes_held(campaign: Campaign, *, excluding: str = "") -> int:
    """Return the bytes of a campaign's prompts, all replies to them, its gold and its waiting files.

    `excluding` leaves out the files of one purpose.
    """
    return _set_bytes(campaign.prompt_set_id) + _gold_and_upload_bytes(campaign, excluding)


def _set_bytes(prompt_set: int) -> int:
    """Return the bytes of prompts and all replies to them. Reads every text."""
    return _prompt_bytes(prompt_set) + _reply_bytes(prompt_set)


def _gold_and_upload_bytes(campaign: Campaign, excluding: str = "") -> int:
    texts = Octets("text_a") + Octets("text_b") + Octets("explanation")
    gold = GoldItem.objects.filter(campaign=campaign).aggregate(bytes=Sum(texts))["bytes"] or 0
    return _prompt_bytes(campaign.gold_set_id) + gold + uploads_bytes(subject=campaign.public_id, excluding=excluding)


def _prompt_bytes(*sets: int | None) -> int:
    turns = Octets(Cast("turns", TextField()))
    return Prompt.objects.filter(prompt_set__in=[one for one in sets if one]).aggregate(bytes=Sum(turns))["bytes"] or 0


def _reply_bytes(prompt_set: int) -> int:
    return Reply.objects.filter(prompt__prompt_set=prompt_set).aggregate(bytes=Sum(Octets("text")))["bytes"] or 0


def files_read(*, campaign: Campaign, purpose: str, files: Sequence[Incoming], by: User) -> list[tuple[str, bytes]]:
    """Return (name, content) of uploaded files that replace earlier ones for the same purpose.

    The upload is counted first, then measured, and only then read into memory. Raises TooMany, TooLarge.
    """
    admit_costly(what="upload", who=by.public_id)
    sent = uploads_check(files)
    _room_check(bytes_held(campaign, excluding=purpose), sent, field="file")
    return [(file.name or "", file.read()) for file in files]


def rows_admit(*, campaign: Campaign, sent: int, by: User) -> None:
    """Check that a person may import rows of `sent` bytes that come without a file. Raises TooMany, TooLarge."""
    admit_costly(what="upload", who=by.public_id)
    _room_check(bytes_held(campaign), sent)


def file_read(*, file: Incoming, by: User) -> bytes:
    """Return an uploaded file without a campaign. It is counted and measured before it is read. Raises TooMany,
    TooLarge."""
    admit_costly(what="upload", who=by.public_id)
    uploads_check([file])
    return file.read()


def set_room_check(*, prompt_set: PromptSet, sent: int) -> None:
    """Raise TooLarge unless there is space for `sent` bytes of prompts, or of replies to them.

    Each campaign that uses the set must have space. Without a campaign, the same limit applies to the set itself.
    """
    held, most = _set_bytes(prompt_set.pk), settings.CAMPAIGN_MEGABYTES
    for campaign in Campaign.objects.filter(prompt_set=prompt_set):
        _room_check(held + _gold_and_upload_bytes(campaign), sent, field="file")
    if held + sent > 1_000_000 * most:
        raise TooLarge(
            _("The prompts and their replies have %(held)s MB of %(most)s MB: there is no room for these %(sent)s MB.")
            % {"held": f"{held / 1e6:.1f}", "most": most, "sent": f"{sent / 1e6:.1f}"},
            hint=_("Send less, or use another set; who runs this site can set TOUCHSTONE_CAMPAIGN_MEGABYTES."),
            field="file",
        )


def _room_check(held: int, sent: int, *, field: str = "") -> None:
    most = settings.CAMPAIGN_MEGABYTES
    if held + sent > 1_000_000 * most:
        raise TooLarge(
            _("The campaign holds %(held)s MB of %(most)s MB: there is no room for these %(sent)s MB.")
            % {"held": f"{held / 1e6:.1f}", "most": most, "sent": f"{sent / 1e6:.1f}"},
            hint=_("Send less, or begin another campaign; who runs this site can set TOUCHSTONE_CAMPAIGN_MEGABYTES."),
            field=field,
        )
