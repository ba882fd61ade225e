"""Anthropic's Messages API."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.endpoints.adapters.base import (
    REFUSAL,
    TOOL_CALL,
    TRUNCATED,
    AdapterOptions,
    ChatReply,
    HttpRequest,
    Message,
)
from evalsite.endpoints.adapters.checks import options_check
from evalsite.endpoints.adapters.reading import at, clean, parsed, reply_text, tokens
from evalsite.endpoints.adapters.requests import address, headers, json_request
from evalsite.endpoints.failures import CallFailed, ErrorClass

_PATH, _BASE, _VERSION = "/messages", "/v1", "2023-06-01"
_FLAGS = {
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "refusal": REFUSAL,
    "tool_use": TOOL_CALL,
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic:
    key = "anthropic"

    def check(self, options: AdapterOptions) -> None:
        options_check(options, needs=["model", "max_tokens"])

    def request(self, options: AdapterOptions, messages: Sequence[Message]) -> HttpRequest:
        system = [options.system_prompt, *(one.content for one in messages if one.role == "system")]
        body = {
            "model": options.model,
            "max_tokens": options.max_tokens,
            "system": "\n\n".join(text for text in system if text) or None,
            "messages": [{"role": one.role, "content": one.content} for one in messages if one.role != "system"],
            "temperature": options.temperature,
        }
        sent = {"anthropic-version": _VERSION, **headers(options, "x-api-key", "{secret}")}
        return json_request(address(options.url, path=_PATH, base=_BASE), sent, body)

    def reply(self, body: bytes, options: AdapterOptions) -> ChatReply:
        value = parsed(body)
        content = at(value, "content")
        if not isinstance(content, list):
            raise CallFailed(ErrorClass.BAD_RESPONSE, "The response has no list at content.")
        reason = clean(at(value, "stop_reason"))
        flag = _FLAGS.get(reason)
        return ChatReply(
            text=reply_text(_text(content), why_empty=f"The reply is empty (stop_reason: {reason or 'none'})."),
            finish_reason=reason,
            prompt_tokens=_input_tokens(at(value, "usage")),
            completion_tokens=tokens(at(value, "usage.output_tokens")),
            model=clean(at(value, "model")),
            flags=(flag,) if flag else (),
        )


def _text(content: list[Any]) -> str:
    """Return the text blocks. Tool calls stand in for missing text."""
    blocks = [block for block in content if isinstance(block, Mapping)]
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    calls = [
        f"{clean(block.get('name')) or 'tool'}({json.dumps(block.get('input'), ensure_ascii=False)[:2000]})"
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    return "".join(texts) if "".join(texts).strip() else "\n".join(calls)


def _input_tokens(usage: Any) -> int | None:
    """Return all input tokens. Those read from and written to the cache are told apart from the others."""
    found = [tokens(at(usage, name)) for name in _INPUT]
    return None if found[0] is None else sum(one or 0 for one in found)
