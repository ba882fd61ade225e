"""Who may see and use the endpoints of an organisation. An endpoint belongs to the organisation of its chatbot.

Members see endpoints; owners, managers and staff change, test and use them. For everybody else they are not there.
"""

import uuid

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.selectors import membership_roles
from evalsite.campaigns.library import chatbot_owned, prompt_set_owned
from evalsite.campaigns.permissions import MAKERS, ROLE_WORDS, Role
from evalsite.chatbots.models import Chatbot
from evalsite.core.errors import NotAllowed, NotFound
from evalsite.endpoints.models import Collection, Endpoint, EndpointCheck
from evalsite.prompts.models import PromptSet


def role_in(organisation: Organisation, user: User | None) -> Role | None:
    """Return the role of this person in the organisation."""
    if user is None or not user.is_active:
        return None
    if user.is_staff:
        return Role.STAFF
    return next(map(Role, membership_roles(user.pk, organisation.pk)), None)


def may_use_endpoints(organisation: Organisation, user: User | None) -> bool:
    """Return whether this person may register, change, test and pause endpoints, and collect replies."""
    return role_in(organisation, user) in MAKERS


def organisation_with_endpoints(*, slug: str, user: User | None, use: bool) -> Organisation:
    """Return the organisation. Raises NotFound for outsiders, and NotAllowed if `use` is wanted and not permitted."""
    organisation = Organisation.objects.filter(slug=slug).first()
    role = role_in(organisation, user) if organisation else None
    if organisation is None or role is None:
        raise NotFound(_("There is no such organisation."), hint=_("It may be one that you are not in."))
    _check_use(role, use)
    return organisation


def chatbot_with_endpoints(*, public_id: uuid.UUID, user: User, use: bool) -> Chatbot:
    """Return the chatbot. Raises NotFound for outsiders, and NotAllowed if `use` is wanted and not permitted."""
    chatbot = chatbot_owned(user, public_id)
    _check_use(role_in(chatbot.organisation, user), use)
    return chatbot


def endpoint_for(*, public_id: uuid.UUID, user: User | None, use: bool) -> Endpoint:
    """Return the endpoint. Raises NotFound for outsiders, and NotAllowed if `use` is wanted and not permitted."""
    found = Endpoint.objects.select_related("version__chatbot__organisation").filter(public_id=public_id).first()
    role = role_in(found.version.chatbot.organisation, user) if found else None
    if found is None or role is None:
        raise NotFound(_("There is no such endpoint."), hint=_("It may belong to an organisation that you are not in."))
    _check_use(role, use)
    return found


def check_for(*, public_id: uuid.UUID, user: User | None) -> EndpointCheck:
    """Return the check of an endpoint that this person sees. Raises NotFound."""
    found = EndpointCheck.objects.select_related("endpoint__version__chatbot__organisation")
    check = found.filter(public_id=public_id).first()
    if check is None or role_in(check.endpoint.version.chatbot.organisation, user) is None:
        raise NotFound(_("There is no such test."), hint=_("Test the endpoint again."))
    return check


def collection_for(*, public_id: uuid.UUID, user: User | None, use: bool) -> Collection:
    """Return the collection. Raises NotFound for outsiders, and NotAllowed if `use` is wanted and not permitted."""
    found = Collection.objects.select_related("endpoint__version__chatbot__organisation", "prompt_set")
    collection = found.filter(public_id=public_id).first()
    role = role_in(collection.endpoint.version.chatbot.organisation, user) if collection else None
    if collection is None or role is None:
        raise NotFound(_("There is no such collection."), hint=_("Look at the collections of the endpoint."))
    _check_use(role, use)
    return collection


def prompt_set_to_collect(*, public_id: uuid.UUID, user: User) -> PromptSet:
    """Return a prompt set whose prompts this person may read, and so may send to an endpoint. Raises NotFound."""
    return prompt_set_owned(user, public_id)


def _check_use(role: Role | None, use: bool) -> None:
    if use and role not in MAKERS:
        raise NotAllowed(
            _("You may see the endpoints of this organisation, but not use or change them."),
            hint=_("Your role here is %(role)s. Ask its owner.") % {"role": ROLE_WORDS[role or Role.VIEWER]},
        )
