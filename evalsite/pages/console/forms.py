"""The forms of a set-up: what may stand in each field, in words of the person who fills it in."""

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design
from evalsite.core.rowfiles import LONGEST_CELL

QUESTION = Design().aspects[0].question


class GoalForm(forms.Form):
    """What is asked."""

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
        max_length=300,
        initial=QUESTION,
    )
    allow_tie = forms.BooleanField(label=_("They may say that both are equally good"), required=False, initial=True)
    allow_both_bad = forms.BooleanField(label=_("They may say that both are bad"), required=False, initial=True)


class AnnotatorsForm(forms.Form):
    """Who judges, how much, for what."""

    visibility = forms.ChoiceField(label=_("Who sees the board"), choices=Campaign.Visibility.choices)
    shows_prompts = forms.BooleanField(
        label=_("Readers of the board may read its prompts"),
        help_text=_("Each prompt gets a page: its text, how often it was judged, whom it tells apart."),
        required=False,
    )
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

    def clean_pay_per(self) -> str:
        return self.cleaned_data["pay_per"] or Campaign.PayPer.JUDGMENT


class GoldForm(forms.Form):
    """One gold item, written here."""

    id = forms.CharField(label=_("A name for it"), help_text=_("Only you see it."), max_length=200)
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


class PilotForm(forms.Form):
    """How large a pilot is."""

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
    """How much wider the limits are to be; those that the campaign does not have are left out by the page."""

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
    budget = forms.IntegerField(label=_("More judgments, in all"), required=False, max_value=2_000_000_000)
    deadline = forms.DateTimeField(
        label=_("Later deadline (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )


class PromptsForm(forms.Form):
    """A file, or what was pasted."""

    file = forms.FileField(
        label=_("A prompt file"),
        help_text=_("CSV or JSONL with prompt_id, text or turns, category; or a text file, a prompt a line."),
        required=False,
    )
    pasted = forms.CharField(
        label=_("Or paste prompts"),
        help_text=_("One a line."),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
