"""Submissions: submit a chatbot, follow its state, and moderate it."""

import hashlib
import json
import uuid
from dataclasses import asdict
from typing import Any

from django.http import HttpResponse, QueryDict
from django.utils import timezone
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api.base_views import ReaderView, person
from evalsite.api.fields import StrictSerializer
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, READING, TEXT, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.parsers import StrictJSONParser, WrongContentType, json_sent
from evalsite.api.requests import EmptyRequest, PageQuery
from evalsite.api.responses.submissions import (
    PromptResultsSerializer,
    SubmissionPageSerializer,
    SubmissionSerializer,
    SubmissionSettingsSerializer,
)
from evalsite.api.submission_requests import (
    PromptsQuery,
    RefusalRequest,
    SubmissionFormRequest,
    SubmissionSettingsRequest,
    SubmittedEndpointRequest,
    WithdrawalRequest,
)
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.campaigns.storage_quota import file_read
from evalsite.core.errors import InvalidInput, NotAllowed, TooLarge
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.row_files import MOST_BYTES, MOST_ROWS
from evalsite.core.throttle import admit_costly
from evalsite.endpoints.options import EndpointSettings
from evalsite.exchange.sent_files import unpacked
from evalsite.submissions.access import campaign_to_submit_to, prompts_check, submitter_for
from evalsite.submissions.cards import LONGEST, LONGEST_README, ChatbotCard, card_completed
from evalsite.submissions.models import Submission
from evalsite.submissions.moderation import submission_approve, submission_refuse
from evalsite.submissions.prompt_files import TYPES, prompt_file
from evalsite.submissions.results import prompt_results
from evalsite.submissions.selectors import closed_reason, settings_of, submission_get, submissions_to, with_events
from evalsite.submissions.services import (
    Accepted,
    NewSubmission,
    SentEndpoint,
    SentReplies,
    accepted_of,
    standing_set,
    submission_check,
    submission_create,
    submission_withdraw,
    submissions_accept,
)

KEYED = (IDEMPOTENCY_KEY,)
FORM = "multipart/form-data"
MOST_SENT = MOST_BYTES + 2 * LONGEST_README


class SubmissionBaseView(ReaderView):
    """A view for submitters and moderators. Reading needs campaigns:read, submitting chatbots:write."""

    writes = ApiToken.Scope.CHATBOTS

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.scope = ApiToken.Scope.CAMPAIGNS if request.method in ("GET", "HEAD") else self.writes
        super().initial(request, *args, **kwargs)

    def user(self, request: Request) -> User:
        found = person(request)
        if found is None:
            raise NotAllowed("A submission needs an account.", hint=f"Send a token with {self.scope.value}.")
        return found

    def body(self, request: Request, shape: type[StrictSerializer]) -> dict[str, Any]:
        body = shape(data=json_sent(request))
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)


class SubmissionsView(SubmissionBaseView):
    """Submissions to a campaign, with a file or an endpoint: the caller's own, or all for its moderators."""

    query = PageQuery
    parser_classes = (MultiPartParser, StrictJSONParser)

    @reading("submissions", "List submissions to a campaign", SubmissionPageSerializer,
             query=PageQuery)  # fmt: skip
    def get(self, request: Request, key: str) -> Response:
        campaign, _settings = campaign_to_submit_to(key=key, user=person(request))
        rows = with_events(submissions_to(campaign, self.user(request)))
        return Response(SubmissionPageSerializer.render(page_of(rows, **self.checked_query(request))))

    @operation(
        "submit",
        "Submit a chatbot",
        {200: SubmissionSerializer, 201: SubmissionSerializer},
        ACTING,
        parameters=KEYED,
        body={FORM: SubmissionFormRequest},
    )
    def post(self, request: Request, key: str) -> Response:
        user = self.user(request)
        campaign, settings = campaign_to_submit_to(key=key, user=user)
        given = _form_of(request)
        who = submitter_for(settings=settings, user=user, slug=given.get("organisation", ""))
        sent = _sent_of(given, user)

        def take() -> StoredAnswer:
            if given["dry_run"] == "true":
                checked = submission_check(campaign=campaign, who=who, sent=sent)
                state = Submission.State.CHECKED if checked.accepted else Submission.State.REFUSED
                shown = Submission(
                    campaign=campaign,
                    organisation=who.organisation,
                    name=sent.card.name,
                    label=checked.label,
                    kind=sent.kind,
                    state=state,
                    card=sent.card.about,
                )
                return StoredAnswer(200, SubmissionSerializer.checked(shown, checked.report))
            made, _checked = submission_create(campaign=campaign, who=who, sent=sent)
            return StoredAnswer(201, SubmissionSerializer.of(made))

        return answered(request, f"user:{user.public_id}", take, sent=_fingerprint_of(given, sent))


