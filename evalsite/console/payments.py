"""Payments to the annotators of a campaign: amounts due and paid, for its owner."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.console.page_frame import CampaignContext
from evalsite.console.pending_uploads import file_keep
from evalsite.console.tables import ROWS, page_number, paged
from evalsite.core.errors import InvalidInput
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import uploads_drop, uploads_of
from evalsite.judgments.models import Payment
from evalsite.judgments.payments import (
    BonusRow,
    Rate,
    ShownAmounts,
    Statement,
    accounts_shown,
    annotators_of,
    bonuses_import,
    bonuses_preview,
    due_in_all,
    payments_mark,
    statements,
    totals,
)

SHOWN = 200
LAST = 10


def payments_context(desk: CampaignContext, query: QueryDict, *, anew: bool = False) -> dict[str, Any]:
    """Return statements of a page of annotators, totals, and the pending bonus list.

    anew: whether to bypass the cached accounts, which can be some seconds old.
    """
    campaign, start = desk.campaign, page_number(query)
    people = list(annotators_of(campaign)[start : start + ROWS + 1])
    books, shown = accounts_shown(campaign, anew=anew)
    return {
        "rows": [_row(one) for one in statements(campaign, people[:ROWS], books)],
        "totals": totals(books),
        "due": due_in_all(shown.owed),
        "people_due": len({who for who, _name in shown.owed}),
        "shown": _signed(campaign, shown),
        "payments": Payment.objects.filter(campaign=campaign).select_related("annotator", "by").order_by("-pk")[:LAST],
        **_bonuses(campaign),
        **paged(query, start, bool(people[ROWS:])),
    }


def _row(one: Statement) -> dict[str, Any]:
    return {"of": one, "name": str(one.annotator.public_id)[:8], "rates": rates_text(one.rates), "due": one.due}


def rates_text(rates: Sequence[Rate]) -> str:
    """Return the agreed pay: "0.1 a judgment"; several rates if it was changed."""
    words = {
        Campaign.PayPer.JUDGMENT.value: _("%(amount)s a judgment"),
        Campaign.PayPer.HOUR.value: _("%(amount)s an hour"),
    }
    return ", ".join(words[rate.per] % {"amount": number_format(f"{rate.amount.normalize():f}")} for rate in rates)


def _bonuses(campaign: Campaign) -> dict[str, Any]:
    waiting = uploads_of(campaign.public_id, "bonus")
    if not waiting:
        return {"fates": None}
    rows = bonuses_preview(campaign=campaign, content=bytes(waiting[0].content), name=waiting[0].name)
    return {
        "file_name": waiting[0].name,
        "fates": sorted(rows, key=lambda row: row.fate != "refused")[:SHOWN],
        "adds": sum(row.fate == "add" for row in rows),
        "same": sum(row.fate == "same" for row in rows),
        "refused": sum(row.fate == "refused" for row in rows),
    }


def bonuses_keep(campaign: Campaign, file: UploadedFile[bytes] | None, by: User) -> None:
    """Store a bonus list for review (file_keep)."""

    def look(content: bytes, name: str) -> list[BonusRow]:
        return bonuses_preview(campaign=campaign, content=content, name=name)

    file_keep(campaign, "bonus", file, by, look)


def bonuses_give_pending(campaign: Campaign, by: User) -> int:
    """Give the pending bonuses and return their number."""
    admit_costly(what="upload", who=by.public_id)
    given = 0
    for one in uploads_of(campaign.public_id, "bonus"):
        rows = bonuses_import(campaign=campaign, content=bytes(one.content), name=one.name, by=by)
        given += sum(row.fate == "add" for row in rows)
    uploads_drop(subject=campaign.public_id, purpose="bonus")
    return given


def mark_paid(campaign: Campaign, sent: QueryDict, by: User) -> int:
    """Mark the displayed due amounts as paid and return the number of payments."""
    shown = _unsigned(campaign, sent.get("shown", ""))
    return payments_mark(campaign=campaign, reference=sent.get("reference", ""), shown=shown, by=by)


def _signed(campaign: Campaign, shown: ShownAmounts) -> str:
    """Return the displayed amounts as a signed value for the form.

    Each annotator is marked as paid the displayed amount, even if more is due by then.
    """
    owed = [(who, name, str(amount)) for (who, name), amount in shown.owed.items()]
    return signing.dumps((shown.payments, owed), salt=f"payments:{campaign.public_id}", compress=True)


def _unsigned(campaign: Campaign, sent: str) -> ShownAmounts:
    try:
        payments, owed = signing.loads(sent, salt=f"payments:{campaign.public_id}")
    except signing.BadSignature:
        raise InvalidInput(_("This page was opened by a broken link."), field="shown") from None
    return ShownAmounts({(who, name): Decimal(amount) for who, name, amount in owed}, payments)
