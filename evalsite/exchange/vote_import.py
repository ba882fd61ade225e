"""Import of a vote file as a campaign: once, complete, and without invented values.

Values that the file lacks are stored as unknown: annotator, display order, texts of prompts and replies. Everything is
written in one transaction, so an error in the last row leaves no data behind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from django.db import connection, connections
from django.db.models import Model
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.text import slugify

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import organisation_create
from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import as_uuid, aspect_primary
from evalsite.campaigns.services import Design, campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.chatbots.services import chatbot_create, version_create
from evalsite.core.audit import audit_record
from evalsite.core.bulk_insert import PreparedRows, keys_reserve, rows_insert, rows_prepare
from evalsite.core.bulk_references import references_together
from evalsite.core.db import patient_statements, write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.exchange.makers import Maker, makers_found, makers_record
from evalsite.exchange.models import ImportedVote, VoteSource
from evalsite.exchange.vote_file import ColumnMapping
from evalsite.exchange.vote_reading import Options
from evalsite.exchange.vote_survey import VoteSurvey, pair_of, parts_of, votes_survey
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
_READING = 4  # A fifth of the progress is the reading.

Progress = Callable[[int, int], None]
_Votes = Mapping[str, list[Any]]
_VOTE_ROWS: Mapping[type[Model], int] = {
    Place: 1,
    Assignment: 1,
    Candidate: 2,
    Judgment: 1,
    Answer: 1,
    ImportedVote: 1,
}  # Of each vote.


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    created: False if the same votes existed, so that nothing changed.
    new_owner: the organisation that was created for the import, if any.
    looks_like: the format of the file, for people.
    """

    board: Board
    votes: int
    created: bool
    warnings: tuple[str, ...]
    new_owner: Organisation | None = None
    looks_like: str = ""


def votes_import(
    *,
    path: Path,
    name: str,
    organisation: str,
    visibility: Campaign.Visibility | None = None,
    source: str = "",
    where: Sequence[tuple[str, str]] = (),
    merge_turns: bool = False,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    made_by: Sequence[Maker] = (),
    progress: Progress | None = None,
    by: User | None = None,
) -> Imported:
    """Import a vote file as the campaign `name` and request its fit.

    The identity of a vote is the source's name with the vote's own ID or row number. Importing the same file again
    changes nothing. Other content under the same name is rejected with the difference. So is another visibility than
    the board has.

    organisation: slug or name of the owner, which is created if it does not exist.
    visibility: by default, everybody with the link sees the board.
    encoding, mapping: as in `read_votes`.
    source: name of the source; by default the file's name.
    by: the person who imports, for the campaign's log.
    made_by: organisations that made chatbots, recorded even if the votes exist already.

    Raises VoteFileError for an invalid file and InvalidInput for names that cannot be stored. Raises Conflict for
    rejected content.
    """
    source = source or path.name
    slug = slugify(name)[:80]
    if not slug or as_uuid(slug):
        raise InvalidInput(
            f"No address can be made from {name!r}.", hint="Use letters or digits in the name.", field="campaign"
        )
    for field, value in (("campaign", name), ("source", source), ("organisation", organisation)):
        if len(value) > 200 or "\0" in value:
            raise InvalidInput(f"The name given as --{field} cannot be stored (200 characters at most).", field=field)
    # Every row is checked before the first one is written.
    options = Options(None, where, (), merge_turns, encoding, mapping or ColumnMapping())
    survey = votes_survey(path, options, None if progress is None else _first_part(progress))
    with closing(survey), patient_statements():
        makers = makers_found(made_by, survey.chatbots) if made_by else {}
        with write_transaction():
            return _stored(survey, path, name, slug, source, organisation, visibility, makers, progress, by)


def _first_part(progress: Progress) -> Progress:
    return lambda done, total: progress(done, (_READING + 1) * total)


