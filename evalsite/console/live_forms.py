"""Forms of the set-up that depend on the mode: the first step, and what happens in a live conversation."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.live import LONGEST_TOPIC, turn_questions_of
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.services import NewAspect
from evalsite.console.forms import LONGEST_QUESTION, QUESTION, AnnotatorsForm, GoalForm
from evalsite.console.plan_forms import Option, options_of
from evalsite.console.scale_forms import ScaleForm
from evalsite.console.turn_questions import questions_read, questions_text
from evalsite.core.errors import InvalidInput
from evalsite.dialogues.third_parties import MOST_CONVERSATIONS
from evalsite.scorecards.annotation import QUESTION as REPLY_QUESTION

MOST_TURNS, MOST_TOPICS = 1_000, 100
# Settings: name and meaning.
SETTINGS = {
    "soba": (_("The best reply"), _("Exactly one reply is selected. It continues the conversation (SOBA).")),
    "sata_random": (
        _("All appropriate replies"),
        _("Any number is selected. One of them at random continues; if none was selected, one of all (SATA)."),
    ),
    "sata_written": (
        _("All appropriate replies, or a better one"),
        _("As above, but annotators who select none write a better reply, which continues the conversation (SATA)."),
    ),
}
MODES = {
    Campaign.Mode.STATIC: (
        _("Fixed prompts"),
        _("Chatbots have replied to the same prompts. Annotators compare two replies at a time."),
    ),
    Campaign.Mode.SINGLE: (
        _("Single replies"),
        _("Chatbots have replied to the same prompts. Annotators label or rate one reply at a time."),
    ),
    Campaign.Mode.LIVE: (
        _("Live conversations"),
        _("Annotators chat with live chatbots and judge the replies turn by turn."),
    ),
}


class NewCampaignForm(GoalForm, ScaleForm):
    """The first step of a new campaign: its mode, which stays, and its goal."""

    field_order = ("mode", "name", "description", "question", "reply_question")
    mode = forms.ChoiceField(
        label=_("What annotators judge"),
        help_text=_("It cannot be changed later."),
        choices=[(mode.value, name) for mode, (name, _about) in MODES.items()],
        initial=Campaign.Mode.STATIC,
        required=False,
        widget=forms.RadioSelect,
    )

    question = forms.CharField(
        label=_("The question to annotators"),
        help_text=_("They read a prompt and two replies, and answer this."),
        max_length=LONGEST_QUESTION,
        initial=QUESTION,
        required=False,
    )
    reply_question = forms.CharField(
        label=_("The question to annotators"),
        help_text=_("They read a prompt and one reply, and answer this."),
        max_length=LONGEST_QUESTION,
        initial=REPLY_QUESTION,
        required=False,
    )

    def clean_mode(self) -> str:
        return self.cleaned_data["mode"] or Campaign.Mode.STATIC

    def has_scale(self) -> bool:
        return self.cleaned_data.get("mode") == Campaign.Mode.SINGLE

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        asked = "reply_question" if self.has_scale() else "question"
        if not cleaned.get(asked):
            self.add_error(asked, self.fields["name"].error_messages["required"])
        return cleaned | {"question": cleaned.get(asked, "")}


class LiveGoalForm(GoalForm):
    """The goal of a live campaign. What is selected is a setting of its conversations."""

    allow_tie = None  # type: ignore[assignment]  # Django's way to leave out a field of a base form
    allow_both_bad = None  # type: ignore[assignment]
    others = None  # type: ignore[assignment]

    def clean_others(self) -> None:
        return None


class SingleGoalForm(LiveGoalForm, ScaleForm):
    """The goal of a campaign that judges replies one at a time."""

    field_order = ("name", "description", "question")
    question = forms.CharField(
        label=_("The question to annotators"),
        help_text=_("They read a prompt and one reply, and answer this."),
        max_length=LONGEST_QUESTION,
    )


class LiveAnnotatorsForm(AnnotatorsForm):
    """Annotators of a live campaign. What the pay is for is a setting of its conversations."""

    pay_per = None  # type: ignore[assignment]

    def clean_pay_per(self) -> str:
        return Campaign.PayPer.JUDGMENT


class ConversationForm(forms.Form):
    """Settings of conversations (`campaigns.models.LiveSettings`)."""

    setting = forms.ChoiceField(
        label=_("What annotators select in each turn"),
        choices=[(value, name) for value, (name, _about) in SETTINGS.items()],
        widget=forms.RadioSelect,
    )
    chatbots_per_conversation = forms.IntegerField(
        label=_("Chatbots in one conversation"),
        help_text=_(
            "1 to 8. The same ones take part from its first turn to its last. With 1, each reply is judged alone."
        ),
        min_value=1,
        max_value=LiveSettings.MOST_CHATBOTS,
    )
    minimum_turns = forms.IntegerField(
        label=_("Turns, at least"),
        help_text=_("Then annotators may end the conversation."),
        min_value=1,
        max_value=MOST_TURNS,
    )
    maximum_turns = forms.IntegerField(
        label=_("Turns, at most"), help_text=_("Empty: no limit."), required=False, min_value=1, max_value=MOST_TURNS
    )
    count_first_turn = forms.BooleanField(
        label=_("The first turn counts for the board"),
        help_text=_("First turns are often greetings, to which all chatbots reply alike."),
        required=False,
    )
    conversations_per_annotator = forms.IntegerField(
        label=_("Conversations of one annotator with the same chatbots, at most"), min_value=1, max_value=1000
    )
    opening_topics = forms.CharField(
        label=_("Topics to begin with"),
        help_text=_("One a line, optional. Each conversation is given one of them at random."),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    pay_per = forms.ChoiceField(
        label=_("The pay is"),
        help_text=_("The amount is set in the step Annotators. Turns in which a chatbot fails are paid, too."),
        choices=LiveSettings.PayPer.choices,
    )
    turn_questions = forms.CharField(
        label=_("Further questions about the replies of each turn"),
        help_text=_(
            "One a line, six at the most: name: question | answers | each, selected or turn. Answers are the bounds of "
            "a rating (1-5), or labels with commas; “any:” before them allows several. Such as “error: Is it correct? "
            "| correct, incorrect, irrelevant | each”."
        ),
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    end_rating = forms.BooleanField(label=_("Ask for a rating of the conversation, from 1 to 5"), required=False)
    end_feedback = forms.BooleanField(label=_("Ask for feedback in their own words"), required=False)
    data_notice = forms.CharField(
        label=_("Where the texts go"),
        help_text=_(
            "Markdown, optional. Annotators read it before they begin: which companies or servers get their words."
        ),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    turn_deadline_s = forms.IntegerField(
        label=_("Seconds until a turn goes on without a missing reply"), min_value=5, max_value=600
    )
    reports_to_pause = forms.IntegerField(
        label=_("Annotators whose reports pause a chatbot"), min_value=1, max_value=1000
    )

    def clean_opening_topics(self) -> list[str]:
        """Return the topics, one for each line."""
        topics = [line.strip() for line in self.cleaned_data["opening_topics"].splitlines() if line.strip()]
        if len(topics) > MOST_TOPICS:
            raise forms.ValidationError(_("Give at most %(most)s topics.") % {"most": MOST_TOPICS})
        if any(len(topic) > LONGEST_TOPIC for topic in topics):
            raise forms.ValidationError(_("A topic has at most %(longest)s characters.") % {"longest": LONGEST_TOPIC})
        return topics

    def clean_turn_questions(self) -> tuple[NewAspect, ...] | None:
        """Return the questions of the lines. If the field is missing, they stay unchanged."""
        if "turn_questions" not in self.data:
            return None
        try:
            return questions_read(self.cleaned_data["turn_questions"])
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.message} {error.hint}".strip()) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        least, most = cleaned.get("minimum_turns"), cleaned.get("maximum_turns")
        if least and most and least > most:
            self.add_error(
                "maximum_turns",
                _("The maximum is below the minimum of %(least)s turns. Raise it, or lower the minimum.")
                % {"least": least},
            )
        if cleaned.get("chatbots_per_conversation") == 1 and cleaned.get("setting") == "soba":
            self.add_error("setting", _("A single chatbot has no best reply. Choose appropriate replies."))
        return cleaned


class SampleForm(forms.Form):
    """The size of a sample of conversations for third parties."""

    conversations = forms.IntegerField(min_value=1, max_value=MOST_CONVERSATIONS)


def mode_options(form: forms.Form) -> list[Option]:
    """Return the modes, each with its meaning."""
    return list(options_of(form, "mode", MODES, {}))


def settings_initial(campaign: Campaign) -> dict[str, Any]:
    """Return the values of the form."""
    live = campaign.live
    names = ConversationForm.base_fields.keys() - {"setting", "opening_topics", "turn_questions"}
    values = {name: getattr(live, name) for name in names if getattr(live, name) is not None}
    return {
        **values,
        "setting": live.setting,
        "opening_topics": "\n".join(live.opening_topics),
        "turn_questions": questions_text(turn_questions_of(campaign)),
    }


def settings_values(cleaned: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that the form's values stand for."""
    values = {name: value for name, value in cleaned.items() if name not in {"setting", "turn_questions"}}
    selection, _underscore, fallback = cleaned["setting"].partition("_")
    return {**values, "selection": selection, "fallback": fallback or LiveSettings.Fallback.RANDOM}
