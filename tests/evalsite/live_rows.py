"""Rows of judged conversations, for tests of what is read from them. No chatbot is called."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.campaigns.live import live_set_make
from evalsite.campaigns.models import Aspect, Campaign, Entrant, LiveSettings
from evalsite.campaigns.services import Design, NewAspect, campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create
from evalsite.dialogues.models import Continuation, Conversation, Turn, TurnReply, Utterance
from evalsite.endpoints.models import CallRequest
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Judgment, Place
from evalsite.judgments.services import annotator_enrol
from evalsite.prompts.models import Prompt

_OPEN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    seed=1,
    budget=1000,
)
_BEST = NewAspect("best", "Which reply is best?", allow_tie=False, allow_both_bad=False)
_FINE = NewAspect("fine", "Which replies are appropriate?", False, False, kind=Aspect.Kind.SELECT_ANY)


def live_campaign_rows(
    organisation: Organisation, *, slug: str = "talk", chatbots: int = 2, state: str = "running", **live: Any
) -> Campaign:
    """A live campaign; `live`: fields of LiveSettings."""
    aspect = _FINE if live.get("selection", "soba") == "sata" else _BEST
    campaign = campaign_create(
        organisation=organisation,
        name=slug.title(),
        slug=slug,
        prompt_set=live_set_make(organisation=organisation, name=f"{slug} turns"),
        design=replace(_OPEN, aspects=(aspect,)),
    )
    LiveSettings.objects.create(campaign=campaign, **{"chatbots_per_conversation": chatbots, **live})
    for n in range(chatbots):
        endpoint = endpoint_register(
            chatbot=chatbot_create(organisation=organisation, name=f"{slug} {'ABCDEFGH'[n]}"),
            label="1",
            settings=EndpointSettings(adapter="openai", url="https://chat.example.org/v1", model=f"m{n}"),
        )
        entrant_add(campaign=campaign, version=endpoint.version)
    Campaign.objects.filter(pk=campaign.pk).update(mode=Campaign.Mode.LIVE, state=state)
    campaign.refresh_from_db()
    return campaign


def conversation_rows(
    campaign: Campaign,
    patterns: Sequence[str],
    *,
    annotator: Annotator | None = None,
    message: str = "Tell me more, please",
    flags: Sequence[str] = (),
    written: Sequence[int] = (),
    failed: int = 0,
    rating: int | None = None,
    consents: bool = True,
) -> Conversation:
    """An ended conversation with one judged turn for each pattern (1 = selected) over the entrants, in their order.

    written: numbers of turns whose fallback the annotator wrote. failed: void turns at the end, by the last chatbot.
    """
    entrants, now = list(campaign.entrants.order_by("pk")), timezone.now()
    own = annotator or annotator_enrol(campaign=campaign)
    conversation = Conversation.objects.create(
        campaign=campaign,
        annotator=own,
        state=Conversation.State.ENDED,
        start_key=f"start {Conversation.objects.count()}",
        setting=campaign.live.setting,
        chatbot_set="-".join(str(one.pk) for one in entrants),
        policy="random",
        seed=1,
        rating=rating,
        consents_to_review=consents,
        ended_at=now,
    )
    batch, _ = Batch.objects.get_or_create(campaign=campaign, number=1, defaults={"state": "closed", "closed_at": now})
    for number, pattern in enumerate(patterns, start=1):
        turn = _turn(conversation, number, Turn.State.JUDGED)
        _judged(turn, entrants, pattern, batch, flags if number == 1 else (), number in written)
        Utterance.objects.create(conversation=conversation, turn=turn, speaker="user", text=message, hmac="0" * 64)
    for number in range(len(patterns) + 1, len(patterns) + 1 + failed):
        turn = _turn(conversation, number, Turn.State.VOID)
        _reply(turn, entrants[-1], TurnReply.State.FAILED)
        _reply(turn, entrants[0], TurnReply.State.CAME)
    return conversation


def _turn(conversation: Conversation, number: int, state: Turn.State) -> Turn:
    now, campaign = timezone.now(), conversation.campaign
    prompt = Prompt.objects.create(
        prompt_set=campaign.prompt_set, key=f"{conversation.public_id}:{number}", origin=Prompt.Origin.LIVE
    )
    return Turn.objects.create(
        conversation=conversation,
        number=number,
        message_key=str(number),
        state=state,
        counts=number > 1 or campaign.live.count_first_turn,
        prompt=prompt,
        deadline=now,
        released_at=now,
        closed_at=now,
    )


def _reply(turn: Turn, entrant: Entrant, state: TurnReply.State, **more: Any) -> TurnReply:
    request = CallRequest.objects.create(
        endpoint=entrant.version.endpoint, messages=[], state=CallRequest.State.DONE, finished_at=timezone.now()
    )
    text = f"Reply {turn.number} of entrant {entrant.pk}" if state == TurnReply.State.CAME else ""
    return TurnReply.objects.create(
        turn=turn, entrant=entrant, request=request, state=state, hmac="0" * 64, text=text, **more
    )


def _judged(
    turn: Turn, entrants: Sequence[Entrant], pattern: str, batch: Batch, flags: Sequence[str], written: bool
) -> None:
    campaign, now, annotator = turn.conversation.campaign, timezone.now(), turn.conversation.annotator
    item = f"{turn.prompt_id}:{turn.conversation.chatbot_set}"
    assignment = Assignment.objects.create(
        campaign=campaign,
        place=Place.objects.create(campaign=campaign, prompt=turn.prompt, item=item),
        item=item,
        source=Assignment.Source.LIVE,
        state=Assignment.State.ANSWERED,
        annotator=annotator,
        issued_at=now,
        lease_until=now,
        closed_at=now,
    )
    turn.assignment = assignment
    turn.save(update_fields=["assignment"])
    judgment = Judgment.objects.create(assignment=assignment, annotator=annotator, batch=batch, answered_at=now)
    aspect = campaign.rubric.aspects.get(position=0)
    shift, last = turn.number % len(entrants), None
    for index, entrant in enumerate(entrants):
        position = (index + shift) % len(entrants)
        reply = Reply.objects.create(version=entrant.version, prompt=turn.prompt, origin=Reply.Origin.LIVE)
        last = _reply(turn, entrant, TurnReply.State.CAME, position=position, flags=list(flags), reply=reply)
        candidate = Candidate.objects.create(assignment=assignment, position=position, entrant=entrant, reply=reply)
        if pattern[index] == "1":
            Answer.objects.create(judgment=judgment, aspect=aspect, candidate=candidate, value="chosen")
    if "1" not in pattern:
        Answer.objects.create(judgment=judgment, aspect=aspect, value="none")
    if written:
        Continuation.objects.create(turn=turn, how=Continuation.How.WRITTEN)
    else:
        Continuation.objects.create(turn=turn, how=Continuation.How.CHOSEN, reply=last)
