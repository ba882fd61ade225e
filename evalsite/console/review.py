"""The last step of the set-up: a summary, and what is missing."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.campaigns.drafts import PLAN_FIELDS
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.live import live_launch_check
from evalsite.campaigns.models import Campaign, Onboarding, PlanSpec
from evalsite.campaigns.onboarding import qualification_of
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.questions import label_text
from evalsite.campaigns.selectors import (
    aspect_primary,
    entrants_active,
    entrants_with_replies,
    gold_in_use,
    gold_misfits,
    onboarding_of,
    qualification_misfits,
    replies_to_judge,
)
from evalsite.campaigns.services import plan_check, plan_options
from evalsite.campaigns.single_replies import screens_blindly
from evalsite.console.formatting import left_out_text, unchecked_text
from evalsite.console.live import settings_facts
from evalsite.console.plan_forms import LEARNT, SCREENINGS
from evalsite.console.setup import steps_of
from evalsite.console.stopping_rules import limit_lines
from evalsite.console.vetting import vetting_fact, vetting_notes
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.arrivals import arrivals_are_checked
from evalsite.judgments.conflict_of_interest import members_are_left_out
from evalsite.presentation.formatting import fixed, plain, whole
from evalsite.scorecards.annotated_replies import annotates


def _price(campaign: Campaign) -> str:
    """Return the price in cents, with fractions of a cent only if there are any."""
    digits = 2 if campaign.pay_rate == round(campaign.pay_rate, 2) else 4
    return f"{fixed(campaign.pay_rate, digits)} {campaign.currency}"


def _gold_missing(campaign: Campaign) -> list[str]:
    if not gold_in_use(campaign).exists():
        return [_("A share of gold is set, and there are no gold items.")]
    telling_nothing, elsewhere = gold_misfits(campaign)
    passed = _("Gold item %(key)s is passed by no answer to the question, or by every one.")
    absent = _("Gold item %(key)s is on a prompt that the campaign does not have.")
    return [*(passed % {"key": key} for key in telling_nothing), *(absent % {"key": key} for key in elsewhere)]


def _qualification_missing(campaign: Campaign) -> list[str]:
    text = _("Comparison %(number)s that is asked first has a right answer that nobody can give.")
    return [text % {"number": number} for number in qualification_misfits(campaign)]


def _plan_missing(campaign: Campaign) -> list[tuple[str, str]]:
    """Return why the plan does not fit the entrants, with the step to correct it.

    The step is empty for settings that only a file has.
    """
    try:
        plan_check(campaign)
    except InvalidInput as error:
        return [("stopping" if error.field in PLAN_FIELDS else "", f"{error.message} {error.hint}")]
    return []


def _received(campaign: Campaign) -> list[tuple[str, str, str]]:
    """Return how annotators arrive, what they are promised, and their qualification."""
    onboarding, items = onboarding_of(campaign), len(qualification_of(campaign))
    sent = onboarding.platform != Onboarding.Platform.NONE
    platform = [("annotators", _("Sent by"), onboarding.get_platform_display())] if sent else []
    codes = [
        (_("Code of finished annotators"), onboarding.code_complete),
        (_("Code of screened-out annotators"), onboarding.code_screened_out),
        (_("Code of annotators who failed"), onboarding.code_failed),
    ]
    platform += [("annotators", name, code) for name, code in codes if sent and code]
    quota = whole(campaign.quota) if campaign.quota is not None else _("no limit")
    platform.append(("annotators", _("Judgments of one annotator, at most"), quota))
    mark = _("%(mark)s of %(n)s comparisons right") % {"mark": onboarding.pass_mark, "n": items}
    promise = ("annotators", _("Judgments of who is erased"), onboarding.get_erasure_display())
    return [*platform, *vetting_fact(campaign), promise, *([("quality", _("To begin"), mark)] if items else [])]


def _learnt(campaign: Campaign, plan: PlanOptions) -> str:
    name = str(LEARNT[PlanSpec.Target(plan.target)][0])
    if plan.newcomer is not None:
        return f"{name}: {campaign.entrants.select_related('version__chatbot').get(pk=plan.newcomer).version}"
    return name if plan.top is None else f"{name}: {whole(plan.top)}"


def _overlap(plan: PlanOptions) -> str:
    if not plan.overlap_share:
        return _("none")
    given = {"share": plain(100 * plan.overlap_share), "n": whole(plan.overlap_votes)}
    return _("%(share)s %%, by %(n)s annotators each") % given


def _budget_note(budget: int | None, most: int) -> list[str]:
    """Warn of a budget that cannot be spent: each pair is asked on each prompt a limited number of times."""
    if budget is None or budget <= most or most == 0:
        return []
    text = _(
        "The budget of %(budget)s judgments exceeds what can be asked: %(most)s. Add prompts or chatbots, or allow "
        "more judgments of one pair on one prompt."
    )
    return [text % {"budget": whole(budget), "most": whole(most)}]


def review_context(campaign: Campaign) -> dict[str, Any]:
    """Return the summary, and what is missing."""
    if campaign.is_single:
        return _single_review(campaign)
    return _live_review(campaign) if campaign.is_live else _static_review(campaign)


def _single_review(campaign: Campaign) -> dict[str, Any]:
    """Return the summary of a campaign that judges replies one at a time."""
    aspect = aspect_primary(campaign)
    missing = _single_missing(campaign)
    notes = vetting_notes(campaign)
    if members_are_left_out(campaign):
        notes.append(left_out_text())
    if onboarding_of(campaign).platform != Onboarding.Platform.NONE and not arrivals_are_checked(campaign):
        notes.append(unchecked_text())
    if screens_blindly(campaign, plan_options(campaign)):
        notes.append(
            _("No reply is judged by two annotators, and no share of gold is to be passed: nobody is screened.")
        )
    facts = [
        ("goal", _("Question"), aspect.question),
        ("goal", _("Answers"), ", ".join(label_text(one) for one in aspect.choices)),
        ("prompts", _("Replies"), whole(replies_to_judge(campaign))),
        ("chatbots", _("Chatbots"), whole(entrants_active(campaign).count())),
        ("annotators", _("Judged by"), campaign.get_admission_display()),
        *((step, name, value) for step, name, value in _received(campaign) if step == "annotators"),
        ("annotators", _("Board seen by"), campaign.get_visibility_display()),
        ("annotators", _("Pay"), f"{_price(campaign)} {campaign.get_pay_per_display()}"),
        ("quality", _("Annotators of each reply"), whole(campaign.votes_per_item)),
        ("quality", _("Gold"), f"{plain(100 * campaign.gold_share)} %"),
        ("quality", _("Careless annotators"), str(SCREENINGS[Campaign.Screening(campaign.screening)][0])),
        *(
            ("stopping", line.name, line.text)
            for line in limit_lines(limits_of(campaign.stopping), votes=campaign.votes_per_item)[:-1]
        ),
    ]
    changed = steps_of(campaign)
    shown = [(step if step in changed else "", name, value) for step, name, value in facts]
    return {"missing": missing, "notes": notes, "facts": shown, "ready": not missing}


def _single_missing(campaign: Campaign) -> list[tuple[str, str]]:
    missing = []
    if not campaign.prompt_set.prompts.exists():
        missing.append(("prompts", _("It has no prompts.")))
    if not entrants_active(campaign).exists():
        missing.append(("chatbots", _("It has no chatbot.")))
    return missing + ([("quality", text) for text in _gold_missing(campaign)] if campaign.gold_share else [])


def _live_review(campaign: Campaign) -> dict[str, Any]:
    """Return the summary of a live campaign: its conversations in place of prompts and quality."""
    limits, plan, missing = limits_of(campaign.stopping), plan_options(campaign), []
    try:
        live_launch_check(campaign)
    except Conflict as error:
        missing.append(("chatbots", f"{error.message} {error.hint}"))
    if not limits.ends:
        missing.append(("stopping", _("Nothing stops it.")))
    missing += _plan_missing(campaign)
    notes = vetting_notes(campaign)
    if members_are_left_out(campaign):
        notes.append(left_out_text())
    if onboarding_of(campaign).platform != Onboarding.Platform.NONE and not arrivals_are_checked(campaign):
        notes.append(unchecked_text())
    if not campaign.live.data_notice:
        notes.append(_("Annotators are not told where their words go. Say it in the step Conversation."))
    facts = [
        ("goal", _("Question"), aspect_primary(campaign).question),
        *(("conversation", name, value) for name, value in settings_facts(campaign)),
        ("chatbots", _("Chatbots"), whole(entrants_active(campaign).count())),
        ("annotators", _("Judged by"), campaign.get_admission_display()),
        *((step, name, value) for step, name, value in _received(campaign) if step == "annotators"),
        ("annotators", _("Board seen by"), campaign.get_visibility_display()),
        ("annotators", _("Pay"), f"{_price(campaign)} {campaign.live.get_pay_per_display()}"),
        ("stopping", _("Worth learning"), _learnt(campaign, plan)),
        *(("stopping", line.name, line.text) for line in limit_lines(limits)[:-1]),
    ]
    changed = steps_of(campaign)
    shown = [(step if step in changed else "", name, value) for step, name, value in facts]
    return {"missing": missing, "notes": notes, "facts": shown, "ready": not missing}


def _static_review(campaign: Campaign) -> dict[str, Any]:
    entrants, plan = entrants_active(campaign).count(), plan_options(campaign)
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    taking = entrants_with_replies(campaign)[0]
    incomplete = [] if annotates(campaign) else [one for one in taking if one.missing]
    missing = []
    if prompts == 0:
        missing.append(("prompts", _("It has no prompts.")))
    if entrants < 2:
        missing.append(("chatbots", _("It needs at least two chatbots.")))
    limits = limits_of(campaign.stopping)
    if not limits.ends:
        missing.append(("stopping", _("Nothing stops it.")))
    missing += _plan_missing(campaign)
    missing += [("quality", text) for text in _gold_missing(campaign)] if campaign.gold_share else []
    missing += [("quality", text) for text in _qualification_missing(campaign)]
    notes = vetting_notes(campaign)
    if incomplete:
        notes.append(
            ngettext(
                "%(n)s chatbot lacks replies; those prompts are asked of the others.",
                "%(n)s chatbots lack replies; those prompts are asked of the others.",
                len(incomplete),
            )
            % {"n": len(incomplete)}
        )
    notes += _budget_note(limits.budget, entrants * (entrants - 1) // 2 * prompts * campaign.votes_per_item)
    if members_are_left_out(campaign):
        notes.append(left_out_text())
    if onboarding_of(campaign).platform != Onboarding.Platform.NONE and not arrivals_are_checked(campaign):
        notes.append(unchecked_text())
    changed = steps_of(campaign)
    facts = [
        ("goal", _("Question"), aspect_primary(campaign).question),
        *[("goal", _("Also asked"), one.question) for one in campaign.rubric.aspects.exclude(position=0)],
        ("prompts", _("Prompts"), whole(prompts)),
        ("chatbots", _("Chatbots"), whole(entrants)),
        ("annotators", _("Judged by"), campaign.get_admission_display()),
        *_received(campaign),
        ("annotators", _("Board seen by"), campaign.get_visibility_display()),
        ("annotators", _("Pay"), f"{_price(campaign)} {campaign.get_pay_per_display()}"),
        ("quality", _("Judgments of one pair on one prompt"), whole(campaign.votes_per_item)),
        ("quality", _("Gold"), f"{plain(100 * campaign.gold_share)} %"),
        ("quality", _("Comparisons judged by several"), _overlap(plan)),
        ("quality", _("Tiers of chatbots"), whole(plan.tiers) if plan.tiers > 1 else _("none")),
        *[("quality", _("Style"), _("a second board at equal style"))] * plan.style_control,
        *[("quality", _("Redundant prompts"), _("fitted as one prompt"))] * plan.merge_redundant,
        ("quality", _("Careless annotators"), str(SCREENINGS[Campaign.Screening(campaign.screening)][0])),
        (
            "quality",
            _("Known ties"),
            _("in shares of wins and abilities") if campaign.fits_known_ties else _("in shares of wins"),
        ),
        ("stopping", _("Worth learning"), _learnt(campaign, plan)),
        *[("stopping", line.name, line.text) for line in limit_lines(limits)[:-1]],
    ]
    facts = [(step if step in changed else "", name, value) for step, name, value in facts]
    return {"missing": missing, "notes": notes, "facts": facts, "ready": not missing}
