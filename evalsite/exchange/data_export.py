"""Data of a campaign as files: votes, preference pairs (DPO), and the card that describes them.

The files of votes are read by `rank`, `import_votes` and arena-rank as they are, and the import of one exports the same
bytes again. Annotators are pseudonyms of the campaign.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.chatbots.models import Reply
from evalsite.core.errors import Conflict
from evalsite.core.row_files import csv_text
from evalsite.exchange.models import ImportedVote
from evalsite.judgments.judgment_lists import Listed, Wanted, entrant_names, judgments_page
from evalsite.judgments.models import AnnotatorIdentity
from evalsite.prompts.models import Prompt

CHUNK = 1000
WINNERS = {"A": "model_a", "B": "model_b", "tie": "tie", "both_bad": "both_bad"}
COLUMNS = ("model_a", "model_b", "winner", "prompt_id", "category", "judge", "tstamp", "a_first", "judgment_id")
MEANINGS = {
    "model_a": "the first chatbot",
    "model_b": "the second chatbot",
    "winner": "model_a, model_b, tie or both_bad (a tie of two bad replies)",
    "prompt_id": "the prompt that both replied to",
    "category": "of the prompt",
    "judge": "pseudonym of the annotator, used for this campaign alone; empty: not known",
    "tstamp": "when it was judged; empty: not known",
    "a_first": "1: model_a was shown first; empty: not known",
    "judgment_id": "of the judgment",
}
Row = dict[str, Any]


def vote_rows(campaign: Campaign) -> Iterator[Row]:
    """Yield the counted votes on the campaign's first question, in the order of recording, gold left out."""
    names, aspect = entrant_names(campaign), aspect_primary(campaign)
    wanted = Wanted(counted=True, gold=False)
    after: uuid.UUID | None = None
    while rows := judgments_page(campaign=campaign, aspect=aspect, wanted=wanted, after=after, count=CHUNK):
        imported = _imported(rows)
        people = _pseudonyms(campaign, rows)
        for row in rows:
            yield _vote(row, names, people, imported.get(row.judgment))
        after = rows[-1].judgment


def _imported(rows: Iterable[Listed]) -> dict[uuid.UUID, ImportedVote]:
    found = ImportedVote.objects.filter(judgment__public_id__in=[row.judgment for row in rows])
    return {one.judgment.public_id: one for one in found.select_related("judgment")}


def _pseudonyms(campaign: Campaign, rows: Iterable[Listed]) -> dict[uuid.UUID, str]:
    """Return a name for each annotator, which tells nothing about them in other campaigns.

    Pseudonyms that came with an import stay, so that its export has them again. Other names of a file are personal.
    """
    people = {row.annotator for row in rows if row.annotator is not None}
    known = AnnotatorIdentity.objects.filter(
        annotator__public_id__in=people, source__startswith=f"{campaign.slug}/"
    ).values_list("annotator__public_id", "external_id")
    given = {person: name for person, name in known if _is_pseudonym(name)}
    return {one: given.get(one) or str(uuid.uuid5(campaign.public_id, str(one))) for one in people}


