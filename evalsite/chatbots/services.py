"""Write operations on chatbots, versions and replies."""

import hashlib
from collections.abc import Iterable, Mapping

from evalsite.accounts.models import Organisation
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.core.db import write_transaction
from evalsite.prompts.models import Prompt


def text_sha256(text: str) -> str:
    """Return the hash that defines equality of replies: of the text without surrounding blanks."""
    return hashlib.sha256(text.strip().encode()).hexdigest()


def chatbot_create(
    *,
    organisation: Organisation,
    name: str,
    description: str = "",
    imported: bool = False,
    made_by: Organisation | None = None,
) -> Chatbot:
    """Create a chatbot. Raises InvalidInput for a deceptive name.

    `imported`: existing votes refer to this name, so it is stored unchanged. `made_by` is the organisation that made
    the chatbot, if that is another one.
    """
    maker = None if made_by == organisation else made_by
    chatbot = Chatbot(organisation=organisation, name=name, description=description, made_by=maker)
    if not imported:
        chatbot.names_check()
    with write_transaction():
        chatbot.save()
    return chatbot


def version_create(*, chatbot: Chatbot, label: str = "1", kind: Version.Kind = Version.Kind.STATIC) -> Version:
    with write_transaction():
        newest = chatbot.versions.order_by("-pk").first()
        version = Version(chatbot=chatbot, label=label, kind=kind, follows=newest)
        version.names_check()
        version.save()
    return version


def replies_add(
    *,
    version: Version,
    replies: Mapping[Prompt, str | None] | Iterable[tuple[Prompt, str | None]],
    origin: Reply.Origin,
) -> list[Reply]:
    """Store a version's replies (first samples). A text of None is stored as unknown."""
    pairs = replies.items() if isinstance(replies, Mapping) else replies
    rows = [
        Reply(
            version=version,
            prompt=prompt,
            text=text,
            sha256=None if text is None else text_sha256(text),
            origin=origin,
        )
        for prompt, text in pairs
    ]
    with write_transaction():
        return Reply.objects.bulk_create(rows, batch_size=500)
