"""What every adapter keeps: a new one passes by standing in ADAPTERS. Then what each kind of endpoint needs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from evalsite.core.errors import InvalidInput
from evalsite.demo.chatbot_formats import FORMATS
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.endpoints.adapters import ADAPTERS, adapter_of
from evalsite.endpoints.adapters.base import MASK, Adapter, AdapterOptions, ChatReply, Message
from evalsite.endpoints.call import endpoint_call
from evalsite.endpoints.failures import CallFailed, ErrorClass
from tests.environment import PATIENCE_S
from tests.servers import LOCAL

SECRET = "sk-only-for-tests-4711"
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "http_json": "/chat"}
HELLO = [Message("user", "Hello there"), Message("assistant", "Hi."), Message("user", "What is 3 times 4?")]
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=list(ADAPTERS))


def options_of(adapter: Adapter, url: str = "https://bot.example", **changes: Any) -> AdapterOptions:
    full = AdapterOptions(
        url=url + PATHS[adapter.key],
        secret=SECRET,
        model="concierge",
        system_prompt="Be brief.",
        temperature=0.5,
        max_tokens=200,
        body_template='{"messages": "{messages}", "model": "{model}", "max_tokens": "{max_tokens}"}',
    )
    return replace(full, **changes)


def body_of(adapter: Adapter, messages: Sequence[Message] = HELLO, **changes: Any) -> Any:
    return json.loads(adapter.request(options_of(adapter, **changes), messages).body)


def read(adapter_key: str, value: Any, **changes: Any) -> ChatReply:
    adapter = ADAPTERS[adapter_key]
    return adapter.reply(json.dumps(value).encode(), options_of(adapter, **changes))


def problem(adapter_key: str, value: Any, **changes: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        read(adapter_key, value, **changes)
    return caught.value


def refused_field(adapter: Adapter, **changes: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        adapter.check(options_of(adapter, **changes))
    assert caught.value.message
    assert caught.value.hint
    return caught.value.field


# The contract -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Any:
    with chatbots_served(api_key=SECRET) as running, override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield running


@each_adapter
def test_real_server_replies_to_the_whole_history(adapter: Adapter, server: ChatbotServer) -> None:
    outcome = endpoint_call(adapter.key, options_of(adapter, server.url), HELLO, timeout_s=PATIENCE_S)
    assert outcome.failure is None
    assert outcome.reply is not None
    assert outcome.reply.text.startswith("That makes 12.")
    assert outcome.reply.model == "concierge"
    assert outcome.reply.prompt_tokens == sum(len(one.content.split()) for one in HELLO) + system_words(adapter)
    assert outcome.reply.completion_tokens == len(outcome.reply.text.split())
    assert outcome.reply.flags == ()


def system_words(adapter: Adapter) -> int:
    """The server counts messages only, and Anthropic's system prompt is none."""
    return 0 if adapter.key == "anthropic" else 2


@each_adapter
def test_reply_cut_off_at_the_limit_is_flagged(adapter: Adapter, server: ChatbotServer) -> None:
    few = options_of(adapter, server.url, max_tokens=2)
    outcome = endpoint_call(adapter.key, few, HELLO, timeout_s=PATIENCE_S)
    assert outcome.reply is not None
    assert outcome.reply.text == "That makes"
    assert outcome.reply.flags == ("truncated",)


@each_adapter
@pytest.mark.parametrize(
    ("changes", "error_class", "status"),
    [({"secret": "wrong"}, ErrorClass.UNAUTHORIZED, 401), ({"model": "nobody"}, ErrorClass.NOT_FOUND, 404)],
    ids=["wrong key", "unknown model"],
)
def test_refusal_of_the_server_is_a_failure_with_its_words(
    adapter: Adapter, server: ChatbotServer, changes: dict[str, str], error_class: ErrorClass, status: int
) -> None:
    options = options_of(adapter, server.url, **changes)
    outcome = endpoint_call(adapter.key, options, HELLO, timeout_s=PATIENCE_S)
    assert outcome.failure is not None
    assert (outcome.failure.error_class, outcome.failure.status) == (error_class, status)
    assert outcome.failure.detail.startswith(f"Status {status}: The ")


def test_every_adapter_has_a_format_to_be_tested_with() -> None:
    assert set(PATHS) == set(ADAPTERS)
    assert set(PATHS.values()) == set(FORMATS)


