"""Entry of a checked submission into its campaign: its version, its replies and its entrant, in one transaction."""

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.files import chatbot_import
from evalsite.chatbots.models import Version
from evalsite.core.errors import Conflict
from evalsite.submissions.events import state_change
from evalsite.submissions.models import Submission, SubmissionFile


def submission_join(*, submission: Submission, content: bytes | None, filename: str = "", by: User | None) -> None:
    """Add the version to the campaign. Runs in the caller's transaction, which has locked the submission.

    `content` is the file of a submission by file. Raises Conflict for a name that has been taken meanwhile.
    """
    version = submission.version
    if version is None:
        if content is None:
            raise Conflict(_("The file of this submission is gone."), hint=_("Submit it again."), field="file")
        version = _version_of_file(submission, content, filename, by)
        submission.version = version
    _describe(version, submission)
    entrant_add(campaign=submission.campaign, version=version, by=by)
    submission.save(update_fields=["version"])
    state_change(submission=submission, state=Submission.State.JOINED, by=by)
    SubmissionFile.objects.filter(submission=submission).delete()


def _version_of_file(submission: Submission, content: bytes, filename: str, by: User | None) -> Version:
    version, _report = chatbot_import(
        organisation=submission.organisation,
        prompt_set=submission.campaign.prompt_set,
        name=submission.name,
        label=submission.label,
        content=content,
        filename=filename,
        partly=False,
        by=by,
    )
    return version


def _describe(version: Version, submission: Submission) -> None:
    """Give a chatbot without a description that of its card."""
    chatbot, text = version.chatbot, submission.card.get("description", "")
    if text and not chatbot.description:
        chatbot.description = text
        chatbot.save(update_fields=["description"])
