"""The formats in which the demonstration's chatbots are asked over HTTP, and answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

FINGERPRINT = "touchstone-demonstration-1"


class BadRequest(Exception):
    """A request that is not in the format of its address."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request in any format. `messages` are pairs of role and content."""

    model: str
    messages: Sequence[tuple[str, str]]
    max_tokens: int | None


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply before it is written in a format. A token is a word here."""

    model: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    fingerprint: str


def question_of(value: Any, *, default_model: str) -> Question:
    """Return the request. Raises BadRequest. The formats differ in what may be missing only."""
    if not isinstance(value, Mapping):
        raise BadRequest("The body is not a JSON object.")
    messages, limit = value.get("messages"), value.get("max_tokens", value.get("max_completion_tokens"))
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages is not a list of at least one message.")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise BadRequest("max_tokens is not a whole number of at least 1.")
    model = value.get("model", default_model)
    return Question(model if isinstance(model, str) else "", [_message(one) for one in messages], limit)


def _message(value: Any) -> tuple[str, str]:
    role, content = (value.get("role"), value.get("content")) if isinstance(value, Mapping) else (None, None)
    if role not in {"system", "user", "assistant"} or not isinstance(content, str):
        raise BadRequest("A message has a role (system, user or assistant) and a content (a text).")
    return role, content


def _openai(answer: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    return {
        "id": "chatcmpl-demonstration",
        "object": "chat.completion",
        "model": answer.model,
        "system_fingerprint": answer.fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": "length" if answer.truncated else "stop"}],
        "usage": _usage(answer),
    }


def _anthropic(answer: Completion) -> dict[str, Any]:
    return {
        "id": "msg_demonstration",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": "max_tokens" if answer.truncated else "end_turn",
        "usage": {"input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens},
    }


def _plain(answer: Completion) -> dict[str, Any]:
    reason = "length" if answer.truncated else "stop"
    return {"reply": answer.text, "model": answer.model, "finish_reason": reason, "usage": _usage(answer)}


def _usage(answer: Completion) -> dict[str, int]:
    total = answer.prompt_tokens + answer.completion_tokens
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": total,
    }


FORMATS: Mapping[str, Callable[[Completion], dict[str, Any]]] = MappingProxyType(
    {"/v1/chat/completions": _openai, "/v1/messages": _anthropic, "/chat": _plain}
)
"""Path -> how a reply is written there."""