@each_adapter
def test_valid_options_pass(adapter: Adapter) -> None:
    assert adapter_of(adapter.key) is adapter
    adapter.check(options_of(adapter))


@each_adapter
def test_secret_is_sent_once_and_never_shown(adapter: Adapter) -> None:
    options = options_of(adapter)
    request = adapter.request(options, HELLO)
    assert [SECRET in value for value in request.headers.values()].count(True) == 1
    shown = request.masked(SECRET)
    assert any(MASK in value for value in shown.headers.values())
    for text in (repr(options), repr(request), repr(shown), shown.url, shown.body):
        assert SECRET not in text


@each_adapter
def test_header_of_the_owner_may_hold_the_secret_instead(adapter: Adapter) -> None:
    options = options_of(adapter, headers={"api-key": "Key {secret}", "X-Team": "blue"})
    adapter.check(options)
    headers = adapter.request(options, HELLO).headers
    assert headers["api-key"] == f"Key {SECRET}"
    assert headers["X-Team"] == "blue"
    assert sum(SECRET in value for value in headers.values()) == 1


@each_adapter
def test_request_without_a_secret_has_no_empty_credential(adapter: Adapter) -> None:
    headers = adapter.request(options_of(adapter, secret=""), HELLO).headers
    assert not {"Authorization", "x-api-key"} & set(headers)


@each_adapter
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "http://bot.example/v1"),
        ("url", "not an address"),
        ("url", "https://user:word@bot.example/v1"),
        ("temperature", 2.5),
        ("temperature", float("nan")),
        ("max_tokens", 0),
        ("secret", "two\nlines"),
        ("secret", " blank "),
        ("model", "m" * 201),
        ("system_prompt", "s" * 20_001),
        ("headers", {"Host": "other.example"}),
        ("headers", {"X Y": "1"}),
        ("headers", {"X-Break": "a\r\nb"}),
        ("headers", {"Authorization": "Bearer sk-typed-in-clear"}),
        ("headers", {f"X-{number}": "1" for number in range(21)}),
    ],
)
def test_option_that_cannot_work_is_refused_by_field(adapter: Adapter, field: str, value: Any) -> None:
    with override_settings(ENDPOINT_NETWORKS=()):
        assert refused_field(adapter, **{field: value}) == field


@each_adapter
@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe{", b"<html>Busy</html>", b"[" * 100_000, b"1" * 10_000, b"null", b"[]", b'{"reply": 7}', b"NaN"],
    ids=["empty", "not UTF-8", "HTML", "deep", "long number", "null", "list", "number", "NaN"],
)
def test_body_without_a_reply_is_a_bad_response(adapter: Adapter, body: bytes) -> None:
    with pytest.raises(CallFailed) as caught:
        adapter.reply(body, options_of(adapter))
    assert caught.value.error_class == ErrorClass.BAD_RESPONSE
    assert caught.value.detail.endswith((".", "Busy</html>", "[", "1"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "reply", "usage", "text", "type", "tool_calls"]), inner
        )
    ),
    max_leaves=12,
)


@each_adapter
@given(value=JSON, wrap=st.booleans())
def test_no_json_breaks_it(adapter: Adapter, value: Any, wrap: bool) -> None:
    wrapped = {"choices": [{"message": value}], "content": [value], "reply": value, "usage": value}
    assert outcome_of(adapter, wrapped if wrap else value) in {"a reply", *ErrorClass}


def outcome_of(adapter: Adapter, value: Any) -> str:
    try:
        reply = adapter.reply(json.dumps(value).encode(), options_of(adapter))
    except CallFailed as error:
        return error.error_class
    return "a reply" if reply.text.strip() else "a blank reply"


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no kind of endpoint"):
        adapter_of("grpc")


# OpenAI-compatible --------------------------------------------------------------------------------------


def completion(message: Mapping[str, Any], finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish_reason}], **more}


