"""A whole campaign as one YAML file: what is asked, of whom, until when, the prompts, the chatbots and their replies.

One table says what may stand where; it is read for writing, for reading and for what is wrong, by line and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import yaml

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.gold import MOST_SHARE, GoldBook, NewGold, gold_add
from evalsite.campaigns.gold_file import gold_from
from evalsite.campaigns.limits import LEAST_AIM, LIMITS, MOST_AIM, Limits, is_aim, limits_of
from evalsite.campaigns.models import Campaign, PlanSpec, Reception
from evalsite.campaigns.onboarding import LONGEST_REASON, MOST_REASONS, NewQualificationItem
from evalsite.campaigns.plans import (
    LONGEST_LEASE_S,
    MOST_IN_A_BATCH,
    MOST_IN_A_BLOCK,
    MOST_OVERLAP_VOTES,
    MOST_VOTES_PER_ITEM,
    PlanOptions,
    policy_check,
)
from evalsite.campaigns.services import Design, NewAspect, campaign_create, entrant_add, plan_options, plan_set
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, text_sha256, version_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.row_files import LONGEST_CELL, unstorable
from evalsite.exchange.campaigngold import FIELDS, book_of, gold_written
from evalsite.exchange.campaignreception import reception_take, reception_written
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, check_turns, prompt_set_create

FORMAT = 1
MOST_BYTES = 200_000_000
MOST_DEEP = 30  # what is known here goes six deep
MOST_SHOWN = 50
LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader  # 20,000 prompts: 0.7 s by libyaml, or 4 s

BEGINS = (
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
)
ENDS = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)

# What may stand where -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong: the line (from 1) and the key, as a path with dots."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.key}: {self.message}" if self.key else f"line {self.line}: {self.message}"


class CampaignFileError(InvalidInput):
    """All that is wrong with a file, in the order of its lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: one.line))
        super().__init__("; ".join(str(one) for one in self.problems[:MOST_SHOWN]), field=self.problems[0].key)


Check = Callable[[Any], str]  # "" or what is wrong


def text(longest: int, *, least: int = 1, form: str = "") -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            return "must be a text (put it in quotes)"
        if what := unstorable(value):
            return f"holds {what}"
        if not least <= len(value.strip()) or len(value) > longest:
            return f"must have {least} to {longest:,} characters"
        return "" if not form or re.fullmatch(form, value) else f"must look like {form}"

    return check


def whole(low: int, high: int = 2**31 - 1) -> Check:
    def check(value: Any) -> str:
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if fits else f"must be a whole number from {low:,} to {high:,}"

    return check


def number(low: float, high: float) -> Check:
    def check(value: Any) -> str:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return "" if fits else f"must be a number from {low:g} to {high:g}"

    return check


def aim(value: Any) -> str:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and is_aim(value)
    return "" if fits else f"must be a number from {LEAST_AIM:g} to {MOST_AIM:g}"


def one_of(choices: Sequence[str]) -> Check:
    return lambda value: "" if value in choices else f"must be one of: {', '.join(choices)}"


def yes_no(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def amount(value: Any) -> str:
    fits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})?", value)
    return "" if fits else 'must be an amount in quotes, like "0.10"'


def moment(value: Any) -> str:
    fits = isinstance(value, datetime) and value.utcoffset() is not None
    return "" if fits else "must be a moment with its time zone, like 2026-12-24T18:00:00Z"


def or_nothing(check: Check) -> Check:
    return lambda value: "" if value is None else check(value)


