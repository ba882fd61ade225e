"""The loop of campaigns that judge replies one at a time: screen, decide, queue. Nothing is fitted.

Every reply is wanted as often as the campaign says. So the plan is a list, and it changes only with the replies, with
exclusions and with the campaign's design. Replies of one conversation stand together in it, for one annotator.
"""

import logging
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from django.utils import timezone

from evalsite.boards.label_reports import label_report_of
from evalsite.boards.models import LabelReport
from evalsite.boards.services import board_default, board_tell
from evalsite.campaigns.models import Campaign, Entrant, PlanSpec
from evalsite.campaigns.services import design_hash, pilot_end, refit_request
from evalsite.chatbots.models import Reply
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.models import Batch
from evalsite.judgments.planned_items import Origin, PlannedItem, QueuePlan
from evalsite.judgments.queue import (
    QueueState,
    RemainingPlan,
    queue_close,
    queue_continue,
    queue_replace,
    queue_state_read,
    queue_withdraw,
)
from evalsite.judgments.selectors import counted_votes_version, judgments_spent
from evalsite.judgments.skips import items_closed
from evalsite.judgments.vetting_facts import newcomers_vet
from evalsite.prompts.models import Prompt
from evalsite.refits.designs import limit_rules
from evalsite.refits.gold_findings import gold_counts
from evalsite.refits.newcomers import newcomers_due
from evalsite.refits.planning import let_others_write
from evalsite.refits.screening import acts_on_board, changes_make, changes_wanted
from evalsite.refits.services import campaign_close, findings_request
from evalsite.scorecards.annotated_replies import conversations_annotated
from evalsite.scorecards.services import annotation_scorecard_request
from irt_engine.agreement import NO_GOLD
from scheduler import CampaignState
from scheduler.reasons import Reason

