"""What annotators are owed, to the cent: by the judgment or the hour, with bonuses, less what was marked as paid."""

import csv
import io
import threading
import time
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.selectors import aspect_primary
from evalsite.core.db import write_transaction
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.models import AuditEntry
from evalsite.judgments.annotator_statistics import spent
from evalsite.judgments.annotators import part_get
from evalsite.judgments.arrivals import identity_source
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Annotator, AnnotatorIdentity, Assignment, Bonus, Enrolment, Judgment, Payment
from evalsite.judgments.payments import (
    accounts,
    accounts_shown,
    bonuses_import,
    bonuses_preview,
    due_in_all,
    dues,
    payment_file,
    payments_mark,
    statements,
    totals,
)
from evalsite.judgments.selectors import earnings_of, pay_of, votes_counted
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.judgments.work_time import LONGEST, work_time_record
from tests.environment import PATIENCE_S
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, payment_record, run_only_refits
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

PAGE = "/console/trial/payments/"
DUE = Decimal("0.0700")


@shared
def paid(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """Bob judged six, one of them late, and took one back; Dora judged three and is excluded. A good cent for each."""
    Campaign.objects.update(pay_rate="0.0111")
    campaign.refresh_from_db()
    first = assignment_claim(campaign=campaign, annotator=bob)
    given = [judgment_record(annotator=bob, assignment_id=a.public_id, choices={"overall": "A"}) for a in first]
    one, judgment = first[-1], given[-1].judgment
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "B"}, supersedes=judgment.public_id)
    run_only_refits()
    block = assignment_claim(campaign=campaign, annotator=bob)
    Assignment.objects.filter(pk=block[0].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    for one in block:
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    judge(campaign, dora)
    campaign.batches.filter(state="open").update(state="closed", closed_at=timezone.now())
    annotator_exclude(campaign=campaign, annotator=dora, reason="tapped one key")
    run_only_refits()
    return campaign


def rows(campaign: Campaign) -> dict[str, dict[str, str]]:
    return {row["annotator"]: row for row in csv.DictReader(io.StringIO("".join(payment_file(campaign)), newline=""))}


def test_payment_file_lists_work_and_pay_of_each_annotator(paid: Campaign, bob: Annotator, dora: Annotator) -> None:
    found = rows(paid)
    of_bob, of_dora = found[str(bob.public_id)], found[str(dora.public_id)]
    wanted = {"judged": "6", "counted": "6", "late": "1", "undone": "1", "gold": "0", "left_out": "0", "excluded": ""}
    assert {name: of_bob[name] for name in wanted} == wanted
    assert (of_bob["rate"], of_bob["owed"], of_bob["currency"]) == ("0.0111 a judgment", "0.0666", "USD")
    wanted = {"judged": "3", "counted": "0", "left_out": "3", "excluded": "tapped one key", "owed": "0.0333"}
    assert {name: of_dora[name] for name in wanted} == wanted


@pytest.mark.database
def test_statements_totals_and_spending_agree_exactly(paid: Campaign, bob: Annotator, alice: User) -> None:
    Bonus.objects.create(campaign=paid, annotator=bob, amount="1.0001", currency="USD", reason="kind")
    payment_record(campaign=paid, annotator=bob, amount=Decimal("0.5"), currency="USD")
    (total,) = totals(accounts(paid))
    file = rows(paid).values()
    for column, wanted in (("owed", total.earned), ("bonus", total.bonus), ("paid", total.paid), ("due", total.due)):
        assert sum(Decimal(row[column]) for row in file) == wanted
    assert spent(paid) == {"USD": total.earned}
    assert total.earned == 9 * Decimal("0.0111")


def test_late_answer_to_a_filled_place_is_paid_but_not_fitted(
    campaign: Campaign, bob: Annotator, dora: Annotator
) -> None:
    Campaign.objects.update(pay_rate="0.0111")
    campaign.refresh_from_db()
    late = assignment_claim(campaign=campaign, annotator=bob)[0]
    Assignment.objects.filter(state="issued").update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    Assignment.objects.filter(state="queued").exclude(place=late.place).update(priority=9999)
    block = assignment_claim(campaign=campaign, annotator=dora)
    assert late.place_id in {one.place_id for one in block}
    for one in block:
        judgment_record(annotator=dora, assignment_id=one.public_id, choices={"overall": "A"})
    given = judgment_record(annotator=bob, assignment_id=late.public_id, choices={"overall": "B"}).judgment
    assert (given.late, given.counts, given.is_paid) == (True, False, True)
    campaign.batches.update(state="closed", closed_at=timezone.now())
    assert {vote.annotator for vote in votes_counted([campaign], aspect_primary(campaign))} == {dora.pk}
    assert earnings_of(Assignment.objects.filter(campaign=campaign)) == {
        bob.pk: {"USD": Decimal("0.0111")},
        dora.pk: {"USD": 3 * Decimal("0.0111")},
    }
    wanted = {"judged": "1", "counted": "0", "late": "1", "over_quota": "0", "owed": "0.0111"}
    assert {name: rows(campaign)[str(bob.public_id)][name] for name in wanted} == wanted


def test_late_answer_over_quota_is_listed_and_not_paid(paid: Campaign, bob: Annotator) -> None:
    lost = assignment_claim(campaign=paid, annotator=bob)
    Assignment.objects.filter(state="issued").update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    Campaign.objects.update(quota=7)
    for one in lost:
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    found = rows(paid)[str(bob.public_id)]
    wanted = {"judged": "9", "late": "4", "over_quota": "2", "owed": "0.0777"}
    assert {name: found[name] for name in wanted} == wanted
    assert list(found)[-1] == "over_quota", "columns stay where programs have found them"
    (statement,) = statements(paid, [bob])
    assert (statement.over_quota, statement.earned) == (2, 7 * Decimal("0.0111"))
    assert spent(paid) == {"USD": 10 * Decimal("0.0111")}


def test_due_amounts_are_marked_once_and_logged(paid: Campaign, alice: User) -> None:
    _, shown = accounts_shown(paid)
    assert due_in_all(shown.owed) == {"USD": 9 * Decimal("0.0111")}
    assert payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice) == 2
    assert set(Payment.objects.values_list("reference", "by")) == {("transfer 7", alice.pk)}
    assert dues(accounts(paid)) == {}
    entry = AuditEntry.objects.get(act="pay")
    assert (entry.target, entry.after, entry.actor) == ("transfer 7", {"paid": {"USD": "0.0999"}}, alice.public_id)
    with pytest.raises(Conflict, match="Nothing is due"):
        payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice)
    assert Payment.objects.count() == 2