CAMPAIGN: Mapping[str, Check] = {
    "name": text(200),
    "slug": text(80, form="[-a-z0-9_]+"),
    "description": text(5000, least=0),
    "visibility": one_of(Campaign.Visibility.values),
    "admission": one_of(Campaign.Admission.values),
    "shows_prompts": yes_no,
    "shows_replies": yes_no,
    "fits_known_ties": yes_no,
    "standing": yes_no,
    "policy": text(30),
    "seed": whole(0),
    "batch_size": whole(1, MOST_IN_A_BATCH),
    "batch_age_s": whole(1),
    "block_size": whole(1, MOST_IN_A_BLOCK),
    "lease_s": whole(1, LONGEST_LEASE_S),
    "votes_per_item": whole(1, MOST_VOTES_PER_ITEM),
    "screening": one_of(Campaign.Screening.values),
    "gold_share": number(0, MOST_SHARE),
    "gold_mark": or_nothing(number(0.01, 0.99)),
    "quota": or_nothing(whole(1)),
    "pay_rate": amount,
    "pay_per": one_of(Campaign.PayPer.values),
    "currency": text(3, least=3, form="[A-Z]{3}"),
    "per_day": or_nothing(whole(1)),
}
STOPPING: Mapping[str, Check] = {
    "target_se": or_nothing(aim),
    "min_difference": or_nothing(aim),
    "alpha": number(0, 1),
    "power": number(0, 1),
    "budget": or_nothing(whole(1)),
    "deadline": or_nothing(moment),
}
# The newcomer to be placed is one of the file's chatbots, by its name, or its name and version.
PLAN: Mapping[str, Check] = {
    "target": one_of([str(target) for target in PlanSpec.Target.values]),
    "top": or_nothing(whole(1)),
    "newcomer": or_nothing(text(301)),
    "overlap_share": number(0, 1),
    "overlap_votes": whole(2, MOST_OVERLAP_VOTES),
    "votes_per_pair": or_nothing(whole(1)),
    "pair_share": number(0, 1),
    "floor": number(0, 1),
    "exposure": number(1, 1e6),
    "retire_after": or_nothing(whole(1)),
    "retire_below": number(0, 1),
}
ASPECT: Mapping[str, Check] = {
    "key": text(60, form="[-a-zA-Z0-9_]+"),
    "question": text(300),
    "allow_tie": yes_no,
    "allow_both_bad": yes_no,
}
PROMPT: Mapping[str, Check] = {"id": text(200), "category": text(100, least=0), "text": text(LONGEST_CELL)}
CHATBOT: Mapping[str, Check] = {
    "name": text(200),
    "version": text(100),
    "description": text(5000, least=0),
    "organisation": text(80, least=0),
}
GOLD: Mapping[str, Check] = {
    name: text(200 if name in {"id", "prompt_id"} else LONGEST_CELL, least=name == "id") for name in FIELDS[:-2]
}
RECEPTION: Mapping[str, Check] = {
    "platform": one_of([str(platform) for platform in Reception.Platform.values]),
    **{name: text(40, least=0) for name in ("code_complete", "code_screened_out", "code_failed")},
    "instructions": text(LONGEST_CELL, least=0),
    "notice": text(LONGEST_CELL, least=0),
    "consent_required": yes_no,
    "erasure": one_of([str(erasure) for erasure in Reception.Erasure.values]),
    "pass_mark": whole(0),
    "comments": yes_no,
    "secret_required": yes_no,
    "study": text(200, least=0),
    "language": text(60, least=0),
}
QUALIFICATION: Mapping[str, Check] = {
    **{name: text(LONGEST_CELL) for name in ("text", "reply_a", "reply_b", "explanation")},
    "right": one_of(["A", "B", "tie", "both_bad"]),
}
TURN: Mapping[str, Check] = {"speaker": one_of(["user", "chatbot"]), "text": text(LONGEST_CELL)}
REQUIRED = {"campaign": {"name", "slug"}, "aspects": {"key", "question"}}


@dataclass(frozen=True, slots=True)
class ChatbotPart:
    """A chatbot's version and its replies by prompt, one a sample."""

    name: str
    version: str
    description: str
    replies: Mapping[str, Sequence[str]]
    organisation: str = ""


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """What a file says, checked. The newcomer of its plan is a place, from 0, among its chatbots."""

    campaign: Mapping[str, Any]
    stopping: Limits
    plan: PlanOptions
    aspects: Sequence[NewAspect]
    prompts: Sequence[NewPrompt]
    chatbots: Sequence[ChatbotPart]
    gold: Sequence[NewGold] = ()
    reception: Mapping[str, Any] = field(default_factory=dict)
    qualification: Sequence[NewQualificationItem] = ()


