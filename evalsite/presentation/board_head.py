"""The head of a board's pages: headline, campaign state, and counts of judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from evalsite.boards.mode_results import mode_result_of
from evalsite.boards.rows import PRELIMINARY_BELOW, BoardRow
from evalsite.boards.selectors import BoardState
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.terminal import shown
from evalsite.presentation.filter_text import age_text, slice_text, slice_title
from evalsite.presentation.formatting import fixed, whole
from evalsite.presentation.links import Links
from evalsite.presentation.mode_notes import modes_note
from evalsite.presentation.ranking import Cut, organisation_text, stamp
from evalsite.submissions.selectors import accepts_now, settings_of

POLL_S = 2
POLL_STOPPED_S = 15


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    url: str
    here: bool


def board_context(board_state: BoardState, key: str, *, here: str = "board", cut: Cut | None = None) -> dict[str, Any]:
    """Return the context of the head and the live part of a board's pages.

    here: name of the open page.
    """
    rows, campaign = board_state.ranked, board_state.campaign
    cut, links = cut or Cut(), Links.of(board_state, key)
    return {
        "key": key,
        "board": _head(board_state, links),
        "tabs": _tabs(links, here, campaign),
        "slice": board_state.slice,
        "slice_name": slice_title(board_state.slice) if board_state.slice else "",
        "counted": slice_text(board_state.slice) if board_state.slice else "",
        "age": age_text(board_state.slice, board_state.age) if board_state.slice else "",
        "modes": modes_note(mode_result_of(campaign)) if here == "board" and _has_modes(board_state) else None,
        "query": links.query,
        "headline": headline(rows, more_to_come=campaign is None or campaign.collecting),
        "status": status(board_state),
        "counts": _counts(board_state, rows),
        "newcomers": board_state.newcomers,
        "placed_after": PRELIMINARY_BELOW,
        "stamp": stamp(board_state),
        "cut": cut,
        "poll_s": POLL_STOPPED_S if campaign and campaign.state == Campaign.State.STOPPED else POLL_S,
    }


def _has_modes(board_state: BoardState) -> bool:
    """Return whether the campaign may be linked to one of another mode. `board_get` knows it without a query."""
    campaign = board_state.campaign
    return campaign is not None and (campaign.is_live or getattr(board_state.board, "is_linked", True))


def page_etag(board_state: BoardState) -> str:
    """Return the ETag of this board state in the reader's language."""
    return f'{board_state.etag.removesuffix(chr(34))}.{get_language()}"'


def _tabs(links: Links, here: str, campaign: Campaign | None) -> list[Tab]:
    pages = [("board", _("Ranking")), ("board_charts", _("Charts"))]
    pages += [("board_method", _("Method")), ("board_data", _("Data"))]
    if campaign is not None and campaign.is_single:
        pages = [("board", _("Labels")), ("board_data", _("Data"))]
    tabs = [Tab(label, links.to(name), name == here) for name, label in pages]
    if campaign is None:
        return tabs
    of_whole = [("board_live_report", _("Live report"))] if campaign.is_live else []
    if campaign.shows_prompts:
        of_whole.append(("board_prompts", _("Prompts")))
    more = [Tab(label, Links(links.key).to(name), name == here) for name, label in of_whole]
    place = len(tabs) // 2
    return [*tabs[:place], *more, *tabs[place:]]


def _head(board_state: BoardState, links: Links) -> dict[str, Any]:
    campaign = board_state.campaign
    judged = campaign is not None and campaign.collecting and campaign.admission == Campaign.Admission.OPEN
    accepted = campaign is not None and accepts_now(campaign, settings_of(campaign))
    return {
        "name": board_state.board.name,
        "question": board_state.aspect.question,
        "description": campaign.description if campaign else "",
        "url": links.to("board"),
        "live_url": links.to("board_live"),
        "picture_url": links.to("board_picture"),
        "judge_url": reverse("judge", args=[_campaign_key(campaign, links.key)]) if campaign and judged else None,
        "submit_url": reverse("submit", args=[_campaign_key(campaign, links.key)]) if campaign and accepted else None,
        "campaign_state": campaign.state if campaign else "",
        "etag": page_etag(board_state),
    }


def _campaign_key(campaign: Campaign, key: str) -> str:
    """Return the key for links. A reader with the secret link gets secret links."""
    return campaign.slug if key == campaign.slug else str(campaign.public_id)


def _counts(board_state: BoardState, rows: list[BoardRow]) -> dict[str, Any]:
    updated: datetime | None = board_state.snapshot.created_at if board_state.snapshot else None
    return {
        "chatbots": chatbots_of(board_state),
        "of_one": _shared(rows, board_state.verified),
        "kind": kinds_text(rows),
        "judgments": board_state.tally.judgments,
        "annotators": board_state.tally.annotators,
        "ranked_judgments": board_state.snapshot.judgments if board_state.snapshot else 0,
        "updated_at": updated,
    }


