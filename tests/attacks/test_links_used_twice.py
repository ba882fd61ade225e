"""Links that work once, opened by several people at the same moment; and the last two owners, who remove each other."""

from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from django.db import connection

from evalsite.accounts.first_administrator import administrator_create, setup_link_issue
from evalsite.accounts.members import (
    invitation_token,
    invited_user_create,
    member_invite,
    member_remove,
    organisation_found,
)
from evalsite.accounts.models import Membership, User
from evalsite.accounts.services import user_create
from evalsite.core.errors import TouchstoneError

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse battery"
PEOPLE = 4


def at_once(do: Callable[[int], object], count: int) -> list[str]:
    """The outcome of each: "done", or the code of its refusal."""
    outcomes: list[str] = []
    gate = Barrier(count)

    def one(number: int) -> None:
        gate.wait()
        try:
            do(number)
            outcomes.append("done")
        except TouchstoneError as refused:
            outcomes.append(refused.code)
        finally:
            connection.close()

    threads = [Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(outcomes)


def test_one_setup_link_makes_one_administrator() -> None:
    secret = setup_link_issue()
    outcomes = at_once(lambda n: administrator_create(secret=secret, username=f"root{n}", password=PASSWORD), PEOPLE)
    assert outcomes == ["done"] + ["not_found"] * (PEOPLE - 1)
    assert User.objects.filter(is_superuser=True).count() == User.objects.count() == 1


def test_one_invitation_makes_one_member() -> None:
    alice = user_create(username="alice", password=None)
    acme = organisation_found(name="Acme", owner=alice)
    token = invitation_token(member_invite(slug="acme", email="dana@example.org", role="viewer", by=alice))
    outcomes = at_once(lambda n: invited_user_create(token=token, username=f"dana{n}", password=PASSWORD), PEOPLE)
    assert outcomes == ["conflict"] * (PEOPLE - 1) + ["done"]
    assert acme.memberships.count() == User.objects.count() == 2


def test_two_owners_who_remove_each_other_leave_one() -> None:
    owners = [user_create(username=name, password=None) for name in ("alice", "charlie")]
    acme = organisation_found(name="Acme", owner=owners[0])
    Membership.objects.create(organisation=acme, user=owners[1], role="owner")
    outcomes = at_once(lambda n: member_remove(slug="acme", member=owners[1 - n].public_id, by=owners[n]), 2)
    assert outcomes == ["done", "not_found"], "who was removed meanwhile is no member any more"
    assert acme.memberships.filter(role="owner").count() == 1