def _is_pseudonym(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name and uuid.UUID(name).version == 5
    except ValueError:
        return False


def _vote(
    row: Listed, names: Mapping[int | None, str], people: Mapping[uuid.UUID, str], imported: ImportedVote | None
) -> Row:
    told = row.answered_at.isoformat() if row.answered_at else None
    own = imported.vote_id.removeprefix("id ") if imported and imported.vote_id.startswith("id ") else None
    return {
        "model_a": names[row.first],
        "model_b": names[row.second],
        "winner": WINNERS[row.choice],
        "prompt_id": row.prompt,
        "category": (imported.category if imported else row.category) or None,
        "judge": people[row.annotator] if row.annotator else None,
        "tstamp": (imported.timestamp or None) if imported else told,
        "a_first": 1 if row.order_known else None,
        "judgment_id": own or str(row.judgment),
    }


def as_csv(rows: Iterable[Row]) -> Iterator[str]:
    """Yield CSV. A text that a spreadsheet would compute has an apostrophe before it, which imports take away."""
    yield ",".join(COLUMNS) + "\r\n"
    for chunk in _chunks(rows):
        yield csv_text([row[name] for name in COLUMNS] for row in chunk)


def as_jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """Yield JSON lines."""
    for chunk in _chunks(rows):
        yield "".join(json_lines(chunk))


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Yield one JSON object a line."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"


def as_parquet(rows: Iterable[Row]) -> IO[bytes]:
    """Return a temporary file with a Parquet table of text columns. Raises Conflict without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise Conflict(
            "Parquet files need the optional package pyarrow on the server.", hint="Download CSV or JSON Lines."
        ) from error
    schema = pa.schema([(name, pa.int8() if name == "a_first" else pa.string()) for name in COLUMNS])
    file = TemporaryFile()  # noqa: SIM115 # closed by the response
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in _chunks(rows):
            columns = {name: [row[name] for row in chunk] for name in COLUMNS}
            writer.write_table(pa.table(columns, schema=schema))
    file.seek(0)
    return file


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    stream = iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


def preference_rows(campaign: Campaign) -> Iterator[Row]:
    """Yield a pair of replies for each item that more votes prefer one way, with both texts: the triples of DPO.

    Ties and items without a majority say nothing about a preference. Prompts of one turn are texts; if any prompt of
    the campaign has more, all are lists of messages.
    """
    texts = {prompt.key: prompt.turns for prompt in _prompts(campaign) if prompt.turns}
    replies = _replies(campaign)
    messages = any(len(turns) > 1 for turns in texts.values())
    for (prompt, first, second), votes in _counted(campaign).items():
        lead = votes[first] - votes[second]
        chosen, rejected = (first, second) if lead > 0 else (second, first)
        if not lead or prompt not in texts or not {(chosen, prompt), (rejected, prompt)} <= replies.keys():
            continue
        yield {
            "prompt": _asked(texts[prompt], messages),
            "chosen": _answer(replies[chosen, prompt], messages),
            "rejected": _answer(replies[rejected, prompt], messages),
            "prompt_id": prompt,
            "chosen_model": chosen,
            "rejected_model": rejected,
            "votes_chosen": votes[chosen],
            "votes_rejected": votes[rejected],
        }


def _counted(campaign: Campaign) -> dict[tuple[str, str, str], Counter[str]]:
    """Return the votes for each chatbot by item, in the order of the items' first votes."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for row in vote_rows(campaign):
        first, second = sorted((row["model_a"], row["model_b"]))
        votes = found.setdefault((row["prompt_id"], first, second), Counter())
        if row["winner"] in {"model_a", "model_b"}:
            votes[row[row["winner"]]] += 1
    return found


def _prompts(campaign: Campaign) -> Iterable[Prompt]:
    return campaign.prompt_set.prompts.filter(corrected_by__isnull=True)


def _replies(campaign: Campaign) -> dict[tuple[str, str], str]:
    """Return the shown replies by chatbot and prompt."""
    names = entrant_names(campaign)
    of_version = {version: names[entrant] for entrant, version in campaign.entrants.values_list("pk", "version_id")}
    shown = Reply.objects.shown().filter(version__in=of_version, prompt__prompt_set=campaign.prompt_set_id)
    rows = shown.values_list("version_id", "prompt__key", "text")
    return {(of_version[version], prompt): text or "" for version, prompt, text in rows}


_ROLES = {"user": "user", "chatbot": "assistant"}


def _asked(turns: Iterable[Mapping[str, str]], messages: bool) -> Any:
    said = [{"role": _ROLES[turn["speaker"]], "content": turn["text"]} for turn in turns]
    return said if messages else said[0]["content"]


def _answer(text: str, messages: bool) -> Any:
    return [{"role": "assistant", "content": text}] if messages else text


def data_card(campaign: Campaign, *, address: str, count: Callable[[], int]) -> str:
    """Return the card of the released data: licence, size, fields and how it came about (Markdown with a header)."""
    size, licence = count(), campaign.licence
    return "\n".join(
        [
            "---",
            f"license: {json.dumps(licence or 'unknown', ensure_ascii=False)}",
            f"pretty_name: {json.dumps(campaign.name, ensure_ascii=False)}",
            "tags: [human-preference, pairwise-comparison, chatbot-evaluation]",
            "---",
            "",
            f"# {campaign.name}",
            "",
            *([campaign.description, ""] if campaign.description else []),
            f"{size:,} pairwise judgments of chatbots. Leaderboard and method: {address}",
            "",
            "## Question",
            "",
            f"> {aspect_primary(campaign).question}",
            "",
            "## Licence",
            "",
            licence or "The owner of the campaign names none. Ask before you use the data.",
            "",
            "## Fields",
            "",
            "| field | meaning |",
            "|---|---|",
            *(f"| `{name}` | {MEANINGS[name]} |" for name in COLUMNS),
            "",
            "The files hold the judgments that the ranking counts. Gold items, excluded annotators and judgments that",
            "were taken back are left out. Comparisons were chosen adaptively, so counts of wins are not a ranking:",
            "fit a model.",
            "",
        ]
    )
