"""Reply files: `prompt_id, reply[, sample]` as CSV or JSON.

Files of MT-bench, AlpacaEval and OpenAI (messages) are read as well, and text files with one reply per line.

The report lists the result for every row. No text is truncated.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.chatbots.makers import maker_check, maker_named, maker_record
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.own_names import Treatment, names_treated
from evalsite.chatbots.reply_report import ReplyReport, ReplyRow
from evalsite.chatbots.services import chatbot_create, text_sha256, version_create
from evalsite.core.audit import audit_record
from evalsite.core.column_choice import ColumnsUnclear
from evalsite.core.dataset_rows import REPLY_COLUMNS, lines_matched, replies_converted
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.number_format import whole
from evalsite.core.row_files import (
    LONGEST_CELL,
    FileRow,
    column_list,
    csv_text,
    identifier,
    rows_read,
    rows_refuse,
    unstorable,
)
from evalsite.prompts.models import Prompt, PromptSet

KNOWN = {"prompt_id", "reply", "sample"}
MOST_SAMPLES = 100
LONGEST_NAME, LONGEST_LABEL = 200, 100
_WHOLE = re.compile(r"(?P<number>[0-9]{1,3})(\.0)?")


def replies_csv(version: Version, prompt_set: PromptSet) -> Iterator[str]:
    """Yield a version's replies to the prompts of a set as a CSV file that `chatbot_import` reads."""
    yield csv_text([["prompt_id", "reply", "sample"]])
    for row in _written(version, prompt_set):
        yield csv_text([row])


def replies_jsonl(version: Version, prompt_set: PromptSet) -> Iterator[str]:
    """Yield a version's replies to the prompts of a set as JSON lines that `chatbot_import` reads."""
    for key, text, sample in _written(version, prompt_set):
        yield json.dumps({"prompt_id": key, "reply": text, "sample": sample}, ensure_ascii=False) + "\n"


def _written(version: Version, prompt_set: PromptSet) -> Iterator[tuple[str, str | None, int]]:
    rows = version.replies.filter(prompt__prompt_set=prompt_set, corrected_by__isnull=True, text__isnull=False)
    return rows.order_by("prompt", "sample").values_list("prompt__key", "text", "sample").iterator()


def replies_preview(*, prompt_set: PromptSet, content: bytes, name: str = "") -> ReplyReport:
    """Return the result for each row without writing. Raises InvalidInput for an unreadable file."""
    keys = _prompts(prompt_set)
    reading = replies_converted(rows_read(content, name))
    if reading.form == "text" and name:
        reading = lines_matched(reading, keys)
    for column in ("prompt_id", "reply"):
        if column not in reading.columns:
            raise ColumnsUnclear(
                _("There is no column %(column)s.") % {"column": column},
                hint=_hint(reading.columns),
                field=column,
                reading=reading,
                synonyms=REPLY_COLUMNS,
            )
    seen: dict[tuple[str, int], int] = {}
    rows = tuple(_checked(row, keys, seen) for row in reading.rows)
    answered = {row.key for row in rows if row.fate == "add" and row.sample == 1}
    missing = tuple(key for key in keys if key not in answered)
    return ReplyReport(rows, len(keys), missing, tuple(name for name in reading.columns if name not in KNOWN))


def _hint(columns: Sequence[str]) -> str:
    there = column_list(columns)
    if not there:
        return _("A reply file has prompt_id, reply and perhaps sample; this one has no columns.")
    return _("A reply file has prompt_id, reply and perhaps sample; not %(columns)s.") % {"columns": there}


def _prompts(prompt_set: PromptSet) -> dict[str, Prompt]:
    in_force = prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk").only("key", "prompt_set_id")
    return {prompt.key: prompt for prompt in in_force}


def _checked(row: FileRow, keys: Mapping[str, Prompt], seen: dict[tuple[str, int], int]) -> ReplyRow:
    key = str(identifier(row.cells.get("prompt_id", ""))).strip()
    sample = _sample(row.cells.get("sample"))
    text = row.cells.get("reply")
    problem = row.problem or _problem(key, sample, text, keys)
    if not problem and (key, sample or 1) in seen:
        problem = _("line %(seen)s has a reply to the same prompt") % {"seen": seen[key, sample or 1]}
    if problem:
        return ReplyRow(row.line, key[:200], sample or 1, "", "refused", problem)
    seen[key, sample or 1] = row.line
    return ReplyRow(row.line, key, sample or 1, str(text), "add", "")


def _sample(value: object) -> int | None:
    """Return the sample number, from 1. Data frames write 1 as 1.0. A missing value means 1; None means invalid."""
    if value is None or value == "":
        return 1
    whole_number = _WHOLE.fullmatch(str(value).strip())
    number = int(whole_number["number"]) if whole_number else 0
    return number if 1 <= number <= MOST_SAMPLES else None


