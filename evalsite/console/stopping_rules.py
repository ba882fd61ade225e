"""Stopping rules of a campaign as text, in the order of scheduler.decide, with the progress to each."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.feasibility import infeasibility_text, out_of_reach
from evalsite.campaigns.limits import Limits
from evalsite.presentation.formatting import fixed, plain, whole


@dataclass(frozen=True, slots=True)
class Line:
    """A limit.

    now: progress; empty if unknown.
    trouble: why it cannot be reached.
    """

    name: str
    text: str
    now: str = ""
    trouble: str = ""


def limit_lines(limits: Limits, evidence: Mapping[str, float] | None = None, *, votes: int | None = None) -> list[Line]:
    """Return all limits in order.

    evidence: of the last decision. votes: judgments of each reply, in a campaign that judges single replies; it has no
    aim.
    """
    known = evidence or {}
    lines = [] if votes is not None else [_aim(limits, known)]
    if limits.budget is not None:
        lines.append(Line(_("Budget"), _("%(n)s judgments") % {"n": whole(limits.budget)}, _judged(known)))
    if limits.deadline is not None:
        lines.append(Line(_("Deadline"), moment(limits.deadline), _days_left(limits)))
    if votes is not None:
        words = ngettext("Every reply has %(n)s judgment", "Every reply has %(n)s judgments", votes)
        return [*lines, Line(_("Replies"), words % {"n": whole(votes)})]
    return [*lines, Line(_("Questions"), _("Nothing is left to ask"), _open(known))]


def _aim(limits: Limits, known: Mapping[str, float]) -> Line:
    now = (
        _("SE %(se)s, %(percent)s %% of the way to %(target)s")
        % {
            "se": fixed(known["se"]),
            "percent": round(100 * known.get("progress", 0.0)),
            "target": fixed(known["target"]),
        }
        if "se" in known and "target" in known
        else ""
    )
    found = out_of_reach(limits, known)
    trouble = infeasibility_text(found) if found else ""
    if limits.target_se is not None:
        words = _("The SE of every chatbot is at most %(se)s") % {"se": plain(limits.target_se)}
        return Line(_("Aim"), words, now, trouble)
    if limits.min_difference is not None:
        words = _(
            "Neighbours that differ by %(d)s are told apart with power %(power)s, alpha %(alpha)s, each pair by itself"
        )
        given = {"d": plain(limits.min_difference), "power": plain(limits.power), "alpha": plain(limits.alpha)}
        return Line(_("Aim"), words % given, now, trouble)
    return Line(_("Aim"), _("None: it goes on to its limits"))


def _judged(known: Mapping[str, float]) -> str:
    return _("%(n)s judged") % {"n": fixed(known["judgments"], 0)} if "judgments" in known else ""


def _days_left(limits: Limits) -> str:
    days = (limits.deadline - timezone.now()).total_seconds() / 86_400 if limits.deadline else 0.0
    return _("passed") if days <= 0 else _("%(n)s days left") % {"n": fixed(days, 1)}


def _open(known: Mapping[str, float]) -> str:
    return _("%(n)s questions are open") % {"n": fixed(known["open_items"], 0)} if "open_items" in known else ""


def moment(when: object) -> str:
    """Return a date and time in the format of the pages."""
    return f"{formats.date_format(when, 'DATETIME_FORMAT')} UTC"  # type: ignore[arg-type]
