"""What pages and the API read of conversation sets and their scorecards. Nothing here needs numpy."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.campaigns.permissions import MAKERS, Role
from evalsite.core.errors import InvalidInput, NotAllowed, NotFound
from evalsite.core.jobs import job_is_pending
from evalsite.judgments.models import Assignment
from evalsite.judgments.selectors import RANKING_PURPOSES
from evalsite.scorecards.metrics import METRIC
from evalsite.scorecards.models import Annotation, ConversationSet, ImportedConversation, StoredScorecard
from evalsite.scorecards.services import scorecard_key
from evalsite.scorecards.weighting import order, reweighted

STRATEGIES = ("stack_rank", "winners_circle", "confidence_bands")
MOST_WEIGHT = 100
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class ShownScorecard:
    """A stored scorecard with unified scores under the reader's weights, and chatbots in their order."""

    stored: StoredScorecard
    chatbots: tuple[str, ...]
    sorted_by: str
    weights: Mapping[str, float]
    unified: Mapping[str, Mapping[str, Any]]

    @property
    def content(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = self.stored.content
        return content


def conversation_sets_of(user: User) -> QuerySet[ConversationSet]:
    """Return the sets of this person's organisations (staff: all)."""
    own = ConversationSet.objects.all() if user.is_staff else ConversationSet.objects.of(user)
    found: QuerySet[ConversationSet] = own.select_related("organisation", "campaign").order_by("name", "pk")
    return found


def conversation_set_get(user: User | None, public_id: uuid.UUID, *, change: bool = False) -> ConversationSet:
    """Return the set. Raises NotFound also for one of an organisation that the person is not in, and NotAllowed if
    they may see but not `change` it."""
    found = conversation_sets_of(user).filter(public_id=public_id).first() if user is not None else None
    if found is None or user is None:
        raise NotFound(
            gettext("There is no such set of conversations."),
            hint=gettext("It may belong to an organisation that you are not in."),
        )
    if change and not may_change(user, found.organisation):
        raise NotAllowed(
            gettext("You may not change conversations of this organisation."), hint=gettext("Ask one of its owners.")
        )
    return found


def may_change(user: User, organisation: Organisation) -> bool:
    """Return whether this person may import and erase conversations of the organisation."""
    roles = [role.value for role in MAKERS if role is not Role.STAFF]
    return user.is_staff or Membership.objects.filter(user=user, organisation=organisation, role__in=roles).exists()


def organisations_to_import(user: User) -> list[Organisation]:
    """Return the organisations into which this person may import conversations."""
    roles = [role.value for role in MAKERS if role is not Role.STAFF]
    mine = Membership.objects.filter(user=user, role__in=roles).select_related("organisation")
    return [one.organisation for one in mine.order_by("organisation__name", "pk")]


def scorecard_pending(conversation_set: ConversationSet) -> bool:
    return job_is_pending(scorecard_key(conversation_set))


def scorecard_shown(
    conversation_set: ConversationSet, *, weights: Mapping[str, float] | None = None, sorted_by: str = "stack_rank"
) -> ShownScorecard | None:
    """Return the newest scorecard of a set; None if none was computed yet."""
    stored = conversation_set.scorecards.order_by("-pk").first()
    if stored is None:
        return None
    scores = reweighted(stored.content, weights) if weights else stored.content["unified"]
    return ShownScorecard(stored, tuple(order(scores[sorted_by], sorted_by)), sorted_by, weights or {}, scores)


def scorecard_document(shown: ShownScorecard) -> dict[str, Any]:
    """Return the scorecard as `manage.py scorecard --json` prints it, with its report of predicted ratings."""
    kept = ("metrics", "correlations", "warnings", "domains", "over_time")
    return {
        "chatbots": list(shown.chatbots),
        "weights": dict(shown.weights),
        "unified": shown.unified,
        **{name: shown.content[name] for name in kept},
        "profiles": shown.content.get("profiles", {}),
        "prediction": shown.stored.prediction,
        "conversations": shown.stored.conversations,
        "computed_at": shown.stored.computed_at.isoformat(),
    }


def weights_of(given: Mapping[str, str]) -> dict[str, float]:
    """Return the weights of metrics in an address, such as ?weight_rating=2. Raises InvalidInput."""
    found = {}
    for name, text in given.items():
        metric = name.removeprefix("weight_")
        if metric == name or text == "":
            continue
        if metric not in METRIC or not METRIC[metric].unified:
            raise InvalidInput(
                gettext("%(name)s is no metric with a weight.") % {"name": metric},
                hint=gettext("Use the names of the table."),
                field=name,
            )
        found[metric] = _weight(name, text)
    return found


def _weight(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST_WEIGHT:
        raise InvalidInput(gettext("A weight is a number from 0 to %(most)s.") % {"most": MOST_WEIGHT}, field=name)
    return value


def has_chatbot(conversation_set: ConversationSet, chatbot: str) -> bool:
    """Return whether the set has conversations with this chatbot; a live one, whether its scorecard has."""
    if conversation_set.campaign_id is None:
        return conversation_set.conversations.filter(chatbot=chatbot).exists()
    shown = scorecard_shown(conversation_set)
    return shown is not None and chatbot in shown.content["chatbots"]


def conversations_counted(conversation_set: ConversationSet) -> int:
    """Return the number of imported conversations; of live ones, of those on the newest scorecard."""
    if conversation_set.campaign_id is None:
        return conversation_set.conversations.count()
    stored = conversation_set.scorecards.order_by("-pk").first()
    return stored.conversations if stored else 0


def annotations_of(conversation_set: ConversationSet) -> list[Annotation]:
    """Return the campaigns that annotate the set, with their numbers of sampled replies and of answered assignments."""
    answered = Assignment.objects.filter(campaign=OuterRef("campaign"), state=Assignment.State.ANSWERED)
    counted = answered.filter(purpose__in=RANKING_PURPOSES).order_by().values("campaign").annotate(n=Count("pk"))
    return list(
        conversation_set.annotations.select_related("campaign")
        .annotate(sampled=Count("replies"), labelled=Coalesce(Subquery(counted.values("n")), 0))
        .order_by("pk")
    )


def examples_of(conversation_set: ConversationSet, chatbot: str) -> Sequence[ImportedConversation]:
    """Return the first conversations of a chatbot."""
    found = ImportedConversation.objects.filter(conversation_set=conversation_set, chatbot=chatbot)
    return list(found.order_by("pk")[:EXAMPLES])
