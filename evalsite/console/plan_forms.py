"""Forms of quality settings and stopping rules, with their allowed values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.gold import MOST_SHARE
from evalsite.campaigns.limits import ALPHA, LIMITS, POWER, Limits
from evalsite.campaigns.models import Campaign, Entrant, PlanSpec
from evalsite.campaigns.plans import (
    LONGEST_LEASE_S,
    MOST_IN_A_BATCH,
    MOST_IN_A_BLOCK,
    MOST_OVERLAP_VOTES,
    MOST_TIERS,
    MOST_VOTES_PER_ITEM,
)
from evalsite.campaigns.services import Design
from evalsite.core.errors import InvalidInput
from evalsite.core.terminal import shown

OVERLAP_VOTES = Design().plan.overlap_votes
# Targets and screening modes: name and meaning.
LEARNT = {
    PlanSpec.Target.AIM: (
        _("What its aim asks for"),
        _("Whatever brings the aim above nearer; without an aim, who is above whom."),
    ),
    PlanSpec.Target.RANKING: (_("Who is above whom"), _("The order of all chatbots.")),
    PlanSpec.Target.PRECISION: (
        _("How good each chatbot is"),
        _("Every chatbot's ability; each counts alike."),
    ),
    PlanSpec.Target.TOP: (
        _("Which are the best"),
        _("The border between the best and the others; the order on either side counts little."),
    ),
    PlanSpec.Target.NEWCOMER: (
        _("Where one chatbot stands"),
        _("Its place among the others, whose own order counts little."),
    ),
}
SCREENINGS = {
    Campaign.Screening.PROPOSE: (
        _("Propose to exclude them"),
        _("It stands beside the annotator, with the reason; nobody is excluded unless a person does it."),
    ),
    Campaign.Screening.ACT: (
        _("Exclude them by the rule"),
        _("After every update of the board; who then shows better is let in again. What people decide stands."),
    ),
    Campaign.Screening.OFF: (
        _("Leave them in"),
        _("How far each agrees with the others is shown all the same."),
    ),
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a choice.

    field: the field that the option requires.
    """

    tick: Any
    about: str
    field: Any = None


def options_of(
    form: forms.Form, name: str, about: Mapping[Any, tuple[Any, Any]], beside: Mapping[Any, str]
) -> Iterator[Option]:
    """Return the options of a field with their meanings.

    beside: the field that belongs to each value.
    """
    for tick in form[name]:
        value = tick.data["value"]
        yield Option(tick, str(about[value][1]), form[beside[value]] if value in beside else None)


def names_of(about: Mapping[Any, tuple[Any, Any]]) -> list[tuple[str, Any]]:
    return [(str(value), name) for value, (name, _about) in about.items()]


class PercentField(forms.FloatField):
    """A share of 1 that is displayed, entered and limited in percent."""

    def prepare_value(self, value: Any) -> Any:
        return f"{100 * value:.10g}" if isinstance(value, float) else value

    def clean(self, value: Any) -> float | None:
        percent = super().clean(value)
        return None if percent is None else percent / 100


def _gold_share_field(help_text: Any) -> PercentField:
    return PercentField(
        label=_("Gold, in percent of what an annotator is given"),
        help_text=help_text,
        min_value=0,
        max_value=100 * MOST_SHARE,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


def _batch_size_field(help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=_("Judgments between two updates of the board"),
        help_text=help_text,
        min_value=1,
        max_value=MOST_IN_A_BATCH,
    )


def _screening_field(help_text: Any) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=_("What happens to careless annotators"),
        help_text=help_text,
        choices=names_of(SCREENINGS),
        required=False,
        initial=Design().screening,
        widget=forms.RadioSelect,
    )


