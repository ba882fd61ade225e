"""Makers: the organisation that made a chatbot of another owner. Members of the maker do not judge it."""

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.chatbots.models import Chatbot
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput


def maker_named(slug: str) -> Organisation | None:
    """Return the organisation of this slug; None for an empty slug. Raises InvalidInput for an unknown one."""
    slug = slug.strip()
    if not slug:
        return None
    found = Organisation.objects.filter(slug=slug).first() if "\0" not in slug else None
    if found is None:
        raise InvalidInput(
            _("There is no organisation %(slug)s.") % {"slug": ascii(slug[:80])},
            hint=_("Give the address name (slug) of the organisation that made the chatbot, or leave it out."),
            field="made_by",
        )
    return found


def maker_check(chatbot: Chatbot, maker: Organisation | None) -> None:
    """Raise Conflict if the chatbot has another maker on record."""
    if maker is None or chatbot.made_by is None or chatbot.made_by == maker:
        return
    raise Conflict(
        _("%(name)s was made by %(maker)s, as recorded earlier.")
        % {"name": ascii(chatbot.name), "maker": chatbot.made_by.slug},
        hint=_("Leave the maker out, or ask the staff of this site to correct it."),
        field="made_by",
    )


def maker_record(*, chatbot: Chatbot, maker: Organisation | None, by: User | None = None) -> None:
    """Record the maker of an existing chatbot. Raises Conflict if another maker is on record."""
    if maker is None or maker == chatbot.organisation:
        return maker_check(chatbot, maker)
    with write_transaction():
        locked = Chatbot.objects.select_for_update(no_key=True, of=("self",)).get(pk=chatbot.pk)
        maker_check(locked, maker)
        if locked.made_by is None:
            locked.made_by = maker
            locked.save(update_fields=["made_by"])
            audit_record(
                act="record_maker",
                subject=locked.public_id,
                by=by,
                before={"made_by": None},
                after={"made_by": maker.slug},
            )
    chatbot.made_by = locked.made_by
    return None