def test_only_shown_amounts_are_marked_as_paid(paid: Campaign, bob: Annotator, dora: Annotator, alice: User) -> None:
    _, shown = accounts_shown(paid)
    judge(paid, bob)
    assert payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice) == 2
    assert dict(Payment.objects.values_list("annotator", "amount")) == {
        bob.pk: 6 * Decimal("0.0111"),
        dora.pk: 3 * Decimal("0.0111"),
    }
    assert dues(accounts(paid)) == {(bob.pk, "USD"): 3 * Decimal("0.0111")}


def test_a_page_is_paid_once_even_where_as_much_is_due_again(paid: Campaign, bob: Annotator, alice: User) -> None:
    _, shown = accounts_shown(paid)
    payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice)
    for who in shown.owed:
        Bonus.objects.create(campaign=paid, annotator_id=who[0], amount=5, currency="USD", reason="kind")
    with pytest.raises(Conflict, match="Payments were marked since this page was made"):
        payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice)
    assert Payment.objects.count() == 2


def test_more_than_is_due_to_somebody_is_not_marked(
    paid: Campaign, bob: Annotator, dora: Annotator, alice: User
) -> None:
    """Though as much is due in all."""
    _, shown = accounts_shown(paid)
    for who, amount in ((dora, "-0.01"), (bob, "5")):
        Bonus.objects.create(campaign=paid, annotator=who, amount=amount, currency="USD", reason="a correction")
    with pytest.raises(Conflict, match=r"By now 5\.0899 USD are due, and to 1 of them less than was shown"):
        payments_mark(campaign=paid, reference="transfer 7", shown=shown, by=alice)
    with pytest.raises(InvalidInput, match="reference"):
        payments_mark(campaign=paid, reference=" ", shown=shown, by=alice)
    assert not Payment.objects.exists()


@pytest.mark.database
def test_payments_and_bonuses_cannot_be_changed(paid: Campaign, bob: Annotator) -> None:
    payment_record(campaign=paid, annotator=bob, amount=Decimal(1), currency="USD")
    Bonus.objects.create(campaign=paid, annotator=bob, amount=1, currency="USD", reason="kind")
    for table in (Payment, Bonus):
        with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
            table.objects.update(amount=2)


