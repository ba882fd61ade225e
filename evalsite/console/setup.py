"""The steps of the set-up: their content, and how they are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import UploadedFile
from django.forms import Form
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import PLAN_FIELDS, draft_change, draft_prompt_set, draft_questions_set, plan_changed
from evalsite.campaigns.file_uploads import prompts_unused_check
from evalsite.campaigns.limits import LIMITS, Limits
from evalsite.campaigns.live import live_settings_set
from evalsite.campaigns.models import Aspect, Campaign, Onboarding
from evalsite.campaigns.onboarding import onboarding_set, qualification_of
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.selectors import (
    Taking,
    asked_by,
    aspect_primary,
    entrants_active,
    entrants_with_replies,
    onboarding_of,
    prompt_sets_to_use,
    prompts_lacking,
)
from evalsite.campaigns.services import NewAspect, chatbots_check, entrant_add, pilot_waits, plan_options
from evalsite.campaigns.storage_quota import files_read
from evalsite.chatbots.files import chatbot_import, replies_preview
from evalsite.chatbots.makers import maker_named
from evalsite.chatbots.own_names import Treatment, rows_naming
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.console.formatting import duration, ranged
from evalsite.console.forms import ENCODING_CHOICES, AnnotatorsForm, GoalForm, others_text
from evalsite.console.live_forms import (
    SETTINGS,
    ConversationForm,
    LiveAnnotatorsForm,
    LiveGoalForm,
    SingleGoalForm,
    settings_initial,
    settings_values,
)
from evalsite.console.page_frame import CampaignContext, Link
from evalsite.console.pending_uploads import file_keep
from evalsite.console.plan_forms import (
    QualityForm,
    SingleQualityForm,
    SingleStoppingForm,
    StoppingForm,
    options_of,
)
from evalsite.console.scale_forms import scale_initial, scale_question
from evalsite.console.submissions import SubmissionsForm, accepted_from, accepted_initial
from evalsite.core.column_choice import ColumnsUnclear, columns_named
from evalsite.core.db import write_transaction
from evalsite.core.encodings import recoded
from evalsite.core.errors import InvalidInput, NotFound, TouchstoneError
from evalsite.core.models import Inquiry, Upload
from evalsite.core.reasons import reason_text
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import upload_replace, uploads_drop, uploads_keep, uploads_of
from evalsite.exchange.draft_forecasts import DraftDesign, draft_design
from evalsite.judgments.arrivals import arrival_secret
from evalsite.presentation.column_choice import (
    PROMPT_CHOICES,
    REPLIES_NEED,
    REPLY_CHOICES,
    ColumnChoice,
    can_be_chosen,
)
from evalsite.presentation.formatting import fixed
from evalsite.prompts.files import PromptReport, prompts_import, prompts_preview
from evalsite.scorecards.annotated_replies import annotates
from evalsite.submissions.services import submissions_accept

AFTER_PILOT = ("annotators", "quality", "stopping", "submissions", "review")
STEPS = ("goal", "prompts", "chatbots", "annotators", "quality", "stopping", "submissions", "review")
SINGLE_STEPS = ("goal", "prompts", "chatbots", "annotators", "quality", "stopping", "review")
SINGLE_AFTER_PILOT = ("annotators", "quality", "stopping", "review")  # The question and the replies are fixed.
PAIR_STEPS = ("goal", "annotators", "quality", "stopping", "review")  # The conversations are fixed.
LIVE_AFTER_PILOT = ("annotators", "stopping", "review")
LIVE_STEPS = ("goal", "conversation", "chatbots", "annotators", "stopping", "review")
FORMS: Mapping[str, type[Form]] = {
    "goal": GoalForm,
    "annotators": AnnotatorsForm,
    "quality": QualityForm,
    "stopping": StoppingForm,
    "submissions": SubmissionsForm,
}
LIVE_FORMS: Mapping[str, type[Form]] = {
    "goal": LiveGoalForm,
    "conversation": ConversationForm,
    "annotators": LiveAnnotatorsForm,
    "stopping": StoppingForm,
}
SINGLE_FORMS: Mapping[str, type[Form]] = {
    "goal": SingleGoalForm,
    "annotators": AnnotatorsForm,
    "quality": SingleQualityForm,
    "stopping": SingleStoppingForm,
}
RECEPTION = (
    *("platform", "code_complete", "code_screened_out", "code_failed"),
    *("instructions", "erasure", "consent_required"),
)
ROWS_SHOWN = 200
LACKING_SHOWN, LACKING_OF = 100, 8  # Prompts, and versions.
MISSING_SHOWN = 20


def step_labels() -> dict[str, str]:
    return {
        "goal": _("Goal"),
        "conversation": _("Conversation"),
        "prompts": _("Prompts"),
        "chatbots": _("Chatbots"),
        "annotators": _("Annotators"),
        "quality": _("Quality"),
        "stopping": _("Stopping"),
        "submissions": _("Submissions"),
        "review": _("Review"),
    }


def forms_of(campaign: Campaign) -> Mapping[str, type[Form]]:
    """Return the forms of the steps that have one."""
    if campaign.is_single:
        return SINGLE_FORMS
    return LIVE_FORMS if campaign.is_live else FORMS


def steps_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the steps in which the campaign can still be changed."""
    if campaign.is_single:
        return SINGLE_AFTER_PILOT if pilot_waits(campaign) or annotates(campaign) else SINGLE_STEPS
    if pilot_waits(campaign):
        return LIVE_AFTER_PILOT if campaign.is_live else AFTER_PILOT
    if campaign.is_live:
        return LIVE_STEPS
    return PAIR_STEPS if annotates(campaign) else STEPS


