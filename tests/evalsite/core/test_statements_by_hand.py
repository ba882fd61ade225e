"""Statements written by hand read what the ORM reads, and outlive what happens to their tables."""

from datetime import timedelta

import pytest
from django.db import NotSupportedError, connection, transaction
from django.forms.models import model_to_dict
from django.utils import timezone

from evalsite.campaigns.models import Campaign, PlanSpec, StoppingSpec
from evalsite.core.db import as_unavailable, columns, read, read_joined, rows
from evalsite.judgments.claim_sql import Terms, claim_terms
from evalsite.judgments.models import Annotator, Exclusion

pytestmark = pytest.mark.database


def test_rows_of_several_models_are_read_as_the_orm_reads_them(campaign: Campaign, bob: Annotator) -> None:
    StoppingSpec.objects.filter(campaign=campaign).update(deadline=timezone.now() + timedelta(days=3), budget=70_000)
    PlanSpec.objects.filter(campaign=campaign).update(balance={"general": 0.25, "maths": 0.75})
    ((found, stopping, plan, more),) = read_joined(
        [Campaign, StoppingSpec, PlanSpec],
        f"SELECT {columns(Campaign, 'c')}, {columns(StoppingSpec, 's')}, {columns(PlanSpec, 'p')}, 7 "  # noqa: S608
        "FROM campaigns_campaign c JOIN campaigns_stoppingspec s ON s.campaign_id = c.id "
        "JOIN campaigns_planspec p ON p.campaign_id = c.id WHERE c.id = %s",
        [campaign.pk],
    )
    assert more == 7
    for ours in (found, stopping, plan):
        theirs = type(ours).objects.get(pk=ours.pk)
        for field in ours._meta.concrete_fields:
            value, expected = getattr(ours, field.attname), getattr(theirs, field.attname)
            assert (value, type(value)) == (expected, type(expected)), field
    assert model_to_dict(plan)["balance"] == {"general": 0.25, "maths": 0.75}


def test_no_row_is_an_empty_list(campaign: Campaign) -> None:
    statement = f"SELECT {columns(Campaign, 'c')} FROM campaigns_campaign c WHERE c.id = %s"  # noqa: S608
    assert read(Campaign, statement, [campaign.pk]) == [campaign]
    assert read(Campaign, statement, [-1]) == []


def test_the_terms_of_a_claim_are_those_of_now(campaign: Campaign, bob: Annotator) -> None:
    held = Campaign.objects.select_related("stopping").get(pk=campaign.pk)
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.PAUSED)
    StoppingSpec.objects.filter(campaign=campaign).update(budget=12)
    assert claim_terms(held, bob.pk) == Terms(excluded=False, qualifies=False, consent=False)
    assert (held.state, held.stopping.budget) == (Campaign.State.PAUSED, 12)
    Exclusion.objects.create(campaign=campaign, annotator=bob, reason="asked for")
    assert claim_terms(held, bob.pk) == Terms(excluded=True, qualifies=False, consent=False)
    Exclusion.objects.create(campaign=campaign, annotator=bob, reason="asked for", lifted=True)
    assert claim_terms(held, bob.pk) == Terms(excluded=False, qualifies=False, consent=False)


def campaign_of(annotator: Annotator, slug: str) -> Campaign:
    (found,) = read(
        Campaign,
        f"SELECT {columns(Campaign, 'campaign')} FROM campaigns_campaign campaign "  # noqa: S608
        "JOIN judgments_enrolment enrolment ON enrolment.campaign_id = campaign.id "
        "WHERE enrolment.annotator_id = %s AND campaign.slug = %s",
        [annotator.pk, slug],
    )
    return found


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite prepares by itself")
def test_prepared_statement_survives_a_new_column(campaign: Campaign, bob: Annotator) -> None:
    for _ in range(8):
        assert campaign_of(bob, campaign.slug) == campaign
        assert rows("SELECT %s + 1", [3]) == [(4,)]
        assert rows("SELECT %s + 1", [3_000_000]) == [(3_000_001,)]
    kept = [text for (text,) in rows("SELECT statement FROM pg_prepared_statements")]
    assert len([text for text in kept if "judgments_enrolment enrolment" in text]) == 1
    assert kept.count("SELECT $1 + 1") == 1
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        # Inside DO the driver does not see it, as little as it sees what another process does: it forgets nothing.
        cursor.execute("DO $$ BEGIN ALTER TABLE campaigns_campaign ADD COLUMN later integer NULL; END $$")
    assert campaign_of(bob, campaign.slug) == campaign


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite prepares by itself")
@pytest.mark.django_db(transaction=True)
def test_changed_column_type_costs_at_most_one_retry(campaign: Campaign, bob: Annotator) -> None:
    for _ in range(8):
        assert campaign_of(bob, campaign.slug) == campaign
    elsewhere = connection.copy()
    width = int(Campaign._meta.get_field("name").max_length or 0)
    widen = f"ALTER TABLE campaigns_campaign ALTER COLUMN name TYPE varchar({width + 100})"
    try:
        with elsewhere.cursor() as cursor:
            cursor.execute(widen)
        with pytest.raises(NotSupportedError) as outdated, transaction.atomic():
            campaign_of(bob, campaign.slug)
        assert as_unavailable(outdated.value) is not None, "whoever asks is told to send it again"
        with transaction.atomic():
            assert campaign_of(bob, campaign.slug) == campaign
        for _ in range(8):
            assert campaign_of(bob, campaign.slug) == campaign
        with elsewhere.cursor() as cursor:
            cursor.execute(widen.replace(str(width + 100), str(width + 200)))
        assert campaign_of(bob, campaign.slug) == campaign, "outside a transaction it is tried again at once"
    finally:
        with elsewhere.cursor() as cursor:
            cursor.execute(widen.replace(str(width + 100), str(width)))
        elsewhere.close()
