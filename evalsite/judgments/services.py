"""Write operations on judgments: enrol, claim, record. leases.py has the ends of issues without an answer."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Aspect, Campaign, Onboarding
from evalsite.campaigns.selectors import onboarding_of
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.tokens import keyed_hashes, token_hash, token_make
from evalsite.judgments.admission import admission_check, consent_check
from evalsite.judgments.answer_rows import Choice, answers_of
from evalsite.judgments.batches import batch_close_due
from evalsite.judgments.blocks import block_issue
from evalsite.judgments.claim_selectors import assignments_open
from evalsite.judgments.claim_sql import Asked, Terms, claim_terms, enrolment_lock, judgment_add
from evalsite.judgments.conflict_of_interest import leaves_a_pair, own_entrants
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.leases import assignment_lock_with_content, assignments_expire_of, checked_text, returned_error
from evalsite.judgments.models import (
    Annotator,
    AnnotatorToken,
    Answer,
    Assignment,
    Batch,
    Comment,
    Enrolment,
    Judgment,
    JudgmentReason,
)
from evalsite.judgments.network_traces import network_trace_record
from evalsite.judgments.newcomer_limits import newcomer_allowance
from evalsite.judgments.qualification import qualification_get
from evalsite.judgments.queue import queue_top_up
from evalsite.judgments.selectors import (
    RANKING_PURPOSES,
    budget_left,
    judgments_given,
    queue_is_empty,
    quota_taken,
)
from evalsite.judgments.vetting_facts import newcomer_mark
from evalsite.judgments.work_time import work_time_record

TOKEN_LIFE = timedelta(days=90)
LONGEST_CLIENT_MS = 24 * 3600 * 1000


# Enrolment ----------------------------------------------------------------------------------------------


def annotator_enrol(
    *,
    campaign: Campaign,
    annotator: Annotator | None = None,
    user: User | None = None,
    kind: Annotator.Kind = Annotator.Kind.HUMAN,
    consents: bool = False,
) -> Annotator:
    """Admit an annotator to a campaign: the one entry point for the judging page and the API.

    A person with an account is one annotator everywhere. The browser's pseudonym from before the login becomes theirs.
    Without an account, a new pseudonym is created if none is given.

    - NotAllowed: the campaign does not admit this person.
    - InvalidInput: a consent is required and was not given.
    - Conflict: the campaign has stopped, so there is no work for a newcomer.
    """
    earlier = Enrolment.objects.filter(campaign=campaign, annotator=annotator).first()
    if earlier is None and campaign.state == Campaign.State.STOPPED:
        raise Conflict(
            gettext("This campaign has stopped: it takes no new annotators."),
            hint=gettext("Join another one."),
            field="campaign",
            code="stopped",
        )
    if earlier is None or not earlier.invited:
        admission_check(campaign, user)
    consent = consent_check(campaign, consents=consents, earlier=earlier)
    return enrolment_make(campaign=campaign, annotator=annotator, user=user, kind=kind, **consent).annotator


def enrolment_get(*, campaign: Campaign, annotator: Annotator) -> Enrolment:
    """Return an annotator's enrolment in a campaign that they have joined."""
    return Enrolment.objects.select_related("campaign", "annotator").get(campaign=campaign, annotator=annotator)


def enrolment_make(
    *,
    campaign: Campaign,
    annotator: Annotator | None,
    user: User | None,
    kind: Annotator.Kind = Annotator.Kind.HUMAN,
    **how: Any,
) -> Enrolment:
    """Enrol an annotator whose admission has been checked. `how` sets fields (an invitation, a platform).

    The campaign's current notice on erasure is promised to the annotator. A returning annotator keeps an earlier
    promise of removal, whatever the notice says now.
    """
    if onboarding_of(campaign).erasure == Onboarding.Erasure.REMOVE:
        how["erasure"] = Onboarding.Erasure.REMOVE
    with write_transaction():
        annotator = annotator_ensure(annotator, user, kind)
        enrolment, created = Enrolment.objects.update_or_create(
            campaign=campaign, annotator=annotator, defaults={"left_at": None, **how}
        )
        if created:
            newcomer_mark(enrolment)
    return enrolment