def steps_context(desk: CampaignContext, step: str) -> dict[str, Any]:
    """Return the list of steps and the next address."""
    labels = step_labels()
    steps = steps_of(desk.campaign)
    at = steps.index(step)
    following = steps[at + 1] if at + 1 < len(steps) else None
    return {
        "step": step,
        "step_label": labels[step],
        "steps": [Link(labels[name], desk.url("console_step", name), name == step) for name in steps],
        "piloted": pilot_waits(desk.campaign),
        "forecasts": step == "stopping" and desk.campaign.mode == Campaign.Mode.STATIC,
        "next_url": desk.url("console_step", following) if following else None,
        "next_label": labels[following] if following else "",
    }


# Steps with a form ------------------------------------------------------------------------------------


def initial(campaign: Campaign, step: str) -> dict[str, Any]:
    """Return the current values of the step's form."""
    if step == "goal":
        aspect: Aspect = aspect_primary(campaign)
        own = {"name": campaign.name, "description": campaign.description, "question": aspect.question}
        if campaign.is_single:
            return own | scale_initial(aspect)
        if campaign.is_live:
            return own
        others = others_text(campaign.rubric.aspects.exclude(position=0))
        return {**own, "allow_tie": aspect.allow_tie, "allow_both_bad": aspect.allow_both_bad, "others": others}
    if step == "submissions":
        return accepted_initial(campaign)
    if step == "conversation":
        return settings_initial(campaign)
    received = onboarding_of(campaign)
    fields = forms_of(campaign)[step].base_fields
    rows = {name: received if name in RECEPTION else _row_of(campaign, name) for name in fields}
    values = {name: getattr(row, name) for name, row in rows.items()}
    found = {name: value for name, value in values.items() if value is not None}
    if "pay_rate" in found:
        found["pay_rate"] = f"{found['pay_rate'].normalize():f}"  # 0.1, not 0.1000.
    return found


def _row_of(campaign: Campaign, name: str) -> Any:
    """Return the row of the campaign that has this field."""
    return campaign.plan if name in PLAN_FIELDS else campaign.stopping if name in LIMITS else campaign


def form_of(campaign: Campaign, step: str, sent: QueryDict | None = None) -> Form:
    """Return the step's form with the campaign's values or the submitted ones."""
    form = forms_of(campaign)[step](sent, initial=initial(campaign, step))
    if isinstance(form, StoppingForm):
        form.choose_from(entrants_active(campaign))
    if isinstance(form, GoalForm):
        form.primary = aspect_primary(campaign).key
    return form


def step_extras(desk: CampaignContext, step: str) -> dict[str, Any]:
    """Return the content beside a step's form."""
    if step == "quality":
        return {"qualifying": len(qualification_of(desk.campaign))}
    if step == "annotators":
        return {"may_invite": desk.may(Act.INVITE), "arrive_url": arrive_url(desk.campaign)}
    return {}


def settings_options(form: Form) -> list[Any]:
    """Return what annotators can select, each with its meaning."""
    return list(options_of(form, "setting", SETTINGS, {}))


