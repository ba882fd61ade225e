"""Names that others rely on: paths and fields of the API, flags, environment variables, settings, tables, pages.

    python -m tests.house.names

rewrites public_names.txt, except its part `exports`: tests/evalsite/exchange/test_export_columns.py compares that.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import django
import yaml
from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.urls import URLPattern, URLResolver, get_resolver

from evalsite.core.http import Handler

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("public_names.txt")
HEAD = """\
# Names that others rely on. Each one must remain; new ones may be added: python -m tests.house.names
# Removing a line breaks somebody's program, file, deployment or database: say so in CHANGELOG.md.
"""
PROJECT = "evalsite."


def stored(path: Path = FILE) -> dict[str, list[str]]:
    """Return section -> names, as the file lists them."""
    sections: dict[str, list[str]] = {}
    names: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            names = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            names.append(line)
    return sections


def written(sections: Mapping[str, list[str]]) -> str:
    """Return the file of these sections."""
    parts = ["\n".join([f"[{section}]", *names]) for section, names in sections.items()]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


# The API ------------------------------------------------------------------------------------------------


def api_names() -> Iterator[str]:
    """Yield each operation of docs/openapi.yaml, its parameters, and the fields and values of bodies."""
    document = yaml.load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            begin = f"{method.upper()} {path}"
            yield f"{begin} ({operation['operationId']})"
            for parameter in operation.get("parameters", []):
                name = f"{begin} {parameter['in']} {parameter['name']}"
                yield from (name + rest for rest in ("", *_fields(parameter["schema"], schemas)))
            yield from _bodies(f"{begin} request", operation.get("requestBody", {}), schemas)
            for status, response in operation["responses"].items():
                yield f"{begin} {status}"
                if status < "400":  # errors have one shape, which the API's tests hold
                    yield from _bodies(f"{begin} {status}", response, schemas)


def _bodies(begin: str, body: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    for media_type, content in body.get("content", {}).items():
        name = begin if media_type == "application/json" else f"{begin} {media_type}"
        yield name
        yield from (name + " " + rest.removeprefix(".") for rest in _fields(content.get("schema", {}), schemas))


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], inside: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield ".field", ".field[].field" and ".field=value" of a schema, whatever its components are called."""
    if reference := schema.get("$ref"):
        if reference not in inside:
            yield from _fields(schemas[reference.rpartition("/")[2]], schemas, (*inside, reference))
        return
    yield from (f"={value}" for value in schema.get("enum", []) if value is not None)
    for name, part in schema.get("properties", {}).items():
        yield f".{name}"
        yield from (f".{name}{rest}" for rest in _fields(part, schemas, inside))
    for several in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(several, []):
            yield from _fields(part, schemas, inside)
    for kind, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(part := schema.get(kind), dict):
            yield from (mark + rest for rest in _fields(part, schemas, inside))


# The command line ---------------------------------------------------------------------------------------


def command_names() -> Iterator[str]:
    """Yield each command of the project, its arguments, options and their choices."""
    usual = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    for name, app in sorted(get_commands().items()):
        if app.startswith(PROJECT):
            yield name
            yield from _arguments(name, load_command_class(app, name).create_parser("manage.py", name), usual)


def _arguments(begin: str, parser: argparse.ArgumentParser, usual: set[str]) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{begin} {name}"
                yield from _arguments(f"{begin} {name}", inner, usual)
            continue
        for option in action.option_strings or [f"<{action.dest}>"]:
            if option not in usual:
                yield f"{begin} {option}"
                yield from (f"{begin} {option}={choice}" for choice in action.choices or ())


# Configuration ------------------------------------------------------------------------------------------

PRODUCTION = {
    "DATABASE_URL": "postgres://name@localhost/name",
    "REDIS_URL": "redis://localhost",
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
    "ALLOWED_HOSTS": "eval.example.org",
}


class _Environment(dict[str, str]):
    """Remember which variables are read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)


def configuration_names() -> dict[str, list[str]]:
    """Return the environment variables that the settings and a web process read, and the settings, of both forms."""
    variables: set[str] = set()
    settings: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for form in ({}, PRODUCTION):
            environment = _Environment({**form, "TOUCHSTONE_DATA_DIR": folder})
            with mock.patch.object(os, "environ", environment):
                found = runpy.run_path(str(ROOT / "evalsite" / "settings.py"))
                Handler()
            variables |= environment.read
            settings |= {name for name in found if name.isupper()}
    return {"environment": sorted(variables), "settings": sorted(settings)}


# Stored data and pages ----------------------------------------------------------------------------------


def table_names() -> Iterator[str]:
    """Yield each table with its columns, and the values that a column may hold by its choices."""
    for model in apps.get_models():
        if not model.__module__.startswith(PROJECT):
            continue
        for field in model._meta.local_concrete_fields:
            name = f"{model._meta.db_table}.{field.column}"
            yield from (name, *(f"{name}={value}" for value, _ in field.flatchoices))


def page_names() -> Iterator[str]:
    """Yield the address of each page, with the kinds of its parts."""
    for address in _addresses(get_resolver().url_patterns, "/"):
        if not address.startswith(("/api/", "/^")):
            yield re.sub(r"<(?:(\w+):)?\w+>", r"<\1>", address)


def _addresses(patterns: list[URLPattern | URLResolver], begin: str) -> Iterator[str]:
    for one in patterns:
        address = f"{begin}{one.pattern}"
        if isinstance(one, URLResolver):
            if one.app_name != "admin":
                yield from _addresses(one.url_patterns, address)
        else:
            yield address


def collected() -> dict[str, list[str]]:
    """Return section -> names, as the code has them now; without exports, which need a campaign."""
    return {
        "api": sorted(set(api_names())),
        "commands": sorted(set(command_names())),
        **configuration_names(),
        "tables": sorted(set(table_names())),
        "pages": sorted(set(page_names())),
    }


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    django.setup()
    kept = stored() if FILE.exists() else {}
    FILE.write_text(written({**collected(), "exports": kept.get("exports", [])}), encoding="utf-8")


if __name__ == "__main__":
    main()
