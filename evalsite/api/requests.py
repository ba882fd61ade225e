"""Bodies and queries of requests."""

from typing import Any

from rest_framework import serializers

from evalsite.api.fields import (
    AmountField,
    KeyField,
    MomentField,
    QueryIntegerField,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
)
from evalsite.campaigns.limits import ALPHA, POWER
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator

BOOLEANS = ["true", "false"]
VERDICTS = ["A", "B", "tie", "both_bad"]
MAX_TEXT = 200_000
MAX_PAGE = 500


class EmptyRequest(StrictSerializer):
    """An empty object."""


class EnrolRequest(StrictSerializer):
    """The data of a new annotator."""

    campaign = KeyField(max_length=80)
    kind = serializers.ChoiceField(choices=["human", "simulated", "model"], default=Annotator.Kind.HUMAN)
    consent = StrictBooleanField(default=False, help_text="consent to the campaign's notice, if it has one")


class JoinRequest(StrictSerializer):
    """The data of an enrolment in another campaign."""

    consent = StrictBooleanField(default=False, help_text="consent to the campaign's notice, if it has one")


class QualificationRequest(StrictSerializer):
    """An answer to a qualification item."""

    item = StrictIntegerField(min_value=1, max_value=2**53)
    attempt = StrictIntegerField(min_value=1, max_value=2)
    choice = StrictCharField(max_length=20)


class ClaimRequest(StrictSerializer):
    """The number of assignments to claim."""

    count = StrictIntegerField(min_value=1, max_value=100, required=False)


