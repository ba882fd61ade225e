"""How the service says that it is well, to people and to Prometheus."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.models import Job
from evalsite.judgments.models import Annotator, Batch
from evalsite.operations.service_health import service_health_get
from evalsite.refits.services import alarm_clear, alarm_raise
from tests.environment import PATIENCE_S
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.test_pages import words

MaxQueries = Callable[[int], AbstractContextManager[object]]
LINE = re.compile(r'(# (HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(\{[a-z]+="[a-z]+"\})? [0-9.e+-]+)')


def metrics(client: Client) -> dict[str, float]:
    with override_settings(METRICS_TOKEN="abc"):
        body = client.get("/metrics", headers={"Authorization": "Bearer abc"}).content.decode()
    assert all(LINE.fullmatch(line) for line in body.splitlines())
    values = [line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in values}


@pytest.mark.database
def test_metrics_tell_what_waits(campaign: Campaign, bob: Annotator, stranger: Client) -> None:
    judge(campaign, bob, blocks=2)
    before = metrics(stranger)
    assert before['touchstone_jobs{state="queued"}'] == 1
    assert before['touchstone_campaigns{state="running"}'] == 1
    assert before["touchstone_open_batch_judgments"] == 1
    run_jobs()
    after = metrics(stranger)
    assert after['touchstone_jobs{state="queued"}'] == 0
    assert after["touchstone_refit_seconds"] >= 0


def test_the_page_tells_of_web_and_worker_as_the_machines_addresses_do(
    campaign: Campaign, bob: Annotator, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    client = Client()
    client.force_login(User.objects.get(pk=alice.pk))
    text = words(client.get("/console/health/"))
    assert "All parts are well." in text
    assert re.search(r"Web answers Worker ended a job \d+ s ago", text)
    assert all(address in text for address in ("/livez", "/readyz", "/metrics"))
    assert metrics(client)["touchstone_worker_idle_seconds"] < PATIENCE_S
    judge(campaign, bob, blocks=2)
    Job.objects.filter(state="queued").update(run_after=timezone.now() - timedelta(minutes=10))
    assert "Worker takes no job" in words(client.get("/console/health/"))
    MigrationRecorder.Migration.objects.filter(app="core").delete()
    text = words(client.get("/console/health/"))
    assert client.get("/readyz").json() == {"ready": False, "why": "migrations are pending"}
    assert "Web cannot serve" in text
    assert "migrations are pending" in text


@pytest.mark.django_db
def test_metrics_are_for_who_has_the_token(stranger: Client) -> None:
    assert stranger.get("/metrics").status_code == 404
    assert stranger.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404
    with override_settings(METRICS_TOKEN="abc"):
        assert stranger.get("/metrics").status_code == 404
        assert stranger.get("/metrics", headers={"Authorization": "Bearer abd"}).status_code == 404
        assert stranger.get("/metrics", headers={"Authorization": "Bearer abc"}).status_code == 200


def test_what_is_late_is_a_trouble_with_a_remedy(campaign: Campaign, bob: Annotator, alice: User) -> None:
    judge(campaign, bob, blocks=2)
    long_ago = timezone.now() - timedelta(minutes=10)
    Job.objects.filter(state="queued").update(run_after=long_ago)
    Batch.objects.filter(state="closed").update(closed_at=long_ago)
    assert service_health_get().troubles == ["worker", "batch"]
    alice.is_staff = True
    alice.save()
    client = Client()
    client.force_login(alice)
    text = words(client.get("/console/health/"))
    assert "Something needs you." in text
    assert "no worker takes it" in text
    run_jobs()
    assert "All parts are well." in words(client.get("/console/health/"))


def test_job_behind_a_running_one_is_not_without_a_worker(campaign: Campaign, bob: Annotator, alice: User) -> None:
    judge(campaign, bob, blocks=2)
    now = timezone.now()
    Job.objects.filter(state="queued").update(run_after=now - timedelta(minutes=10))
    lease = {"lease_owner": "host:1", "lease_until": now + timedelta(minutes=1)}
    running = Job.objects.create(kind="refit", key="other", state="running", **lease)
    assert service_health_get().troubles == ["busy"]
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    client = Client()
    client.force_login(User.objects.get(pk=alice.pk))
    text = words(client.get("/console/health/"))
    assert "Worker runs 1 job" in text
    assert "the workers are busy" in text
    assert "no worker takes it" not in text
    Job.objects.filter(pk=running.pk).update(lease_until=now - timedelta(minutes=1))
    assert service_health_get().troubles == ["worker"]


def test_a_loop_that_fails_is_a_trouble_until_it_goes_again(campaign: Campaign, stranger: Client) -> None:
    alarm_raise(campaign=campaign, message="no plan")
    assert service_health_get().troubles == ["failing"]
    assert metrics(stranger)["touchstone_campaigns_failing"] == 1
    alarm_clear(campaign=campaign)
    assert service_health_get().troubles == []


def test_the_health_page_is_for_staff(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get("/console/health/").status_code == 403


@pytest.mark.database
def test_looking_costs_few_queries(campaign: Campaign, django_assert_max_num_queries: MaxQueries) -> None:
    with django_assert_max_num_queries(14):
        service_health_get()
