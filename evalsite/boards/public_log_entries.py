"""Entries that the public log of a board lacks: versions, judgments, exclusions, retirements, withdrawals, snapshots.

Everything is read outside the transaction that adds the entries.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet

from evalsite.boards.models import Board, PublicLogContent, PublicLogEntry, PublicLogPseudonym
from evalsite.boards.public_log import NewEntry, log_state
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.judgments.exclusions import decider
from evalsite.judgments.models import Answer, Assignment, Batch, Candidate, Exclusion, Judgment
from evalsite.judgments.selectors import RANKING_PURPOSES, standings

Kind = PublicLogEntry.Kind
JUDGMENTS_PER_ENTRY = 500
READ_TOGETHER = 20_000  # Judgments whose answers are read at once.


class MissingEntries:
    """Entries that a board's log lacks, and the pseudonyms that they use."""

    def __init__(self, board: Board, campaign: Campaign) -> None:
        self.board, self.campaign = board, campaign
        self.known = set(board.log_entries.exclude(source=None).values_list("source", flat=True))
        first = board.log_entries.order_by("number").values_list("at", flat=True).first()
        self.began: datetime | None = first
        entrants = campaign.entrants.values_list("pk", "version__public_id")
        self.versions = {entrant: str(version) for entrant, version in entrants}
        names = PublicLogPseudonym.objects.filter(board=board)
        self.pseudonyms = {one.annotator_id: one for one in names}
        self.used: set[int] = set()

    def entries(self) -> list[NewEntry]:
        """Return the missing entries in the order in which they are added."""
        return [
            *self._restated(),
            *self._versions(),
            *self._withdrawals(),
            *self._retirements(),
            *self._batches(),
            *self._exclusions(),
            *self._snapshot(),
        ]

    def _new(self, kind: Kind, source: str, content: Mapping[str, Any], annotator: int | None = None) -> list[NewEntry]:
        return [] if source in self.known else [NewEntry(kind, content, source, annotator)]

    def _versions(self) -> Iterator[NewEntry]:
        entrants = self.campaign.entrants.select_related("version__chatbot").order_by("pk")
        for one in entrants:
            content = {
                "version": str(one.version.public_id),
                "name": one.name,
                "label": one.version.label,
                "joined_at": one.joined_at.isoformat(),
            }
            yield from self._new(Kind.VERSION, f"entrant:{one.pk}", content)

    def _withdrawals(self) -> Iterator[NewEntry]:
        gone = self.campaign.entrants.filter(state=Entrant.State.WITHDRAWN).select_related("version").order_by("pk")
        for one in gone:
            content = {"version": str(one.version.public_id), "reason": one.withdrawn_reason}
            yield from self._new(Kind.WITHDRAWAL, f"withdrawal:{one.pk}", content)

    def _retirements(self) -> Iterator[NewEntry]:
        for one in self.campaign.retirements.select_related("prompt").order_by("pk"):
            content = {"prompt": one.prompt.key, "reason": one.reason, "retired_at": one.retired_at.isoformat()}
            yield from self._new(Kind.RETIREMENT, f"retirement:{one.pk}", content)

    def _batches(self) -> Iterator[NewEntry]:
        closed = Batch.objects.filter(campaign=self.campaign, state=Batch.State.CLOSED).order_by("number")
        for batch in closed:
            source = f"batch:{batch.number}"
            if source in self.known:
                continue
            judged = _loggable(self.campaign).filter(batch=batch)
            yield from self._judgments(judged, {"batch": batch.number})
            content = {"batch": batch.number, "judgments": judged.count()}
            yield NewEntry(Kind.BATCH, content, source)

    def _judgments(self, judged: QuerySet[Judgment], about: Mapping[str, Any]) -> Iterator[NewEntry]:
        """Yield one entry for each annotator, or several for one with many judgments."""
        by_annotator: dict[int | None, list[int]] = defaultdict(list)
        for key, someone in judged.order_by("pk").values_list("pk", "annotator_id"):
            by_annotator[someone].append(key)
        pieces = [
            (who, keys[start : start + JUDGMENTS_PER_ENTRY])
            for who, keys in by_annotator.items()
            for start in range(0, len(keys), JUDGMENTS_PER_ENTRY)
        ]
        for group in _groups(pieces):
            contents = judgment_contents([key for _, keys in group for key in keys], self.versions)
            for annotator, keys in group:
                content = {
                    **about,
                    "annotator": self._pseudonym(annotator),
                    "judgments": [contents[key] for key in keys],
                }
                yield NewEntry(Kind.JUDGMENTS, content, None, annotator)

    def _exclusions(self) -> Iterator[NewEntry]:
        facts = Exclusion.objects.filter(campaign=self.campaign, proposed=False).select_related("judgment")
        voted = _loggable(self.campaign).values("annotator")
        # The log is silent about newcomers who have not judged.
        for fact in facts.filter(Q(provisional=False) | Q(annotator__in=voted)).order_by("pk"):
            source = f"exclusion:{fact.pk}"
            if source not in self.known:
                annotator = fact.judgment.annotator_id if fact.judgment else fact.annotator_id
                yield NewEntry(Kind.EXCLUSION, self._exclusion(fact), source, annotator)

    def _exclusion(self, fact: Exclusion) -> dict[str, Any]:
        of: dict[str, Any] = {"judgment": str(fact.judgment.public_id)} if fact.judgment else {}
        of |= {"annotator": self._pseudonym(fact.annotator_id)} if fact.annotator_id else {}
        code = (fact.reason_data or {}).get("code")
        # Before the log began, nobody who wrote a reason knew that it would be public.
        hidden = code is None and (self.began is None or fact.decided_at < self.began)
        return {
            **of,
            "lifted": fact.lifted,
            **({"provisional": True} if fact.provisional else {}),
            "by": decider(fact),
            "code": code,
            "reason": None if hidden else fact.reason,
            "decided_at": fact.decided_at.isoformat(),
        }

    def _restated(self) -> Iterator[NewEntry]:
        """Yield an entry about erased contents, and judgments again that stay though their person was erased."""
        gaps = log_state(self.board).gaps
        if f"erasures:{gaps}" in self.known or not gaps:
            return
        logged = [int(one.removeprefix("batch:")) for one in self.known if one and one.startswith("batch:")]
        logged_now = PublicLogContent.objects.filter(entry__board=self.board, entry__kind=Kind.JUDGMENTS)
        lost = _loggable(self.campaign).filter(batch__number__in=logged, annotator__isnull=False)
        lost = lost.exclude(annotator__in=logged_now.filter(annotator__isnull=False).values("annotator"))
        entries = list(self._judgments(lost, {"restated": True}))
        standing = standings(self.campaign)
        for number in sorted({one.annotator for one in entries if one.annotator} & standing.keys()):
            again = {"annotator": self._pseudonym(number), "lifted": False, "by": "restated", "code": None}
            if standing[number].out:
                entries.append(NewEntry(Kind.EXCLUSION, again | {"reason": None}, None, number))
            if standing[number].provisional:
                provisional = again | {"provisional": True, "reason": None}
                entries.append(NewEntry(Kind.EXCLUSION, provisional, None, number))
        content = {"gaps": gaps, "restated": sum(len(one.content.get("judgments", ())) for one in entries)}
        yield NewEntry(Kind.ERASURE, content, f"erasures:{gaps}")
        yield from entries

    def _snapshot(self) -> Iterator[NewEntry]:
        snapshot = self.board.snapshots.order_by("-number").first()
        if snapshot is None or f"snapshot:{snapshot.number}" in self.known:
            return
        rows = [
            {name: row[name] for name in ("version", "rank", "ability", "se", "judgments")} for row in snapshot.rows
        ]
        content = {
            "snapshot": snapshot.number,
            "input_sha256": snapshot.input_sha256,
            "engine": snapshot.engine,
            "seed": snapshot.seed,
            "judgments": snapshot.judgments,
            "looks": snapshot.looks,
            "rows": rows,
            "exposure": exposure(self.campaign),
        }
        yield NewEntry(Kind.SNAPSHOT, content, f"snapshot:{snapshot.number}")

    def _pseudonym(self, annotator: int | None) -> str | None:
        if annotator is None:
            return None
        if annotator not in self.pseudonyms:
            made, _ = PublicLogPseudonym.objects.get_or_create(board=self.board, annotator_id=annotator)
            self.pseudonyms[annotator] = made
        self.used.add(self.pseudonyms[annotator].pk)
        return str(self.pseudonyms[annotator].name)