@pytest.mark.parametrize(
    ("entered", "called"),
    [
        ("https://bot.example", "https://bot.example/v1/chat/completions"),
        ("https://bot.example/", "https://bot.example/v1/chat/completions"),
        ("https://bot.example/api/v1/", "https://bot.example/api/v1/chat/completions"),
        ("https://bot.example/v1/chat/completions", "https://bot.example/v1/chat/completions"),
        ("https://a.example/d/x?api-version=2", "https://a.example/d/x/chat/completions?api-version=2"),
    ],
)
def test_base_address_is_completed(entered: str, called: str) -> None:
    openai = ADAPTERS["openai"]
    assert openai.request(replace(options_of(openai), url=entered), HELLO).url == called


def test_openai_request_has_the_options_that_are_set() -> None:
    openai = ADAPTERS["openai"]
    assert body_of(openai) == {
        "model": "concierge",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello there"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "What is 3 times 4?"},
        ],
        "temperature": 0.5,
        "max_tokens": 200,
    }
    assert set(body_of(openai, temperature=None, max_tokens=None)) == {"model", "messages"}


def test_limit_has_its_new_name_where_the_old_one_is_refused() -> None:
    openai = ADAPTERS["openai"]
    body = json.loads(openai.request(replace(options_of(openai), url="https://api.openai.com/v1"), HELLO).body)
    assert body["max_completion_tokens"] == 200
    assert "max_tokens" not in body


def test_openai_needs_a_model() -> None:
    assert refused_field(ADAPTERS["openai"], model="") == "model"


def test_openai_reply_keeps_what_the_server_says_about_it() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    value = completion({"content": " Hello.\n"}, model="gpt-x-2026", system_fingerprint="fp_1", usage=usage)
    assert read("openai", value) == ChatReply(" Hello.\n", "stop", 7, 3, "gpt-x-2026", "fp_1")


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "7"}, {"prompt_tokens": -1}, {"prompt_tokens": True}])
def test_usage_that_is_no_number_is_unknown(usage: Any) -> None:
    assert read("openai", completion({"content": "Hello."}, usage=usage)).prompt_tokens is None


@pytest.mark.parametrize(
    ("message", "reason", "text", "flags"),
    [
        ({"content": "Half a"}, "length", "Half a", ("truncated",)),
        ({"content": None, "refusal": "I cannot."}, "stop", "I cannot.", ("refusal",)),
        ({"content": "Well,"}, "content_filter", "Well,", ("refusal",)),
        (
            {"content": None, "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "tea"}'}}]},
            "tool_calls",
            'search({"q": "tea"})',
            ("tool_call",),
        ),
        ({"content": "Wait.", "tool_calls": [{"function": {}}]}, "tool_calls", "Wait.", ("tool_call",)),
        ({"content": None, "tool_calls": [7, {}]}, "tool_calls", "tool()\ntool()", ("tool_call",)),
        ({"content": [{"type": "text", "text": "Hel"}, {"text": "lo"}, 7]}, "stop", "Hello", ()),
    ],
    ids=["length", "refusal", "filter", "tool call", "text and tool call", "odd tool calls", "parts"],
)
def test_unusual_message_is_a_reply_with_a_flag(
    message: Mapping[str, Any], reason: str, text: str, flags: tuple[str, ...]
) -> None:
    reply = read("openai", completion(message, reason))
    assert (reply.text, reply.finish_reason, reply.flags) == (text, reason, flags)


@pytest.mark.parametrize("content", [None, "", " \n", []])
def test_message_without_text_is_empty(content: Any) -> None:
    error = problem("openai", completion({"content": content}, "length"))
    assert (error.error_class, error.detail) == (ErrorClass.EMPTY, "The reply is empty (finish_reason: length).")


@pytest.mark.parametrize("choices", [None, [], {}, [None], [{"message": "Hello."}], "Hello."])
def test_missing_choice_is_a_bad_response(choices: Any) -> None:
    assert problem("openai", {"choices": choices}).error_class == ErrorClass.BAD_RESPONSE


def test_text_that_cannot_be_stored_is_a_failure() -> None:
    assert problem("openai", completion({"content": "a\x00b"})).error_class == ErrorClass.BAD_RESPONSE
    assert problem("openai", completion({"content": "a\ud800b"})).error_class == ErrorClass.BAD_RESPONSE
    assert problem("openai", completion({"content": "a" * 200_001})).error_class == ErrorClass.TOO_LARGE


# Anthropic ----------------------------------------------------------------------------------------------


def test_anthropic_request_has_the_system_prompt_apart() -> None:
    anthropic = ADAPTERS["anthropic"]
    body = body_of(anthropic, [Message("system", "Speak English."), *HELLO])
    assert body["system"] == "Be brief.\n\nSpeak English."
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    headers = anthropic.request(options_of(anthropic), HELLO).headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (SECRET, "2023-06-01")


def test_anthropic_needs_a_limit_of_tokens() -> None:
    assert refused_field(ADAPTERS["anthropic"], max_tokens=None) == "max_tokens"


@pytest.mark.parametrize(
    ("content", "reason", "text", "flags"),
    [
        ([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}], "end_turn", "Hello", ()),
        ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hi."}], "end_turn", "Hi.", ()),
        ([{"type": "text", "text": "Half a"}], "max_tokens", "Half a", ("truncated",)),
        ([{"type": "text", "text": "I cannot."}], "refusal", "I cannot.", ("refusal",)),
        (
            [{"type": "tool_use", "name": "search", "input": {"q": "tea"}}],
            "tool_use",
            'search({"q": "tea"})',
            ("tool_call",),
        ),
    ],
    ids=["text", "thinking", "limit", "refusal", "tool call"],
)
def test_anthropic_content_is_read_by_its_blocks(
    content: list[Any], reason: str, text: str, flags: tuple[str, ...]
) -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}
    reply = read("anthropic", {"content": content, "stop_reason": reason, "usage": usage, "model": "claude-x"})
    assert (reply.text, reply.finish_reason, reply.flags) == (text, reason, flags)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (7, 5, "claude-x")


