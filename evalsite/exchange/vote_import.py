"""Import of a vote file as a campaign: once, complete, and without invented values.

Values that the file lacks are stored as unknown: annotator, display order, texts of prompts and replies. Everything is
written in one transaction, so an error in the last row leaves no data behind.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from django.utils.text import slugify

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import organisation_create
from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid
from evalsite.core.audit import audit_record
from evalsite.core.db import patient_statements, write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.exchange.makers import Maker, makers_found, makers_record
from evalsite.exchange.models import VoteSource
from evalsite.exchange.vote_file import ColumnMapping
from evalsite.exchange.vote_reading import Options
from evalsite.exchange.vote_storage import READING, Progress, VoteStorage
from evalsite.exchange.vote_survey import VoteSurvey, votes_survey


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
    return lambda done, total: progress(done, (READING + 1) * total)


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
    started = VoteStorage(source, owner, name, slug, visibility or Campaign.Visibility.LINK)
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
