"""Queries that are composed once give what the ORM gives, for any values; so do writes of rows."""

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.core.composed import composed
from evalsite.core.row_writes import row_add, rows_add, rows_update
from evalsite.judgments.models import Annotator

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@composed
def campaigns_found(public_id: uuid.UUID, state: str, before: datetime) -> QuerySet[Campaign]:
    known = Campaign.objects.filter(public_id=public_id, state=state, created_at__lt=before)
    return known.select_related("rubric", "plan", "live")


@composed
def annotators_named(numbers: list[int]) -> QuerySet[Annotator, Any]:
    return Annotator.objects.filter(pk__in=numbers, kind="unknown").order_by("-pk").values_list("pk", "public_id")


@composed
def annotators_numbered(number: int) -> QuerySet[Annotator]:
    return Annotator.objects.filter(pk=number)


@composed
def annotators_of_any(number: Any) -> QuerySet[Annotator]:
    return Annotator.objects.filter(pk=number)


@composed
def campaigns_locked(number: int) -> QuerySet[Campaign]:
    return Campaign.objects.filter(pk=number).select_for_update()


@composed
def campaigns_older(before: datetime) -> QuerySet[Campaign]:
    return Campaign.objects.filter(created_at__lt=before - timedelta(days=1))


@composed
def campaigns_with_rubric_name(number: int) -> QuerySet[Any, Any]:
    values = {"rubric_name": F("rubric__name"), "in_live_mode": Q(mode="live")}
    found: QuerySet[Any, Any] = Campaign.objects.filter(pk=number).annotate(**values)
    return found


def values_of(row: Any) -> list[tuple[Any, type]]:
    return [(value := getattr(row, field.attname), type(value)) for field in row._meta.concrete_fields]


def test_models_are_those_of_the_orm(campaign: Campaign) -> None:
    PlanSpec.objects.filter(campaign=campaign).update(balance={"general": 0.25, "maths": 0.75})
    (found,) = campaigns_found(campaign.public_id, campaign.state, timezone.now())
    expected = Campaign.objects.get(pk=campaign.pk)
    with CaptureQueriesContext(connection) as queries:
        ours = [values_of(one) for one in (found, found.rubric, found.plan)]
        assert not hasattr(found, "live")
    assert not queries.captured_queries
    assert ours == [values_of(one) for one in (expected, expected.rubric, expected.plan)]


def test_annotations_are_attributes_of_the_model(campaign: Campaign) -> None:
    (found,) = campaigns_with_rubric_name(campaign.pk)
    assert values_of(found) == values_of(Campaign.objects.get(pk=campaign.pk))
    assert (found.rubric_name, found.in_live_mode) == (campaign.rubric.name, False)


def test_later_runs_bind_their_own_values(campaign: Campaign) -> None:
    now = timezone.now()
    assert len(campaigns_found(campaign.public_id, campaign.state, now)) == 1
    assert campaigns_found(uuid.uuid4(), campaign.state, now) == []
    assert campaigns_found(campaign.public_id, "no state", now) == []
    assert campaigns_found(campaign.public_id, campaign.state, now - timedelta(days=9)) == []


def test_choice_stands_for_its_value(campaign: Campaign) -> None:
    found = campaigns_found(campaign.public_id, Campaign.State(campaign.state), timezone.now())
    assert found == [campaign]


@pytest.mark.parametrize("value", [None, 1.5])
def test_value_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be composed once"):
        annotators_of_any(value)


@pytest.mark.parametrize("count", [0, 1, 3, 30])
def test_lists_have_any_length(count: int) -> None:
    made = [Annotator.objects.create() for _ in range(count)]
    expected = [(one.pk, one.public_id) for one in reversed(made)]
    assert annotators_named([one.pk for one in made]) == expected


def test_number_that_no_database_takes_finds_nothing() -> None:
    assert annotators_numbered(10**30) == []


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite locks no rows")
@pytest.mark.django_db(transaction=True)
def test_locking_query_needs_a_transaction() -> None:
    with pytest.raises(TransactionManagementError):
        campaigns_locked(1)
    with pytest.raises(TransactionManagementError):
        campaigns_locked(2)


def test_query_that_changes_an_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="compute it before"):
        campaigns_older(timezone.now())


def test_many_rows_get_values_of_their_own(campaign: Campaign) -> None:
    plan = campaign.plan
    plan.balance, plan.overlap_votes, plan.newcomer = {"general": 1.0}, 7, None
    rows_update([plan], ["balance", "overlap_votes", "newcomer"])
    plan.refresh_from_db()
    assert (plan.balance, plan.overlap_votes, plan.newcomer) == ({"general": 1.0}, 7, None)


def test_updated_rows_hold_what_the_orm_writes() -> None:
    people = [Annotator.objects.create() for _ in range(3)]
    for number, one in enumerate(people):
        one.kind, one.created_at = ["human", "model", "human"][number], timezone.now() - timedelta(days=number)
    rows_update(people, ["kind", "created_at"])
    assert [values_of(one) for one in people] == [values_of(Annotator.objects.get(pk=one.pk)) for one in people]


@pytest.mark.parametrize("count", [0, 1, 3, 30])
def test_added_rows_hold_what_they_were_given(count: int) -> None:
    made = rows_add([Annotator(kind="human") for _ in range(count)])
    assert [values_of(one) for one in made] == [values_of(Annotator.objects.get(pk=one.pk)) for one in made]
    assert Annotator.objects.count() == count


def test_added_row_can_be_saved_again() -> None:
    made = row_add(Annotator(kind="human"))
    made.kind = "model"
    made.save()
    assert list(Annotator.objects.values_list("pk", "kind")) == [(made.pk, "model")]
