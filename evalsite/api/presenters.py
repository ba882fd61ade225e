"""What goes out, as plain dictionaries."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from evalsite.boards.models import Board, Snapshot
from evalsite.boards.selectors import BoardState
from evalsite.campaigns.limits import LIMITS, limits_of
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import aspects_of
from evalsite.chatbots.files import ReplyReport, Submission
from evalsite.chatbots.models import Version
from evalsite.core.row_files import Fated
from evalsite.judgments.campaign_choice import OfferedBlock
from evalsite.judgments.claim_sql import AssignmentContent, shown_by
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.judgment_lists import Listed, ListedSkip
from evalsite.judgments.models import Assignment, Judgment
from evalsite.judgments.qualification import ATTEMPTS, Qualification
from evalsite.judgments.selectors import AnnotatorProgress
from evalsite.prompts.files import PromptReport
from evalsite.prompts.models import Prompt, PromptSet

POLL_S = 1.0
MOST_TOLD = 1000  # rows or ids of a file that one answer names


def assignment(row: Assignment, shown: AssignmentContent, aspects: list[dict[str, Any]]) -> dict[str, Any]:
    """An assignment as its annotator sees it: never who answered. `aspects`: its campaign's."""
    return {
        "id": str(row.public_id),
        "lease_until": _moment(row.lease_until),
        "context": {"prompt": shown.prompt, "category": shown.category, "turns": shown.turns},
        "candidates": [
            {"position": position, "label": "AB"[position], "text": text} for position, text in enumerate(shown.texts)
        ],
        "aspects": aspects,
    }


def block(rows: list[Assignment], of: Campaign, wait: Wait | None = None) -> dict[str, Any]:
    aspects = _aspects(aspects_of(of.pk)) if rows else []
    shown = shown_by(rows)
    return {
        "assignments": [assignment(row, shown[row.pk], aspects) for row in rows],
        "campaign": {"state": of.state, "retry_after_s": POLL_S, **_why_empty(wait)},
    }


def _why_empty(wait: Wait | None) -> dict[str, Any]:
    return {"reason": wait.value if wait else None, "hint": wait.hint if wait else ""}


def work(found: OfferedBlock) -> dict[str, Any]:
    """A block as `block` has it, and whose it is."""
    if found.campaign is None:
        campaign = {"id": None, "slug": None, "state": found.state, "retry_after_s": POLL_S, **_why_empty(found.wait)}
        return {"assignments": [], "campaign": campaign}
    shown = block([*found.block], found.campaign)
    whose = {"id": str(found.campaign.public_id), "slug": found.campaign.slug}
    return {**shown, "campaign": {**whose, **shown["campaign"]}}


def qualification(found: Qualification, aspect: Aspect) -> dict[str, Any]:
    """Where an annotator stands, and what is asked next."""
    state = "passed" if found.passed else "failed" if found.screened_out else "open"
    item = found.item
    asked = item and {
        "item": item.pk,
        "attempt": found.attempt,
        "question": aspect.question,
        "choices": aspect.choices,
        "turns": item.turns,
        "candidates": [{"label": "A", "text": item.reply_a}, {"label": "B", "text": item.reply_b}],
    }
    return {
        "state": state,
        "answered": found.answered,
        "of": found.of,
        "pass_mark": found.pass_mark,
        "attempts": ATTEMPTS,
        "next": asked,
    }


def judgment(row: Judgment) -> dict[str, Any]:
    supersedes = _id(row.supersedes.public_id) if row.supersedes else None
    answered_at = _moment(row.answered_at)
    return {
        "judgment": str(row.public_id),
        "supersedes": supersedes,
        "late": row.late,
        "counts": row.counts,
        "paid": row.is_paid,
        "answered_at": answered_at,
    }


def progress(row: AnnotatorProgress) -> dict[str, Any]:
    pay = [{"currency": currency, "amount": f"{amount:.4f}"} for currency, amount in row.pay.items()]
    return {"judgments": row.judgments, "open": row.open, "quota": row.quota, "pay": pay}


def campaign(row: Campaign) -> dict[str, Any]:
    return {
        "id": str(row.public_id),
        "slug": row.slug,
        "name": row.name,
        "description": row.description,
        "organisation": row.organisation.name,
        "organisation_verified": row.organisation.verified_at is not None,
        "state": row.state,
        "stop_reason": row.stop_reason,
        "visibility": row.visibility,
        "policy": row.policy,
        "fits_known_ties": row.fits_known_ties,
        "limits": _limits(row),
        "started_at": _moment(row.started_at),
        "stopped_at": _moment(row.stopped_at),
        "aspects": _aspects(row.rubric.aspects.all()),
    }


def _limits(row: Campaign) -> dict[str, Any]:
    found = limits_of(row.stopping)
    return {name: getattr(found, name) for name in LIMITS} | {"deadline": _moment(found.deadline)}


def entrant(row: Entrant) -> dict[str, Any]:
    """A chatbot that takes part in a campaign."""
    version = row.version
    return {
        "id": str(version.chatbot.public_id),
        "entrant": str(row.public_id),
        "name": version.chatbot.name,
        "organisation": version.chatbot.organisation.name,
        "organisation_verified": version.chatbot.organisation.verified_at is not None,
        "version": version.label,
        "kind": version.kind,
        "state": row.state,
        "joined_at": row.joined_at.isoformat(),
    }


def prompt(row: Prompt) -> dict[str, Any]:
    """A prompt; `turns` null means that its text is not known."""
    return {
        "id": str(row.public_id),
        "key": row.key,
        "revision": row.revision,
        "category": row.category,
        "turns": row.turns,
        "origin": row.origin,
    }


