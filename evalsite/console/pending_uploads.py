"""Uploaded files that wait for review before they are imported."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.storage_quota import files_read
from evalsite.core.encodings import recoded
from evalsite.core.errors import InvalidInput
from evalsite.core.uploads import Incoming, uploads_keep


def file_keep(
    campaign: Campaign,
    purpose: str,
    file: Incoming | None,
    by: User,
    look: Callable[[bytes, str], Any],
    *,
    encoding: str = "",
) -> None:
    """Store one file in UTF-8 after `look` has read its content and name.

    encoding: that of the file, if it is another one; see core.encodings.

    Raises InvalidInput without a file or if `look` cannot read it; TooMany, TooLarge.
    """
    if file is None:
        raise InvalidInput(_("Choose a file."), field="file")
    files = files_read(campaign=campaign, purpose=purpose, files=[file], by=by)
    files = [(name, recoded(content, encoding) if encoding else content) for name, content in files]
    for name, content in files:
        look(content, name)
    uploads_keep(subject=campaign.public_id, purpose=purpose, files=files)
