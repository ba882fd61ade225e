"""Import of a vote file as a campaign: once, complete, and without invented values.

Values that the file lacks are stored as unknown: annotator, display order, texts of prompts and replies. Everything is
written in one transaction, so an error in the last row leaves no data behind.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.text import slugify

from evalsite.accounts.models import Organisation
from evalsite.accounts.services import organisation_create
from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import as_uuid, aspect_primary
from evalsite.campaigns.services import Design, campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.exchange.makers import Maker, makers_found, makers_record
from evalsite.exchange.models import ImportedVote, VoteSource
from evalsite.exchange.vote_file import ColumnMapping, Vote, Votes, read_votes
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
from evalsite.prompts.services import NewPrompt, prompt_set_create, prompts_add
from evalsite.refits.services import campaign_close
from scheduler.reasons import Reason

CHUNK = 2000
LONGEST = {
    "system_a": 200,
    "system_b": 200,
    "prompt_id": 200,
    "annotator_id": 200,
    "vote_id": 200,
    "category": 100,
}
IMPORTED = "imported"

Progress = Callable[[int, int], None]


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
) -> Imported:
    """Import a vote file as the campaign `name` and request its fit.

    The identity of a vote is the source's name with the vote's own ID or row number. Importing the same file again
    changes nothing. Other content under the same name is rejected with the difference. So is another visibility than
    the board has.

    organisation: slug or name of the owner, which is created if it does not exist.
    visibility: by default, everybody with the link sees the board.
    encoding, mapping: as in `read_votes`.
    source: name of the source; by default the file's name.
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
    votes = read_votes(path, where=where, merge_turns=merge_turns, encoding=encoding, mapping=mapping)
    _check_lengths(votes.rows(), path)
    sha256 = _sha256(votes.rows())
    makers = makers_found(made_by, _chatbots(votes.rows())) if made_by else {}
    with write_transaction():
        campaign = Campaign.objects.filter(slug=slug).first()
        known = VoteSource.objects.filter(campaign=campaign, name=source).first() if campaign else None
        if known is not None:
            _refuse_changes(known, votes.rows(), path)
            _refuse_visibility(known.campaign, visibility)
            makers_record(makers, keeper=known.campaign.organisation)
            return Imported(
                board_default(campaign=known.campaign), known.votes, False, votes.warnings, None, votes.looks_like
            )
        if campaign is not None:
            raise Conflict(
                f"There is already a campaign {slug!r}, and {source!r} is not one of its sources.",
                hint="Choose another name for --campaign.",
                field="campaign",
            )
        found = _owner(organisation)
        owner = found or organisation_create(name=organisation)
        seen_by = visibility or Campaign.Visibility.LINK
        board = _Import(source, owner, name, slug, seen_by).run(votes, sha256, progress)
        makers_record(makers, keeper=owner)
    return Imported(board, len(votes), True, votes.warnings, None if found else owner, votes.looks_like)


def _owner(organisation: str) -> Organisation | None:
    """Return the organisation with this slug, or else with this name in any case."""
    return (
        Organisation.objects.filter(slug=organisation).first()
        or Organisation.objects.filter(name=organisation).first()
        or Organisation.objects.filter(name__iexact=organisation).first()
    )


def vote_id(vote: Vote) -> str:
    """Return the vote's own ID or its row number.

    The first word distinguishes the two.
    """
    return f"id {vote.vote_id}" if vote.vote_id is not None else f"row {vote.row}"


