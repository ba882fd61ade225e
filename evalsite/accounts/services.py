"""Writes of the accounts room."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from evalsite.accounts.models import Organisation, User
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput


def user_create(*, username: str, password: str | None, email: str = "", staff: bool = False) -> User:
    """A person and the organisation of their own. Without a password the account cannot log in."""
    if password is not None:
        try:
            validate_password(password, User(username=username, email=email))
        except ValidationError as error:
            raise InvalidInput(" ".join(error.messages), field="password") from error
    with write_transaction():
        if User.objects.filter(username__iexact=username).exists():
            raise InvalidInput(f"There is already an account called {username!r}.", field="username")
        return User.objects.create_user(username, email, password, is_staff=staff, is_superuser=staff)


def personal_organisation_ensure(*, user: User) -> Organisation:
    """The organisation of this person's own; made when there is none."""
    own = Organisation.objects.filter(personal_of=user).first()
    return own or organisation_create(name=user.get_username(), owner=user, personal=True)


def organisation_create(*, name: str, owner: User | None = None, personal: bool = False) -> Organisation:
    """An organisation, and its owner's membership."""
    return Organisation.objects.found(name=name, owner=owner, personal=personal)
