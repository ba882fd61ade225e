"""Third parties: a static campaign out of a random sample of live turns, and the erasure of what it holds."""

import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import draft_change, draft_create
from evalsite.campaigns.models import Aspect, Campaign, LiveSettings, Retirement
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import NewAspect, entrant_add, refit_request
from evalsite.chatbots.models import Reply, Version
from evalsite.chatbots.services import replies_add
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.dialogues.locking import conversations_lock
from evalsite.dialogues.models import Conversation, ReviewedTurn, ThirdPartyReview, Turn, Utterance
from evalsite.dialogues.redaction import names_pattern, redacted
from evalsite.judgments.selectors import standings
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompts_add

CONVERSATIONS = 60
MOST_CONVERSATIONS = 1_000
JUDGES = 3  # third parties for each pair of replies


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """A turn with its context and the replies that were shown, redacted."""

    turn: Turn
    context: Sequence[Mapping[str, str]]
    replies: Mapping[Version, str]


def third_parties_ask(*, campaign: Campaign, by: User, conversations: int = CONVERSATIONS) -> Campaign:
    """Make a static draft in which third parties judge a random turn of so many random conversations.

    Only conversations that have ended are drawn, whose annotators consented, are neither excluded nor newcomers, and
    have not been erased; of these, turns that count. The texts are redacted. The draft belongs to the campaign's
    organisation.

    Raises Conflict without any such turn, InvalidInput, NotAllowed for somebody who may not set up campaigns there.
    """
    if type(conversations) is not int or not 1 <= conversations <= MOST_CONVERSATIONS:
        raise InvalidInput(
            _("The sample is a whole number from 1 to %(most)s.") % {"most": MOST_CONVERSATIONS}, field="conversations"
        )
    if not campaign.is_live or campaign.live.chatbots_per_conversation < 2:
        raise Conflict(
            _("Third parties compare the replies of two or more chatbots."),
            hint=_("Choose a live campaign with two chatbots in a conversation."),
        )
    seed = secrets.randbelow(2**31)
    with write_transaction():
        sample = _sample(campaign, random.Random(seed), conversations)  # noqa: S311  a draw, not a secret
        if not sample:
            raise Conflict(
                _("No conversation can be shown to third parties yet."),
                hint=_("They need judged turns, and annotators who consent to a review when they begin."),
            )
        draft = _draft(campaign, sample, by)
        review = ThirdPartyReview.objects.create(campaign=draft, source=campaign, seed=seed)
        _fill(review, sample, by)
        after = {"third_parties": draft.slug, "conversations": len(sample)}
        audit_record(act="third_parties", subject=campaign.public_id, by=by, after=after)
    return draft


def conversations_reviewable(campaign: Campaign) -> int:
    """Return how many conversations could be shown to third parties."""
    return len(_eligible(campaign))


def _eligible(campaign: Campaign) -> list[int]:
    out = [number for number, one in standings(campaign).items() if not one.counts]
    found = Conversation.objects.filter(campaign=campaign, consents_to_review=True, erased_at__isnull=True)
    found = found.filter(turns__state=Turn.State.JUDGED, turns__counts=True).exclude(annotator__in=out)
    closed = found.exclude(state=Conversation.State.OPEN)
    return list(closed.order_by("pk").values_list("pk", flat=True).distinct())


def _sample(campaign: Campaign, rng: random.Random, size: int) -> list[SampledTurn]:
    """Return one turn of each drawn conversation. The lock keeps an erasure from passing between."""
    order = _eligible(campaign)
    rng.shuffle(order)
    sample: list[SampledTurn] = []
    for start in range(0, len(order), size):
        drawn = order[start : start + size - len(sample)]
        for conversation in conversations_lock(drawn):
            turn = None if conversation.erased_at else _turn(conversation, rng)
            sample += [turn] if turn else []
        if len(sample) >= size:
            break
    rng.shuffle(sample)  # the place says nothing about who wrote it
    return sample


def _turn(conversation: Conversation, rng: random.Random) -> SampledTurn | None:
    """Return a random turn of a conversation that counts and has all its texts."""
    turns = list(conversation.turns.filter(state=Turn.State.JUDGED, counts=True))
    rng.shuffle(turns)
    names = conversation_names(conversation)
    for turn in turns:
        rows = list(turn.replies.shown().select_related("entrant__version__chatbot"))
        replies = {row.entrant.version: redacted(row.text, names) for row in rows}
        context = [{"speaker": who, "text": redacted(text, names)} for who, text in _context(turn)]
        texts = [*replies.values(), *(one["text"] for one in context)]
        if len(replies) > 1 and context and all(text.strip() for text in texts):
            return SampledTurn(turn, context, replies)
    return None


