"""Accounts of annotators: statements, the payment file, bonuses and payments."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.number_format import whole
from evalsite.core.row_files import FileRow, csv_text, rows_read
from evalsite.judgments.annotator_statistics import SPENT_KEPT_S, exclusion_reasons
from evalsite.judgments.arrivals import identities_of, identity_source
from evalsite.judgments.leases import checked_text
from evalsite.judgments.models import Annotator, Assignment, Bonus, Enrolment, Judgment, Payment
from evalsite.judgments.selectors import (
    COUNTABLE,
    LEAST_PAID,
    annotators_uncounted,
    earnings_of,
    judgments_left_out,
)

NONE = Decimal(0)
CENT = Decimal("0.01")
LONGEST_REFERENCE = 200
MOST_BONUS = Decimal(10_000)
CHUNK = 200
PER = {"judgment": "a judgment", "hour": "an hour"}  # values in the file for programs


def due_of(earned: Decimal, bonus: Decimal, paid: Decimal) -> Decimal:
    """Return the amount to pay; negative after an overpayment."""
    return earned + bonus - paid


class Rate(NamedTuple):
    """An agreed rate: an amount `per` judgment or hour (Campaign.PayPer)."""

    amount: Decimal
    per: str


class _Balance:
    """Earned, bonus and paid amounts, and the amount due."""

    __slots__ = ()
    earned: Decimal
    bonus: Decimal
    paid: Decimal

    @property
    def due(self) -> Decimal:
        return due_of(self.earned, self.bonus, self.paid)


@dataclass(frozen=True, slots=True)
class Statement(_Balance):
    """One annotator's account in one currency. Counts cover the whole campaign, whatever the currency.

    - `judged`: assignments with an answer, including gold, late and removed ones.
    - `counted`: judgments in fits.
    - `undone`: answers that were taken back.
    - `left_out`: judgments that do not count because of an exclusion, or because their annotator is a newcomer.
    - `over_quota`: late answers that are not paid.
    - due = earned + bonus - paid.
    """

    annotator: Annotator
    platform: str
    platform_id: str
    judged: int
    counted: int
    late: int
    undone: int
    gold: int
    left_out: int
    excluded: str | None
    hours: Decimal
    rates: tuple[Rate, ...]
    currency: str
    earned: Decimal
    bonus: Decimal
    paid: Decimal
    over_quota: int


def statements(campaign: Campaign, annotators: Sequence[Annotator], money: "Accounts | None" = None) -> list[Statement]:
    """Return the accounts of these annotators in their order. The number of queries is fixed.

    `money` holds the amounts of all annotators, if the caller has them.
    """
    books = _StatementData.of(campaign, annotators, money or accounts(campaign))
    return [books.statement(one, currency) for one in annotators for currency in books.currencies(one.pk)]


def annotators_of(campaign: Campaign) -> QuerySet[Annotator]:
    """Return the annotators of the campaign in the order of joining."""
    return Annotator.objects.filter(enrolments__campaign=campaign).order_by("enrolments__pk")


@dataclass(frozen=True, slots=True)
class PaidWork:
    """An annotator's counts, as in Statement. `countable` is the number that would count without exclusions."""

    judged: int = 0
    gold: int = 0
    late: int = 0
    undone: int = 0
    over_quota: int = 0
    countable: int = 0


@dataclass(frozen=True, slots=True)
class _StatementData:
    campaign: Campaign
    identities: Mapping[int, tuple[str, str]]
    work: Mapping[int, PaidWork]
    left_out: Mapping[int, int]
    worked: Mapping[int, int]
    rates: Mapping[tuple[int, str], tuple[Rate, ...]]
    excluded: Mapping[int, str]
    uncounted: Collection[int]
    money: "Accounts"

    @classmethod
    def of(cls, campaign: Campaign, annotators: Sequence[Annotator], money: "Accounts") -> "_StatementData":
        own = Assignment.objects.filter(campaign=campaign, annotator__in=annotators)
        columns, own_part = ("annotator", "source", "external_id"), identity_source(campaign, "")
        identities = identities_of(campaign).filter(annotator__in=annotators).order_by("-pk")
        return cls(
            campaign,
            {
                number: (source.removesuffix(own_part), name)
                for number, source, name in identities.values_list(*columns)
            },
            _work_counts(campaign, annotators),
            judgments_left_out(campaign),
            dict(own.filter(worked_ms__gt=0).order_by().values_list("annotator").annotate(sum=Sum("worked_ms"))),
            _rates(own),
            {number: reason.text for number, reason in exclusion_reasons(campaign).items()},
            annotators_uncounted(campaign),
            money,
        )

    def currencies(self, number: int) -> list[str]:
        """Return the currencies with any amount; the campaign's currency if there is none."""
        named = {currency for book in self.money for who, currency in book if who == number}
        return sorted(named) or [self.campaign.currency]

    def statement(self, annotator: Annotator, currency: str) -> Statement:
        number = annotator.pk
        platform, platform_id = self.identities.get(number, ("", ""))
        work = self.work.get(number, PaidWork())
        excluded = self.excluded.get(number)
        left_out = work.countable if number in self.uncounted else self.left_out.get(number, 0)
        earned, bonus, paid = (book.get((number, currency), NONE) for book in self.money)
        return Statement(
            annotator=annotator,
            platform=platform,
            platform_id=platform_id,
            judged=work.judged,
            counted=work.countable - left_out,
            late=work.late,
            undone=work.undone,
            gold=work.gold,
            left_out=left_out,
            excluded=excluded,
            hours=(Decimal(self.worked.get(number, 0)) / 3_600_000).quantize(CENT, ROUND_HALF_UP),
            rates=self.rates.get((number, currency), ()),
            currency=currency,
            earned=earned,
            bonus=bonus,
            paid=paid,
            over_quota=work.over_quota,
        )


