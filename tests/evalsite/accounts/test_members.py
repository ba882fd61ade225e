"""Members of organisations: invitations work once and expire, roles limit who invites, an owner always stays."""

import re
import uuid
from datetime import timedelta

import pytest
from django.core import mail, signing
from django.db import IntegrityError, transaction
from django.test import Client, override_settings
from django.utils import timezone

from evalsite.accounts.members import (
    INVITATION_SALT,
    invitation_token,
    invited_user_create,
    member_invitation_accept,
    member_invite,
    member_remove,
    member_role_set,
    organisation_found,
)
from evalsite.accounts.models import MemberInvitation, Membership, Organisation, User
from evalsite.accounts.services import organisation_verify, user_create, user_erase
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.models import AuditEntry, Job
from tests.evalsite.cast import run_jobs
from tests.evalsite.pages.reading import Page

PASSWORD = "correct horse battery"
INVITED = {"email": "dana@example.org", "role": "manager"}


@pytest.fixture
def acme(alice: User) -> Organisation:
    return organisation_found(name="Acme", owner=alice)


@pytest.fixture
def token(acme: Organisation, alice: User) -> str:
    return invitation_token(member_invite(slug="acme", by=alice, **INVITED))


def roles(organisation: Organisation) -> dict[str, str]:
    return dict(organisation.memberships.order_by("pk").values_list("user__username", "role"))


def mailed_path() -> str:
    run_jobs()
    found = re.search(r"https?://[^/]+(/account/invitations/\S+/)", str(mail.outbox[-1].body))
    assert found
    return found.group(1)


class TestByMail:
    def test_a_person_founds_an_organisation_and_invites_by_mail(self, owner: Client, charlie: User) -> None:
        page = Page(owner.post("/account/organisations/", {"name": "Acme"}, follow=True))
        assert "Members alice Owner" in page.words
        page = Page(owner.post("/account/organisations/acme/", INVITED))
        assert "dana@example.org Manager" in page.words
        path = mailed_path()
        assert mail.outbox[0].to == ["dana@example.org"]
        assert "Acme" in mail.outbox[0].body
        assert path in page.html, "the owner may send the link, where the site has no mail server"
        assert path not in owner.get("/account/organisations/acme/").content.decode(), "once"
        guest = Client()
        guest.force_login(charlie)
        assert "alice invites you" in Page(guest.get(path)).words
        sent = {"token": path.split("/")[-2]}
        assert "You are a member of Acme now" in Page(guest.post("/account/invitations/", sent, follow=True)).words
        assert roles(Organisation.objects.get(slug="acme")) == {"alice": "owner", "charlie": "manager"}

    @override_settings(EMAIL_BACKEND="evalsite.core.mail.Unsent")
    def test_a_site_without_a_mail_server_says_to_send_the_link(self, owner: Client, acme: Organisation) -> None:
        words = Page(owner.post("/account/organisations/acme/", INVITED)).words
        assert "This site has no mail server. Send this link yourself" in words

    def test_the_job_holds_neither_address_nor_link(self, owner: Client, acme: Organisation) -> None:
        owner.post("/account/organisations/acme/", INVITED)
        kept = str(list(Job.objects.values()))
        assert "dana" not in kept
        assert mailed_path().split("/")[-2] not in kept

    def test_a_withdrawn_invitation_is_not_mailed(self, owner: Client, acme: Organisation) -> None:
        owner.post("/account/organisations/acme/", INVITED)
        sent = {"invitation": str(MemberInvitation.objects.get().public_id)}
        assert owner.post("/account/organisations/acme/withdraw/", sent).status_code == 302
        run_jobs()
        assert mail.outbox == []
        assert owner.post("/account/organisations/acme/withdraw/", sent).status_code == 404

    def test_inviting_tells_nothing_about_accounts(self, owner: Client, acme: Organisation, charlie: User) -> None:
        User.objects.filter(pk=charlie.pk).update(email="charlie@example.org")
        pages = []
        for name in ("charlie", "nobodys"):
            page = Page(owner.post("/account/organisations/acme/", {"email": f"{name}@example.org", "role": "viewer"}))
            assert page.response.status_code == 200
            pages.append(len(MemberInvitation.objects.exclude(email="")))
        assert pages == [1, 2]

    def test_five_mails_an_hour_go_to_one_address(self, owner: Client, acme: Organisation) -> None:
        codes = [owner.post("/account/organisations/acme/", INVITED).status_code for _ in range(6)]
        assert codes == [200] * 5 + [429]
        assert MemberInvitation.objects.exclude(email="").count() == 1, "a later invitation replaces the earlier one"


