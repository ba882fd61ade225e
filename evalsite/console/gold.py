"""Gold items of a campaign: the list, results of annotators, and additions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.gold import gold_add, gold_bytes
from evalsite.campaigns.gold_file import GoldReport, gold_from, gold_import, gold_preview
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.questions import label_text
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.storage_quota import rows_admit
from evalsite.console.forms import GoldForm, SingleGoldForm
from evalsite.console.page_frame import CampaignContext
from evalsite.console.pending_uploads import file_keep
from evalsite.console.tables import ROWS, page_number, paged
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import uploads_drop, uploads_of
from evalsite.judgments.gold_answers import gold_given_back
from evalsite.operations.campaign_status import gold_findings_of
from evalsite.presentation.formatting import plain, share

ROWS_SHOWN = 200


def gold_context(desk: CampaignContext, query: QueryDict) -> dict[str, Any]:
    """Return the items with their failure rates, and the report on a pending file."""
    campaign, start = desk.campaign, page_number(query)
    items = GoldItem.objects.filter(campaign=campaign).select_related("withdrawal", "prompt", *ENTRANTS).order_by("pk")
    page = list(items[start : start + ROWS + 1])
    found, given_back = gold_findings_of(campaign, "items"), gold_given_back(campaign)
    given = sum(one["given"] for one in found.values())
    return {
        "rows": [_row(item, found.get(item.pk, {}), given_back.get(item.pk, 0)) for item in page[:ROWS]],
        "of": items.count(),
        "share": plain(100 * campaign.gold_share),
        "mark": None if campaign.gold_mark is None else plain(100 * campaign.gold_mark),
        "given": given,
        "passed": share(sum(one["passed"] for one in found.values()) / given) if given else "",
        "doubtful": sum(one["doubtful"] for one in found.values()),
        "may_withdraw": desk.may(Act.WITHDRAW_GOLD),
        **_report(campaign),
        **paged(query, start, bool(page[ROWS:])),
    }


ENTRANTS = ("entrant_a__version__chatbot", "entrant_b__version__chatbot")


def _row(item: GoldItem, found: Mapping[str, Any], given_back: int) -> dict[str, Any]:
    given = found.get("given", 0)
    withdrawal = getattr(item, "withdrawal", None)
    return {
        "id": item.public_id,
        "key": item.key,
        "text": (item.prompt.turns or [{"text": ""}])[-1]["text"],
        "a": str(item.entrant_a.version) if item.entrant_a else item.text_a,
        "b": str(item.entrant_b.version) if item.entrant_b else item.text_b,
        "right": [verdict_words().get(verdict) or label_text(verdict) for verdict in item.right],
        "given": given,
        "failed": share(1 - found["passed"] / given) if given else "–",
        "interval": f"{share(1 - found['upper'])} – {share(1 - found['lower'])}" if given else "",
        "doubtful": found.get("doubtful", False) and withdrawal is None,
        "given_back": given_back,
        "explanation": item.explanation,
        "withdrawn": None if withdrawal is None else withdrawal.reason,
    }


def verdict_words() -> dict[str, str]:
    return {"A": _("A is better"), "B": _("B is better"), "tie": _("Tie"), "both_bad": _("Both are bad")}


def _report(campaign: Campaign) -> dict[str, Any]:
    waiting = uploads_of(campaign.public_id, "gold")
    if not waiting:
        return {"report": None}
    report = gold_preview(campaign=campaign, content=bytes(waiting[0].content), name=waiting[0].name)
    return {
        "report": report,
        "file_name": waiting[0].name,
        "fates": sorted(report.rows, key=lambda row: row.fate != "refused")[:ROWS_SHOWN],
        "adds": report.count("add"),
        "same": report.count("same"),
        "refused": report.count("refused"),
    }


def gold_keep(campaign: Campaign, file: UploadedFile[bytes] | None, by: User) -> None:
    """Store a file for review (file_keep)."""

    def look(content: bytes, name: str) -> GoldReport:
        return gold_preview(campaign=campaign, content=content, name=name)

    file_keep(campaign, "gold", file, by, look)


def gold_import_pending(campaign: Campaign, by: User) -> int:
    """Import the pending files and return the number of added items."""
    admit_costly(what="upload", who=by.public_id)
    reports: list[GoldReport] = [
        gold_import(campaign=campaign, content=bytes(one.content), name=one.name, by=by)
        for one in uploads_of(campaign.public_id, "gold")
    ]
    uploads_drop(subject=campaign.public_id, purpose="gold")
    return sum(report.count("add") for report in reports)


def gold_form(campaign: Campaign, sent: QueryDict | None = None) -> GoldForm:
    """Return the form of a new item: of two replies, or of one where replies are judged one at a time."""
    if not campaign.is_single:
        return GoldForm(sent)
    answers = [(one, label_text(one)) for one in aspect_primary(campaign).choices]
    return SingleGoldForm(sent, answers=answers)


def gold_write(campaign: Campaign, form: GoldForm, by: User) -> None:
    """Add the item in the form.

    Raises InvalidInput, TooMany, TooLarge.
    """
    cells = {**form.cleaned_data, "right": list(form.cleaned_data["right"])}
    items = [gold_from(cells, cells["id"].strip())]
    rows_admit(campaign=campaign, sent=gold_bytes(items), by=by)
    gold_add(campaign=campaign, items=items, by=by)
