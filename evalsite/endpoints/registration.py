"""Register a live chatbot by its name, as a reply file does."""

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.chatbots.models import Chatbot
from evalsite.chatbots.services import chatbot_create
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register

LONGEST_NAME = 200


def live_chatbot_register(
    *,
    organisation: Organisation,
    name: str,
    settings: EndpointSettings,
    label: str = "",
    description: str = "",
    secret: str = "",
    by: User | None = None,
) -> Endpoint:
    """Create a live version with its endpoint. Creates the chatbot if the organisation has none of this name.

    Without a label the version gets the next number. Raises InvalidInput for settings that cannot work and for a
    deceptive name, and Conflict for a label that exists.
    """
    name = name.strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput(_("The name of a chatbot has 1 to 200 characters."), hint=_("Give it a name."), field="name")
    with write_transaction():
        # of two simultaneous requests, one waits
        Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
        chatbot = Chatbot.objects.filter(organisation=organisation, name=name).first()
        if chatbot is None:
            chatbot = chatbot_create(organisation=organisation, name=name, description=description)
        chosen = label.strip() or next_label(chatbot)
        return endpoint_register(chatbot=chatbot, label=chosen, settings=settings, secret=secret, by=by)


def next_label(chatbot: Chatbot) -> str:
    """Return the lowest number that no version has as its label."""
    taken = set(chatbot.versions.values_list("label", flat=True))
    return next(str(number) for number in range(1, len(taken) + 2) if str(number) not in taken)
