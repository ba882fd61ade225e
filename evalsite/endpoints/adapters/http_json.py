"""Plain JSON over HTTP: a body template, and the path of the reply.

By default `POST {"messages": [{"role", "content"}]}` -> `{"reply": "..."}`. The response may also hold `model`,
`finish_reason`, and `usage` with `prompt_tokens` and `completion_tokens`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput
from evalsite.endpoints.adapters.base import TRUNCATED, AdapterOptions, ChatReply, HttpRequest, Message
from evalsite.endpoints.adapters.checks import options_check
from evalsite.endpoints.adapters.reading import at, clean, parsed, reply_text, tokens
from evalsite.endpoints.adapters.requests import headers, json_request, with_system_prompt
from evalsite.endpoints.failures import CallFailed, ErrorClass

DEFAULT_TEMPLATE = '{"messages": "{messages}"}'
DEFAULT_PATH = "reply"
PLACES = ("messages", "last_message", "system_prompt", "model", "temperature", "max_tokens")
_PLACE = re.compile(r"\{(\w+)\}")
_PATH = re.compile(r"[^.\s]+(\.[^.\s]+)*")


class HttpJson:
    key = "http_json"

    def check(self, options: AdapterOptions) -> None:
        options_check(options)
        template = _template(options)
        named = {name for text in _strings(template) for name in _PLACE.findall(text)}
        if "messages" not in set(_wholes(template)):
            raise _template_error(
                _("The body template has no place for the messages."),
                _('Write "{messages}" where the list of messages belongs, like {"messages": "{messages}"}.'),
            )
        if unknown := sorted(named - set(PLACES)):
            raise _template_error(
                _("The body template has an unknown place: {%(name)s}.") % {"name": unknown[0]},
                _("Known places: %(names)s.") % {"names": ", ".join(f"{{{name}}}" for name in PLACES)},
            )
        if options.reply_path and not _PATH.fullmatch(options.reply_path):
            raise InvalidInput(
                _("The reply path is not valid."),
                hint=_("Join names and positions by dots, like choices.0.message.content."),
                field="reply_path",
            )

    def request(self, options: AdapterOptions, messages: Sequence[Message]) -> HttpRequest:
        template = _template(options)
        placed = "system_prompt" in {name for text in _strings(template) for name in _PLACE.findall(text)}
        values = {
            "messages": with_system_prompt(options, messages, leave_out=placed),
            "last_message": messages[-1].content if messages else "",
            "system_prompt": options.system_prompt,
            "model": options.model,
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        return json_request(
            options.url, headers(options, "Authorization", "Bearer {secret}"), _filled(template, values)
        )

    def reply(self, body: bytes, options: AdapterOptions) -> ChatReply:
        value, path = parsed(body), options.reply_path or DEFAULT_PATH
        text = at(value, path)
        if not isinstance(text, str):
            raise CallFailed(ErrorClass.BAD_RESPONSE, f"There is no text at {path}. {_shape(value)}")
        reason = clean(at(value, "finish_reason"))
        return ChatReply(
            text=reply_text(text),
            finish_reason=reason,
            prompt_tokens=tokens(at(value, "usage.prompt_tokens")),
            completion_tokens=tokens(at(value, "usage.completion_tokens")),
            model=clean(at(value, "model")),
            flags=(TRUNCATED,) if reason == "length" else (),
        )


def _template(options: AdapterOptions) -> Any:
    try:
        return json.loads(options.body_template or DEFAULT_TEMPLATE)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, json.JSONDecodeError) else "too deep"
        raise _template_error(
            _("The body template is not JSON (%(problem)s).") % {"problem": problem},
            _('Put places in quotation marks, too: {"messages": "{messages}"}.'),
        ) from None


def _template_error(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, hint=hint, field="body_template")


def _strings(value: Any) -> list[str]:
    """Return all strings of a JSON value except keys."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


def _wholes(template: Any) -> list[str]:
    """Return the places that are whole strings: their values keep their types."""
    return [found[1] for text in _strings(template) if (found := _PLACE.fullmatch(text))]


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return the template with values in its places. What is put in is not searched again."""
    if isinstance(template, Mapping):
        return {key: _filled(one, values) for key, one in template.items()}
    if isinstance(template, list):
        return [_filled(one, values) for one in template]
    if not isinstance(template, str):
        return template
    if (whole := _PLACE.fullmatch(template)) and whole[1] in values:
        return values[whole[1]]
    return _PLACE.sub(lambda found: _as_text(values.get(found[1], found[0])), template)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shape(value: Any) -> str:
    """Return what the response has instead, for the person who sets the path."""
    if isinstance(value, Mapping):
        names = ", ".join(clean(name, most=40) for name in list(value)[:10])
        return f"The response has: {names or 'nothing'}."
    return f"The response is a {'list' if isinstance(value, list) else 'single value'}, not an object."
