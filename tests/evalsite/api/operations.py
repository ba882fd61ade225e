"""What docs/openapi.yaml offers, and to each operation a right request: wrong ones are made from it by one change."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from django.apps import apps
from django.core.files.base import ContentFile
from django.db.models import Model
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, QualificationItem, Study
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.studies import Arms
from evalsite.campaigns.webhooks import campaign_webhook_create
from evalsite.chatbots.models import Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.db import rows
from evalsite.dialogues.endings import conversation_end
from evalsite.dialogues.models import Conversation
from evalsite.dialogues.reports import reply_report
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Collection, Endpoint, EndpointCheck
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.exchange.vote_uploads import VoteFileOptions, vote_file_keep, vote_file_read
from evalsite.judgments.models import (
    Annotator,
    Enrolment,
    Judgment,
    QualificationAnswer,
)
from evalsite.judgments.services import annotator_enrol, token_issue
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.studies import study_build
from evalsite.scorecards.conversations import ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.models import ConversationSet, StoredScorecard
from evalsite.scorecards.selectors import STRATEGIES
from evalsite.scorecards.services import conversation_set_open, conversations_add
from evalsite.submissions.services import Accepted, submissions_accept
from evalsite.webhooks.models import Delivery
from evalsite.webhooks.services import webhook_test
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs, skip_twice
from tests.evalsite.dialogues.steps import begin, choose, live_campaign_make, released
from tests.evalsite.submissions.steps import sending, submit

FILE = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
DOCUMENT = yaml.load(FILE.read_text(), Loader=yaml.CSafeLoader)
ACTING = "POST /api/v1/campaigns/{key}/acts/{act}"
JSON, CSV, FORM = "application/json", "text/csv", "multipart/form-data"
State = Mapping[str, list[tuple[Any, ...]]]
Json = dict[str, Any]
SECRET = "sk-of-a-tenant-4711"


def everything() -> State:
    """Every row of every table of ours, as it is, but not the hour when a token was used last."""
    return {name: rows(*statement) for name, statement in _reading().items()}


@cache
def _reading() -> Mapping[str, tuple[str, tuple[Any, ...]]]:
    """The statement that reads each table, which the ORM takes long to compose."""
    ours = [model for model in apps.get_models() if model.__module__.startswith("evalsite.")]
    return {
        model.__name__: model._base_manager.order_by("pk").values_list(*_columns(model)).query.sql_with_params()
        for model in ours
    }


def _columns(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields if field.name != "last_used_at"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One of the file's, or one act of those that are done at one address."""

    method: str
    path: str
    described: Mapping[str, Any]
    act: str = ""

    @property
    def label(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def name(self) -> str:
        return f"{self.method} {self.path.replace('{act}', self.act) if self.act else self.path}"

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The content types of its body; JSON where the body is an empty object, of which the file says nothing."""
        return tuple(self.described.get("requestBody", {}).get("content", {JSON: {}}))

    @property
    def of_rows(self) -> bool:
        """Whether its body is a file of rows."""
        return JSON not in self.kinds

    def parameters(self, place: str) -> dict[str, Mapping[str, Any]]:
        return {one["name"]: one["schema"] for one in self.described.get("parameters", []) if one["in"] == place}

    @property
    def body(self) -> Mapping[str, Any]:
        """The schema of its body."""
        if self.of_rows or "requestBody" not in self.described:
            return {}
        return resolved(self.described["requestBody"]["content"][JSON]["schema"])


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Mapping[str, Any] = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def places(schema: Mapping[str, Any], way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Json]]:
    """The way to each field that a body may have, an item of a list as well; and its schema."""
    if way:
        yield way, dict(schema)
    for name, inner in schema.get("properties", {}).items():
        yield from places(resolved(inner), (*way, name))
    if "items" in schema:
        yield from places(resolved(schema["items"]), (*way, 0))


def with_value(body: Any, way: tuple[Any, ...], value: Any) -> Any:
    """The body with this value there; what is not on the way yet is made."""
    if not way:
        return value
    if isinstance(way[0], int):
        first, *others = body or [{}]
        return [with_value(first, way[1:], value), *others]
    known = body if isinstance(body, dict) else {}
    return {**known, way[0]: with_value(known.get(way[0]), way[1:], value)}


def _listed() -> Iterator[Operation]:
    for path, operations in DOCUMENT["paths"].items():
        for method, described in operations.items():
            yield Operation(method.upper(), path, described)


OPERATIONS = {one.label: one for one in _listed()}
ACTS: tuple[str, ...] = tuple(OPERATIONS[ACTING].parameters("path")["act"]["enum"])
WRITING = [one for one in OPERATIONS.values() if one.writes]
EACH_ACT = [replace(OPERATIONS[ACTING], act=act) for act in ACTS]


@dataclass(frozen=True, slots=True)
class Tenant:
    """Somebody's campaign under way, with one of everything that has an id, and a draft."""

    owner: User
    campaign: Campaign
    draft: Campaign
    judge: Annotator  # has judged, and holds nothing
    holder: Annotator  # holds a block
    held: str
    judgment: str
    qualification: int  # the item that both have answered
    gold: str
    newcomer: Version  # with replies, in no campaign
    endpoint: Endpoint
    check: EndpointCheck  # a test in progress
    collection: Collection  # in progress
    vote_file: uuid.UUID  # waits
    chat: Campaign  # live; the holder may begin a conversation
    talk: str  # a conversation of the holder with a released turn
    quiet: str  # another one, whose only turn is judged
    live_draft: Campaign
    study: Study  # whose two arms are drafts
    reviewable: Campaign  # live, with a conversation that third parties may judge
    report: str  # of a reply in `talk`
    conversation_set: ConversationSet  # with a scorecard
    submission: str  # waits for approval
    delivery: Delivery  # of a webhook of the campaign
    tokens: Mapping[str, str]


def tenant_make(make_campaign: CampaignMaker, owner: User, slug: str) -> Tenant:
    home = owner.personal_organisation
    campaign = make_campaign(slug=slug, organisation=home)
    draft = make_campaign(slug=f"{slug}-draft", start=False, organisation=home)
    judging, holder = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge(campaign, judging, blocks=2)
    run_jobs()
    block = assignment_claim(campaign=campaign, annotator=holder)
    item = NewGold(key="g1", prompt="p0", texts=("Right.", "Wrong."), right=("A",))
    gold = gold_add(campaign=campaign, items=[item], by=owner)[0]
    newcomer = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name=f"{slug} newcomer"))
    replies = dict.fromkeys(campaign.prompt_set.prompts.all(), "Well.")
    replies_add(version=newcomer, replies=replies, origin=Reply.Origin.FILE)
    settings = EndpointSettings(adapter="openai", url="https://bot.example/v1", model="m")
    endpoint = endpoint_register(chatbot=newcomer.chatbot, label="live", settings=settings, secret=SECRET, by=owner)
    judgment = Judgment.objects.filter(annotator=judging).latest("pk")
    chat, talk, quiet = _conversations(home, slug, holder)
    reviewable = _reviewable(home, slug, holder)
    live_draft, study = _study(home, slug)
    return Tenant(
        owner=owner,
        campaign=campaign,
        draft=draft,
        judge=judging,
        holder=holder,
        held=str(block[0].public_id),
        judgment=str(judgment.public_id),
        qualification=_qualification_passed(campaign),
        gold=str(gold.public_id),
        newcomer=newcomer,
        endpoint=endpoint,
        check=endpoint_test(endpoint=endpoint, by=owner),
        collection=collection_start(endpoint=endpoint, prompt_set=campaign.prompt_set, by=owner),
        vote_file=_vote_file(owner),
        chat=chat,
        talk=str(talk.public_id),
        quiet=str(quiet.public_id),
        live_draft=live_draft,
        study=study,
        reviewable=reviewable,
        report=str(
            reply_report(annotator=holder, turn_id=talk.turns.get().public_id, label="A", reason="other").public_id
        ),
        conversation_set=_conversations_with_scorecard(home, slug),
        submission=_submission_waiting(campaign, owner, slug),
        delivery=webhook_test(
            webhook=campaign_webhook_create(campaign=campaign, url="https://hooks.example/", by=owner)[0]
        ),
        tokens={
            "judge": token_issue(annotator=holder),
            "person": api_token_issue(user=owner, name="all", scopes=ApiToken.Scope.values, days=1),
        },
    )


