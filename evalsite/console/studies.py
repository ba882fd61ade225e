"""Studies in the console: the form with its table of arms, and the progress of each arm."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.selectors import entrants_active
from evalsite.campaigns.studies import MOST_REPETITIONS, Arms, arms_planned
from evalsite.console.live_forms import SETTINGS
from evalsite.operations.studies import ArmProgress, StudyProgress, entrants_chosen
from evalsite.presentation.formatting import whole

SETS = 4  # of chatbots, in the form; the API takes more


class StudyForm(forms.Form):
    """The arms of a study: settings, sets of chatbots, repetitions."""

    name = forms.CharField(
        label=gettext_lazy("Name of the study"), help_text=gettext_lazy("Annotators see it."), max_length=200
    )
    settings = forms.MultipleChoiceField(
        label=gettext_lazy("Settings"),
        choices=[(value, name) for value, (name, _about) in SETTINGS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    repetitions = forms.IntegerField(
        label=gettext_lazy("Repetitions"),
        help_text=gettext_lazy("Each setting with each set of chatbots has so many arms."),
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
    )

    def __init__(self, draft: Campaign, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(str(one.public_id), str(one.version)) for one in entrants_active(draft)]
        for number in range(SETS):
            self.fields[f"set_{number}"] = forms.MultipleChoiceField(
                label=_("Set %(n)s") % {"n": number + 1},
                choices=names,
                required=False,
                widget=forms.CheckboxSelectMultiple,
            )

    def plain_fields(self) -> list[forms.BoundField]:
        """Return the fields beside the sets of chatbots."""
        return [self[name] for name in self.base_fields]

    def sets(self) -> list[forms.BoundField]:
        """Return the fields of the sets: the columns of the table."""
        return [self[f"set_{number}"] for number in range(SETS)]

    def rows(self) -> list[tuple[str, list[Any]]]:
        """Return each chatbot with its checkbox in every set."""
        cells = zip(*self.sets(), strict=True)
        return [
            (str(row[0].choice_label), [_with_name(cell, number) for number, cell in enumerate(row)]) for row in cells
        ]

    def given(self) -> dict[str, Any]:
        """Return the arguments of `study_make`, without empty sets. The form is valid."""
        cleaned = self.cleaned_data
        sets = [[uuid.UUID(one) for one in cleaned[f"set_{number}"]] for number in range(SETS)]
        return {
            "name": cleaned["name"],
            "settings": cleaned["settings"],
            "chatbot_sets": [one for one in sets if one],
            "repetitions": cleaned["repetitions"],
        }


def _with_name(cell: Any, number: int) -> Any:
    """Name a checkbox for those who do not see the table around it."""
    cell.data["attrs"]["aria-label"] = _("Set %(n)s: %(chatbot)s") % {"n": number + 1, "chatbot": cell.choice_label}
    return cell


def arms_table(draft: Campaign, given: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return a row for each arm that the study would have: setting, chatbots, repetition."""
    arms = Arms(given["settings"], entrants_chosen(draft, given["chatbot_sets"]), given["repetitions"])
    entrants = list(entrants_active(draft))
    planned = arms_planned(campaign=draft, arms=arms)
    return [(_setting(one.setting), _names(entrants, one.chatbots), whole(one.repetition)) for one in planned]


def _names(entrants: Iterable[Entrant], chosen: Iterable[int]) -> str:
    return ", ".join(one.name for one in entrants if one.pk in set(chosen))


def _setting(setting: str) -> str:
    return str(SETTINGS[setting][0])


def study_context(study: StudyProgress) -> dict[str, Any]:
    """Return the progress of a study and of each arm."""
    hidden = [one for one in study.arms if one.campaign.visibility == Campaign.Visibility.PRIVATE]
    return {
        "study": study.row,
        "answer": study_answer(study),
        "address": study.address,
        "arms": list(_arm_rows(study.arms)),
        "drafts": study.drafts,
        "private": len(hidden),
    }


def study_answer(study: StudyProgress) -> str:
    """Return one line on how far a study is."""
    arms = ngettext("%(n)s arm", "%(n)s arms", len(study.arms)) % {"n": whole(len(study.arms))}
    if study.drafts == len(study.arms):
        return _("%(arms)s, not launched yet.") % {"arms": arms}
    collecting = sum(one.campaign.collecting for one in study.arms)
    return _("%(arms)s, %(collecting)s collecting; %(turns)s judged turns.") % {
        "arms": arms,
        "collecting": whole(collecting),
        "turns": whole(sum(one.turns for one in study.arms)),
    }


def _arm_rows(arms: Iterable[ArmProgress]) -> Iterator[dict[str, Any]]:
    for arm in arms:
        planned = _("%(turns)s of %(planned)s") % {"turns": whole(arm.turns), "planned": whole(arm.planned or 0)}
        yield {
            "campaign": arm.campaign,
            "setting": _setting(arm.setting),
            "repetition": whole(arm.repetition),
            "chatbots": arm.chatbots,
            "annotators": whole(arm.annotators),
            "conversations": whole(arm.conversations),
            "turns": planned if arm.planned else whole(arm.turns),
        }
