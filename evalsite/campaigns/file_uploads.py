"""Prompt and reply files that a person's program uploads into an organisation.

The import itself is the same as in the commands and the console. This module adds the limits of remote callers: prompts
already in use stay, a set has a maximum size, and gold is not included.
"""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.storage_quota import set_room_check
from evalsite.chatbots.files import VersionPreview, chatbot_import, chatbot_preview
from evalsite.chatbots.models import Version
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, NotFound
from evalsite.prompts.files import PromptReport, prompt_set_import, prompt_set_preview
from evalsite.prompts.models import PromptSet


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file and the name of its prompt set. `filename` determines the format."""

    organisation: Organisation
    set_name: str
    content: bytes
    filename: str

    def prompt_set(self) -> PromptSet | None:
        return PromptSet.objects.filter(organisation=self.organisation, name=self.set_name).first()


def prompts_upload_preview(sent: SentFile) -> tuple[PromptSet | None, PromptReport]:
    """Return the set (None: it would be created) and the result that `prompts_upload` would have for each row."""
    prompt_set = _set_to_fill(sent)
    report = prompt_set_preview(
        organisation=sent.organisation, set_name=sent.set_name, content=sent.content, name=sent.filename
    )
    return prompt_set, report


def prompts_upload(sent: SentFile, *, partly: bool, by: User) -> tuple[PromptSet, PromptReport]:
    """Add the prompts of a file to a set. Creates the set if there is none.

    Raises RowsRefused unless `partly`, Conflict for a set that is in use, and TooLarge.
    """
    with write_transaction():
        prompt_set = _set_to_fill(sent, locked=True)
        drafts = Campaign.objects.filter(prompt_set=prompt_set) if prompt_set else Campaign.objects.none()
        return prompt_set_import(
            organisation=sent.organisation,
            set_name=sent.set_name,
            content=sent.content,
            name=sent.filename,
            partly=partly,
            by=by,
            told=list(drafts.values_list("public_id", flat=True)),
        )


def _set_to_fill(sent: SentFile, *, locked: bool = False) -> PromptSet | None:
    """Return the set to fill. Raises Conflict if a campaign already uses its prompts. `locked` prevents a start
    meanwhile."""
    prompt_set = sent.prompt_set()
    if prompt_set is None:
        return None
    if prompt_set.gold_of.exists():
        raise Conflict(
            _("%(name)s holds the gold of a campaign.") % {"name": repr(sent.set_name)},
            hint=_("Add gold to its campaign, or send prompts under another name."),
            field="set",
        )
    prompts_unused_check(prompt_set, locked=locked)
    set_room_check(prompt_set=prompt_set, sent=len(sent.content))
    return prompt_set


def prompts_unused_check(prompt_set: PromptSet, *, locked: bool = False) -> None:
    """Raise Conflict if a campaign already uses these prompts. `locked` prevents a start meanwhile."""
    campaigns = Campaign.objects.filter(prompt_set=prompt_set).order_by("pk")
    if locked:
        campaigns = campaigns.select_for_update(no_key=True)
    if any(campaign.state != Campaign.State.DRAFT for campaign in campaigns):
        raise Conflict(
            _("A campaign that is no draft asks the prompts of %(name)s: they stay.") % {"name": repr(prompt_set.name)},
            hint=_("Send others under another name."),
            field="set",
        )


def replies_upload_preview(sent: SentFile, *, name: str, label: str | None, made_by: str = "") -> VersionPreview:
    """Return the result that `replies_upload` would have for each row, without writing."""
    return chatbot_preview(
        organisation=sent.organisation,
        prompt_set=_set_to_answer(sent),
        name=name,
        label=label,
        content=sent.content,
        filename=sent.filename,
        made_by=made_by,
    )


def replies_upload(
    sent: SentFile, *, name: str, label: str | None, partly: bool, by: User, made_by: str = ""
) -> tuple[Version, ReplyReport]:
    """Create a version with the replies of a file. Creates the chatbot if there is none of this name.

    Raises RowsRefused unless `partly`, NotFound for an unknown set, Conflict for an existing version, and TooLarge.
    """
    with write_transaction():
        return chatbot_import(
            organisation=sent.organisation,
            prompt_set=_set_to_answer(sent),
            name=name,
            label=label,
            content=sent.content,
            filename=sent.filename,
            partly=partly,
            by=by,
            made_by=made_by,
        )


def _set_to_answer(sent: SentFile) -> PromptSet:
    prompt_set = sent.prompt_set()
    if prompt_set is None or prompt_set.gold_of.exists():
        raise NotFound(
            _("There is no such prompt set."), hint=_("Send its prompts first, or check its name."), field="set"
        )
    set_room_check(prompt_set=prompt_set, sent=len(sent.content))
    return prompt_set
