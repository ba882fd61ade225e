"""Names in files that would turn, hide or colour what a terminal shows: commands print them with their escapes."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation
from evalsite.exchange.file_ranking import rank_votes
from evalsite.exchange.text_tables import as_table
from evalsite.exchange.vote_file import read_votes
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.exchange.conftest import Write

TURNED, NAMED = "bot\u202e1", r"bot\u202e1"
VOTES = f"vote_id,system_a,system_b,outcome,prompt_id,category\n{TURNED},{TURNED},c,1,{TURNED},{TURNED}\n"


@pytest.mark.parametrize("model", ["board", "pair"])
def test_a_table_names_what_it_does_not_show(write: Write, model: Any) -> None:
    text = as_table(rank_votes(read_votes(write(VOTES), by="category"), model=model))
    assert (TURNED in text, NAMED in text) == (False, True)


def told(*arguments: Any, **options: Any) -> str:
    """All that a command says, with what it refuses."""
    out = io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=out, **options)
    except CommandError as error:
        out.write(str(error))
    return out.getvalue()


@pytest.mark.parametrize("command", ["rank", "replay"])
def test_a_refusal_that_repeats_what_was_asked_for(write: Write, command: str) -> None:
    said = told(command, str(write(VOTES)), where=[("category", f"{TURNED}2")])
    assert (TURNED in said, NAMED in said) == (False, True)


@pytest.mark.django_db
def test_votes_that_changed(write: Write) -> None:
    told("import_votes", str(write(VOTES)), campaign="trial")
    said = told("import_votes", str(write(VOTES.replace(",1,", ",0,"))), campaign="trial")
    assert (TURNED in said, NAMED in said) == (False, True)


def test_rows_that_are_refused_and_prompts_without_a_reply(organisation: Organisation, write: Write) -> None:
    where = {"set": "spring", "organisation": organisation.slug}
    refused = told("import_prompts", str(write(f"prompt_id,text\n{TURNED},Why?\n", name="p.csv")), **where)
    assert (TURNED in refused, NAMED in refused) == (False, True)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in refused
    kept = [NewPrompt(TURNED, None), NewPrompt("p", None)]
    prompt_set_create(organisation=organisation, name="spring", prompts=kept, origin=Prompt.Origin.IMPORT)
    unanswered = told("import_chatbot", str(write("prompt_id,reply\np,x\n", name="r.csv")), name="b", **where)
    assert (TURNED in unanswered, NAMED in unanswered) == (False, True)


def test_a_campaign_file_with_a_key_that_is_not_known(write: Write) -> None:
    said = told("campaign", "validate", write(f'touchstone: 1\n"{TURNED}": 1\n"\\e[2J": 1\n'))
    assert (TURNED in said, NAMED in said, "\x1b" in said) == (False, True, False)
    assert len(said.splitlines()) > 2