def _problem(key: str, sample: int | None, text: object, keys: Mapping[str, Prompt]) -> str:
    if not key:
        return _("it has no prompt_id")
    if key not in keys:
        return _("no prompt has the id %(key)s") % {"key": repr(key[:60])}
    if sample is None:
        return _("its sample is not a number from 1 to %(most)s") % {"most": MOST_SAMPLES}
    if not isinstance(text, str) and text is not None:
        return _("its %(name)s is not a text") % {"name": "reply"}
    if not text or not text.strip():
        return _("its reply is empty")
    if len(text) > LONGEST_CELL:
        return _("its reply is longer than %(longest)s characters") % {"longest": whole(LONGEST_CELL)}
    return ""


@dataclass(frozen=True, slots=True)
class VersionPreview:
    """A reply file and the version that it would create: its label, and its chatbot (None for a new one)."""

    chatbot: Chatbot | None
    label: str
    report: ReplyReport


def chatbot_preview(
    *,
    organisation: Organisation,
    prompt_set: PromptSet,
    name: str,
    content: bytes,
    filename: str = "",
    label: str | None = None,
    made_by: str = "",
) -> VersionPreview:
    """Return what `chatbot_import` would do with the file, whatever the state of its rows.

    Raises InvalidInput for an invalid name, label, maker or file. Raises Conflict if the version exists or another
    maker is on record.
    """
    maker = maker_named(made_by)
    _check_names(name.strip(), label)
    report = replies_preview(prompt_set=prompt_set, content=content, name=filename)
    found = _submission(organisation, name.strip(), label, report)
    _check_new(found)
    if found.chatbot:
        maker_check(found.chatbot, maker)
    return found


def _submission(organisation: Organisation, name: str, label: str | None, report: ReplyReport) -> VersionPreview:
    chatbot = Chatbot.objects.filter(organisation=organisation, name=name).first()
    return VersionPreview(chatbot, label or _next_label(chatbot), report)


def _check_new(found: VersionPreview) -> None:
    """Raise Conflict if the version exists, because the replies of a version never change."""
    if found.chatbot and found.chatbot.versions.filter(label=found.label).exists():
        raise Conflict(
            _("%(name)s has a version %(label)s already.") % {"name": found.chatbot.name, "label": repr(found.label)},
            hint=_("Give it another label."),
            field="label",
        )


def _check_names(name: str, label: str | None) -> None:
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput(_("A chatbot's name has 1 to 200 characters."), field="name")
    if label and not (label.strip() and len(label) <= LONGEST_LABEL):
        raise InvalidInput(
            _("A version's label has 1 to %(longest)s characters.") % {"longest": LONGEST_LABEL}, field="label"
        )
    if what := unstorable([name, label]):
        said = _("%(what)s stands in the name of a chatbot.") % {"what": what}
        raise InvalidInput(said[:1].upper() + said[1:], hint=_("Remove it."), field="name")
    Chatbot(name=name).names_check()
    if label:
        Version(label=label).names_check()


def chatbot_import(
    *,
    organisation: Organisation,
    prompt_set: PromptSet,
    name: str,
    content: bytes,
    filename: str = "",
    label: str | None = None,
    partly: bool = True,
    by: User | None = None,
    made_by: str = "",
    names: Treatment = Treatment.KEEP,
) -> tuple[Version, ReplyReport]:
    """Create a version from the replies of a file. Creates the chatbot if the organisation has none of this name.

    Without a label the version gets the next number. `made_by` is the slug of the organisation that made the chatbot,
    if that is another one. `names`: the treatment of replies that name the chatbot or a maker. Raises RowsRefused if a
    row is refused, unless `partly`. Raises Conflict if the version
    exists, another maker is on record, or the file has no reply. The import is logged for the chatbot.
    """
    name, maker = name.strip(), maker_named(made_by)
    _check_names(name, label)
    with write_transaction():
        # of two simultaneous files, one waits
        Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
        report = replies_preview(prompt_set=prompt_set, content=content, name=filename)
        if not partly:
            rows_refuse(report.rows)
        report = names_treated(report, [name], names)
        if not report.count("add"):
            raise Conflict(
                _("No row of the file of %(name)s can be used.") % {"name": name},
                hint=_("Look at its report."),
                field="file",
            )
        found = _submission(organisation, name, label, report)
        _check_new(found)
        chatbot = found.chatbot or chatbot_create(organisation=organisation, name=name)
        maker_record(chatbot=chatbot, maker=maker, by=by)
        version = version_create(chatbot=chatbot, label=found.label)
        _add(version, report, _prompts(prompt_set))
        after = {"version": version.label, "prompt_set": prompt_set.name, "replies": report.count("add")}
        audit_record(act="add_version", subject=chatbot.public_id, by=by, target=filename[:LONGEST_NAME], after=after)
    return version, report


def _next_label(chatbot: Chatbot | None) -> str:
    if chatbot is None:
        return "1"
    taken = set(chatbot.versions.values_list("label", flat=True))
    return next(str(number) for number in range(1, len(taken) + 2) if str(number) not in taken)


def _add(version: Version, report: ReplyReport, keys: Mapping[str, Prompt]) -> None:
    Reply.objects.bulk_create(
        (
            Reply(
                version=version,
                prompt=keys[row.key],
                sample=row.sample,
                text=row.text,
                sha256=text_sha256(row.text),
                origin=Reply.Origin.FILE,
            )
            for row in report.rows
            if row.fate == "add"
        ),
        batch_size=500,
    )
