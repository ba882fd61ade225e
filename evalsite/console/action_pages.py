"""Confirmation pages of actions: what an action does, its form, and whether it can be undone."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.forms import Form
from django.http import QueryDict
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.boards.services import board_default
from evalsite.campaigns.call_costs import call_cost
from evalsite.campaigns.gold import gold_of
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.console.formatting import left_out_text
from evalsite.console.forms import CallCapForm, ExtendForm, PilotForm, ShownForm
from evalsite.console.page_frame import CampaignContext, act_labels
from evalsite.console.stopping_rules import limit_lines
from evalsite.core.errors import InvalidInput
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import Inquiry
from evalsite.core.reasons import StoredReason, reason_text
from evalsite.judgments.conflict_of_interest import members_would_be_left_out
from evalsite.judgments.exclusions import annotator_in
from evalsite.operations.actions import ActionArguments, entrant_of, prompt_of, version_of
from evalsite.operations.campaign_status import exclusion_suggested
from evalsite.operations.extension import OF_DIFFERENCE, evidence_of
from evalsite.presentation.formatting import fixed, signed
from evalsite.refits.services import EXCLUSION

ACT_FORMS: Mapping[Act, type[Form]] = {
    Act.PILOT: PilotForm,
    Act.EXTEND: ExtendForm,
    Act.CAP_CALLS: CallCapForm,
    Act.SHOW: ShownForm,
}
SUBJECTS = ("annotator", "entrant", "version", "prompt", "gold")
OF_ANNOTATOR = {Act.EXCLUDE, Act.READMIT, Act.NOTE, Act.PAUSE_ANNOTATOR, Act.RESUME_ANNOTATOR}
# The public log of a board (`boards.public_log_entries`) has the reasons of these.
REASONS_PUBLISHED = {Act.EXCLUDE, Act.READMIT, Act.WITHDRAW_ENTRANT, Act.RETIRE_PROMPT}
LANDS_ON = {
    Act.FULL_CHECK: "console_check",
    Act.EXCLUDE: "console_annotators",
    Act.READMIT: "console_annotators",
    Act.NOTE: "console_annotators",
    Act.PAUSE_ANNOTATOR: "console_annotators",
    Act.RESUME_ANNOTATOR: "console_annotators",
    Act.RETIRE_PROMPT: "console_prompts",
    Act.WITHDRAW_GOLD: "console_gold",
    Act.ADD_ENTRANT: "console_chatbots",
    Act.WITHDRAW_ENTRANT: "console_chatbots",
    Act.CAP_CALLS: "console_chatbots",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """The description of an action before it is done.

    reason: required, optional or no field ("").
    """

    text: str
    undo: str
    reason: str = ""
    quiet: bool = False


def effects() -> Mapping[Act, Effect]:
    no_undo = _("This cannot be undone.")
    return {
        Act.LAUNCH: Effect(
            _("Annotators are asked from now on, and each judgment costs what you have set. Its questions are fixed."),
            no_undo,
        ),
        Act.PILOT: Effect(
            _(
                "Annotators are asked from now on. After the pilot's judgments the campaign pauses by itself and says "
                "what they taught: time, ties, agreement and a new forecast. They count in the campaign."
            ),
            _("Its question, prompts and chatbots are fixed from then on. All else can be changed before you launch."),
        ),
        Act.EXTEND: Effect(
            _("The campaign goes on to the new limit; each judgment costs what was set. One that ended runs again."),
            _("A limit cannot be narrowed again. You can pause or stop the campaign at any time."),
        ),
        Act.CAP_CALLS: Effect(
            _(
                "The cap holds for calls that collect replies to the prompts of this campaign, of all chatbots "
                "together. At the cap no new call begins, and calls in progress end."
            ),
            _("You can change or remove it at any time."),
        ),
        Act.SHOW: Effect(
            _(
                "Its pages, figures and files open to those who may see the board, and close to all others, at once. "
                "Where others see it, members are asked of no chatbot of their own any more; where only members see "
                "it, only they and those who were invited are asked. What is issued may still be answered, and all "
                "that was judged counts on."
            ),
            _("You can change it back. What somebody has read or taken they keep."),
        ),
        Act.PAUSE: Effect(
            _("Nothing new is issued. What annotators hold may still be answered and counts."), _("You can resume.")
        ),
        Act.RESUME: Effect(_("The next plan is made, and annotators are asked again."), _("You can pause again.")),
        Act.STOP: Effect(
            _("The campaign ends. What is issued may still be answered; then the board stands as it is."),
            no_undo,
            "optional",
            quiet=True,
        ),
        Act.REFIT: Effect(
            _("The worker works in all closed batches now and plans again. It does so by itself after every batch."),
            _("It changes nothing but the time."),
        ),
        Act.FULL_CHECK: Effect(
            _(
                "The worker fits the newest snapshot's judgments by full Bayes (Markov chains), which takes some "
                "minutes, and compares the result with the board. The same judgments are checked once."
            ),
            _("It changes nothing on the board."),
        ),
        Act.EXCLUDE: Effect(
            _(
                "None of this annotator's judgments counts in this campaign any more, and nothing new is issued to "
                "them. They are paid for what they did."
            ),
            _("You can re-admit them: the board is then what it was."),
            "required",
            quiet=True,
        ),
        Act.READMIT: Effect(
            _("All of this annotator's judgments count from now on. An excluded annotator is asked again."),
            _("You can exclude them again."),
            "required",
        ),
        Act.NOTE: Effect(
            _("It stands beside the annotator, for those who run the campaign. The annotator does not see it."),
            _("You can write a newer one: the newest is shown."),
            "required",
        ),
        Act.PAUSE_ANNOTATOR: Effect(
            _("Nothing new is issued to this annotator. What they hold may be answered; all they did counts."),
            _("You can let them go on."),
            "optional",
        ),
        Act.RESUME_ANNOTATOR: Effect(_("This annotator is asked again."), _("You can pause them again.")),
        Act.ADD_ENTRANT: Effect(
            _("It is compared with the others from the next plan on. A standing campaign that has ended opens again."),
            _("You can withdraw it."),
        ),
        Act.WITHDRAW_ENTRANT: Effect(
            _("It is asked about no more. Its judgments count on, and boards list it apart, without a rank."),
            _("You can add it again."),
            "required",
            quiet=True,
        ),
        Act.RETIRE_PROMPT: Effect(
            _("It is asked no more in this campaign. What was judged of it counts on."), no_undo, "required", quiet=True
        ),
        Act.REOPEN_SKIPPED: Effect(
            _("Items that annotators skipped are asked again. Skips given before now close no item any more."),
            _("Annotators can skip them again."),
        ),
        Act.WITHDRAW_GOLD: Effect(
            _(
                "It is shown no more, and what was answered to it counts neither for nor against anybody. Whoever was "
                "excluded by it is judged anew."
            ),
            no_undo,
            "required",
            quiet=True,
        ),
        Act.SHARE: Effect(
            _("The person has this role in this campaign, beside the one that your organisation gives them."),
            _("You can change or take it at any time."),
        ),
    }


def arguments_of(query: QueryDict) -> ActionArguments:
    """Return the arguments in the form or the address.

    Raises InvalidInput.
    """
    named: dict[str, Any] = {name: _id(query, name) for name in SUBJECTS}
    return ActionArguments(
        reason=query.get("reason", ""),
        username=query.get("username", "").strip(),
        role=query.get("role", ""),
        **named,
    )


def arguments_with_form(given: ActionArguments, act: Act, query: QueryDict) -> ActionArguments:
    """Add the values of the action's own form.

    Raises InvalidInput with the first problem.
    """
    kind = ACT_FORMS.get(act)
    if kind is None:
        return given
    form = kind(query)
    if not form.is_valid():
        field, problems = next(iter(form.errors.items()))
        raise InvalidInput(f"{form.fields[field].label}: {problems[0]}", field=field)
    found = dict(form.cleaned_data)
    if "percent" in found:
        percent = found.pop("percent")
        found["share"] = None if percent is None else percent / 100
    return replace(given, **found)


def _id(query: QueryDict, name: str) -> uuid.UUID | None:
    text = query.get(name, "")
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        raise InvalidInput(
            _("This page was opened by a broken link."), hint=_("Go back and try again."), field=name
        ) from None


def confirm_context(
    desk: CampaignContext, act: Act, given: ActionArguments, *, trouble: str = "", sent: QueryDict | None = None
) -> dict[str, Any]:
    """Return the context of the page.

    sent: the form data of a failed attempt.
    """
    limits = limits_of(desk.campaign.stopping)
    votes = desk.campaign.votes_per_item if desk.campaign.is_single else None
    return {
        "form": _form(desk.campaign, act, limits, sent),
        "limits": limit_lines(limits, evidence_of(desk.campaign), votes=votes) if act == Act.EXTEND else [],
        "act": act.value,
        "label": act_labels()[act],
        "effect": effects()[act],
        "notes": _notes(desk.campaign, act),
        "subject": _subject(desk.campaign, act, given),
        "hidden": [(name, getattr(given, name)) for name in SUBJECTS if getattr(given, name) is not None],
        "given": given,
        "preview": act == Act.EXCLUDE,
        "sharing": act == Act.SHARE,
        "roles": _roles(desk.campaign) if act == Act.SHARE else [],
        "suggested": reason_text(*_suggested(desk.campaign, given)) if act == Act.EXCLUDE else "",
        "trouble": trouble,
        "back": desk.url(LANDS_ON.get(act, "console_campaign")),
    }


def _form(campaign: Campaign, act: Act, limits: Limits, sent: QueryDict | None) -> Form | None:
    """Return the action's own form with current values.

    An extension has fields only for existing limits.
    """
    kind = ACT_FORMS.get(act)
    if kind is None:
        return None
    as_it_stands = {name: getattr(campaign, name) for name in kind.base_fields} if act == Act.SHOW else None
    if act == Act.CAP_CALLS and (cost := call_cost(campaign)) is not None:
        as_it_stands = {"call_cap": f"{cost.cap.normalize():f}"}
    form = kind(sent, initial=as_it_stands)
    if act == Act.EXTEND:
        lacks = set() if limits.min_difference is not None else OF_DIFFERENCE
        for name in [name for name in form.fields if getattr(limits, name) is None or name in lacks]:
            del form.fields[name]
    return form


def _notes(campaign: Campaign, act: Act) -> list[str]:
    """Return notes: that a reason becomes public, or who judges a board that others see."""
    if act in REASONS_PUBLISHED and campaign.visibility == Campaign.Visibility.PUBLIC:
        return [_("The board is public: its public log shows the reason.")]
    if act != Act.SHOW:
        return []
    text = _("Who judges stays as it was set up: %(who)s.") % {"who": campaign.get_admission_display()}
    return [text, left_out_text()] if members_would_be_left_out(campaign) else [text]


def _subject(campaign: Campaign, act: Act, given: ActionArguments) -> str:
    """Return the name of the action's object.

    Raises NotFound for objects of other campaigns.
    """
    if act in OF_ANNOTATOR and given.annotator:
        return str(annotator_in(campaign=campaign, annotator_id=given.annotator))
    if act == Act.WITHDRAW_ENTRANT and given.entrant:
        return str(entrant_of(campaign, given.entrant).version)
    if act == Act.ADD_ENTRANT and given.version:
        return str(version_of(campaign, given.version))
    if act == Act.WITHDRAW_GOLD and given.gold:
        return gold_of(campaign, given.gold).key
    if act == Act.RETIRE_PROMPT and given.prompt:
        return prompt_of(campaign, given.prompt).key
    return ""


def _suggested(campaign: Campaign, given: ActionArguments) -> StoredReason:
    """Return the reason that the screening suggests for an exclusion."""
    if given.annotator is None:
        return StoredReason("")
    return exclusion_suggested(campaign, annotator_in(campaign=campaign, annotator_id=given.annotator))


def as_suggested(campaign: Campaign, given: ActionArguments) -> ActionArguments:
    """Replace the displayed reason by the stored one if it is unchanged.

    Every reader sees the stored reason in their own language.
    """
    suggested = _suggested(campaign, given)
    shown = reason_text(*suggested)
    return replace(given, reason=suggested.text) if shown and given.reason == shown else given


def _roles(campaign: Campaign) -> list[tuple[str, str]]:
    held = campaign.roles.select_related("user").order_by("user__username")
    return [(one.user.get_username(), one.get_role_display()) for one in held]


def preview_ask(campaign: Campaign, annotator_id: uuid.UUID, by: User) -> Inquiry:
    """Request the board without this annotator, as it is now.

    Raises TooMany.
    """
    annotator = annotator_in(campaign=campaign, annotator_id=annotator_id)
    snapshot = snapshot_current(board_default(campaign=campaign))
    args = {"campaign": campaign.pk, "annotator": str(annotator.public_id), "at": snapshot.number if snapshot else 0}
    topic = str(annotator.public_id)
    return inquiry_ask(kind=EXCLUSION, args=args, by=by.public_id, subject=campaign.public_id, topic=topic)


def preview_context(inquiry: Inquiry) -> dict[str, Any]:
    """Return the board as it is and without the annotator. `rows` is None while the worker computes."""
    result = inquiry.result or {}
    rows = [
        {
            "name": row["name"],
            "rank": row["rank"],
            "moved": row["rank"][0] != row["rank"][1],
            "before": signed(row["ability"][0]),
            "after": "–" if row["ability"][1] is None else signed(row["ability"][1]),
            "change": "–" if row["ability"][1] is None else signed(row["ability"][1] - row["ability"][0]),
            "se": "–" if row["se"][1] is None else f"{fixed(row['se'][0])} → {fixed(row['se'][1])}",
        }
        for row in result.get("rows", [])
    ]
    return {
        "inquiry": inquiry,
        "waiting": inquiry.answered_at is None,
        "rows": rows,
        "moved": sum(row["moved"] for row in rows),
        "judgments": result.get("judgments"),
    }