def _form_of(request: Request) -> dict[str, Any]:
    """Return the fields and files of the form. Raises TooLarge before it is read, InvalidInput for repeated fields."""
    if not request.content_type.startswith(FORM):
        raise _no_form()
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > MOST_SENT:
        raise TooLarge(f"The request is longer than {MOST_SENT:,} bytes.", hint="Compress the file, or split it.")
    sent, data = request.data, {}
    if not isinstance(sent, QueryDict):  # no body, and a type that only begins like a form's
        raise _no_form()
    for name, values in sent.lists():
        if len(values) > 1:
            raise InvalidInput("This field is given twice.", hint="Give it once.", field=name)
        data[name] = values[0]
    form = SubmissionFormRequest(data=data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def _no_form() -> WrongContentType:
    return WrongContentType((FORM,))


def _sent_of(given: dict[str, Any], user: User) -> NewSubmission:
    if ("file" in given) == ("endpoint" in given):
        raise InvalidInput("A submission has either a file or an endpoint.", hint="Send one of them.", field="file")
    card = ChatbotCard(**{name: given[name].strip() for name in LONGEST if name in given})
    if "readme" in given:
        card = card_completed(card, given["readme"].read(LONGEST_README + 1))
    source: SentReplies | SentEndpoint
    if "file" in given:
        content = file_read(file=given["file"], by=user)
        source = SentReplies(*unpacked(content, given["file"].name or "", given.get("encoding", "")))
    else:
        admit_costly(what="upload", who=user.public_id)
        source = SentEndpoint(_endpoint_of(given["endpoint"]), given.get("secret", ""))
    return NewSubmission(card, source, given["accept_terms"] == "true", given["mails"] == "true")


def _endpoint_of(text: str) -> EndpointSettings:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput("The endpoint is no JSON object.", hint="See docs/endpoints.md.", field="endpoint")
    body = SubmittedEndpointRequest(data=value)
    body.is_valid(raise_exception=True)
    settings = dict(body.validated_data)
    if "secret" in settings:
        raise InvalidInput("The secret is a field of its own.", hint="Send it as `secret`.", field="endpoint")
    return EndpointSettings(**settings)


def _fingerprint_of(given: dict[str, Any], sent: NewSubmission) -> dict[str, Any]:
    """Return what tells the request from another one, with hashes in place of the files."""
    fields = {name: value for name, value in given.items() if name not in {"file", "readme"}}
    content = sent.source.content if isinstance(sent.source, SentReplies) else b""
    return {**fields, "card": asdict(sent.card), "file": hashlib.sha256(content).hexdigest()}


class SubmissionView(SubmissionBaseView):
    """One submission."""

    @reading("submission", "Get a submission", SubmissionSerializer)
    def get(self, request: Request, submission: uuid.UUID) -> Response:
        self.checked_query(request)
        return Response(SubmissionSerializer.of(submission_get(public_id=submission, user=self.user(request))))


class SubmissionResultsView(SubmissionBaseView):
    """The private results of a submission."""

    @reading("submission_results", "Get the results of a submission by prompt", PromptResultsSerializer)
    def get(self, request: Request, submission: uuid.UUID) -> Response:
        self.checked_query(request)
        found = submission_get(public_id=submission, user=self.user(request))
        return Response(PromptResultsSerializer.render({"results": prompt_results(found)}))


class WithdrawalView(SubmissionBaseView):
    """Withdraw a submission."""

    @operation("withdraw_submission", "Withdraw a submission", {200: SubmissionSerializer}, ACTING, parameters=KEYED,
               body=WithdrawalRequest)  # fmt: skip
    def post(self, request: Request, submission: uuid.UUID) -> Response:
        user, given = self.user(request), self.body(request, WithdrawalRequest)
        found = submission_get(public_id=submission, user=user)

        def withdraw() -> StoredAnswer:
            done = submission_withdraw(submission=found, reason=given.get("reason", ""), by=user)
            return StoredAnswer(200, SubmissionSerializer.of(done))

        return answered(request, f"user:{user.public_id}", withdraw)


class DecisionView(SubmissionBaseView):
    """A view for moderators."""

    writes = ApiToken.Scope.ACTS

    def moderated(self, request: Request, public_id: uuid.UUID) -> Submission:
        found = submission_get(public_id=public_id, user=self.user(request))
        campaign_for(key=str(found.campaign.public_id), user=self.user(request), act=Act.MODERATE)
        return found


class ApprovalView(DecisionView):
    """Admit a submission that is waiting for moderation."""

    @operation("approve_submission", "Approve a submission", {200: SubmissionSerializer}, ACTING, parameters=KEYED)
    def post(self, request: Request, submission: uuid.UUID) -> Response:
        found, user = self.moderated(request, submission), self.user(request)
        self.body(request, EmptyRequest)

        def approve() -> StoredAnswer:
            return StoredAnswer(200, SubmissionSerializer.of(submission_approve(submission=found, by=user)))

        return answered(request, f"user:{user.public_id}", approve)


class RefusalView(DecisionView):
    """Refuse a submission that is waiting for moderation, with a reason."""

    @operation("refuse_submission", "Refuse a submission", {200: SubmissionSerializer}, ACTING, parameters=KEYED,
               body=RefusalRequest)  # fmt: skip
    def post(self, request: Request, submission: uuid.UUID) -> Response:
        found, user = self.moderated(request, submission), self.user(request)
        given = self.body(request, RefusalRequest)

        def refuse() -> StoredAnswer:
            done = submission_refuse(submission=found, reason=given["reason"], by=user)
            return StoredAnswer(200, SubmissionSerializer.of(done))

        return answered(request, f"user:{user.public_id}", refuse)


class SubmissionSettingsView(SubmissionBaseView):
    """The submissions that a campaign accepts, and whether its board stands."""

    writes = ApiToken.Scope.ACTS

    @reading("submission_settings", "Get the submission settings", SubmissionSettingsSerializer)
    def get(self, request: Request, key: str) -> Response:
        self.checked_query(request)
        campaign, _settings = campaign_to_submit_to(key=key, user=person(request))
        return Response(_settings_answer(campaign))

    @operation("set_submission_settings", "Change the submission settings",
               {200: SubmissionSettingsSerializer}, ACTING, body=SubmissionSettingsRequest)  # fmt: skip
    def put(self, request: Request, key: str) -> Response:
        user = self.user(request)
        campaign, _role = campaign_for(key=key, user=user, act=Act.SUBMISSIONS)
        given = self.body(request, SubmissionSettingsRequest)
        stands = {name: given.pop(name, getattr(campaign, name)) for name in ("standing", "newcomer_budget")}
        submissions_accept(campaign=campaign, accepted=Accepted(**given), by=user)
        standing_set(campaign=campaign, by=user, **stands)
        return Response(_settings_answer(campaign))


def _settings_answer(campaign: Campaign) -> dict[str, Any]:
    settings = settings_of(campaign)
    _code, why = closed_reason(campaign, settings, timezone.now())
    shown = {
        **asdict(accepted_of(settings)),
        "standing": campaign.standing,
        "newcomer_budget": campaign.newcomer_budget,
        "accepts_now": not why,
        "closed_reason": why,
        "most_megabytes": MOST_BYTES // 1_000_000,
        "most_rows": MOST_ROWS,
    }
    return SubmissionSettingsSerializer.render({**shown, "organisations": list(shown["organisations"])})


class SubmissionPromptsView(SubmissionBaseView):
    """The prompts as a file, for people who may submit."""

    query = PromptsQuery

    @operation("submission_prompts", "Download the prompts for a submission", {200: TEXT}, READING,
               query=PromptsQuery, content_types=tuple(TYPES.values()))  # fmt: skip
    def get(self, request: Request, key: str) -> HttpResponse:
        form = self.checked_query(request)["form"]
        campaign, settings = campaign_to_submit_to(key=key, user=person(request))
        prompts_check(campaign=campaign, settings=settings, user=self.user(request))
        return HttpResponse(prompt_file(campaign, form), content_type=f"{TYPES[form]}; charset=utf-8")