def annotator_ensure(
    annotator: Annotator | None, user: User | None, kind: Annotator.Kind = Annotator.Kind.HUMAN
) -> Annotator:
    """Return the one annotator of this account, or the given pseudonym, or a new one. A pseudonym joins the account."""
    if user is None:
        return annotator or Annotator.objects.create(kind=kind)
    known = Annotator.objects.filter(user=user).first()
    if known is not None:
        return known
    if annotator is None or annotator.user_id is not None:
        return Annotator.objects.create(kind=kind, user=user)
    annotator.user = user
    annotator.save(update_fields=["user"])
    return annotator


def token_issue(*, annotator: Annotator, again: str = "") -> str:
    """Create an API key for an annotator's program. It is shown only once and stored as a hash.

    `again` is an Idempotency-Key: `token_recover` returns the key once more to a client that lost the response.
    """
    secret = _derived_tokens(annotator.public_id, again)[0] if again else token_make("ts")
    with write_transaction():
        AnnotatorToken.objects.create(
            annotator=annotator, sha256=token_hash(secret), expires_at=timezone.now() + TOKEN_LIFE
        )
    return secret


def token_recover(*, annotator_id: uuid.UUID, again: str) -> str:
    """Return the key that was issued under `again`; "" if it is no longer in force."""
    hashes = {token_hash(secret): secret for secret in _derived_tokens(annotator_id, again)}
    kept = AnnotatorToken.objects.filter(sha256__in=hashes, expires_at__gt=timezone.now()).first()
    return hashes[kept.sha256] if kept else ""


def _derived_tokens(annotator_id: uuid.UUID, again: str) -> list[str]:
    """Derive the token from the request and from SECRET_KEY, so that it is not stored, not even for a retry."""
    return [f"ts_{one}" for one in keyed_hashes(f"{annotator_id} {again}", purpose="annotator token")]


# Claims -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claimed:
    """A block, or the reason why it is empty."""

    block: list[Assignment]
    wait: Wait | None = None


def block_claim(
    *,
    campaign: Campaign,
    annotator: Annotator,
    count: int | None = None,
    address: str = "",
    users: Collection[int] = (),
) -> Claimed:
    """Return the annotator's open block, or else issue one from the best of the queue.

    No two annotators get the same assignment, and nobody gets an item twice. Repeated claims return the open block. A
    block whose lease has ended is no longer open, even if no sweep has run. An empty block has its reason.

    `address` is the caller's address, which limits newcomers. `users` are accounts (keys) that were logged in on the
    device; their own chatbots are not shown either.
    """
    assignments_expire_of(campaign=campaign, annotator=annotator)
    with write_transaction():
        enrolment = enrolment_lock(campaign.pk, annotator.pk)
        if enrolment is None:
            raise NotAllowed(
                gettext("You have not joined this campaign."), hint=gettext("Open its judging page first.")
            )
        open_block = assignments_open(campaign.pk, annotator.pk)
        terms = claim_terms(campaign, annotator.pk)
        enrolment.campaign = campaign
        if campaign.is_live:
            return Claimed([], Wait.CONVERSATION)
        if open_block:
            return Claimed(open_block)
        if wait := refusal_reason(campaign, annotator, enrolment, terms):
            return Claimed([], wait)
        own = {*users} if annotator.user_id is None else {*users, annotator.user_id}
        return _new_block(campaign, annotator, enrolment, count, address, own)


def refusal_reason(campaign: Campaign, annotator: Annotator, enrolment: Enrolment, terms: Terms) -> Wait | None:
    """Return the reason why the annotator gets no assignment or conversation, or None. Raises NotAllowed."""
    states = {
        Campaign.State.DRAFT: Wait.NOT_STARTED,
        Campaign.State.PAUSED: Wait.PAUSED,
        Campaign.State.STOPPED: Wait.STOPPED,
    }
    if not campaign.collecting:
        return states[Campaign.State(campaign.state)]
    if terms.excluded:
        return Wait.EXCLUDED
    if enrolment.paused_at is not None:
        return Wait.ON_HOLD
    if not enrolment.invited:
        admission_check(campaign, annotator.user)
    if terms.consent and enrolment.consented_at is None:
        return Wait.CONSENT
    if terms.qualifies:
        standing = qualification_get(enrolment)
        if not standing.passed:
            return Wait.NOT_QUALIFIED if standing.screened_out else Wait.QUALIFICATION
    return None


