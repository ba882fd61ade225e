"""Settings of live campaigns: checks, defaults, and the prompt set of live turns."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Aspect, Campaign, Entrant, LiveSettings
from evalsite.campaigns.questions import SCALES, scale_check
from evalsite.campaigns.services import Design, NewAspect, questions_of, rubric_replace
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.endpoints.models import Endpoint
from evalsite.prompts.models import PromptSet
from evalsite.prompts.services import prompt_set_create

LONGEST_TOPIC = 300
MOST_TOPICS = 100
MOST_TURNS = 1_000
MOST_QUESTIONS = 6
# Settings that an owner chooses. A study sets the others.
SETTINGS = (
    *("selection", "fallback", "chatbots_per_conversation", "minimum_turns", "maximum_turns", "opening_topics"),
    *("count_first_turn", "pay_per", "end_rating", "end_feedback", "data_notice", "conversations_per_annotator"),
    *("turn_deadline_s", "idle_minutes", "reports_to_pause"),
)
# Whole numbers with their bounds.
BOUNDS: Mapping[str, tuple[int, int]] = {
    "chatbots_per_conversation": (1, LiveSettings.MOST_CHATBOTS),
    "minimum_turns": (1, MOST_TURNS),
    "maximum_turns": (1, MOST_TURNS),
    "conversations_per_annotator": (1, 1_000),
    "turn_deadline_s": (5, 600),
    "idle_minutes": (5, 100_000),
    "reports_to_pause": (1, 1_000),
}
QUESTIONS = {
    LiveSettings.Selection.SOBA: Design().aspects[0].question,
    LiveSettings.Selection.SATA: "Which replies are appropriate, given what was said before?",
}
USUAL_QUESTIONS = frozenset(QUESTIONS.values())
REPLYING = (Endpoint.State.UNTESTED, Endpoint.State.HEALTHY, Endpoint.State.DEGRADED)


def live_set_make(*, organisation: Organisation, name: str) -> PromptSet:
    """Create the empty prompt set of a live campaign. Its live turns become prompts of it; nobody else uses it."""
    return prompt_set_create(organisation=organisation, name=name, prompts=[])


def live_settings_check(values: Mapping[str, Any]) -> None:
    """Raise InvalidInput for values that do not fit together. `field` names the wrong one."""
    usual = LiveSettings()
    value = {name: values.get(name, getattr(usual, name)) for name in SETTINGS}
    if unknown := sorted(set(values) - set(SETTINGS)):
        raise InvalidInput(_("%(name)s is no setting of a live campaign.") % {"name": unknown[0]}, field=unknown[0])
    _check_choices(value)
    for name, (low, high) in BOUNDS.items():
        number = value[name]
        if number is None and name == "maximum_turns":
            continue
        if type(number) is not int or not low <= number <= high:
            raise InvalidInput(
                _("%(name)s must be a whole number from %(low)s to %(high)s.")
                % {"name": name, "low": low, "high": high},
                field=name,
            )
    _check_topics(value["opening_topics"])
    least, most = value["minimum_turns"], value["maximum_turns"]
    if most is not None and least > most:
        raise InvalidInput(
            _("The minimum of %(least)s turns is above the maximum of %(most)s.") % {"least": least, "most": most},
            hint=_("Raise the maximum, or lower the minimum."),
            field="maximum_turns",
        )
    if value["selection"] == LiveSettings.Selection.SOBA and value["chatbots_per_conversation"] == 1:
        raise InvalidInput(
            _("A single chatbot has no best reply."),
            hint=_("Let annotators select appropriate replies (sata), or let more chatbots reply."),
            field="selection",
        )


def _check_choices(value: Mapping[str, Any]) -> None:
    choices = {
        "selection": LiveSettings.Selection.values,
        "fallback": LiveSettings.Fallback.values,
        "pay_per": LiveSettings.PayPer.values,
    }
    for name, allowed in choices.items():
        if value[name] not in allowed:
            raise InvalidInput(
                _("%(name)s must be one of: %(allowed)s.") % {"name": name, "allowed": ", ".join(allowed)}, field=name
            )


def _check_topics(topics: Any) -> None:
    fits = isinstance(topics, list) and len(topics) <= MOST_TOPICS
    if not fits or any(not isinstance(one, str) or not 0 < len(one.strip()) <= LONGEST_TOPIC for one in topics):
        raise InvalidInput(
            _("Topics are at most %(most)s texts of 1 to %(longest)s characters.")
            % {"most": MOST_TOPICS, "longest": LONGEST_TOPIC},
            field="opening_topics",
        )


def turn_questions_check(questions: Sequence[NewAspect], *, first: str) -> None:
    """Raise InvalidInput unless these questions label or rate replies. first: key of the question that selects."""
    keys = [first, *(one.key for one in questions)]
    if len(questions) > MOST_QUESTIONS:
        raise InvalidInput(
            _("Ask at most %(most)s further questions.") % {"most": MOST_QUESTIONS}, field="turn_questions"
        )
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise InvalidInput(_("The name %(name)s stands here twice.") % {"name": twice[0]}, field="turn_questions")
    for one in questions:
        if not re.fullmatch("[-a-zA-Z0-9_]{1,60}", one.key) or not one.question.strip():
            raise InvalidInput(
                _("A further question has a short name and a text."),
                hint=_("A name has up to 60 letters, digits, hyphens and underscores."),
                field="turn_questions",
            )
        if one.kind not in SCALES:
            raise InvalidInput(
                _("The question %(key)s does not label or rate replies.") % {"key": repr(one.key)},
                hint=_("Only the first question selects replies. Give labels, or the bounds of a rating."),
                field="turn_questions",
            )
        scale_check(kind=one.kind, labels=one.labels, minimum=one.minimum, maximum=one.maximum)


def live_settings_set(
    *,
    campaign: Campaign,
    values: Mapping[str, Any],
    questions: Sequence[NewAspect] | None = None,
    by: User | None = None,
) -> LiveSettings:
    """Make a draft live and store its settings (names of `LiveSettings` fields). Missing ones keep their values.

    The first question becomes one about the selected replies. questions: the others, which label or rate the replies
    of a turn; None keeps them. Raises Conflict if the campaign is no draft, and InvalidInput.
    """
    with write_transaction():
        draft = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if draft.state != Campaign.State.DRAFT:
            raise Conflict(
                _("The campaign is %(state)s: conversations are set up in a draft.") % {"state": draft.state_text}
            )
        live = LiveSettings.objects.filter(campaign=draft).first() or LiveSettings(campaign=draft)
        before = _values(draft, live)
        live_settings_check({**{name: before[name] for name in SETTINGS}, **values})
        for name, value in values.items():
            setattr(live, name, value)
        live.save()
        draft.mode = Campaign.Mode.LIVE
        draft.save(update_fields=["mode"])
        _fit_questions(draft, live.selection, questions)
        after = _values(draft, live)
        changed = [name for name in after if after[name] != before[name]]
        if changed:
            audit_record(
                act="set_up",
                subject=draft.public_id,
                by=by,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed},
            )
    campaign.refresh_from_db()
    return live


def turn_questions_of(campaign: Campaign) -> tuple[NewAspect, ...]:
    """Return the questions about the replies of a turn beside the selection."""
    return questions_of(campaign.rubric)[1:]


def _values(draft: Campaign, live: LiveSettings) -> dict[str, Any]:
    """Return everything that is set here, for the audit log."""
    asked = [f"{one.key}: {one.question}" for one in turn_questions_of(draft)]
    return {"mode": draft.mode, **{name: getattr(live, name) for name in SETTINGS}, "turn_questions": asked}


def _fit_questions(draft: Campaign, selection: str, questions: Sequence[NewAspect] | None) -> None:
    """Let the first question ask for the selection, and the others be these; None keeps them."""
    first, *others = old = questions_of(draft.rubric)
    one_best = selection == LiveSettings.Selection.SOBA
    kind = Aspect.Kind.CHOOSE_ONE if one_best else Aspect.Kind.SELECT_ANY
    if first.kind != kind or first.allow_tie or first.allow_both_bad:
        usual = first.question in USUAL_QUESTIONS
        question = QUESTIONS[LiveSettings.Selection(selection)] if usual else first.question
        first = NewAspect(first.key, question, allow_tie=False, allow_both_bad=False, kind=kind)
    wanted = (first, *(others if questions is None else questions))
    if wanted != old:
        turn_questions_check(wanted[1:], first=first.key)
        rubric_replace(draft=draft, aspects=wanted)


def static_campaign_set(*, campaign: Campaign, static: Campaign | None, by: User | None = None) -> None:
    """Link a live campaign to a static one of the same organisation; None removes the link.

    One board then ranks the judgments of both, once a test finds no difference. The caller has checked that the person
    may show both boards. Raises Conflict.
    """
    if not campaign.is_live:
        raise Conflict(_("This campaign has no conversations."), hint=_("Name a live campaign."), field="campaign")
    if static is not None and (
        static.mode != Campaign.Mode.STATIC or static.organisation_id != campaign.organisation_id
    ):
        raise Conflict(
            _("Only a campaign of the same organisation that compares replies to fixed prompts can be linked."),
            field="static_campaign",
        )
    with write_transaction():
        live = LiveSettings.objects.select_for_update().select_related("static_campaign").get(campaign=campaign)
        before, live.static_campaign = live.static_campaign, static
        if before == static:
            return
        live.save(update_fields=["static_campaign"])
        audit_record(
            act="set_up",
            subject=campaign.public_id,
            by=by,
            before={"static_campaign": before.slug if before else None},
            after={"static_campaign": static.slug if static else None},
        )
    campaign.refresh_from_db()


def live_launch_check(campaign: Campaign) -> None:
    """Raise Conflict if a live campaign cannot start: too few live chatbots, or an aspect that does not fit."""
    wanted = campaign.live.chatbots_per_conversation
    taking = campaign.entrants.filter(state=Entrant.State.ACTIVE)
    replying = taking.filter(version__endpoint__state__in=REPLYING).count()
    if without := taking.filter(version__endpoint__isnull=True).select_related("version__chatbot").first():
        raise Conflict(
            _("%(name)s has no endpoint, so nobody can chat with it.") % {"name": without.version},
            hint=_("Withdraw it, or add a live version of it."),
            field="entrants",
        )
    if replying < wanted:
        raise Conflict(
            _("A conversation has %(wanted)s chatbots, but only %(n)s of the campaign's live chatbots can reply.")
            % {"wanted": wanted, "n": replying},
            hint=_("Add live chatbots, test those that fail, or set fewer for a conversation."),
            field="chatbots_per_conversation",
        )
