"""Configuration fails loudly: half a production form, a missing or simple key, a word that is neither yes nor no."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite.core import env

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
    with pytest.raises(ImproperlyConfigured, match="whole key"):
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
    address = PRODUCTION["DATABASE_URL"] + "?sslmode=verify-full&sslrootcert=/etc/ca.pem"
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


def test_no_key_that_everybody_can_read_stands_in_the_image_or_the_guides() -> None:
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
    with pytest.raises(ImproperlyConfigured, match="no address of a site"):
        env.site("SITE_URL", [])