def chatbots_of(board_state: BoardState) -> int:
    """Return the number of chatbots that take part, as the console counts them; in a slice, of those that it ranks."""
    if board_state.campaign is None or (board_state.slice and board_state.snapshot):
        return len(board_state.ranked)
    return board_state.campaign.entrants.filter(state=Entrant.State.ACTIVE).count()


def _shared(rows: list[BoardRow], verified: frozenset[str]) -> str:
    """Return the organisation if all rows share it, so that the rows need not repeat it."""
    names = {organisation_text(row, verified) for row in rows}
    return names.pop() if len(names) == 1 else ""


def kinds_text(rows: list[BoardRow]) -> str:
    """Return the kind if all rows share it, so that the rows need not repeat it."""
    kinds = {row["kind"] for row in rows}
    words = {"live": _("all live"), "static": _("all static")}
    return words.get(kinds.pop(), "") if len(kinds) == 1 else ""


def headline(rows: list[BoardRow], *, more_to_come: bool = True) -> str:
    """Return a headline that claims no more than the intervals support.

    "Yet" appears only if more judgments will come.
    """
    first = [row for row in rows if row["group"] == 1]
    if not first:
        return _("Nothing is ranked yet.")
    top = [shown(row["name"]) for row in first if row["rank_lower"] == 1]
    if len(top) > 1:
        apart = _("%(names)s cannot be told apart at the top yet.")
        return (apart if more_to_come else _("%(names)s cannot be told apart at the top.")) % {"names": _joined(top)}
    behind = [shown(row["name"]) for row in first if row["rank_lower"] == 2]
    lead = _("%(name)s leads") % {"name": shown(first[0]["name"])}
    if len(behind) < 2:
        return f"{lead}."
    rest = _("the next %(count)s cannot be told apart yet")
    rest = rest if more_to_come else _("the next %(count)s cannot be told apart")
    return f"{lead}; {rest % {'count': _number(len(behind))}}."


def _joined(names: list[str]) -> str:
    if len(names) > 4:
        return _("%(first)s and %(count)s others") % {"first": names[0], "count": _number(len(names) - 1)}
    return _("%(first)s and %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}


def _number(count: int) -> str:
    words = [
        _("no"),
        _("one"),
        _("two"),
        _("three"),
        _("four"),
        _("five"),
        _("six"),
        _("seven"),
        _("eight"),
        _("nine"),
    ]
    return words[count] if count < len(words) else str(count)


def status(board_state: BoardState) -> dict[str, Any]:
    """Return the campaign's state in one line, with the progress to its target if it has one."""
    campaign = board_state.campaign
    state = campaign.state if campaign else ""
    evidence = board_state.evidence
    progress = evidence.get("progress")
    percent = None if progress is None else round(100 * min(1.0, max(0.0, progress)))
    if campaign is not None and campaign.state == Campaign.State.STOPPED:
        return {"text": _stopped(campaign, board_state.after_stop), "progress": percent, "state": state}
    if campaign is not None and not campaign.collecting:
        return {"text": str(campaign.get_state_display()), "progress": percent, "state": state}
    text = _collecting(evidence, percent, again=campaign is not None and campaign.opened_again)
    if board_state.slice and percent is not None:  # A target is for the whole board.
        text = _("whole board: %(status)s") % {"status": text}
    return {"text": text, "progress": percent, "state": state}


def _stopped(campaign: Campaign, after: int) -> str:
    """Return the reason of the stop and the number of late judgments.

    Late judgments can move the SE slightly above the target again.
    """
    head = _("waiting for new chatbots: %(reason)s") if campaign.waits_for_chatbots else _("stopped: %(reason)s")
    text = head % {"reason": campaign.stop_reason_text or _("by its owner")}
    if not after:
        return text
    more = ngettext(
        "includes %(count)s judgment that was in progress at the time",
        "includes %(count)s judgments that were in progress at the time",
        after,
    )
    return f"{text}; {more % {'count': whole(after)}}"


def _spent(evidence: Mapping[str, float], again: bool) -> str:
    """Return the share of the budget that is spent, if nothing else describes the progress."""
    if "budget" not in evidence:
        return ""
    words = (
        _(": %(n)s of %(budget)s judgments since it opened again") if again else _(": %(n)s of %(budget)s judgments")
    )
    return words % {
        "n": whole(round(evidence["judgments"])),
        "budget": whole(round(evidence["budget"])),
    }


def _collecting(evidence: Mapping[str, float], percent: int | None, *, again: bool) -> str:
    if percent is None or "se" not in evidence:
        return _("collecting%(of)s") % {"of": _spent(evidence, again)}
    text = _("collecting, %(percent)s %%: SE %(se)s, target %(target)s") % {
        "percent": percent,
        "se": fixed(evidence["se"]),
        "target": fixed(evidence["target"]),
    }
    if "judgments_to_go" not in evidence or evidence.get("out_of_reach"):
        return text
    count = round(evidence["judgments_to_go"])
    left = ngettext("about %(count)s judgment to go", "about %(count)s judgments to go", count) % {
        "count": whole(count)
    }
    return f"{text}; {left}"
