"""Annotation of conversations: a campaign on a random sample of the replies in a set."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.boards.live_turns import chatbot_names
from evalsite.campaigns.drafts import free_slug
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.questions import KNOWN_LABELS
from evalsite.campaigns.services import Design, NewAspect, campaign_create, entrant_add
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.dialogues.models import Continuation, Utterance
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompt_set_create, prompts_add
from evalsite.scorecards.live_conversations import finished_conversations
from evalsite.scorecards.models import AnnotatedReply, Annotation, ConversationSet
from evalsite.scorecards.reply_sampling import Drawn, SampleRequest, replies_draw, wanted_replies

MOST_REPLIES = 20_000  # of a campaign
MOST_IN_A_BLOCK = 20
MOST_VOTES = 20
VERSION = "conversations"
QUESTION = "Is this reply correct?"


@dataclass(frozen=True, slots=True)
class AnnotationRequest:
    """What to annotate, by which labels, and how many annotators judge each reply."""

    name: str
    sample: SampleRequest
    question: str = QUESTION
    labels: Sequence[str] = tuple(KNOWN_LABELS)
    votes: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ChatbotSample:
    """The replies of a chatbot, and those that are drawn of them."""

    chatbot: str
    conversations: int
    replies: int
    drawn: Sequence[Drawn] = field(repr=False)


def replies_of_chatbots(conversation_set: ConversationSet) -> dict[str, dict[int, int]]:
    """Return the number of replies of each conversation (key), by chatbot."""
    found: dict[str, dict[int, int]] = {}
    if conversation_set.campaign is None:
        rows = conversation_set.conversations.order_by("chatbot", "pk").values_list("chatbot", "pk", "replies")
        for chatbot, key, replies in rows.iterator():
            found.setdefault(chatbot, {})[key] = replies
        return found
    names = chatbot_names(conversation_set.campaign)
    finished = finished_conversations(conversation_set.campaign)
    said = Utterance.objects.filter(conversation__in=finished, speaker=Utterance.Speaker.CHATBOT)
    said = said.exclude(turn__continuation__how=Continuation.How.WRITTEN)
    entrants = dict(finished.filter(members__left_at=None).values_list("pk", "members__entrant"))
    for key in said.order_by("conversation", "pk").values_list("conversation", flat=True):
        mine = found.setdefault(names[entrants[key]], {})
        mine[key] = mine.get(key, 0) + 1
    return dict(sorted(found.items()))


def sample_plan(conversation_set: ConversationSet, sample: SampleRequest, *, seed: int = 0) -> list[ChatbotSample]:
    """Return the sample of each chatbot. Raises InvalidInput if there is nothing to draw, or too much."""
    plan = []
    for chatbot, replies in replies_of_chatbots(conversation_set).items():
        rng = random.Random(f"{conversation_set.public_id}:{chatbot}:{seed}")  # noqa: S311  a draw, not a secret
        drawn = replies_draw(replies, wanted_replies(sample, replies), whole=sample.whole, rng=rng)
        plan.append(ChatbotSample(chatbot, len(replies), sum(replies.values()), drawn))
    count = sum(len(one.drawn) for one in plan)
    if not count:
        raise InvalidInput(
            gettext("The set has no replies to annotate."), hint=gettext("Import conversations first."), field="set"
        )
    if count > MOST_REPLIES:
        raise InvalidInput(
            gettext("%(n)s replies are too many for a campaign; the most is %(most)s.")
            % {"n": f"{count:,}", "most": f"{MOST_REPLIES:,}"},
            hint=gettext("Draw fewer of each chatbot."),
            field="number",
        )
    return plan


def annotation_create(
    *, conversation_set: ConversationSet, request: AnnotationRequest, by: User | None = None
) -> Campaign:
    """Create the draft of a campaign on a random sample of replies. Raises InvalidInput."""
    name = _checked_name(request)
    plan = sample_plan(conversation_set, request.sample, seed=request.seed)
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
        annotation = Annotation.objects.create(
            campaign=campaign,
            conversation_set=conversation_set,
            whole_conversations=request.sample.whole,
            seed=request.seed,
        )
        versions = {one.chatbot: _entered(campaign, one.chatbot) for one in plan if one.drawn}
        _add_replies(annotation, plan, versions)
        counts = {"replies": sum(len(one.drawn) for one in plan), "chatbots": len(versions)}
        audit_record(act="annotate", subject=conversation_set.public_id, by=by, after=counts, target=slug)
    campaign.refresh_from_db()
    return campaign


def _checked_name(request: AnnotationRequest) -> str:
    name = request.name.strip()
    if not name or len(name) > 200 or "\0" in name:
        raise InvalidInput(gettext("A name has 1 to %(longest)s characters.") % {"longest": 200}, field="name")
    if not 1 <= request.votes <= MOST_VOTES:
        raise InvalidInput(
            gettext("Each reply is judged by 1 to %(most)s annotators.") % {"most": MOST_VOTES}, field="votes"
        )
    if not request.question.strip() or len(request.question) > 300:
        raise InvalidInput(gettext("A question has 1 to %(longest)s characters.") % {"longest": 300}, field="question")
    return name


def _design(request: AnnotationRequest) -> Design:
    aspect = NewAspect(
        "label",
        request.question.strip(),
        kind=Aspect.Kind.LABEL,
        scope=Aspect.Scope.TURN,
        labels=tuple(request.labels),
        one_label=True,
    )
    return Design(
        mode=Campaign.Mode.SINGLE,
        aspects=(aspect,),
        votes_per_item=request.votes,
        block_size=MOST_IN_A_BLOCK,
        target_se=None,
        seed=request.seed,
    )


def _entered(campaign: Campaign, name: str) -> Version:
    """Return the version that stands for a chatbot of conversations, with an entrant in the campaign."""
    chatbot = Chatbot.objects.filter(organisation=campaign.organisation, name=name).first() or chatbot_create(
        organisation=campaign.organisation, name=name, imported=True
    )
    version = chatbot.versions.filter(label=VERSION).first() or version_create(chatbot=chatbot, label=VERSION)
    entrant_add(campaign=campaign, version=version, imported=True)
    return version


def _add_replies(annotation: Annotation, plan: Sequence[ChatbotSample], versions: Mapping[str, Version]) -> None:
    """Write a prompt, a reply and their conversation for each drawn reply. Conversations of all chatbots are mixed."""
    by_conversation: dict[int, list[tuple[str, Drawn]]] = {}
    for one in plan:
        for drawn in one.drawn:
            by_conversation.setdefault(drawn.conversation, []).append((one.chatbot, drawn))
    order = list(by_conversation)
    random.Random(f"{annotation.pk}:{annotation.seed}").shuffle(order)  # noqa: S311  an order to mix, not a secret
    rows = [row for conversation in order for row in by_conversation[conversation]]
    prompts = prompts_add(
        prompt_set=annotation.campaign.prompt_set,
        prompts=[NewPrompt(f"r{number}", None) for number in range(1, len(rows) + 1)],
        origin=Prompt.Origin.LIVE,
    )
    replies: dict[str, list[tuple[Prompt, str | None]]] = {}
    for prompt, (chatbot, _) in zip(prompts, rows, strict=True):
        replies.setdefault(chatbot, []).append((prompt, None))
    for chatbot, mine in replies.items():
        replies_add(version=versions[chatbot], replies=mine, origin=Reply.Origin.LIVE)
    source = "live_id" if annotation.conversation_set.campaign_id else "imported_id"
    AnnotatedReply.objects.bulk_create(
        (
            AnnotatedReply(annotation=annotation, prompt=prompt, number=drawn.number, **{source: drawn.conversation})
            for prompt, (_, drawn) in zip(prompts, rows, strict=True)
        ),
        batch_size=500,
    )
