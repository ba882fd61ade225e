"""The page that lists every operation of the API, made from docs/openapi.yaml."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

SECTIONS = {"read": "Read", "act": "Change", "judge": "Judge"}
HEAD = """\
# Operations of the API

For developers of programs that call the API. The page lists every operation of [openapi.yaml](openapi.yaml) with its
parameters, its body and its response. [The API](api.md) shows how to use them together, with examples.

Every error has the same shape: `{"error": {"code", "message", "hint", "field"}}`.
"""


def page(document: str) -> str:
    """Return the page in Markdown."""
    described = yaml.load(document, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  safe
    lines = [HEAD]
    for tag, title in SECTIONS.items():
        lines.append(f"## {title}\n")
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if operation["tags"] == [tag]:
                    lines += _operation(f"{method.upper()} {path}", operation, described["components"]["schemas"])
    return "\n".join(lines)


def _operation(address: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f"### `{address}`\n"
    yield f"{operation.get('description', '').strip()}\n"
    rows = [
        (parameter["name"], parameter["in"], parameter["schema"], parameter.get("description", ""))
        for parameter in operation.get("parameters", [])
    ]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        place = "body" if media_type == "application/json" else media_type
        properties = _resolved(content.get("schema", {}), schemas).get("properties", {})
        rows += [(name, place, part, part.get("description", "")) for name, part in properties.items()]
    if rows:
        yield "| name | in | type | meaning |\n|---|---|---|---|"
        yield from (
            f"| `{name}` | {place} | {_type(part, schemas)} | {_cell(text)} |" for name, place, part, text in rows
        )
        yield ""
    for status, response in operation["responses"].items():
        if status < "400":
            yield f"Response {status}: {_response(response, schemas)}\n"
    errors = [status for status in operation["responses"] if status >= "400"]
    yield f"Errors: {', '.join(errors)}\n"


def _response(response: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    shown = []
    for media_type, content in response.get("content", {}).items():
        schema = _resolved(content.get("schema", {}), schemas)
        several = schema.get("type") == "array"
        names = _resolved(schema.get("items", {}), schemas) if several else schema
        fields = ", ".join(f"`{name}`" for name in names.get("properties", {}))
        if media_type != "application/json":
            fields = f"`{media_type}`"
        shown.append(f"a list of {fields}" if several and fields else fields)
    return "; ".join(one for one in shown if one) or response.get("description") or "no body"


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        return _resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for part in schema.get("allOf", []):
        return _resolved(part, schemas)
    return schema


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    schema = _resolved(schema, schemas)
    values = [value for value in schema.get("enum", []) if value is not None]
    if values:
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any")


def _cell(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("* `")]  # the values are listed under "type"
    return " ".join(" ".join(lines).split()).replace("|", r"\|")
