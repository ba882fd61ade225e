"""Collections: the replies of a live version to every prompt of a set, as rows like those of a file."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.chatbots.models import Reply
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.endpoints.budgets import budget_check
from evalsite.endpoints.models import CallBudget, CallRequest, Collection, Endpoint
from evalsite.endpoints.money import budget_of
from evalsite.endpoints.queue import COLLECT_PRIORITY, requests_enqueue, wake
from evalsite.prompts.models import Prompt, PromptSet


def collection_start(*, endpoint: Endpoint, prompt_set: PromptSet, by: User | None = None) -> Collection:
    """Begin to collect a reply to every prompt of the set that has none. A collection in progress is returned.

    Raises Conflict if the endpoint is paused, if there is no prompt with a text, if no prompt lacks a reply, or if the
    campaign of the prompts has a cost cap that the endpoint's prices cannot be counted against.
    """
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        going_on = Collection.objects.filter(endpoint=locked, prompt_set=prompt_set)
        if found := going_on.exclude(state=Collection.State.COMPLETE).first():
            return found
        _check_not_paused(locked)
        prompts = list(prompts_to_ask(locked, prompt_set).values_list("pk", flat=True))
        if not prompts:
            raise Conflict(
                _("This version has a reply to every prompt of %(name)s.") % {"name": prompt_set.name},
                hint=_("Add prompts to the set, or choose another one."),
                field="prompt_set",
            )
        budget = budget_of(prompt_set)
        budget_check(locked, budget)
        collection = Collection.objects.create(endpoint=locked, prompt_set=prompt_set)
        requests_enqueue([_request(locked, collection, prompt, budget) for prompt in prompts])
        _audit("start_collection", collection, by, requests=len(prompts))
    return collection


def collection_pause(*, collection: Collection, by: User | None = None) -> Collection:
    """Stop new calls of this collection. Calls in progress end, and their replies are kept."""
    with write_transaction():
        locked = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        if locked.state != Collection.State.RUNNING:
            return locked
        _set_state(locked, Collection.State.PAUSED)
        locked.requests.filter(state=CallRequest.State.QUEUED).update(state=CallRequest.State.HELD)
        _audit("pause_collection", locked, by)
    return locked


def collection_resume(*, collection: Collection, by: User | None = None) -> Collection:
    """Go on with a paused collection. Raises Conflict if its endpoint is paused."""
    with write_transaction():
        locked = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        if locked.state != Collection.State.PAUSED:
            return locked
        _check_not_paused(Endpoint.objects.get(pk=locked.endpoint_id))
        _set_state(locked, Collection.State.RUNNING)
        locked.requests.filter(state=CallRequest.State.HELD).update(state=CallRequest.State.QUEUED)
        wake()
        _audit("resume_collection", locked, by)
    return locked


def collection_retry(*, collection: Collection, by: User | None = None) -> Collection:
    """Ask again for the replies that a complete collection could not get. Return the new collection."""
    return collection_start(endpoint=collection.endpoint, prompt_set=collection.prompt_set, by=by)


def prompts_to_ask(endpoint: Endpoint, prompt_set: PromptSet) -> QuerySet[Prompt]:
    """Return the current prompts with a text and without a reply of this version."""
    replies = Reply.objects.filter(version=endpoint.version_id, prompt=OuterRef("pk"))
    current = prompt_set.prompts.filter(corrected_by__isnull=True, turns__isnull=False)
    return current.filter(~Exists(replies)).order_by("pk")


def _check_not_paused(endpoint: Endpoint) -> None:
    if endpoint.state == Endpoint.State.PAUSED:
        raise Conflict(
            _("The endpoint is paused: %(why)s.") % {"why": endpoint.state_text.rstrip(".") or _("no reason given")},
            hint=_("Resume it first."),
            code="endpoint_paused",
        )


def _request(endpoint: Endpoint, collection: Collection, prompt: int, budget: CallBudget | None) -> CallRequest:
    return CallRequest(
        endpoint=endpoint, collection=collection, prompt_id=prompt, budget=budget, priority=COLLECT_PRIORITY
    )


def _set_state(collection: Collection, state: Collection.State) -> None:
    collection.state = state
    collection.finished_at = timezone.now() if state == Collection.State.COMPLETE else None
    collection.save(update_fields=["state", "finished_at"])


def _audit(act: str, collection: Collection, by: User | None, **after: int) -> None:
    version = collection.endpoint.version
    target = f"{version.chatbot} {version.label} on {collection.prompt_set.name}"[:300]
    audit_record(act=act, subject=version.chatbot.public_id, by=by, target=target, after=after)