class TestAcceptance:
    @pytest.mark.database
    def test_an_invitation_works_once(self, acme: Organisation, token: str, charlie: User) -> None:
        member_invitation_accept(token=token, user=charlie)
        eve = user_create(username="eve", password=None)
        with pytest.raises(Conflict, match="has been used"):
            member_invitation_accept(token=token, user=eve)
        assert roles(acme) == {"alice": "owner", "charlie": "manager"}
        assert MemberInvitation.objects.get().email == "", "the address is not needed any more"

    @pytest.mark.database
    def test_an_expired_invitation_leaves_nothing(self, acme: Organisation, token: str, stranger: Client) -> None:
        MemberInvitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        page = stranger.get(f"/account/invitations/{token}/")
        assert page.status_code == 409
        assert "has expired. Ask an owner" in Page(page).words
        sent = {"token": token, "username": "dana", "password": PASSWORD}
        assert stranger.post("/account/invitations/", sent).status_code == 409
        assert not User.objects.filter(username="dana").exists()
        assert roles(acme) == {"alice": "owner"}

    def test_a_new_person_signs_up_and_joins_at_once(self, acme: Organisation, token: str, stranger: Client) -> None:
        with override_settings(SIGN_UP="invitation"):
            sent = {"token": token, "username": "dana", "password": PASSWORD}
            page = Page(stranger.post("/account/invitations/", sent, follow=True))
        assert "You are a member of Acme now" in page.words
        assert roles(acme)["dana"] == "manager"
        assert User.objects.get(username="dana").email == "", "the link does not prove the address"

    @pytest.mark.parametrize(
        ("change", "said"), [({"password": "short"}, "too short"), ({"username": "alice"}, "already an account")]
    )
    def test_a_refused_sign_up_leaves_the_invitation_open(
        self, acme: Organisation, token: str, stranger: Client, change: dict[str, str], said: str
    ) -> None:
        sent = {"token": token, "username": "dana", "password": PASSWORD}
        page = stranger.post("/account/invitations/", sent | change)
        assert page.status_code == 400
        assert said in Page(page).words
        assert not User.objects.filter(username="dana").exists()
        assert stranger.post("/account/invitations/", sent).status_code == 302

    def test_an_account_is_not_left_behind_by_a_used_invitation(self, token: str, charlie: User) -> None:
        member_invitation_accept(token=token, user=charlie)
        with pytest.raises(Conflict):
            invited_user_create(token=token, username="dana", password=PASSWORD)
        assert not User.objects.filter(username="dana").exists()

    def test_a_closed_site_takes_only_people_with_accounts(
        self, acme: Organisation, token: str, stranger: Client, charlie: User
    ) -> None:
        with override_settings(SIGN_UP="closed"):
            page = Page(stranger.get(f"/account/invitations/{token}/"))
            assert "Sign up and join" not in page.words
            sent = {"token": token, "username": "dana", "password": PASSWORD}
            assert stranger.post("/account/invitations/", sent).status_code == 403
            member_invitation_accept(token=token, user=charlie)
        assert roles(acme) == {"alice": "owner", "charlie": "manager"}

    def test_a_member_keeps_the_role_and_the_invitation_stays_open(
        self, acme: Organisation, token: str, alice: User
    ) -> None:
        with pytest.raises(Conflict, match="a member of Acme already"):
            member_invitation_accept(token=token, user=alice)
        assert roles(acme) == {"alice": "owner"}
        assert MemberInvitation.objects.get().accepted_at is None

    @pytest.mark.parametrize(
        "made_up",
        ["x", "a:b:c", signing.Signer(salt=INVITATION_SALT).sign_object("x" * 32)],
        ids=["one letter", "three parts", "signed"],
    )
    def test_a_made_up_link_is_refused(self, stranger: Client, db: None, made_up: str) -> None:
        assert stranger.get(f"/account/invitations/{made_up}/").status_code == 404
        assert stranger.post("/account/invitations/", {"token": made_up}).status_code == 404

    def test_a_signature_made_for_another_purpose_is_refused(self, token: str, charlie: User) -> None:
        other = signing.Signer(salt="accounts.address").sign_object(MemberInvitation.objects.get().public_id.hex)
        with pytest.raises(NotFound):
            member_invitation_accept(token=other, user=charlie)

    def test_the_log_in_leads_back_to_the_invitation_and_nowhere_else(
        self, token: str, charlie: User, stranger: Client
    ) -> None:
        page = Page(stranger.get(f"/account/invitations/{token}/"))
        log_in = next(link for link in page.links if link.startswith("/account/login/?next="))
        given = {"username": "charlie", "password": PASSWORD}
        answer = stranger.post("/account/login/", {**given, "next": f"/account/invitations/{token}/"})
        assert answer["Location"] == f"/account/invitations/{token}/"
        assert token.replace(":", "%3A") in log_in
        stranger.logout()
        answer = stranger.post("/account/login/", {**given, "next": "https://evil.example/"})
        assert answer["Location"] == "/me/"