def _work_counts(campaign: Campaign, annotators: Sequence[Annotator]) -> dict[int, PaidWork]:
    """Return the counts by annotator id."""
    answered, gold = Q(supersedes__isnull=True), Q(assignment__purpose=Assignment.Purpose.GOLD)
    rows = Judgment.objects.filter(batch__campaign=campaign, annotator__in=annotators).order_by()
    counted = rows.values_list("annotator").annotate(
        judged=Count("pk", filter=answered),
        gold=Count("pk", filter=answered & gold),
        late=Count("pk", filter=answered & Q(late=True)),
        undone=Count("pk", filter=~answered),
        over_quota=Count("pk", filter=answered & Q(over_quota=True)),
    )
    removed = Assignment.objects.filter(campaign=campaign, annotator__in=annotators, state=Assignment.State.REMOVED)
    gone = dict(removed.order_by().values_list("annotator").annotate(count=Count("pk")))
    # A query of its own: within a count of all, PostgreSQL would check for every row whether it was taken back.
    countable = dict(rows.filter(COUNTABLE).values_list("annotator").annotate(countable=Count("pk")))
    here = {
        number or 0: PaidWork(judged, gold, late, undone, over_quota, countable.get(number, 0))
        for number, judged, gold, late, undone, over_quota in counted
    }
    for number, count in gone.items():
        work = here.get(number or 0, PaidWork())
        here[number or 0] = replace(work, judged=work.judged + count)
    return here


def _rates(own: QuerySet[Assignment]) -> dict[tuple[int, str], tuple[Rate, ...]]:
    """Return the agreed rates by annotator and currency."""
    found: dict[tuple[int, str], tuple[Rate, ...]] = {}
    rows = own.filter(pay_rate__gt=0).order_by("annotator", "currency", "pay_rate", "pay_per")
    for number, currency, rate, per in rows.values_list("annotator", "currency", "pay_rate", "pay_per").distinct():
        key = (number or 0, currency)
        found[key] = (*found.get(key, ()), Rate(rate, per))
    return found


def _sums(rows: QuerySet[Any]) -> dict[tuple[int, str], Decimal]:
    """Return sums by annotator and currency. Added in Python, because SQLite adds decimals as floats."""
    found: dict[tuple[int, str], Decimal] = {}
    for number, currency, amount in rows.values_list("annotator", "currency", "amount"):
        found[number, currency] = found.get((number, currency), NONE) + amount
    return found


# Totals ---------------------------------------------------------------------------------------------------


Book = Mapping[tuple[int, str], Decimal]
Accounts = tuple[Book, Book, Book]


@dataclass(frozen=True, slots=True)
class Totals(_Balance):
    """Totals of a campaign in one currency."""

    currency: str
    earned: Decimal
    bonus: Decimal
    paid: Decimal


def totals(books: Accounts) -> list[Totals]:
    """Return the sums of the statements. The earned sum equals `annotator_statistics.spent`."""
    earned, bonus, paid = books
    names = sorted({currency for book in (earned, bonus, paid) for _, currency in book})
    return [Totals(name, *(_total(book, name) for book in (earned, bonus, paid))) for name in names]


@dataclass(frozen=True, slots=True)
class ShownAmounts:
    """The amounts due as a page showed them, from (annotator, currency) to an amount above 0.

    Also holds the number of earlier payments.
    """

    owed: Mapping[tuple[int, str], Decimal]
    payments: int


def accounts_shown(campaign: Campaign, *, anew: bool = False) -> tuple[Accounts, ShownAmounts]:
    """Return the accounts, at most some seconds old (with `anew`: current), and the amounts due.

    Payments are counted before the accounts are read. A payment in between therefore invalidates the amounts shown, and
    nothing is paid twice.
    """
    made = Payment.objects.filter(campaign=campaign).count()
    books = _accounts_recent(campaign, anew=anew)
    return books, ShownAmounts(dues(books), made)


