"""Storage of the votes of a file: a campaign, the rows that votes refer to, then the votes in chunks.

A thread prepares the rows of a chunk while the database checks those of the last one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import Any

import numpy as np
from django.db import connection, connections
from django.db.models import Model
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from evalsite.accounts.models import Organisation
from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import Design, campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.chatbots.services import chatbot_create, version_create
from evalsite.core.bulk_insert import PreparedRows, keys_reserve, rows_insert, rows_prepare
from evalsite.core.bulk_references import references_together
from evalsite.exchange.models import ImportedVote, VoteSource
from evalsite.exchange.vote_survey import VoteSurvey, pair_of, parts_of
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Answer,
    Assignment,
    Batch,
    Candidate,
    Judgment,
    Place,
)
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import prompt_set_create
from evalsite.refits.services import campaign_close
from scheduler.reasons import Reason

IMPORTED = "imported"
READING = 4  # A fifth of the progress is the reading.

Progress = Callable[[int, int], None]
_Votes = Mapping[str, list[Any]]
# Rows of each vote, in the order in which they refer to each other.
_VOTE_ROWS: Mapping[type[Model], int] = {Place: 1, Assignment: 1, Candidate: 2, Judgment: 1, Answer: 1, ImportedVote: 1}


class VoteStorage:
    """One import: the rows that votes refer to, created on demand, then the votes in chunks."""

    def __init__(
        self, source: str, organisation: Organisation, name: str, slug: str, visibility: Campaign.Visibility
    ) -> None:
        self.source, self.organisation = source, organisation
        design = Design(visibility=visibility, target_se=None, screening=Campaign.Screening.OFF)
        prompt_set = prompt_set_create(organisation=organisation, name=slug, prompts=[], origin=Prompt.Origin.IMPORT)
        self.campaign = campaign_create(
            organisation=organisation,
            name=name,
            slug=slug,
            prompt_set=prompt_set,
            design=design,
            description=f"Votes imported from {source}.",
        )

    def run(self, survey: VoteSurvey, progress: Progress | None) -> Board:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:  # A million checks that wait for the commit would fill its memory.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        self.aspect: Aspect = aspect_primary(self.campaign)
        self.prompts = np.array(self._prompts(survey), np.int64)
        self.entrants = [self._entrant(name) for name in survey.chatbots]
        self.origin = VoteSource.objects.create(
            campaign=self.campaign, name=self.source, sha256=survey.sha256, votes=survey.votes
        )
        now = timezone.now()
        self.batch = Batch.objects.create(
            campaign=self.campaign, number=1, state=Batch.State.CLOSED, size=survey.votes, closed_at=now
        )
        with references_together([Reply, Annotator, AnnotatorIdentity, *_VOTE_ROWS]):
            self._store_votes(survey, progress)
        board = board_default(campaign=self.campaign)
        campaign_close(campaign=self.campaign, reason=Reason("votes_imported"), notify=False)
        refit_request(self.campaign)
        return board

    def _store_votes(self, survey: VoteSurvey, progress: Progress | None) -> None:
        self.pairs = survey.replies()
        self.replies = np.array(self._replies(), np.int64)
        self.annotators = [*self._annotators(survey.annotators), None]  # The last one is unknown.
        done = survey.votes // READING
        for stored in self._store(survey.chunks()):
            done += stored
            if progress is not None:
                progress(done, survey.votes + survey.votes // READING)

    def _prompts(self, survey: VoteSurvey) -> list[int]:
        return rows_insert(
            Prompt,
            len(survey.prompts),
            same={"prompt_set_id": self.campaign.prompt_set_id, "origin": Prompt.Origin.IMPORT.value},
            key=list(survey.prompts),
            category=survey.categories,
        )

    def _entrant(self, name: str) -> Entrant:
        chatbot = Chatbot.objects.filter(organisation=self.organisation, name=name).first() or chatbot_create(
            organisation=self.organisation, name=name, imported=True
        )
        version = chatbot.versions.filter(label=IMPORTED).first() or version_create(chatbot=chatbot, label=IMPORTED)
        return entrant_add(campaign=self.campaign, version=version, imported=True)

    def _replies(self) -> list[int]:
        """Store a reply with unknown text for each pair of chatbot and prompt."""
        chatbots, prompts = parts_of(self.pairs)
        versions = np.array([entrant.version_id for entrant in self.entrants], np.int64)
        return rows_insert(
            Reply,
            len(self.pairs),
            same={"origin": Reply.Origin.IMPORT.value},
            version_id=versions[chatbots].tolist(),
            prompt_id=self.prompts[prompts].tolist(),
        )

    def _annotators(self, names: Iterable[str]) -> list[int]:
        """Store the file's annotators as pseudonyms. The names are stored separately, where they can be erased."""
        names = list(names)
        rows = rows_insert(Annotator, len(names), same={"kind": Annotator.Kind.UNKNOWN.value})
        source = f"{self.campaign.slug}/{self.source}"[:200]
        rows_insert(AnnotatorIdentity, len(names), same={"source": source}, annotator_id=rows, external_id=names)
        return rows

    def _store(self, chunks: Iterable[_Votes]) -> Iterator[int]:
        """Store the chunks and yield the number of votes of each.

        A thread prepares the rows of the next chunk while the database checks those of the last one.
        """
        self.database, self.same = connections[connection.alias], self._shared()  # The thread has another connection.
        with ThreadPoolExecutor(1) as thread:
            prepared = (thread.submit(self._prepared, chunk, _keys(len(chunk["id"]))) for chunk in chunks)
            for current, _following in pairwise(chain(prepared, [None])):  # The following one is under way.
                if current is not None:
                    yield _inserted(*current.result())

    def _prepared(self, votes: _Votes, keys: Mapping[type[Model], list[int]]) -> tuple[int, list[PreparedRows]]:
        """Return the number of votes, and their rows in the order in which they refer to each other."""
        count = len(votes["id"])
        prompts = self.prompts[votes["prompt"]].tolist()
        entrants = [[self.entrants[number].pk for number in votes[side]] for side in ("a", "b")]
        items = [item_of(prompt, pair) for prompt, pair in zip(prompts, zip(*entrants, strict=True), strict=True)]
        annotators = [self.annotators[number] for number in votes["annotator"]]
        by_annotator = sorted(range(count), key=votes["annotator"].__getitem__)
        orders = {
            Place: sorted(range(count), key=items.__getitem__),
            Assignment: by_annotator,
            Judgment: by_annotator,
        }
        columns: Mapping[type[Model], Mapping[str, Sequence[Any]]] = {
            Place: {"prompt_id": prompts, "item": items},
            Assignment: {
                "place_id": keys[Place],
                "item": items,
                "order_known": [first is not None for first in votes["a_first"]],
                "annotator_id": annotators,
            },
            Candidate: self._candidates(votes, keys[Assignment], entrants),
            Judgment: {
                "assignment_id": keys[Assignment],
                "annotator_id": annotators,
                "answered_at": [moment(text) for text in votes["timestamp"]],
            },
            Answer: {"judgment_id": keys[Judgment], **_answers(votes, keys[Candidate])},
            ImportedVote: {"judgment_id": keys[Judgment], **_origins(votes)},
        }
        return count, [
            rows_prepare(
                self.database, table, keys[table], same=self.same[table], order=orders.get(table), **columns[table]
            )
            for table in _VOTE_ROWS
        ]

    def _shared(self) -> Mapping[type[Model], Mapping[str, Any]]:
        """Return what the rows of a table have in common."""
        return {
            Place: {"campaign_id": self.campaign.pk},
            Assignment: {
                "campaign_id": self.campaign.pk,
                "state": Assignment.State.ANSWERED.value,
                "source": Assignment.Source.IMPORT.value,
            },
            Candidate: {},
            Judgment: {"batch_id": self.batch.pk},
            Answer: {"aspect_id": self.aspect.pk},
            ImportedVote: {"source_id": self.origin.pk},
        }

    def _candidates(
        self, votes: _Votes, assignments: list[int], entrants: Sequence[Sequence[int]]
    ) -> dict[str, Sequence[Any]]:
        """Return the candidates A and B of each vote. Their positions are the display order, if it is known."""
        prompts = np.array(votes["prompt"], np.int64)
        pairs = np.stack([pair_of(np.array(votes[side], np.int64), prompts) for side in ("a", "b")], axis=1).ravel()
        return {
            "assignment_id": np.repeat(assignments, 2).tolist(),
            "position": [place for first in votes["a_first"] for place in ((1, 0) if first == 0 else (0, 1))],
            "entrant_id": np.array(entrants).T.ravel().tolist(),
            "reply_id": self.replies[np.searchsorted(self.pairs, pairs)].tolist(),
        }


