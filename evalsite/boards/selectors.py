"""Read boards as their readers may see them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, prefetch_related_objects
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.boards.chart_data import MARGIN, Pair
from evalsite.boards.feasibility import evidence_now
from evalsite.boards.models import Board, BoardChartData, Decision, Refit, Slice, Snapshot
from evalsite.boards.rows import PRELIMINARY_BELOW, BoardRow
from evalsite.boards.slice_age import SliceAge, slice_age, slices_with_age
from evalsite.boards.withdrawn_rows import ranked_rows, rows_now
from evalsite.campaigns.limits import limits_now
from evalsite.campaigns.models import Aspect, Campaign, Entrant, LiveSettings
from evalsite.campaigns.selectors import as_uuid, campaigns_at, chatbots_verified, versions_withdrawn
from evalsite.core.composed import composed
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.judgments.selectors import Tally, tally

OF_ONE_OPENING = {"judgments", "budget", "progress", "judgments_to_go"}
LONGEST_VALUE = 100  # Maximum characters of a filter value.
WORDS_SEARCHED = 6  # Each word searches all entrants; further words are ignored.


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A chatbot that joined after the start, with fewer judgments than a place takes. version: its public ID."""

    version: str
    name: str
    label: str
    judgments: int


@dataclass(frozen=True, slots=True)
class BoardState:
    """A board at this moment: newest snapshot, campaign state, and judgments since the snapshot.

    withdrawn: public IDs of withdrawn versions, with the reason.
    slice: the chosen filter. The snapshot then belongs to the board of the slice; all other fields describe the whole
        board.
    decided_on: number of judgments that the decision used.
    verified: public IDs of chatbots whose organisation is verified.
    newcomers: chatbots that joined after the start and do not have their place yet.
    age: whether the slice shows the state of the whole board, an earlier one or a later one.
    """

    board: Board
    campaign: Campaign | None
    snapshot: Snapshot | None
    decision: Decision | None
    tally: Tally
    withdrawn: Mapping[str, str]
    slice: Slice | None = None
    decided_on: int = 0
    verified: frozenset[str] = frozenset()
    newcomers: tuple[Newcomer, ...] = ()
    age: SliceAge = SliceAge.SAME

    @property
    def rows(self) -> list[BoardRow]:
        """Return the rows of the snapshot in their order, as readers see them now (`boards.withdrawn_rows`)."""
        return rows_now(self.snapshot.rows, self.withdrawn) if self.snapshot else []

    @property
    def ranked(self) -> list[BoardRow]:
        """Return the rows of the chatbots that take part."""
        return ranked_rows(self.rows)

    @property
    def after_stop(self) -> int:
        """Return the number of judgments that were in progress when a rule stopped the campaign.

        The rule had not seen these judgments. Returns 0 where no rule stopped the campaign, and for a slice, whose
        judgments are others.
        """
        if self.decision is None or not self.decision.stop or self.snapshot is None or self.slice is not None:
            return 0
        return max(0, self.snapshot.judgments - self.decided_on)

    @property
    def etag(self) -> str:
        """Return a tag that changes if and only if visible content changes."""
        number = self.snapshot.number if self.snapshot else 0
        state = self.campaign.state if self.campaign else "none"
        wanted = f"{self.evidence.get('target', 0.0):.6g}.{self.evidence.get('budget', 0.0):.0f}"
        decision = self.decision.pk if self.decision else 0  # A decision is written after its snapshot.
        parts = f"{number}-{decision}-{self.tally.judgments}-{state}-{self.withdrawn_hash}-{wanted}"
        return f'"{self.board.pk}{self.slice_key}-{parts}"'

    @property
    def withdrawn_hash(self) -> str:
        """Return a hash of withdrawn and verified chatbots and newcomers; empty if there are none."""
        if not (self.withdrawn or self.verified or self.newcomers):
            return ""
        changes = repr((sorted(self.withdrawn.items()), sorted(self.verified), self.newcomers))
        return sha256(changes.encode(errors="replace")).hexdigest()[:12]

    @property
    def evidence(self) -> Mapping[str, float]:
        """Return the evidence of the last decision, adjusted to the current limits; empty before the first decision."""
        if self.decision is None:
            return {}
        if self.campaign is None:
            return dict(self.decision.evidence)
        found = evidence_now(limits_now(self.campaign), self.decision.evidence, self.decided_on)
        if self.decision.stop and self.campaign.collecting:  # it has opened again, and nothing is decided yet
            return {name: value for name, value in found.items() if name not in OF_ONE_OPENING}
        return found

    @property
    def slice_key(self) -> str:
        """Return the slice part of the tag; empty for the whole board."""
        if self.slice is None:
            return ""
        return f"/{self.slice.pk}.{self.slice.judgments}.{bool(self.slice.trouble):d}.{self.age}"

    @property
    def aspect(self) -> Aspect:
        """Return the aspect that annotators judged."""
        return self.slice.own.aspect if self.slice and self.slice.own else self.board.aspect


