"""Periodic work on submissions: endpoints that were tested or have replied, and newcomers that have their place."""

from django.core.cache import cache
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from evalsite.boards.models import Board
from evalsite.boards.selectors import snapshot_current
from evalsite.boards.withdrawn_rows import rows_now
from evalsite.campaigns.selectors import versions_withdrawn
from evalsite.chatbots.models import Reply
from evalsite.core.db import write_transaction
from evalsite.core.errors import TouchstoneError
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Collection, Endpoint, EndpointCheck
from evalsite.submissions.events import state_change
from evalsite.submissions.joining import submission_join
from evalsite.submissions.models import Submission, SubmissionSettings
from evalsite.submissions.selectors import closed_reason, settings_of
from scheduler.reasons import Reason

SEEN_S = 3600  # how long is remembered which board was looked at


def endpoints_advance() -> None:
    """Go on with each submitted endpoint whose test or whose replies have come in."""
    waiting = Submission.objects.filter(
        kind=Submission.Kind.ENDPOINT, state__in=[Submission.State.RECEIVED, Submission.State.CHECKED]
    )
    for number in list(waiting.order_by("pk").values_list("pk", flat=True)[:200]):
        if _has_news(number):
            with write_transaction():
                _advance(number)


def _has_news(number: int) -> bool:
    """Return whether something has happened. First without a lock: an idle sweep must not take the write lock."""
    submission = Submission.objects.select_related("version__endpoint").get(pk=number)
    endpoint = submission.version.endpoint if submission.version else None
    if endpoint is None:
        return True
    if submission.state == Submission.State.RECEIVED:
        return not _test(endpoint, EndpointCheck.State.RUNNING)
    return not _collections(submission).exclude(state=Collection.State.COMPLETE).exists()


def _test(endpoint: Endpoint, state: EndpointCheck.State) -> bool:
    newest = EndpointCheck.objects.filter(endpoint=endpoint).order_by("-pk").first()
    return newest is not None and newest.state == state


def _collections(submission: Submission) -> QuerySet[Collection]:
    return Collection.objects.filter(
        endpoint__version=submission.version_id, prompt_set=submission.campaign.prompt_set_id
    )


def _advance(number: int) -> None:
    locked = Submission.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=number)
    for submission in locked:
        if submission.state == Submission.State.RECEIVED:
            _after_test(submission)
        elif submission.state == Submission.State.CHECKED:
            _after_replies(submission)


def _after_test(submission: Submission) -> None:
    """Collect replies if the test has passed, else refuse the endpoint."""
    endpoint = Endpoint.objects.get(version=submission.version_id)
    if not _test(endpoint, EndpointCheck.State.PASSED):
        reason = Reason("endpoint_test_failed", {"error": endpoint.state_text or "no reply"})
        state_change(submission=submission, state=Submission.State.REFUSED, reason=reason)
        return
    try:
        collection_start(endpoint=endpoint, prompt_set=submission.campaign.prompt_set)
    except TouchstoneError as error:
        state_change(submission=submission, state=Submission.State.REFUSED, reason=error.message)
        return
    state_change(submission=submission, state=Submission.State.CHECKED)


def _after_replies(submission: Submission) -> None:
    """Let the chatbot wait for approval or join, with the replies that it gave. Refuse it if it gave none."""
    replies = Reply.objects.shown().filter(
        version=submission.version_id, prompt__prompt_set=submission.campaign.prompt_set_id
    )
    count = replies.count()
    prompts = submission.campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    submission.report = {"prompts": prompts, "add": count, "refused": 0, "without_reply": max(0, prompts - count)}
    submission.save(update_fields=["report"])
    if not count:
        state_change(submission=submission, state=Submission.State.REFUSED, reason=Reason("endpoint_gave_no_reply"))
        return
    settings = settings_of(submission.campaign)
    code, why = closed_reason(submission.campaign, settings, timezone.now())
    if code == "campaign_over":
        state_change(submission=submission, state=Submission.State.REFUSED, reason=why)
    elif settings.admission == SubmissionSettings.Admission.OPEN:
        try:
            submission_join(submission=submission, content=None, by=None)
        except TouchstoneError as error:
            state_change(submission=submission, state=Submission.State.REFUSED, reason=error.message)
    else:
        state_change(submission=submission, state=Submission.State.WAITING)


def newcomers_advance() -> None:
    """Tell submitters that their chatbot has its place: its row on the board is no longer preliminary.

    A campaign that ends with fewer judgments places what it has.
    """
    joined = Submission.objects.filter(state=Submission.State.JOINED).values_list("campaign", flat=True).distinct()
    campaigns = set(joined)
    if not campaigns:
        return
    boards = Board.objects.filter(default_of__in=campaigns)
    newest = boards.annotate(refit=Max("refits__pk", filter=Q(refits__snapshot__isnull=False)))
    for board in newest.select_related("default_of"):
        key, now = f"newcomers:{board.public_id}", f"{board.refit} {board.default_of.state}"
        if board.refit is not None and cache.get(key) != now:
            _place(board)
            cache.set(key, now, SEEN_S)


def _place(board: Board) -> None:
    snapshot, campaign = snapshot_current(board), board.default_of
    if campaign is None:
        return
    ended = not campaign.collecting
    now = rows_now(snapshot.rows, versions_withdrawn([campaign])) if snapshot else []
    rows = {row.get("version", ""): row for row in now}
    waiting = Submission.objects.filter(campaign=campaign, state=Submission.State.JOINED).select_related("version")
    for submission in waiting:
        row = rows.get(str(submission.version.public_id)) if submission.version else None
        if row is None or (row["preliminary"] and not ended):
            continue
        with write_transaction():
            locked = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
            if locked.state == Submission.State.JOINED:
                rank = {"low": row["rank_lower"], "high": row["rank_upper"], "judgments": row["judgments"]}
                code = "placed_exactly" if rank["low"] == rank["high"] else "placed_between"
                state_change(submission=locked, state=Submission.State.PLACED, reason=Reason(code, rank))
