"""The pass over a vote file before its import: everything is checked, and names become numbers.

The votes wait in a temporary file. Memory holds the names of chatbots, prompts and annotators, and a few numbers
for each vote.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from evalsite.core.errors import InvalidInput
from evalsite.exchange.column_reading import AnotherReader, Columns, column_chunks
from evalsite.exchange.errors import FormatError, VoteFileError
from evalsite.exchange.file_opening import Progress
from evalsite.exchange.vote_checks import Flags, Repeats, look_alikes
from evalsite.exchange.vote_file import votes_one_by_one
from evalsite.exchange.vote_reading import Options
from evalsite.exchange.votes import Vote

CHUNK = 30_000  # Votes of a line in the temporary file, and of a statement of the import.
MAX_VOTES = 20_000_000
LONGEST = {
    "system_a": 200,
    "system_b": 200,
    "prompt_id": 200,
    "annotator_id": 200,
    "vote_id": 200,
    "category": 100,
}
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class VoteSurvey:
    """The content of a vote file: names in the order of the file, and the votes by the numbers of their names.

    Close it: it holds a temporary file.

    categories: of each prompt; "" unless all its votes agree on one.
    """

    def __init__(self, path: Path) -> None:
        self.votes = 0
        self.chatbots: dict[str, int] = {}
        self.prompts: dict[str, int] = {}
        self.annotators: dict[str, int] = {}
        self.categories: list[str] = []
        self.warnings: tuple[str, ...] = ()
        self.looks_like = ""
        self.ids = _VoteIds()
        self.repeats = _CountedRepeats()
        self._path = path
        self._sha256 = hashlib.sha256()
        self._replies: list[Numbers] = []
        self._waiting: dict[str, list[Any]] = {}
        self._file = TemporaryFile("w+", encoding="utf-8", errors="surrogatepass")  # noqa: SIM115 # closed by `close`

    def close(self) -> None:
        self._file.close()

    @property
    def sha256(self) -> str:
        """Return a hash of all values of the votes in order."""
        return self._sha256.hexdigest()

    def add(self, votes: Columns) -> None:
        """Add votes in columns. Raises InvalidInput for a value that cannot be stored."""
        self._check_lengths(votes)
        rows = list(zip(*(votes[name] for name in Vote._fields), strict=True))
        self.votes += len(rows)
        keys = [
            key if key is not None else f"row {row}" for key, row in zip(votes["prompt_id"], votes["row"], strict=True)
        ]
        a, b = _numbered(self.chatbots, votes["system_a"]), _numbered(self.chatbots, votes["system_b"])
        prompts = _numbered(self.prompts, keys)
        people = [
            -1 if name is None else self.annotators.setdefault(name, len(self.annotators))
            for name in votes["annotator_id"]
        ]
        ids = [
            f"id {one}" if one is not None else f"row {row}"
            for one, row in zip(votes["vote_id"], votes["row"], strict=True)
        ]
        digests = [digest(row) for row in rows]
        self._sha256.update("".join([f"{one} {two}\n" for one, two in zip(ids, digests, strict=True)]).encode())
        self._add_categories(prompts, votes["category"])
        self.ids.add(ids)
        self.repeats.add(a, b, prompts, people, votes)
        self._replies.append(np.unique(np.concatenate([_pairs(a, prompts), _pairs(b, prompts)])))
        columns: Columns = {"a": a, "b": b, "prompt": prompts, "annotator": people, "id": ids, "digest": digests}
        columns |= {name: list(votes[name]) for name in ("outcome", "both_bad", "a_first", "category", "timestamp")}
        for name, column in columns.items():
            self._waiting.setdefault(name, []).extend(column)
        if len(self._waiting["a"]) >= CHUNK:
            self._write()

    def _add_categories(self, prompts: Sequence[int], categories: Sequence[str | None]) -> None:
        for prompt, category in dict.fromkeys(zip(prompts, categories, strict=True)):
            if prompt == len(self.categories):
                self.categories.append(category or "")
            elif self.categories[prompt] != (category or ""):
                self.categories[prompt] = _SEVERAL

    def _check_lengths(self, votes: Columns) -> None:
        for column, longest in LONGEST.items():
            for value, row in zip(votes[column], votes["row"], strict=True):
                if value is not None and len(value) > longest:
                    raise InvalidInput(
                        f"{self._path}, row {row:,}, column {column}: {len(value):,} characters; "
                        f"at most {longest} can be stored.",
                        hint="Shorten it in the file.",
                        field=column,
                    )

    def _write(self) -> None:
        if self._waiting:
            self._file.write(json.dumps(self._waiting, ensure_ascii=False) + "\n")
            self._waiting = {}

    def finish(self, flags: Flags) -> None:
        """End the pass. Raises VoteFileError if names of prompts are ambiguous."""
        self._write()
        self.repeats.refuse_ambiguous_prompts(self._path)
        self.categories = ["" if one == _SEVERAL else one for one in self.categories]
        self.looks_like = flags.looks_like
        self.warnings = (*self.repeats.warnings(), *flags.warnings(), *look_alikes(self.chatbots))

    def replies(self) -> Numbers:
        """Return the pairs of chatbot and prompt that have votes, sorted, as `pair_of` makes them."""
        return np.unique(np.concatenate(self._replies))

    def chunks(self) -> Iterator[Mapping[str, list[Any]]]:
        """Yield the votes in columns, in the order of the file."""
        self._file.seek(0)
        for line in self._file:
            yield json.loads(line)


_SEVERAL = "\0"  # No category of a file is so.
_PROMPTS = 1 << 32


def pair_of(chatbots: Numbers, prompts: Numbers) -> Numbers:
    """Return one number for each chatbot and prompt."""
    return chatbots * _PROMPTS + prompts


def parts_of(pairs: Numbers) -> tuple[Numbers, Numbers]:
    """Return the chatbots and prompts of pairs."""
    return pairs // _PROMPTS, pairs % _PROMPTS


def _pairs(chatbots: Sequence[int], prompts: Sequence[int]) -> Numbers:
    return pair_of(np.array(chatbots, np.int64), np.array(prompts, np.int64))


def _numbered(known: dict[str, int], names: Iterable[str]) -> list[int]:
    return [known.setdefault(name, len(known)) for name in names]


def digest(vote: Sequence[Any]) -> str:
    """Return 32 hexadecimal digits of all values of a vote."""
    return hashlib.sha256(repr((*vote[1:10],)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _VoteIds:
    """Hashes of the IDs of votes: eight bytes each."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, ids: Iterable[str]) -> None:
        self._hashes.extend(map(hash, ids))

    def may_repeat(self) -> bool:
        """Return whether two IDs are equal, or (hardly ever) only have the same hash."""
        ordered = np.sort(np.array(self._hashes, np.int64))
        return bool((ordered[1:] == ordered[:-1]).any())


