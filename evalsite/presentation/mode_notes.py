"""What readers of a board are told about judgments of the same chatbots in another mode."""

from typing import NamedTuple

from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.boards.mode_results import SMALLEST_DIFFERENCE, ModeResult
from evalsite.campaigns.models import Campaign
from evalsite.presentation.formatting import plain
from evalsite.presentation.report_text import number, p_value


class ModesNote(NamedTuple):
    """A sentence, and the boards of both campaigns as far as everybody may see them: name and address."""

    text: str
    boards: list[tuple[str, str]]


def modes_note(result: ModeResult | None) -> ModesNote | None:
    """Return the note; None without another mode."""
    if result is None:
        return None
    public = [one for one in (result.live, result.static) if one.visibility == Campaign.Visibility.PUBLIC]
    return ModesNote(_text(result), [(one.name, reverse("board", args=[one.slug])) for one in public])


def _text(result: ModeResult) -> str:
    if result.test is None or not result.enough:
        text = _(
            "The same chatbots are judged on fixed prompts and in conversations. There are two boards until a test "
            "could find a difference of %(difference)s logits."
        )
        return text % {"difference": plain(SMALLEST_DIFFERENCE)}
    together = _(
        "One board ranks judgments of fixed prompts and of conversations together: a test finds no difference "
        "(%(test)s, p = %(p)s)."
    )
    apart = _(
        "Judgments of fixed prompts and of conversations rank the same chatbots differently (%(test)s, p = %(p)s). "
        "So there are two boards."
    )
    test = {"test": f"{result.test['test']} {number(result.test['statistic'])}", "p": p_value(result.test["p"])}
    return (together if result.together else apart) % test
