"""A program that speaks with the API, and what it sends."""

import json
from typing import Any

from django.test import Client

CLAIMS = "/api/v1/campaigns/trial/claims"


class Api:
    """A program that speaks JSON with a token."""

    def __init__(self, token: str = "", *, address: str = "127.0.0.1") -> None:
        self.client = Client(raise_request_exception=False, enforce_csrf_checks=True, REMOTE_ADDR=address)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> Any:
        return self.client.get(path, headers=self.headers)

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        headers = self.headers if key is None else {**self.headers, "Idempotency-Key": key}
        return self.client.post(path, json.dumps(body or {}), "application/json", headers=headers)

    def put(self, path: str, body: Any) -> Any:
        return self.client.put(path, json.dumps(body), "application/json", headers=self.headers)

    def raw(self, path: str, body: bytes, content_type: str = "application/json", *, key: str | None = None) -> Any:
        headers = self.headers if key is None else {**self.headers, "Idempotency-Key": key}
        return self.client.post(path, body, content_type, headers=headers)


def judgment_url(assignment: Any) -> str:
    return f"/api/v1/assignments/{assignment['id']}/judgment"


def answer(choice: str = "A", **more: Any) -> dict[str, Any]:
    return {"answers": [{"aspect": "overall", "choice": choice}], "client_ms": 900, **more}


def error_of(response: Any) -> Any:
    body = response.json()
    assert set(body) == {"error"}
    rows = {"rows"} if body["error"]["code"] == "rows_refused" else set()
    assert set(body["error"]) == {"code", "message", "hint", "field"} | rows
    assert body["error"]["message"]
    return body["error"]