def _vote_file(owner: User) -> uuid.UUID:
    """Ask what is in an uploaded vote file."""
    file = ContentFile(ROWS["send_votes"], name="votes.csv")
    upload = vote_file_keep(file=file, by=owner)
    return vote_file_read(upload=upload, options=VoteFileOptions(), by=owner).public_id


def _conversations(home: Organisation, slug: str, holder: Annotator) -> tuple[Campaign, Conversation, Conversation]:
    """A live campaign without a conversation, and two conversations in others: one to judge, one that may end."""
    chats = [
        live_campaign_make(organisation=home, slug=f"{slug}-chat-{n}", chatbots=2, minimum_turns=1) for n in range(3)
    ]
    for chat in chats:
        annotator_enrol(campaign=chat, annotator=holder)
    talk, quiet = begin(chats[1], holder), begin(chats[2], holder)
    released(talk)
    choose(released(quiet))
    return chats[0], talk, quiet


def _study(home: Organisation, slug: str) -> tuple[Campaign, Study]:
    """A live draft, and a study of another one."""
    drafts = [live_campaign_make(organisation=home, slug=f"{slug}-plan-{n}", chatbots=2, start=False) for n in range(2)]
    return drafts[0], study_build(campaign=drafts[1], name=slug, arms=Arms(("soba", "sata_random")))