def _new_block(
    campaign: Campaign,
    annotator: Annotator,
    enrolment: Enrolment,
    count: int | None,
    address: str,
    users: Collection[int],
) -> Claimed:
    """Issue a new block to an annotator who may have one, or return the reason of an empty one."""
    wanted, wait = _allowance(campaign, annotator, count or campaign.block_size)
    newcomers = newcomer_allowance(campaign, annotator, enrolment, address) if wanted else None
    if newcomers is not None:
        wanted, wait = min(wanted, newcomers), None if newcomers else Wait.NETWORK
    if not wanted:
        return Claimed([], wait)
    block = block_issue(campaign, annotator, enrolment, wanted, users=users)
    queue_top_up(campaign)
    if block:
        if address and campaign.screening != Campaign.Screening.OFF:
            network_trace_record(campaign=campaign, annotator=annotator.pk, address=address)
        return Claimed(block)
    own = own_entrants(campaign, users)
    if own and not leaves_a_pair(campaign, own):
        return Claimed([], Wait.OWN_CHATBOTS)
    return Claimed([], Wait.PLANNING if queue_is_empty(campaign) else Wait.SEEN_ALL)


def _allowance(campaign: Campaign, annotator: Annotator, asked: int) -> tuple[int, Wait | None]:
    """Return how many assignments may be issued now, and the reason if there are none.

    The block's size, the annotator's quota and the campaign's budget limit the number.
    """
    room = min(asked, campaign.block_size)
    if campaign.quota is not None:
        room = min(room, campaign.quota - judgments_given(campaign=campaign, annotator=annotator))
        if room <= 0:
            return 0, Wait.QUOTA
    left = budget_left(campaign)
    if left is not None:
        room = min(room, left)
    return max(0, room), Wait.BUDGET if left == 0 else None


# Recording ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedJudgment:
    """The result of an answer. `created` False: it had been recorded before, and this is the stored one."""

    judgment: Judgment
    created: bool


def judgment_record(
    *,
    annotator: Annotator,
    assignment_id: uuid.UUID,
    choices: Mapping[str, Choice],
    client_ms: int | None = None,
    comment: str = "",
    reasons: Sequence[str] = (),
    supersedes: uuid.UUID | None = None,
    in_conversation: bool = False,
) -> RecordedJudgment:
    """Record an annotator's choices (aspect key to "A", "B", "tie" or "both_bad", see `Choice`) exactly once.

    A live turn is judged in its conversation (`dialogues.turns`, which sets `in_conversation`), and never taken back,
    because the conversation has gone on.

    A late answer (its lease has ended) is stored. It counts if nobody has taken its place; over the quota it neither
    counts nor is paid. `supersedes` names an earlier judgment to replace, while it is in force and its block is open.

    Repeating the same choices returns the stored judgment. Other choices are a Conflict: dropping them silently would
    hide it. A closing batch requests a refit in the same transaction, so no closed batch is ever missed. Comments are
    stored only if the campaign asks for them.
    """
    now = timezone.now()
    comment = checked_text(comment, longest=2000, field="comment")
    # A conversation has opened the transaction: a savepoint in it would only cost time.
    with nullcontext() if in_conversation else write_transaction():
        assignment, asked = assignment_lock_with_content(annotator, assignment_id)
        if assignment.source == Assignment.Source.LIVE:
            _check_live(assignment, in_conversation=in_conversation, supersedes=supersedes)
        replaced = _replaced(assignment, supersedes) if supersedes else None
        unanswered = replaced is None and assignment.state == Assignment.State.ISSUED
        standing = None if unanswered else assignment.judgments.filter(superseded_by=None).first()
        if standing is not None and standing != replaced:
            _check_same(standing, _answers(asked, choices), replaced)
            return RecordedJudgment(standing, created=False)
        if replaced is not None:
            _check_undo(assignment, now)
        if assignment.state in {Assignment.State.RETURNED, Assignment.State.REMOVED}:
            raise returned_error()
        said = _AnswerInput(
            choices, client_ms, _comment_to_store(assignment, asked, comment), _checked_reasons(assignment, reasons)
        )
        judgment = _write(assignment, asked, said, now, supersedes=replaced)
        batch_close_due(judgment.batch, ends_issue=unanswered)
    return RecordedJudgment(judgment, created=True)


