"""A submitter chooses the columns of a file whose names do not say enough."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.core.models import Upload
from evalsite.submissions.models import Submission
from tests.evalsite.pages.test_pages import words

FILES = {
    "mine.csv": "nr,said\n" + "".join(f"p{n},Surely {n}.\n" for n in range(6)),
    "mine.jsonl": "".join(f'{{"nr": "p{n}", "said": "Surely {n}."}}\n' for n in range(6)),
}
CHOSEN = {"prompt_id": "nr", "reply": "said"}


@pytest.fixture
def client(submitter: User) -> Client:
    client = Client()
    client.force_login(submitter)
    return client


def form(submitter: User, **more: object) -> dict[str, object]:
    return {"organisation": submitter.personal_organisation.slug, "name": "Newcomer", **more}


def sent(client: Client, board: Campaign, submitter: User, name: str = "mine.csv") -> str:
    """Send a file whose columns are unclear and return the key under which it is kept."""
    file = SimpleUploadedFile(name, FILES[name].encode())
    answer = client.post(f"/boards/{board.slug}/submit/", form(submitter, file=file))
    assert answer.status_code == 400
    assert "There is no column prompt_id." in words(answer)
    assert f"The file {name} looks like" in words(answer)
    page = answer.content.decode()
    assert '<option value="nr" selected>' in page
    key = str(Upload.objects.get().public_id)
    assert f'name="kept" value="{key}"' in page
    return key


@pytest.mark.parametrize("name", FILES)
def test_chosen_columns_are_submitted_without_the_file(
    client: Client, open_board: Campaign, submitter: User, name: str
) -> None:
    key = sent(client, open_board, submitter, name)
    answer = client.post(f"/boards/{open_board.slug}/submit/", form(submitter, kept=key, **CHOSEN))
    made = Submission.objects.get()
    assert answer["Location"] == f"/submissions/{made.public_id}/"
    texts = Reply.objects.filter(version=made.version).order_by("prompt__key").values_list("text", flat=True)
    assert list(texts) == [f"Surely {n}." for n in range(6)]
    assert not Upload.objects.exists()


def test_a_check_keeps_the_file_and_the_choice(client: Client, open_board: Campaign, submitter: User) -> None:
    key = sent(client, open_board, submitter)
    answer = client.post(f"/boards/{open_board.slug}/submit/", form(submitter, kept=key, check="1", **CHOSEN))
    assert "The check found no faults." in words(answer)
    page = answer.content.decode()
    assert f'name="kept" value="{key}"' in page
    assert '<option value="said" selected>' in page
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"prompt_id": "nr", "reply": "nr"}, "The column 'nr' is chosen for both prompt_id and reply"),
        ({"prompt_id": "nr", "reply": ""}, "No column is chosen for reply"),
        ({"prompt_id": "nr", "reply": "gone"}, "The file has no column 'gone'"),
    ],
)
def test_an_impossible_choice_is_refused_and_shown_again(
    client: Client, open_board: Campaign, submitter: User, chosen: dict[str, str], said: str
) -> None:
    key = sent(client, open_board, submitter)
    answer = client.post(f"/boards/{open_board.slug}/submit/", form(submitter, kept=key, **chosen))
    assert answer.status_code == 400
    assert said in words(answer)
    assert f'name="kept" value="{key}"' in answer.content.decode()
    assert not Submission.objects.exists()


def test_another_file_takes_the_place_of_a_kept_one(client: Client, open_board: Campaign, submitter: User) -> None:
    key = sent(client, open_board, submitter)
    better = SimpleUploadedFile("b.csv", b"prompt_id,reply\n" + b"".join(b"p%d,Right.\n" % n for n in range(6)))
    client.post(f"/boards/{open_board.slug}/submit/", form(submitter, kept=key, file=better, **CHOSEN))
    made = Submission.objects.get()
    assert set(Reply.objects.filter(version=made.version).values_list("text", flat=True)) == {"Right."}


def test_nobody_reads_the_kept_file_of_somebody_else(
    client: Client, open_board: Campaign, submitter: User, charlie: User
) -> None:
    key = sent(client, open_board, submitter)
    other = Client()
    other.force_login(charlie)
    answer = other.post(f"/boards/{open_board.slug}/submit/", form(charlie, kept=key, **CHOSEN))
    assert answer.status_code == 404
    assert "There is no such file any more." in words(answer)
    assert "mine.csv" not in words(answer)
    assert not Submission.objects.exists()


def test_a_file_with_one_column_is_refused_without_a_choice(
    client: Client, open_board: Campaign, submitter: User
) -> None:
    file = SimpleUploadedFile("one.csv", b"said\nYes.\n")
    answer = client.post(f"/boards/{open_board.slug}/submit/", form(submitter, file=file))
    assert answer.status_code == 400
    assert "kept" not in answer.content.decode()
    assert not Upload.objects.exists()
