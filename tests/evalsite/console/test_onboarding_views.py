"""How annotators come, in the console: invitations to send out, and the comparisons that are asked first."""

import re

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import draft_questions_set
from evalsite.campaigns.models import Campaign, QualificationItem
from evalsite.campaigns.onboarding import NewQualificationItem, qualification_set
from evalsite.campaigns.selectors import onboarding_of
from evalsite.campaigns.services import NewAspect, campaign_start, role_give
from evalsite.core.audit import audit_record
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.errors import Conflict
from evalsite.core.models import AuditEntry
from evalsite.judgments.models import Invitation
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

ITEM = {
    "write": "yes",
    "text": "Two and two?",
    "reply_a": "Four.",
    "reply_b": "Five.",
    "right": "A",
    "explanation": "Four is right.",
}
INVITATIONS = "/console/trial/invitations/"


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(start=False)


def invited(owner: Client, **given: str) -> str:
    """The path of a new invitation, as the page shows it."""
    page = owner.post(INVITATIONS, {"invite": "yes", "days": "5", **given}).content.decode()
    found = re.search(r'value="[^"]*(/join/[^"]+)"', page)
    assert found is not None
    assert "<script>alert" not in page
    return found[1]


def test_an_invitation_is_made_shown_once_and_admits(owner: Client, campaign: Campaign, stranger: Client) -> None:
    Campaign.objects.update(visibility="private", admission="members")
    path = invited(owner, name="pilot", at_most="2")
    assert stranger.get(path).status_code == 200
    assert (Invitation.objects.get().name, Invitation.objects.get().at_most) == ("pilot", 2)
    entry = AuditEntry.objects.get(act="invite")
    assert (entry.target, entry.after["at_most"]) == (str(Invitation.objects.get().public_id), 2)
    again = owner.get(INVITATIONS)
    assert path not in again.content.decode()
    assert "pilot 0 / 2" in words(again)


def test_an_invitation_is_ended_by_a_post_and_admits_nobody_more(
    owner: Client, campaign: Campaign, stranger: Client
) -> None:
    path = invited(owner, name=HOSTILE[:90])
    assert owner.get(INVITATIONS, {"revoke": HOSTILE[:90]}).status_code == 200
    assert stranger.get(path).status_code == 200, "nothing ends by GET"
    assert owner.post(INVITATIONS, {"revoke": HOSTILE[:90]}).status_code == 302
    assert stranger.get(path).status_code == 404
    assert AuditEntry.objects.get(act="revoke_invitation").after == {"revoked": True}
    answer = owner.post(INVITATIONS, {"revoke": HOSTILE[:90]})
    assert (answer.status_code, "in force" in words(answer)) == (404, True)


def test_page_of_invitations_counts_them(owner: Client, campaign: Campaign) -> None:
    assert "No invitations yet" in words(owner.get(INVITATIONS))
    invited(owner, name="Erika Muster")
    assert "1 invitation " in words(owner.get(INVITATIONS))


def test_whom_an_invitation_is_for_stands_on_its_page_and_not_in_the_log(
    owner: Client, campaign: Campaign, alice: User, charlie: User
) -> None:
    role_give(campaign=campaign, user=charlie, role="viewer", by=alice)
    audit_record(act="invite", subject=campaign.public_id, by=alice, target="Max Old")
    for _ in range(2):
        invited(owner, name="Erika Muster")
    made = {str(one.public_id) for one in Invitation.objects.all()}
    assert owner.post(INVITATIONS, {"revoke": "Erika Muster"}).status_code == 302
    logged = {act: list(AuditEntry.objects.filter(act=act)) for act in ("invite", "revoke_invitation")}
    assert {entry.target for entry in logged["invite"]} - {"Max Old"} == made
    assert {entry.target for entry in logged["revoke_invitation"]} == made
    viewer = Client()
    viewer.force_login(charlie)
    log = words(viewer.get("/console/trial/log/"))
    assert all(one in log for one in made)
    assert ("Erika" in log, "Max Old" in log) == (False, False)
    page = words(owner.get(INVITATIONS))
    assert "Erika Muster" in page
    assert all(one in page for one in made)
    assert "Only people who may invite annotators to this campaign see it." in page
    assert viewer.get(INVITATIONS).status_code == 403


def test_an_invitation_that_cannot_be_is_refused_beside_its_fields(owner: Client, campaign: Campaign) -> None:
    answer = owner.post(INVITATIONS, {"invite": "yes", "name": "", "days": "999"})
    assert (answer.status_code, "Look at the fields below." in words(answer)) == (400, True)
    assert not Invitation.objects.exists()