def _context(turn: Turn) -> list[tuple[str, str]]:
    """Return what was said before the replies: the turns that went on, and the annotator's message."""
    before = Q(turn__number__lt=turn.number, turn__continuation__isnull=False)
    own = Q(turn=turn, speaker=Utterance.Speaker.USER)
    rows = Utterance.objects.filter(before | own, conversation=turn.conversation_id).order_by("turn__number", "pk")
    return [(str(speaker), text) for speaker, text in rows.values_list("speaker", "text")]


def conversation_names(conversation: Conversation) -> dict[str, Any]:
    """Return patterns of names that would tell who speaks in a conversation."""
    chatbots = conversation.campaign.entrants.values_list("version__chatbot__name", flat=True)
    user = conversation.annotator.user
    own = [user.username, user.email, user.first_name, user.last_name] if user else []
    return {"chatbot": names_pattern(chatbots), "name": names_pattern(own)}


def _draft(campaign: Campaign, sample: Sequence[SampledTurn], by: User) -> Campaign:
    """Return a private draft with the question of the live campaign; without a best reply, ties are allowed."""
    first, ties = aspect_primary(campaign), campaign.live.selection == LiveSettings.Selection.SATA
    aspect = NewAspect(first.key, first.question, ties, ties, kind=Aspect.Kind.CHOOSE_ONE)
    name = _("%(name)s: third parties") % {"name": campaign.name[:150]}
    draft = draft_create(organisation=campaign.organisation, name=name, aspect=aspect, by=by)
    pairs = sum(len(one.replies) * (len(one.replies) - 1) // 2 for one in sample)
    changes = {"votes_per_item": JUDGES, "target_se": None, "budget": pairs * JUDGES}
    draft_change(campaign=draft, changes=changes, by=by)
    return draft


def _fill(review: ThirdPartyReview, sample: Sequence[SampledTurn], by: User) -> None:
    """Add the contexts as prompts, the replies, the chatbots, and the link of each prompt to its turn."""
    draft = review.campaign
    new = [NewPrompt(f"turn-{number}", one.context) for number, one in enumerate(sample, start=1)]
    prompts_add(prompt_set=draft.prompt_set, prompts=new, origin=Prompt.Origin.IMPORT)
    by_key = {prompt.key: prompt for prompt in draft.prompt_set.prompts.all()}
    prompts = [by_key[one.key] for one in new]
    versions = {version.pk: version for one in sample for version in one.replies}
    for version in versions.values():
        own = [
            (prompt, one.replies[version])
            for prompt, one in zip(prompts, sample, strict=True)
            if version in one.replies
        ]
        replies_add(version=version, replies=own, origin=Reply.Origin.ENDPOINT)
        entrant_add(campaign=draft, version=version, by=by)
    ReviewedTurn.objects.bulk_create(
        ReviewedTurn(review=review, turn=one.turn, prompt=prompt) for prompt, one in zip(prompts, sample, strict=True)
    )


def reviews_erase(conversations: Iterable[int]) -> None:
    """Empty what third parties see of these conversations (keys), and retire it wherever its prompt set is used.

    Their judgments stay. Runs in the transaction of the erasure, which holds the conversations' locks.
    """
    rows = Prompt.objects.filter(reviewed_turn__turn__conversation__in=list(conversations))
    prompts = list(rows.order_by("pk"))
    if not prompts:
        return
    with deletion_permitted():
        Reply.objects.filter(prompt__in=prompts).update(text=None, sha256=None)
        Prompt.objects.filter(pk__in=[one.pk for one in prompts]).update(turns=None)
    campaigns = list(Campaign.objects.filter(prompt_set__in={one.prompt_set_id for one in prompts}).order_by("pk"))
    Retirement.objects.bulk_create(
        (
            Retirement(campaign=campaign, prompt=prompt, reason="erased")
            for campaign in campaigns
            for prompt in prompts
            if prompt.prompt_set_id == campaign.prompt_set_id
        ),
        ignore_conflicts=True,
    )
    for campaign in campaigns:
        if campaign.collecting:
            refit_request(campaign)
