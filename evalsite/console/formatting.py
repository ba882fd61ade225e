"""Small words that several pages of the console share."""

from collections.abc import Callable, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.presentation.formatting import whole


def duration(days: float) -> str:
    """A length of time in the unit that a person would use."""
    hours = 24 * days
    if hours < 1.5:
        n = max(1, round(60 * hours))
        return ngettext("about %(n)s minute", "about %(n)s minutes", n) % {"n": n}
    if hours < 36:
        return _("about %(n)s hours") % {"n": round(hours)}
    return _("about %(n)s days") % {"n": whole(round(days))}


def unchecked_text() -> str:
    """What an owner is told whose platform's arrivals nobody checks."""
    return _(
        "Anybody can make up an address of this study, judge, and collect completion codes. Require a secret in the "
        "address, or ask who runs this site to set a token of the Prolific API."
    )


def left_out_text() -> str:
    """Of a board that others see, judged by members alone, whose chatbots all but one are their own."""
    return _(
        "Where others see the board, members judge no chatbot of their own, and here there are no two others: "
        "invite people, let anybody judge, or keep the board private."
    )


def ranged(found: Mapping[str, float] | None, words: Callable[[float], str]) -> str:
    """Half of campaigns end before the middle, four of five between the ends."""
    if found is None:
        return "–"
    low, middle, high = (words(found[name]) for name in ("low", "middle", "high"))
    return middle if low == high else f"{middle} ({low} – {high})"
