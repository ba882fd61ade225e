"""A person's API tokens: shown once, kept as a hash, within their scopes and their time."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue, api_token_revoke
from evalsite.core.errors import Conflict, InvalidInput, NotFound


def test_a_token_is_shown_once_and_kept_as_a_hash(alice: User) -> None:
    secret = api_token_issue(user=alice, name="notebook", scopes=["campaigns:read"], days=1)
    assert secret.startswith("tsp_")
    assert secret not in str(list(ApiToken.objects.values()))


@pytest.mark.parametrize("scopes", [[], ["everything"], ["campaigns:read", "judgments:write"]])
def test_a_scope_that_is_not_known_is_refused(alice: User, scopes: list[str]) -> None:
    with pytest.raises(InvalidInput):
        api_token_issue(user=alice, name="notebook", scopes=scopes, days=1)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("days", [-1, 0, 367])
def test_no_token_lasts_for_ever(alice: User, days: int) -> None:
    with pytest.raises(InvalidInput):
        api_token_issue(user=alice, name="notebook", scopes=["campaigns:read"], days=days)


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "x" * 400, "a\0b"])
def test_a_name_that_a_database_would_not_hold_is_refused(alice: User, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        api_token_issue(user=alice, name=name, scopes=["campaigns:read"], days=1)
    assert refused.value.field == "name"
    with pytest.raises(CommandError, match="1 to 100 characters"):
        call_command("api_token", "alice", name=name)
    assert not ApiToken.objects.exists()
    api_token_issue(user=alice, name="x" * 100, scopes=["campaigns:read"], days=1)


def test_a_name_is_free_again_after_its_token_was_revoked(alice: User) -> None:
    api_token_issue(user=alice, name="notebook", scopes=["campaigns:read"], days=1)
    with pytest.raises(Conflict):
        api_token_issue(user=alice, name="notebook", scopes=["campaigns:read"], days=1)
    api_token_revoke(user=alice, name="notebook")
    with pytest.raises(NotFound):
        api_token_revoke(user=alice, name="notebook")
    api_token_issue(user=alice, name="notebook", scopes=["campaigns:read"], days=1)


def test_the_command_prints_the_token_and_revokes_it(alice: User) -> None:
    out = StringIO()
    call_command("api_token", "alice", name="ci", scope=["judgments:read"], stdout=out)
    assert out.getvalue().startswith("tsp_")
    assert ApiToken.objects.get().scopes == ["judgments:read"]
    call_command("api_token", "alice", name="ci", revoke=True, stdout=out)
    assert ApiToken.objects.get().revoked_at


def test_the_command_names_what_it_cannot_find(alice: User) -> None:
    for arguments in ({"username": "nobody", "name": "ci"}, {"username": "alice", "name": "ci", "revoke": True}):
        with pytest.raises(CommandError, match="There is no"):
            call_command("api_token", arguments.pop("username"), **arguments)