# Plain JSON ---------------------------------------------------------------------------------------------


def test_minimal_contract_needs_no_template() -> None:
    plain = ADAPTERS["http_json"]
    options = AdapterOptions(url="https://bot.example/chat")
    plain.check(options)
    request = plain.request(options, [Message("user", "Hello")])
    assert json.loads(request.body) == {"messages": [{"role": "user", "content": "Hello"}]}
    assert plain.reply(b'{"reply": "Hi."}', options).text == "Hi."


def test_places_of_a_template_are_filled() -> None:
    template = {
        "input": {"history": "{messages}", "question": "{last_message}", "set": ["{model}", "{max_tokens}", 7, None]},
        "note": "{model} at {temperature}, {system_prompt}",
    }
    body = body_of(ADAPTERS["http_json"], [Message("user", "{model}?")], body_template=json.dumps(template))
    assert body == {
        "input": {
            "history": [{"role": "user", "content": "{model}?"}],
            "question": "{model}?",
            "set": ["concierge", 200, 7, None],
        },
        "note": "concierge at 0.5, Be brief.",
    }


def test_option_without_a_value_is_left_out_of_the_body() -> None:
    template = '{"messages": "{messages}", "temperature": "{temperature}"}'
    assert set(body_of(ADAPTERS["http_json"], body_template=template, temperature=None)) == {"messages"}


@pytest.mark.parametrize(
    "template",
    [
        '{"input": "Hello"}',
        '{"input": "{last_message}"}',
        '{"input": "Say {messages}"}',
        '{"{messages}": 1}',
        '{"messages": {messages}}',
        '{"messages": "{messages}", "key": "{secret}"}',
        "[" * 50_000,
    ],
)
def test_template_without_a_place_for_the_messages_is_refused(template: str) -> None:
    assert refused_field(ADAPTERS["http_json"], body_template=template[:20_000]) == "body_template"


@pytest.mark.parametrize("path", [".", "a..b", "a b", ".a", "a."])
def test_malformed_reply_path_is_refused(path: str) -> None:
    assert refused_field(ADAPTERS["http_json"], reply_path=path) == "reply_path"


def test_reply_path_leads_through_objects_and_lists() -> None:
    value = {"choices": [{"message": {"content": "Hello."}}]}
    assert read("http_json", value, reply_path="choices.0.message.content").text == "Hello."


@pytest.mark.parametrize("path", ["reply", "output.9", "output.text", "output.0.text.more", "output.99999999999"])
def test_path_that_finds_no_text_names_what_is_there(path: str) -> None:
    error = problem("http_json", {"output": [{"text": "Hello."}], "id": 1}, reply_path=path)
    assert error.error_class == ErrorClass.BAD_RESPONSE
    assert error.detail == f"There is no text at {path}. The response has: output, id."
