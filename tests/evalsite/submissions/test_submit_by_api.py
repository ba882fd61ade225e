"""Submitting by the API: one request, its answer, hostile files, and who may do what."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.core.row_files import MOST_BYTES
from evalsite.submissions.models import Submission
from evalsite.submissions.services import Accepted, submissions_accept
from tests.evalsite.submissions.steps import FAULTY, replies, submit

PLACE = "/api/v1/campaigns/trial/submissions"
README = (
    b"---\nlicense: apache-2.0\nbase_model: [org/small]\nlink: https://example.org\n---\n# Card name\n\nIt answers.\n"
)


class Program:
    """A program that sends forms with a token of a person."""

    def __init__(self, user: User) -> None:
        token = api_token_issue(user=user, name="test", scopes=ApiToken.Scope.values, days=1)
        self.client, self.headers = Client(), {"Authorization": f"Bearer {token}"}

    def submit(self, content: bytes = b"", filename: str = "replies.csv", key: str = "", **fields: Any) -> Any:
        data = {"name": "Newcomer", **fields}
        if content:
            data["file"] = SimpleUploadedFile(filename, content)
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {})}
        return self.client.post(PLACE, data, headers=headers)

    def get(self, path: str) -> Any:
        return self.client.get(path, headers=self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.client.post(path, json.dumps(body or {}), "application/json", headers=self.headers)

    def put(self, path: str, body: Any) -> Any:
        return self.client.put(path, json.dumps(body), "application/json", headers=self.headers)


@pytest.fixture
def sam(board: Campaign, submitter: User) -> Program:
    return Program(submitter)


def test_submission_is_answered_with_its_report(sam: Program) -> None:
    answer = sam.submit(replies(), readme=SimpleUploadedFile("README.md", README), licence="MIT")
    body = answer.json()
    assert (answer.status_code, body["state"], body["version"]) == (201, "waiting", "1")
    assert body["card"] == {
        "link": "https://example.org",
        "licence": "MIT",
        "price": "",
        "base_model": "org/small",
        "description": "It answers.",
    }
    assert (body["report"]["add"], body["report"]["prompts"], body["report"]["refused"]) == (6, 6, 0)
    assert [event["state"] for event in body["events"]] == ["received", "checked", "waiting"]
    assert body["next_step"]


def test_faults_are_listed_and_the_state_says_refused(sam: Program) -> None:
    body = sam.submit(FAULTY).json()
    assert (body["state"], body["reason"]) == ("refused", "3 rows of its file are refused")
    assert [row["problem"] for row in body["report"]["rows"]] == [
        "line 2 has a reply to the same prompt",
        "no prompt has the id 'p9'",
        "its reply is empty",
    ]


def test_dry_run_reports_and_stores_nothing(sam: Program) -> None:
    answer = sam.submit(replies(), dry_run="true")
    assert (answer.status_code, answer.json()["id"], answer.json()["state"]) == (200, None, "checked")
    assert sam.submit(FAULTY, dry_run="true").json()["state"] == "refused"
    assert not Submission.objects.exists()


def test_repeated_request_is_done_once(sam: Program) -> None:
    first, second = (sam.submit(replies(), key="abc") for _ in range(2))
    assert second.json() == first.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Submission.objects.count() == 1
    assert sam.submit(replies("Perhaps"), key="abc").json()["error"]["code"] == "idempotency_key_reused"


def zipped(*files: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return packed.getvalue()


PACKED: list[tuple[Callable[[], bytes], str, int]] = [
    (lambda: gzip.compress(replies()), "replies.csv.gz", 201),
    (lambda: zipped(("../../etc/replies.csv", replies())), "replies.zip", 201),
    (lambda: gzip.compress(bytes(MOST_BYTES + 1)), "bomb.csv.gz", 413),
    (lambda: zipped(("bomb.csv", bytes(MOST_BYTES + 1))), "bomb.zip", 413),
    (lambda: zipped(("a.csv", replies()), ("b.csv", replies())), "two.zip", 400),
    (lambda: gzip.compress(gzip.compress(replies())), "twice.csv.gz", 400),
    (lambda: gzip.compress(replies())[:-12], "broken.csv.gz", 400),
    (lambda: b"PK\x03\x04 nothing", "broken.zip", 400),
    (lambda: "prompt_id,reply\np0,Äh.\n".encode("utf-16"), "wide.csv", 400),
]


@pytest.mark.parametrize(("content", "name", "status"), PACKED, ids=[name for _content, name, _status in PACKED])
def test_packed_files_are_read_within_limits(
    sam: Program, content: Callable[[], bytes], name: str, status: int
) -> None:
    assert sam.submit(content(), name).status_code == status


def test_path_in_a_file_name_is_dropped(sam: Program) -> None:
    assert sam.submit(replies(), "..\\..\\windows\\replies.csv").status_code == 201
    assert Submission.objects.get().file.name == "replies.csv"


def test_named_encoding_is_read(sam: Program) -> None:
    assert sam.submit("prompt_id,reply\np0,Äh.\n".encode("utf-16"), encoding="utf-16").json()["report"]["add"] == 1


@pytest.mark.parametrize(
    "fields",
    [{}, {"endpoint": "{}"}, {"endpoint": "[1]"}, {"endpoint": '{"adapter":"openai","url":"x"}', "encoding": "x" * 99}],
    ids=range(4),
)
def test_request_without_a_source_is_refused(sam: Program, fields: dict[str, Any]) -> None:
    assert sam.submit(**fields).status_code == 400


def test_type_that_only_begins_like_a_form_is_refused(sam: Program) -> None:
    answer = sam.client.generic("POST", PLACE, headers=sam.headers, CONTENT_TYPE="multipart/form-database")
    assert (answer.status_code, answer.json()["error"]["field"]) == (415, "Content-Type")


def test_unreadable_model_card_names_its_line(sam: Program) -> None:
    card = SimpleUploadedFile("README.md", b"---\nlicense: [\n---\n")
    error = sam.submit(replies(), readme=card).json()["error"]
    assert (error["field"], "line 3" in error["message"] or "line 4" in error["message"]) == ("readme", True)


def test_submission_needs_an_account(board: Campaign) -> None:
    answer = Client().post(PLACE, {"name": "x", "file": SimpleUploadedFile("r.csv", replies())})
    assert answer.status_code == 403


def test_submission_of_others_is_not_there(sam: Program, charlie: User, submitter: User, board: Campaign) -> None:
    made = submit(board, submitter)
    other = Program(charlie)
    for path in ("", "/results"):
        assert other.get(f"/api/v1/submissions/{made.public_id}{path}").status_code == 404
    assert other.post(f"/api/v1/submissions/{made.public_id}/withdrawal").status_code == 404
    assert sam.post(f"/api/v1/submissions/{made.public_id}/approval").status_code == 403
    assert other.get(PLACE).json()["results"] == []


def test_moderators_approve_and_submitters_withdraw(sam: Program, alice: User, submitter: User) -> None:
    made, owner = sam.submit(replies()).json(), Program(alice)
    place = f"/api/v1/submissions/{made['id']}"
    assert [one["id"] for one in owner.get(PLACE).json()["results"]] == [made["id"]]
    assert owner.post(f"{place}/approval").json()["state"] == "joined"
    assert sam.get(f"{place}/results").json() == {"results": []}
    assert sam.post(f"{place}/withdrawal", {"reason": "A bug."}).json()["state"] == "withdrawn"
    assert owner.post(f"{place}/refusal", {"reason": "Late."}).json()["error"]["code"] == "not_waiting"


def test_owner_decides_what_is_accepted(alice: User, board: Campaign, sam: Program) -> None:
    owner = Program(alice)
    wanted = {"admission": "open", "takes": "file", "versions_per_week": 2, "standing": True, "newcomer_budget": 40}
    answer = owner.put(f"{PLACE}/settings", wanted)
    assert answer.status_code == 200
    assert wanted.items() <= sam.get(f"{PLACE}/settings").json().items()
    assert sam.put(f"{PLACE}/settings", wanted).status_code == 403
    assert owner.put(f"{PLACE}/settings", {**wanted, "organisations": ["nobody"]}).status_code == 400


def test_prompts_are_for_those_who_may_submit(sam: Program, board: Campaign) -> None:
    assert sam.get(f"{PLACE}/prompts?form=csv").content.startswith(b"prompt_id,text,turns,category\r\np0,Question 0?")
    assert json.loads(sam.get(f"{PLACE}/prompts?form=jsonl").content.splitlines()[1])["prompt_id"] == "p1"
    assert sam.get(f"{PLACE}/prompts?form=txt").content.splitlines()[2] == b"Question 2?"
    assert Client().get(f"{PLACE}/prompts").status_code == 403
    submissions_accept(campaign=board, accepted=Accepted(admission="open"))
    assert sam.get(f"{PLACE}/prompts").json()["error"]["code"] == "prompts_closed"
