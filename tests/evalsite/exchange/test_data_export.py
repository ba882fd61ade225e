"""Data out: votes, preferences, boards, cards and results, safe in spreadsheets, and the same again after an import."""

import csv
import io
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import campaign_show
from evalsite.chatbots.files import chatbot_import, replies_csv, replies_jsonl
from evalsite.chatbots.models import Version
from evalsite.core.errors import Conflict
from evalsite.exchange.campaign_file import campaign_read, campaign_take, campaign_write
from evalsite.exchange.data_export import COLUMNS, as_csv, as_jsonl, as_parquet, preference_rows, vote_rows
from evalsite.exchange.vote_file import read_votes
from evalsite.exchange.vote_import import votes_import
from evalsite.judgments.models import Annotator, AnnotatorIdentity
from evalsite.prompts.files import prompt_set_import, prompts_csv, prompts_jsonl
from evalsite.prompts.models import PromptSet
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

pytestmark = pytest.mark.django_db
Write = Callable[..., Path]
HOSTILE = ["=cmd|'/C calc'!A1", "@SUM(1)", "-1+2", "'=quoted", "''-", "it's", "plain"]


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """A campaign with votes of two annotators: A is better, and ties."""
    judge(campaign, bob, blocks=1)
    judge(campaign, dora, "tie", blocks=1)
    run_jobs()
    campaign.refresh_from_db()
    return campaign


def written(campaign: Campaign, form: str) -> bytes:
    if form == "parquet":
        pytest.importorskip("pyarrow")
        with as_parquet(vote_rows(campaign)) as file:
            return file.read()
    return "".join((as_csv if form == "csv" else as_jsonl)(vote_rows(campaign))).encode()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_votes_exported_imported_and_exported_again_are_the_same_bytes(
    judged: Campaign, write: Write, form: str
) -> None:
    first = written(judged, form)
    imported = votes_import(path=write(first), name="Again", organisation="Others")
    assert imported.votes == len(list(vote_rows(judged))) > 0
    again = imported.board.default_of
    assert again is not None
    assert written(again, form) == first
    assert not votes_import(path=write(first), name="Again", organisation="Others").created


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_votes_of_a_file_come_out_the_same_after_one_export(write: Write, form: str) -> None:
    rows = [
        {"model_a": name, "model_b": "crane", "winner": w, "question_id": f"q{n % 3}", "judge": f"person {n % 2}",
         "turn": n % 2 + 1, "a_first": n % 2, "tstamp": 1682351591.1 + n, "category": "xy"[n % 2]}
        for n, (name, w) in enumerate(zip(HOSTILE, ["tie", "model_a", "both_bad", "model_b"] * 2, strict=False))
    ]  # fmt: skip
    path = write("".join(json.dumps(row) + "\n" for row in rows))
    exports = []
    for name in ("one", "two", "three"):
        campaign = votes_import(path=path, name=name, organisation="Files").board.default_of
        assert campaign is not None
        exports.append(written(campaign, form))
        path = write(exports[-1], name=f"{name}.dat")
    assert exports[1] == exports[2]
    votes = read_votes(path)
    assert {*votes.system_a, *votes.system_b} == {*HOSTILE, "crane"}
    assert not {"person 0", "person 1"} & set(votes.annotator_id), "names in a file are personal"


def test_csv_is_safe_in_spreadsheets_and_names_come_back(write: Write) -> None:
    path = write("model_a,model_b,winner\n" + "".join(f'"{name}",crane,tie\n' for name in HOSTILE[:3]))
    campaign = votes_import(path=path, name="Hostile", organisation="Files").board.default_of
    assert campaign is not None
    text = written(campaign, "csv").decode()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert {*read_votes(write(text, name="out")).system_a} == set(HOSTILE[:3])


def test_first_columns_are_those_of_arena_rank(judged: Campaign) -> None:
    header, first = list(csv.reader(io.StringIO(written(judged, "csv").decode())))[:2]
    assert tuple(header) == COLUMNS
    assert header[:3] == ["model_a", "model_b", "winner"]
    assert first[2] in {"model_a", "model_b", "tie", "both_bad"}


