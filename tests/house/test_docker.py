"""docker/: its services are those of the production form, and what they are started with exists.

No engine is needed: the files are read, by linters too, and their commands are asked for their help. The same commands
serve whole sites in tests/journey and tests/faults.
"""

import copy
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from django.conf import settings

from evalsite.operations.service_health import as_metrics, service_health_get

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
PROGRAMS = Path(sys.executable).parent
LINTERS: dict[str, list[str | Path]] = {  # as `make lint-docker` calls them
    "Dockerfile": [PROGRAMS / "hadolint", "--no-color"],
    "compose.yml": [PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"],
}
ASKED = {"celery": "-m celery -A evalsite {what} --help", "granian": "-m granian --help"}


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())


def target(name: str) -> str:
    """The lines of one target of the Dockerfile."""
    return DOCKERFILE.partition(f" AS {name}\n")[2].partition("\nFROM ")[0]


def command_of(name: str) -> list[str]:
    words: list[str] = re.findall(r'"([^"]*)"', target(name).rpartition("CMD [")[2])
    return words


def linted(name: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What the file's linter says of this text."""
    file = folder / name
    file.write_text(text)
    return subprocess.run([*LINTERS[name], file], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", LINTERS)
def test_linters_find_nothing_wrong(name: str, tmp_path: Path) -> None:
    said = linted(name, (ROOT / "docker" / name).read_text(), tmp_path)
    assert said.returncode == 0, said.stdout


@pytest.mark.parametrize(
    ("name", "sound", "spoilt", "complaint"),
    [
        ("Dockerfile", "python:3.13.7-slim-bookworm", "python:latest", "DL3007"),
        ("Dockerfile", "WORKDIR /srv/touchstone/app", "RUN cd /srv/touchstone/app", "DL3003"),
        ("Dockerfile", "USER 10001\nEXPOSE 8000", "USER 10001\nEXPOSE 80000", "DL3011"),
        ("compose.yml", "restart: unless-stopped", "restarts: unless-stopped", "restarts"),
        ("compose.yml", "condition: service_healthy", "condition: service_is_healthy", "service_is_healthy"),
    ],
)
def test_linters_name_what_is_wrong(name: str, sound: str, spoilt: str, complaint: str, tmp_path: Path) -> None:
    text = (ROOT / "docker" / name).read_text()
    assert sound in text
    said = linted(name, text.replace(sound, spoilt), tmp_path)
    assert said.returncode != 0
    assert complaint in said.stdout


def test_every_part_of_the_production_form_is_there_and_comes_back_when_it_ends(compose: Any) -> None:
    services = compose["services"]
    assert set(services) == {
        "database",
        "redis",
        "migrate",
        "web",
        "proxy",
        "worker",
        "slow-worker",
        "inquiry-worker",
        "caller",
        "beat",
        "backup",
    }
    again = {name: service["restart"] for name, service in services.items()}
    assert again.pop("migrate") == "on-failure:5", "it ends by itself"
    assert set(again.values()) == {"unless-stopped"}
    unwatched = {name for name, service in services.items() if "healthcheck" not in service}
    assert unwatched == {"migrate", "web"}, "one ends by itself, the other has its image's own"
    assert "HEALTHCHECK" in target("web")


def test_only_the_proxy_is_reached_from_outside(compose: Any) -> None:
    assert [name for name, service in compose["services"].items() if "ports" in service] == ["proxy"]
    assert compose["services"]["web"]["environment"]["TOUCHSTONE_PROXIES"] == 1


@pytest.mark.parametrize("name", ["web", "worker"])
def test_nothing_runs_as_root(name: str) -> None:
    last = target(name).rpartition("USER ")
    assert last[2].split()[0] == "10001"
    assert "COPY" not in last[2]
    assert "--uid 10001" in DOCKERFILE


def test_containers_of_ours_have_few_rights_and_bounded_memory(compose: Any) -> None:
    ours = {name: service for name, service in compose["services"].items() if "build" in service}
    assert len(ours) == 8
    for service in ours.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert all("mem_limit" in service for service in compose["services"].values())


def test_images_of_others_have_exact_tags(compose: Any) -> None:
    images = [service["image"] for service in compose["services"].values() if "image" in service]
    images.append(DOCKERFILE.partition("FROM ")[2].split()[0])
    assert len(images) == 4
    assert all(re.search(r":\d+(\.\d+)+", image) for image in images)


def test_mail_and_metrics_are_handed_on(compose: Any) -> None:
    given = compose["services"]["worker"]["environment"]
    mail = {"EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_USE_TLS", "DEFAULT_FROM_EMAIL"}
    assert {*mail, "TOUCHSTONE_METRICS_TOKEN", "SITE_URL", "TOUCHSTONE_SIGN_UP"} <= given.keys()


def test_beat_and_caller_start_without_the_statistics(compose: Any) -> None:
    absent = ("numba", "statsmodels", "sklearn", "skops", "pymc", "threadpoolctl")
    for name in ("caller", "beat", "backup"):
        assert compose["services"][name]["build"]["target"] == "web"
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); import django; django.setup()\n"
        "from evalsite.celery import app; app.loader.import_default_modules()\n"
        "from evalsite.endpoints import tasks; from evalsite.core import beat_scheduler, tasks; print(len(app.tasks))"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert int(said.stdout) >= 4


def test_every_setting_that_is_given_is_one_that_is_read(compose: Any) -> None:
    read = (ROOT / "evalsite" / "settings.py").read_text() + (ROOT / "evalsite" / "core" / "env.py").read_text()
    given = compose["services"]["web"]["environment"]
    assert "DATABASE_URL" in given
    assert [name for name in given if f'"{name}"' not in read] == []


def test_every_build_is_a_target_and_copies_what_there_is(compose: Any) -> None:
    built = {service["build"]["target"] for service in compose["services"].values() if "build" in service}
    assert built == {"web", "worker", "full"}
    for name in built:
        for sources in re.findall(r"^COPY (.+) \S+$", target(name), re.MULTILINE):
            assert all((ROOT / source).exists() for source in sources.split()), sources


@cache
def help_of(program: str) -> str:
    """What a program says of its options."""
    command = [sys.executable, *program.split()]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_commands_know_their_options(compose: Any) -> None:
    started = [service["command"] for service in compose["services"].values() if "celery" in service.get("command", [])]
    assert len(started) == 5
    for command in (command_of("web"), command_of("worker"), *started):
        said = help_of(ASKED[command[0]].format(what=command[3]))
        for option in (word for word in command if word.startswith("--")):
            assert option in said, f"{command[0]} has no {option}"


def test_what_takes_minutes_has_a_worker_beside_the_one_that_refits(compose: Any) -> None:
    queues = {
        "worker": settings.QUEUE,
        "slow-worker": settings.SLOW_QUEUE,
        "inquiry-worker": settings.INQUIRY_QUEUE,
        "caller": settings.CALL_QUEUE,
    }
    heard = {name: compose["services"][name]["command"][5] for name in queues}
    assert heard == queues
    assert all(compose["services"][name]["command"][4] == "--queues" for name in heard)
    code = "from evalsite.celery import app; print(sorted(app.amqp.queues))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(sorted(heard.values())), "one that is told no queue listens to both"


def kubernetes() -> dict[str, Any]:
    """Return the manifests by kind and name."""
    files = sorted((ROOT / "docker" / "kubernetes").glob("*.yaml"))
    documents = [one for file in files for one in yaml.safe_load_all(file.read_text())]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in documents}


