"""The data directory: nobody else reads it, one supervisor has it, and what is wrong with it is one sentence."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client, override_settings

from evalsite.core import db, env
from evalsite.core.errors import Conflict
from evalsite.core.management.commands.serve import serving_children
from evalsite.core.supervisor import sole_supervisor
from tests.processes import ROOT, end, free_port, start_manage, visit, wait_for, wait_until_ready
from tests.templates import seed


def modes(folder: Path) -> dict[str, str]:
    return {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in (folder, *folder.iterdir())}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env={"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def is_one_sentence(text: str) -> bool:
    return text.startswith("Error: ") and len(text.strip().splitlines()) == 1 and "Traceback" not in text


def test_a_new_folder_and_its_files_are_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert run(folder, "migrate", "--verbosity", "0", "core", "0001").returncode == 0
    found = modes(folder)
    assert found.pop("data") == "0o700"
    assert "touchstone.sqlite3" in found
    assert set(found.values()) == {"0o600"}


def test_an_open_folder_of_earlier_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHSTONE_DATA_DIR", str(tmp_path))
    tmp_path.chmod(0o755)
    for name in ("touchstone.sqlite3", "touchstone.sqlite3-wal", "secret_key"):
        (tmp_path / name).touch(0o644)
    env.data_directory(tmp_path)
    assert set(modes(tmp_path).values()) == {"0o700", "0o600"}


def test_a_folder_that_many_share_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHSTONE_DATA_DIR", str(tmp_path))
    tmp_path.chmod(0o1777)
    env.data_directory(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def test_one_supervisor_has_the_folder(tmp_path: Path) -> None:
    refused = pytest.raises(Conflict, match=f"process {os.getpid()}")
    with sole_supervisor(tmp_path), refused, sole_supervisor(tmp_path):
        pass
    with sole_supervisor(tmp_path):
        pass


@pytest.mark.full
def test_a_second_serve_on_the_same_folder_ends_in_a_sentence(tmp_path: Path) -> None:
    seed(tmp_path)
    port, said = free_port(), tmp_path / "said"
    with said.open("w") as output:
        first = start_manage(tmp_path, "serve", "--port", str(port), output=output)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", first)
        second = run(tmp_path, "serve", "--port", str(free_port()))
        assert second.returncode == 2
        assert is_one_sentence(second.stderr)
        assert f"process {first.pid}" in second.stderr
        assert visit(f"http://127.0.0.1:{port}").get("/readyz").is_success
    finally:
        end(first)


@pytest.mark.parametrize("holds_a_key", [False, True])
def test_a_read_only_folder_ends_in_a_sentence(tmp_path: Path, holds_a_key: bool) -> None:
    if holds_a_key:
        (tmp_path / "secret_key").write_text("x" * 40)
    serve = [sys.executable, "manage.py", "serve", "--port", str(free_port())]
    if os.geteuid() == 0:  # root may write anywhere but on a file system that is read-only
        mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        serve = ["unshare", "--mount", "sh", "-c", mount, str(tmp_path), *serve]
    else:
        tmp_path.chmod(0o500)
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path)}
    result = subprocess.run(serve, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o700)
    if "unshare" in result.stderr or "mount:" in result.stderr:
        pytest.skip("this machine allows no mounts")
    assert result.returncode == 2
    assert is_one_sentence(result.stderr), result.stderr
    assert "cannot be written" in result.stderr


ONE_AFTER_ANOTHER = """
import sys, manage
for command in sys.argv[1:]:
    sys.argv = ["manage.py", *command.split()]
    try:
        manage.main()
    except SystemExit as ended:
        print(ended.code)
"""


def test_pending_migrations_end_in_a_sentence(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER, "worker", "web", "api_token alice --name ci"],
        env={"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.split() == ["2", "2", "2"]
    said = result.stderr.splitlines()
    assert len(said) == 3
    for line in said:
        assert is_one_sentence(line), result.stderr
        assert "manage.py migrate" in line


def test_a_wrong_configuration_ends_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("short")
    result = run(tmp_path, "serve")
    assert result.returncode == 2
    assert is_one_sentence(result.stderr), result.stderr


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    assert env.unwritable(tmp_path) == ""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        assert env.unwritable(tmp_path) == "File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_a_site_that_cannot_write_is_not_ready(stranger: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stranger.get("/readyz").status_code == 200
    if connection.vendor != "sqlite":
        pytest.skip("the disk of another server")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    monkeypatch.setattr(db, "PROBE_S", 0.0)
    try:
        answer = stranger.get("/readyz")
        assert (answer.status_code, answer.json()["why"]) == (503, "nothing can be written (File too large)")
        assert stranger.get("/livez").status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert stranger.get("/readyz").status_code == 200


def test_metrics_have_a_process_only_where_a_socket_is_named() -> None:
    assert [child.name for child in serving_children("127.0.0.1", 8124)] == ["web", "worker", "caller"]
    with override_settings(METRICS_LISTEN="127.0.0.1:9100"):
        assert [child.name for child in serving_children("127.0.0.1", 8124)] == ["web", "worker", "caller", "metrics"]


def test_metrics_answer_on_the_named_socket_alone(tmp_path: Path) -> None:
    seed(tmp_path)
    port = free_port()
    process = start_manage(tmp_path, "metrics", "--listen", f"127.0.0.1:{port}")
    try:
        site = visit(f"http://127.0.0.1:{port}")
        found = wait_for(lambda: site.get("/metrics"), what="the metrics")
        assert "touchstone_jobs" in found.text
        assert site.get("/livez").status_code == 404
    finally:
        end(process)
