"""Read configuration from the environment; refuse bad values loudly instead of guessing.

Every reader names the variable, the value it met and what it would accept, so that a wrong deployment stops
at its first line and not at its first visitor.
"""

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
OWN_FILES = ("touchstone.sqlite3*", "secret_key", "serve.lock", "celerybeat-schedule*")
PROBE_BYTES = 1_048_576


def text(name: str, default: str = "") -> str:
    """The variable without surrounding blanks, or `default` when it is unset or blank."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    """A yes/no variable. Raises ImproperlyConfigured for anything that is neither."""
    value = text(name).lower()
    if not value:
        return default
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(
        f"{name}={value!r} is neither yes nor no: use one of 1, true, yes, on, 0, false, no, off."
    )


def whole(name: str, *, default: int) -> int:
    """A whole number of at least 0. Raises ImproperlyConfigured for anything else."""
    value = text(name)
    if not value:
        return default
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number of at least 0.")
    return int(value)


def names(name: str) -> list[str]:
    """A list separated by commas; blanks around the parts are dropped."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def pairs(name: str) -> dict[str, str]:
    """A list of `key=value`, separated by commas. Raises ImproperlyConfigured for what is no pair."""
    found = {}
    for number, part in enumerate(names(name), start=1):
        key, sign, value = (one.strip() for one in part.partition("="))
        if not sign or not key or not value:
            raise ImproperlyConfigured(f"Part {number} of {name} is not key=value: write acme=TOKEN,lab=TOKEN.")
        found[key] = value
    return found


def site(name: str, hosts: list[str]) -> str:
    """The address under which people reach the site, for mails and invitations: `https://host`, without a slash behind.

    Unset: https on the first of the hosts that is one, or this machine. Raises ImproperlyConfigured for anything else.
    """
    named = next((host for host in hosts if not host.startswith((".", "*"))), "")
    value = text(name, f"https://{named}" if named else "http://localhost:8000").rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name}={value!r} is no address of a site: use one like https://eval.example.org.")
    return value


def all_loopback(hosts: Sequence[str]) -> bool:
    """Whether each of these hosts, or addresses of sites, names this machine only."""
    names = [(urlsplit(host).hostname or "") if "//" in host else host.strip("[]").lower() for host in hosts]
    return all(name in {"localhost", "::1"} or name.startswith("127.") for name in names)


def data_directory(default: Path) -> Path:
    """Return the folder where the embedded form keeps its database, its key and its caches: 0700, its files 0600."""
    path = Path(text("TOUCHSTONE_DATA_DIR", str(default))).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be made ({error.strerror}): set TOUCHSTONE_DATA_DIR to a folder that can be written."
        ) from error
    _close_to_others(path, 0o700)
    for pattern in OWN_FILES:
        for file in path.glob(pattern):
            _close_to_others(file, 0o600)
    return path


def _close_to_others(path: Path, mode: int) -> None:
    """Take the rights of group and others from what is ours; a folder that many share (like /tmp) is left alone."""
    try:
        found = path.stat()
        if found.st_uid == os.geteuid() and found.st_mode & 0o077 and not found.st_mode & stat.S_ISVTX:
            path.chmod(mode)
    except OSError:  # gone meanwhile, or on a file system that cannot be changed: a start tells
        return


def private_file(path: Path) -> Path:
    """Make the file (0600) unless it is there. SQLite gives the files beside its database the same mode."""
    with contextlib.suppress(OSError):  # whoever opens it tells what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return path


def unwritable(folder: Path) -> str:
    """Return why nothing can be written into the folder ("No space left on device"), or "".

    A file of a megabyte is written to the disk and removed: a full disk, a quota, a read-only file system and missing
    rights all show there.
    """
    try:
        with tempfile.NamedTemporaryFile(prefix=".probe-", dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def generated_secret(path: Path) -> str:
    """The secret kept in `path`; made on first use, readable by its owner only (0600).

    O_EXCL decides between two processes that start at once: the loser reads the winner's file.
    """
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return _kept_secret(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path.parent} cannot be written ({error.strerror}): set TOUCHSTONE_DATA_DIR to a folder that can."
        ) from error
    value = secrets.token_urlsafe(48)
    with os.fdopen(handle, "w") as file:
        file.write(value)
    return value


def _kept_secret(path: Path) -> str:
    try:
        value = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be read ({error.strerror}): run this as the user whose site it is."
        ) from error
    if len(value) < 32:
        raise ImproperlyConfigured(f"{path} does not hold a whole key: delete it, and a new one is made.")
    return value


def production_secret() -> str:
    """SECRET_KEY of a production start. Refuses a missing, short, repetitive or well-known one."""
    value = text("SECRET_KEY")
    if not value:
        raise ImproperlyConfigured(
            "SECRET_KEY is missing. A production start (DATABASE_URL is set) needs one of its own: "
            'python -c "import secrets; print(secrets.token_urlsafe(48))"'
        )
    if len(value) < 50 or len(set(value)) < 12 or value.startswith(("django-insecure", "change")):
        raise ImproperlyConfigured(
            "SECRET_KEY is a default or too simple: it needs at least 50 characters made at random "
            '(python -c "import secrets; print(secrets.token_urlsafe(48))").'
        )
    return value
