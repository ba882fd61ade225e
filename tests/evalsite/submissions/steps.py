"""What submitters send in tests."""

from typing import Any

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.endpoints.options import EndpointSettings
from evalsite.submissions.cards import ChatbotCard
from evalsite.submissions.checks import Submitter
from evalsite.submissions.models import Submission, SubmissionEvent
from evalsite.submissions.services import NewSubmission, SentEndpoint, SentReplies, submission_create


def replies(word: str = "Surely", prompts: int = 6) -> bytes:
    """A whole file of replies."""
    return b"prompt_id,reply\n" + b"".join(f"p{n},{word} {n}.\n".encode() for n in range(prompts))


FAULTY = b"prompt_id,reply\np0,Yes.\np0,Again.\np9,Unknown.\np1,\np2,No.\n"  # a repeated, an unknown, an empty one


def sending(content: bytes = b"", *, name: str = "Newcomer", **more: Any) -> NewSubmission:
    card = {key: more.pop(key) for key in ("label", "link", "description", "base_model") if key in more}
    return NewSubmission(ChatbotCard(name=name, **card), SentReplies(content or replies(), "replies.csv"), **more)


def sending_endpoint(url: str = "https://chat.example.org/v1", **more: Any) -> NewSubmission:
    settings = EndpointSettings("openai", url, model="parrot")
    return NewSubmission(ChatbotCard(name=more.pop("name", "Live one")), SentEndpoint(settings), **more)


def submit(campaign: Campaign, user: User, sent: NewSubmission | None = None) -> Submission:
    who = Submitter(user, user.personal_organisation)
    return submission_create(campaign=campaign, who=who, sent=sent or sending())[0]


def states(submission: Submission) -> list[str]:
    return list(submission.events.values_list("state", flat=True))


def last_event(submission: Submission) -> SubmissionEvent:
    found = submission.events.last()
    assert found is not None
    return found
