"""Views of endpoints. No view calls a chatbot: tests and collections are queued, and the page polls."""

import uuid
from collections.abc import Callable, Mapping

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import organisations_to_set_up_in
from evalsite.campaigns.endpoint_access import (
    chatbot_with_endpoints,
    collection_for,
    endpoint_for,
    prompt_set_to_collect,
)
from evalsite.console.endpoint_forms import ChangeForm, EndpointForm, LiveChatbotForm, VersionForm
from evalsite.console.endpoints import endpoint_context, live_context
from evalsite.console.page_frame import person
from evalsite.console.views import console_page
from evalsite.core.errors import InvalidInput, NotAllowed, NotFound, TouchstoneError
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_pause, collection_resume, collection_retry, collection_start
from evalsite.endpoints.drift_alarms import drift_dismiss, drift_follow
from evalsite.endpoints.models import Drift, Endpoint
from evalsite.endpoints.registration import live_chatbot_register
from evalsite.endpoints.selectors import drifts_open
from evalsite.endpoints.services import endpoint_pause, endpoint_resume, endpoint_update, secret_set


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_chatbot(request: HttpRequest) -> HttpResponse:
    """Register a new chatbot that replies by an endpoint."""
    own = organisations_to_set_up_in(person(request))
    if not own:
        raise NotAllowed(_("You may add chatbots in no organisation."), hint=_("Ask an owner for the role of manager."))
    chosen = next((one for one in own if str(one.public_id) == request.POST.get("organisation")), own[0])
    form = LiveChatbotForm(_sent(request))

    def register() -> Endpoint:
        named = {name: form.cleaned_data[name] for name in ("name", "description", "label", "secret")}
        return live_chatbot_register(organisation=chosen, settings=form.settings(), **named, by=person(request))

    context = {"organisations": own if len(own) > 1 else [], "chosen": chosen}
    return _registered(request, form, register, context)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_version(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Register a further version of a chatbot, which replies by an endpoint."""
    chatbot = chatbot_with_endpoints(public_id=public_id, user=person(request), use=True)
    form = VersionForm(_sent(request))

    def register() -> Endpoint:
        named = {name: form.cleaned_data[name] for name in ("label", "secret")}
        return live_chatbot_register(
            organisation=chatbot.organisation,
            name=chatbot.name,
            settings=form.settings(),
            **named,
            by=person(request),
        )

    return _registered(request, form, register, {"chatbot": chatbot})


def _sent(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _registered(
    request: HttpRequest, form: EndpointForm, register: Callable[[], Endpoint], context: Mapping[str, object]
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            made = register()
        except TouchstoneError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("The endpoint was registered. Test it now."))
            return redirect("console_endpoint", made.public_id)
    status = 400 if form.errors else 200
    return render(request, "console/endpoints/form.html", {"form": form, **context}, status=status)


def _add_error(form: Form, error: TouchstoneError) -> None:
    form.add_error(error.field if error.field in form.fields else None, f"{error.message} {error.hint}".strip())


@console_page
@require_safe
def endpoint(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show an endpoint."""
    return _page(request, endpoint_for(public_id=public_id, user=person(request), use=False))


def _page(request: HttpRequest, found: Endpoint, *, trouble: str = "", status: int = 200) -> HttpResponse:
    context = {**endpoint_context(found, person(request)), "trouble": trouble}
    return render(request, "console/endpoints/endpoint.html", context, status=status)


@console_page
@require_safe
def live(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Return the parts of that page that change."""
    found = endpoint_for(public_id=public_id, user=person(request), use=False)
    return render(request, "console/endpoints/_polled.html", {**live_context(found, person(request)), "polled": True})


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show and save the settings of an endpoint."""
    found = endpoint_for(public_id=public_id, user=person(request), use=True)
    form = ChangeForm(found, _sent(request))
    if request.method == "POST" and form.is_valid():
        try:
            secret = form.cleaned_data["secret"]
            endpoint_update(endpoint=found, settings=form.settings(), secret=secret, by=person(request))
        except TouchstoneError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("console_endpoint", found.public_id)
    context = {"form": form, "endpoint": found, "chatbot": found.version.chatbot}
    return render(request, "console/endpoints/form.html", context, status=400 if form.errors else 200)


@console_page
@require_POST
def act(request: HttpRequest, public_id: uuid.UUID, act: str) -> HttpResponse:
    """Do something with an endpoint."""
    found = endpoint_for(public_id=public_id, user=person(request), use=True)
    try:
        messages.success(request, _ACTS[act](found, request.POST, person(request)))
    except (KeyError, TouchstoneError) as error:
        if not isinstance(error, TouchstoneError):
            raise NotFound(_("There is no such act."), hint=_("Go back to the endpoint.")) from None
        return _page(request, found, trouble=f"{error.message} {error.hint}".strip(), status=error.status)
    return redirect("console_endpoint", found.public_id)


def _test(found: Endpoint, sent: QueryDict, by: User) -> str:
    endpoint_test(endpoint=found, by=by)
    return _("The test has begun.")


def _pause(found: Endpoint, sent: QueryDict, by: User) -> str:
    endpoint_pause(endpoint=found, by=by)
    return _("The endpoint is paused.")


def _resume(found: Endpoint, sent: QueryDict, by: User) -> str:
    endpoint_resume(endpoint=found, by=by)
    return _("The endpoint may be called again.")


def _secret(found: Endpoint, sent: QueryDict, by: User) -> str:
    secret_set(endpoint=found, secret=sent.get("secret", ""), by=by)
    return _("The secret was stored.")


def _collect(found: Endpoint, sent: QueryDict, by: User) -> str:
    prompt_set = prompt_set_to_collect(public_id=_id(sent.get("prompt_set", "")), user=by)
    collection_start(endpoint=found, prompt_set=prompt_set, by=by)
    return _("Replies are being collected.")


def _dismiss(found: Endpoint, sent: QueryDict, by: User) -> str:
    drift_dismiss(drift=_drift(found, sent), by=by)
    return _("The alarm was dismissed.")


def _follow(found: Endpoint, sent: QueryDict, by: User) -> str:
    made = drift_follow(drift=_drift(found, sent), by=by)
    return _("The version %(label)s was created.") % {"label": made.version.label}


_ACTS: Mapping[str, Callable[[Endpoint, QueryDict, User], str]] = {
    "test": _test,
    "pause": _pause,
    "resume": _resume,
    "secret": _secret,
    "collect": _collect,
    "dismiss": _dismiss,
    "follow": _follow,
}


def _drift(found: Endpoint, sent: QueryDict) -> Drift:
    drift = next((one for one in drifts_open(found) if str(one.public_id) == sent.get("drift")), None)
    if drift is None:
        raise NotFound(_("There is no such alarm."), hint=_("Somebody may have settled it already."))
    return drift


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise InvalidInput(_("Choose a prompt set."), field="prompt_set") from None


@console_page
@require_POST
def collection_act(request: HttpRequest, public_id: uuid.UUID, act: str) -> HttpResponse:
    """Pause, resume or repeat a collection."""
    collection = collection_for(public_id=public_id, user=person(request), use=True)
    services = {"pause": collection_pause, "resume": collection_resume, "retry": collection_retry}
    if act not in services:
        raise NotFound(_("There is no such act."), hint=_("Go back to the endpoint."))
    try:
        services[act](collection=collection, by=person(request))
    except TouchstoneError as error:
        return _page(request, collection.endpoint, trouble=f"{error.message} {error.hint}".strip(), status=error.status)
    return redirect("console_endpoint", collection.endpoint.public_id)