def board_get(*, key: str, user: User | None) -> Board:
    """Return the board at this address, if this person may see every campaign that it ranks.

    Slices have no address.

    Raises NotFound both for missing boards and for boards that this person may not see.
    """
    public_id = as_uuid(key)
    for board in _boards_by_link(public_id) if public_id else _boards_by_slug(key):
        prefetch_related_objects([board], "campaigns")
        if _visible(board, user, by_link=public_id is not None):
            return board
    raise NotFound(
        gettext("There is no such board."), hint=gettext("Check the address; a private board needs you to log in.")
    )


@composed
def _boards_by_link(public_id: uuid.UUID) -> QuerySet[Board, Board]:
    return _at(Q(public_id=public_id))


@composed
def _boards_by_slug(slug: str) -> QuerySet[Board, Board]:
    return _at(Q(slug=slug))


def _at(address: Q) -> QuerySet[Board, Board]:
    shown_with = ("organisation", "default_of__stopping", "default_of__plan", "default_of__submission_settings")
    is_linked = Exists(LiveSettings.objects.filter(static_campaign=OuterRef("default_of")))
    found: QuerySet[Board, Board] = Board.objects.filter(address, slice_of=None).select_related(*shown_with, "aspect")
    return found.annotate(is_linked=is_linked)


def _visible(board: Board, user: User | None, *, by_link: bool) -> bool:
    campaigns = list(board.campaigns.all())
    if not campaigns:
        return False
    return all(campaigns_at(str(campaign.public_id) if by_link else campaign.slug, user) for campaign in campaigns)


@dataclass(frozen=True, slots=True)
class Filter:
    """A reader's choice of what to see of a board; `by` is a Slice.By."""

    by: str
    value: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filter | None":
        """Return the filter in a query; None for the whole board.

        Raises InvalidInput for several filters at once.
        """
        named = [cls(by, query[by]) for by in Slice.By.values if query.get(by)]
        if len(named) > 1:
            raise InvalidInput(
                gettext("A board is filtered by one thing at a time."),
                hint=gettext("Keep one of %(filters)s: each has a fit of its own.")
                % {"filters": gettext(" and ").join(one.by for one in named)},
                field=named[1].by,
            )
        return named[0] if named else None


def slice_get(board: Board, wanted: Filter | None) -> Slice | None:
    """Return the slice of a filter; None for the whole board, including the filter by the board's own aspect.

    Raises NotFound.
    """
    if wanted is None or (wanted.by, wanted.value) in {
        (Slice.By.ASPECT, board.aspect.key),
        (Slice.By.MODE, Slice.OWN_MODE),
    }:
        return None
    found: Slice | None = (  # PostgreSQL rejects NUL characters even in a lookup.
        slices_of(board)
        .filter(by=wanted.by, value=wanted.value[:LONGEST_VALUE].replace("\x00", ""))
        .select_related("own__aspect")
        .first()
    )
    if found is None:
        raise NotFound(
            gettext("This board has no %(by)s “%(value)s”.") % {"by": wanted.by, "value": wanted.value[:LONGEST_VALUE]},
            hint=gettext("Choose one of those that the board offers; they appear with its first ranking."),
            field=wanted.by,
        )
    return found


