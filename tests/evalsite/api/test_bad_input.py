"""Bad input, kind by kind: the documented refusal with code and hint, nothing written, no hint about what exists."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.judgments.models import Assignment, Judgment
from evalsite.operations.actions import ActionArguments, act_perform
from tests.evalsite.api.client import CLAIMS, Api, answer, error_of, judgment_url
from tests.evalsite.api.operations import DOCUMENT, everything
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.shared import shared

ANSWERING = "/api/v1/assignments/{assignment}/judgment"
CLAIMING = "/api/v1/campaigns/{key}/claims"


@pytest.fixture
def refuses(api: Api, block: Any) -> Callable[..., Any]:
    """Send it: it is refused with this status as docs/openapi.yaml says of the address, and no row has changed."""

    def check(
        status: int,
        code: str,
        path: str,
        body: Any,
        *,
        of: str = ANSWERING,
        by: Api = api,
        kind: str = "application/json",
    ) -> Any:
        before = everything()
        response = by.raw(path, body if isinstance(body, bytes) else json.dumps(body).encode(), kind)
        error = error_of(response)
        assert (response.status_code, error["code"]) == (status, code)
        assert error["hint"], "it says what to do now"
        assert str(status) in DOCUMENT["paths"][of]["post"]["responses"], "and docs/openapi.yaml says that it may"
        assert everything() == before
        return error

    return check


def another(campaign: Campaign) -> Api:
    """Somebody else who judges there."""
    joined = Api().post("/api/v1/annotators", {"campaign": str(campaign.public_id)})
    return Api(joined.json()["token"])


def test_the_lease_of_somebody_else(refuses: Any, block: Any, campaign: Campaign) -> None:
    stranger = another(campaign)
    of_another = refuses(404, "not_found", judgment_url(block[0]), answer(), by=stranger)
    of_nobody = refuses(404, "not_found", judgment_url({"id": uuid.uuid4()}), answer(), by=stranger)
    assert of_another == of_nobody


def test_a_lease_that_was_given_back(refuses: Any, api: Api, block: Any) -> None:
    api.post(f"/api/v1/assignments/{block[0]['id']}/skip", {"reason": "broken"})
    refuses(409, "returned", judgment_url(block[0]), answer())


@pytest.mark.parametrize("choice", ["C", "a", "", "model_a", "\u0000", "A "])
def test_an_unknown_verdict(refuses: Any, block: Any, choice: str) -> None:
    assert refuses(400, "invalid", judgment_url(block[0]), answer(choice))["field"] == "answers.0.choice"


def test_a_body_that_is_too_large(refuses: Any, block: Any) -> None:
    long = json.dumps(answer()).encode() + b" " * settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    refuses(413, "too_large", judgment_url(block[0]), long)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"])
def test_a_wrong_content_type(refuses: Any, block: Any, kind: str) -> None:
    refuses(415, "unsupported_media_type", judgment_url(block[0]), answer(), kind=kind)


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", '"utf-16"', '"nonsense"'])
def test_json_in_another_charset(refuses: Any, block: Any, charset: str) -> None:
    kind = f"application/json; charset={charset}"
    refuses(415, "unsupported_media_type", judgment_url(block[0]), answer(), kind=kind)


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "us-ascii"])
def test_json_that_says_that_it_is_utf_8_is_read(api: Api, block: Any, charset: str) -> None:
    body = json.dumps(answer()).encode()
    assert api.raw(judgment_url(block[0]), body, f"application/json; charset={charset}").status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b'{"answers": [{"aspect": "overall", "choice": "A"}], "answers": [{"aspect": "overall", "choice": "B"}]}',
        b'{"answers": [{"aspect": "overall", "choice": "A", "choice": "B"}]}',
        b'{"answers": [{"aspect": "overall", "choice": "A", "ch\\u006fice": "A"}]}',
    ],
)
def test_a_name_that_stands_twice_in_an_object(refuses: Any, block: Any, body: bytes) -> None:
    assert "stands twice in one object" in refuses(400, "parse_error", judgment_url(block[0]), body)["message"]


MALFORMED = {
    "cut off": b'{"answers": [',
    "no object": b"[]",
    "nested deeply": b'{"answers": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not so deeply that it cannot be read": b'{"answers": ' + b"[" * 500 + b"]" * 500 + b"}",
    "objects in objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a huge integer": b'{"client_ms": ' + b"9" * 4_000 + b', "answers": []}',
    "an integer beyond what Python reads": b'{"client_ms": ' + b"9" * 50_000 + b"}",
    "a huge exponent": b'{"client_ms": 1e999999, "answers": []}',
    "no number": b'{"client_ms": NaN}',
    "NUL in a text": json.dumps(answer(comment="a\0b")).encode(),
    "NUL in a name": b'{"a\\u0000b": 1}',
    "a lone surrogate": b'{"answers": [{"aspect": "overall", "choice": "\\ud800"}]}',
    "a lone surrogate in a comment": b'{"answers": [{"aspect": "overall", "choice": "A"}], "comment": "\\udfff"}',
    "no UTF-8": b'{"answers": "\xff"}',
    "UTF-16": json.dumps(answer()).encode("utf-16"),
    "nothing": b"",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_json(refuses: Any, block: Any, body: bytes) -> None:
    refuses(400, "parse_error" if body and _unreadable(body) else "invalid", judgment_url(block[0]), body)


def _unreadable(body: bytes) -> bool:
    """Whether no object of texts that can be stored is in it."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=lambda name: 1 / 0)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError, ZeroDivisionError):
        return True
    return not isinstance(value, dict)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_body_in_chunks_is_not_taken_for_none(campaign: Campaign, api: Api, alice: User, method: str) -> None:
    """A WSGI server hands on nothing of it, and a claim of one would be a claim of a whole block."""
    alices = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    paths = {"acts/pause": alices, "gold": alices, "claims": api} if method == "POST" else {"limits": alices}
    before = everything()
    for path, by in paths.items():
        headers = {**by.headers, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        response = by.client.generic(method, f"/api/v1/campaigns/trial/{path}", headers=headers)
        assert (response.status_code, error_of(response)["field"]) == (400, "Content-Length")
        assert error_of(response)["hint"] == "Send Content-Length, and not the body in chunks."
    assert everything() == before


def test_an_answer_to_a_campaign_that_stopped_before_it_was_issued(
    refuses: Any, api: Api, block: Any, campaign: Campaign, alice: User
) -> None:
    waiting = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).first()
    assert waiting is not None
    refuses(404, "not_found", judgment_url({"id": waiting.public_id}), answer())
    act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments(reason="enough"))
    for _ in range(2):  # just now, and when the worker has emptied the queue
        refuses(404, "not_found", judgment_url({"id": waiting.public_id}), answer())
        run_jobs()
    for held in block:
        assert api.post(judgment_url(held), answer()).status_code == 201, "what was issued before may be answered"
    assert api.post(CLAIMS).json()["assignments"] == []


