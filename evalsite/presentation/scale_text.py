"""Text about the learned scales of a fit."""

from collections.abc import Sequence

from django.utils.translation import gettext as _


def scales_text(names: Sequence[str]) -> str:
    """Return which learned scales are at their limit, for a sentence; empty for none."""
    words = {
        "log_discrimination": _("discriminations of prompts"),
        "log_gap": _("thresholds of prompts"),
        "tier": _("tiers"),
        "pair": _("pairs"),
        "side": _("the side"),
        "reply": _("replies"),
        "cell": _("comparisons"),
    }
    return ", ".join(words.get(name, name) for name in names)
