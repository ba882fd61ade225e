"""Boards of slices: one category, one kind of chatbot, one aspect, or equal style, with a fit of its own.

Nothing waits for them. They run in a job of their own after the refit has published, decided and planned. While a refit
is due, the job fits one slice only and queues itself again for the rest. A failed slice raises an alarm and keeps its
last good board; the others continue.
"""

import hashlib
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from django.db.models import F, Max
from django.utils import timezone

from evalsite.boards.models import Board, Slice
from evalsite.boards.selectors import controls_style, slices_of, snapshot_current
from evalsite.boards.services import board_default
from evalsite.boards.slice_age import MARK_LENGTH, MIXED
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.services import REFIT
from evalsite.chatbots.models import Reply, Version
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.judgments.selectors import CountedVote, votes_counted
from evalsite.prompts.models import Prompt
from evalsite.refits.both_modes import both_modes_input, both_modes_mark
from evalsite.refits.mapping import FitInput, at_equal_style, input_mark, input_of
from evalsite.refits.models import Alarm
from evalsite.refits.refit import Fitted, fitted_of, publish
from evalsite.refits.services import alarm_clear, alarm_raise, failure, slices_request
from evalsite.refits.vote_cache import VOTE_CACHE
from scheduler.reasons import Reason

log = logging.getLogger(__name__)
CATEGORIES_AT_MOST = 60  # The categories with the most prompts, because each costs a fit.


def slices_refit(campaign: Campaign, lease: jobs.Lease) -> None:
    """Fit the slices whose votes have changed, the least recently fitted first."""
    board = board_default(campaign=campaign)
    mark = input_mark(board)
    votes = _Votes(board)
    troubles: list[Reason] = []
    fits = 0
    for piece in slices_ensured(board):
        own = _mark(piece, campaign, mark)
        if piece.seen == own:
            continue
        if fits and jobs.job_is_due(REFIT):
            slices_request(campaign)
            break
        try:
            fits += _refit(piece, votes.of(piece), own, lease)
        except jobs.LeaseLost:
            raise
        except Exception as error:
            log.exception("%s", piece)
            troubles.append(Reason("slice_failed", {"by": piece.by, "value": piece.value, "rest": failure(error)}))
            Slice.objects.filter(pk=piece.pk).update(trouble=str(error)[:2000], looked_at=timezone.now())
    if troubles:
        alarm_raise(campaign=campaign, message=troubles[0].and_also(*troubles[1:]), about=Alarm.About.SLICES)
    elif not Slice.objects.filter(board=board).exclude(trouble="").exists():
        alarm_clear(campaign=campaign, about=Alarm.About.SLICES)


def slices_ensured(board: Board) -> list[Slice]:
    """Return a slice row for every filter that readers can choose.

    Filters that would match the whole board get no row.
    """
    wanted = {(Slice.By.ASPECT, each.key) for each in board.aspect.rubric.aspects.exclude(pk=board.aspect_id)}
    wanted |= {(Slice.By.CATEGORY, category) for category in _categories(board)}
    kinds = set(Version.objects.filter(entrants__campaign__boards=board).values_list("kind", flat=True))
    wanted |= {(Slice.By.KIND, kind) for kind in kinds} if len(kinds) > 1 else set()
    own = board.default_of
    wanted |= {(Slice.By.MODE, Slice.BOTH_MODES)} if own and own.is_live and own.live.static_campaign_id else set()
    wanted |= {(Slice.By.STYLE, Slice.EQUAL_STYLE)} if controls_style(own) else set()
    known = set(board.slices.values_list("by", "value"))
    with write_transaction():
        Slice.objects.bulk_create(
            [Slice(board=board, by=by, value=value) for by, value in sorted(wanted - known)], ignore_conflicts=True
        )
    pieces = slices_of(board).select_related("board", "own")
    return list(pieces.order_by(F("looked_at").asc(nulls_first=True), "pk"))


def _mark(piece: Slice, campaign: Campaign, mark: str) -> str:
    """Return a hash of what a slice's input depends on. It begins as the whole board's does (boards.slice_age)."""
    if piece.by not in MIXED:
        return mark
    if piece.by == Slice.By.MODE:
        more = both_modes_mark(campaign, mark)
    else:  # Of replies too, which are corrected by new rows.
        texts = Reply.objects.filter(version__entrants__campaign=campaign).aggregate(Max("pk"))
        more = hashlib.sha256(f"{mark};style {texts}".encode()).hexdigest()
    return mark[:MARK_LENGTH] + more[MARK_LENGTH:]