def _check_live(assignment: Assignment, *, in_conversation: bool, supersedes: uuid.UUID | None) -> None:
    if not in_conversation or supersedes is not None:
        raise Conflict(
            gettext("A turn of a conversation is judged once, in its conversation."),
            hint=gettext("Open the conversation: /api/v1/conversations/{conversation}."),
            code="in_conversation",
        )
    if assignment.state == Assignment.State.VOID:
        raise Conflict(
            gettext("This turn is not judged, because a chatbot failed."), hint=gettext("Go on."), code="void"
        )


def _replaced(assignment: Assignment, judgment_id: uuid.UUID) -> Judgment:
    replaced = assignment.judgments.filter(public_id=judgment_id).first()
    if replaced is None:
        raise NotFound(
            gettext("This assignment has no such judgment."), hint=gettext("Name the one you gave."), field="supersedes"
        )
    return replaced


def _check_same(standing: Judgment, answers: Sequence[Answer], replaced: Judgment | None) -> None:
    """Raise Conflict unless a repeated answer equals the stored one, including its superseded judgment."""
    if replaced is not None and standing.supersedes_id != replaced.pk:
        raise _superseded()
    stored = set(standing.answers.values_list("aspect", "candidate", "value"))
    if stored == {(answer.aspect_id, answer.candidate_id, answer.value) for answer in answers}:
        return
    if replaced is not None:
        raise _superseded()
    raise Conflict(
        gettext("You have answered this one otherwise, and that answer stands."),
        hint=gettext("To change it, take it back: name its judgment as supersedes."),
        code="answered",
    )


def _superseded() -> Conflict:
    return Conflict(
        gettext("This answer was taken back already; a newer one stands."),
        hint=gettext("To change that one, name its judgment as supersedes."),
        field="supersedes",
        code="superseded",
    )


def _is_over_quota(assignment: Assignment) -> bool:
    """Return whether a first answer exceeds the annotator's quota.

    Letting leases end must not earn more pay, nor give one person's taste more weight.

    An expired assignment takes no part of the quota at a claim. Annotators who lost the network continue, although
    their page does not show the expired ones. Without a new claim, they may still answer all of these.
    """
    quota = assignment.campaign.quota if assignment.state == Assignment.State.EXPIRED else None
    if quota is None:
        return False
    campaign, annotator = assignment.campaign_id, assignment.annotator_id
    # Lock before counting: a claim or another late answer may be committing at this moment.
    Enrolment.objects.select_for_update(no_key=True).filter(campaign=campaign, annotator=annotator).first()
    return quota_taken(campaign=campaign, annotator=annotator) >= quota


def _check_undo(assignment: Assignment, now: datetime) -> None:
    """Raise Conflict unless the answer's block is open: its lease has not ended and no next block was claimed."""
    issued = Assignment.objects.filter(campaign=assignment.campaign_id, annotator=assignment.annotator_id)
    newest = issued.exclude(issued_at=None).order_by("-issued_at").values_list("block", flat=True).first()
    over = assignment.lease_until is None or now > assignment.lease_until
    if over or assignment.block != newest:
        raise Conflict(
            gettext("This block is closed: its answers stand."),
            hint=gettext("An answer can be taken back until its lease ends or the next block is claimed."),
            code="block_closed",
        )


@dataclass(frozen=True, slots=True)
class _AnswerInput:
    """An annotator's input for an assignment."""

    choices: Mapping[str, Choice]
    client_ms: int | None
    comment: str
    reasons: Sequence[str]


def _comment_to_store(assignment: Assignment, asked: Asked, comment: str) -> str:
    """Return the comment, or "" if the campaign does not ask for comments: it must not store texts without a use.

    Raises InvalidInput if it requires one.
    """
    if asked.comment_required and not comment:
        raise InvalidInput(
            gettext("An answer needs a justification here."),
            hint=gettext("Say why in your own words."),
            field="comment",
            code="comment_missing",
        )
    return comment if comment and onboarding_of(assignment.campaign).comments else ""


def _checked_reasons(assignment: Assignment, reasons: Sequence[str]) -> list[str]:
    """Return the reasons without duplicates, in the campaign's order."""
    if not reasons:
        return []
    offered = onboarding_of(assignment.campaign).reasons
    if unknown := sorted(set(reasons) - set(offered)):
        raise InvalidInput(
            gettext("%(unknown)s is not a reason that this campaign offers.") % {"unknown": repr(unknown[0])},
            field="reasons",
        )
    return [reason for reason in offered if reason in reasons]


