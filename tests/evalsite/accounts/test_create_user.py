"""A person gets an account and an organisation of their own."""

import pytest
from django.core.management import call_command
from django.test import override_settings

from evalsite import settings as site
from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import organisation_create, user_create
from evalsite.core.errors import InvalidInput

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


def test_a_person_owns_an_organisation_of_their_own() -> None:
    user = user_create(username="alice", password=PASSWORD)
    organisation = Organisation.objects.get(personal_of=user)
    assert organisation.memberships.get(user=user).role == "owner"
    assert user.check_password(PASSWORD)


@override_settings(PASSWORD_HASHERS=site.PASSWORD_HASHERS)
def test_a_password_is_kept_as_an_argon2_hash() -> None:
    user = user_create(username="alice", password=PASSWORD)
    assert user.password.startswith("argon2")
    assert user.check_password(PASSWORD)


def test_without_a_password_nobody_can_log_in() -> None:
    assert not user_create(username="robot", password=None).has_usable_password()


@pytest.mark.parametrize("password", ["short", "1234567890123", "password1234"])
def test_a_weak_password_is_refused_and_leaves_nothing(password: str) -> None:
    with pytest.raises(InvalidInput):
        user_create(username="alice", password=password)
    assert not User.objects.exists()
    assert not Organisation.objects.exists()


@pytest.mark.database
def test_a_name_is_taken_in_any_case() -> None:
    user_create(username="alice", password=PASSWORD)
    with pytest.raises(InvalidInput, match="already"):
        user_create(username="Alice", password=PASSWORD)


@pytest.mark.database
def test_organisations_of_one_name_get_different_addresses() -> None:
    slugs = [organisation_create(name="The Lab").slug for _ in range(3)]
    assert slugs == ["the-lab", "the-lab-2", "the-lab-3"]


def test_a_name_without_letters_still_gets_an_address() -> None:
    assert organisation_create(name="???").slug == "organisation"


def test_createsuperuser_adds_an_organisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", username="root", email="root@example.org", interactive=False, verbosity=0)
    assert Organisation.objects.get(personal_of__username="root").memberships.get().role == "owner"