def digest(vote: Vote) -> str:
    """Return 32 hexadecimal digits of all values of a vote."""
    return hashlib.sha256(repr((*vote[1:10],)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _sha256(votes: Iterable[Vote]) -> str:
    """Return a hash of all values of the votes in order."""
    hashes = hashlib.sha256()
    for vote in votes:
        hashes.update(f"{vote_id(vote)} {digest(vote)}\n".encode())
    return hashes.hexdigest()


def _check_lengths(votes: Iterable[Vote], path: Path) -> None:
    for vote in votes:
        for column, longest in LONGEST.items():
            value = getattr(vote, column)
            if value is not None and len(value) > longest:
                raise InvalidInput(
                    f"{path}, row {vote.row:,}, column {column}: {len(value):,} characters; "
                    f"at most {longest} can be stored.",
                    hint="Shorten it in the file.",
                    field=column,
                )


def _refuse_changes(source: VoteSource, votes: Iterable[Vote], path: Path) -> None:
    """Raise Conflict with the first difference and the number of differences."""
    stored = dict(source.imported.values_list("vote_id", "digest"))
    changed, added = [], []
    for vote in votes:
        known = stored.pop(vote_id(vote), None)
        if known is None:
            added.append(vote_id(vote))
        elif known != digest(vote):
            changed.append(vote_id(vote))
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

    def run(self, votes: Votes, sha256: str, progress: Progress | None) -> Board:
        self.aspect: Aspect = aspect_primary(self.campaign)
        self.prompts = self._prompts(votes.rows())
        self.entrants = self._entrants(votes.rows())
        self.replies = self._replies(votes.rows())
        self.annotators = self._annotators(votes.rows())
        self.origin = VoteSource.objects.create(
            campaign=self.campaign, name=self.source, sha256=sha256, votes=len(votes)
        )
        now = timezone.now()
        self.batch = Batch.objects.create(
            campaign=self.campaign, number=1, state=Batch.State.CLOSED, size=len(votes), closed_at=now
        )
        done = 0
        for chunk in _chunks(votes.rows()):
            self._store(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, len(votes))
        board = board_default(campaign=self.campaign)
        campaign_close(campaign=self.campaign, reason=Reason("votes_imported"), notify=False)
        refit_request(self.campaign)
        return board

    def _prompts(self, votes: Iterable[Vote]) -> dict[str, Prompt]:
        """Map keys to prompts. A prompt has a category only if all its votes agree on it."""
        categories: dict[str, set[str]] = {}
        for vote in votes:
            categories.setdefault(vote.prompt_key, set()).add(vote.category or "")
        new = [NewPrompt(key, None, next(iter(names)) if len(names) == 1 else "") for key, names in categories.items()]
        rows = prompts_add(prompt_set=self.campaign.prompt_set, prompts=new, origin=Prompt.Origin.IMPORT)
        return {prompt.key: prompt for prompt in rows}

    def _entrants(self, votes: Iterable[Vote]) -> dict[str, Entrant]:
        versions = {name: self._version(name) for name in _chatbots(votes)}
        return {name: entrant_add(campaign=self.campaign, version=one, imported=True) for name, one in versions.items()}

    def _version(self, name: str) -> Version:
        chatbot = Chatbot.objects.filter(organisation=self.organisation, name=name).first() or chatbot_create(
            organisation=self.organisation, name=name, imported=True
        )
        return chatbot.versions.filter(label=IMPORTED).first() or version_create(chatbot=chatbot, label=IMPORTED)

    def _replies(self, votes: Iterable[Vote]) -> dict[tuple[str, str], Reply]:
        """Map (chatbot, prompt) to a reply with unknown text."""
        wanted: dict[str, dict[str, None]] = {}
        for vote in votes:
            for name in (vote.system_a, vote.system_b):
                wanted.setdefault(name, {})[vote.prompt_key] = None
        replies: dict[tuple[str, str], Reply] = {}
        for name, keys in wanted.items():
            version = self.entrants[name].version
            texts: Iterable[tuple[Prompt, None]] = ((self.prompts[key], None) for key in keys)
            rows = replies_add(version=version, replies=texts, origin=Reply.Origin.IMPORT)
            replies |= {(name, key): reply for key, reply in zip(keys, rows, strict=True)}
        return replies

    def _annotators(self, votes: Iterable[Vote]) -> dict[str, Annotator]:
        """Map the file's annotator names to pseudonyms. The names are stored separately, where they can be erased."""
        names = list(dict.fromkeys(vote.annotator_id for vote in votes if vote.annotator_id is not None))
        rows = Annotator.objects.bulk_create([Annotator(kind=Annotator.Kind.UNKNOWN) for _ in names], batch_size=CHUNK)
        source = f"{self.campaign.slug}/{self.source}"[:200]
        AnnotatorIdentity.objects.bulk_create(
            [
                AnnotatorIdentity(annotator=row, source=source, external_id=name)
                for name, row in zip(names, rows, strict=True)
            ],
            batch_size=CHUNK,
        )
        return dict(zip(names, rows, strict=True))

    def _store(self, votes: Sequence[Vote]) -> None:
        places = Place.objects.bulk_create([self._place(vote) for vote in votes])
        assignments = Assignment.objects.bulk_create(
            [self._assignment(vote, place) for vote, place in zip(votes, places, strict=True)]
        )
        pairs = [self._candidates(vote, row) for vote, row in zip(votes, assignments, strict=True)]
        Candidate.objects.bulk_create([candidate for pair in pairs for candidate in pair])
        judgments = Judgment.objects.bulk_create(
            [self._judgment(vote, row) for vote, row in zip(votes, assignments, strict=True)]
        )
        Answer.objects.bulk_create([self._answer(*row) for row in zip(votes, judgments, pairs, strict=True)])
        ImportedVote.objects.bulk_create(
            [self._imported(vote, judgment) for vote, judgment in zip(votes, judgments, strict=True)]
        )

    def _place(self, vote: Vote) -> Place:
        prompt = self.prompts[vote.prompt_key]
        entrants = [self.entrants[vote.system_a].pk, self.entrants[vote.system_b].pk]
        return Place(campaign=self.campaign, prompt=prompt, item=item_of(prompt.pk, entrants))

    def _assignment(self, vote: Vote, place: Place) -> Assignment:
        return Assignment(
            campaign=self.campaign,
            place=place,
            item=place.item,
            state=Assignment.State.ANSWERED,
            source=Assignment.Source.IMPORT,
            order_known=vote.a_first is not None,
            annotator=self._annotator(vote),
        )

    def _annotator(self, vote: Vote) -> Annotator | None:
        return None if vote.annotator_id is None else self.annotators[vote.annotator_id]

    def _candidates(self, vote: Vote, assignment: Assignment) -> tuple[Candidate, Candidate]:
        """Return the candidates A and B. Their positions are the display order, if known."""
        position = 1 if vote.a_first == 0 else 0
        a, b = (
            Candidate(
                assignment=assignment,
                position=place,
                entrant=self.entrants[name],
                reply=self.replies[name, vote.prompt_key],
            )
            for name, place in ((vote.system_a, position), (vote.system_b, 1 - position))
        )
        return a, b

    def _judgment(self, vote: Vote, assignment: Assignment) -> Judgment:
        return Judgment(
            assignment=assignment,
            annotator=self._annotator(vote),
            batch=self.batch,
            answered_at=moment(vote.timestamp),
        )

    def _answer(self, vote: Vote, judgment: Judgment, candidates: tuple[Candidate, Candidate]) -> Answer:
        if vote.outcome:
            chosen = candidates[0] if vote.outcome < 0 else candidates[1]
            return Answer(judgment=judgment, aspect=self.aspect, candidate=chosen, value=Answer.Value.CHOSEN)
        value = Answer.Value.BOTH_BAD if vote.both_bad else Answer.Value.TIE
        return Answer(judgment=judgment, aspect=self.aspect, candidate=None, value=value)

    def _imported(self, vote: Vote, judgment: Judgment) -> ImportedVote:
        return ImportedVote(
            source=self.origin,
            vote_id=vote_id(vote),
            digest=digest(vote),
            judgment=judgment,
            category=vote.category or "",
            timestamp=(vote.timestamp or "")[:40],
        )


def _chatbots(votes: Iterable[Vote]) -> dict[str, None]:
    """Return the chatbots in the votes, in the order of the file."""
    return dict.fromkeys(itertools.chain.from_iterable((vote.system_a, vote.system_b) for vote in votes))


def _chunks(votes: Iterable[Vote]) -> Iterator[list[Vote]]:
    rows = iter(votes)
    while chunk := list(itertools.islice(rows, CHUNK)):
        yield chunk


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
