"""Annotation of conversations: a campaign on a random sample of the replies or the conversations in a set."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.boards.live_turns import chatbot_names
from evalsite.campaigns.drafts import free_slug
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.questions import KNOWN_LABELS
from evalsite.campaigns.services import Design, NewAspect, campaign_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.dialogues.models import Continuation, Utterance
from evalsite.prompts.services import prompt_set_create
from evalsite.scorecards.annotation_rows import sample_store
from evalsite.scorecards.live_conversations import finished_conversations
from evalsite.scorecards.models import Annotation, ConversationSet
from evalsite.scorecards.reply_sampling import Drawn, SampleRequest, replies_draw, wanted_replies

MOST_REPLIES = 20_000  # of a campaign
MOST_IN_A_BLOCK, CONVERSATIONS_IN_A_BLOCK = 20, 5
LEASE_OF_CONVERSATIONS_S = 3600  # a block of whole conversations takes long to read
MOST_VOTES = 20
QUESTION = "Is this reply correct?"
RATING_QUESTION = "How good is this reply?"
QUESTIONS = {
    Annotation.Unit.CONVERSATION: "How good is the chatbot in this conversation?",
    Annotation.Unit.PAIR: "Which of the two chatbots would you rather talk with for a long time?",
}


def label_question(question: str = QUESTION, labels: Sequence[str] = tuple(KNOWN_LABELS)) -> NewAspect:
    """Return a question that is answered by one label."""
    return NewAspect(
        "label", question.strip(), kind=Aspect.Kind.LABEL, scope=Aspect.Scope.TURN, labels=tuple(labels), one_label=True
    )


def rating_question(question: str = RATING_QUESTION, *, minimum: int = 0, maximum: int = 2) -> NewAspect:
    """Return a question that is answered by a number."""
    return NewAspect(
        "rating", question.strip(), kind=Aspect.Kind.RATING, scope=Aspect.Scope.TURN, minimum=minimum, maximum=maximum
    )


def pair_question(question: str = QUESTIONS[Annotation.Unit.PAIR], *, ties: bool = True) -> NewAspect:
    """Return a question that compares the chatbots of two conversations."""
    return NewAspect("overall", question.strip(), allow_tie=ties, allow_both_bad=ties)


@dataclass(frozen=True, slots=True)
class AnnotationRequest:
    """What to annotate, by which question, and how many annotators judge each reply.

    error_below: ratings below it are errors; None: the lowest rating alone. justify: answers need a justification.
    """

    name: str
    sample: SampleRequest
    question: NewAspect = field(default_factory=label_question)
    votes: int = 1
    seed: int = 0
    error_below: float | None = None
    unit: Annotation.Unit = Annotation.Unit.REPLY
    justify: bool = False


@dataclass(frozen=True, slots=True)
class ChatbotSample:
    """The replies of a chatbot, and those that are drawn of them, or its conversations that are drawn."""

    chatbot: str
    conversations: int
    replies: int
    drawn: Sequence[Drawn] = field(repr=False)


def replies_of_chatbots(conversation_set: ConversationSet, *, whole: bool = False) -> dict[str, dict[int, int]]:
    """Return the number of replies of each conversation (key), by chatbot.

    Others read only live conversations whose annotators have consented. whole: and who wrote none of the replies.
    """
    found: dict[str, dict[int, int]] = {}
    if conversation_set.campaign is None:
        rows = conversation_set.conversations.order_by("chatbot", "pk").values_list("chatbot", "pk", "replies")
        for chatbot, key, replies in rows.iterator():
            found.setdefault(chatbot, {})[key] = replies
        return found
    names = chatbot_names(conversation_set.campaign)
    finished = finished_conversations(conversation_set.campaign).filter(consents_to_review=True)
    if whole:
        written = Continuation.objects.filter(how=Continuation.How.WRITTEN).values("turn__conversation")
        finished = finished.exclude(pk__in=written)
    said = Utterance.objects.filter(conversation__in=finished, speaker=Utterance.Speaker.CHATBOT)
    said = said.exclude(turn__continuation__how=Continuation.How.WRITTEN)
    entrants = dict(finished.filter(members__left_at=None).values_list("pk", "members__entrant"))
    for key in said.order_by("conversation", "pk").values_list("conversation", flat=True):
        mine = found.setdefault(names[entrants[key]], {})
        mine[key] = mine.get(key, 0) + 1
    return dict(sorted(found.items()))


def sample_plan(
    conversation_set: ConversationSet,
    sample: SampleRequest,
    *,
    seed: int = 0,
    unit: Annotation.Unit = Annotation.Unit.REPLY,
) -> list[ChatbotSample]:
    """Return the sample of each chatbot. Raises InvalidInput if there is nothing to draw, or too much."""
    whole = unit != Annotation.Unit.REPLY
    if whole and sample.half_width is not None:
        raise InvalidInput(
            gettext("A half-width is of an error rate of replies."),
            hint=gettext("Give a share or a number of conversations."),
            field="half_width",
        )
    plan = []
    for chatbot, replies in replies_of_chatbots(conversation_set, whole=whole).items():
        rng = random.Random(f"{conversation_set.public_id}:{chatbot}:{seed}")  # noqa: S311  a draw, not a secret
        drawn_from = dict.fromkeys(replies, 1) if whole else replies
        drawn = replies_draw(drawn_from, wanted_replies(sample, drawn_from), whole=sample.whole and not whole, rng=rng)
        plan.append(ChatbotSample(chatbot, len(replies), sum(replies.values()), drawn))
    count = sum(len(one.drawn) for one in plan)
    if not count:
        raise InvalidInput(
            gettext("The set has no replies to annotate."), hint=_hint_without_replies(conversation_set), field="set"
        )
    if unit == Annotation.Unit.PAIR and sum(bool(one.drawn) for one in plan) < 2:
        raise InvalidInput(
            gettext("Pairs need conversations of two chatbots or more."),
            hint=gettext("Import conversations of another chatbot, or rate whole conversations."),
            field="unit",
        )
    if count > MOST_REPLIES:
        raise InvalidInput(
            gettext("%(n)s replies are too many for a campaign; the most is %(most)s.")
            % {"n": f"{count:,}", "most": f"{MOST_REPLIES:,}"},
            hint=gettext("Draw fewer of each chatbot."),
            field="number",
        )
    return plan


def _hint_without_replies(conversation_set: ConversationSet) -> str:
    if conversation_set.campaign is None:
        return gettext("Import conversations first.")
    return gettext("Only conversations that have ended, and whose annotators consented to a review, are drawn.")


def judgments_planned(plan: Sequence[ChatbotSample], votes: int, unit: Annotation.Unit) -> int:
    """Return how many judgments the sample takes. Of pairs, it is the most: a campaign may stop earlier."""
    drawn = sorted(len(one.drawn) for one in plan)
    if unit != Annotation.Unit.PAIR:
        return votes * sum(drawn)
    return votes * sum(size * (len(drawn) - 1 - place) for place, size in enumerate(drawn))


def annotation_create(
    *, conversation_set: ConversationSet, request: AnnotationRequest, by: User | None = None
) -> Campaign:
    """Create the draft of a campaign on a random sample of replies. Raises InvalidInput."""
    name = _checked_name(request)
    slug = free_slug(name)
    with write_transaction():
        prompt_set = prompt_set_create(organisation=conversation_set.organisation, name=f"{slug} replies", prompts=[])
        campaign = campaign_create(
            organisation=conversation_set.organisation,
            name=name,
            slug=slug,
            prompt_set=prompt_set,
            design=_design(request),
        )
        sample_add(
            campaign=campaign,
            conversation_set=conversation_set,
            sample=request.sample,
            seed=request.seed,
            error_below=request.error_below,
            unit=request.unit,
            by=by,
        )
        if request.justify:
            onboarding_set(campaign=campaign, by=by, comments=True, comment_required=True)
    campaign.refresh_from_db()
    return campaign


def sample_add(
    *,
    campaign: Campaign,
    conversation_set: ConversationSet,
    sample: SampleRequest,
    seed: int = 0,
    error_below: float | None = None,
    unit: Annotation.Unit = Annotation.Unit.REPLY,
    by: User | None = None,
) -> Annotation:
    """Add a random sample of a set to a draft that judges single replies or conversations, or pairs of conversations.

    The draft has no prompts and no chatbots yet. Raises InvalidInput.
    """
    error_check(campaign.rubric.aspects.get(position=0), error_below)
    plan = sample_plan(conversation_set, sample, seed=seed, unit=unit)
    with write_transaction():
        annotation = Annotation.objects.create(
            campaign=campaign,
            conversation_set=conversation_set,
            whole_conversations=sample.whole,
            seed=seed,
            size=sample.size,
            error_below=error_below,
            unit=unit,
        )
        chatbots = sample_store(annotation, [(one.chatbot, one.drawn) for one in plan if one.drawn])
        counts = {"replies": sum(len(one.drawn) for one in plan), "chatbots": chatbots}
        audit_record(act="annotate", subject=conversation_set.public_id, by=by, after=counts, target=campaign.slug)
    return annotation


def error_check(question: Aspect | NewAspect, error_below: float | None) -> None:
    """Raise InvalidInput for a limit of errors that no rating is on either side of."""
    if error_below is None:
        return
    if question.kind != Aspect.Kind.RATING or question.minimum is None or question.maximum is None:
        raise InvalidInput(gettext("Only ratings have a limit below which they are errors."), field="error_below")
    if not question.minimum < error_below <= question.maximum:
        raise InvalidInput(
            gettext("The limit of errors is above %(low)s, and at most %(high)s.")
            % {"low": question.minimum, "high": question.maximum},
            field="error_below",
        )


def _checked_name(request: AnnotationRequest) -> str:
    name = request.name.strip()
    if not name or len(name) > 200 or "\0" in name:
        raise InvalidInput(gettext("A name has 1 to %(longest)s characters.") % {"longest": 200}, field="name")
    if not 1 <= request.votes <= MOST_VOTES:
        raise InvalidInput(
            gettext("Each reply is judged by 1 to %(most)s annotators.") % {"most": MOST_VOTES}, field="votes"
        )
    if not request.question.question or len(request.question.question) > 300:
        raise InvalidInput(gettext("A question has 1 to %(longest)s characters.") % {"longest": 300}, field="question")
    return name


def _design(request: AnnotationRequest) -> Design:
    pairs, terms = request.unit == Annotation.Unit.PAIR, block_terms(request.unit)
    return Design(
        mode=mode_of(request.unit),
        aspects=(request.question,),
        votes_per_item=request.votes,
        target_se=Design().target_se if pairs else None,
        seed=request.seed,
        block_size=terms["block_size"],
        lease_s=terms["lease_s"],
    )


def mode_of(unit: Annotation.Unit) -> Campaign.Mode:
    """Return the mode of campaigns that judge this: pairs of conversations are compared like pairs of replies."""
    return Campaign.Mode.STATIC if unit == Annotation.Unit.PAIR else Campaign.Mode.SINGLE


def block_terms(unit: Annotation.Unit) -> dict[str, int]:
    """Return the usual size of blocks, and how long they are leased."""
    if unit == Annotation.Unit.REPLY:
        return {"block_size": MOST_IN_A_BLOCK, "lease_s": Design().lease_s}
    return {"block_size": CONVERSATIONS_IN_A_BLOCK, "lease_s": LEASE_OF_CONVERSATIONS_S}