def _stored(
    survey: VoteSurvey,
    path: Path,
    name: str,
    slug: str,
    source: str,
    organisation: str,
    visibility: Campaign.Visibility | None,
    makers: Mapping[str, Organisation],
    progress: Progress | None,
    by: User | None,
) -> Imported:
    """Store the votes as a new campaign, or find out that they are there."""
    campaign = Campaign.objects.filter(slug=slug).first()
    known = VoteSource.objects.filter(campaign=campaign, name=source).first() if campaign else None
    if known is not None:
        _refuse_changes(known, survey, path)
        _refuse_visibility(known.campaign, visibility)
        makers_record(makers, keeper=known.campaign.organisation)
        board = board_default(campaign=known.campaign)
        return Imported(board, known.votes, False, survey.warnings, None, survey.looks_like)
    if campaign is not None:
        raise Conflict(
            f"There is already a campaign {slug!r}, and {source!r} is not one of its sources.",
            hint="Choose another name for --campaign.",
            field="campaign",
        )
    found = _owner(organisation)
    owner = found or organisation_create(name=organisation)
    started = _Import(source, owner, name, slug, visibility or Campaign.Visibility.LINK)
    board = started.run(survey, progress)
    makers_record(makers, keeper=owner)
    if by is not None:
        audit_record(act="set_up", subject=started.campaign.public_id, by=by, after={"name": name}, target=source)
    return Imported(board, survey.votes, True, survey.warnings, None if found else owner, survey.looks_like)


def _owner(organisation: str) -> Organisation | None:
    """Return the organisation with this slug, or else with this name in any case."""
    return (
        Organisation.objects.filter(slug=organisation).first()
        or Organisation.objects.filter(name=organisation).first()
        or Organisation.objects.filter(name__iexact=organisation).first()
    )


def _refuse_changes(source: VoteSource, survey: VoteSurvey, path: Path) -> None:
    """Raise Conflict with the first difference and the number of differences."""
    if source.sha256 == survey.sha256:
        return
    stored = dict(source.imported.values_list("vote_id", "digest"))
    changed, added = [], []
    for chunk in survey.chunks():
        for vote, digest in zip(chunk["id"], chunk["digest"], strict=True):
            known = stored.pop(vote, None)
            if known is None:
                added.append(vote)
            elif known != digest:
                changed.append(vote)
    parts = [
        f"{len(names):,} {what} (the first: {names[0]})"
        for names, what in ((changed, "changed"), (added, "new"), (sorted(stored), "missing"))
        if names
    ]
    if parts:
        raise Conflict(
            f"{path} is not the file that was imported as {source.name!r}: votes {', '.join(parts)}.",
            hint="Import it under another --source and --campaign.",
            field="file",
        )


def _refuse_visibility(campaign: Campaign, wanted: Campaign.Visibility | None) -> None:
    """Raise Conflict if the board has another visibility than requested. Importing again does not change it."""
    if wanted is not None and wanted != campaign.visibility:
        raise Conflict(
            f"The votes are imported, but the board of {campaign.slug!r} is {campaign.visibility}, not {wanted}.",
            hint='Leave --visibility out; "Visibility" in its console changes who sees it.',
            field="visibility",
        )


class _Import:
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
        done = survey.votes // _READING
        for stored in self._store(survey.chunks()):
            done += stored
            if progress is not None:
                progress(done, survey.votes + survey.votes // _READING)

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
        self.database = connections[connection.alias]  # The thread has another connection.
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
        by_item = sorted(range(count), key=items.__getitem__)
        by_annotator = sorted(range(count), key=votes["annotator"].__getitem__)

        def rows(
            model: type[Model],
            same: Mapping[str, Any] | None,
            order: Sequence[int] | None = None,
            **columns: Sequence[Any],
        ) -> PreparedRows:
            return rows_prepare(self.database, model, keys[model], same=same, order=order, **columns)

        tables = [
            rows(Place, {"campaign_id": self.campaign.pk}, by_item, prompt_id=prompts, item=items),
            rows(
                Assignment,
                {
                    "campaign_id": self.campaign.pk,
                    "state": Assignment.State.ANSWERED.value,
                    "source": Assignment.Source.IMPORT.value,
                },
                by_annotator,
                place_id=keys[Place],
                item=items,
                order_known=[first is not None for first in votes["a_first"]],
                annotator_id=annotators,
            ),
            rows(Candidate, None, **self._candidates(votes, keys[Assignment], entrants)),
            rows(
                Judgment,
                {"batch_id": self.batch.pk},
                by_annotator,
                assignment_id=keys[Assignment],
                annotator_id=annotators,
                answered_at=[moment(text) for text in votes["timestamp"]],
            ),
            rows(Answer, {"aspect_id": self.aspect.pk}, judgment_id=keys[Judgment], **_answers(votes, keys[Candidate])),
            rows(
                ImportedVote,
                {"source_id": self.origin.pk},
                vote_id=votes["id"],
                digest=votes["digest"],
                judgment_id=keys[Judgment],
                category=[one or "" for one in votes["category"]],
                timestamp=[(one or "")[:40] for one in votes["timestamp"]],
            ),
        ]
        return count, tables

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
