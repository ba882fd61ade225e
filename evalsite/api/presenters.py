"""What goes out, as plain dictionaries."""

from typing import Any

from evalsite.adaptive.selectors import BoardState
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Assignment, Judgment
from evalsite.judgments.selectors import Progress

POLL_S = 1.0


def assignment(row: Assignment, campaign: Campaign) -> dict[str, Any]:
    """An assignment as its annotator sees it: never who answered."""
    prompt = row.place.prompt
    return {
        "id": str(row.public_id),
        "lease_until": row.lease_until.isoformat() if row.lease_until else None,
        "context": {"prompt": prompt.key, "category": prompt.category, "turns": prompt.turns},
        "candidates": [
            {"position": candidate.position, "label": candidate.label, "text": candidate.reply.text}
            for candidate in row.candidates.all()
        ],
        "aspects": [
            {"key": aspect.key, "question": aspect.question, "kind": aspect.kind, "choices": aspect.choices}
            for aspect in campaign.rubric.aspects.all()
        ],
    }


def block(rows: list[Assignment], campaign: Campaign) -> dict[str, Any]:
    return {
        "assignments": [assignment(row, campaign) for row in rows],
        "campaign": {"state": campaign.state, "retry_after_s": POLL_S},
    }


def judgment(row: Judgment) -> dict[str, Any]:
    answered = row.answered_at.isoformat() if row.answered_at else None
    supersedes = str(row.supersedes.public_id) if row.supersedes else None
    return {"judgment": str(row.public_id), "supersedes": supersedes, "late": row.late, "answered_at": answered}


def progress(row: Progress) -> dict[str, Any]:
    pay = [{"currency": currency, "amount": f"{amount:.4f}"} for currency, amount in row.pay.items()]
    return {"judgments": row.judgments, "open": row.open, "quota": row.quota, "pay": pay}


def board(standing: BoardState) -> dict[str, Any]:
    """A board with its uncertainty: 95 % intervals, in logits relative to the mean of the group."""
    snapshot, decision, campaign = standing.snapshot, standing.decision, standing.campaign
    return {
        "board": standing.board.slug,
        "name": standing.board.name,
        "question": standing.board.aspect.question,
        "state": campaign.state if campaign else None,
        "judgments": standing.tally.judgments,
        "annotators": standing.tally.annotators,
        "snapshot": snapshot
        and {
            "id": str(snapshot.public_id),
            "number": snapshot.number,
            "created_at": snapshot.created_at.isoformat(),
            "judgments": snapshot.judgments,
            "converged": snapshot.converged,
        },
        "decision": decision and {"stop": decision.stop, "reason": decision.reason, "evidence": decision.evidence},
        "chatbots": snapshot.rows if snapshot else [],
    }