def _keys(votes: int) -> dict[type[Model], list[int]]:
    return {model: keys_reserve(model, votes * times) for model, times in _VOTE_ROWS.items()}


def _inserted(votes: int, tables: Iterable[PreparedRows]) -> int:
    for rows in tables:
        rows.insert()
    return votes


def _answers(votes: _Votes, candidates: Sequence[int]) -> dict[str, Sequence[Any]]:
    """Return the answers. The candidates A and B of each vote stand beside each other."""
    outcomes = list(zip(votes["outcome"], votes["both_bad"], candidates[::2], candidates[1::2], strict=True))
    ties = {True: Answer.Value.BOTH_BAD.value, False: Answer.Value.TIE.value}
    return {
        "candidate_id": [None if not outcome else a if outcome < 0 else b for outcome, _, a, b in outcomes],
        "value": [Answer.Value.CHOSEN.value if outcome else ties[bad] for outcome, bad, _, _ in outcomes],
    }


def _origins(votes: _Votes) -> dict[str, Sequence[Any]]:
    return {
        "vote_id": votes["id"],
        "digest": votes["digest"],
        "category": [one or "" for one in votes["category"]],
        "timestamp": [(one or "")[:40] for one in votes["timestamp"]],
    }


def moment(text: str | None) -> datetime | None:
    """Parse a time in ISO 8601 or in seconds since 1970.

    Returns None for other formats, whose text is kept.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromtimestamp(float(text), UTC) if _is_number(text) else parse_datetime(text)
        if parsed is None:
            return None
        moment = parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    # At the edges of the calendar, a database's time zone would move the time out of Python's range.
    return moment if 1 < moment.year < 9999 else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