def arrive_url(campaign: Campaign) -> str:
    """Return the arrival address for the crowd platform, with the study's secret if required; "" without a platform."""
    path = settings.SITE_URL + reverse("arrive", args=[str(campaign.public_id)])
    onboarding = onboarding_of(campaign)
    if onboarding.platform == Onboarding.Platform.NONE:
        return ""
    query = [f"key={arrival_secret(campaign)}"] if onboarding.secret_required else []
    if onboarding.platform == Onboarding.Platform.PROLIFIC:
        query += [f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")]
    else:
        path += "mturk/"
    return f"{path}?{'&'.join(query)}" if query else path


def changed_design(campaign: Campaign, cleaned: Mapping[str, Any]) -> DraftDesign:
    """Return the campaign as it would be with this step.

    Raises InvalidInput for an invalid combination.
    """
    plan = plan_changed(plan_options(campaign), cleaned)
    chatbots_check(campaign, plan)
    return draft_design(campaign, Limits(**{name: cleaned[name] for name in LIMITS}), plan)


def save(desk: CampaignContext, step: str, cleaned: Mapping[str, Any], by: Any) -> None:
    """Save a step with a form."""
    changes, received = dict(cleaned), {}
    if step == "submissions":
        submissions_accept(campaign=desk.campaign, accepted=accepted_from(cleaned), by=by)
        return
    with write_transaction():
        if step == "conversation":
            questions = cleaned["turn_questions"]
            live_settings_set(campaign=desk.campaign, values=settings_values(changes), questions=questions, by=by)
            return
        if step == "goal":
            aspect = new_aspect(changes, single=desk.campaign.is_single)
            others = None if desk.campaign.is_live else _others(changes)
            draft_questions_set(campaign=desk.campaign, aspect=aspect, others=others, by=by)
            changes = {"name": cleaned["name"], "description": cleaned["description"]}
        if step == "annotators":
            received = {name: changes.pop(name) for name in RECEPTION}
        draft_change(campaign=desk.campaign, changes=changes, by=by)
        if received != {name: getattr(onboarding_of(desk.campaign), name) for name in received}:
            onboarding_set(campaign=desk.campaign, by=by, **received)


def _others(cleaned: Mapping[str, Any]) -> list[NewAspect] | None:
    """Return the further questions, with the verdicts of the first question."""
    if cleaned.get("others") is None:
        return None
    allowed = {name: cleaned[name] for name in ("allow_tie", "allow_both_bad")}
    return [replace(one, **allowed) for one in cleaned["others"]]


def new_aspect(cleaned: Mapping[str, Any], *, single: bool = False) -> NewAspect:
    """Return the first question; `single`: it is about one reply."""
    if single:
        return scale_question(cleaned, cleaned["question"])
    allowed = (cleaned.get("allow_tie", False), cleaned.get("allow_both_bad", False))
    return NewAspect("overall", cleaned["question"], *allowed)


# Prompts --------------------------------------------------------------------------------------------------


def prompts_keep(
    campaign: Campaign, file: UploadedFile[bytes] | None, pasted: str, by: User, *, encoding: str = ""
) -> None:
    """Store a submitted file or text for review.

    Raises InvalidInput if it is empty or unreadable; TooLarge.
    """
    if file is None and not pasted.strip():
        raise InvalidInput(_("Choose a file, or paste prompts."), field="file")

    def look(content: bytes, name: str) -> None:
        _prompts_look(campaign, content, name)

    prompts_unused_check(campaign.prompt_set)
    named = encoding if file else ""
    file_keep(campaign, "prompts", file or ContentFile(pasted.encode(), name=""), by, look, encoding=named)


def _prompts_look(campaign: Campaign, content: bytes, name: str) -> tuple[PromptReport | None, ColumnChoice | None]:
    """Return the report on a file, or the columns to choose. Raises InvalidInput if it is unreadable."""
    try:
        return prompts_preview(prompt_set=campaign.prompt_set, content=content, name=name), None
    except ColumnsUnclear as error:
        if not can_be_chosen(error):
            raise
        return None, ColumnChoice(error, PROMPT_CHOICES)


def prompts_columns_choose(campaign: Campaign, sent: Mapping[str, str]) -> None:
    """Give the kept prompt file our names of the chosen columns. Raises InvalidInput and NotFound."""
    upload = _upload_kept(campaign, "prompts", "")
    content = _chosen(upload, sent, PROMPT_CHOICES, ({"prompt_id"}, {"text", "turns"}))
    _prompts_look(campaign, content, upload.name)
    upload_replace(upload, content)


def _upload_kept(campaign: Campaign, purpose: str, public_id: str) -> Upload:
    """Return a kept file: the one with this id, or the first."""
    kept = uploads_of(campaign.public_id, purpose)
    found = next((one for one in kept if not public_id or str(one.public_id) == public_id), None)
    if found is None:
        raise NotFound(_("There is no such file any more."), hint=_("Files are kept for a day. Send it again."))
    return found


def _chosen(upload: Upload, sent: Mapping[str, str], names: Sequence[str], needed: Sequence[set[str]]) -> bytes:
    return columns_named(bytes(upload.content), upload.name, {name: sent.get(name, "") for name in names}, needed)


def prompts_context(campaign: Campaign, user: User) -> dict[str, Any]:
    """Return the current prompts, the report on pending ones, and the available sets."""
    waiting = uploads_of(campaign.public_id, "prompts")
    report = choice = None
    stays, stays_for = asked_by(campaign.prompt_set, user)
    if waiting:
        upload = waiting[0]
        report, choice = _prompts_look(campaign, bytes(upload.content), upload.name)
    return {
        "choice": choice,
        "count": campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count(),
        "report": report,
        "rows": _refused_first(report.rows)[:ROWS_SHOWN] if report else [],
        "adds": report.count("add") if report else 0,
        "same": report.count("same") if report else 0,
        "refused": report.count("refused") if report else 0,
        "file_name": waiting[0].name if waiting else "",
        "own_set": campaign.prompt_set,
        "sets": prompt_sets_to_use(campaign, user),
        "stays": stays,
        "stays_for": stays_for,
    }


def _refused_first(rows: tuple[Any, ...]) -> list[Any]:
    return sorted(rows, key=lambda row: row.fate != "refused")


def set_use(campaign: Campaign, public_id: str, by: User) -> None:
    """Use an existing prompt set.

    Raises NotFound.
    """
    found = next((one for one in prompt_sets_to_use(campaign, by) if str(one.public_id) == public_id), None)
    if found is None:
        raise NotFound(_("There is no such prompt set."), hint=_("Choose one of the list."), field="set")
    draft_prompt_set(campaign=campaign, prompt_set=found, by=by)


def prompts_import_pending(campaign: Campaign, by: User) -> int:
    """Import the pending prompts and return the number of added ones."""
    admit_costly(what="upload", who=by.public_id)
    added = 0
    with write_transaction():
        prompts_unused_check(campaign.prompt_set, locked=True)
        sharing = list(Campaign.objects.filter(prompt_set=campaign.prompt_set).values_list("public_id", flat=True))
        for upload in uploads_of(campaign.public_id, "prompts"):
            report = prompts_import(
                prompt_set=campaign.prompt_set, content=bytes(upload.content), name=upload.name, by=by, told=sharing
            )
            added += report.count("add")
        uploads_drop(subject=campaign.public_id, purpose="prompts")
    return added


# Chatbots ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PendingReplyFile:
    """A pending reply file: the resulting chatbot and a report, or why it is unreadable."""

    upload: Upload
    name: str
    report: ReplyReport | None
    trouble: str
    choice: ColumnChoice | None = None

    @property
    def key(self) -> str:
        return str(self.upload.public_id)

    @property
    def usable(self) -> bool:
        return self.report is not None and self.report.count("add") > 0

    @property
    def adds(self) -> int:
        return self.report.count("add") if self.report else 0

    @property
    def naming(self) -> list[str]:
        """Return the prompts whose reply names the chatbot or a maker."""
        return [row.key for row in rows_naming(self.report, [self.name])] if self.report else []

    @property
    def missing(self) -> tuple[str, ...]:
        return self.report.missing[:MISSING_SHOWN] if self.report else ()

    @property
    def refused(self) -> list[Any]:
        return self.report.refused[:ROWS_SHOWN] if self.report else []


def replies_keep(campaign: Campaign, files: list[UploadedFile[bytes]], by: User, *, encoding: str = "") -> None:
    """Store the files for review, in UTF-8. `encoding` is theirs, if it is another one.

    Raises InvalidInput without files; TooLarge.
    """
    if not files:
        raise InvalidInput(_("Choose at least one file."), field="file")
    stored = files_read(campaign=campaign, purpose="replies", files=files, by=by)
    if encoding:
        stored = [(name, recoded(content, encoding)) for name, content in stored]
    uploads_keep(subject=campaign.public_id, purpose="replies", files=stored)


def chatbots_context(campaign: Campaign) -> dict[str, Any]:
    """Return entrants with their numbers of replies, candidates, and the report on each pending file."""
    taking, others, prompts = entrants_with_replies(campaign)
    waiting = [_pending_file(campaign, upload) for upload in uploads_of(campaign.public_id, "replies")]
    return {
        "taking": taking,
        "others": others,
        "prompts": prompts,
        "waiting": waiting,
        "usable": sum(one.usable for one in waiting),
        "encodings": ENCODING_CHOICES,
        **lacking_context(campaign, taking),
    }


def lacking_context(campaign: Campaign, taking: Sequence[Taking]) -> dict[str, Any]:
    """Return the number of prompts that lack replies, and the first of them with the versions that have one."""
    lacking = sorted((one for one in taking if one.missing), key=lambda one: -one.missing)
    versions = [one.version for one in lacking[:LACKING_OF]]
    found = prompts_lacking(campaign, versions, LACKING_SHOWN + 1)
    return {
        "lacking": found[:LACKING_SHOWN],
        "lacking_of": versions,
        "lacking_more": len(found) > LACKING_SHOWN or len(lacking) > LACKING_OF,
    }


def _pending_file(campaign: Campaign, upload: Upload) -> PendingReplyFile:
    name = PurePath(upload.name).stem.replace("_", " ").strip() or upload.name
    try:
        report = replies_preview(prompt_set=campaign.prompt_set, content=bytes(upload.content), name=upload.name)
    except TouchstoneError as error:
        choice = None
        if isinstance(error, ColumnsUnclear) and can_be_chosen(error):
            choice = ColumnChoice(error, REPLY_CHOICES)
        return PendingReplyFile(upload, name, None, f"{error.message} {error.hint}".strip(), choice)
    return PendingReplyFile(upload, name, report, "")


def replies_columns_choose(campaign: Campaign, public_id: str, sent: Mapping[str, str]) -> None:
    """Give a kept reply file our names of the chosen columns. Raises InvalidInput and NotFound."""
    upload = _upload_kept(campaign, "replies", public_id)
    names = {name: sent.get(f"{name}-{upload.public_id}", "") for name in REPLY_CHOICES}
    content = _chosen(upload, names, REPLY_CHOICES, REPLIES_NEED)
    replies_preview(prompt_set=campaign.prompt_set, content=content, name=upload.name)
    upload_replace(upload, content)


def _treatment(sent: str) -> Treatment:
    return Treatment(sent) if sent in set(Treatment) else Treatment.KEEP


def chatbots_import_pending(campaign: Campaign, names: Mapping[str, str], by: User) -> int:
    """Create and enter a chatbot for each usable file, under the given name. Return their number."""
    admit_costly(what="upload", who=by.public_id)
    taken = 0
    usable = [one for one in chatbots_context(campaign)["waiting"] if one.usable]
    makers = {one.upload.pk: names.get(f"made_by-{one.upload.public_id}", "") for one in usable}
    for slug in makers.values():
        maker_named(slug)  # Before the first file is imported.
    for one in usable:
        version, _report = chatbot_import(
            organisation=campaign.organisation,
            prompt_set=campaign.prompt_set,
            name=names.get(f"name-{one.upload.public_id}", "") or one.name,
            content=bytes(one.upload.content),
            filename=one.upload.name,
            by=by,
            made_by=makers[one.upload.pk],
            names=_treatment(names.get(f"naming-{one.upload.public_id}", "")),
        )
        entrant_add(campaign=campaign, version=version, by=by)
        one.upload.delete()
        taken += 1
    uploads_drop(subject=campaign.public_id, purpose="replies")
    return taken


# Forecast ------------------------------------------------------------------------------------------------


def forecast_context(campaign: Campaign, inquiry: Inquiry) -> dict[str, Any]:
    """Return the forecast as text, beside the non-adaptive design; empty while the worker computes."""
    result = inquiry.result or {}
    rows = [_forecast_row(campaign, row) for row in result.get("forecasts", [])]
    return {
        "inquiry": inquiry,
        "waiting": inquiry.answered_at is None,
        "rows": rows,
        "saves": round(100 * result["saves"]) if result else None,
        "advice": _advice(result),
        "aimless": inquiry.args.get("target_se") is None and inquiry.args.get("min_difference") is None,
    }


def _advice(result: Mapping[str, Any]) -> list[str]:
    """Return the advice of a forecast in the active language; older forecasts have its English text alone."""
    texts = result.get("advice", [])
    return [reason_text(*one) for one in zip(texts, result.get("advice_data") or [None] * len(texts), strict=True)]


def _forecast_row(campaign: Campaign, row: Mapping[str, Any]) -> dict[str, str]:
    found = row["forecast"]
    adaptive = row["policy"] != "random"
    return {
        "design": _("This campaign") if adaptive else _("Without choosing what to ask"),
        "judgments": ranged(found["judgments"], lambda value: fixed(value, 0)),
        "money": _money(found["cost"], campaign.currency),
        "time": ranged(found["days"], duration),
        "reached": f"{fixed(100 * found['reached'], 0)} %",
    }


def _money(found: Mapping[str, float] | None, currency: str) -> str:
    return "–" if found is None else f"{ranged(found, fixed)} {currency}"