def _loggable(campaign: Campaign) -> QuerySet[Judgment]:
    """Return judgments that count, or counted until their annotator replaced them or somebody excluded them."""
    return Judgment.objects.filter(
        batch__campaign=campaign,
        batch__state=Batch.State.CLOSED,
        assignment__state=Assignment.State.ANSWERED,
        assignment__purpose__in=RANKING_PURPOSES,
    )


def _groups(pieces: Iterable[tuple[int | None, list[int]]]) -> Iterator[list[tuple[int | None, list[int]]]]:
    """Yield groups of at most READ_TOGETHER judgments."""
    group: list[tuple[int | None, list[int]]] = []
    size = 0
    for piece in pieces:
        if group and size + len(piece[1]) > READ_TOGETHER:
            yield group
            group, size = [], 0
        group.append(piece)
        size += len(piece[1])
    if group:
        yield group


def judgment_contents(keys: list[int], versions: Mapping[int, str]) -> dict[int, dict[str, Any]]:
    """Map keys of judgments to their contents in the log: prompt, versions in the order shown, answers."""
    judged = Judgment.objects.filter(pk__in=keys)
    shown: dict[int, list[str | None]] = defaultdict(list)
    place: dict[int, int] = {}
    candidates = Candidate.objects.filter(assignment__in=judged.values("assignment")).order_by("position")
    for number, assignment, position, entrant in candidates.values_list("pk", "assignment", "position", "entrant_id"):
        shown[assignment].append(versions.get(entrant))
        place[number] = position
    answers: dict[int, list[list[Any]]] = defaultdict(list)
    said = Answer.objects.filter(judgment__in=judged).order_by("aspect__position", "candidate__position", "value")
    for judgment, aspect, value, candidate in said.values_list("judgment", "aspect__key", "value", "candidate_id"):
        answers[judgment].append([aspect, value, place.get(candidate)])
    columns = ("pk", "public_id", "assignment", "assignment__place__prompt__key", "assignment__order_known")
    return {
        key: {
            "id": str(public_id),
            "prompt": prompt,
            "shown": shown[assignment],
            "order_known": order_known,
            "answers": answers[key],
            "replaces": None if replaced is None else str(replaced),
        }
        for key, public_id, assignment, prompt, order_known, replaced in judged.values_list(
            *columns, "supersedes__public_id"
        )
    }


def exposure(campaign: Campaign) -> dict[str, int]:
    """Map versions to the number of answered comparisons that showed them, counted or not."""
    answered = Q(candidacies__assignment__state=Assignment.State.ANSWERED)
    entrants = campaign.entrants.annotate(shown=Count("candidacies", filter=answered))
    return {str(version): shown for version, shown in entrants.values_list("version__public_id", "shown")}