@pytest.mark.parametrize("shown_ms", [-1, -(10**12), 2**31, 10**30])
def test_a_client_whose_clock_is_wrong_is_told_so_where_its_span_cannot_be(
    refuses: Any, block: Any, shown_ms: int
) -> None:
    assert refuses(400, "invalid", judgment_url(block[0]), answer() | {"client_ms": shown_ms})["field"] == "client_ms"


def test_what_a_client_says_of_time_decides_nothing(api: Api, block: Any) -> None:
    """A span of days can be true of no judgment: it is kept as unknown; when it came is said by the server's clock."""
    began = timezone.now()
    response = api.post(judgment_url(block[0]), answer() | {"client_ms": 2**31 - 1})
    judgment = Judgment.objects.get()
    assert response.status_code == 201
    assert (judgment.client_ms, judgment.late) == (None, False)
    assert judgment.answered_at is not None
    assert began <= judgment.answered_at <= timezone.now()


@shared
def elsewhere(make_campaign: CampaignMaker, charlie: User) -> Campaign:
    """Another organisation's private campaign, with one who judges there."""
    other = make_campaign(slug="theirs")
    Campaign.objects.filter(pk=other.pk).update(organisation=charlie.personal_organisation, visibility="link")
    other.refresh_from_db()
    return other


def test_ids_of_other_tenants_are_answered_like_ids_that_never_were(
    refuses: Any, api: Api, block: Any, elsewhere: Campaign, alice: User
) -> None:
    judge = another(elsewhere)
    held = judge.post(f"/api/v1/campaigns/{elsewhere.public_id}/claims").json()["assignments"]
    given = judge.post(judgment_url(held[0]), answer()).json()["judgment"]
    Campaign.objects.filter(pk=elsewhere.pk).update(visibility="private")
    own = api.post(judgment_url(block[0]), answer()).json()["judgment"]
    never = uuid.uuid4()

    def same(code: int, path: str, body: Callable[[Any], Any], theirs: Any, **more: Any) -> None:
        there = refuses(code, "not_found", path.format(theirs), body(theirs), **more)
        assert there == refuses(code, "not_found", path.format(never), body(never), **more)

    plain: Callable[[Any], Any] = lambda _: answer()  # noqa: E731
    assignment = "/api/v1/assignments/{assignment}/"
    same(404, "/api/v1/assignments/{}/judgment", plain, held[1]["id"])
    same(404, "/api/v1/assignments/{}/skip", lambda _: {"reason": "other"}, held[1]["id"], of=assignment + "skip")
    same(404, "/api/v1/assignments/{}/renewal", lambda _: {}, held[1]["id"], of=assignment + "renewal")
    same(404, judgment_url(block[0]), lambda one: answer("B", supersedes=str(one)), given)
    same(404, "/api/v1/campaigns/{}/claims", lambda _: {}, elsewhere.public_id, of=CLAIMING)
    same(404, "/api/v1/annotators", lambda one: {"campaign": str(one)}, elsewhere.public_id, of="/api/v1/annotators")
    alices = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    acting = "/api/v1/campaigns/{key}/acts/{act}"
    same(404, "/api/v1/campaigns/{}/acts/stop", lambda _: {}, elsewhere.public_id, of=acting, by=alices)
    assert str(Judgment.objects.get(supersedes=None, annotator__tokens__isnull=False, public_id=own).public_id) == own


@pytest.mark.parametrize("path", ["campaigns/{}", "campaigns/{}/judgments", "boards/{}", "boards/{}/snapshots"])
def test_what_other_tenants_have_is_read_by_nobody_else(elsewhere: Campaign, alice: User, path: str) -> None:
    Campaign.objects.filter(pk=elsewhere.pk).update(visibility="private")
    alices = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    for by in (alices, Api()):
        theirs, never = (by.get(f"/api/v1/{path.format(key)}") for key in (elsewhere.public_id, uuid.uuid4()))
        assert (theirs.status_code, theirs.json()) == (never.status_code, never.json())
        assert theirs.status_code == 404
        assert error_of(theirs)["hint"]
