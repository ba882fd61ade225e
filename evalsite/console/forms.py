"""Forms of the set-up, with the allowed values of each field."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.models import Aspect, Campaign, Onboarding
from evalsite.campaigns.services import MOST_VETTING_VOTES, VETTING_VOTES, Design, NewAspect
from evalsite.core.encodings import ENCODINGS
from evalsite.core.row_files import LONGEST_CELL

LONGEST_QUESTION = 300
QUESTION = Design().aspects[0].question


PRIMARY = Design().aspects[0].key
MOST_OTHERS = 6


def _aspect(line: str) -> NewAspect:
    name, colon, question = (part.strip() for part in line.partition(":"))
    key = name if re.fullmatch("[-a-zA-Z0-9_]{1,60}", name) else slugify(name)[:60]
    if not colon or not key or not 0 < len(question) <= LONGEST_QUESTION:
        raise forms.ValidationError(
            _("Each line has a short name, a colon and a question of up to %(longest)s characters: %(line)s")
            % {"longest": LONGEST_QUESTION, "line": line[:60]}
        )
    return NewAspect(key, question)


def others_text(aspects: Iterable[Aspect]) -> str:
    """Return further questions in the format of the form."""
    return "\n".join(f"{one.key}: {one.question}" for one in aspects)


class GoalForm(forms.Form):
    """The goal: the question for annotators."""

    name = forms.CharField(label=_("Name of the campaign"), max_length=200)
    description = forms.CharField(
        label=_("What it is about"),
        help_text=_("Shown below the board. Optional."),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    question = forms.CharField(
        label=_("The question to annotators"),
        help_text=_("They read a prompt and two replies, and answer this."),
        max_length=LONGEST_QUESTION,
        initial=QUESTION,
    )
    allow_tie = forms.BooleanField(label=_("They may say that both are equally good"), required=False, initial=True)
    allow_both_bad = forms.BooleanField(label=_("They may say that both are bad"), required=False, initial=True)
    others = forms.CharField(
        label=_("Further questions about the same two replies"),
        help_text=_(
            "One a line, six at the most: a short name, a colon, the question. Such as “clear: Which is easier to "
            "follow?” Each gets a board of its own; comparisons are chosen for the question above."
        ),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    primary = PRIMARY  # The key of the question in the field above.

    def clean_others(self) -> tuple[NewAspect, ...] | None:
        """Parse the further questions with their keys. If the field is missing, they stay unchanged."""
        if "others" not in self.data:
            return None
        lines = [line.strip() for line in self.cleaned_data["others"].splitlines() if line.strip()]
        found = [_aspect(line) for line in lines]
        names = [self.primary, *(one.key for one in found)]
        if len(found) > MOST_OTHERS:
            raise forms.ValidationError(_("Ask at most %(most)s further questions.") % {"most": MOST_OTHERS})
        if twice := [name for name in names if names.count(name) > 1]:
            raise forms.ValidationError(_("The name %(name)s stands here twice.") % {"name": twice[0]})
        return tuple(found)


class ShownForm(forms.Form):
    """Visibility of the board and of its parts."""

    visibility = forms.ChoiceField(label=_("Who sees the board"), choices=Campaign.Visibility.choices)
    shows_prompts = forms.BooleanField(
        label=_("Readers of the board may read its prompts"),
        help_text=_("Each prompt gets a page: its text, how often it was judged, whom it tells apart."),
        required=False,
    )
    shows_replies = forms.BooleanField(
        label=_("and some replies, as examples"),
        help_text=_(
            "The page of each chatbot shows a few prompts with what it replied. Only where prompts may be read."
        ),
        required=False,
    )
    releases_data = forms.BooleanField(
        label=_("They may download the judgments"),
        help_text=_(
            "CSV, JSON Lines and Parquet with the names of chatbots and prompts, answers, times, and a pseudonym of "
            "each annotator that is used for this campaign alone. Comments are not in it."
        ),
        required=False,
    )
    licence = forms.CharField(
        label=_("Licence of the data"), help_text=_("Such as CC-BY-4.0. Optional."), required=False, max_length=100
    )


class AnnotatorsForm(ShownForm):
    """Visibility of the board, and admission, workload and pay of annotators."""

    admission = forms.ChoiceField(
        label=_("Who judges"),
        help_text=_("A private campaign is judged by members, whatever stands here."),
        choices=Campaign.Admission.choices,
    )
    quota = forms.IntegerField(
        label=_("At most, by one annotator"),
        help_text=_("Judgments. Empty: no limit."),
        required=False,
        min_value=1,
        max_value=1_000_000,
    )
    vetting_votes = forms.IntegerField(
        label=_("Votes that a new annotator gives before any of them counts"),
        help_text=_(
            "Where everybody may judge, anybody can send a crowd. The votes of a new annotator are provisional until"
            " they have given this many and no check speaks against them. Then all of them count. Members and invited"
            " people count at once. 0: everybody does."
        ),
        required=False,
        min_value=0,
        max_value=MOST_VETTING_VOTES,
        initial=VETTING_VOTES,
    )
    pay_rate = forms.DecimalField(label=_("Pay"), min_value=0, max_value=1000, max_digits=8, decimal_places=4)
    pay_per = forms.ChoiceField(
        label=_("It is paid"),
        help_text=_("An hour is counted from answer to answer, ten minutes for one at the most."),
        choices=Campaign.PayPer.choices,
        required=False,
    )
    currency = forms.RegexField(label=_("Currency"), help_text=_("Three letters: USD, EUR."), regex="^[A-Z]{3}$")

    per_day = forms.IntegerField(
        label=_("Judgments that you expect in a day"),
        help_text=_("Only the forecast uses it. An annotator gives about 60 in an hour."),
        required=False,
        min_value=1,
        max_value=10_000_000,
    )

    platform = forms.ChoiceField(
        label=_("Sent by a crowd platform"),
        help_text=_("It brings them to this campaign, whoever else judges."),
        choices=[
            (Onboarding.Platform.NONE, _("by none")),
            (Onboarding.Platform.PROLIFIC, "Prolific"),
            (Onboarding.Platform.MTURK, "Mechanical Turk"),
        ],
        required=False,
    )
    code_complete = forms.CharField(
        label=_("Its code for who is done"),
        help_text=_("As the platform's study has it."),
        required=False,
        max_length=40,
    )
    code_screened_out = forms.CharField(label=_("Its code for who is screened out"), required=False, max_length=40)
    code_failed = forms.CharField(label=_("Its code for who failed the checks"), required=False, max_length=40)
    instructions = forms.CharField(
        label=_("What annotators read first"),
        help_text=_("Markdown. Optional."),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    erasure = forms.ChoiceField(
        label=_("Judgments of somebody who asks to be erased"),
        help_text=_(
            "Annotators read it before they begin, and what was said to each is what is done: a change is for those "
            "who begin later. Where judgments stay, the board does not change. Where they are removed, it is made anew "
            "without them and may change; what they cost stays spent."
        ),
        choices=Onboarding.Erasure.choices,
        required=False,
    )
    consent_required = forms.BooleanField(
        label=_("Nobody begins without agreeing to what is said about the data"), required=False
    )

    def clean_vetting_votes(self) -> int:
        """Return the number. If the field is missing or empty, it stays unchanged."""
        given = self.cleaned_data["vetting_votes"]
        return int(self.initial.get("vetting_votes", VETTING_VOTES)) if given is None else int(given)

    def clean_pay_per(self) -> str:
        return self.cleaned_data["pay_per"] or Campaign.PayPer.JUDGMENT

    def clean_platform(self) -> str:
        return self.cleaned_data["platform"] or Onboarding.Platform.NONE

    def clean_erasure(self) -> str:
        """Return the promise about erasure. If the field is missing, the promise stays unchanged."""
        return str(self.cleaned_data["erasure"] or self.initial.get("erasure", Onboarding.Erasure.KEEP))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        sent = cleaned.get("platform", Onboarding.Platform.NONE) != Onboarding.Platform.NONE
        if sent and not cleaned.get("code_complete") and "code_complete" not in self.errors:
            self.add_error("code_complete", _("A crowd platform needs a completion code."))
        return cleaned


class ArrivalsForm(forms.Form):
    """Requirements for arrivals from a crowd platform."""

    secret_required = forms.BooleanField(
        label=_("The address of the study has a secret"),
        help_text=_("Nobody arrives by an address without it. Give the platform the whole address."),
        required=False,
    )
    study = forms.RegexField(
        label=_("Only from this study"),
        help_text=_("The study ID of Prolific, or the HIT ID of Mechanical Turk. Empty: from any."),
        regex=r"^[A-Za-z0-9_-]{1,200}$",
        required=False,
    )


class AnnotatorInviteForm(forms.Form):
    """An invitation link."""

    name = forms.CharField(
        label=_("Recipient"),
        help_text=_("A person or a group. Only people who may invite annotators to this campaign see it."),
        max_length=100,
    )
    at_most = forms.IntegerField(
        label=_("Maximum number of annotators"),
        help_text=_("Leave it empty for any number."),
        required=False,
        min_value=1,
        max_value=1_000_000,
    )
    days = forms.IntegerField(label=_("Days until it expires"), initial=30, min_value=1, max_value=366)


class QualificationForm(forms.Form):
    """A qualification comparison for annotators."""

    text = forms.CharField(label=_("Prompt"), max_length=LONGEST_CELL, widget=forms.Textarea(attrs={"rows": 2}))
    reply_a = forms.CharField(
        label=_("The one reply (A)"), widget=forms.Textarea(attrs={"rows": 3}), max_length=LONGEST_CELL
    )
    reply_b = forms.CharField(
        label=_("The other reply (B)"), widget=forms.Textarea(attrs={"rows": 3}), max_length=LONGEST_CELL
    )
    right = forms.ChoiceField(
        label=_("What a careful annotator answers"),
        choices=[("A", _("A is better")), ("B", _("B is better")), ("tie", _("Tie")), ("both_bad", _("Both are bad"))],
    )
    explanation = forms.CharField(
        label=_("Why: annotators read it when they have answered"),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=5000,
    )


class GoldForm(forms.Form):
    """A gold item entered in the form."""

    id = forms.CharField(
        label=_("A name for it"), help_text=_("The campaign's log names it. Annotators do not see it."), max_length=200
    )
    prompt_id = forms.CharField(
        label=_("A prompt of the campaign, by its id"), help_text=_("Or write one below."), required=False
    )
    text = forms.CharField(
        label=_("Or its own prompt"), required=False, widget=forms.Textarea(attrs={"rows": 2}), max_length=LONGEST_CELL
    )
    reply_a = forms.CharField(
        label=_("The one reply (A)"), widget=forms.Textarea(attrs={"rows": 3}), max_length=LONGEST_CELL
    )
    reply_b = forms.CharField(
        label=_("The other reply (B)"), widget=forms.Textarea(attrs={"rows": 3}), max_length=LONGEST_CELL
    )
    right = forms.MultipleChoiceField(
        label=_("What a careful annotator answers"),
        help_text=_("Each of the ticked answers passes. On which side a reply is shown is drawn anew each time."),
        choices=[("A", _("A is better")), ("B", _("B is better")), ("tie", _("Tie")), ("both_bad", _("Both are bad"))],
        widget=forms.CheckboxSelectMultiple,
    )
    explanation = forms.CharField(label=_("Why (optional; only you see it)"), required=False, max_length=2000)


class SingleGoldForm(GoldForm):
    """A gold item where replies are judged one at a time. `answers` are the question's values with their names."""

    reply_b = None  # type: ignore[assignment]  # Django removes a field of the base class that is None here.
    reply_a = forms.CharField(label=_("The reply"), widget=forms.Textarea(attrs={"rows": 3}), max_length=LONGEST_CELL)

    def __init__(self, data: QueryDict | None = None, *, answers: Sequence[tuple[str, str]]) -> None:
        super().__init__(data)
        right = self.fields["right"]
        assert isinstance(right, forms.MultipleChoiceField)  # noqa: S101
        right.choices, right.help_text = answers, _("Each of the ticked answers passes.")


