"""The client of the API against the site: the guide's script, retries without doubles, pages, uploads and errors."""

import re
import runpy
import subprocess
import sys
import uuid
from functools import partial
from pathlib import Path

import httpx2
import pytest

from evalsite.accounts.models import User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.client import Client, ClientError, ObjectList, Patience
from evalsite.judgments.models import Annotator, Judgment
from evalsite.prompts.models import Prompt
from evalsite.submissions.models import Submission
from evalsite.submissions.services import Accepted, submissions_accept
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.transport import answered
from tests.processes import ROOT
from tests.shared import shared

QUICK = Patience(first_s=0.0, most_s=0.0, attempts=4)
SCOPES = ["campaigns:read", "campaigns:write", "judgments:read", "chatbots:write", "prompts:write"]


@shared
def board(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign()
    Campaign.objects.filter(pk=campaign.pk).update(standing=True)
    submissions_accept(campaign=campaign, accepted=Accepted(admission="moderated", prompts_downloadable=True))
    campaign.refresh_from_db()
    return campaign


@shared
def token(alice: User) -> str:
    return api_token_issue(user=alice, name="client", scopes=SCOPES, days=1)


class Site(httpx2.BaseTransport):
    """The site behind a connection that breaks after the request was done, or before, as often as told."""

    def __init__(self) -> None:
        self.lost_answers = 0
        self.busy = 0
        self.keys: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        if self.busy:
            self.busy -= 1
            return httpx2.Response(503, headers={"Retry-After": "0"}, json={"error": {"message": "Away."}})
        answer = answered(request)
        if self.lost_answers:
            self.lost_answers -= 1
            raise httpx2.ReadError("the connection was killed")
        return answer


@pytest.fixture
def site() -> Site:
    return Site()


def client_of(site: Site, token: str = "") -> Client:
    return Client("", token, patience=QUICK, http=httpx2.Client(base_url="http://testserver", transport=site))


def replies_write(file: Path) -> None:
    rows = [f"{key},A reply of mine." for key in Prompt.objects.values_list("key", flat=True)]
    file.write_text("\n".join(["prompt_id,reply", *rows]))


def test_script_of_the_guide_submits_judges_and_exports(
    board: Campaign,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
    assert found
    assert len([line for line in found[1].splitlines() if line.strip()]) <= 25
    replies_write(tmp_path / "replies.csv")
    (tmp_path / "script.py").write_text(found[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["script.py", "http://testserver", token, board.slug])
    monkeypatch.setattr(httpx2, "Client", partial(httpx2.Client, transport=httpx2.MockTransport(answered)))
    runpy.run_path("script.py")
    first, _, last = capsys.readouterr().out.splitlines()
    assert first == "6 replies are right"
    assert Submission.objects.get().name == "Repeater"
    assert Judgment.objects.count() > 20, "more than one page"
    assert last == f"{Judgment.objects.count()} judgments"
    assert (tmp_path / "judgments.csv").read_text().startswith("model_a,model_b,winner")


def test_lost_answers_leave_no_doubles(board: Campaign, site: Site) -> None:
    annotator = client_of(site)
    site.lost_answers = 1
    annotator.join(board.slug, consent=True)
    site.lost_answers = 1
    question = annotator.claim(board.slug, 1)[0]
    site.lost_answers = 2
    annotator.answer(question, "A")
    assert Annotator.objects.count() == 1
    assert Judgment.objects.count() == 1
    assert len(site.keys) == 7
    assert len(set(site.keys)) == 3, "a retry has the key of its request"


def test_submission_is_repeated_under_a_given_key(board: Campaign, token: str, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "replies.csv"
    replies_write(file)
    site.lost_answers = 1
    client_of(site, token).submit(board.slug, name="Repeater", file=file, licence="MIT", accept_terms=True)
    assert Submission.objects.count() == 1


def test_busy_site_is_asked_again_and_then_told(board: Campaign, site: Site) -> None:
    reader = client_of(site)
    site.busy = 3
    assert reader.board(board.slug)["board"] == board.slug
    site.busy = 4
    with pytest.raises(ClientError, match="HTTP 503: Away"):
        reader.board(board.slug)


def test_refusal_is_an_error_with_code_and_hint(board: Campaign, site: Site) -> None:
    with pytest.raises(ClientError) as caught:
        client_of(site).claim(board.slug)
    assert caught.value.status == 401
    assert caught.value.code
    assert len(site.keys) == 1, "a refusal is not asked again"


def test_refused_rows_of_an_upload_are_told(token: str, alice: User, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text("prompt_id,text\np1,One?\np1,Two?\n")
    with pytest.raises(ClientError) as caught:
        client_of(site, token).upload("organisations/alice/prompts", file, set="New prompts")
    assert caught.value.code == "rows_refused"
    assert caught.value.rows[0]["prompt_id"] == "p1"
    file.write_text("prompt_id,text\np1,One?\n")
    sent = {"key": str(uuid.uuid4()), "set": "New prompts"}
    report = client_of(site, token).upload("organisations/alice/prompts", file, **sent)
    assert report["add"] == 1


def test_other_address_is_named() -> None:
    page = httpx2.MockTransport(lambda request: httpx2.Response(200, text="<html>"))
    http = httpx2.Client(base_url="http://elsewhere", transport=page)
    with Client("", http=http) as other, pytest.raises(ClientError, match="is this the right address"):
        other.board("spring")


def test_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ClientError, match=r"pip install 'touchstone-eval\[frames\]'"):
        ObjectList(iter([{"choice": "A"}])).to_frame()


def test_client_imports_no_django() -> None:
    program = "import sys, evalsite.client; print(sorted({'django', 'celery', 'numpy', 'pandas'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