def _write(
    assignment: Assignment, asked: Asked, said: _AnswerInput, now: datetime, *, supersedes: Judgment | None
) -> Judgment:
    """Write the judgment's rows into the campaign's open batch. Lock the batch last: all answers need it."""
    answers = _answers(asked, said.choices)
    over_quota = supersedes.over_quota if supersedes else _is_over_quota(assignment)
    lease_over = assignment.lease_until is not None and now > assignment.lease_until
    judgment = Judgment(
        assignment=assignment,
        annotator_id=assignment.annotator_id,
        supersedes=supersedes,
        late=lease_over or assignment.state == Assignment.State.EXPIRED,
        over_quota=over_quota,
        client_ms=_plausible_ms(said.client_ms),
        answered_at=now,
    )
    fills = supersedes is None and not over_quota and _fills_place(assignment, now)
    if supersedes is None and not over_quota:
        work_time_record(assignment, now)
    _add_to_batch(judgment, answers, fills=fills)
    if fills:
        assignment.state, assignment.closed_at = Assignment.State.ANSWERED, now
    if said.reasons:
        JudgmentReason.objects.bulk_create([JudgmentReason(judgment=judgment, text=reason) for reason in said.reasons])
    if said.comment:
        Comment.objects.create(judgment=judgment, text=said.comment)
    return judgment


def _answers(asked: Asked, choices: Mapping[str, Choice]) -> list[Answer]:
    aspects = asked.aspects
    unknown, missing = set(choices) - set(aspects), set(aspects) - set(choices)
    if unknown or missing:
        name = sorted(unknown or missing)[0]
        stranger, lacking = (
            gettext("Aspect %(name)s is not an aspect of this campaign."),
            gettext("Aspect %(name)s is not answered."),
        )
        raise InvalidInput(
            (stranger if unknown else lacking) % {"name": repr(name)},
            hint=gettext("Answer each of: %(aspects)s.") % {"aspects": ", ".join(aspects)},
            field="answers",
        )
    (first, primary), *others = aspects.items()
    answers = answers_of(primary, choices[first], asked.candidates)
    chosen = {answer.candidate_id for answer in answers}
    selected = {label: candidate for label, candidate in asked.candidates.items() if candidate in chosen}
    for key, aspect in others:
        of = selected if aspect.scope == Aspect.Scope.SELECTED else asked.candidates
        answers += answers_of(aspect, choices[key], of)
    return answers


def _plausible_ms(client_ms: int | None) -> int | None:
    """Return the client's timing, or None if it is implausible. It never affects a decision."""
    return client_ms if client_ms is not None and 0 <= client_ms <= LONGEST_CLIENT_MS else None


def _fills_place(assignment: Assignment, now: datetime) -> bool:
    """Return whether this answer fills the place. A late one does not if the place was taken meanwhile."""
    if assignment.state != Assignment.State.EXPIRED:
        return True
    # Lock before checking: a claim of the queued assignment may be committing at this moment.
    others = Assignment.objects.select_for_update().filter(place=assignment.place_id).exclude(pk=assignment.pk)
    states = {other.state for other in others}
    if states & {Assignment.State.ISSUED, Assignment.State.ANSWERED}:
        return False
    queued = Assignment.objects.filter(place=assignment.place_id, state=Assignment.State.QUEUED)
    queued.update(state=Assignment.State.WITHDRAWN, closed_at=now)
    return True


# Batches ------------------------------------------------------------------------------------------------


def _add_to_batch(judgment: Judgment, answers: Sequence[Answer], *, fills: bool) -> None:
    """Write a judgment into the campaign's open batch, which stays locked. The first judgment opens a batch.

    Gold and over-quota answers are not counted: they add nothing to a fit and must not change its time.
    """
    campaign, ranks = judgment.assignment.campaign_id, judgment.assignment.purpose in RANKING_PURPOSES
    counted = int(ranks and not judgment.over_quota)
    while not judgment_add(judgment, answers, counted=counted, fills=fills):
        last = Batch.objects.filter(campaign=campaign).order_by("-number").values_list("number", flat=True).first()
        # Of two simultaneous first judgments, the second waits here and then joins the batch of the first.
        Batch.objects.bulk_create([Batch(campaign_id=campaign, number=(last or 0) + 1)], ignore_conflicts=True)
