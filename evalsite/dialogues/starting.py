"""Begin of conversations: whether one may begin, and with which chatbots."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign, Entrant, LiveSettings
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, NotAllowed
from evalsite.dialogues.chatbot_sets import ChosenSet, entrants_available, set_choose, set_key, sets_used_up
from evalsite.dialogues.models import Conversation, ConversationEntrant
from evalsite.dialogues.texts import key_make
from evalsite.judgments.claim_sql import claim_terms, enrolment_lock
from evalsite.judgments.conflict_of_interest import own_entrants
from evalsite.judgments.models import Annotator
from evalsite.judgments.selectors import budget_left
from evalsite.judgments.services import refusal_reason


class StartRefusal(StrEnum):
    """Why no conversation begins. The values are part of the API."""

    NOT_STARTED = "not_started"
    PAUSED = "paused"
    STOPPED = "stopped"
    EXCLUDED = "excluded"
    ON_HOLD = "on_hold"
    CONSENT = "consent"
    QUALIFICATION = "qualification"
    NOT_QUALIFIED = "not_qualified"
    BUDGET = "budget"
    LIMIT = "limit"
    CHATBOTS = "chatbots"
    OWN_CHATBOTS = "own_chatbots"

    @property
    def hint(self) -> str:
        """Return the next step for the annotator or their program."""
        return {
            StartRefusal.NOT_STARTED: _("The campaign has not started. Try again later."),
            StartRefusal.PAUSED: _("The campaign is paused. Try again later."),
            StartRefusal.STOPPED: _("The campaign has ended. There will be no more conversations."),
            StartRefusal.EXCLUDED: _("The owner has excluded this annotator. There will be no more conversations."),
            StartRefusal.ON_HOLD: _("The owner has paused this annotator. Ask the owner."),
            StartRefusal.CONSENT: _("This campaign asks for your consent. Read its notice, then join again with it."),
            StartRefusal.QUALIFICATION: _("Answer the qualification items first."),
            StartRefusal.NOT_QUALIFIED: _("The qualification was not passed in two attempts."),
            StartRefusal.BUDGET: _("The last judgments of the budget are with other annotators. Try again later."),
            StartRefusal.LIMIT: _("You have had all the conversations that one annotator may have here."),
            StartRefusal.CHATBOTS: _("Too few chatbots can be reached now. Try again later."),
            StartRefusal.OWN_CHATBOTS: _("The chatbots here are those of your own organisation. Others judge them."),
        }[self]


@dataclass(frozen=True, slots=True)
class Started:
    """An open conversation, or the reason why none begins. `created` False: it was open before."""

    conversation: Conversation | None
    refusal: StartRefusal | None = None
    created: bool = False


def conversation_start(
    *,
    campaign: Campaign,
    annotator: Annotator,
    key: str,
    consents_to_review: bool = False,
    users: Collection[int] = (),
) -> Started:
    """Return the annotator's open conversation, or begin one with chatbots chosen for it.

    Two chatbots: the next set that the scheduler planned, else two at random. One: at random. More: the least exposed.
    The probability of the choice is logged. `key` is an Idempotency-Key. Raises NotAllowed for somebody not enrolled.
    """
    with write_transaction():
        enrolment = enrolment_lock(campaign.pk, annotator.pk)
        if enrolment is None:
            raise NotAllowed(_("You have not joined this campaign."), hint=_("Open its page first."))
        own = Conversation.objects.filter(campaign=campaign, annotator=annotator)
        earlier = own.filter(start_key=key).first() or own.filter(state=Conversation.State.OPEN).first()
        if earlier is not None:
            return Started(earlier)
        terms = claim_terms(campaign, annotator.pk)
        live = _live(campaign)
        enrolment.campaign = campaign
        if wait := refusal_reason(campaign, annotator, enrolment, terms):
            return Started(None, StartRefusal(wait.value))
        if budget_left(campaign) == 0:
            return Started(None, StartRefusal.BUDGET)
        theirs = own_entrants(campaign, users if annotator.user_id is None else {*users, annotator.user_id})
        available = entrants_available(campaign, without=theirs)
        if len(available) < live.chatbots_per_conversation:
            return Started(None, _too_few(campaign, live, theirs))
        seed = secrets.randbelow(2**31)
        chosen = set_choose(campaign, live, available, sets_used_up(campaign, live, annotator), seed)
        if chosen is None:
            return Started(None, StartRefusal.LIMIT)
        row = _begin(campaign, live, annotator, chosen, seed, key=key, consents_to_review=consents_to_review)
    return Started(row, created=True)


def _live(campaign: Campaign) -> LiveSettings:
    live = LiveSettings.objects.filter(campaign=campaign).first() if campaign.is_live else None
    if live is None:
        raise Conflict(
            _("This campaign has no conversations: it compares replies that were collected before."),
            hint=_("Claim a block instead: /api/v1/campaigns/{campaign}/claims."),
            code="static",
        )
    return live


def _too_few(campaign: Campaign, live: LiveSettings, own: Collection[int]) -> StartRefusal:
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE)
    left = active.exclude(pk__in=list(own)).count()
    return StartRefusal.OWN_CHATBOTS if own and left < live.chatbots_per_conversation else StartRefusal.CHATBOTS


def _begin(
    campaign: Campaign,
    live: LiveSettings,
    annotator: Annotator,
    chosen: ChosenSet,
    seed: int,
    *,
    key: str,
    consents_to_review: bool,
) -> Conversation:
    topics: Sequence[str] = live.opening_topics or [""]
    row = Conversation.objects.create(
        campaign=campaign,
        annotator=annotator,
        start_key=key,
        setting=live.setting,
        chatbot_set=set_key(chosen.entrants),
        policy=chosen.policy,
        probability=chosen.probability,
        snapshot=chosen.snapshot,
        plan_seed=chosen.plan_seed,
        seed=seed,
        topic=topics[seed % len(topics)],
        consents_to_review=consents_to_review,
    )
    key_make(row)
    ConversationEntrant.objects.bulk_create(
        ConversationEntrant(conversation=row, entrant_id=number) for number in chosen.entrants
    )
    return row