class TestMembers:
    @pytest.mark.parametrize("role", ["manager", "viewer"])
    def test_only_owners_manage_members(self, acme: Organisation, charlie: User, role: str) -> None:
        Membership.objects.create(organisation=acme, user=charlie, role=role)
        other = user_create(username="eve", password=None)
        Membership.objects.create(organisation=acme, user=other, role="viewer")
        with pytest.raises(NotAllowed):
            member_invite(slug="acme", by=charlie, **INVITED)
        with pytest.raises(NotAllowed):
            member_role_set(slug="acme", member=charlie.public_id, role="owner", by=charlie)
        with pytest.raises(NotAllowed):
            member_remove(slug="acme", member=other.public_id, by=charlie)
        member_remove(slug="acme", member=charlie.public_id, by=charlie)
        assert roles(acme) == {"alice": "owner", "eve": "viewer"}

    def test_the_organisation_is_not_there_for_others(self, acme: Organisation, charlie: User) -> None:
        client = Client()
        client.force_login(charlie)
        for path in ("/account/organisations/acme/", "/account/organisations/none/"):
            assert client.get(path).status_code == 404
            assert client.post(path, INVITED).status_code == 404
        assert not MemberInvitation.objects.exists()

    def test_nobody_is_invited_to_a_personal_organisation(self, alice: User) -> None:
        with pytest.raises(NotFound):
            member_invite(slug=alice.personal_organisation.slug, by=alice, **INVITED)

    def test_an_owner_changes_roles_and_removes_members(self, acme: Organisation, owner: Client, charlie: User) -> None:
        Membership.objects.create(organisation=acme, user=charlie, role="viewer")
        sent = {"member": str(charlie.public_id), "role": "manager"}
        owner.post("/account/organisations/acme/role/", sent)
        assert roles(acme)["charlie"] == "manager"
        address = f"/account/organisations/acme/members/{charlie.public_id}/remove/"
        assert "Remove a member: charlie" in Page(owner.get(address)).words
        assert "charlie" in roles(acme), "asking removes nobody"
        owner.post(address)
        assert roles(acme) == {"alice": "owner"}
        acts = [entry.act for entry in AuditEntry.objects.filter(subject=acme.public_id).order_by("pk")]
        assert acts == ["found_organisation", "set_member_role", "remove_member"]

    @pytest.mark.database
    def test_the_last_owner_stays(self, acme: Organisation, alice: User, charlie: User) -> None:
        Membership.objects.create(organisation=acme, user=charlie, role="viewer")
        with pytest.raises(Conflict, match="needs an owner"):
            member_remove(slug="acme", member=alice.public_id, by=alice)
        with pytest.raises(Conflict, match="needs an owner"):
            member_role_set(slug="acme", member=alice.public_id, role="viewer", by=alice)
        member_role_set(slug="acme", member=charlie.public_id, role="owner", by=alice)
        member_remove(slug="acme", member=alice.public_id, by=alice)
        assert roles(acme) == {"charlie": "owner"}

    @pytest.mark.parametrize(
        ("email", "role"), [("x", "viewer"), ("", "viewer"), ("a@example.org", "admin"), ("a@example.org", "")]
    )
    def test_faulty_input_invites_nobody(
        self, acme: Organisation, owner: Client, alice: User, email: str, role: str
    ) -> None:
        with pytest.raises(InvalidInput):
            member_invite(slug="acme", email=email, role=role, by=alice)
        assert owner.post("/account/organisations/acme/", {"email": email, "role": role}).status_code == 400
        assert not MemberInvitation.objects.exists()

    def test_a_member_of_another_organisation_is_not_found(
        self, acme: Organisation, owner: Client, charlie: User
    ) -> None:
        organisation_found(name="Other", owner=charlie)
        for member in (charlie.public_id, uuid.uuid4()):
            sent = {"member": str(member), "role": "viewer"}
            assert owner.post("/account/organisations/acme/role/", sent).status_code == 404
            assert owner.post(f"/account/organisations/acme/members/{member}/remove/").status_code == 404
        assert owner.post("/account/organisations/acme/role/", {"member": "x", "role": "viewer"}).status_code == 400

    def test_the_invitation_of_another_organisation_cannot_be_withdrawn(
        self, acme: Organisation, owner: Client, charlie: User
    ) -> None:
        organisation_found(name="Other", owner=charlie)
        invitation = member_invite(slug="other", by=charlie, **INVITED)
        sent = {"invitation": str(invitation.public_id)}
        assert owner.post("/account/organisations/acme/withdraw/", sent).status_code == 404
        assert owner.post("/account/organisations/other/withdraw/", sent).status_code == 404

    @pytest.mark.database
    def test_the_database_keeps_one_open_invitation_per_address(self, acme: Organisation, token: str) -> None:
        later = timezone.now() + timedelta(days=1)
        with pytest.raises(IntegrityError), transaction.atomic():
            MemberInvitation.objects.create(
                organisation=acme, email="DANA@example.org", role="viewer", expires_at=later
            )