def test_overpaid_annotator_has_nothing_due(paid: Campaign, bob: Annotator) -> None:
    payment_record(campaign=paid, annotator=bob, amount=Decimal(5), currency="USD")
    assert due_in_all(dues(accounts(paid))) == {"USD": 3 * Decimal("0.0111")}
    assert rows(paid)[str(bob.public_id)]["due"] == "-4.9334", "a number, and no text for a spreadsheet to compute"


def test_a_platform_is_called_as_people_know_it(paid: Campaign, bob: Annotator) -> None:
    AnnotatorIdentity.objects.create(annotator=bob, source=identity_source(paid, "prolific"), external_id="W7")
    row = rows(paid)[str(bob.public_id)]
    assert (row["platform"], row["platform_id"]) == ("prolific", "W7")


@pytest.mark.parametrize(
    "hostile", ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\tx", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20A1"]
)
def test_what_a_spreadsheet_would_compute_is_defused(paid: Campaign, bob: Annotator, hostile: str) -> None:
    source = identity_source(paid, hostile)
    AnnotatorIdentity.objects.create(annotator=bob, source=source, external_id=hostile)
    annotator_exclude(campaign=paid, annotator=bob, reason=f"{hostile} x")
    row = rows(paid)[str(bob.public_id)]
    assert (row["platform"], row["platform_id"]) == (f"'{hostile}", f"'{hostile}")
    assert not row["excluded"].startswith(("=", "+", "-", "@", "\t"))


# Hours ------------------------------------------------------------------------------------------------------


def issued(campaign: Campaign, annotator: Annotator, began: datetime) -> list[Assignment]:
    block = assignment_claim(campaign=campaign, annotator=annotator)
    Assignment.objects.filter(pk__in=[one.pk for one in block]).update(issued_at=began)
    return list(Assignment.objects.filter(pk__in=[one.pk for one in block]).order_by("block_position"))


def test_hours_run_from_answer_to_answer_without_breaks(campaign: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_rate="12", pay_per="hour")
    campaign.refresh_from_db()
    began = timezone.now() - timedelta(hours=2)
    first, second, third = issued(campaign, bob, began)
    for one, minutes in ((first, 1.5), (second, 4), (third, 90)):
        work_time_record(one, began + timedelta(minutes=minutes))
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
        moment = began + timedelta(minutes=minutes)
        Assignment.objects.filter(pk=one.pk).update(worked_ms=one.worked_ms)
        with_time(one, moment)
    assert [one.worked_ms for one in (first, second, third)] == [90_000, 150_000, 600_000]
    assert earnings_of(Assignment.objects.filter(campaign=campaign)) == {bob.pk: {"USD": Decimal("2.8000")}}
    (statement,) = statements(campaign, [bob])
    assert (statement.hours, statement.earned) == (Decimal("0.23"), Decimal("2.8"))
    assert [tuple(rate) for rate in statement.rates] == [(12, "hour")]


def with_time(assignment: Assignment, moment: datetime) -> None:
    """A judgment never changes: it is written anew with another time."""
    judgment = assignment.judgments.get()
    answers = list(judgment.answers.all())
    with deletion_permitted():
        judgment.answers.all().delete()
        judgment.delete()
    judgment.pk, judgment.answered_at = None, moment
    judgment.save(force_insert=True)
    for answer in answers:
        answer.pk, answer.judgment = None, judgment
        answer.save(force_insert=True)


def test_undone_answer_adds_no_working_time(campaign: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_rate="36", pay_per="hour")
    campaign.refresh_from_db()
    (one, *_) = issued(campaign, bob, timezone.now() - timedelta(seconds=30))
    first = judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}).judgment
    worked = Assignment.objects.get(pk=one.pk).worked_ms
    assert worked is not None
    assert 30_000 <= worked < 600_000
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "B"}, supersedes=first.public_id)
    assert Assignment.objects.get(pk=one.pk).worked_ms == worked


def test_the_client_cannot_lengthen_its_hours(campaign: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_rate="36", pay_per="hour")
    campaign.refresh_from_db()
    (one, *_) = assignment_claim(campaign=campaign, annotator=bob)
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}, client_ms=3_000_000)
    worked = Assignment.objects.get(pk=one.pk).worked_ms
    assert worked is not None
    assert worked < 600_000


def by_the_hour(*campaigns: Campaign, rate: str = "12") -> None:
    Campaign.objects.update(pay_rate=rate, pay_per="hour")
    for campaign in campaigns:
        campaign.refresh_from_db()


