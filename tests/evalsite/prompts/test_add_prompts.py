"""Prompts come in whole sets or not at all, and are checked at the door."""

import pytest

from evalsite.accounts.models import Organisation
from evalsite.core.errors import InvalidInput
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.prompts.services import NewPrompt, prompt_set_create, prompts_add

USER = {"speaker": "user", "text": "Hello?"}
BOT = {"speaker": "chatbot", "text": "Hello."}


def test_a_set_keeps_its_prompts_in_order_with_their_turns(organisation: Organisation) -> None:
    prompts = [NewPrompt("a", [USER], "greeting"), NewPrompt("b", [USER, BOT, USER])]
    made = prompt_set_create(organisation=organisation, name="Set", prompts=prompts)
    rows = list(made.prompts.order_by("pk"))
    assert [(row.key, row.category, len(row.turns or [])) for row in rows] == [("a", "greeting", 1), ("b", "", 3)]


def test_a_text_that_is_not_known_is_stored_as_unknown(organisation: Organisation) -> None:
    made = prompt_set_create(organisation=organisation, name="Set", prompts=[NewPrompt("a", None)])
    assert made.prompts.get().turns is None


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [BOT],
        [USER, BOT],
        [{"speaker": "user", "text": "  "}],
        [{"speaker": "judge", "text": "Hello?"}],
        [{"speaker": "user"}],
        [{**USER, "name": "x"}],
    ],
)
def test_invalid_turns_are_refused_and_nothing_is_added(
    organisation: Organisation, turns: list[dict[str, str]]
) -> None:
    with pytest.raises(InvalidInput, match="'a'"):
        prompt_set_create(organisation=organisation, name="Set", prompts=[NewPrompt("a", turns)])
    assert not PromptSet.objects.exists()
    assert not Prompt.objects.exists()


def test_a_key_that_the_set_has_is_refused(organisation: Organisation) -> None:
    made = prompt_set_create(organisation=organisation, name="Set", prompts=[NewPrompt("a", [USER])])
    with pytest.raises(InvalidInput, match="already"):
        prompts_add(prompt_set=made, prompts=[NewPrompt("a", [USER])], origin=Prompt.Origin.AUTHORED)
