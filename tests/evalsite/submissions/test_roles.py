"""Every row of the table of submitters in docs/roles.md: who may do what with a submission."""

from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.services import user_create
from evalsite.campaigns.models import Campaign
from evalsite.submissions.models import Submission
from tests.evalsite.pages.test_roles import table, undone
from tests.evalsite.submissions.steps import replies, submit
from tests.shared import shared

CELLS = table("## Submitters")
COLUMNS = ("submitter", "viewer of the organisation", "owner, manager of the campaign", "everybody else")


@shared
def team(submitter: User) -> Organisation:
    found = Organisation.objects.found(name="Team", owner=submitter)
    Membership.objects.create(
        organisation=found, user=user_create(username="vera", password="correct horse battery"), role="viewer"
    )
    return found


@pytest.fixture
def made(board: Campaign, submitter: User, team: Organisation) -> Submission:
    found = submit(board, submitter)
    Submission.objects.filter(pk=found.pk).update(organisation=team)
    found.refresh_from_db()
    return found


def client_of(column: str, charlie: User) -> Client:
    names = dict(zip(COLUMNS, ("sam", "vera", "alice", charlie.username), strict=True))
    client = Client()
    client.force_login(User.objects.get(username=names[column]))
    return client


def send(client: Client, made: Submission) -> int:
    data = {"organisation": "team", "name": "Other", "file": SimpleUploadedFile("r.csv", replies("Well"))}
    return int(client.post("/boards/trial/submit/", data).status_code)


DOORS: dict[str, Callable[[Client, Submission], int]] = {
    "see what a visible campaign accepts": lambda client, made: (
        client.get("/api/v1/campaigns/trial/submissions/settings").status_code
    ),
    "submit a chatbot, and check it first": send,
    "download the prompts, where the campaign allows it": lambda client, made: (
        client.get("/boards/trial/submit/prompts.csv").status_code
    ),
    "see a submission, its state and its private results": lambda client, made: (
        client.get(f"/submissions/{made.public_id}/").status_code
    ),
    "withdraw it": lambda client, made: client.post(f"/submissions/{made.public_id}/withdraw/").status_code,
    "approve or refuse it": lambda client, made: (
        client.post(f"/console/trial/submissions/{made.public_id}/", {"approve": "1"}).status_code
    ),
}
# Everybody submits for their own organisation: for another one they are nobody. Prompts are for whoever may submit.
OWN = {"download the prompts, where the campaign allows it"}


def test_every_row_is_tested() -> None:
    assert set(CELLS) == set(DOORS)
    assert all(tuple(cells) == COLUMNS for cells in CELLS.values())


@pytest.mark.parametrize("act", sorted(set(DOORS) - OWN))
def test_submissions_are_for_whom_the_table_says(made: Submission, charlie: User, act: str) -> None:
    for column in COLUMNS:
        with undone():
            status = DOORS[act](client_of(column, charlie), made)
            assert (status in {200, 302}) == (CELLS[act][column] == "yes"), f"{column}: {status}"


def test_prompts_are_downloaded_by_submitters_only(made: Submission, charlie: User) -> None:
    act = "download the prompts, where the campaign allows it"
    assert DOORS[act](client_of("submitter", charlie), made) == 200
    assert Client().get("/boards/trial/submit/prompts.csv").status_code == 302