def _reviewable(home: Organisation, slug: str, holder: Annotator) -> Campaign:
    """A live campaign with a conversation that has ended, whose annotator consented to a review."""
    campaign = live_campaign_make(
        organisation=home, slug=f"{slug}-seen", chatbots=2, minimum_turns=1, count_first_turn=True
    )
    annotator_enrol(campaign=campaign, annotator=holder)
    talk = begin(campaign, holder)
    choose(released(talk))
    conversation_end(annotator=holder, conversation_id=talk.public_id, rating=5)
    Conversation.objects.filter(pk=talk.pk).update(consents_to_review=True)
    return campaign


def _conversations_with_scorecard(home: Organisation, slug: str) -> ConversationSet:
    found = conversation_set_open(organisation=home, name=slug)
    turns = (ScoredTurn(Speaker.USER, "Hello?"), ScoredTurn(Speaker.CHATBOT, "Hello."))
    conversations_add(conversation_set=found, conversations=[ScoredConversation("talk", "Concise", turns)])
    content = {
        "chatbots": ["Ada"],
        "metrics": {"rating": {"Ada": {"value": 4.0, "lower": 3.0, "upper": None, "n": 2}}, "depth": {"Ada": None}},
        "unified": {name: {"Ada": None} for name in STRATEGIES},
        "correlations": [],
        "warnings": [],
        "cells": {},
        "domains": {"Ada": {"music": 3}},
        "over_time": {},
    }
    StoredScorecard.objects.create(conversation_set=found, conversations=2, content=content)
    return found


def _submission_waiting(campaign: Campaign, owner: User, slug: str) -> str:
    """Let the campaign accept submissions, and submit a chatbot to it."""
    submissions_accept(campaign=campaign, accepted=Accepted(admission="moderated", prompts_downloadable=True))
    return str(submit(campaign, owner, sending(name=f"{slug} submitted")).public_id)


