"""The public log of a board: what counts, in entries that are only ever added.

The worker adds entries after a refit, in one transaction of its own, so that no answer waits for the log. A log begins
when its campaign is public, and then goes on whatever its visibility becomes. Only readers of the board see it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from evalsite.boards.models import Board, PublicLogContent, PublicLogEntry, PublicLogPseudonym
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import open_to_anybody
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.hash_chain import GENESIS, canonical_json, content_digest, link_hash, salt_make
from evalsite.core.jobs import job_enqueue
from evalsite.judgments.models import Enrolment

PUBLIC_LOG = "public_log"
CHUNK = 500
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to add. annotator: whom the content is about (a key), so that an erasure finds it."""

    kind: PublicLogEntry.Kind
    content: Mapping[str, Any]
    source: str | None = None
    annotator: int | None = None


@dataclass(frozen=True, slots=True)
class LogState:
    """The length of a log and the hash of its last entry. gaps: entries whose content was erased."""

    entries: int
    head: str
    gaps: int


def log_is_kept(board: Board) -> bool:
    """Return whether the board has a public log: it is a public campaign's own board, or was one before."""
    if board.default_of_id is None:
        return False
    campaigns = Campaign.objects.filter(open_to_anybody(by_link=False), pk=board.default_of_id)
    return campaigns.exists() or board.log_entries.exists()


def public_log_request(board: Board) -> None:
    """Request new entries for the board, if it has a public log."""
    if log_is_kept(board):
        job_enqueue(kind=PUBLIC_LOG, key=f"{PUBLIC_LOG}:{board.pk}", args={"board": board.pk})


def logs_begin() -> None:
    """Request the first entries of public boards without any."""
    entries = PublicLogEntry.objects.filter(board=OuterRef("pk"))
    public = Campaign.objects.filter(open_to_anybody(by_link=False))
    for board in Board.objects.filter(~Exists(entries), default_of__in=public):
        public_log_request(board)


def log_state(board: Board) -> LogState:
    """Return the state of a board's log."""
    last = board.log_entries.order_by("-number").values_list("number", "sha256").first()
    if last is None:
        return LogState(0, GENESIS, 0)
    return LogState(*last, gaps=last[0] - PublicLogContent.objects.filter(entry__board=board).count())


def entries_append(board: Board, entries: Sequence[NewEntry]) -> None:
    """Add entries to a board's log. Runs in a transaction with `log_lock`."""
    last = board.log_entries.order_by("-number").values_list("number", "sha256").first()
    number, head = last or (0, GENESIS)
    now = timezone.now()
    for start in range(0, len(entries), CHUNK):
        rows, contents = [], []
        for one in entries[start : start + CHUNK]:
            number += 1
            salt, content = salt_make(), canonical_json(one.content)
            row = _entry(board, number, one, now, content_digest(salt, content), head)
            head = row.sha256
            rows.append(row)
            contents.append(PublicLogContent(entry=row, annotator_id=one.annotator, salt=salt, content=content))
        PublicLogEntry.objects.bulk_create(rows)
        for one_content, row in zip(contents, rows, strict=True):
            one_content.entry_id = row.pk
        PublicLogContent.objects.bulk_create(contents)


def _entry(board: Board, number: int, one: NewEntry, at: datetime, digest: str, previous: str) -> PublicLogEntry:
    linked = {
        "board": str(board.public_id),
        "number": number,
        "kind": one.kind.value,
        "at": at.isoformat(),
        "digest": digest,
        "previous": previous,
    }
    return PublicLogEntry(
        board=board,
        number=number,
        kind=one.kind,
        source=one.source,
        at=at,
        digest=digest,
        previous=previous,
        sha256=link_hash(linked),
    )


def log_lock(board: int) -> None:
    """Lock the log of a board until the end of the transaction."""
    Board.objects.select_for_update(no_key=True).get(pk=board)


def log_lines(board: Board, *, with_judgments: bool) -> Iterator[Line]:
    """Yield the entries in their order, with salt and content as far as they were not erased.

    with_judgments: False withholds the contents of judgments, for a board whose owner does not release data.
    """
    after = 0
    while rows := list(_entries(board).filter(number__gt=after)[:CHUNK]):
        for row in rows:
            yield _line(board, row, with_judgments or row.kind != PublicLogEntry.Kind.JUDGMENTS)
        after = rows[-1].number


def _entries(board: Board) -> QuerySet[PublicLogEntry]:
    return board.log_entries.select_related("content").order_by("number")


def _line(board: Board, row: PublicLogEntry, shown: bool) -> Line:
    content: PublicLogContent | None = getattr(row, "content", None)
    line: Line = {
        "board": str(board.public_id),
        "number": row.number,
        "kind": row.kind,
        "at": row.at.isoformat(),
        "digest": row.digest,
        "previous": row.previous,
        "sha256": row.sha256,
        "salt": content.salt if content and shown else None,
        "content": content.content if content and shown else None,
    }
    return line | ({"withheld": True} if content and not shown else {})


def log_contents_erase(part: Enrolment) -> None:
    """Delete the contents about an annotator from the log of a campaign's board, with their salts and the pseudonym.

    Runs in the transaction of the erasure. Judgments that stay are added again later, under a new pseudonym.
    """
    board = Board.objects.filter(default_of=part.campaign_id).first()
    if board is None or not board.log_entries.exists():
        return
    log_lock(board.pk)
    about = PublicLogContent.objects.filter(entry__board=board, annotator=part.annotator_id)
    with deletion_permitted():
        PublicLogContent.objects.filter(pk__in=list(about.values_list("pk", flat=True)))._raw_delete(connection.alias)
    PublicLogPseudonym.objects.filter(board=board, annotator=part.annotator_id).delete()
    public_log_request(board)


def log_append_now(board: Board, entries: Sequence[NewEntry], pseudonyms: Sequence[int]) -> bool:
    """Add entries that were made outside a transaction. Runs in a transaction.

    pseudonyms: keys of those that the entries use. If one was erased meanwhile, nothing is added, and False returned.
    """
    log_lock(board.pk)
    found = PublicLogPseudonym.objects.filter(board=board).values_list("pk", flat=True)
    if not set(pseudonyms) <= set(found):
        return False
    entries_append(board, entries)
    return True
