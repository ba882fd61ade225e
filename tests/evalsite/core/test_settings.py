"""Configuration fails loudly: half a production form, a missing or simple key, a word that is neither yes nor no."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import send_mail
from django.test import override_settings

from evalsite.core import env
from evalsite.core.management.commands.serve import serving_children, site_url_set
from tests.processes import end, free_port, start_manage, wait_for
from tests.templates import seed

ROOT = Path(__file__).resolve().parents[3]
KEY = "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH"
PRODUCTION = {
    "DATABASE_URL": "postgres://u:p@127.0.0.1:5432/d",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "SECRET_KEY": KEY,
    "ALLOWED_HOSTS": "example.org",
}


def start(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of its own, with nothing but this environment."""
    clean = {"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path)}
    code = "from django.conf import settings; print(settings.PRODUCTION, settings.DATABASES['default']['ENGINE'])"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, "DJANGO_SETTINGS_MODULE": "evalsite.settings", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_set_is_the_embedded_form(tmp_path: Path) -> None:
    assert start(tmp_path).stdout.split() == ["False", "django.db.backends.sqlite3"]


def test_both_addresses_are_the_production_form(tmp_path: Path) -> None:
    assert start(tmp_path, **PRODUCTION).stdout.split() == ["True", "django.db.backends.postgresql"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"REDIS_URL": ""}, "REDIS_URL is not"),
        ({"DATABASE_URL": ""}, "DATABASE_URL is not"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": "django-insecure-" + KEY}, "SECRET_KEY is a default"),
        ({"SECRET_KEY": "a" * 64}, "SECRET_KEY is a default"),
        ({"SECRET_KEY": KEY[:40]}, "at least 50 characters"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is missing"),
        ({"DATABASE_URL": "mysql://u:p@h/d"}, "must be a postgres"),
        ({"TOUCHSTONE_DEBUG": "yes"}, "TOUCHSTONE_DEBUG is on"),
        ({"TOUCHSTONE_DEBUG": "perhaps"}, "neither yes nor no"),
    ],
)
def test_a_wrong_production_form_is_refused_with_what_to_mend(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    result = start(tmp_path, **{**PRODUCTION, **change})
    assert result.returncode != 0
    assert words in result.stderr


def test_the_generated_key_is_kept_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    first = env.generated_secret(path)
    assert len(first) >= 50
    assert env.generated_secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc")
    with pytest.raises(ImproperlyConfigured, match="complete key"):
        env.generated_secret(tmp_path / "key")


def test_a_production_start_passes_djangos_own_deployment_checks(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env={"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path), **PRODUCTION},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_what_the_database_address_asks_for_is_kept(tmp_path: Path) -> None:
    asked = "sslmode=verify-full&sslrootcert=/etc/ca.pem&options=-c%20random_page_cost%3D4"
    address = f"{PRODUCTION['DATABASE_URL']}?{asked}"
    code = "from django.conf import settings; print(settings.DATABASES['default']['OPTIONS'])"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "TOUCHSTONE_DATA_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "evalsite.settings",
            **PRODUCTION,
            "DATABASE_URL": address,
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'sslmode': 'verify-full'" in result.stdout
    assert "statement_timeout" in result.stdout
    assert re.search("random_page_cost=1.1 -c random_page_cost=4'", result.stdout), "the last one holds"


def test_image_and_guides_contain_no_secret_key() -> None:
    files = [file for folder in ("docker", "docs") for file in (ROOT / folder).rglob("*") if file.is_file()]
    texts = {file: file.read_text(errors="replace") for file in files}
    assert any("SECRET_KEY" in text for text in texts.values())
    assert [file for file, text in texts.items() if re.search(r"SECRET_KEY\W{1,4}[\w-]{20,}", text)] == []


@pytest.mark.parametrize(
    ("given", "hosts", "address"),
    [
        ("", [], "http://localhost:8000"),
        ("", ["*.example.org", ".example.org", "eval.example.org"], "https://eval.example.org"),
        ("https://judge.example.org:8443/", ["eval.example.org"], "https://judge.example.org:8443"),
    ],
)
def test_mails_lead_to_the_site_at_the_address_that_people_use(
    monkeypatch: pytest.MonkeyPatch, given: str, hosts: list[str], address: str
) -> None:
    monkeypatch.setenv("SITE_URL", given)
    assert env.site("SITE_URL", hosts) == address


@pytest.mark.parametrize("given", ["eval.example.org", "ftp://eval.example.org", "https://", "https://x.org/console"])
def test_what_is_no_address_of_a_site_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SITE_URL", given)
    with pytest.raises(ImproperlyConfigured, match="not a site address"):
        env.site("SITE_URL", [])


@pytest.mark.parametrize(
    ("host", "said", "hosts", "address"),
    [
        ("127.0.0.1", "", "", "http://127.0.0.1:8124"),
        ("::1", "", "", "http://[::1]:8124"),
        ("0.0.0.0", "", "eval.example.org", "https://eval.example.org"),  # noqa: S104 - what a person asks for
        ("127.0.0.1", "https://judge.example.org", "", "https://judge.example.org"),
    ],
)
def test_embedded_processes_use_the_address_they_serve(
    monkeypatch: pytest.MonkeyPatch, host: str, said: str, hosts: str, address: str
) -> None:
    monkeypatch.setenv("SITE_URL", said)
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    with override_settings(SITE_URL=env.site("SITE_URL", env.names("ALLOWED_HOSTS"))):
        children = serving_children(host, 8124)
    assert [child.environment["SITE_URL"] for child in children] == [address] * 3


@pytest.mark.parametrize(
    ("said", "hosts", "told"),
    [
        ("", "", "lead to http://127.0.0.1:8124/ (SITE_URL sets another address)"),
        (
            "",
            "eval.example.org",
            "to https://eval.example.org/: that answers only behind a proxy for https. ",
        ),
        ("", "eval.example.org", "Where there is none, set SITE_URL=http://eval.example.org:8124 and start again."),
        ("", ".example.org", "lead to http://localhost:8000/ (SITE_URL sets another address)"),
        ("https://judge.example.org", "eval.example.org", "lead to https://judge.example.org/ (SITE_URL)"),
    ],
)
def test_which_address_mails_hold_is_said_and_how_to_set_another(
    monkeypatch: pytest.MonkeyPatch, said: str, hosts: str, told: str
) -> None:
    monkeypatch.setenv("SITE_URL", said)
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    with override_settings(SITE_URL=env.site("SITE_URL", env.names("ALLOWED_HOSTS"))):
        assert told in site_url_set("127.0.0.1", 8124)


def test_serve_says_it_at_its_start(tmp_path: Path) -> None:
    seed(tmp_path)
    port, said = free_port(), tmp_path / "said"
    with said.open("w") as output:
        serving = start_manage(tmp_path, "serve", "--port", str(port), output=output, ALLOWED_HOSTS="eval.example.org")
    try:
        wait_for(lambda: "Mails" in said.read_text() or serving.poll(), what="its first words")
    finally:
        end(serving)
    assert f"set SITE_URL=http://eval.example.org:{port} and start again." in said.read_text()


@pytest.mark.parametrize(
    ("environment", "backend"),
    [
        ({}, "console"),
        ({"SITE_URL": "http://127.0.0.1:8000", "ALLOWED_HOSTS": "localhost"}, "console"),
        ({"ALLOWED_HOSTS": "eval.example.org"}, "Unsent"),
        ({"SITE_URL": "http://192.168.1.5:8000"}, "Unsent"),
        ({"TOUCHSTONE_PROXIES": "1"}, "Unsent"),
        (PRODUCTION, "Unsent"),
        ({**PRODUCTION, "EMAIL_HOST": "mail.example.org"}, "smtp"),
    ],
)
def test_mails_are_printed_only_where_no_one_outside_comes(
    tmp_path: Path, environment: dict[str, str], backend: str
) -> None:
    clean = {"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path), **environment}
    code = "from django.conf import settings; print(settings.EMAIL_BACKEND)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert backend in result.stdout


def test_a_site_without_mail_server_logs_no_mail(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(EMAIL_BACKEND="evalsite.core.mail.Unsent"):
        assert send_mail("Password", "https://eval.example.org/secret", "a@example.org", ["b@example.org"]) == 0
    assert "Set EMAIL_HOST" in caplog.text
    assert "secret" not in caplog.text
    assert "b@example.org" not in caplog.text
