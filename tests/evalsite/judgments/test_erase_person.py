"""Erasing a person: nothing that names them is left anywhere, or nothing has happened; the judgments stay."""

import uuid
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import Error, connection
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue, organisation_create
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.backup import tables
from evalsite.core.db import FORBID_UPDATE
from evalsite.core.errors import Conflict
from evalsite.judgments.arrivals import identity_source
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Assignment,
    Bonus,
    Comment,
    Enrolment,
    Judgment,
    Payment,
)
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.selectors import tally
from evalsite.judgments.services import judgment_record
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, payment_record
from tests.evalsite.pages.reading import Page, Visitor

pytestmark = pytest.mark.database

PASSWORD = "a long enough secret"
NAMES = ["quuxname", "quux-mail@example.org", "worker5f1e", "session5f1e", "study5f1e", "quuxwords"]
FROM_PROLIFIC = {"PROLIFIC_PID": "worker5f1e", "STUDY_ID": "study5f1e", "SESSION_ID": "session5f1e"}


def everything_stored() -> dict[str, str]:
    """Table and column -> all that stands there, as lower-case text; sessions as what they say."""
    found = {f"{Session._meta.db_table}.*": str([one.get_decoded() for one in Session.objects.all()]).lower()}
    for model in tables():
        for row in model._base_manager.values():
            for column, value in row.items():
                name = f"{model._meta.db_table}.{column}"
                found[name] = f"{found.get(name, '')}\n{_text(value)}"
    return found


def _text(value: Any) -> str:
    return (bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)).lower()


def standing(*names: str) -> set[tuple[str, str]]:
    """Where these names stand in the clear."""
    return {(name, where) for where, text in everything_stored().items() for name in names if name.lower() in text}


def comment_on(visitor: Visitor, annotator: Annotator, words: str) -> None:
    shown = uuid.UUID(visitor.assignment)
    onboarding_set(campaign=Assignment.objects.get(public_id=shown).campaign, comments=True)
    judgment_record(annotator=annotator, assignment_id=shown, choices={"overall": "A"}, comment=words)