log = logging.getLogger(__name__)
POLICY = "in_order"
_BLOCKS_OF_ROUND = 1_000_000  # The blocks of later votes follow those of earlier ones.


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is left of a campaign: the items to queue, and whether the queue differs from them.

    mark: of the design that the plan is for. unfinished: items that lack votes.
    """

    mark: str
    asks: Sequence[PlannedItem]
    unfinished: int
    is_new: bool
    seen: QueueState


def refit_single(campaign: Campaign, lease: Lease) -> None:
    """Screen annotators, vet newcomers, and stop the campaign or bring its queue up to date."""
    gold = NO_GOLD if campaign.screening == Campaign.Screening.OFF else gold_counts(campaign)
    due = newcomers_due(campaign, gold)
    changes = changes_wanted(campaign, (), gold=gold)
    flagged = {change.annotator for change in changes if not change.lifted}
    campaign.refresh_from_db()
    plan = _planned(campaign) if campaign.collecting and not acts_on_board(campaign, changes) else None
    rest = None
    with write_transaction():
        lease.confirm()
        changes_make(campaign, changes)
        newcomers_vet(campaign=campaign, reasons={key: due[key] for key in due.keys() - flagged})
        if plan is not None:
            rest = _act(campaign, plan)
    while rest and plan is not None:
        let_others_write()
        with write_transaction():
            lease.confirm()
            rest = queue_continue(rest) if _is_current(campaign, plan) else None
    campaign.refresh_from_db()
    _report(campaign, lease)
    if not campaign.collecting:
        queue_withdraw(campaign=campaign)


def _report(campaign: Campaign, lease: Lease) -> None:
    """Store the shares of labels for the board, if the judgments have changed. Request scorecard and findings."""
    board, mark = board_default(campaign=campaign), counted_votes_version([campaign])
    if LabelReport.objects.filter(board=board, mark=mark).exists():
        return
    content = label_report_of(campaign, conversations_annotated(campaign))
    with write_transaction():
        lease.confirm()
        now = timezone.now()
        values = {"content": content, "mark": mark, "made_at": now}
        LabelReport.objects.update_or_create(board=board, defaults=values)
        board_tell(board, judgments=judgments_spent(campaign), at=now)
        annotation_scorecard_request(campaign)
        findings_request(campaign)


def _planned(campaign: Campaign) -> _Plan:
    mark, seen = design_hash(campaign), queue_state_read(campaign)
    closed = items_closed(campaign)
    wanted = campaign.votes_per_item
    unfinished = [one for one in _replies(campaign) if seen.counts.judged.get(one.item, 0) < wanted]
    asked = [one for one in unfinished if one.item not in closed]
    missing = Counter({one.item: max(0, wanted - seen.of_item[one.item]) for one in asked})
    queued = Counter(one.item for one in seen.waiting.values())
    is_new = campaign.plan.queued_design != mark or (
        +missing != queued and (seen.left is None or sum(queued.values()) < seen.left)
    )
    asks = list(_in_blocks(asked, campaign)) if is_new else []
    return _Plan(mark, asks, len(unfinished), is_new, seen)


def _replies(campaign: Campaign) -> list[PlannedItem]:
    """Return the replies to judge, of active chatbots to prompts in use.

    They come by prompt. Of several replies to one prompt, each comes in a round of its own, because a block has no
    prompt twice. The rounds mix the chatbots.
    """
    active = campaign.entrants.filter(state=Entrant.State.ACTIVE)
    entrants = {one.version_id: one for one in active.order_by("pk")}
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
    prompts = prompts.exclude(pk__in=campaign.retirements.values("prompt"))
    known = conversations_annotated(campaign)
    in_use = {one.pk: one for one in prompts.order_by("pk") if one.origin != Prompt.Origin.LIVE or one.pk in known}
    replies = Reply.objects.shown() | Reply.objects.filter(origin=Reply.Origin.LIVE, corrected_by__isnull=True)
    found = replies.filter(version__in=entrants, prompt__in=prompts).order_by("prompt", "version")
    by_prompt: dict[int, list[int]] = {}
    for version, prompt in found.values_list("version", "prompt"):
        by_prompt.setdefault(prompt, []).append(version)
    votes = campaign.votes_per_item
    rounds = [
        ((place - number) % len(versions), number, PlannedItem((entrants[version],), in_use[prompt], 1.0, votes))
        for number, (prompt, versions) in enumerate(by_prompt.items())
        for place, version in enumerate(versions)
        if prompt in in_use
    ]
    return [item for _, _, item in sorted(rounds, key=itemgetter(0, 1))]


def _in_blocks(items: Sequence[PlannedItem], campaign: Campaign) -> Iterator[PlannedItem]:
    """Yield each item once for each vote, with the number of its block. The first votes of all items come first."""
    blocks = _packed(items, conversations_annotated(campaign), campaign.block_size)
    for vote in range(campaign.votes_per_item):
        for number, block in enumerate(blocks):
            for one in block:
                yield replace(one, together=vote * _BLOCKS_OF_ROUND + number)


def _packed(items: Sequence[PlannedItem], conversations: Mapping[int, Hashable], size: int) -> list[list[PlannedItem]]:
    """Return blocks of at most `size` items, in their order.

    A block has whole conversations, as many as fit. One that is longer than a block is cut.
    """
    blocks: list[list[PlannedItem]] = []
    for _, group in groupby(items, key=lambda one: conversations.get(one.prompt.pk, one.item)):
        replies = list(group)
        for start in range(0, len(replies), size):
            part = replies[start : start + size]
            if blocks and len(blocks[-1]) + len(part) <= size:
                blocks[-1] += part
            else:
                blocks.append(part)
    return blocks


def _act(campaign: Campaign, plan: _Plan) -> RemainingPlan | None:
    """Stop the campaign, or begin to replace its queue. The campaign is locked and read again."""
    now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    if not now.collecting:
        queue_close(campaign=now)
        return None
    if not _is_current(now, plan):
        return None
    if (reason := _stop_reason(now, plan)) is not None:
        campaign_close(campaign=now, reason=reason)
        log.info("campaign %s stopped: %s", now.slug, reason)
        return None
    if now.state == Campaign.State.PILOT and _pilot_is_over(now):
        pilot_end(campaign=now)
        queue_close(campaign=now)
        return None
    return _queue(now, plan) if plan.is_new else None


def _is_current(campaign: Campaign, plan: _Plan) -> bool:
    """Return whether the locked campaign still needs this plan. If its design has changed, request another refit."""
    if campaign.collecting and design_hash(campaign) != plan.mark:
        refit_request(campaign)
        return False
    return bool(campaign.collecting)


def _stop_reason(campaign: Campaign, plan: _Plan) -> Reason | None:
    """Return why the campaign ends; None if it goes on."""
    state = CampaignState(chatbots=(), prompts=(), judgments=judgments_spent(campaign), now=timezone.now())
    for rule in limit_rules(campaign):
        verdict = rule.decide(state)
        if verdict.stop:
            return verdict.reason
    if plan.unfinished or plan.seen.counts.pending:
        return None
    return Reason("nothing_left")


def _pilot_is_over(campaign: Campaign) -> bool:
    waiting = Batch.objects.filter(campaign=campaign, state=Batch.State.OPEN, judgments__isnull=False)
    return judgments_spent(campaign) >= campaign.pilot.judgments and not waiting.exists()


def _queue(campaign: Campaign, plan: _Plan) -> RemainingPlan:
    PlanSpec.objects.filter(campaign=campaign).update(queued_design=plan.mark)
    return queue_replace(campaign=campaign, plan=QueuePlan(plan.asks, Origin(POLICY)), seen=plan.seen)
