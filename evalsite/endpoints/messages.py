"""Messages of calls: those of a prompt, and the fixed ones of tests and daily checks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsite.endpoints.adapters.base import Message, Role
from evalsite.endpoints.models import CallRequest

ROLES: Mapping[str, Role] = {"user": "user", "chatbot": "assistant"}
TEST_TURNS = (
    "Hello! Please answer with one short sentence: what can you help me with?",
    "My favourite number is 7. Which number is twice as large?",
    "Which number did I say is my favourite?",
)
"""The user's turns of a test. The last one can only be answered if the whole history is sent."""
DAILY_PROMPTS = (
    "Name the capital of France.",
    "Continue the sequence with three numbers: 2, 4, 8, 16.",
    "Explain in one sentence why the sky is blue.",
)
"""Asked every day: other replies than before may mean that another model replies."""
RECOVERY_PROMPT = "Say hello."


def messages_of(request: CallRequest) -> tuple[Message, ...]:
    """Return the messages of a request; its prompt must be loaded."""
    if request.messages is not None:
        return messages_read(request.messages)
    return messages_of_turns(request.prompt.turns or [] if request.prompt else [])


def messages_of_turns(turns: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return the turns of a prompt as messages."""
    return tuple(Message(ROLES[turn["speaker"]], turn["text"]) for turn in turns)


def messages_read(stored: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return messages that `messages_stored` made."""
    return tuple(Message(one["role"], one["content"]) for one in stored)


def messages_stored(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return messages as JSON."""
    return [{"role": message.role, "content": message.content} for message in messages]


def said_by_user(text: str) -> list[dict[str, str]]:
    """Return a conversation of one turn as JSON."""
    return messages_stored([Message("user", text)])