def _accounts_recent(campaign: Campaign, *, anew: bool) -> Accounts:
    name = f"accounts:{campaign.public_id}:{_accounts_version(campaign)}"
    found: Accounts | None = None if anew else cache.get(name)
    if found is None:
        found = accounts(campaign)
        cache.set(name, found, SPENT_KEPT_S)
    return found


def _accounts_version(campaign: Campaign) -> str:
    """Return a cache key part that changes with each bonus and payment, so that people see their own actions."""
    rows = (Bonus.objects.filter(campaign=campaign).count(), Payment.objects.filter(campaign=campaign).count())
    return f"{rows[0]}:{rows[1]}"


def accounts(campaign: Campaign) -> Accounts:
    """Return earned, bonus and paid amounts of all annotators by (annotator, currency)."""
    earnings = earnings_of(Assignment.objects.filter(campaign=campaign, annotator__isnull=False))
    earned = {(who or 0, name): amount for who, own in earnings.items() for name, amount in own.items()}
    return (
        earned,
        _sums(Bonus.objects.filter(campaign=campaign)),
        _sums(Payment.objects.filter(campaign=campaign)),
    )


def _total(book: Book, currency: str) -> Decimal:
    return sum((amount for (_, name), amount in book.items() if name == currency), NONE)


COLUMNS = (
    *("annotator", "platform", "platform_id", "judged", "counted", "late", "undone", "gold", "left_out", "excluded"),
    *("hours", "rate", "currency", "owed", "bonus", "paid", "due", "over_quota"),
)


_CENT_OF_A_CENT = Decimal("0.0001")


def payment_file(campaign: Campaign) -> Iterator[str]:
    """Return the statements as CSV (RFC 4180). Spreadsheet formulas are prefixed with an apostrophe."""
    yield ",".join(COLUMNS) + "\r\n"
    everybody, money = list(annotators_of(campaign)), accounts(campaign)
    for start in range(0, len(everybody), CHUNK):
        yield csv_text(map(_cells, statements(campaign, everybody[start : start + CHUNK], money)))


def _cells(one: Statement) -> list[Any]:
    out = "" if one.excluded is None else one.excluded or "yes"
    who = [str(one.annotator.public_id), one.platform, one.platform_id]
    counts = [one.judged, one.counted, one.late, one.undone, one.gold, one.left_out, out, one.hours]
    money = [amount.quantize(_CENT_OF_A_CENT) for amount in (one.earned, one.bonus, one.paid, one.due)]
    rates = " and ".join(f"{rate.amount.normalize():f} {PER[rate.per]}" for rate in one.rates)
    return [*who, *counts, rates, one.currency, *money, one.over_quota]


def payment_export(*, campaign: Campaign, by: User) -> Iterator[str]:
    """Return the payment file, and log the export: the file names people by their platform ids."""
    with write_transaction():
        audit_record(act="export_payments", subject=campaign.public_id, by=by)
    return payment_file(campaign)


# Changes ----------------------------------------------------------------------------------------------------


def payments_mark(*, campaign: Campaign, reference: str, shown: ShownAmounts, by: User) -> int:
    """Mark the shown amounts as paid under one reference. Return the number of payments. Later amounts stay due.

    Raises Conflict if a payment was made after the page was shown, or if less is due to somebody now (a negative
    bonus). Raises InvalidInput without a reference.
    """
    reference = checked_text(reference, longest=LONGEST_REFERENCE, field="reference")
    if not reference:
        raise InvalidInput(
            gettext("A payment has a reference."),
            hint=gettext("Give the bank's, or the platform's."),
            field="reference",
        )
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        _check_shown(locked, shown)
        Payment.objects.bulk_create(
            Payment(campaign=locked, annotator_id=who, amount=amount, currency=name, reference=reference, by=by)
            for (who, name), amount in shown.owed.items()
        )
        paid = {name: f"{amount:.4f}" for name, amount in due_in_all(shown.owed).items()}
        audit_record(act="pay", subject=locked.public_id, by=by, after={"paid": paid}, target=reference)
    return len(shown.owed)


def _check_shown(locked: Campaign, shown: ShownAmounts) -> None:
    """Raise Conflict unless exactly the shown amounts can be paid."""
    again: dict[str, Any] = {"hint": gettext("Look at it again."), "code": "amounts_changed"}
    owed = dues(accounts(locked))
    if not (owed and shown.owed):
        raise Conflict(gettext("Nothing is due."), hint=gettext("Reload the page."), code="nothing_due")
    if Payment.objects.filter(campaign=locked).count() != shown.payments:
        raise Conflict(gettext("Payments were marked since this page was made."), **again)
    less = sum(not 0 < amount <= owed.get(key, NONE) for key, amount in shown.owed.items())
    if less:
        said = ", ".join(f"{amount:.4f} {name}" for name, amount in due_in_all(owed).items())
        raise Conflict(
            gettext("By now %(said)s are due, and to %(less)s of them less than was shown.")
            % {"said": said, "less": less},
            **again,
        )