def _qualification_passed(campaign: Campaign) -> int:
    """Add a qualification item that everybody there has answered; its key."""
    item = QualificationItem.objects.create(
        campaign=campaign,
        position=0,
        turns=[{"speaker": "user", "text": "Two and two?"}],
        reply_a="Four.",
        reply_b="Five.",
        right="A",
        explanation="Two and two are four.",
    )
    for enrolment in Enrolment.objects.filter(campaign=campaign):
        QualificationAnswer.objects.create(enrolment=enrolment, item=item, attempt=1, choice="A")
    return int(item.pk)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. body: an object, or the bytes of a file."""

    operation: Operation
    path: Mapping[str, Any]
    token: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    kind: str = JSON

    def send(self) -> Any:
        where = self.operation.path.format(**self.path)
        query = f"?{urlencode(self.query)}" if self.query else ""
        content, kind = self.body, self.kind
        if isinstance(content, dict) and kind == FORM:
            content, kind = encode_multipart(BOUNDARY, content), MULTIPART_CONTENT
        elif not isinstance(content, bytes):
            content = json.dumps(content or {}).encode()
        data, kind = (content, kind) if self.operation.writes else (b"", "")
        api = Api(self.token)
        named = self.operation.described["operationId"] == "send_message"  # each message has a key
        headers = {**api.headers, "Idempotency-Key": uuid.uuid4().hex} if named else api.headers
        return api.client.generic(self.operation.method, where + query, data, kind, headers=headers)


ANSWER = {"answers": [{"aspect": "overall", "choice": "A"}]}
SUBMITTED = {"adapter": "openai", "url": "https://bot.example/v1", "model": "m"}
BODIES: Mapping[str, Callable[[Tenant], Json]] = {
    "enrol": lambda there: {"campaign": there.campaign.slug, "kind": "simulated"},
    "answer": lambda _: dict(ANSWER),
    "skip": lambda _: {"reason": "broken"},
    "qualify": lambda there: {"item": there.qualification, "attempt": 1, "choice": "A"},
    "work": lambda _: {"count": 2},
    "claim": lambda _: {"count": 2},
    "add_gold": lambda _: {
        "items": [{"id": "g2", "right": ["A"], "prompt_id": "p1", "reply_a": "Yes.", "reply_b": "No."}]
    },
    "register_endpoint": lambda there: {
        "name": there.newcomer.chatbot.name,
        "label": "next",
        "adapter": "http_json",
        "url": "https://bot.example/chat",
        "secret": SECRET,
        "headers": {"X-Key": "{secret}"},
        "input_price": 1.5,
        "output_price": 2,
        "daily_cap": 10,
    },
    "change_endpoint": lambda _: {"timeout_s": 30, "max_tokens": 100},
    "set_secret": lambda _: {"secret": "sk-another-secret"},
    "pause_endpoint": lambda _: {"reason": "too dear"},
    "collect_replies": lambda there: {"prompt_set": str(there.campaign.prompt_set.public_id)},
    "start_conversation": lambda _: {"consents_to_review": True},
    "send_message": lambda _: {"text": "Hello again!"},
    "judge_turn": lambda _: {"answers": [{"aspect": "best", "choice": "A"}], "client_ms": 900},
    "skip_turn": lambda _: {"reason": "broken"},
    "report_reply": lambda _: {"candidate": "A", "reason": "other", "note": "It is odd."},
    "end_conversation": lambda _: {"rating": 4, "feedback": "Fine."},
    "submit": lambda _: {"name": "Newcomer", "endpoint": json.dumps(SUBMITTED), "secret": SECRET},
    "set_submission_settings": lambda _: {"admission": "open", "takes": "file", "versions_per_week": 2},
    "refuse_submission": lambda _: {"reason": "It copies another chatbot."},
    "withdraw_submission": lambda _: {"reason": "It was a mistake."},
    "create_study": lambda there: {
        "campaign": there.live_draft.slug,
        "name": "How to select",
        "settings": ["soba", "sata_written"],
        "chatbot_sets": [[str(one.public_id) for one in there.live_draft.entrants.all()]],
    },
    "live_settings": lambda _: {"selection": "sata", "fallback": "written", "minimum_turns": 3, "end_rating": False},
    "ask_third_parties": lambda _: {"conversations": 5},
    "link_static_campaign": lambda there: {"static_campaign": there.campaign.slug},
    "settle_report": lambda _: {"outcome": "upheld"},
    "add_webhook": lambda _: {"url": "https://hooks.example/in", "events": ["board.published"]},
    "annotate": lambda _: {"name": "Errors", "number": 1, "votes": 2},
    "limits": lambda _: {"target_se": 0.2, "budget": 50, "deadline": "2090-05-04T20:00:00Z"},
}
ROWS: Mapping[str, bytes] = {
    "send_prompts": b"prompt_id,text\np0,Why?\n",
    "send_replies": b"prompt_id,reply\np0,Because.\n",
    "send_votes": b"model_a,model_b,winner\nfinch,crane,tie\n",
}
QUERIES: Mapping[str, Callable[[Tenant], Json]] = {
    "send_prompts": lambda _: {"set": "Spring"},
    "send_replies": lambda there: {"set": there.campaign.prompt_set.name, "name": "Anna"},
    "send_votes": lambda _: {"campaign": "Birds"},
}
# Each act, with what it needs; before it, what must have been done.
WITH: Mapping[str, Callable[[Tenant], Json]] = {
    "add_entrant": lambda there: {"version": str(there.newcomer.public_id)},
    "cap_calls": lambda _: {"call_cap": 10},
    "exclude": lambda there: {"annotator": str(there.judge.public_id), "reason": "tapped one key"},
    "extend": lambda _: {"target_se": 0.04},
    "full_check": lambda _: {},
    "launch": lambda _: {},
    "note": lambda there: {"annotator": str(there.judge.public_id), "reason": "asked for longer texts"},
    "pause": lambda _: {},
    "pause_annotator": lambda there: {"annotator": str(there.judge.public_id), "reason": "is away"},
    "pilot": lambda _: {"judgments": 3},
    "readmit": lambda there: {"annotator": str(there.judge.public_id), "reason": "was a fast reader"},
    "refit": lambda _: {},
    "reopen_skipped": lambda _: {},
    "resume": lambda _: {},
    "resume_annotator": lambda there: {"annotator": str(there.judge.public_id), "reason": "is back"},
    "retire_prompt": lambda there: {"prompt": str(prompt_of(there)), "reason": "has a wrong premise"},
    "show": lambda _: {"visibility": "link", "shows_prompts": True},
    "share": lambda _: {"username": "charlie", "role": "viewer"},
    "stop": lambda _: {"reason": "the paper is due"},
    "withdraw_entrant": lambda there: {"entrant": str(entrant_of(there)), "reason": "its maker asked for it"},
    "withdraw_gold": lambda there: {"gold": there.gold, "reason": "can be seen otherwise"},
}
BEFORE = {"resume": "pause", "readmit": "exclude", "resume_annotator": "pause_annotator"}
OF_DRAFTS = {"launch", "pilot", "limits", "cap_calls"}
OF_CHATS = {"start_conversation", "live_report"}
OF_REVIEWABLE = {"ask_third_parties"}
OF_LIVE_DRAFTS = {"live_settings", "link_static_campaign"}
OF_TALKS = {"reported_replies", "settle_report", "pause_chatbot", "resume_chatbot"}
OF_QUIET = {"send_message", "end_conversation"}  # of a conversation without an open turn


def prompt_of(there: Tenant) -> Any:
    return there.campaign.prompt_set.prompts.order_by("pk")[0].public_id


def entrant_of(there: Tenant) -> Any:
    return there.campaign.entrants.order_by("pk")[0].public_id


def _nothing(_: Tenant) -> Json:
    return {}


def _talk_of(there: Tenant) -> Conversation:
    return Conversation.objects.get(public_id=there.talk)


def _campaign_of(there: Tenant, name: str) -> Campaign:
    if name in OF_TALKS:
        return _talk_of(there).campaign
    if name in OF_REVIEWABLE:
        return there.reviewable
    return there.chat if name in OF_CHATS else there.live_draft if name in OF_LIVE_DRAFTS else there.campaign


def right(there: Tenant, operation: Operation) -> Sent:
    """A request that is answered with 2xx, once what BEFORE names has been done (`done_before`)."""
    name = operation.described["operationId"]
    act = operation.act or ("note" if operation.label == ACTING else "")
    of_draft = {act, name} & OF_DRAFTS
    path = {
        "key": there.draft.slug if of_draft else _campaign_of(there, name).slug,
        "conversation": there.quiet if name in OF_QUIET else there.talk,
        "assignment": there.held,
        "number": 1,
        "organisation": there.campaign.organisation.slug,
        "act": act,
        "endpoint": str(there.endpoint.public_id),
        "test": str(there.check.public_id),
        "collection": str(there.collection.public_id),
        "vote_file": str(there.vote_file),
        "conversation_set": str(there.conversation_set.public_id),
        "submission": there.submission,
        "study": str(there.study.public_id),
        "report": there.report,
        "delivery": str(there.delivery.public_id),
    }
    if "webhook" in operation.parameters("path"):
        path["webhook"] = str(there.delivery.webhook.public_id)
    if "entrant" in operation.parameters("path"):
        path["entrant"] = str(_talk_of(there).campaign.entrants.order_by("pk")[0].public_id)
    who = "judge" if "judge" in operation.described["tags"] else "person"
    body = WITH[act](there) if act else BODIES.get(name, _nothing)(there)
    return Sent(
        operation=operation,
        path={one: path[one] for one in operation.parameters("path")},
        token="" if name == "enrol" else there.tokens[who],
        query=QUERIES.get(name, _nothing)(there),
        body=ROWS.get(name, body),
        kind=FORM if FORM in operation.kinds else CSV if operation.of_rows else JSON,
    )


def done_before(there: Tenant, operation: Operation) -> None:
    """What must have been done, so that this can be."""
    if operation.act == "reopen_skipped":
        skip_twice(there.campaign)
    if operation.act in BEFORE:
        first = Act(BEFORE[operation.act])
        act_perform(key=there.campaign.slug, act=first, user=there.owner, given=ActionArguments(**WITH[first](there)))