def _categories(board: Board) -> list[str]:
    """Return the board's categories, those with the most prompts first; none if there is only one."""
    rows = Prompt.objects.filter(prompt_set__campaigns__boards=board).values_list("category", flat=True)
    counts: dict[str, int] = {}
    for category in rows:
        counts[category] = counts.get(category, 0) + 1
    named = sorted((category for category in counts if category), key=lambda each: (-counts[each], each))
    return named[:CATEGORIES_AT_MOST] if len(counts) > 1 else []


@dataclass(frozen=True)
class _Votes:
    """The counted votes of a board's campaigns by slice.

    They are read once, and only if a slice needs them.
    """

    board: Board

    def of(self, piece: Slice) -> FitInput:
        if piece.by == Slice.By.ASPECT:
            return input_of(votes_counted(self.campaigns, self._aspect(piece.value)), self.campaigns)
        if piece.by == Slice.By.MODE and self.board.default_of is not None:
            return both_modes_input(self.board.default_of)
        if piece.by == Slice.By.STYLE:
            return at_equal_style(input_of(self._all, self.campaigns))
        if piece.by == Slice.By.CATEGORY:
            keep = self._category(piece.value)
            return input_of([vote for vote in self._all if keep(vote)], self.campaigns, piece.value)
        keep = self._kind(piece.value)
        return input_of([vote for vote in self._all if keep(vote)], self.campaigns)

    @cached_property
    def campaigns(self) -> list[Campaign]:
        return list(self.board.campaigns.order_by("pk"))

    @cached_property
    def _all(self) -> list[CountedVote]:
        return VOTE_CACHE.read(self.board, self.campaigns)

    def _aspect(self, key: str) -> Aspect:
        return aspect_of(self.board, key)

    def _category(self, category: str) -> Callable[[CountedVote], bool]:
        return lambda vote: self._category_of[vote.prompt] == category

    def _kind(self, kind: str) -> Callable[[CountedVote], bool]:
        """Match votes with both chatbots of this kind.

        A vote between a live chatbot and a file of replies ranks neither kind.
        """
        return lambda vote: self._kind_of[vote.first_version] == self._kind_of[vote.second_version] == kind

    @cached_property
    def _category_of(self) -> Mapping[int, str]:
        prompts = {vote.prompt for vote in self._all}
        rows = Prompt.objects.filter(prompt_set__campaigns__in=self.campaigns).values_list("pk", "category")
        return {pk: category for pk, category in rows if pk in prompts}

    @cached_property
    def _kind_of(self) -> Mapping[int, str]:
        rows = Version.objects.filter(entrants__campaign__in=self.campaigns)
        return dict(rows.values_list("pk", "kind"))


def aspect_of(board: Board, key: str) -> Aspect:
    aspect: Aspect = board.aspect.rubric.aspects.get(key=key)
    return aspect


def _refit(piece: Slice, given: FitInput, mark: str, lease: jobs.Lease) -> int:
    """Fit the slice if it is large enough and has changed. Return the number of fits."""
    piece.judgments, piece.seen, piece.trouble, piece.looked_at = given.judgments, mark, "", timezone.now()
    piece.chatbots = len({version for vote in given.votes for version in (vote.first_version, vote.second_version)})
    began = timezone.now()
    fitted: Fitted | None = None
    if piece.enough:
        piece.own = piece.own or _own_board(piece)
        fitted = fitted_of(piece.own, given, mark, began)
    with write_transaction():
        lease.confirm()
        if piece.own is not None and fitted is not None and not _stands(piece.own, fitted):
            publish(piece.own, fitted, began)
        piece.save()
    return int(fitted is not None and fitted.snapshot is None)


def _stands(own: Board, fitted: Fitted) -> bool:
    """Return whether exactly this board is already published, so that another refit row is needless."""
    return fitted.shown is None and fitted.snapshot is not None and fitted.snapshot == snapshot_current(own)


def _own_board(piece: Slice) -> Board:
    """Create the board of a slice. Readers reach it through the filter only, so its address stays unknown."""
    whole, number = piece.board, uuid.uuid4()
    with write_transaction():
        board: Board = Board.objects.create(
            public_id=number,
            organisation=whole.organisation,
            name=f"{whole.name}: {piece.value}"[:200],
            slug=str(number),
            aspect=aspect_of(whole, piece.value) if piece.by == Slice.By.ASPECT else whole.aspect,
            category=piece.value if piece.by == Slice.By.CATEGORY else "",
            kind=piece.value if piece.by == Slice.By.KIND else "",
        )
        board.campaigns.set(whole.campaigns.all())
        if piece.by == Slice.By.MODE and whole.default_of and whole.default_of.live.static_campaign:
            board.campaigns.add(whole.default_of.live.static_campaign)
        Slice.objects.filter(pk=piece.pk).update(own=board)
    return board
