"""Client of one site: `get`, `post` and `pages` for every operation, and methods for those that most programs need."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import quote

import httpx2

from evalsite.client.retries import ClientError, Patience, Receiver, Requests, object_of

if TYPE_CHECKING:
    import pandas as pd

JsonObject: TypeAlias = Mapping[str, Any]
API = "/api/v1/"
TYPES = {".csv": "text/csv", ".jsonl": "application/jsonl", ".txt": "text/plain"}
_PATIENCE = Patience()


class ObjectList:
    """Objects that are read when they are needed: once, in order."""

    def __init__(self, records: Iterator[dict[str, Any]]) -> None:
        self._records = records

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._records

    def to_frame(self) -> pd.DataFrame:
        """Return the remaining objects as a DataFrame. Raises ClientError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ClientError("Frames need pandas.", hint="pip install 'touchstone-eval[frames]'") from error
        return pandas.DataFrame(list(self._records))


class Client:
    """A client of one site.

    url: the address of the site. token: of a person (*Your page*, *API tokens*) or of an annotator; `join` gets the
    latter. `http` replaces the connection, as in tests.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        patience: Patience = _PATIENCE,
        timeout_s: float = 60.0,
        http: httpx2.Client | None = None,
    ) -> None:
        self._http = http if http is not None else httpx2.Client(base_url=url, timeout=timeout_s)
        self._requests = Requests(self._http, patience)
        self._token_set(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """Return the JSON object below `/api/v1/`, as in `get("boards/spring")`. Raises ClientError."""
        return object_of(self._requests.send("GET", API + path, params=_given(params)))

    def post(self, path: str, body: JsonObject | None = None, *, key: str = "") -> dict[str, Any]:
        """Send a JSON object, and return the answer. Raises ClientError.

        A retry repeats the request under the same Idempotency-Key, so that it is done once. `key` names a key of your
        own (a random UUID), by which another process can repeat it.
        """
        return object_of(self._requests.send("POST", API + path, json=dict(body or {}), headers=_key(key)))

    def pages(self, path: str, **params: Any) -> ObjectList:
        """Return the objects of a list, over all of its pages. Raises ClientError while they are read."""
        return ObjectList(self._pages(path, params))

    def _pages(self, path: str, params: JsonObject) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            page = self.get(path, **{**params, "cursor": cursor})
            yield from page["results"]
            cursor = page.get("next")
            if not cursor:
                return

    def upload(self, path: str, file: str | Path, *, key: str = "", **params: Any) -> dict[str, Any]:
        """Send a file (.csv, .jsonl or .txt) as the body of a POST, and return the report. Raises ClientError."""
        content = Path(file).read_bytes()
        headers = {**_key(key), "Content-Type": TYPES.get(Path(file).suffix, "application/octet-stream")}
        answer = self._requests.send("POST", API + path, content=content, params=_given(params), headers=headers)
        return object_of(answer)

    def download(self, path: str, file: str | Path, **params: Any) -> Path:
        """Write an export such as `campaigns/spring/judgments.csv` to a file as it arrives. Raises ClientError.

        A download that breaks off begins again. The file appears when it is complete; until then it is `<file>.part`.
        """
        target = Path(file)
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as written:
                self._requests.send("GET", API + path, params=_given(params), receive=_into(written))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def board(self, board: str) -> dict[str, Any]:
        """Return a board by its slug or id."""
        return self.get(f"boards/{quote(board)}")

    def judgments(self, campaign: str, **filters: Any) -> ObjectList:
        """Return the judgments of a campaign, as `judgments.jsonl` holds them. A temporary file keeps them."""
        path = f"{API}campaigns/{quote(campaign)}/judgments.jsonl"
        kept = tempfile.TemporaryFile()  # noqa: SIM115  closed with the list, which reads it
        self._requests.send("GET", path, params=_given(filters), receive=_into(kept))
        kept.seek(0)
        return ObjectList(json.loads(line) for line in kept)

    def join(self, campaign: str, *, kind: str = "human", consent: bool = False) -> str:
        """Join a campaign, act as its annotator from now on, and return the annotator's id.

        kind: human, simulated or model. consent: that the annotator has read the notice of the campaign and agrees.
        """
        joined = self.post("annotators", {"campaign": campaign, "kind": kind, "consent": consent})
        self._token_set(joined["token"])
        return str(joined["annotator"])

    def claim(self, campaign: str, count: int | None = None) -> list[dict[str, Any]]:
        """Return the next assignments of the annotator; none if there is nothing to do now.

        `post("campaigns/<campaign>/claims")` also tells why, and when to ask again.
        """
        body = {} if count is None else {"count": count}
        return list(self.post(f"campaigns/{quote(campaign)}/claims", body)["assignments"])

    def answer(self, assignment: JsonObject, choice: str | Mapping[str, str], **more: Any) -> dict[str, Any]:
        """Record a judgment: one choice for all aspects, or a choice by the key of each aspect."""
        aspects = [one["key"] for one in assignment["aspects"]]
        chosen = dict.fromkeys(aspects, choice) if isinstance(choice, str) else choice
        answers = [{"aspect": aspect, "choice": value} for aspect, value in chosen.items()]
        return self.post(f"assignments/{assignment['id']}/judgment", {"answers": answers, **more})

    def submit(
        self, campaign: str, *, name: str, file: str | Path | None = None, dry_run: bool = False, **card: Any
    ) -> dict[str, Any]:
        """Submit a chatbot by a file of replies, or by `endpoint` (a dict) and `secret`. Raises ClientError.

        `card` has the other fields of the form, such as `licence` and `accept_terms=True`. With `dry_run` it is only
        checked.
        """
        fields = {"name": name, "dry_run": dry_run, **card}
        content = Path(file).read_bytes() if file is not None else b""
        files = {"file": (Path(file).name, content)} if file is not None else None
        data = {field: _form_value(value) for field, value in _given(fields).items()}
        path = f"{API}campaigns/{quote(campaign)}/submissions"
        return object_of(self._requests.send("POST", path, data=data, files=files))

    def _token_set(self, token: str) -> None:
        if token:
            self._http.headers["Authorization"] = f"Bearer {token}"


def _into(file: IO[bytes]) -> Receiver:
    """Return the receiver that writes a body to a file in place of what an earlier attempt wrote."""

    def receive(answer: httpx2.Response) -> None:
        file.seek(0)
        file.truncate()
        compressed = answer.headers.get("Content-Encoding") == "gzip"
        file.writelines(_unpacked(answer.iter_raw()) if compressed else answer.iter_bytes())

    return receive


def _unpacked(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the decompressed blocks. Raises ReadError if the end is missing.

    A web server may end a response in good order although the program behind it failed halfway. Only the end of the
    compressed body tells.
    """
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for block in blocks:
        yield unpack.decompress(block)
    if not unpack.eof:
        raise httpx2.ReadError("the response ends early")


def _given(params: JsonObject) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _key(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key} if key else {}


def _form_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict | list) else str(value)
