"""OpenAI-compatible chat completions, also of vLLM, SGLang, llama.cpp, Ollama, LM Studio and OpenRouter."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

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
from evalsite.endpoints.adapters.requests import address, headers, json_request, with_system_prompt
from evalsite.endpoints.failures import CallFailed, ErrorClass

_PATH, _BASE = "/chat/completions", "/v1"
_NEW_NAME = (".openai.com", ".openai.azure.com")  # their reasoning models refuse `max_tokens`


class OpenAI:
    key = "openai"

    def check(self, options: AdapterOptions) -> None:
        options_check(options, needs=["model"])

    def request(self, options: AdapterOptions, messages: Sequence[Message]) -> HttpRequest:
        host = urlsplit(options.url).hostname or ""
        limit = "max_completion_tokens" if f".{host}".endswith(_NEW_NAME) else "max_tokens"
        body = {
            "model": options.model,
            "messages": with_system_prompt(options, messages),
            "temperature": options.temperature,
            limit: options.max_tokens,
        }
        url = address(options.url, path=_PATH, base=_BASE)
        return json_request(url, headers(options, "Authorization", "Bearer {secret}"), body)

    def reply(self, body: bytes, options: AdapterOptions) -> ChatReply:
        value = parsed(body)
        choice = at(value, "choices.0")
        if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
            raise CallFailed(ErrorClass.BAD_RESPONSE, "The response has no message at choices.0.message.")
        message, finish_reason = choice["message"], clean(choice.get("finish_reason"))
        text, flags = _said(message, finish_reason)
        return ChatReply(
            text=reply_text(text, why_empty=f"The reply is empty (finish_reason: {finish_reason or 'none'})."),
            finish_reason=finish_reason,
            prompt_tokens=tokens(at(value, "usage.prompt_tokens")),
            completion_tokens=tokens(at(value, "usage.completion_tokens")),
            model=clean(at(value, "model")),
            fingerprint=clean(at(value, "system_fingerprint")),
            flags=flags,
        )


def _said(message: Mapping[str, Any], finish_reason: str) -> tuple[str, tuple[str, ...]]:
    """Return text and flags. A refusal or a tool call in place of content is the reply."""
    text, refusal, calls = _content(message.get("content")), message.get("refusal"), _calls(message.get("tool_calls"))
    refused = isinstance(refusal, str) and bool(refusal.strip())
    flags = {
        TRUNCATED: finish_reason == "length",
        REFUSAL: refused or finish_reason == "content_filter",
        TOOL_CALL: bool(calls),
    }
    if not text.strip():
        text = str(refusal) if refused else calls
    return text, tuple(flag for flag, given in flags.items() if given)


def _content(content: Any) -> str:
    """Return the text of a message's content: a text, or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _calls(calls: Any) -> str:
    """Return tool calls as text, one per line."""
    pairs = [
        (at(one, "function.name"), at(one, "function.arguments")) for one in (calls if isinstance(calls, list) else [])
    ]
    return "\n".join(f"{clean(name) or 'tool'}({clean(arguments, most=2000)})" for name, arguments in pairs)
