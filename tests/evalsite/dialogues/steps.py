"""Steps of these tests: a live campaign, conversations, and the outcomes of their calls."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.campaigns.live import live_set_make
from evalsite.campaigns.models import Aspect, Campaign, LiveSettings
from evalsite.campaigns.services import Design, NewAspect, campaign_create, entrant_add
from evalsite.chatbots.services import chatbot_create
from evalsite.dialogues.messages import message_post
from evalsite.dialogues.models import Conversation, Turn
from evalsite.dialogues.starting import conversation_start
from evalsite.dialogues.turns import JudgedTurn, turn_judge
from evalsite.endpoints.adapters.base import ChatReply
from evalsite.endpoints.call import CallOutcome
from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.models import CallRequest, Endpoint
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.queue import PlannedCall, calls_claim
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.endpoints.services import endpoint_register
from evalsite.judgments.models import Annotator
from evalsite.operations.services import campaign_open

BEST = NewAspect("best", "Which reply is the best?", allow_tie=False, allow_both_bad=False)
FINE = NewAspect("fine", "Which replies are appropriate?", False, False, kind=Aspect.Kind.SELECT_ANY)


def live_campaign_make(
    *,
    organisation: Organisation,
    slug: str = "chat",
    chatbots: int = 4,
    url: str = "https://chat.example.org/v1",
    models: tuple[str, ...] = (),
    aspects: tuple[NewAspect, ...] = (),
    start: bool = True,
    **live: Any,
) -> Campaign:
    """A live campaign with healthy endpoints, opened unless `start` is False. `live`: fields of LiveSettings."""
    aspects = aspects or ((FINE,) if live.get("selection") == "sata" else (BEST,))
    design = Design(
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        vetting_votes=0,
        batch_size=2,
        seed=1,
        target_se=None,
        budget=1000,
        aspects=aspects,
    )
    prompt_set = live_set_make(organisation=organisation, name=f"{slug} conversations")
    campaign = campaign_create(
        organisation=organisation, name=slug.title(), slug=slug, prompt_set=prompt_set, design=design
    )
    Campaign.objects.filter(pk=campaign.pk).update(mode=Campaign.Mode.LIVE, pay_rate="0.10")
    LiveSettings.objects.create(campaign=campaign, **{"minimum_turns": 2, **live})
    for n in range(chatbots):
        chatbot = chatbot_create(organisation=organisation, name=f"{slug} speaker {n}")
        model = models[n] if models else f"model-{n}"
        endpoint = endpoint_register(
            chatbot=chatbot, label="1", settings=EndpointSettings(adapter="openai", url=url, model=model)
        )
        entrant_add(campaign=campaign, version=endpoint.version)
    CallRequest.objects.filter(check_run__isnull=False).update(state=CallRequest.State.DONE)
    Endpoint.objects.update(state=Endpoint.State.HEALTHY)
    campaign.refresh_from_db()
    if start:
        campaign_open(campaign=campaign)
        campaign.refresh_from_db()
    return campaign


def begin(campaign: Campaign, annotator: Annotator, key: str = "start") -> Conversation:
    started = conversation_start(campaign=campaign, annotator=annotator, key=key)
    assert started.conversation is not None, started.refusal
    return started.conversation


def post(conversation: Conversation, text: str = "Hello!", key: str = "") -> Turn:
    return message_post(
        annotator=conversation.annotator, conversation_id=conversation.public_id, text=text, key=key or uuid.uuid4().hex
    ).turn


def claim_all() -> list[PlannedCall]:
    return calls_claim(owner="here:1", room=dict.fromkeys(Endpoint.objects.values_list("pk", flat=True), 10))


def said(text: str, **more: Any) -> CallOutcome:
    now = timezone.now()
    return CallOutcome(ChatReply(text, **more), None, 200, now - timedelta(seconds=0.2), now, now)


def failed(error: ErrorClass = ErrorClass.REJECTED) -> CallOutcome:
    now = timezone.now()
    return CallOutcome(None, Failure(error, 500, None, "It says no."), 500, now, now, now)


def answer_all(failing: Mapping[int, ErrorClass] | None = None) -> int:
    """Record a reply for each due call, or a failure for the endpoints (keys) in `failing`. Return their number."""
    failing = failing or {}
    results = []
    for plan in claim_all():
        error = failing.get(plan.endpoint_id)
        outcome = failed(error) if error else said(f"Reply of {plan.options.model} to {plan.messages[-1].content}")
        results.append(CallResult(plan, outcome))
    return calls_record(results)


def released(conversation: Conversation, text: str = "Hello!") -> Turn:
    """Post a message and have all chatbots reply."""
    turn = post(conversation, text)
    answer_all()
    turn.refresh_from_db()
    return turn


def choose(turn: Turn, choice: Any = "A", **more: Any) -> JudgedTurn:
    conversation = turn.conversation
    key = conversation.campaign.rubric.aspects.get(position=0).key
    return turn_judge(annotator=conversation.annotator, turn_id=turn.public_id, choices={key: choice}, **more)


def endpoint_of(turn: Turn, number: int) -> int:
    """The key of the endpoint of one of the turn's chatbots."""
    row = turn.replies.order_by("entrant")[number]
    return int(row.request.endpoint_id)