# Reading ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Walks the nodes of a file, which know their lines, and collects what is wrong."""

    problems: list[Problem] = field(default_factory=list)

    def wrong(self, node: Any, key: str, message: str) -> None:
        problem = Problem(node.start_mark.line + 1, key, message)
        if problem not in self.problems:  # a mapping may be looked at twice
            self.problems.append(problem)

    def mapping(self, node: Any, key: str) -> dict[str, tuple[Any, Any]]:
        """Name -> (the name's node, the value's node)."""
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, key, "must have keys and values")
            return {}
        found: dict[str, tuple[Any, Any]] = {}
        for name, value in node.value:
            if name.value in found:
                self.wrong(name, _join(key, name.value), "stands here twice")
            found[str(name.value)] = (name, value)
        return found

    def items(self, node: Any, key: str) -> Iterator[tuple[str, Any]]:
        """(key with its number from 0, node)."""
        if not isinstance(node, yaml.SequenceNode):
            self.wrong(node, key, "must be a list")
            return
        for position, item in enumerate(node.value):
            yield f"{key}.{position}", item

    def scalar(self, node: Any) -> Any:
        """The value of a node; a list or a mapping is a value that no check takes."""
        if not isinstance(node, yaml.ScalarNode):
            return node
        loader = yaml.SafeLoader("")
        try:
            return loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node
        finally:
            loader.dispose()

    def fields(
        self,
        node: Any,
        key: str,
        table: Mapping[str, Check],
        *,
        required: Collection[str] = (),
        beside: Collection[str] = (),
    ) -> dict[str, Any]:
        """The values of a mapping whose keys are those of `table`; those in `beside` are read by somebody else."""
        found = self.mapping(node, key)
        values: dict[str, Any] = {}
        for name, (at, value_node) in found.items():
            if name in beside:
                continue
            if name not in table:
                self.wrong(at, _join(key, name), f"is not known here; there are {', '.join([*table, *beside])}")
                continue
            value = self.scalar(value_node)
            problem = table[name](value)
            if problem:
                self.wrong(value_node, _join(key, name), problem)
            values[name] = value
        for name in sorted(set(required) - set(found)):
            self.wrong(node, _join(key, name), "is missing")
        return values


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def campaign_read(content: str) -> CampaignFile:
    """What the file says. Raises CampaignFileError with everything that is wrong, by line and key."""
    root = _compose(content)
    reader = _Reader()
    parts = reader.mapping(root, "")
    known = {"touchstone", "campaign", "stopping", "plan", "aspects", "prompts", "chatbots", "gold"}
    known |= {"reception", "qualification"}
    for name, (at, _) in parts.items():
        if name not in known:
            reader.wrong(at, name, f"is not known here; there are {', '.join(sorted(known))}")
    if "touchstone" not in parts or reader.scalar(parts["touchstone"][1]) != FORMAT:
        reader.wrong(root, "touchstone", f"must be {FORMAT}: the format of this file")
    read = _parts(reader, {name: value for name, (_, value) in parts.items()}, root)
    if reader.problems:
        raise CampaignFileError(reader.problems)
    return read