def dues(books: Accounts) -> dict[tuple[int, str], Decimal]:
    """Return the amounts due by (annotator, currency). Nothing is due after an overpayment."""
    keys = sorted({key for book in books for key in book})
    due = {key: due_of(*(book.get(key, NONE) for book in books)) for key in keys}
    return {key: amount for key, amount in due.items() if amount > 0}


def due_in_all(owed: Mapping[tuple[int, str], Decimal]) -> dict[str, Decimal]:
    """Return the sum by currency."""
    found: dict[str, Decimal] = {}
    for (_, name), amount in owed.items():
        found[name] = found.get(name, NONE) + amount
    return found


@dataclass(frozen=True, slots=True)
class BonusRow:
    """A row of a bonus list. `fate` is "add", "same" (given already) or "refused"; `problem` says why."""

    line: int
    annotator: str
    amount: str
    reason: str
    fate: str
    problem: str
    bonus: Bonus | None = None


def bonuses_preview(*, campaign: Campaign, content: bytes, name: str = "") -> list[BonusRow]:
    """Return the result for each row: `annotator` (the pseudonym, or the platform's id), `amount`, `reason`."""
    reading = rows_read(content, name)
    missing = [column for column in ("annotator", "amount", "reason") if column not in reading.columns]
    if missing:
        hint = gettext("A bonus list has annotator, amount, reason.")
        raise InvalidInput(
            gettext("There is no column %(missing)s.") % {"missing": missing[0]}, hint=hint, field=missing[0]
        )
    known = {str(one.public_id): one.pk for one in annotators_of(campaign)}
    enrolled = Enrolment.objects.filter(campaign=campaign).values("annotator")
    identities = identities_of(campaign).filter(annotator__in=enrolled)
    known |= dict(identities.values_list("external_id", "annotator"))
    given = set(Bonus.objects.filter(campaign=campaign).values_list("annotator", "amount", "reason"))
    return [_bonus_row(campaign, row, known, given) for row in reading.rows]


def _bonus_row(
    campaign: Campaign, row: FileRow, known: Mapping[str, int], given: set[tuple[int, Decimal, str]]
) -> BonusRow:
    who, amount, reason = (str(row.cells.get(name, "")).strip() for name in ("annotator", "amount", "reason"))
    value = _amount(amount)
    problem = row.problem or _bonus_problem(who, value, reason, known)
    if problem or value is None:
        return BonusRow(row.line, who[:80], amount[:20], reason[:80], "refused", problem)
    key = (known[who], value, reason)
    if key in given:
        return BonusRow(row.line, who, amount, reason, "same", "")
    given.add(key)
    new = Bonus(campaign=campaign, annotator_id=key[0], amount=value, currency=campaign.currency, reason=reason)
    return BonusRow(row.line, who, amount, reason, "add", "", new)


def _amount(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    fits = value.is_finite() and 0 < abs(value) <= MOST_BONUS and value == value.quantize(LEAST_PAID)
    return value.quantize(LEAST_PAID) if fits else None


def _bonus_problem(who: str, amount: Decimal | None, reason: str, known: Mapping[str, int]) -> str:
    if who not in known:
        if not who:
            return gettext("it has no annotator")
        return gettext("nobody called %(name)s takes part") % {"name": repr(who[:60])}
    if amount is None:
        said = gettext("its amount is none from -%(most)s to %(most)s with four decimals at the most, and not 0")
        return said % {"most": whole(int(MOST_BONUS))}
    if not 1 <= len(reason) <= LONGEST_REFERENCE:
        return gettext("its reason must have 1 to %(longest)s characters") % {"longest": LONGEST_REFERENCE}
    return ""


def bonuses_import(*, campaign: Campaign, content: bytes, name: str = "", by: User) -> list[BonusRow]:
    """Add the valid bonuses, and report the result for every row. A repeated list adds nothing."""
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        rows = bonuses_preview(campaign=campaign, content=content, name=name)
        new = [row.bonus for row in rows if row.bonus is not None]
        for bonus in new:
            bonus.by = by
        Bonus.objects.bulk_create(new)
        if new:
            total = f"{sum((bonus.amount for bonus in new), NONE):.4f} {campaign.currency}"
            audit_record(act="bonus", subject=campaign.public_id, by=by, after={"given": total, "to": len(new)})
    return rows