def test_expired_blocks_answered_together_share_working_time(
    campaign: Campaign, make_campaign: CampaignMaker, bob: Annotator
) -> None:
    other = make_campaign(slug="other")
    annotator_enrol(campaign=other, annotator=bob)
    by_the_hour(campaign, other)
    began, blocks = timezone.now() - timedelta(hours=2), []
    for one in (campaign, campaign, other):
        blocks.append(issued(one, bob, began))
        Assignment.objects.filter(state="issued").update(lease_until=began + timedelta(minutes=20))
        assignments_expire()
    first = timezone.now()
    for position in range(3):
        for block in blocks:
            judgment_record(annotator=bob, assignment_id=block[position].public_id, choices={"overall": "A"})
    assert Judgment.objects.filter(annotator=bob, late=True).count() == 9
    worked = [one.worked_ms or 0 for one in Assignment.objects.filter(annotator=bob)]
    assert timedelta(milliseconds=sum(worked)) <= LONGEST + (timezone.now() - first)
    for one in (campaign, other):
        own = pay_of(Assignment.objects.filter(campaign=one, annotator=bob))
        assert spent(one) == own == {"USD": totals(accounts(one))[0].earned}


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_parallel_answers_in_two_campaigns_share_working_time(make_campaign: CampaignMaker) -> None:
    campaigns = make_campaign(), make_campaign(slug="other")
    by_the_hour(*campaigns)
    bob = annotator_enrol(campaign=campaigns[0])
    annotator_enrol(campaign=campaigns[1], annotator=bob)
    began = timezone.now() - timedelta(hours=2)
    first, second = (issued(campaign, bob, began)[0] for campaign in campaigns)
    recorded, failures = threading.Event(), []

    def answer(one: Assignment, held_s: float) -> None:
        try:
            with write_transaction():
                judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
                recorded.set()
                time.sleep(held_s)  # the other one looks while this is not committed
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to show it
            failures.append(error)
        connection.close()

    def after() -> None:
        recorded.wait(PATIENCE_S)
        answer(second, 0.0)

    threads = [threading.Thread(target=answer, args=(first, 0.3)), threading.Thread(target=after)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    worked = [Assignment.objects.get(pk=one.pk).worked_ms for one in (first, second)]
    assert worked[0] == 600_000
    assert worked[1] is not None
    assert worked[1] < 600_000


# Bonuses ----------------------------------------------------------------------------------------------------


def bonus_list(bob: Annotator) -> bytes:
    lines = [f"{bob.public_id},1.50,careful", f"{bob.public_id},1.50,careful", "nobody,1,x", f"{bob.public_id},0,x"]
    return ("annotator,amount,reason\n" + "\n".join([*lines, f"{bob.public_id},1.00001,x", "W7,2,thanks"])).encode()


def test_bonus_list_reports_every_row_and_applies_it_once(
    paid: Campaign, bob: Annotator, dora: Annotator, alice: User
) -> None:
    AnnotatorIdentity.objects.create(annotator=dora, source=identity_source(paid, "prolific"), external_id="W7")
    fates = [row.fate for row in bonuses_preview(campaign=paid, content=bonus_list(bob), name="b.csv")]
    assert fates == ["add", "same", "refused", "refused", "refused", "add"]
    assert not Bonus.objects.exists()
    for _ in range(2):
        bonuses_import(campaign=paid, content=bonus_list(bob), name="b.csv", by=alice)
    given = Bonus.objects.order_by("pk").values_list("annotator", "amount", "by")
    assert list(given) == [(bob.pk, Decimal("1.5"), alice.pk), (dora.pk, Decimal(2), alice.pk)]
    assert AuditEntry.objects.get(act="bonus").after == {"given": "3.5000 USD", "to": 2}
    part = part_get(Enrolment.objects.get(campaign=paid, annotator=bob))
    assert part.owed == {"USD": Decimal("1.5") + 6 * Decimal("0.0111")}


def test_ids_of_another_campaign_are_neither_shown_nor_accepted(
    paid: Campaign, make_campaign: CampaignMaker, bob: Annotator, dora: Annotator
) -> None:
    other = make_campaign(slug="other")
    for source in (identity_source(other, "prolific"), "other/votes.csv"):
        AnnotatorIdentity.objects.create(annotator=bob, source=source, external_id="W7")
    AnnotatorIdentity.objects.create(annotator=dora, source="trial/votes.csv", external_id="V1")
    assert rows(paid)[str(bob.public_id)]["platform_id"] == ""
    assert rows(paid)[str(dora.public_id)]["platform_id"] == "V1"
    listed = b"annotator,amount,reason\nW7,2,thanks\nV1,2,thanks"
    assert [row.fate for row in bonuses_preview(campaign=paid, content=listed, name="b.csv")] == ["refused", "add"]


# The page ---------------------------------------------------------------------------------------------------


def seen(owner: Client) -> str:
    """What the page shows as due, as its form sends it."""
    return str(owner.get(PAGE).context["shown"])


def test_payment_page_shows_dues_and_records_payments(owner: Client, paid: Campaign, bob: Annotator) -> None:
    assert "0.10 USD are due to 2 annotators" in words(owner.get(PAGE))
    owner.post(PAGE, {"file": SimpleUploadedFile("b.csv", bonus_list(bob))})
    assert "1 bonus to give" in words(owner.get(PAGE))
    assert "1 bonus was given" in words(owner.post(PAGE, {"take": "yes"}, follow=True))
    sent = {"paid": "yes", "reference": "t7", "shown": seen(owner)}
    assert "2 payments were marked" in words(owner.post(PAGE, sent, follow=True))
    assert "Nothing is due." in words(owner.get(PAGE))


def test_people_judge_on_and_the_page_that_was_seen_is_paid_once(
    owner: Client, paid: Campaign, bob: Annotator, alice: User
) -> None:
    sent = {"paid": "yes", "reference": "t7", "shown": seen(owner)}
    judge(paid, bob)
    assert "2 payments were marked" in words(owner.post(PAGE, sent, follow=True))
    refused = owner.post(PAGE, sent)
    assert (refused.status_code, "Payments were marked since" in words(refused)) == (409, True)
    assert "0.03 USD are due to 1 annotator" in words(refused)
    again = {**sent, "shown": refused.context["shown"]}
    assert "1 payment was marked" in words(owner.post(PAGE, again, follow=True))
    assert dues(accounts(paid)) == {}


def test_refused_payment_shows_current_dues_and_the_reference(owner: Client, paid: Campaign, bob: Annotator) -> None:
    """The page that they came from, some seconds old, would only be refused again."""
    old = seen(owner)
    Bonus.objects.create(campaign=paid, annotator=bob, amount="-0.05", currency="USD", reason="a correction")
    seen(owner)
    judge(paid, bob)
    refused = owner.post(PAGE, {"paid": "yes", "reference": 'a "b" 7', "shown": old})
    assert (refused.status_code, refused.context["due"]) == (409, {"USD": 12 * Decimal("0.0111") - Decimal("0.05")})
    assert 'value="a &quot;b&quot; 7"' in refused.content.decode()
    assert owner.post(PAGE, {"paid": "yes", "reference": "x", "shown": refused.context["shown"]}).status_code == 302


@pytest.mark.parametrize("shown", ["", "x", "eyJhIjoxfQ:1:x"])
def test_what_the_page_did_not_write_is_not_paid(owner: Client, paid: Campaign, shown: str) -> None:
    refused = owner.post(PAGE, {"paid": "yes", "reference": "x", "shown": shown})
    assert (refused.status_code, "broken link" in words(refused)) == (400, True)
    assert not Payment.objects.exists()


def test_the_file_is_taken_by_a_post_that_stands_in_the_log(owner: Client, paid: Campaign) -> None:
    assert owner.get("/console/trial/payments.csv").status_code == 405
    answer = owner.post("/console/trial/payments.csv")
    assert answer["Content-Disposition"] == 'attachment; filename="trial-payments.csv"'
    content = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert content.count("\r\n") == 3
    assert AuditEntry.objects.filter(act="export_payments").count() == 1


@pytest.mark.parametrize("role", ["owner", "manager", "viewer", None])
def test_only_an_owner_sees_and_does_what_concerns_money(paid: Campaign, charlie: User, role: str | None) -> None:
    if role:
        CampaignRole.objects.create(campaign=paid, user=charlie, role=role)
    client = Client()
    client.force_login(charlie)
    found = [client.get(PAGE).status_code, client.post("/console/trial/payments.csv").status_code]
    found.append(client.post(PAGE, {"take": "yes"}).status_code)
    assert found == ([200, 200, 302] if role == "owner" else [403, 403, 403])
    tabs = client.get("/console/trial/").content.decode() if role else ""
    assert ("/payments/" in tabs) == (role == "owner")
