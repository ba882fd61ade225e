"""The forms of a set-up: what may stand in each field, in words of the person who fills it in."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.gold import MOST_SHARE
from evalsite.campaigns.limits import ALPHA, POWER, Limits
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design
from evalsite.core.errors import InvalidInput
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


class PercentField(forms.FloatField):
    """A share of 1, written, read and bounded in percent."""

    def prepare_value(self, value: Any) -> Any:
        return f"{100 * value:.10g}" if isinstance(value, float) else value

    def clean(self, value: Any) -> float | None:
        percent = super().clean(value)
        return None if percent is None else percent / 100


class QualityForm(forms.Form):
    """How carefully."""

    votes_per_item = forms.IntegerField(
        label=_("Judgments of one pair on one prompt"),
        help_text=_("1 learns most of the chatbots; 2 or 3 tell more of the annotators."),
        min_value=1,
        max_value=100,
    )
    block_size = forms.IntegerField(
        label=_("Comparisons that an annotator is given at a time"), min_value=1, max_value=100
    )
    lease_s = forms.IntegerField(
        label=_("Seconds to answer them in"),
        help_text=_("Then they are given to somebody else; a late answer is kept."),
        min_value=60,
        max_value=86_400,
    )
    gold_share = PercentField(
        label=_("Gold, in percent of what an annotator is given"),
        help_text=_("Comparisons with a known answer, mixed in unseen. They are paid, and rank nobody. 0: none."),
        min_value=0,
        max_value=100 * MOST_SHARE,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    gold_mark = PercentField(
        label=_("Gold that a careful annotator passes, in percent"),
        help_text=_("Who is shown to pass less is proposed for exclusion. Empty: gold excludes nobody."),
        min_value=1,
        max_value=99,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )

    def clean_gold_share(self) -> float:
        return self.cleaned_data["gold_share"] or 0.0

    batch_size = forms.IntegerField(
        label=_("Judgments between two refits"),
        help_text=_("After each refit the next questions are chosen anew."),
        min_value=1,
        max_value=100_000,
    )


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


class StoppingForm(forms.Form):
    """When it has learnt enough, and how far it may go."""

    target_se = forms.FloatField(
        label=_("Every chatbot's ability is known to this standard error"),
        help_text=_("In logits. 0.15 tells chatbots apart that differ by about 0.4: a 60 to 40 preference."),
        min_value=0.01,
        max_value=2.0,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    min_difference = forms.FloatField(
        label=_("Or: the smallest difference between neighbours that is to be found"),
        help_text=_(
            "In logits. 0.4 is a 60 to 40 preference. For each pair of neighbours by itself: a board with many pairs"
            " asks for more before it marks one."
        ),
        min_value=0.01,
        max_value=10.0,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    power = forms.FloatField(
        label=_("With power"),
        help_text=_("How often it is found where it is there."),
        min_value=0.5,
        max_value=0.999,
        required=False,
        initial=POWER,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    alpha = forms.FloatField(
        label=_("At level alpha"),
        help_text=_("How often one is found where there is none."),
        min_value=0.0001,
        max_value=0.3,
        required=False,
        initial=ALPHA,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    budget = forms.IntegerField(
        label=_("Judgments at the most"),
        help_text=_("The campaign stops there, whatever it knows. Empty: no limit."),
        required=False,
        min_value=1,
        max_value=2_000_000_000,
    )
    deadline = forms.DateTimeField(
        label=_("Deadline (UTC)"),
        help_text=_("The campaign stops then, whatever it knows. Empty: none."),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        cleaned.update({"alpha": cleaned.get("alpha") or ALPHA, "power": cleaned.get("power") or POWER})
        try:
            limits = Limits(**cleaned)
        except InvalidInput as error:
            self.add_error(error.field, f"{error.message} {error.hint}")
            return cleaned
        if not limits.ends:
            raise forms.ValidationError(_("Give an aim, or a budget, or a deadline: it must end somewhere."))
        if limits.deadline is not None and limits.deadline <= timezone.now():
            self.add_error("deadline", _("This moment has passed."))
        return cleaned


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