def _compose(content: str) -> Any:
    if len(content) > MOST_BYTES:
        raise CampaignFileError([Problem(1, "", "the file is too long")])
    try:
        _scan(content)
        root = yaml.compose(content, Loader=LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or "it cannot be read"
        raise CampaignFileError([Problem(mark.line + 1 if mark else 1, "", f"not YAML: {message}")]) from None
    if root is None:
        raise CampaignFileError([Problem(1, "", "the file is empty")])
    return root


def _scan(content: str) -> None:
    """Refuse what takes a few bytes to write and minutes or gigabytes to read, before anything of it is kept."""
    deep = 0
    for token in yaml.scan(content, Loader=LOADER):
        if isinstance(token, yaml.AliasToken):
            raise CampaignFileError([Problem(token.start_mark.line + 1, "", "aliases (*name) are not read")])
        deep += isinstance(token, BEGINS) - isinstance(token, ENDS)
        if deep > MOST_DEEP:
            raise CampaignFileError([Problem(token.start_mark.line + 1, "", "it is nested too deeply")])


def _parts(reader: _Reader, parts: Mapping[str, Any], root: Any) -> CampaignFile:
    for name in ("campaign", "aspects"):
        if name not in parts:
            reader.wrong(root, name, "is missing")
    campaign = (
        reader.fields(parts["campaign"], "campaign", CAMPAIGN, required=REQUIRED["campaign"])
        if "campaign" in parts
        else {}
    )
    stopping = _stopping(reader, parts["stopping"]) if "stopping" in parts else Limits()
    aspects = [
        reader.fields(node, key, ASPECT, required=REQUIRED["aspects"])
        for key, node in (reader.items(parts["aspects"], "aspects") if "aspects" in parts else ())
    ]
    if "aspects" in parts and not aspects:
        reader.wrong(parts["aspects"], "aspects", "must have one")
    prompts = _prompts(reader, parts["prompts"]) if "prompts" in parts else []
    keys = {prompt.key for prompt in prompts}
    chatbots = _chatbots(reader, parts["chatbots"], keys) if "chatbots" in parts else []
    plan = _plan(reader, parts["plan"], chatbots) if "plan" in parts else PlanOptions()
    if not reader.problems:
        _check_design(reader, parts.get("plan", root), campaign, plan)
    asked = [NewAspect(**aspect) for aspect in aspects] if not reader.problems else []
    gold = _gold(reader, parts["gold"], asked, prompts, chatbots) if asked and "gold" in parts else []
    reception, qualification = _reception(reader, parts, asked)
    if reader.problems:
        raise CampaignFileError(reader.problems)
    return CampaignFile(campaign, stopping, plan, asked, prompts, chatbots, gold, reception, qualification)


def _reception(
    reader: _Reader, parts: Mapping[str, Any], aspects: Sequence[NewAspect]
) -> tuple[dict[str, Any], list[NewQualificationItem]]:
    """How annotators are received, and what is asked of them first."""
    items = [
        _qualification_item(reader, item, key, aspects)
        for key, item in (reader.items(parts["qualification"], "qualification") if "qualification" in parts else ())
    ]
    if "reception" not in parts:
        return {}, items
    node = parts["reception"]
    values = reader.fields(node, "reception", RECEPTION, beside={"reasons"})
    known = reader.mapping(node, "reception")
    if "reasons" in known:
        values["reasons"] = _reasons(reader, known["reasons"][1])
    if values.get("platform", Reception.Platform.NONE) != Reception.Platform.NONE and not values.get("code_complete"):
        reader.wrong(node, "reception.code_complete", "is missing: a crowd platform needs a completion code")
    mark = values.get("pass_mark", 0)
    if isinstance(mark, int) and mark > len(items):
        reader.wrong(
            known["pass_mark"][1], "reception.pass_mark", f"must be at most {len(items)}, as many as are asked"
        )
    return values, items


def _reasons(reader: _Reader, node: Any) -> list[Any]:
    check, found = text(LONGEST_REASON), []
    for key, item in reader.items(node, "reception.reasons"):
        found.append(reader.scalar(item))
        if problem := check(found[-1]):
            reader.wrong(item, key, problem)
    if len(found) > MOST_REASONS or any(found.count(one) > 1 for one in found):
        reader.wrong(node, "reception.reasons", f"must have at most {MOST_REASONS}, each once")
    return found


def _qualification_item(reader: _Reader, item: Any, key: str, aspects: Sequence[NewAspect]) -> NewQualificationItem:
    parts = reader.mapping(item, key)
    required = {"reply_a", "reply_b", "right", "explanation"}
    values = reader.fields(item, key, QUALIFICATION, required=required, beside={"turns"})
    if ("text" in parts) == ("turns" in parts):
        reader.wrong(item, key, "must have a text, or turns")
    turns = [{"speaker": "user", "text": values.get("text", "")}]
    if "turns" in parts:
        turns = _turns(reader, parts["turns"][1], f"{key}.turns")
    if "right" in parts and aspects and values["right"] not in aspects[0].choices:
        reader.wrong(parts["right"][1], f"{key}.right", f"must be one of: {', '.join(aspects[0].choices)}")
    words = [str(values.get(name, "")) for name in ("reply_a", "reply_b", "right", "explanation")]
    return NewQualificationItem(turns, *words)


def _stopping(reader: _Reader, node: Any) -> Limits:
    before = len(reader.problems)
    values = reader.fields(node, "stopping", STOPPING)
    if len(reader.problems) > before:
        return Limits()
    try:
        return Limits(**values)
    except InvalidInput as error:
        at = reader.mapping(node, "stopping").get(error.field, (node, node))[0]
        reader.wrong(at, _join("stopping", error.field), error.message)
        return Limits()


def _plan(reader: _Reader, node: Any, chatbots: Sequence[ChatbotPart]) -> PlanOptions:
    """What plans want and keep to; `balance` holds each category's share, or is null for none at all."""
    before = len(reader.problems)
    values = reader.fields(node, "plan", PLAN, beside={"balance"})
    parts = reader.mapping(node, "plan")
    if "balance" in parts and reader.scalar(parts["balance"][1]) is not None:
        shares = reader.mapping(parts["balance"][1], "plan.balance")
        table = dict.fromkeys(shares, number(0, 1))
        values["balance"] = reader.fields(parts["balance"][1], "plan.balance", table)
    if isinstance(name := values.get("newcomer"), str):
        values["newcomer"] = _place(name, chatbots)
        if values["newcomer"] is None:
            reader.wrong(parts["newcomer"][1], "plan.newcomer", f"no chatbot {name[:60]!r} is in this file")
    if len(reader.problems) > before:
        return PlanOptions()
    try:
        return PlanOptions(**values)
    except InvalidInput as error:
        reader.wrong(node, _join("plan", error.field or ""), error.message)
        return PlanOptions()


def _place(name: str, chatbots: Sequence[ChatbotPart]) -> int | None:
    """Where the chatbot of this name stands in the file; one of several versions only by name and version."""
    wholes = [f"{one.name} {one.version}" for one in chatbots]
    if name in wholes:
        return wholes.index(name)
    names = [one.name for one in chatbots]
    return names.index(name) if names.count(name) == 1 else None


def _check_design(reader: _Reader, node: Any, campaign: Mapping[str, Any], plan: PlanOptions) -> None:
    """What contradicts itself across the keys of a file."""
    usual = Design()
    votes = campaign.get("votes_per_item", usual.votes_per_item)
    by_gold = bool(campaign.get("gold_share")) and campaign.get("gold_mark") is not None
    acts = campaign.get("screening", usual.screening) == Campaign.Screening.ACT
    try:
        policy_check(campaign.get("policy", usual.policy))
        plan.check_votes(votes)
        plan.check_screening(votes, acts=acts, gold=by_gold)
    except InvalidInput as error:
        reader.wrong(node, error.field or "", error.message)


def _prompts(reader: _Reader, node: Any) -> list[NewPrompt]:
    prompts: dict[str, NewPrompt] = {}
    for key, item in reader.items(node, "prompts"):
        new = _prompt_of(reader, item, key)
        if new.key in prompts:
            reader.wrong(item, f"{key}.id", f"{new.key!r} stands here twice")
        prompts[new.key] = new
    return list(prompts.values())


def _prompt_of(reader: _Reader, item: Any, key: str) -> NewPrompt:
    before = len(reader.problems)
    parts = reader.mapping(item, key)
    values = reader.fields(item, key, PROMPT, required={"id"}, beside={"turns"})
    turns = [{"speaker": "user", "text": values["text"]}] if "text" in values else None
    if "turns" in parts:
        if turns is not None:
            reader.wrong(item, key, "has both a text and turns")
        turns = _turns(reader, parts["turns"][1], f"{key}.turns")
    new = NewPrompt(str(values.get("id", "")), turns, values.get("category", ""))
    if len(reader.problems) == before:
        _check_prompt(reader, item, key, new)
    return new


def _turns(reader: _Reader, node: Any, key: str) -> list[dict[str, str]]:
    return [reader.fields(item, at, TURN, required=TURN) for at, item in reader.items(node, key)]


def _check_prompt(reader: _Reader, item: Any, key: str, prompt: NewPrompt) -> None:
    if prompt.turns is None:
        return
    try:
        check_turns(prompt)
    except InvalidInput as error:
        reader.wrong(item, key, error.message)


def _chatbots(reader: _Reader, node: Any, prompts: set[str]) -> list[ChatbotPart]:
    chatbots: list[ChatbotPart] = []
    for key, item in reader.items(node, "chatbots"):
        parts = reader.mapping(item, key)
        values = reader.fields(item, key, CHATBOT, required={"name"}, beside={"replies"})
        replies = _replies(reader, parts["replies"][1], f"{key}.replies", prompts) if "replies" in parts else {}
        part = ChatbotPart(
            str(values.get("name", "")),
            values.get("version", "1"),
            values.get("description", ""),
            replies,
            values.get("organisation", ""),
        )
        if (part.name, part.version) in {(one.name, one.version) for one in chatbots}:
            reader.wrong(item, f"{key}.name", f"{part.name!r} of version {part.version!r} stands here twice")
        chatbots.append(part)
    return chatbots


def _replies(reader: _Reader, node: Any, key: str, prompts: set[str]) -> dict[str, list[str]]:
    check = text(LONGEST_CELL)
    replies: dict[str, list[str]] = {}
    for name, (at, value) in reader.mapping(node, key).items():
        if name not in prompts:
            reader.wrong(at, _join(key, name), "is no prompt of this file")
        nodes = value.value if isinstance(value, yaml.SequenceNode) else [value]
        samples = [reader.scalar(each) for each in nodes]
        for each, sample in zip(nodes, samples, strict=True):
            if problem := check(sample):
                reader.wrong(each, _join(key, name), problem)
        replies[name] = samples
    return replies


def _gold(
    reader: _Reader,
    node: Any,
    aspects: Sequence[NewAspect],
    prompts: Sequence[NewPrompt],
    chatbots: Sequence[ChatbotPart],
) -> list[NewGold]:
    named = [(one.name, one.version, one.replies) for one in chatbots]
    book = book_of(aspects[0].choices, [one.key for one in prompts], named)
    gold: dict[str, NewGold] = {}
    for key, item in reader.items(node, "gold"):
        new = _gold_item(reader, item, key, book)
        if new is not None and new.key in gold:
            reader.wrong(item, f"{key}.id", f"{new.key!r} stands here twice")
        elif new is not None:
            gold[new.key] = new
    return list(gold.values())


def _gold_item(reader: _Reader, item: Any, key: str, book: GoldBook) -> NewGold | None:
    before = len(reader.problems)
    parts = reader.mapping(item, key)
    values = reader.fields(item, key, GOLD, required={"id"}, beside={"right", "turns"})
    if "right" in parts:
        node = parts["right"][1]
        several = isinstance(node, yaml.SequenceNode)
        values["right"] = [reader.scalar(one) for one in node.value] if several else reader.scalar(node)
    if "turns" in parts:
        values["turns"] = _turns(reader, parts["turns"][1], f"{key}.turns")
    if len(reader.problems) > before:
        return None
    try:
        new = gold_from(values, values["id"])
        book.resolve(new)
    except InvalidInput as error:
        at = parts.get(error.field or "", (item, item))[0]
        reader.wrong(at, _join(key, error.field or ""), error.message)
        return None
    return new


# Writing ------------------------------------------------------------------------------------------------


def campaign_write(campaign: Campaign) -> str:
    """The campaign as a file that `campaign_read` reads; prompts and replies without a text are left out."""
    prompts = list(campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk"))
    entrants = _entrants(campaign)
    whole_file = {
        "touchstone": FORMAT,
        "campaign": {name: _plain(getattr(campaign, name)) for name in CAMPAIGN},
        "stopping": _stopping_written(limits_of(campaign.stopping)),
        "plan": _plan_written(plan_options(campaign), {one.pk: str(one.version) for one in entrants}),
        "aspects": [{name: getattr(one, name) for name in ASPECT} for one in campaign.rubric.aspects.all()],
        "prompts": [_prompt(prompt) for prompt in prompts],
        "chatbots": [_chatbot(one.version, prompts) for one in entrants],
        "gold": gold_written(campaign),
        **reception_written(campaign),
    }
    written: str = yaml.safe_dump(whole_file, sort_keys=False, allow_unicode=True, width=100)
    return written


def _stopping_written(limits: Limits) -> dict[str, Any]:
    """The test's alpha and power only where there is a difference to test."""
    beside = set() if limits.min_difference is not None else {"alpha", "power"}
    return {name: getattr(limits, name) for name in STOPPING if name not in beside}


def _plan_written(plan: PlanOptions, names: Mapping[int, str]) -> dict[str, Any]:
    """`names` of who takes part; who has left is not placed: the others are ranked."""
    if plan.newcomer is not None and plan.newcomer not in names:
        plan = _unplaced(plan)
    balance = None if plan.balance is None else dict(plan.balance)
    newcomer = None if plan.newcomer is None else names[plan.newcomer]
    return {**{name: _plain(getattr(plan, name)) for name in PLAN}, "newcomer": newcomer, "balance": balance}


def _unplaced(plan: PlanOptions) -> PlanOptions:
    """The plan where the chatbot to be placed is not there: not yet, or not any more."""
    return plan if plan.newcomer is None else replace(plan, target=PlanSpec.Target.AIM.value, newcomer=None)


def _entrants(campaign: Campaign) -> list[Any]:
    return list(campaign.entrants.filter(state="active").select_related("version__chatbot").order_by("pk"))


def _plain(value: Any) -> Any:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def _prompt(prompt: Prompt) -> dict[str, Any]:
    turns = prompt.turns
    about = {"id": prompt.key, **({"category": prompt.category} if prompt.category else {})}
    if not turns:
        return about
    if len(turns) == 1:
        return {**about, "text": turns[0]["text"]}
    return {**about, "turns": [dict(turn) for turn in turns]}


def _chatbot(version: Version, prompts: Sequence[Prompt]) -> dict[str, Any]:
    found: dict[int, list[Any]] = {}
    rows = version.replies.filter(prompt__in=prompts, corrected_by__isnull=True, text__isnull=False)
    for prompt, reply in rows.order_by("prompt", "sample").values_list("prompt_id", "text"):
        found.setdefault(prompt, []).append(reply)
    replies = {one.key: found[one.pk] for one in prompts if one.pk in found}
    return {
        "name": version.chatbot.name,
        "version": version.label,
        "description": version.chatbot.description,
        "organisation": (version.chatbot.made_by or version.chatbot.organisation).slug,
        "replies": {key: texts[0] if len(texts) == 1 else texts for key, texts in replies.items()},
    }


# Taking in ----------------------------------------------------------------------------------------------


def campaign_take(*, organisation: Organisation, given: CampaignFile, by: User | None = None) -> Campaign:
    """A draft of what the file says, all or nothing. Raises Conflict for an address, a name or a version there is."""
    design_fields = set(Design.__dataclass_fields__) & set(given.campaign)
    design = Design(
        **{name: given.campaign[name] for name in design_fields},
        **{name: getattr(given.stopping, name) for name in LIMITS},
        plan=_unplaced(given.plan),
        aspects=tuple(given.aspects),
    )
    with write_transaction():
        slug = given.campaign["slug"]
        prompt_set = prompt_set_create(organisation=organisation, name=slug, prompts=given.prompts)
        campaign = campaign_create(
            organisation=organisation,
            name=given.campaign["name"],
            slug=slug,
            prompt_set=prompt_set,
            design=design,
            description=given.campaign.get("description", ""),
        )
        for name in ("pay_rate", "pay_per", "currency", "per_day"):
            if name in given.campaign:
                setattr(campaign, name, given.campaign[name])
        campaign.save(update_fields=["pay_rate", "pay_per", "currency", "per_day"])
        keys = {prompt.key: prompt for prompt in prompt_set.prompts.all()}
        entrants = [
            entrant_add(campaign=campaign, version=_take_chatbot(organisation, part, keys), by=by)
            for part in given.chatbots
        ]
        if given.plan.newcomer is not None:
            plan_set(campaign=campaign, options=replace(given.plan, newcomer=entrants[given.plan.newcomer].pk))
        if given.gold:
            gold_add(campaign=campaign, items=given.gold, by=by)
        reception_take(campaign, given.reception, given.qualification, by)
        audit_record(act="set_up", subject=campaign.public_id, by=by, after={"name": campaign.name}, target="YAML")
    campaign.refresh_from_db()
    return campaign


def _take_chatbot(organisation: Organisation, part: ChatbotPart, keys: Mapping[str, Prompt]) -> Version:
    chatbot = Chatbot.objects.filter(organisation=organisation, name=part.name).first()
    chatbot = chatbot or chatbot_create(
        organisation=organisation,
        name=part.name,
        description=part.description,
        made_by=Organisation.objects.filter(slug=part.organisation).first(),
    )
    if chatbot.versions.filter(label=part.version).exists():
        raise Conflict(
            f"{part.name} has a version {part.version!r} already, and what a version says never changes.",
            hint="Give it another version in the file.",
            field="chatbots",
        )
    version = version_create(chatbot=chatbot, label=part.version)
    Reply.objects.bulk_create(
        (
            Reply(
                version=version,
                prompt=keys[key],
                sample=sample,
                text=reply,
                sha256=text_sha256(reply),
                origin=Reply.Origin.FILE,
            )
            for key, samples in part.replies.items()
            for sample, reply in enumerate(samples, start=1)
        ),
        batch_size=500,
    )
    return version
