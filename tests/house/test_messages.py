"""What the pages say is said in every language, and the compiled catalogues are those of their sources."""

from collections.abc import Iterable

import pytest
from babel.messages import Catalog, Message

from tests.house import messages

LANGUAGES = messages.languages()


@pytest.fixture(scope="module")
def said() -> Catalog:
    return messages.gathered()


def keys(found: Iterable[Message]) -> set[tuple[str, str]]:
    return {(message.context or "", str(message.id)) for message in found if message.id}


def test_templates_and_code_are_gathered_with_plurals(said: Catalog) -> None:
    found = keys(said)
    assert ("", "Skip to the content") in found  # of a template
    assert ("", "Check the address. The page may also be private or deleted.") in found
    assert ("", "('%(n)s chatbot', '%(n)s chatbots')") in found
    assert ("", "by its owner") in found  # of code


def test_there_is_a_second_language() -> None:
    assert LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
class TestACatalogue:
    def test_holds_what_the_pages_say_and_nothing_else(self, language: str, said: Catalog) -> None:
        assert keys(messages.catalogue(language)) == keys(said), "Run: make messages"

    def test_leaves_nothing_untranslated(self, language: str) -> None:
        assert messages.missing(messages.catalogue(language)) == []

    def test_fills_the_same_gaps_as_the_original(self, language: str) -> None:
        catalogue = messages.catalogue(language)
        wrong = [
            f"{message.id}: {error}"
            for message in catalogue
            if "%(" in str(message.id)  # Babel takes the percent sign of "95 % interval" for a gap
            for error in message.check(catalogue)
        ]
        assert wrong == []

    def test_is_compiled_from_its_source(self, language: str) -> None:
        there = messages.source(language).with_suffix(".mo").read_bytes()
        assert there == messages.compiled(messages.catalogue(language)), "Run: make messages"
