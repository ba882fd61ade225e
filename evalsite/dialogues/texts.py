"""Texts of conversations: checks, and hashes with the conversation's own key."""

import hashlib
import hmac
import secrets

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import unstorable
from evalsite.dialogues.models import Conversation, ConversationKey


def key_make(conversation: Conversation) -> ConversationKey:
    """Create the key of a new conversation."""
    return ConversationKey.objects.create(conversation=conversation, key=secrets.token_hex(32))


def text_hmac(conversation: Conversation, *texts: str) -> list[str]:
    """Return the keyed hash of each text. Without the key, which erasure deletes, nobody can guess the text."""
    key = bytes.fromhex(conversation.key.key)
    return [hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in texts]


def text_checked(text: str, *, longest: int, field: str) -> str:
    """Return a person's text without outer white space. Raises InvalidInput if it cannot be stored."""
    text = text.strip()
    if len(text) > longest:
        raise InvalidInput(
            _("The text has %(count)s characters; the most is %(longest)s.")
            % {"count": f"{len(text):,}", "longest": f"{longest:,}"},
            hint=_("Shorten it, or send it in parts."),
            field=field,
            code="too_long",
        )
    if what := unstorable(text):
        raise InvalidInput(
            _("The text contains %(what)s.") % {"what": what},
            hint=_("Remove it, and send the text again."),
            field=field,
        )
    return text


def text_required(text: str, *, longest: int, field: str) -> str:
    """Return the checked text. Raises InvalidInput if it is empty, too."""
    text = text_checked(text, longest=longest, field=field)
    if not text:
        raise InvalidInput(_("The text is empty."), hint=_("Write something."), field=field, code="empty")
    return text