def test_pseudonyms_do_not_tell_who_an_annotator_is_elsewhere(judged: Campaign, bob: Annotator) -> None:
    names = {row["judge"] for row in vote_rows(judged)}
    assert len(names) == 2
    assert str(bob.public_id) not in names
    assert str(uuid.uuid5(judged.public_id, str(bob.public_id))) in names


def test_preferences_hold_both_replies_of_each_decided_item(judged: Campaign) -> None:
    rows = list(preference_rows(judged))
    assert rows
    for row in rows:
        assert row["chosen"] == f"{row['chosen_model'].removeprefix('trial ').capitalize()} on {row['prompt_id']}."
        assert row["votes_chosen"] > row["votes_rejected"]
        assert row["chosen_model"] != row["rejected_model"]
        assert isinstance(row["prompt"], str)


PROMPTS = (
    '{"prompt_id": "p1", "text": "=1+1 \\r\\n is what?", "category": "maths"}\n'
    '{"prompt_id": "p2", "turns": [{"speaker": "user", "text": "Hi"}, {"speaker": "chatbot", "text": "-"}, '
    '{"speaker": "user", "text": "\\u00e9?"}], "category": ""}\n'
)
REPLIES = (
    '{"prompt_id": "p1", "reply": "- one\\n- two", "sample": 1}\n{"prompt_id": "p2", "reply": "\'=3", "sample": 1}\n'
)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_prompts_and_replies_come_out_as_they_went_in(organisation: Organisation, form: str) -> None:
    found: list[list[str]] = []
    prompts, replies, ending = PROMPTS, REPLIES, "jsonl"
    for name in ("one", "two"):
        prompt_set, _ = prompt_set_import(
            organisation=organisation, set_name=name, content=prompts.encode(), name=f"p.{ending}"
        )
        version, _report = chatbot_import(
            organisation=organisation,
            prompt_set=prompt_set,
            name=name,
            content=replies.encode(),
            filename=f"r.{ending}",
        )
        lines = form == "jsonl"
        prompts = "".join(prompts_jsonl(prompt_set) if lines else prompts_csv(prompt_set))
        replies = "".join(replies_jsonl(version, prompt_set) if lines else replies_csv(version, prompt_set))
        found.append([prompts, replies])
        ending = form
    assert found[0] == found[1]
    texts = [
        list(PromptSet.objects.get(name=name).prompts.order_by("pk").values_list("turns", flat=True))
        for name in ("one", "two")
    ]
    assert texts[0] == texts[1]
    if form == "jsonl":
        assert found[0][0].count("\n") == 2


def test_campaign_file_comes_out_the_same_under_another_address(organisation: Organisation, judged: Campaign) -> None:
    text = campaign_write(judged)
    moved = text.replace(f"slug: {judged.slug}\n", "slug: moved\n", 1)
    versions = Version.objects.count()
    taken = campaign_take(organisation=organisation, given=campaign_read(moved))
    assert campaign_write(taken) == moved
    assert Version.objects.count() == versions, "equal replies need no other version"


def test_campaign_file_with_other_replies_needs_another_version(organisation: Organisation, judged: Campaign) -> None:
    text = campaign_write(judged).replace(f"slug: {judged.slug}\n", "slug: moved\n", 1)
    changed = text.replace("Bot 0 on ", "Somebody else on ", 1)
    assert changed != text
    with pytest.raises(Conflict, match="with other replies"):
        campaign_take(organisation=organisation, given=campaign_read(changed))


