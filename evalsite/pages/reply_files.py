"""Reply files whose columns a submitter has to choose: kept for a day, so that each is sent only once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.chatbots.files import replies_preview
from evalsite.core.column_choice import ColumnsUnclear, columns_named
from evalsite.core.errors import NotFound
from evalsite.core.models import Upload
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import upload_add, uploads_of
from evalsite.presentation.column_choice import REPLIES_NEED, REPLY_CHOICES, ColumnChoice, can_be_chosen
from evalsite.prompts.models import PromptSet
from evalsite.submissions.services import SentReplies

_PURPOSE, _MOST_KEPT = "submission", 3


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A kept file: its key in the form, its name, and the columns to choose."""

    key: str
    name: str
    choice: ColumnChoice


def reply_file_keep(*, sent: SentReplies, by: User) -> str:
    """Store the file of a submitter and return its key. Of several files the last ones are kept."""
    kept = upload_add(subject=by.public_id, purpose=_PURPOSE, name=sent.name, content=sent.content, most=_MOST_KEPT)
    return str(kept.public_id)


def reply_file_named(*, key: str, given: Mapping[str, str], by: User) -> SentReplies:
    """Return a kept file under our names of the chosen columns.

    Raises NotFound, TooMany, and InvalidInput for columns that cannot be chosen.
    """
    admit_costly(what="upload", who=by.public_id)
    upload = _upload(key, by)
    if upload is None:
        raise NotFound(
            _("There is no such file any more."), hint=_("Files are kept for a day. Send it again."), field="file"
        )
    chosen = {name: given.get(name, "") for name in REPLY_CHOICES}
    return SentReplies(columns_named(bytes(upload.content), upload.name, chosen, REPLIES_NEED), upload.name)


def reply_file_kept(*, key: str, given: Mapping[str, str], prompt_set: PromptSet, by: User) -> KeptFile | None:
    """Return a kept file with the columns to choose; None if there are none."""
    upload = _upload(key, by)
    if upload is None:
        return None
    try:
        replies_preview(prompt_set=prompt_set, content=bytes(upload.content), name=upload.name)
    except ColumnsUnclear as error:
        if can_be_chosen(error):
            return KeptFile(key, upload.name, ColumnChoice(error, REPLY_CHOICES, given))
    return None


def reply_file_drop(*, key: str, by: User) -> None:
    """Delete a kept file after its submission."""
    upload = _upload(key, by)
    if upload is not None:
        upload.delete()


def _upload(key: str, by: User) -> Upload | None:
    found = uploads_of(by.public_id, _PURPOSE) if key else []
    return next((one for one in found if str(one.public_id) == key), None)