class _CountedRepeats(Repeats):
    """The same warnings as of `Repeats`, by eight bytes for each vote."""

    def __init__(self) -> None:
        super().__init__()
        self._hashes = array("q")

    def add(  # type: ignore[override]
        self, a: Sequence[int], b: Sequence[int], prompts: Sequence[int], people: Sequence[int], votes: Columns
    ) -> None:
        self._without_prompt += votes["prompt_id"].count(None)
        self._like_a_row = self._like_a_row or next(
            (one for one in set(votes["prompt_id"]) if one and one.startswith("row ")), ""
        )
        known = zip(people, votes["prompt_id"], zip(a, b, strict=True), prompts, strict=True)
        self._hashes.extend(
            hash((person, *sorted(pair), prompt))
            for person, key, pair, prompt in known
            if person >= 0 and key is not None
        )

    def warnings(self) -> Iterator[str]:
        ordered = np.sort(np.array(self._hashes, np.int64))
        self._repeated = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
        yield from super().warnings()


def votes_survey(path: Path, options: Options, progress: Progress | None = None) -> VoteSurvey:
    """Read and check a vote file. Raises VoteFileError, and InvalidInput for a value that cannot be stored."""
    chosen = {options.by, *(column for column, _ in options.where)}
    for with_arrow in (True, False):
        flags = Flags(chosen)
        survey = VoteSurvey(path)
        try:
            for chunk in column_chunks(path, options, flags, progress, with_arrow=with_arrow):
                _refuse_too_many(survey, path)
                survey.add(chunk)
            if survey.votes and not survey.ids.may_repeat():
                survey.finish(flags)
                return survey
        except AnotherReader:
            pass
        except BaseException:
            survey.close()
            raise
        survey.close()
    return _surveyed_by_rows(path, options, Flags(chosen), progress)


def _surveyed_by_rows(path: Path, options: Options, flags: Flags, progress: Progress | None) -> VoteSurvey:
    survey = VoteSurvey(path)
    try:
        with closing(votes_one_by_one(path, options, flags, progress)) as votes:
            while rows := list(islice(votes, CHUNK)):
                survey.add(dict(zip(Vote._fields, map(list, zip(*rows, strict=True)), strict=True)))
                _refuse_too_many(survey, path)
        if survey.ids.may_repeat():
            _refuse_repeats(path, options)
        survey.finish(flags)
    except BaseException:
        survey.close()
        raise
    return survey


def _refuse_repeats(path: Path, options: Options) -> None:
    """Raise VoteFileError with the row of an ID that stands twice."""
    repeats = Repeats()
    with closing(votes_one_by_one(path, options, Flags(()), None)) as votes:
        for vote in votes:
            repeats.add(vote, path)


def _refuse_too_many(survey: VoteSurvey, path: Path) -> None:
    if survey.votes > MAX_VOTES:
        problem = FormatError(f"has more than {MAX_VOTES:,} votes", code="too_big", hint="Split it or use --where.")
        raise VoteFileError(problem, path=path)
