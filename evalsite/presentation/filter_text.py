"""Text for the filters of a board."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.models import Slice
from evalsite.boards.slice_age import SliceAge


def label_of(piece: Slice) -> str:
    kinds = {"live": _("live"), "static": _("static")}
    if piece.by == Slice.By.MODE:
        return _("fixed prompts and conversations")
    if piece.by == Slice.By.STYLE:
        return _("equal style")
    return kinds.get(piece.value, piece.value) if piece.by == Slice.By.KIND else piece.value


def slice_title(piece: Slice) -> str:
    """Return the filter in two words, for titles."""
    words = {
        "aspect": _("aspect “%(value)s”"),
        "category": _("category “%(value)s”"),
        "kind": _("%(value)s chatbots"),
        "mode": "%(value)s",
        "style": "%(value)s",
    }
    return words[piece.by] % {"value": label_of(piece)}


def slice_text(piece: Slice) -> str:
    words = {
        "aspect": _("Ranked by the aspect “%(value)s” alone."),
        "category": _("Only judgments on prompts of the category “%(value)s” count here."),
        "kind": _("Only judgments between two %(value)s chatbots count here."),
        "mode": _("Judgments of fixed prompts and of live conversations count here together."),
        "style": _("Ranked as if all replies had the same length and markup."),
    }
    return words[piece.by] % {"value": label_of(piece)}


def age_text(piece: Slice, age: SliceAge) -> str:
    """Return how the slice's numbers differ in time from those of the whole board; empty if they do not."""
    if piece.trouble or age == SliceAge.SAME:  # A failed fit is explained beside the ranking.
        return ""
    if age == SliceAge.LATER:
        return _("These numbers are newer than those of the whole board. Its next update includes them.")
    return _("These numbers are of an earlier state than those of the whole board. They will be updated next.")


def behind_text() -> str:
    """Return the note beside numbers of several categories, if some are older than the whole board."""
    return _("Categories show an earlier state than the whole board. They will be updated next.")


def missing_text(piece: Slice) -> str:
    """Return why the slice has no ranking, and how much is missing."""
    if piece.by == Slice.By.MODE and not piece.enough:
        return _("Judgments of fixed prompts and of live conversations stand on two boards.")
    if piece.enough:
        return _("The last computation failed. The next update of the board repeats it.")
    so_far = ngettext("%(count)s judgment", "%(count)s judgments", piece.judgments) % {"count": piece.judgments}
    bots = ngettext("%(count)s chatbot", "%(count)s chatbots", piece.chatbots) % {"count": piece.chatbots}
    words = _("There are %(judgments)s of %(chatbots)s so far, and a ranking of its own needs %(least)s judgments.")
    return words % {"judgments": so_far, "chatbots": bots, "least": Slice.LEAST_JUDGMENTS}