def usual_filter(board: Board) -> Filter | None:
    """Return what pages show without a filter: for a live campaign, the board of both modes, where there is one."""
    if board.default_of is None or not board.default_of.is_live:
        return None
    both = board.slices.filter(by=Slice.By.MODE, judgments__gte=Slice.LEAST_JUDGMENTS, own__isnull=False)
    return Filter(Slice.By.MODE.value, Slice.BOTH_MODES) if both.exists() else None


def controls_style(campaign: Campaign | None) -> bool:
    """Return whether a campaign has a second board at equal style. Texts of live turns are not stored as replies."""
    if campaign is None or campaign.is_live or campaign.is_single:
        return False
    return campaign.plan.style_control


def slices_of(board: Board) -> QuerySet[Slice]:
    """Return every filter that readers can choose."""
    pieces = slices_with_age(board)
    return pieces if controls_style(board.default_of) else pieces.exclude(by=Slice.By.STYLE)


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """What a typical difference of one covariate of style is worth, in logits; the interval covers 95 %."""

    name: str
    effect: float
    se: float

    @property
    def lower(self) -> float:
        return self.effect - MARGIN * self.se

    @property
    def upper(self) -> float:
        return self.effect + MARGIN * self.se


@dataclass(frozen=True, slots=True)
class StyleResult:
    """The effects of style on a board at equal style, and each version's rank (public ID) on the board as judged."""

    effects: tuple[StyleEffect, ...]
    ranks_as_judged: Mapping[str, int]


def style_result(board_state: BoardState) -> StyleResult | None:
    """Return the result for a board at equal style; None for another board, or before its first fit."""
    piece, snapshot = board_state.slice, board_state.snapshot
    if piece is None or piece.by != Slice.By.STYLE or snapshot is None:
        return None
    whole = snapshot_current(board_state.board)
    fit = chart_data_fit(snapshot) or {}
    effects = tuple(StyleEffect(one["name"], one["effect"], one["se"]) for one in fit.get("style", []))
    rows = rows_now(whole.rows, board_state.withdrawn) if whole else []
    return StyleResult(effects, {row["version"]: row["rank"] for row in rows if "version" in row})


@dataclass(frozen=True, slots=True)
class Category:
    """The newest board of one category's judgments alone."""

    name: str
    judgments: int
    rows: list[BoardRow]


def categories_of(board: Board) -> list[Category]:
    """Return every fitted category of a board with its newest snapshot, in two queries for any number."""
    shown = _category_snapshots(board)
    found = Snapshot.objects.filter(pk__in=shown).values_list("pk", "judgments", "rows")
    return [Category(shown[pk], judgments, rows) for pk, judgments, rows in found]


def categories_version(board: Board) -> str:
    """Return a value that changes whenever the result of `categories_of` changes."""
    return sha256(repr(sorted(_category_snapshots(board))).encode()).hexdigest()[:12]


def _category_snapshots(board: Board) -> dict[int, str]:
    """Map the newest snapshots to their categories."""
    newest = Refit.objects.filter(board=OuterRef("own"), snapshot__isnull=False).order_by("-pk").values("snapshot")[:1]
    fitted = board.slices.filter(by=Slice.By.CATEGORY, own__isnull=False, judgments__gte=Slice.LEAST_JUDGMENTS)
    return dict(fitted.annotate(newest=Subquery(newest)).exclude(newest=None).values_list("newest", "value"))


