"""Configuration from environment variables. Invalid values stop the start.

Every error names the variable, its value and the accepted values. A wrong deployment therefore fails at its start and
not at its first visitor.
"""

import contextlib
import ipaddress
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
OWN_FILES = ("touchstone.sqlite3*", "secret_key", "endpoint_keys*", "serve.lock", "celerybeat-schedule*")
PROBE_BYTES = 1_048_576


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding blanks, or `default` when it is unset or blank."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    """Return a yes/no variable. Raises ImproperlyConfigured for any other value."""
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
    """Return a whole number of at least 0. Raises ImproperlyConfigured for any other value."""
    value = text(name)
    if not value:
        return default
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number of at least 0.")
    return int(value)


def choice(name: str, *, among: Sequence[str], default: str) -> str:
    """Return one of a few words. Raises ImproperlyConfigured for any other value."""
    value = text(name, default).lower()
    if value not in among:
        raise ImproperlyConfigured(f"{name}={value!r} is unknown: use one of {', '.join(among)}.")
    return value


def names(name: str) -> list[str]:
    """Return a comma-separated list without blanks around its parts."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def pairs(name: str) -> dict[str, str]:
    """Return a comma-separated list of `key=value` pairs. Raises ImproperlyConfigured for any other part."""
    found = {}
    for number, part in enumerate(names(name), start=1):
        key, sign, value = (one.strip() for one in part.partition("="))
        if not sign or not key or not value:
            raise ImproperlyConfigured(f"Part {number} of {name} is not key=value: write acme=TOKEN,lab=TOKEN.")
        found[key] = value
    return found


def networks(name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Return a comma-separated list of networks (`127.0.0.0/8`). Raises ImproperlyConfigured for any other part."""
    found = []
    for part in names(name):
        try:
            found.append(ipaddress.ip_network(part))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} is wrong ({error}): write networks like 127.0.0.0/8,::1/128."
            ) from error
    return tuple(found)


def site(name: str, hosts: list[str]) -> str:
    """Return the public address of the site for mails and invitations: `https://host`, without a trailing slash.

    The default is https on the first valid host, or this machine. Raises ImproperlyConfigured for an invalid address.
    """
    named = next((host for host in hosts if not host.startswith((".", "*"))), "")
    value = text(name, f"https://{named}" if named else "http://localhost:8000").rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name}={value!r} is not a site address: use one like https://eval.example.org.")
    return value


def web_address(name: str) -> str:
    """Return an http or https address; "" if unset. Raises ImproperlyConfigured for anything else."""
    value = text(name)
    parts = urlsplit(value)
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ImproperlyConfigured(f"{name}={value!r} is not an address: use one like http://collector:4318.")
    return value


def needed(name: str, *, by: str) -> str:
    """Return a variable that another one needs. Raises ImproperlyConfigured if it is unset."""
    value = text(name)
    if not value:
        raise ImproperlyConfigured(f"{by} is set and {name} is not: set both, or neither.")
    return value


def issuer(name: str) -> str:
    """Return the address of a log-in provider; "" if unset. It begins with https, unless it is on this machine."""
    value = text(name)
    parts = urlsplit(value)
    secure = parts.scheme == "https" or (parts.scheme == "http" and all_loopback([value]))
    if value and not (secure and parts.hostname and not parts.query and not parts.fragment):
        raise ImproperlyConfigured(f"{name}={value!r} is not an address such as https://login.example.org.")
    return value


def all_loopback(hosts: Sequence[str]) -> bool:
    """Return whether all of these hosts or site addresses name only this machine."""
    names = [(urlsplit(host).hostname or "") if "//" in host else host.strip("[]").lower() for host in hosts]
    return all(name in {"localhost", "::1"} or name.startswith("127.") for name in names)


def data_directory(default: Path) -> Path:
    """Return the folder of the embedded form's database, key and caches. Its mode is 0700, that of its files 0600."""
    path = Path(text("TOUCHSTONE_DATA_DIR", str(default))).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be created ({error.strerror}): set TOUCHSTONE_DATA_DIR to a writable folder."
        ) from error
    _restrict_mode(path, 0o700)
    for pattern in OWN_FILES:
        for file in path.glob(pattern):
            _restrict_mode(file, 0o600)
    return path


def _restrict_mode(path: Path, mode: int) -> None:
    """Remove the rights of group and others from our own path. Shared folders (like /tmp) stay unchanged."""
    try:
        found = path.stat()
        if found.st_uid == os.geteuid() and found.st_mode & 0o077 and not found.st_mode & stat.S_ISVTX:
            path.chmod(mode)
    except OSError:  # gone meanwhile, or a fixed file system: the start reports it
        return


def private_file(path: Path) -> Path:
    """Create the file (0600) unless it exists. SQLite gives the files beside its database the same mode."""
    with contextlib.suppress(OSError):  # the code that opens the file reports the error
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return path


def unwritable(folder: Path) -> str:
    """Return the reason why the folder cannot be written ("No space left on device"), or "".

    Writes and removes a file of one megabyte. This detects a full disk, a quota, a read-only file system and missing
    rights.
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
    """Return the secret in `path`. Creates it on first use, readable by its owner only (0600).

    O_EXCL decides between two processes that start at once: the second one reads the first one's file.
    """
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return _stored_secret(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path.parent} cannot be written ({error.strerror}): set TOUCHSTONE_DATA_DIR to a writable folder."
        ) from error
    value = new_secret()
    with os.fdopen(handle, "w") as file:
        file.write(value)
    return value


def new_secret() -> str:
    """Return a new random key of 384 bits."""
    return secrets.token_urlsafe(48)


def _stored_secret(path: Path) -> str:
    try:
        value = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be read ({error.strerror}): run this as the user that owns the site."
        ) from error
    if len(value) < 32:
        raise ImproperlyConfigured(f"{path} does not contain a complete key: delete it to get a new one.")
    return value


def endpoint_keys(name: str) -> list[str]:
    """Return the keys that encrypt secrets of endpoints. Raises ImproperlyConfigured for one that is too simple."""
    found = names(name)
    for number, key in enumerate(found, start=1):
        if len(key) < 32 or len(set(key)) < 12:
            raise ImproperlyConfigured(
                f"Key {number} of {name} is too simple: it needs at least 32 characters, generated at random "
                '(python -c "import secrets; print(secrets.token_urlsafe(48))").'
            )
    return found


def production_secret() -> str:
    """Return SECRET_KEY. Raises ImproperlyConfigured if it is missing, short, repetitive or well known."""
    value = text("SECRET_KEY")
    if not value:
        raise ImproperlyConfigured(
            "SECRET_KEY is missing. Production (DATABASE_URL is set) requires its own key: "
            'python -c "import secrets; print(secrets.token_urlsafe(48))"'
        )
    if len(value) < 50 or len(set(value)) < 12 or value.startswith(("django-insecure", "change")):
        raise ImproperlyConfigured(
            "SECRET_KEY is a default or too simple: it needs at least 50 characters, generated at random "
            '(python -c "import secrets; print(secrets.token_urlsafe(48))").'
        )
    return value
