"""Uploaded vote files: kept for a day, read and imported by the worker, which has the readers. The web process asks."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.storage_quota import file_read
from evalsite.core import inquiries
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.core.models import Inquiry, Upload
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import Incoming, upload_add

READ, TAKE = "votes_read", "votes_take"
PURPOSE = "votes"
MOST_KEPT = 10  # Files of one person that wait at a time.
OUTCOMES = ("model_a", "model_b", "tie", "both_bad")
MOST_LABELS, MOST_TEXT = 50, 200


@dataclass(frozen=True, slots=True)
class VoteFileOptions:
    """How a vote file is to be read. Empty values: as its content tells.

    labels: what labels mean, each one of OUTCOMES.
    """

    encoding: str = ""
    a: str = ""
    b: str = ""
    winner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    merge_turns: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidInput for a label without a known meaning, and for texts that no file has."""
        texts = [self.encoding, self.a, self.b, self.winner, *self.labels]
        if len(self.labels) > MOST_LABELS or any(len(text) > MOST_TEXT or "\0" in text for text in texts):
            raise InvalidInput(_("A name of a column or a label is too long."), field="map")
        for label, meaning in self.labels.items():
            if meaning not in OUTCOMES:
                raise InvalidInput(
                    _("The label %(label)s cannot mean %(meaning)s.")
                    % {"label": repr(label[:40]), "meaning": repr(meaning[:40])},
                    hint=_("Use one of %(names)s.") % {"names": ", ".join(OUTCOMES)},
                    field="map",
                )


def vote_file_keep(*, file: Incoming, by: User) -> Upload:
    """Keep an uploaded vote file for a day. Raises TooMany, TooLarge, and InvalidInput for an empty file."""
    content = file_read(file=file, by=by)
    if not content:
        raise InvalidInput(_("The file is empty."), hint=_("Choose a file of votes."), field="file")
    name = (file.name or "").replace("\\", "/").rpartition("/")[2]
    return upload_add(subject=by.public_id, purpose=PURPOSE, name=name or "votes", content=content, most=MOST_KEPT)


def vote_file_of(*, public_id: uuid.UUID, by: User) -> Upload:
    """Return a person's own uploaded file. Raises NotFound."""
    found = Upload.objects.filter(public_id=public_id, subject=by.public_id, purpose=PURPOSE).first()
    if found is None:
        raise NotFound(_("There is no such file any more."), hint=_("Files are kept for a day. Send it again."))
    return found


def vote_file_read(*, upload: Upload, options: VoteFileOptions, by: User) -> Inquiry:
    """Ask what is in the file. Raises TooMany."""
    args = {"upload": str(upload.public_id), "options": asdict(options)}
    return inquiries.inquiry_ask(kind=READ, args=args, by=by.public_id, subject=upload.public_id)


def vote_file_take(
    *,
    upload: Upload,
    options: VoteFileOptions,
    name: str,
    organisation: Organisation,
    visibility: Campaign.Visibility,
    by: User,
) -> Inquiry:
    """Ask for the import of the file as the campaign `name`. Raises TooMany and InvalidInput."""
    if not name.strip() or len(name) > MOST_TEXT or "\0" in name:
        raise InvalidInput(_("The campaign needs a name of 1 to 200 characters."), field="campaign")
    admit_costly(what="campaign", who=by.public_id)
    args = {
        "upload": str(upload.public_id),
        "options": asdict(options),
        "name": name.strip(),
        "organisation": organisation.slug,
        "visibility": visibility.value,
        "by": by.pk,
    }
    return inquiries.inquiry_ask(kind=TAKE, args=args, by=by.public_id, subject=upload.public_id)


def vote_file_inquiry(*, public_id: uuid.UUID, by: User) -> Inquiry:
    """Return what this person asked of a file, also of one that is imported and gone. Raises NotFound."""
    found = Inquiry.objects.filter(public_id=public_id, kind__in=[READ, TAKE], asked_by=by.public_id).first()
    if found is None:
        raise NotFound(_("There is no such file any more."), hint=_("Files are kept for a day. Send it again."))
    return found


def options_of(inquiry: Inquiry) -> VoteFileOptions:
    """Return the options that the file was asked about with."""
    stored: Mapping[str, Any] = inquiry.args["options"]
    return VoteFileOptions(**stored)