def container_of(manifest: Any) -> Any:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    return container


def test_manifests_are_valid() -> None:
    schema = json.loads((ROOT / "tests" / "house" / "kubernetes.schema.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    manifests = kubernetes()
    assert len(manifests) >= 12
    assert [error.message for one in manifests.values() for error in validator.iter_errors(one)] == []
    wrong = copy.deepcopy(manifests["Deployment touchstone-worker"])
    container_of(wrong)["livenesProbe"] = container_of(wrong).pop("livenessProbe")
    assert list(validator.iter_errors(wrong)), "the schema knows every name"


def test_cluster_runs_the_services_of_compose(compose: Any) -> None:
    manifests = kubernetes()
    names = ("web", "worker", "slow-worker", "inquiry-worker", "caller", "beat", "backup", "migrate")
    for name in names:
        kind = "Job" if name == "migrate" else "Deployment"
        container = container_of(manifests[f"{kind} touchstone-{name}"])
        service = compose["services"][name]
        assert container.get("command") == service.get("command")
        assert container["image"] == f"touchstone-{service['build']['target']}:{VERSION}"
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
        assert {"configMapRef": {"name": "touchstone"}} in container["envFrom"]
    assert {name.partition("-")[2] for name in manifests if name.startswith(("Deployment", "Job"))} == set(names)
    assert manifests["Deployment touchstone-beat"]["spec"]["strategy"] == {"type": "Recreate"}


def test_every_setting_of_the_cluster_is_one_that_is_read() -> None:
    read = "".join((ROOT / "evalsite" / name).read_text() for name in ("settings.py", "core/env.py", "core/http.py"))
    manifests = kubernetes()
    given = [*manifests["ConfigMap touchstone"]["data"], *manifests["Secret touchstone"]["stringData"]]
    assert "DATABASE_URL" in given
    assert [name for name in given if f'"{name}"' not in read] == []


@pytest.mark.django_db
def test_every_metric_of_the_dashboard_is_one_that_there_is() -> None:
    dashboard = json.loads((ROOT / "docker" / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"touchstone_\w+", query)}
    there = set(re.findall(r"^# TYPE (touchstone_\w+)", as_metrics(service_health_get()), re.MULTILINE))
    assert len(asked) >= 8
    assert asked <= there
