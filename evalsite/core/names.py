"""Display names: one check for forms, services and commands."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _

from evalsite.core.confusable_names import name_check, skeleton
from evalsite.core.errors import Conflict, TouchstoneError


class ShownNames(models.Model):
    """Model with checked display names. Forms check them by `clean`, services by `names_check`.

    A stored name is not checked again: it may be older than the check, or come with imported votes.
    """

    names: ClassVar[tuple[str, ...]] = ("name",)

    class Meta:
        abstract = True

    def clean(self) -> None:
        super().clean()
        as_validation_error(self.names_check)

    def names_check(self) -> None:
        """Raise InvalidInput for a deceptive new name, and the errors of `looks_check`."""
        for field in self._names_changed():
            name_check(getattr(self, field), field=field)
            self.looks_check(field)

    def looks_check(self, field: str) -> None:
        """Raise InvalidInput or Conflict if a new name looks like an existing one in the same scope."""

    def _names_changed(self) -> Iterable[str]:
        stored: dict[str, Any] = {}
        if self.pk is not None:
            stored = type(self)._base_manager.filter(pk=self.pk).values(*self.names).first() or {}
        return [field for field in self.names if getattr(self, field) != stored.get(field)]


def as_validation_error(check: Any) -> None:
    """Run a check, and convert its error to a ValidationError for forms."""
    try:
        check()
    except TouchstoneError as error:
        text = f"{error.message} {error.hint}".strip()
        raise ValidationError({error.field: text} if error.field else text) from error


def lookalike_check(name: str, others: Iterable[str], *, field: str) -> None:
    """Raise Conflict if another name has the same skeleton."""
    looks = skeleton(name)
    same = next((other for other in others if skeleton(other) == looks), None)
    if same is None:
        return
    names = {"name": name, "other": same}
    if name != same:
        names = {"name": ascii(name), "other": ascii(same)}
    raise Conflict(
        _("%(name)s looks like %(other)s, which takes part already.") % names,
        hint=_("Give the chatbot a name that readers can tell from it."),
        field=field,
        code="lookalike",
    )
