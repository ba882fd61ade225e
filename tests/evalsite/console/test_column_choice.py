"""Columns of prompt and reply files are chosen in the set-up, where their names do not say enough."""

import json

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.core.models import Upload
from tests.evalsite.console.test_setup import draft, file, fill, url
from tests.evalsite.pages.test_pages import words

__all__ = ["draft"]

ROWS = [
    {"number": 1, "wording": "Why, then?", "kind": "x"},
    {"number": 2, "wording": "How\nso?", "kind": "y"},
]
PROMPT_FILES = {
    "p.csv": 'number,wording,kind\n1,"Why, then?",x\n2,"How\nso?",y\n',
    "p.jsonl": "\n".join(map(json.dumps, ROWS)),
    "p.json": json.dumps(ROWS),
}
REPLY_FILES = {
    "new.csv": "nr,said\np0,Yes.\np1,No.\n",
    "new.jsonl": '{"nr": "p0", "said": "Yes."}\n{"nr": "p1", "said": "No."}\n',
}
CHOSEN = {"columns": "yes", "prompt_id": "number", "text": "wording", "category": "kind"}


def send(owner: Client, draft: Campaign, content: str, name: str = "p.csv") -> str:
    return words(owner.post(url(draft, "prompts"), {"file": file(name, content), "pasted": ""}, follow=True))


@pytest.mark.parametrize("name", PROMPT_FILES)
def test_columns_of_prompts_are_chosen(owner: Client, draft: Campaign, name: str) -> None:
    text = send(owner, draft, PROMPT_FILES[name], name)
    assert "The file looks like" in text
    assert "There is no column prompt_id." in text
    page = owner.get(url(draft, "prompts")).content.decode()
    assert '<option value="number" selected>' in page
    assert '<option value="wording" selected>' in page
    assert "2 prompts to add" in words(owner.post(url(draft, "prompts"), CHOSEN, follow=True))
    owner.post(url(draft, "prompts"), {"take": "yes"})
    found = [(one.key, one.turns, one.category) for one in draft.prompt_set.prompts.order_by("pk")]
    assert found == [
        ("1", [{"speaker": "user", "text": "Why, then?"}], "x"),
        ("2", [{"speaker": "user", "text": "How\nso?"}], "y"),
    ]


def test_of_several_columns_the_chosen_one_is_read(owner: Client, draft: Campaign) -> None:
    assert "Several columns can be text" in send(owner, draft, "id,prompt,question\n1,no,Why?\n")
    chosen = {"columns": "yes", "prompt_id": "id", "text": "question", "category": ""}
    text = words(owner.post(url(draft, "prompts"), chosen, follow=True))
    assert "1 prompt to add" in text
    owner.post(url(draft, "prompts"), {"take": "yes"})
    assert draft.prompt_set.prompts.get().turns == [{"speaker": "user", "text": "Why?"}]


def test_a_column_with_our_name_can_be_passed_over(owner: Client, draft: Campaign) -> None:
    send(owner, draft, "nr,text,wording\n1,old,Why?\n")
    chosen = {"columns": "yes", "prompt_id": "nr", "text": "wording"}
    assert "Columns that mean nothing here: text (1)" in words(owner.post(url(draft, "prompts"), chosen, follow=True))


def test_a_faulty_row_keeps_its_number_and_its_fault(owner: Client, draft: Campaign) -> None:
    send(owner, draft, "number,wording,kind\n1,Why?,x\n2,too,many,cells\n")
    text = words(owner.post(url(draft, "prompts"), CHOSEN, follow=True))
    assert "it has more cells than the head" in text
    rows = owner.get(url(draft, "prompts")).context["rows"]
    assert [(row.line, row.fate) for row in rows] == [(3, "refused"), (2, "add")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": "nothing"}, "The file has no column 'nothing'"),
        ({"text": "\0"}, "The file has no column"),
        ({"text": "number"}, "The column 'number' is chosen for both prompt_id and text"),
        ({"text": ""}, "No column is chosen for text"),
        ({"prompt_id": ""}, "No column is chosen for prompt_id"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(owner: Client, draft: Campaign, change: dict[str, str], said: str) -> None:
    send(owner, draft, PROMPT_FILES["p.csv"])
    before = bytes(Upload.objects.get().content)
    answer = owner.post(url(draft, "prompts"), {**CHOSEN, **change})
    assert (answer.status_code, said in words(answer)) == (400, True), words(answer)
    assert bytes(Upload.objects.get().content) == before


def test_without_a_kept_file_no_columns_are_chosen(owner: Client, draft: Campaign) -> None:
    assert owner.post(url(draft, "prompts"), CHOSEN).status_code == 404
    assert owner.post(url(draft, "chatbots"), {"columns": "x"}).status_code == 404


@pytest.mark.parametrize("name", REPLY_FILES)
def test_columns_of_replies_are_chosen(owner: Client, draft: Campaign, name: str) -> None:
    fill(owner, draft, chatbots=1, prompts=2)
    sent = {"file": [file("ready.csv", "prompt_id,reply\np0,Yes.\np1,No.\n"), file(name, REPLY_FILES[name])]}
    text = words(owner.post(url(draft, "chatbots"), sent, follow=True))
    assert "There is no column prompt_id." in text
    key = Upload.objects.get(name=name).public_id
    page = owner.get(url(draft, "chatbots")).content.decode()
    assert f'name="reply-{key}"' in page
    twice = {"columns": str(key), f"prompt_id-{key}": "nr", f"reply-{key}": "nr"}
    assert "is chosen for both" in words(owner.post(url(draft, "chatbots"), twice))
    owner.post(url(draft, "chatbots"), {**twice, f"reply-{key}": "said"})
    owner.post(url(draft, "chatbots"), {"take": "yes"})
    assert [one.name for one in draft.entrants.order_by("pk")] == ["bot 0", "ready", "new"]