class QualityForm(forms.Form):
    """Quality settings: how carefully a campaign asks."""

    votes_per_item = forms.IntegerField(
        label=_("Judgments of one pair on one prompt"),
        help_text=_("1 learns most of the chatbots; 2 or 3 tell more of the annotators."),
        min_value=1,
        max_value=MOST_VOTES_PER_ITEM,
    )
    block_size = forms.IntegerField(
        label=_("Comparisons that an annotator is given at a time"), min_value=1, max_value=MOST_IN_A_BLOCK
    )
    lease_s = forms.IntegerField(
        label=_("Seconds to answer them in"),
        help_text=_("Then they are given to somebody else; a late answer is kept."),
        min_value=60,
        max_value=LONGEST_LEASE_S,
    )
    gold_share = _gold_share_field(
        _("Comparisons with a known answer, mixed in unseen. They are paid, and rank nobody. 0: none.")
    )
    gold_mark = PercentField(
        label=_("Gold that a careful annotator passes, in percent"),
        help_text=_("Who is shown to pass less is judged careless. Empty: gold excludes nobody."),
        min_value=1,
        max_value=99,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    batch_size = _batch_size_field(_("Each update selects the next comparisons again."))
    overlap_share = PercentField(
        label=_("Share, in percent"),
        help_text=_("A comparison is one pair on one prompt. 0: nobody is compared with the others."),
        min_value=0,
        max_value=100,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    overlap_votes = forms.IntegerField(
        label=_("Annotators for each of them"),
        help_text=_("Further judgments tell more of the annotators, and less of the chatbots."),
        min_value=2,
        max_value=MOST_OVERLAP_VOTES,
        required=False,
        initial=OVERLAP_VOTES,
    )
    screening = _screening_field(
        _(
            "Careless is who, on comparisons that others judged too, agrees with them no better than chance, or hardly:"
            " a correlation that is not significantly above 0, or is below 0.05, where a careful annotator would rarely"
            " come out so low. It takes 30 such comparisons. Careless is also who is shown to pass too little gold."
        )
    )

    tiers = forms.IntegerField(
        label=_("Tiers of chatbots"),
        help_text=_(
            "A tier is a band of ability. A prompt may discriminate differently among strong and among weak chatbots. A"
            " tier has at least three chatbots. 1: no tiers."
        ),
        min_value=1,
        max_value=MOST_TIERS,
        required=False,
        initial=Design().plan.tiers,
    )
    style_control = forms.BooleanField(
        label=_("Show a second board that holds the style of replies equal"),
        help_text=_(
            "Longer replies with more markup often win. The second board estimates what length, headers, lists and bold"
            " text are worth, and ranks the chatbots as if their replies had the same style."
        ),
        required=False,
    )
    merge_redundant = forms.BooleanField(
        label=_("Fit redundant prompts as one prompt"),
        help_text=_(
            "If two prompts ask the same, their judgments are not independent, and intervals are too narrow. Groups are"
            " found from the judgments at each update of the board."
        ),
        required=False,
    )
    fits_known_ties = forms.BooleanField(
        label=_("Where two chatbots reply with the same text, their abilities learn of it as of a tie"),
        help_text=_(
            "Nobody is asked either way, and both get half a win. In abilities, such ties draw chatbots together that"
            " often say the same, and make ties look more usual than annotators find them."
        ),
        required=False,
    )

    def clean_gold_share(self) -> float:
        return self.cleaned_data["gold_share"] or 0.0

    def clean_overlap_share(self) -> float:
        return self.cleaned_data["overlap_share"] or 0.0

    def clean_overlap_votes(self) -> int:
        return self.cleaned_data["overlap_votes"] or OVERLAP_VOTES

    def clean_tiers(self) -> int:
        return self.cleaned_data["tiers"] or Design().plan.tiers

    def clean_screening(self) -> str:
        """Return the screening. If the field is missing, it stays unchanged."""
        return str(self.cleaned_data["screening"] or self["screening"].initial)

    def screenings(self) -> Iterator[Option]:
        return options_of(self, "screening", SCREENINGS, {})


class SingleQualityForm(QualityForm):
    """Quality settings of a campaign that judges replies one at a time. Nothing is shared out or tied there."""

    # Django removes a field of the base class that is None here.
    overlap_share = None  # type: ignore[assignment]
    overlap_votes = None  # type: ignore[assignment]
    tiers = None  # type: ignore[assignment]
    style_control = None  # type: ignore[assignment]
    merge_redundant = None  # type: ignore[assignment]
    fits_known_ties = None  # type: ignore[assignment]
    votes_per_item = forms.IntegerField(
        label=_("Annotators of each reply"),
        help_text=_("With two or more, their agreement is known."),
        min_value=1,
        max_value=MOST_VOTES_PER_ITEM,
    )
    block_size = forms.IntegerField(
        label=_("Replies that an annotator is given at a time"), min_value=1, max_value=MOST_IN_A_BLOCK
    )
    gold_share = _gold_share_field(
        _("Replies with a known answer, mixed in unseen. They are paid, and count nowhere. 0: none.")
    )
    batch_size = _batch_size_field(
        _("After each of them the board is brought up to date, and annotators are screened.")
    )
    screening = _screening_field(
        _(
            "Careless is who agrees with the others on the same replies no better than chance, or hardly (kappa), where"
            " a careful annotator would rarely come out so low. It takes 30 replies that others judged too. Careless is"
            " also who is shown to pass too little gold."
        )
    )


class EntrantField(forms.ModelChoiceField):  # type: ignore[type-arg]  # only its stubs are generic
    """An entrant, by name and version."""

    def __init__(self, entrants: QuerySet[Entrant]) -> None:
        super().__init__(
            entrants,
            label=_("Which chatbot"),
            to_field_name="public_id",
            empty_label=_("Choose one"),
            required=False,
            error_messages={"invalid_choice": _("This chatbot does not take part.")},
        )

    def label_from_instance(self, obj: Entrant) -> str:
        return shown(str(obj.version))


class StoppingForm(forms.Form):
    """The target, the stopping rules and the limits."""

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
    standing = forms.BooleanField(
        label=_("The board stands: after a stop it waits for new chatbots"),
        help_text=_("A chatbot that joins opens it again."),
        required=False,
    )
    newcomer_budget = forms.IntegerField(
        label=_("Judgments for each new chatbot"),
        help_text=_("Of a board that stands. They place the newcomer among the others. Empty: the whole budget again."),
        required=False,
        min_value=1,
        max_value=2_000_000_000,
    )
    target = forms.ChoiceField(
        label=_("What is worth learning"),
        help_text=_("Comparisons are chosen for this. The campaign ends by its aim and its limits all the same."),
        choices=names_of(LEARNT),
        required=False,
        initial=PlanSpec.Target.AIM,
        widget=forms.RadioSelect,
    )
    top = forms.IntegerField(label=_("How many are the best"), min_value=1, max_value=10_000, required=False, initial=1)
    newcomer = EntrantField(Entrant.objects.none())

    def choose_from(self, entrants: QuerySet[Entrant]) -> None:
        """Set the entrants that can be placed."""
        self.fields["newcomer"] = EntrantField(entrants)

    def targets(self) -> Iterator[Option]:
        beside = {PlanSpec.Target.TOP: "top", PlanSpec.Target.NEWCOMER: "newcomer"}
        return options_of(self, "target", LEARNT, beside)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._clean_learnt(cleaned)
        if self.errors:
            return cleaned
        cleaned.update({"alpha": cleaned.get("alpha") or ALPHA, "power": cleaned.get("power") or POWER})
        try:
            limits = Limits(**{name: cleaned[name] for name in LIMITS})
        except InvalidInput as error:
            self.add_error(error.field, f"{error.message} {error.hint}")
            return cleaned
        if not limits.ends:
            raise forms.ValidationError(_("Give an aim, or a budget, or a deadline: it must end somewhere."))
        if limits.deadline is not None and limits.deadline <= timezone.now():
            self.add_error("deadline", _("This moment has passed."))
        return cleaned

    def _clean_learnt(self, cleaned: dict[str, Any]) -> None:
        """Keep the number and the chatbot only with the choice that they belong to.

        If the field is missing, the target stays unchanged.
        """
        if not cleaned.get("target"):
            cleaned.update({name: self[name].initial for name in ("target", "top", "newcomer")})
        target, newcomer = cleaned["target"], cleaned.get("newcomer")
        for name, wanted, lacks in (
            ("top", PlanSpec.Target.TOP, _("Say how many are the best.")),
            ("newcomer", PlanSpec.Target.NEWCOMER, _("Say which chatbot is to be placed.")),
        ):
            if target != wanted:
                cleaned[name] = None
                self.errors.pop(name, None)
            elif cleaned.get(name) is None and name not in self.errors:
                self.add_error(name, lacks)
        if target == PlanSpec.Target.NEWCOMER and newcomer is not None:
            cleaned["newcomer"] = newcomer.pk


class SingleStoppingForm(forms.Form):
    """The limits of a campaign that judges replies one at a time. It ends when every reply has its judgments."""

    budget = StoppingForm.base_fields["budget"]
    deadline = StoppingForm.base_fields["deadline"]

    def clean_deadline(self) -> datetime | None:
        deadline: datetime | None = self.cleaned_data["deadline"]
        if deadline is not None and deadline <= timezone.now():
            raise forms.ValidationError(_("This moment has passed."))
        return deadline
