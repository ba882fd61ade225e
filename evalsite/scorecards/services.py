"""Writes of conversation sets: new rows, erasure of a user, deletion, and requests for a scorecard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core import jobs
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.models import Batch, Judgment
from evalsite.judgments.queue import prompts_withdraw
from evalsite.scorecards.conversations import ScoredConversation
from evalsite.scorecards.models import (
    AnnotatedReply,
    Annotation,
    ConversationSet,
    ErasedUser,
    ImportedConversation,
    ImportedRating,
)
from evalsite.scorecards.stored_conversations import digest, erased_among, rating_rows, row_of, user_hashes

SCORECARD_JOB = "scorecard"
AT_LEAST = timedelta(minutes=10)  # between two scorecards of a campaign that collects


@dataclass(frozen=True, slots=True)
class Scale:
    """Which criterion is the rating ("" stands for rating or overall), and its scale."""

    criterion: str = ""
    lowest: float = 1
    highest: float = 5


def conversation_set_open(
    *, organisation: Organisation, name: str, scale: Scale | None = None, by: User | None = None
) -> ConversationSet:
    """Return the organisation's set of this name, made if there is none. A given scale replaces an earlier one."""
    name = name.strip()
    if not name or len(name) > 200 or "\0" in name:
        raise InvalidInput(
            gettext("The name of the set is missing or too long."),
            hint=gettext("Use 1 to 200 characters."),
            field="set",
        )
    with write_transaction():
        found, created = ConversationSet.objects.get_or_create(organisation=organisation, name=name)
        imports_check(found)
        if scale is not None:
            found.criterion, found.lowest, found.highest = scale.criterion, scale.lowest, scale.highest
            found.save(update_fields=["criterion", "lowest", "highest"])
        if created:
            audit_record(act="make_conversation_set", subject=found.public_id, by=by, after={"name": name})
    return found


def imports_check(conversation_set: ConversationSet) -> None:
    """Raise Conflict for the live conversations of a campaign, which are changed there alone."""
    if conversation_set.campaign_id is not None:
        raise Conflict(
            gettext("This set shows the live conversations of a campaign."),
            hint=gettext("Import files into another set; erase annotators in the campaign."),
            code="live_set",
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of one conversation: `added`, `unchanged`, `erased` (its user), or `other_text` / `other_chatbot`."""

    key: str
    outcome: str
    known_chatbot: str = ""


def conversations_add(
    *, conversation_set: ConversationSet, conversations: Sequence[ScoredConversation]
) -> list[Placed]:
    """Add conversations with their ratings, in the caller's transaction. A repeated one changes nothing.

    A conversation whose id the set has with other content is not written; the caller decides what to do.
    """
    keys = [one.conversation_id for one in conversations]
    stored = ImportedConversation.objects.filter(conversation_set=conversation_set, key__in=keys)
    known = {key: (value, chatbot) for key, value, chatbot in stored.values_list("key", "digest", "chatbot")}
    erased = erased_among(conversation_set, {one.user_id for one in conversations if one.user_id})
    placed, new = [], []
    for one in conversations:
        if one.user_id in erased:
            placed.append(Placed(one.conversation_id, "erased"))
            continue
        mine = (digest(one), one.chatbot)
        other = known.setdefault(one.conversation_id, mine)
        if other is mine:
            new.append(one)
            placed.append(Placed(one.conversation_id, "added"))
        elif other == mine:
            placed.append(Placed(one.conversation_id, "unchanged"))
        else:
            outcome = "other_chatbot" if other[1] != one.chatbot else "other_text"
            placed.append(Placed(one.conversation_id, outcome, other[1]))
    rows = ImportedConversation.objects.bulk_create([row_of(one, conversation_set) for one in new])
    raters = erased_among(conversation_set, {r.user_id for one in new for r in one.ratings if r.user_id})
    ImportedRating.objects.bulk_create(
        rating
        for one, row in zip(new, rows, strict=True)
        for rating in rating_rows(one, row)
        if rating.user_key not in raters
    )
    return placed


def user_erase(*, conversation_set: ConversationSet, user_id: str, by: User | None = None) -> tuple[int, int]:
    """Delete a user's conversations and ratings. Return their numbers. A later import skips this user."""
    user_id = user_id.strip()
    if not user_id:
        raise InvalidInput(gettext("Name the user."), field="user_id")
    imports_check(conversation_set)
    with write_transaction():
        theirs = ImportedConversation.objects.filter(conversation_set=conversation_set, user_key=user_id)
        ratings = ImportedRating.objects.filter(conversation__conversation_set=conversation_set, user_key=user_id)
        conversations = theirs.count()
        rated = ratings.count()
        queue_forget(AnnotatedReply.objects.filter(imported__in=theirs))
        ratings.delete()
        theirs.delete()
        ErasedUser.objects.get_or_create(
            conversation_set=conversation_set, hmac=user_hashes(conversation_set, user_id)[0]
        )
        conversation_set.scorecards.all().delete()
        audit_record(
            act="erase_user",
            subject=conversation_set.public_id,
            by=by,
            after={"conversations": conversations, "ratings": rated},
        )
        scorecard_request(conversation_set)
    return conversations, rated


def conversation_set_delete(*, conversation_set: ConversationSet, by: User | None = None) -> int:
    """Delete a set with everything in it. Return the number of its conversations."""
    imports_check(conversation_set)
    with write_transaction():
        count = conversation_set.conversations.count()
        audit_record(
            act="delete_conversation_set",
            subject=conversation_set.public_id,
            by=by,
            before={"name": conversation_set.name, "conversations": count},
        )
        queue_forget(AnnotatedReply.objects.filter(annotation__conversation_set=conversation_set))
        conversation_set.delete()
    return count


def scorecard_key(conversation_set: ConversationSet) -> str:
    return f"{SCORECARD_JOB}:{conversation_set.pk}"


def scorecard_request(conversation_set: ConversationSet, *, wait: timedelta = timedelta(0)) -> None:
    """Queue the computation of a new scorecard."""
    args = {"set": conversation_set.pk}
    with transaction.atomic():
        jobs.job_enqueue(kind=SCORECARD_JOB, key=scorecard_key(conversation_set), args=args, wait=wait)


def annotation_scorecard_request(campaign: Campaign) -> None:
    """Queue a new scorecard of the set that a campaign annotates: at most every ten minutes, and at its end."""
    of_replies = Annotation.objects.filter(campaign=campaign, unit=Annotation.Unit.REPLY)
    found = of_replies.select_related("conversation_set").first()
    if found is None or not Judgment.objects.filter(batch__campaign=campaign, batch__state=Batch.State.CLOSED).exists():
        return
    stored = found.conversation_set.scorecards.order_by("-pk").values_list("computed_at", flat=True).first()
    due = timezone.now() if stored is None or not campaign.collecting else stored + AT_LEAST
    scorecard_request(found.conversation_set, wait=max(timedelta(0), due - timezone.now()))


def queue_forget(replies: QuerySet[AnnotatedReply]) -> None:
    """Withdraw the queued assignments of replies whose texts are about to be erased, and look what is left to ask."""
    prompts_withdraw(set(replies.values_list("prompt", flat=True)))
    for campaign in Campaign.objects.filter(annotation__replies__in=replies, state__in=Campaign.COLLECTING).distinct():
        refit_request(campaign)