class AnswerRequest(StrictSerializer):
    """The answer to one aspect: `aspect` and exactly one other field, which depends on the aspect's kind."""

    aspect = StrictCharField(max_length=60, trim_whitespace=False)
    choice = StrictCharField(
        max_length=20, trim_whitespace=False, required=False, help_text="for choose_one: A, B, tie or both_bad"
    )
    rating = StrictIntegerField(required=False, help_text="for rating: the rating of the reply, or of the whole turn")
    labels = serializers.ListField(
        child=StrictCharField(max_length=60),
        required=False,
        max_length=50,
        help_text="for label: the labels of the reply, or of the whole turn",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the aspect with its one answer."""
        given = [name for name in attrs if name != "aspect"]
        if not given:
            raise serializers.ValidationError({"choice": "Answer the aspect by one of the fields."})
        if len(given) != 1:
            raise serializers.ValidationError("Give exactly one answer to each aspect.")
        return {"aspect": attrs["aspect"], "answer": attrs[given[0]]}


class JudgmentRequest(StrictSerializer):
    """The answers to an assignment."""

    answers = serializers.ListField(child=AnswerRequest(), allow_empty=False, max_length=50)
    client_ms = StrictIntegerField(min_value=0, max_value=2**31 - 1, required=False)
    comment = StrictCharField(max_length=2000, required=False, allow_blank=True)
    supersedes = StrictUUIDField(required=False)

    def validate_answers(self, answers: list[dict[str, Any]]) -> dict[str, Any]:
        return answers_by_aspect(answers)


def answers_by_aspect(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer by aspect. An aspect that is answered twice is refused, since one answer would be lost."""
    choices = {answer["aspect"]: answer["answer"] for answer in answers}
    if len(choices) != len(answers):
        raise serializers.ValidationError("An aspect is answered twice.")
    return choices


class ConversationRequest(StrictSerializer):
    """The data of a new conversation."""

    consents_to_review = StrictBooleanField(
        default=False, help_text="consent that third parties judge turns of it, after redaction"
    )


class MessageRequest(StrictSerializer):
    """A message to the chatbots."""

    text = StrictCharField(trim_whitespace=False, allow_blank=True, help_text="at most 4,000 characters")


class TurnAnswerRequest(AnswerRequest):
    """The answer to one aspect: `aspect` and exactly one other field, which depends on its kind and scope."""

    choice = StrictCharField(
        max_length=20, required=False, help_text="for choose_one: the label of a reply, tie or both_bad"
    )
    selected = serializers.ListField(
        child=StrictCharField(max_length=20),
        required=False,
        max_length=8,
        help_text="for select_any: the labels of the selected replies; [] selects none",
    )
    ratings = serializers.DictField(
        child=StrictIntegerField(), required=False, help_text="ratings by the label of the reply"
    )
    labels_of = serializers.DictField(
        child=serializers.ListField(child=StrictCharField(max_length=60), max_length=50),
        required=False,
        help_text="labels by the label of the reply",
    )


class TurnJudgmentRequest(StrictSerializer):
    """The answers to a turn of a conversation."""

    answers = serializers.ListField(child=TurnAnswerRequest(), allow_empty=False, max_length=50)
    written = StrictCharField(
        required=False, allow_blank=True, trim_whitespace=False, help_text="a better reply, if none was selected"
    )
    client_ms = StrictIntegerField(min_value=0, max_value=2**31 - 1, required=False)
    comment = StrictCharField(max_length=2000, required=False, allow_blank=True)

    def validate_answers(self, answers: list[dict[str, Any]]) -> dict[str, Any]:
        return answers_by_aspect(answers)


class ReportRequest(StrictSerializer):
    """A report of a reply."""

    candidate = StrictCharField(max_length=1, help_text="the label of the reply")
    reason = StrictCharField(max_length=20, help_text="harmful, private, identity, broken or other")
    note = StrictCharField(max_length=500, required=False, allow_blank=True)


class EndRequest(StrictSerializer):
    """The end of a conversation."""

    rating = StrictIntegerField(required=False, help_text="from 1 to 5, if the campaign asks for it")
    feedback = StrictCharField(max_length=2000, required=False, allow_blank=True)


class SkipRequest(StrictSerializer):
    """The reason for a skip."""

    reason = StrictCharField(max_length=20)
    note = StrictCharField(max_length=500, required=False, allow_blank=True)


class JudgmentFilterQuery(StrictSerializer):
    """The judgments to list. Without a query, all judgments that count."""

    counted = serializers.ChoiceField(
        choices=["true", "false", "any"], default="true", help_text="whether fits use the judgment"
    )
    aspect = serializers.SlugField(
        max_length=60, required=False, help_text="key of the aspect; default: the primary aspect"
    )
    category = StrictCharField(max_length=100, required=False)
    chatbot = StrictUUIDField(required=False, help_text="id of a chatbot, on either side of the comparison")
    annotator = StrictUUIDField(required=False)
    late = serializers.ChoiceField(choices=BOOLEANS, required=False)
    explained = serializers.ChoiceField(
        choices=BOOLEANS, required=False, help_text="whether the judgment has a reason or a comment"
    )
    since = MomentField(required=False, help_text="recorded at or after this time, such as 2026-11-24T12:00:00Z")
    until = MomentField(required=False, help_text="recorded before this time, such as 2026-11-24T12:00:00Z")


class ActRequest(StrictSerializer):
    """The parameters of an action. Each action needs some of them. An error names a missing one."""

    reason = StrictCharField(max_length=500, required=False, allow_blank=True)
    annotator = StrictUUIDField(required=False, help_text="for exclude and readmit: the pseudonym")
    entrant = StrictUUIDField(required=False, help_text="for withdraw_entrant: the id of the entrant")
    version = StrictUUIDField(
        required=False, help_text="for add_entrant: the id of a version of a chatbot of the organisation"
    )
    prompt = StrictUUIDField(required=False, help_text="for retire_prompt: the id of the prompt")
    gold = StrictUUIDField(required=False, help_text="for withdraw_gold: the id of the gold item")
    username = StrictCharField(max_length=150, required=False, help_text="for share: the user")
    role = serializers.ChoiceField(
        choices=["owner", "manager", "viewer"],
        required=False,
        help_text="for share: the role; if absent, the role is removed",
    )
    judgments = StrictIntegerField(
        min_value=1, max_value=2**31 - 1, required=False, help_text="for pilot: the number of judgments"
    )
    share = StrictFloatField(
        required=False, help_text="for pilot, instead of judgments: a share of the budget or of all comparisons"
    )
    target_se = StrictFloatField(required=False, help_text="for extend: smaller than the current value")
    min_difference = StrictFloatField(required=False, help_text="for extend: smaller than the current value")
    power = StrictFloatField(required=False, help_text="for extend, with min_difference: larger than the current value")
    alpha = StrictFloatField(
        required=False, help_text="for extend, with min_difference: smaller than the current value"
    )
    budget = StrictIntegerField(
        min_value=1, max_value=2**31 - 1, required=False, help_text="for extend: more than the current budget"
    )
    deadline = MomentField(
        required=False, help_text="for extend: later than the current deadline, such as 2026-11-24T12:00:00Z"
    )
    call_cap = AmountField(
        required=False,
        allow_null=True,
        help_text="for cap_calls: in the campaign's currency; if absent, the cap is removed",
    )
    visibility = serializers.ChoiceField(
        choices=Campaign.Visibility.values, required=False, help_text="for show: who sees the board"
    )
    shows_prompts = StrictBooleanField(required=False, help_text="for show: whether readers may see the prompts")
    shows_replies = StrictBooleanField(
        required=False, help_text="for show: whether readers may see some replies, as examples"
    )
    releases_data = StrictBooleanField(required=False, help_text="for show: whether readers may download the judgments")
    licence = StrictCharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="for show: licence of the released data, such as CC-BY-4.0",
    )


class LimitsRequest(StrictSerializer):
    """The stopping rules of a campaign. A rule that is absent or null does not apply."""

    target_se = StrictFloatField(required=False, allow_null=True, help_text="SE of every chatbot's ability, in logits")
    min_difference = StrictFloatField(
        required=False, allow_null=True, help_text="instead of target_se: difference between neighbours, in logits"
    )
    alpha = StrictFloatField(default=ALPHA, help_text="two-sided level of the test for min_difference")
    power = StrictFloatField(default=POWER, help_text="power of the test for min_difference")
    budget = StrictIntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True)
    deadline = MomentField(required=False, allow_null=True, help_text="such as 2026-11-24T12:00:00Z")