class PilotForm(forms.Form):
    """The size of a pilot."""

    judgments = forms.IntegerField(
        label=_("Judgments"),
        help_text=_("After which it pauses by itself. 50 to 200 tell how long one takes and how often people tie."),
        required=False,
        min_value=1,
        max_value=2_000_000_000,
    )
    percent = forms.FloatField(
        label=_("Or a share of the campaign, in percent"),
        help_text=_("Of the budget; without one, of all questions."),
        required=False,
        min_value=0.01,
        max_value=99.99,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


class ExtendForm(forms.Form):
    """Wider limits. The page omits limits that the campaign does not have."""

    target_se = forms.FloatField(
        label=_("Smaller standard error of every chatbot"),
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    min_difference = forms.FloatField(
        label=_("Smaller difference that is to be found"),
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    power = forms.FloatField(
        label=_("Larger power: how often it is found where it is there"),
        required=False,
        max_value=0.999,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    alpha = forms.FloatField(
        label=_("Smaller alpha: how often one is found where there is none"),
        required=False,
        min_value=0.0001,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    budget = forms.IntegerField(label=_("More judgments, in all"), required=False, max_value=2_000_000_000)
    deadline = forms.DateTimeField(
        label=_("Later deadline (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )


class CallCapForm(forms.Form):
    """The cost cap of calls. The service refuses one that is not more than 0."""

    call_cap = forms.DecimalField(
        label=_("Cost cap, in the currency of the campaign"),
        help_text=_("Leave it empty for no cap."),
        required=False,
        max_digits=20,
        decimal_places=10,
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
    )


ENCODING_CHOICES = [
    ("", _("UTF-8 (usual)")),
    ("cp1252", _("Windows, Western (cp1252)")),
    ("utf-16", _("UTF-16 (“Unicode text” of Excel)")),
    *((name, name) for name in ENCODINGS if name not in {"utf-8", "cp1252", "utf-16"}),
]


def encoding_field() -> forms.ChoiceField:
    """Return the choice of a file's encoding. None is guessed."""
    return forms.ChoiceField(
        label=_("Encoding"),
        help_text=_("Choose another one only if the file is not in UTF-8."),
        choices=ENCODING_CHOICES,
        required=False,
    )


class VoteFileForm(forms.Form):
    """A vote file and its encoding."""

    file = forms.FileField(
        label=_("A file of votes"),
        help_text=_(
            "CSV, TSV, JSON, JSONL, Parquet or Excel, plain, zipped or gzipped, up to 20 MB. The usual arenas and "
            "annotation tools are recognised."
        ),
    )
    encoding = encoding_field()


class PromptsForm(forms.Form):
    """A file or pasted text."""

    file = forms.FileField(
        label=_("A prompt file"),
        help_text=_("CSV or JSONL with prompt_id, text or turns, category; or a text file, a prompt a line."),
        required=False,
    )
    encoding = encoding_field()
    pasted = forms.CharField(
        label=_("Or paste prompts"),
        help_text=_("One a line."),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
