"""Ids of other tenants' objects, wherever docs/openapi.yaml takes one: answered byte for byte like ids that never were.

In paths, in bodies (of each act, too) and in queries, by somebody who may do the same with their own. Nothing is
written. What is compared is the answer but for the id itself.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Assignment, Skip
from tests.evalsite.api.operations import (
    ACTING,
    EACH_ACT,
    OPERATIONS,
    Operation,
    Sent,
    Tenant,
    entrant_of,
    everything,
    places,
    prompt_of,
    right,
    tenant_make,
    with_value,
)
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared

# What a field of this name names, as somebody else's: ids, or names that stand for them.
THEIRS: Mapping[str, Callable[[Tenant], Any]] = {
    "annotator": lambda them: [them.judge.public_id],
    "assignment": lambda them: [them.held],
    "campaign": lambda them: [them.campaign.public_id, them.campaign.slug, them.draft.public_id],
    "chatbot": lambda them: [them.newcomer.chatbot.public_id],
    "chatbot_a": lambda them: [them.campaign.entrants.order_by("pk")[0].version.chatbot.name],
    "chatbot_b": lambda them: [them.campaign.entrants.order_by("pk")[1].version.chatbot.name],
    "conversation": lambda them: [them.talk, them.quiet],
    "conversation_set": lambda them: [them.conversation_set.public_id],
    "collection": lambda them: [them.collection.public_id],
    "endpoint": lambda them: [them.endpoint.public_id],
    "entrant": lambda them: [entrant_of(them)],
    "gold": lambda them: [them.gold],
    "key": lambda them: [them.campaign.public_id, them.campaign.slug, them.draft.public_id],
    "organisation": lambda them: [them.campaign.organisation.slug],
    "chatbot_sets": lambda them: [them.live_draft.entrants.order_by("pk")[0].public_id],
    "prompt": lambda them: [prompt_of(them)],
    "report": lambda them: [them.report],
    "study": lambda them: [them.study.public_id],
    "prompt_set": lambda them: [them.campaign.prompt_set.public_id],
    "submission": lambda them: [them.submission],
    "set": lambda them: [them.campaign.prompt_set.name],
    "supersedes": lambda them: [them.judgment],
    "test": lambda them: [them.check.public_id],
    "vote_file": lambda them: [them.vote_file],
    "version": lambda them: [them.newcomer.public_id],
    "webhook": lambda them: [them.delivery.webhook.public_id],
    "delivery": lambda them: [them.delivery.public_id],
}
# Of which list a cursor is, by operation.
CURSORS: Mapping[str, Callable[[Tenant], Any]] = {
    "boards": lambda them: [them.campaign.default_board.public_id],
    "campaigns": lambda them: [them.campaign.public_id],
    "chatbots": lambda them: [entrant_of(them)],
    "conversation_sets": lambda them: [them.conversation_set.public_id],
    "endpoint_calls": lambda them: [them.collection.public_id],
    "endpoints": lambda them: [them.endpoint.public_id],
    "gold": lambda them: [them.gold],
    "judgments": lambda them: [them.judgment],
    "prompts": lambda them: [prompt_of(them)],
    "reported_replies": lambda them: [them.report],
    "studies": lambda them: [them.study.public_id],
    "skips": lambda them: [Skip.objects.get(assignment__campaign=them.campaign).assignment.public_id],
    "submissions": lambda them: [them.submission],
    "webhook_deliveries": lambda them: [them.delivery.public_id],
    "webhooks": lambda them: [them.delivery.webhook.public_id],
    "snapshots": lambda them: [them.campaign.default_board.snapshots.order_by("pk")[0].public_id],
}
OF_CHATBOTS = [{"id": "g2", "right": ["A"], "prompt_id": "p1", "chatbot_a": "trial bot 0", "chatbot_b": "trial bot 1"}]


@shared
def them(make_campaign: CampaignMaker, charlie: User) -> Tenant:
    """charlie's campaigns, which nobody else may see."""
    them = tenant_make(make_campaign, charlie, "theirs")
    other = Assignment.objects.filter(annotator=them.holder, state=Assignment.State.ISSUED).exclude(public_id=them.held)
    assignment_skip(annotator=them.holder, assignment_id=other[0].public_id, reason="other", note="")
    Campaign.objects.filter(slug__startswith="theirs").update(visibility="private")
    return them


def fields_of(one: Operation, sent: Sent) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """("path" | "query" | "body", the way there): wherever the operation takes an id, or a name that stands for one."""
    yield from (("path", (name,)) for name in one.parameters("path") if name not in ("act", "number"))
    for name, schema in one.parameters("query").items():
        if schema.get("format") == "uuid" or (one.described["operationId"], name) == ("send_replies", "set"):
            yield "query", (name,)
    for way, schema in places(one.body):
        names = schema.get("format") == "uuid" or way[-1] in ("campaign", "chatbot_a", "chatbot_b")
        if names and (not one.act or way[-1] in sent.body):
            yield "body", way


def with_id(sent: Sent, where: str, way: tuple[Any, ...], value: str) -> Sent:
    part = with_value(getattr(sent, where), way, value)
    return replace(sent, **{where: part})


def same(sent: Sent, where: str, way: tuple[Any, ...], theirs: str) -> int:
    """The status that both are answered with, theirs and one that never was, of the same length."""
    never = str(uuid.uuid4()) if len(theirs) == 36 else "n" * len(theirs)
    answers = [(with_id(sent, where, way, one).send(), one) for one in (theirs, never)]
    told = [(each.status_code, b"".join(each).replace(one.encode(), b"ID")) for each, one in answers]
    assert told[0] == told[1], (sent.operation.name, where, way)
    assert str(told[0][0]) in sent.operation.described["responses"]
    return int(told[0][0])


EACH = [*(one for one in OPERATIONS.values() if one.label != ACTING), *EACH_ACT]


def test_ids_of_others_are_answered_like_ids_that_never_were(there: Tenant, them: Tenant) -> None:
    before, tried = everything(), set()
    for one in EACH:
        sent = right(there, one)
        if one.described["operationId"] == "add_gold":
            sent = replace(sent, body={"items": OF_CHATBOTS})
        for where, way in fields_of(one, sent):
            words = [part for part in way if isinstance(part, str)]  # an item is named like its list
            name = one.described["operationId"] if way[-1] == "cursor" else words[-1]
            for theirs in (CURSORS if way[-1] == "cursor" else THEIRS)[name](them):
                status = same(sent, where, way, str(theirs))
                assert status == 200 if where == "query" and not one.writes and way != ("cursor",) else status >= 400
            tried.add((where, way[-1]))
    assert everything() == before
    assert {
        ("path", "key"),
        ("query", "annotator"),
        ("query", "cursor"),
        ("body", "version"),
        ("body", "gold"),
    } <= tried