def body(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return str(content.decode("utf-8", "replace"))


FILES = ("votes.csv", "votes.jsonl", "votes.parquet", "README.md", "preferences.jsonl")


def test_board_offers_data_only_where_it_is_released(judged: Campaign, stranger: Client, owner: Client) -> None:
    campaign_show(campaign=judged, visibility="public")
    assert "are not released" in words(stranger.get("/boards/trial/data/"))
    for name in FILES:
        assert stranger.get(f"/boards/trial/data/{name}").status_code == 404
        assert owner.get(f"/console/trial/data/{name}").status_code == 200
    campaign_show(campaign=judged, releases_data=True, licence="CC-BY-4.0")
    page = stranger.get("/boards/trial/data/")
    assert "Licence: CC-BY-4.0." in words(page)
    assert body(stranger.get("/boards/trial/data/votes.csv")).encode() == written(judged, "csv")
    assert stranger.get("/boards/trial/data/preferences.jsonl").status_code == 404, "texts are not shown"
    campaign_show(campaign=judged, shows_prompts=True, shows_replies=True)
    for name in FILES:
        assert f'href="/boards/trial/data/{name}"' in stranger.get("/boards/trial/data/").content.decode()
        assert stranger.get(f"/boards/trial/data/{name}").status_code == 200
    campaign_show(campaign=judged, visibility="private")
    assert stranger.get("/boards/trial/data/votes.csv").status_code == 404


def test_console_offers_every_file(judged: Campaign, owner: Client, stranger: Client) -> None:
    page = owner.get("/console/trial/judgments/").content.decode()
    for name in FILES:
        assert f'href="/console/trial/data/{name}"' in page
    assert owner.get("/console/trial/data/other.csv").status_code == 404
    assert stranger.get("/console/trial/data/votes.csv").status_code == 302


def test_card_names_licence_and_fields(judged: Campaign, owner: Client) -> None:
    campaign_show(campaign=judged, licence="CC0-1.0")
    card = body(owner.get("/console/trial/data/README.md"))
    assert yaml.safe_load(card.split("---")[1])["license"] == "CC0-1.0"
    assert all(f"| `{name}` |" in card for name in COLUMNS)


def test_state_of_the_board_is_a_table(judged: Campaign, stranger: Client) -> None:
    campaign_show(campaign=judged, visibility="public")
    rows = list(csv.DictReader(io.StringIO(body(stranger.get("/boards/trial/data/state/board.csv")))))
    as_json = stranger.get("/boards/trial/data/state/board.json").json()
    assert [row["name"] for row in rows] == [row["name"] for row in as_json["rows"]]
    assert as_json["judgments"] == sum(row["judgments"] for row in as_json["rows"]) // 2
    assert stranger.get("/boards/trial/data/state/board.xml").status_code == 404


def test_file_of_the_board_lists_withdrawn_chatbots_last(judged: Campaign, stranger: Client) -> None:
    campaign_show(campaign=judged, visibility="public")
    before = stranger.get("/boards/trial/data/state/board.json").json()["rows"]
    Entrant.objects.filter(campaign=judged, version__chatbot__name=before[0]["name"]).update(
        state="withdrawn", withdrawn_reason="asked"
    )
    rows = list(csv.DictReader(io.StringIO(body(stranger.get("/boards/trial/data/state/board.csv")))))
    assert [row["name"] for row in rows] == [row["name"] for row in (*before[1:], before[0])]
    assert [(row["rank"], row["withdrawn"]) for row in rows[-2:]] == [(str(len(rows) - 1), "false"), ("", "true")]


def test_result_of_a_chatbot_is_a_file_for_the_hub(judged: Campaign, stranger: Client) -> None:
    campaign_show(campaign=judged, visibility="public")
    page = stranger.get("/boards/trial/data/").content.decode()
    version = str(judged.entrants.order_by("pk")[0].version.chatbot.public_id)
    address = f"/boards/trial/data/chatbots/{version}.yaml"
    assert address in page
    (entry,) = yaml.safe_load(body(stranger.get(address)))
    assert entry["dataset"]["id"] == "trial"
    assert isinstance(entry["value"], float)
    assert entry["source"]["url"].endswith("/boards/trial/")
    assert "95 % interval" in entry["notes"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_command_writes_what_the_page_does(judged: Campaign, capsys: pytest.CaptureFixture[str], form: str) -> None:
    call_command("export_data", "votes", "trial", format=form)
    assert capsys.readouterr().out.encode() == written(judged, form)
    for kind in ("card", "board", "preferences"):
        call_command("export_data", kind, "trial")
        assert "trial bot 0" in capsys.readouterr().out or kind == "card"


def test_erased_names_get_a_pseudonym(judged: Campaign, write: Write) -> None:
    first = written(judged, "csv")
    campaign = votes_import(path=write(first), name="Again", organisation="Others").board.default_of
    assert campaign is not None
    AnnotatorIdentity.objects.filter(source__startswith="again/").delete()
    again = written(campaign, "csv")
    assert again != first
    assert len(again.splitlines()) == len(first.splitlines())
