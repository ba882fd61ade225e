"""Formatting that several pages of the console share."""

from collections.abc import Callable, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.presentation.formatting import whole


def duration(days: float) -> str:
    """Return a duration in a natural unit."""
    hours = 24 * days
    if hours < 1.5:
        n = max(1, round(60 * hours))
        return ngettext("about %(n)s minute", "about %(n)s minutes", n) % {"n": n}
    if hours < 36:
        return _("about %(n)s hours") % {"n": round(hours)}
    return _("about %(n)s days") % {"n": whole(round(days))}


def unchecked_text() -> str:
    """Return the warning about unverified arrivals from the owner's platform."""
    return _(
        "Anybody can make up an address of this study, judge, and collect completion codes. Require a secret in the "
        "address, or ask the operator of this site to set a token of the Prolific API."
    )


def left_out_text() -> str:
    """Return the warning for a visible board that only members judge and that has at most one other chatbot."""
    return _(
        "Where others see the board, members judge no chatbot of their own, and here there are no two others: "
        "invite people, let anybody judge, or keep the board private."
    )


def ranged(found: Mapping[str, float] | None, words: Callable[[float], str]) -> str:
    """Format a forecast: half of the campaigns end before the middle, four of five within the range."""
    if found is None:
        return "–"
    low, middle, high = (words(found[name]) for name in ("low", "middle", "high"))
    return middle if low == high else f"{middle} ({low} – {high})"