@pytest.fixture
def quux(campaign: Campaign, alice: User) -> Client:
    """A person who has left their name wherever it can come: as annotator, worker, member, owner of keys."""
    client = Client()
    form = {"username": "QuuxName", "email": "Quux-Mail@example.org", "password": PASSWORD}
    assert client.post("/account/sign-up/", form).status_code == 302
    User.objects.filter(username="QuuxName").update(email="Quux-Mail@example.org")  # the link in the mail was opened
    user = User.objects.get(username="QuuxName")
    visitor = Visitor(client, "/judge/trial/")
    visitor.begin()
    comment_on(visitor, Annotator.objects.get(user=user), "I am quuxwords")
    visitor.reload()
    visitor.post("skip", {"assignment": visitor.assignment, "reason": "other", "note": "quuxwords again"})
    admin = Client()
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    admin.force_login(alice)
    admin.post("/console/trial/act/share/", {"username": "QuuxName", "role": "manager"})
    _touch_in_the_admin(admin, user)
    token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
    Campaign.objects.update(organisation=user.personal_organisation)
    assert Api(token).post("/api/v1/campaigns/trial/acts/refit", key="once").status_code == 200
    theirs = api_token_issue(user=alice, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
    assert Api(theirs).post("/api/v1/campaigns/trial/acts/refit", key="once").status_code == 200
    return client


def _touch_in_the_admin(admin: Client, user: User) -> None:
    """Django's admin tells in words what it did to whom."""
    own, other = user.personal_organisation, organisation_create(name="Acme")
    for organisation in (own, other):
        member = "alice" if organisation == own else "QuuxName"
        form = {
            "name": organisation.name,
            "slug": organisation.slug,
            "personal_of": user.pk if organisation == own else "",
            "created_at_0": "2026-01-01",
            "created_at_1": "00:00",
            "memberships-TOTAL_FORMS": 1,
            "memberships-INITIAL_FORMS": 0,
            "memberships-0-organisation": organisation.pk,
            "memberships-0-user": User.objects.get(username=member).pk,
            "memberships-0-role": "viewer",
        }
        assert admin.post(f"/admin/accounts/organisation/{organisation.pk}/change/", form).status_code == 302
    form = {"username": user.username, "email": user.email, "date_joined_0": "2026-01-01", "date_joined_1": "00:00"}
    assert admin.post(f"/admin/accounts/user/{user.pk}/change/", {**form, "is_active": "on"}).status_code == 302
    assert LogEntry.objects.count() == 3


def test_nothing_that_names_the_person_is_left_in_any_column(
    quux: Client, campaign: Campaign, make_campaign: CampaignMaker
) -> None:
    study = make_campaign(slug="study")
    onboarding_set(campaign=study, platform="prolific", code_complete="DONE-1", secret_required=False)
    url = f"/arrive/{study.public_id}/"
    quux.get(f"{url}?{urlencode(FROM_PROLIFIC)}")
    assert quux.post(url, FROM_PROLIFIC).status_code == 302
    worker = Annotator.objects.get(identities__external_id="worker5f1e")
    comment_on(Visitor(quux, f"/judge/{study.public_id}/"), worker, "quuxwords of a worker")
    payment_record(
        campaign=study, annotator=worker, amount=Decimal(1), currency="USD", reference="prolific session5f1e"
    )
    quux.post("/me/leave/", {"campaign": str(study.public_id)})
    before = tally([campaign, study])
    assert {name for name, _ in standing(*NAMES)} == set(NAMES), "all of them stand somewhere at first"
    quux.post("/me/erase/", {"sure": "on"})
    assert standing(*NAMES) == set()
    assert tally([campaign, study]) == before


def test_erasure_removes_the_name_from_payment_references(quux: Client, campaign: Campaign) -> None:
    own = Annotator.objects.get(user__username="QuuxName")
    AnnotatorIdentity.objects.create(annotator=own, source=identity_source(campaign, ""), external_id="7")
    kept = ["transfer 17", "quuxnames", "thanks"]
    gone = ["to quuxname, May", "Quux-Mail@example.org", "ref_7"]
    for words in kept + gone:
        payment_record(campaign=campaign, annotator=own, amount=Decimal(1), currency="USD", reference=words)
        Bonus.objects.create(campaign=campaign, annotator=own, amount=1, currency="USD", reason=words)
    quux.post("/me/erase/", {"sure": "on"})
    assert list(Payment.objects.order_by("pk").values_list("reference", flat=True)) == [*kept, "", "", ""]
    assert list(Bonus.objects.order_by("pk").values_list("reason", flat=True)) == [*kept, "", "", ""]


def test_campaigns_that_were_left_before_are_erased_too(campaign: Campaign, stranger: Client) -> None:
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    comment_on(visitor, Annotator.objects.get(), "I am Bob.")
    stranger.post("/me/leave/", {"campaign": str(campaign.public_id)})
    stranger.post("/me/erase/", {"sure": "on"})
    assert not Comment.objects.exists()
    assert Judgment.objects.count() == 1


def test_what_is_open_is_given_back(campaign: Campaign, stranger: Client) -> None:
    Visitor(stranger, "/judge/trial/").begin()
    assert Assignment.objects.filter(state="issued").exists()
    stranger.post("/me/erase/", {"sure": "on"})
    assert not Assignment.objects.filter(state="issued").exists()


def test_while_the_account_cannot_be_closed_nothing_is_erased(quux: Client, campaign: Campaign) -> None:
    user = User.objects.get(username="QuuxName")
    organisation_create(name="Only theirs", owner=user)
    before = everything_stored()
    with pytest.raises(Conflict):
        person_erase(user=user, parts=Enrolment.objects.filter(annotator__user=user))
    assert everything_stored() == before


def test_failed_erasure_leaves_account_and_data_unchanged(quux: Client, campaign: Campaign) -> None:
    """The database itself refuses here to forget a comment."""
    user = User.objects.get(username="QuuxName")
    with connection.cursor() as cursor:
        refuse = FORBID_UPDATE[connection.vendor][-1].format(table=Comment._meta.db_table)
        cursor.execute(refuse.replace("BEFORE UPDATE", "BEFORE DELETE"))
    before = everything_stored()
    with pytest.raises(Error, match="immutable"):
        person_erase(user=user, parts=Enrolment.objects.filter(annotator__user=user))
    assert everything_stored() == before


def test_log_names_role_holders_until_their_erasure(quux: Client, alice: User) -> None:
    owner = Client()
    owner.force_login(alice)
    assert "QuuxName role: – → manager" in Page(owner.get("/console/trial/log/")).words
    quux.post("/me/erase/", {"sure": "on"})
    assert "erased-" in Page(owner.get("/console/trial/log/")).words
