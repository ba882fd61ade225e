"""Every format of votes goes through every entry with the same counts: `rank`, `import_votes`, the page and the API.

Its broken twins are refused by name, row and column, and nothing of them is stored.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.core import jobs
from evalsite.core.models import AuditEntry, Job, Upload
from evalsite.exchange.vote_formats.registry import FORMATS
from evalsite.judgments.models import AnnotatorIdentity, Answer, Judgment
from evalsite.prompts.models import Prompt
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.exchange.test_vote_formats import EXAMPLES, Example, as_table, headless
from tests.evalsite.pages.test_pages import words

pytestmark = pytest.mark.django_db
Write = Callable[..., Path]
NAMES = [form.name for form in FORMATS]
TITLES = {form.name: form.title for form in FORMATS}
TWINS = ("missing", "unknown", "truncated")
# Commands read every format each time. Page and API read it by the same reader, so two formats show that they do.
FEW = NAMES[:1] + NAMES[-1:]


def full_if(long: bool, *values: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.full if long else ())


SOME = [full_if(name not in FEW, name) for name in NAMES]
BROKEN = [full_if(name not in FEW and twin != "unknown", name, twin) for name in NAMES for twin in TWINS]
TIES = "Tie", "Both are bad"
SENT = "/api/v1/organisations/alice/votes?"


def answer_inquiries() -> None:
    """Do what the worker does with what pages ask."""
    for key in list(Job.objects.filter(kind="inquiry", state=Job.State.QUEUED).values_list("key", flat=True)):
        jobs.job_run_now(key=key, owner="test")


def broken(example: Example, twin: str) -> str:
    """The file of an example with one fault."""
    rows = example.rows
    if twin == "missing":
        return example.form([{name: row[name] for name in row if name != example.missing[0]} for row in rows])
    if twin == "unknown":
        return example.form([rows[0], rows[1] | example.unknown[0], *rows[2:]])
    text = example.form(rows).rstrip()
    if example.form not in {as_table, headless}:
        return text[: -len(text) // 5]
    lines = text.split("\n")
    return "\n".join([*lines[:-1], lines[-1].rpartition(",")[0].rpartition(",")[0]])


def place_of(example: Example, twin: str) -> tuple[str, ...]:
    """What a refusal says of the place."""
    if twin == "missing":
        return (f"column {example.missing[1]}",)
    return (f"row {example.unknown[2]}", f"column {example.unknown[1]}") if twin == "unknown" else ("row ",)


def check_stored(example: Example) -> None:
    values = Counter(Answer.objects.values_list("value", flat=True))
    assert [values[one] for one in ("chosen", "tie", "both_bad")] == [sum(example.counts[:2]), *example.counts[2:]]
    assert Prompt.objects.count() == example.prompts
    assert AnnotatorIdentity.objects.count() == example.annotators


def refused(capsys: pytest.CaptureFixture[str], command: str, *arguments: Path, **options: Any) -> str:
    with pytest.raises(CommandError) as caught:
        call_command(command, *arguments, **options)
    assert caught.value.returncode == 2
    return str(caught.value)


@pytest.fixture
def api(alice: User) -> Api:
    return Api(api_token_issue(user=alice, name="votes", scopes=[ApiToken.Scope.ACTS], days=1))


def send(api: Api, content: str | bytes, **query: str) -> Any:
    data = content.encode() if isinstance(content, str) else content
    query = {"campaign": "Zoo", "source": "votes.dat", **query}
    answer = api.raw(SENT + urlencode(query), data, "application/octet-stream")
    assert answer.status_code == 202, answer.content
    assert answer.json()["state"] == "waiting"
    answer_inquiries()
    return api.get(f"/api/v1/vote_files/{answer.json()['id']}").json()


def upload(owner: Client, content: str | bytes, **sent: str) -> str:
    """Choose a file on the page, and return the address of what is in it."""
    data = content.encode() if isinstance(content, str) else content
    answer = owner.post("/console/votes/", {"file": SimpleUploadedFile("votes.dat", data), **sent})
    assert answer.status_code == 302, words(answer)
    return read(answer["Location"])


def read(address: str) -> str:
    answer_inquiries()
    return address


def post(owner: Client, address: str, **sent: str) -> str:
    answer = owner.post(address, sent)
    assert answer.status_code == 302, words(answer)
    return read(answer["Location"])


@pytest.mark.parametrize("name", NAMES)
def test_rank_counts_every_vote(write: Write, capsys: pytest.CaptureFixture[str], name: str) -> None:
    example = EXAMPLES[name]
    call_command("rank", write(example.form(example.rows)), json=True)
    told = capsys.readouterr()
    assert json.loads(told.out)["fit"]["judgments"] == sum(example.counts)
    assert f"looks like {TITLES[name]}" in told.err


@pytest.mark.parametrize("name", NAMES)
def test_import_votes_stores_every_vote(write: Write, capsys: pytest.CaptureFixture[str], name: str) -> None:
    example = EXAMPLES[name]
    call_command("import_votes", write(example.form(example.rows)), campaign="Zoo", fit="later")
    told = capsys.readouterr()
    assert f"looks like {TITLES[name]}" in told.err
    check_stored(example)


@pytest.mark.parametrize("name", SOME)
def test_page_shows_and_stores_every_vote(owner: Client, name: str) -> None:
    example = EXAMPLES[name]
    address = upload(owner, example.form(example.rows))
    text = words(owner.get(address))
    assert f"The file looks like {TITLES[name]}." in text
    a, b, ties, bad = example.counts
    assert f"Votes {sum(example.counts)} A is better {a} B is better {b} Tie {ties} Both are bad {bad}" in text
    assert f"Prompts {example.prompts} Annotators {example.annotators} Chatbots 2" in text
    assert not Judgment.objects.exists()
    imported = post(owner, address, take="yes", campaign="Zoo", visibility="public")
    assert f"{sum(example.counts)} votes were imported." in words(owner.get(imported))
    check_stored(example)
    assert Campaign.objects.get().visibility == "public"
    assert not Upload.objects.exists()


@pytest.mark.parametrize("name", SOME)
def test_api_checks_and_stores_every_vote(api: Api, name: str) -> None:
    example = EXAMPLES[name]
    a, b, ties, bad = example.counts
    seen = send(api, example.form(example.rows), check="true")
    assert (seen["state"], seen["looks_like"]) == ("checked", TITLES[name])
    assert seen["counts"] == {
        "votes": sum(example.counts),
        "a_better": a,
        "b_better": b,
        "ties": ties,
        "both_bad": bad,
        "prompts": example.prompts,
        "annotators": example.annotators,
        "chatbots": 2,
    }
    assert not Campaign.objects.exists()
    taken = send(api, example.form(example.rows))
    assert (taken["state"], taken["created"], taken["campaign"]) == ("imported", True, "zoo")
    check_stored(example)
    assert AuditEntry.objects.filter(act="set_up", target="votes.dat").count() == 1


@pytest.mark.parametrize(("name", "twin"), BROKEN)
def test_broken_twin_is_refused_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str, twin: str
) -> None:
    example = EXAMPLES[name]
    content = broken(example, twin)
    path, places = write(content), place_of(example, twin)
    for told in (refused(capsys, "rank", path), refused(capsys, "import_votes", path, campaign="Zoo")):
        assert all(part in told for part in (str(path), *places))
    text = words(owner.get(upload(owner, content)))
    assert all(part in text for part in ("votes.dat", *places, "Nothing was stored."))
    for check in ("true", "false"):
        problem = send(api, content, check=check)["problem"]
        assert all(part in problem["message"] for part in ("votes.dat", *places))
    assert not Campaign.objects.exists()
    assert not Prompt.objects.exists()


ODD = "first_bot,second_bot,best,q\nfinch,crane,1st,p1\nfinch,crane,2nd,p2\nfinch,crane,same,p2\n"


def test_page_takes_columns_and_labels_of_any_other_file(owner: Client) -> None:
    address = upload(owner, ODD)
    page = owner.get(address)
    assert "there is no column" in words(page)
    assert page.content.count(b'<option value="second_bot"') == 3
    columns = {"a": "first_bot", "b": "second_bot", "winner": "best"}
    address = post(owner, address, **columns)
    text = words(owner.get(address))
    assert "row 1 (line 2), column best: the label '1st' is not known" in text
    assert "What “same” means" in text
    meanings = {"label-0": "1st", "meaning-0": "model_a", "label-1": "2nd", "meaning-1": "model_b"}
    address = post(owner, address, **columns, **meanings, **{"label-2": "same", "meaning-2": "tie"})
    assert "Votes 3 A is better 1 B is better 1 Tie 1 Both are bad 0" in words(owner.get(address))
    post(owner, address, take="yes", campaign="Zoo")
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["chosen", "chosen", "tie"]
    assert Campaign.objects.get().visibility == "private"


def test_api_takes_columns_and_labels_of_any_other_file(api: Api) -> None:
    problem = send(api, ODD)["problem"]
    assert problem["columns"] == ["first_bot", "second_bot", "best", "q"]
    columns = {"a": "first_bot", "b": "second_bot", "winner": "best"}
    assert send(api, ODD, **columns)["problem"]["labels"] == ["1st", "2nd", "same"]
    taken = send(api, ODD, **columns, map="1st=model_a,2nd=model_b,same=tie")
    assert (taken["state"], taken["counts"]) == ("imported", {"votes": 3})


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_encoding_is_offered_by_page_and_api_and_not_guessed(owner: Client, api: Api, encoding: str) -> None:
    content = "model_a,model_b,winner\nZoë,crane,tie\n".encode(encoding)
    address = upload(owner, content)
    assert f"<option>{encoding}</option>" in owner.get(address).content.decode()
    assert "Zoë" in words(owner.get(post(owner, address, encoding=encoding)))
    assert "Zoë" in words(owner.get(upload(owner, content, encoding=encoding)))
    assert encoding in send(api, content)["problem"]["encodings"]
    assert send(api, content, encoding=encoding)["state"] == "imported"


def test_upload_of_a_taken_name_changes_nothing(owner: Client, api: Api) -> None:
    example = EXAMPLES["arena"]
    send(api, example.form(example.rows))
    again = send(api, example.form(example.rows), source="other.csv")
    assert again["state"] == "refused"
    assert "already a campaign 'zoo'" in again["problem"]["message"]
    assert send(api, example.form(example.rows), visibility="private")["created"] is False
    assert Judgment.objects.count() == sum(example.counts)


def test_file_belongs_to_who_sent_it(owner: Client, api: Api, charlie: User) -> None:
    address = upload(owner, ODD)
    client = Client()
    client.force_login(charlie)
    assert client.get(address).status_code == 404
    assert client.get(f"{address}state/").status_code == 404
    program = Api(api_token_issue(user=charlie, name="x", scopes=[ApiToken.Scope.ACTS], days=1))
    number = address.rstrip("/").rpartition("/")[2]
    assert program.get(f"/api/v1/vote_files/{number}").status_code == 404
    assert error_of(program.raw(SENT + "campaign=Zoo", b"x", "text/csv"))["code"] == "not_found"


@pytest.mark.parametrize("wrong", ["left", "left=best", "=tie"])
def test_wrong_meaning_is_refused_before_the_file_is_kept(api: Api, wrong: str) -> None:
    answer = api.raw(SENT + urlencode({"campaign": "Zoo", "map": wrong}), ODD.encode(), "text/csv")
    assert (answer.status_code, error_of(answer)["field"]) == (400, "map")
    assert not Upload.objects.exists()


def test_waiting_page_asks_again(owner: Client) -> None:
    answer = owner.post("/console/votes/", {"file": SimpleUploadedFile("votes.csv", ODD.encode())})
    page = owner.get(answer["Location"])
    assert "The file is being read." in words(page)
    assert f'hx-get="{answer["Location"]}state/"' in page.content.decode()
    answer_inquiries()
    assert "hx-get" not in owner.get(f"{answer['Location']}state/").content.decode()