def board_state_get(board: Board, wanted: Filter | None = None) -> BoardState:
    """Return the newest state of a board, or of one slice of it.

    Raises NotFound for a filter that the board lacks.
    """
    piece = slice_get(board, wanted)
    shown = board if piece is None else piece.own if piece.enough else None
    snapshot = snapshot_current(shown) if shown else None
    # The last decision is valid until the next one: late answers after a stop make snapshots, not decisions.
    of_board = Decision.objects.filter(snapshot__board=board).annotate(decided_on=F("snapshot__judgments"))
    decision = of_board.order_by("-pk").first()
    campaigns = list(board.campaigns.all())
    return BoardState(
        board,
        board.default_of,
        snapshot,
        decision,
        tally(campaigns),
        versions_withdrawn(campaigns),
        piece,
        decision.decided_on if decision else 0,
        chatbots_verified(campaigns),
        newcomers_of(board.default_of, snapshot if piece is None else None),
        SliceAge.SAME if piece is None else slice_age(piece),
    )


def newcomers_of(campaign: Campaign | None, snapshot: Snapshot | None) -> tuple[Newcomer, ...]:
    """Return the newcomers of a campaign that is not over, in the order of joining."""
    if campaign is None or campaign.started_at is None or not (campaign.collecting or campaign.waits_for_chatbots):
        return ()
    judged = {row.get("version", ""): row["judgments"] for row in snapshot.rows} if snapshot else {}
    joined = campaign.entrants.filter(state=Entrant.State.ACTIVE, joined_at__gt=campaign.started_at).order_by("pk")
    rows = joined.values_list("version__public_id", "version__chatbot__name", "version__label")
    found = (Newcomer(str(version), name, label, judged.get(str(version), 0)) for version, name, label in rows)
    return tuple(one for one in found if one.judgments < PRELIMINARY_BELOW)


def snapshot_current(board: Board) -> Snapshot | None:
    """Return the snapshot of the newest completed refit.

    It can be an earlier snapshot again, if its input came back.
    """
    return Snapshot.objects.filter(refits__board=board).defer("posterior").order_by("-refits__pk").first()


def boards_listed(user: User | None) -> QuerySet[Board]:
    """Return the boards that this person can list: public boards and their own, oldest first."""
    whole = Board.objects.filter(slice_of=None).order_by("pk")
    if user is not None and user.is_staff:
        return whole
    return whole.filter(Q(pk__in=boards_public().values("pk")) | Q(pk__in=Board.objects.of(user)))


def snapshots_of(board: Board) -> QuerySet[Snapshot]:
    """Return the snapshots of a board, oldest first, without the columns that only the worker reads."""
    return board.snapshots.defer("posterior").order_by("pk")


def snapshot_get(*, board: Board, number: int) -> Snapshot:
    """Return one snapshot of a board.

    Raises NotFound.
    """
    found = snapshots_of(board).filter(number=number).first() if number < 2**31 else None
    if found is None:
        raise NotFound(gettext("The board has no such snapshot."), field="number")
    return found


@dataclass(frozen=True, slots=True)
class ChartData:
    """Results of the pairs of a snapshot (`boards.chart_data`).

    at_random: numbers of judgments, each with the largest SE expected from that many random assignments.
    """

    pairs: list[Pair]
    at_random: list[tuple[int, float]]


def chart_data_get(snapshot: Snapshot) -> ChartData | None:
    """Return the chart data of this snapshot; None for a snapshot from before chart data was stored."""
    row = BoardChartData.objects.filter(snapshot=snapshot).first()
    if row is None:
        return None
    at_random = [(n, se) for n, se in row.fit.get("at_random", [])]  # Earlier releases stored none.
    return ChartData([Pair(*values) for values in row.pairs], at_random)