class TurnRequest(StrictSerializer):
    """One message of a conversation."""

    speaker = serializers.ChoiceField(choices=["user", "chatbot"])
    text = StrictCharField(max_length=MAX_TEXT)


class GoldItemRequest(StrictSerializer):
    """A comparison with a known answer: a prompt (`prompt_id`, `text` or `turns`) and two replies or two chatbots."""

    id = StrictCharField(max_length=200)
    right = serializers.ListField(child=serializers.ChoiceField(choices=VERDICTS), allow_empty=False, max_length=3)
    prompt_id = StrictCharField(max_length=200, required=False)
    text = StrictCharField(max_length=MAX_TEXT, required=False)
    turns = serializers.ListField(child=TurnRequest(), required=False, max_length=100)
    category = StrictCharField(max_length=100, required=False)
    reply_a = StrictCharField(max_length=MAX_TEXT, required=False)
    reply_b = StrictCharField(max_length=MAX_TEXT, required=False)
    chatbot_a = StrictCharField(max_length=400, required=False)
    chatbot_b = StrictCharField(max_length=400, required=False)
    explanation = StrictCharField(max_length=2000, required=False, allow_blank=True)


class GoldRequest(StrictSerializer):
    """Gold items. If one is not valid, none is added."""

    items = serializers.ListField(child=GoldItemRequest(), allow_empty=False, max_length=1000)


class PageQuery(StrictSerializer):
    """The page of a list."""

    cursor = StrictUUIDField(default=None, help_text="`next` of the previous page; absent for the first page")
    limit = QueryIntegerField(min_value=1, max_value=MAX_PAGE, default=100, help_text="number of rows on a page")


class JudgmentsQuery(PageQuery, JudgmentFilterQuery):
    """The judgments to list, and the page."""


class BoardFilterQuery(StrictSerializer):
    """The filter of a board. Only one may be given, because each has a fit of its own."""

    aspect = StrictCharField(required=False, max_length=60)
    category = StrictCharField(required=False, max_length=100)
    kind = serializers.ChoiceField(["live", "static"], required=False)
    mode = serializers.ChoiceField(
        ["both", "own"], required=False, help_text="both: includes the judgments of the linked static campaign"
    )
    style = serializers.ChoiceField(  # type: ignore[assignment]
        ["equal"], required=False, help_text="equal: adjusts for the length and markup of replies"
    )


class PromptFileQuery(StrictSerializer):
    """The query of an upload of prompts."""

    set = StrictCharField(max_length=200, help_text="name of the prompt set")
    partly = serializers.ChoiceField(BOOLEANS, default="false", help_text="store the valid rows and refuse the others")
    check = serializers.ChoiceField(BOOLEANS, default="false", help_text="report on each row and store nothing")
    encoding = StrictCharField(max_length=20, required=False, help_text="encoding of a file that is not in UTF-8")


class VoteFileQuery(StrictSerializer):
    """The query of an upload of votes."""

    campaign = StrictCharField(max_length=200, help_text="name of the new campaign")
    visibility = serializers.ChoiceField(
        Campaign.Visibility.values, default=Campaign.Visibility.PRIVATE.value, help_text="who sees the board"
    )
    source = StrictCharField(  # type: ignore[assignment]  # also an attribute of every field
        max_length=200, required=False, help_text="name of the file"
    )
    encoding = StrictCharField(max_length=20, required=False, help_text="encoding of a text file that is not in UTF-8")
    a = StrictCharField(max_length=200, required=False, help_text="column of the first chatbot, if not recognised")
    b = StrictCharField(max_length=200, required=False, help_text="column of the second chatbot")
    winner = StrictCharField(max_length=200, required=False, help_text="column of the outcome")
    map = StrictCharField(
        max_length=2000,
        required=False,
        help_text="meanings of labels, such as `left=model_a,same=tie`: model_a, model_b, tie or both_bad",
    )
    merge_turns = serializers.ChoiceField(
        BOOLEANS, default="false", help_text="count all turns of a prompt as one item"
    )
    check = serializers.ChoiceField(BOOLEANS, default="false", help_text="report the content and store nothing")


class ReplyFileQuery(PromptFileQuery):
    """The query of an upload of replies."""

    name = StrictCharField(max_length=200, help_text="name of the chatbot, which is created if it does not exist")
    label = StrictCharField(  # type: ignore[assignment]  # also an attribute of every field
        max_length=100, required=False, help_text="label of the version; default: the next number"
    )
    made_by = StrictCharField(
        max_length=80,
        required=False,
        help_text="slug of the organisation that made the chatbot, if different",
    )
