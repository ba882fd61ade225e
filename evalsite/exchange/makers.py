"""Makers of the chatbots in a vote file: the organisation of each, by option or by a file with two columns."""

from argparse import ArgumentTypeError
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from evalsite.accounts.models import Organisation
from evalsite.chatbots.makers import maker_named, maker_record
from evalsite.chatbots.models import Chatbot
from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import identifier, rows_read

COLUMNS = ("chatbot", "organisation")
MOST_NAMED = 3

Maker = tuple[str, str]  # (chatbot, slug)


def maker_argument(text: str) -> Maker:
    """Parse "CHATBOT=SLUG" to (chatbot, slug). A name may contain "=", a slug does not."""
    chatbot, sign, slug = text.rpartition("=")
    if not sign or not chatbot.strip() or not slug.strip():
        raise ArgumentTypeError(f"{text!r} is not CHATBOT=SLUG")
    return chatbot.strip(), slug.strip()


def makers_read(path: Path) -> list[Maker]:
    """Return the makers in the columns chatbot and organisation of a CSV or JSONL file.

    Raises InvalidInput for an unreadable file, a missing column or an empty cell.
    """
    try:
        reading = rows_read(path.read_bytes(), path.name)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}).", field="makers") from error
    for column in COLUMNS:
        if column not in reading.columns:
            raise InvalidInput(
                f"{path} has no column {column}.", hint="It needs the columns chatbot and organisation.", field=column
            )
    found = []
    for row in reading.rows:
        chatbot, slug = (str(identifier(row.cells.get(column) or "")).strip() for column in COLUMNS)
        if row.problem or not (chatbot and slug):
            problem = row.problem or "the name of the chatbot or of the organisation is empty"
            raise InvalidInput(f"{path}, line {row.line:,}: {problem}.", field="makers")
        found.append((chatbot, slug))
    return found


def makers_found(named: Iterable[Maker], chatbots: Collection[str]) -> dict[str, Organisation]:
    """Map chatbots to their makers.

    Raises InvalidInput for a chatbot that is not in the votes or has two makers, and for an unknown organisation.
    """
    slugs: dict[str, str] = {}
    for chatbot, slug in named:
        if chatbot not in chatbots:
            some = ", ".join(sorted(chatbots)[:MOST_NAMED]) + (", …" if len(chatbots) > MOST_NAMED else "")
            raise InvalidInput(
                f"The votes have no chatbot {chatbot!r}.",
                hint=f"Use a name from the votes ({some}).",
                field="made_by",
            )
        if slugs.setdefault(chatbot, slug) != slug:
            raise InvalidInput(
                f"The chatbot {chatbot!r} has two makers, {slugs[chatbot]!r} and {slug!r}.",
                hint="Name one organisation for each chatbot.",
                field="made_by",
            )
    return dict(_organisations(slugs))


def _organisations(slugs: Mapping[str, str]) -> Iterator[tuple[str, Organisation]]:
    for chatbot, slug in slugs.items():
        if (maker := maker_named(slug)) is not None:
            yield chatbot, maker


def makers_record(makers: Mapping[str, Organisation], *, keeper: Organisation) -> None:
    """Record the makers of the chatbots with these names that `keeper` manages.

    Raises Conflict if another maker is recorded.
    """
    chatbots = Chatbot.objects.filter(organisation=keeper, name__in=makers)
    for chatbot in chatbots.select_related("organisation", "made_by"):
        maker_record(chatbot=chatbot, maker=makers[chatbot.name])