def chart_data_fit(snapshot: Snapshot) -> Mapping[str, Any] | None:
    """Return what the fit of this snapshot learned, without the pairs, which can number thousands."""
    found: Mapping[str, Any] | None = (
        BoardChartData.objects.filter(snapshot=snapshot).values_list("fit", flat=True).first()
    )
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot as a point in the history of a board."""

    number: int
    judgments: int
    created_at: datetime
    rows: list[BoardRow]
    engine: str = ""


def history(snapshot: Snapshot, *, at_most: int = 60) -> list[Moment]:
    """Return the snapshots of the board up to this one, oldest first.

    Beyond `at_most`, returns evenly spaced ones that include the last.
    """
    numbers = list(
        Snapshot.objects.filter(board=snapshot.board_id, number__lte=snapshot.number)
        .order_by("number")
        .values_list("number", flat=True)
    )
    step = max(1.0, (len(numbers) - 1) / (at_most - 1))
    chosen = {numbers[round(index * step)] for index in range(min(at_most, len(numbers)))}
    rows = Snapshot.objects.filter(board=snapshot.board_id, number__in=chosen).order_by("number")
    return [Moment(*values) for values in rows.values_list("number", "judgments", "created_at", "rows", "engine")]


def boards_public() -> QuerySet[Board]:
    """Return the boards that everybody may see, newest first."""
    hidden = ~Q(visibility=Campaign.Visibility.PUBLIC) | Q(state=Campaign.State.DRAFT)
    return (
        Board.objects.filter(default_of__visibility=Campaign.Visibility.PUBLIC)
        .exclude(default_of__state=Campaign.State.DRAFT)
        .exclude(campaigns__in=Campaign.objects.filter(hidden))
        .select_related("default_of__stopping", "default_of__plan", "default_of__submission_settings", "aspect")
        .order_by("-pk")
    )


def boards_found(search: str) -> QuerySet[Board]:
    """Return the public boards that match each of the first words of a search.

    A word matches the name, the question, the organisation or an entrant.
    """
    found = boards_public().prefetch_related("campaigns")
    for word in search.replace("\x00", "").split()[:WORDS_SEARCHED]:
        parts = Entrant.objects.filter(campaign__boards=OuterRef("pk"), version__chatbot__name__icontains=word)
        matches = Q(name__icontains=word) | Q(aspect__question__icontains=word) | Q(organisation__name__icontains=word)
        found = found.filter(matches | Exists(parts))
    return found


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """A campaign in a list.

    progress: share of the way to the target.
    judgments: number in the newest snapshot.
    """

    campaign: Campaign
    chatbots: int
    judgments: int
    progress: float | None


def campaigns_progress(user: User, *, start: int, count: int) -> list[CampaignProgress]:
    """Return the campaigns in which this person has a role, newest first; for staff, all.

    Runs four queries for any number of campaigns.
    """
    own = Campaign.objects.all() if user.is_staff else Campaign.objects.of(user)
    active = Count("entrants", filter=Q(entrants__state=Entrant.State.ACTIVE))
    campaigns = list(
        own.select_related("organisation", "stopping").annotate(active=active).order_by("-pk")[start : start + count]
    )
    newest = Snapshot.objects.filter(board=OuterRef("pk")).order_by("-number").values("pk")[:1]
    # The last decision is valid until the next one: a new snapshot exists before its decision.
    last = Decision.objects.filter(snapshot__board=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    boards = Board.objects.filter(default_of__in=campaigns).annotate(newest=Subquery(newest), last=Subquery(last))
    of_campaign = {owner: (at, last) for owner, at, last in boards.values_list("default_of", "newest", "last")}
    judged = dict(Snapshot.objects.filter(pk__in=[at for at, _ in of_campaign.values()]).values_list("pk", "judgments"))
    decided = Decision.objects.filter(pk__in=[last for _, last in of_campaign.values()]).select_related("snapshot")
    decisions = {one.pk: one for one in decided.defer("snapshot__posterior", "snapshot__rows")}
    found = []
    for one in campaigns:
        at, last_pk = of_campaign.get(one.pk, (None, None))
        found.append(CampaignProgress(one, one.active, judged.get(at, 0), _progress(one, decisions.get(last_pk))))
    return found


def _progress(campaign: Campaign, decision: Decision | None) -> float | None:
    if decision is None:
        return None
    known = evidence_now(limits_now(campaign), decision.evidence, decision.snapshot.judgments)
    return known.get("progress")