def test_qualification_is_written_marked_and_taken_back(owner: Client, draft: Campaign) -> None:
    assert "Everybody begins at once" in words(owner.get(f"/console/{draft.public_id}/setup/quality/"))
    page = f"/console/{draft.public_id}/qualification/"
    assert owner.post(page, ITEM).status_code == 302
    assert owner.post(page, {**ITEM, "text": "Three and three?", "right": "B"}).status_code == 302
    items = [(one.turns[0]["text"], one.right) for one in QualificationItem.objects.order_by("position")]
    assert items == [("Two and two?", "A"), ("Three and three?", "B")]
    assert onboarding_of(draft).pass_mark == 2
    assert owner.post(page, {"pass_mark": "1"}).status_code == 302
    assert "are asked 2 comparisons first, and pass 1 of them" in words(owner.get(page))
    for mark in ("3", "x"):
        assert owner.post(page, {"pass_mark": mark}).status_code == 400
    assert "Annotators first answer 2" in words(owner.get(f"/console/{draft.public_id}/setup/quality/"))
    assert "To begin 1 of 2 comparisons right" in words(owner.get(f"/console/{draft.public_id}/setup/review/"))
    assert owner.post(page, {"remove": "0"}).status_code == 302
    assert QualificationItem.objects.get().turns[0]["text"] == "Three and three?"
    log = AuditEntry.objects.filter(act="set_up").order_by("pk")
    counts = [one.after["qualification_items"] for one in log if "qualification_items" in one.after]
    assert counts == [1, 2, 1]


def test_items_that_change_are_logged_without_what_is_right(draft: Campaign, alice: User) -> None:
    def asked(*right: str) -> list[NewQualificationItem]:
        turns = [{"speaker": "user", "text": "Two and two?"}]
        return [NewQualificationItem(turns, f"Four {n}.", "Five.", one, "Sums") for n, one in enumerate(right)]

    def put(items: list[NewQualificationItem]) -> list[tuple[object, object]]:
        with deletion_permitted():
            AuditEntry.objects.all().delete()
        qualification_set(campaign=draft, items=items, pass_mark=1, by=alice)
        log = AuditEntry.objects.filter(act="set_up", actor=alice.public_id)
        return [(one.before, one.after) for one in log if "qualification_items" in one.after]

    assert put(asked("A", "B")) == [({"qualification_items": 0}, {"qualification_items": 2, "kept": 0})]
    assert put(asked("A", "B")) == []
    assert put(asked("A", "tie")) == [({"qualification_items": 2}, {"qualification_items": 2, "kept": 1})]
    assert put(asked("A", "tie")[::-1]) == [({"qualification_items": 2}, {"qualification_items": 2, "kept": 2})]
    assert put(asked("A")) == [({"qualification_items": 2}, {"qualification_items": 1, "kept": 1})]


def test_an_answer_that_nobody_can_give_is_no_right_one(owner: Client, draft: Campaign) -> None:
    draft_questions_set(campaign=draft, aspect=NewAspect("overall", "Which is better?", allow_both_bad=False))
    answer = owner.post(f"/console/{draft.public_id}/qualification/", {**ITEM, "right": "both_bad"})
    assert (answer.status_code, "Annotators cannot answer that here." in words(answer)) == (400, True)
    assert not QualificationItem.objects.exists()


def test_an_item_that_a_changed_question_makes_unanswerable_is_named_and_does_not_start(
    owner: Client, draft: Campaign
) -> None:
    page, review = f"/console/{draft.public_id}/qualification/", f"/console/{draft.public_id}/setup/review/"
    owner.post(page, ITEM)
    owner.post(page, {**ITEM, "right": "tie"})
    assert "that is asked first has a right answer" not in words(owner.get(review))
    draft_questions_set(campaign=draft, aspect=NewAspect("overall", "Which is better?", allow_tie=False))
    said = "Comparison 2 that is asked first has a right answer that nobody can give."
    assert said in words(owner.get(review))
    with pytest.raises(Conflict) as refused:
        campaign_start(campaign=draft)
    assert (refused.value.message, "in the step Goal" in refused.value.hint) == (said, True)
    draft.refresh_from_db()
    assert draft.state == "draft"
    owner.post(page, {"remove": "1"})
    assert said not in words(owner.get(review))
    campaign_start(campaign=draft)


def test_what_collects_has_a_fixed_qualification(owner: Client, campaign: Campaign) -> None:
    assert owner.get("/console/trial/qualification/").status_code == 409
    assert owner.post("/console/trial/qualification/", ITEM).status_code == 409
