"""Reader of labelled utterances: CSV or JSON lines, plain or gzipped, with the columns previous, utterance, domain."""

from __future__ import annotations

from pathlib import Path

from evalsite.exchange.conversation_files.problems import ConversationFileError, ConversationProblem
from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.file_opening import open_source
from evalsite.exchange.record_reading import Record, Records
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.topic_examples import Example


def read_topic_labels(path: Path | str) -> tuple[Example, ...]:
    """Return the labelled utterances of a file. Other columns are ignored; `previous` may be missing.

    Raises ConversationFileError with every problem of the file.
    """
    path = Path(path)
    found: list[Example] = []
    problems: list[ConversationProblem] = []
    try:
        with open_source(path) as source:
            for record in Records(source):
                problem = _problem(record)
                if problem is not None:
                    problems.append(problem)
                    if problem.field == "":
                        break
                    continue
                values = record.values
                found.append(Example(values.get("previous", ""), values["utterance"], values["domain"].strip()))
    except FormatError as error:
        problems.append(ConversationProblem(None, "", error.message, "" if error.code == "empty_file" else error.hint))
    if not problems and not found:
        problems.append(ConversationProblem(None, "", "has no rows", "Give a row for each utterance."))
    if problems:
        raise ConversationFileError(path, problems)
    return tuple(found)


def _problem(record: Record) -> ConversationProblem | None:
    missing = [name for name in ("utterance", "domain") if name not in record.values]
    if missing:
        return ConversationProblem(record.row, "", f"there is no column {missing[0]}", f"Add a column {missing[0]}.")
    domain = record.values["domain"].strip()
    if domain not in DOMAINS:
        return ConversationProblem(
            record.row, "domain", f"{quoted(domain)} is unknown", f"Use one of {', '.join(DOMAINS)}."
        )
    return None