def listed(row: Listed, names: Mapping[int | None, str]) -> dict[str, Any]:
    """A judgment as lists show it."""
    return {
        "id": str(row.judgment),
        "supersedes": _id(row.supersedes),
        "assignment": str(row.assignment),
        "prompt": row.prompt,
        "category": row.category,
        "aspect": row.aspect,
        "candidates": [names[row.first], names[row.second]],
        "order_known": row.order_known,
        "choice": row.choice,
        "annotator": _id(row.annotator),
        "annotator_kind": row.annotator_kind,
        "counted": row.counted,
        "late": row.late,
        "client_ms": row.client_ms,
        "answered_at": _moment(row.answered_at),
        "recorded_at": row.recorded_at.isoformat(),
        "purpose": row.purpose,
        "policy": row.policy,
        "probability": row.probability,
        "over_quota": row.over_quota,
        "reasons": list(row.reasons),
        "comment": row.comment,
    }


def skip_listed(row: ListedSkip, names: Mapping[int | None, str]) -> dict[str, Any]:
    """A skip as lists show it."""
    return {
        "assignment": str(row.assignment),
        "prompt": row.prompt,
        "category": row.category,
        "candidates": [names[row.first], names[row.second]],
        "annotator": _id(row.annotator),
        "annotator_kind": row.annotator_kind,
        "reason": row.reason,
        "note": row.note,
        "purpose": row.purpose,
        "skipped_at": row.skipped_at.isoformat(),
    }


def board_listed(row: Board) -> dict[str, Any]:
    return {"id": str(row.public_id), "slug": row.slug, "name": row.name, "category": row.category}


def snapshot(row: Snapshot) -> dict[str, Any]:
    return {
        "id": str(row.public_id),
        "number": row.number,
        "created_at": row.created_at.isoformat(),
        "judgments": row.judgments,
        "converged": row.converged,
    }


def snapshot_whole(row: Snapshot) -> dict[str, Any]:
    """A snapshot with its rows, and what it was made of: the same input, engine and seed make the same again."""
    made_of = {"input_sha256": row.input_sha256, "engine": row.engine, "seed": row.seed}
    return {**snapshot(row), **made_of, "annotators": row.annotators, "chatbots": row.rows}


def _aspects(rows: Iterable[Aspect]) -> list[dict[str, Any]]:
    return [
        {"key": aspect.key, "question": aspect.question, "kind": aspect.kind, "choices": aspect.choices}
        for aspect in rows
    ]


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _id(public_id: uuid.UUID | None) -> str | None:
    return str(public_id) if public_id else None


def board(standing: BoardState) -> dict[str, Any]:
    """A board with its uncertainty: 95 % intervals, in logits relative to the mean of the group."""
    current, decision, campaign = standing.snapshot, standing.decision, standing.campaign
    piece = standing.slice
    return {
        "board": standing.board.slug,
        "name": standing.board.name,
        "question": standing.aspect.question,
        "state": campaign.state if campaign else None,
        "judgments": standing.tally.judgments,
        "annotators": standing.tally.annotators,
        "snapshot": current and snapshot(current),
        "decision": decision and {"stop": decision.stop, "reason": decision.reason, "evidence": decision.evidence},
        "filter": piece
        and {"by": piece.by, "value": piece.value, "judgments": piece.judgments, "trouble": piece.trouble},
        "chatbots": current.rows if current else [],
    }


def fates(rows: Iterable[Fated]) -> list[dict[str, Any]]:
    """What became of each row of a file, those that are refused first."""
    told = sorted(rows, key=lambda row: row.fate != "refused")[:MOST_TOLD]
    return [{"line": row.line, "prompt_id": row.key, "fate": row.fate, "problem": row.problem} for row in told]


def _passed_over(columns: Iterable[str]) -> list[str]:
    return [name[:200] for name in columns][:MOST_TOLD]


def prompts_sent(name: str, prompt_set: PromptSet | None, report: PromptReport) -> dict[str, Any]:
    """A prompt file, taken in or looked at. `prompt_set` None: one of this name would be made."""
    return {
        "prompt_set": {"id": _id(prompt_set.public_id) if prompt_set else None, "name": name},
        **{fate: report.count(fate) for fate in ("add", "same", "refused")},
        "rows": fates(report.rows),
        "passed_over": _passed_over(report.passed_over),
    }


def replies_seen(name: str, found: Submission) -> dict[str, Any]:
    """A reply file that was looked at: the version, and perhaps the chatbot, would be made."""
    chatbot = found.chatbot
    return {
        "chatbot": {"id": _id(chatbot.public_id) if chatbot else None, "name": name},
        "version": {"id": None, "label": found.label},
        **_replies(found.report),
    }


def replies_taken(version: Version, report: ReplyReport) -> dict[str, Any]:
    """A reply file that is a version now."""
    chatbot = version.chatbot
    return {
        "chatbot": {"id": str(chatbot.public_id), "name": chatbot.name},
        "version": {"id": str(version.public_id), "label": version.label},
        **_replies(report),
    }


def _replies(report: ReplyReport) -> dict[str, Any]:
    return {
        **{fate: report.count(fate) for fate in ("add", "refused")},
        "prompts": report.prompts,
        "without_reply": len(report.missing),
        "missing": list(report.missing[:MOST_TOLD]),
        "rows": fates(report.rows),
        "passed_over": _passed_over(report.passed_over),
    }