class TestFounding:
    def test_the_name_of_a_verified_organisation_is_taken(self, acme: Organisation, charlie: User) -> None:
        staff = user_create(username="staff", password=None, staff=True)
        organisation_found(name="ACME2", owner=charlie)
        organisation_verify(organisation=acme, verified=True, by=staff)
        for name in ("Acme", "Acmе"):  # noqa: RUF001  the last letter is Cyrillic
            with pytest.raises((Conflict, InvalidInput)):
                organisation_found(name=name, owner=charlie)

    @pytest.mark.parametrize("name", ["", "   ", "x" * 201, "Ac\u202eme"])
    def test_a_faulty_name_founds_nothing(self, owner: Client, alice: User, name: str) -> None:
        assert owner.post("/account/organisations/", {"name": name}).status_code == 400
        assert Organisation.objects.filter(personal_of=None).count() == 0

    def test_one_person_owns_20_organisations(self, alice: User) -> None:
        for n in range(20):
            organisation_found(name=f"Lab {n}", owner=alice)
        with pytest.raises(Conflict, match="You own 20"):
            organisation_found(name="Lab 20", owner=alice)


def test_an_erased_person_is_not_invited_any_more(acme: Organisation, token: str, charlie: User) -> None:
    User.objects.filter(pk=charlie.pk).update(email="DANA@example.org")
    charlie.refresh_from_db()
    user_erase(user=charlie)
    assert not MemberInvitation.objects.exists()


def test_posts_without_a_csrf_token_change_nothing(acme: Organisation, alice: User, token: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    for path in ("organisations/", "organisations/acme/", "organisations/acme/role/", "invitations/"):
        assert strict.post(f"/account/{path}", {"token": token, **INVITED, "name": "x"}).status_code == 403
    assert strict.post(f"/account/organisations/acme/members/{alice.public_id}/remove/").status_code == 403
    assert MemberInvitation.objects.count() == 1


def test_no_log_line_holds_the_link_of_a_faulty_sign_up(
    token: str, stranger: Client, caplog: pytest.LogCaptureFixture
) -> None:
    stranger.post("/account/invitations/", {"token": token, "username": "dana", "password": "short"})
    assert "/account/invitations/" in caplog.text
    assert token not in caplog.text
