"""Read boards as their readers may see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.boards.chart_data import Pair
from evalsite.boards.feasibility import evidence_now
from evalsite.boards.models import Board, BoardChartData, Decision, Refit, Slice, Snapshot
from evalsite.boards.rows import BoardRow
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.campaigns.selectors import as_uuid, chatbots_verified, versions_withdrawn, visible_by_key
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.judgments.selectors import Tally, tally

LONGEST_VALUE = 100  # characters of a filter's value
WORDS_SEARCHED = 6  # each looks through all who take part; further ones are left out


@dataclass(frozen=True, slots=True)
class BoardState:
    """A board at this moment: its newest snapshot, its campaign's state, and what has come in since.

    withdrawn: public ids of versions that take part no more, with the reason. slice: the filter that was chosen; the
    snapshot is then that of its own board, and everything else is the whole board's. decided_on: the judgments that
    the decision knew. verified: public ids of chatbots whose organisation is verified.
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

    @property
    def after_stop(self) -> int:
        """Judgments on the board that its rule had not seen when it stopped the campaign: they were under way then.
        0 where no rule did, and of a slice, whose judgments are others."""
        if self.decision is None or not self.decision.stop or self.snapshot is None or self.slice is not None:
            return 0
        return max(0, self.snapshot.judgments - self.decided_on)

    @property
    def etag(self) -> str:
        """Changes when, and only when, something that a reader sees changes."""
        number = self.snapshot.number if self.snapshot else 0
        state = self.campaign.state if self.campaign else "none"
        wanted = f"{self.evidence.get('target', 0.0):.6g}.{self.evidence.get('budget', 0.0):.0f}"
        decision = self.decision.pk if self.decision else 0  # comes after its snapshot
        told = f"{number}-{decision}-{self.tally.judgments}-{state}-{self.gone}-{wanted}"
        return f'"{self.board.pk}{self.cut}-{told}"'

    @property
    def gone(self) -> str:
        """Who takes part no more, and why, and who is verified, as part of a name; empty where there is none."""
        said = repr((sorted(self.withdrawn.items()), sorted(self.verified)))
        return sha256(said.encode(errors="replace")).hexdigest()[:12] if self.withdrawn or self.verified else ""

    @property
    def evidence(self) -> Mapping[str, float]:
        """What the last decision knew, by the limits as they are now; nothing before the first."""
        if self.decision is None:
            return {}
        if self.campaign is None:
            return dict(self.decision.evidence)
        return evidence_now(limits_of(self.campaign.stopping), self.decision.evidence, self.decided_on)

    @property
    def cut(self) -> str:
        """What of the board is shown, as part of a name; empty for the whole."""
        return f"/{self.slice.pk}.{self.slice.judgments}.{bool(self.slice.trouble):d}" if self.slice else ""

    @property
    def aspect(self) -> Aspect:
        """What was asked."""
        return self.slice.own.aspect if self.slice and self.slice.own else self.board.aspect


def board_get(*, key: str, user: User | None) -> Board:
    """The board at this address, if every campaign that it ranks may be seen by this person; no slice has an address.

    Raises NotFound alike for what is not there and what is not theirs.
    """
    public_id = as_uuid(key)
    board: Board | None = (
        (Board.objects.filter(public_id=public_id) if public_id else Board.objects.filter(slug=key))
        .filter(slice_of=None)
        .select_related("organisation", "default_of__stopping", "aspect")
        .prefetch_related("campaigns")
        .first()
    )
    if board is None or not _visible(board, user, by_link=public_id is not None):
        raise NotFound(
            gettext("There is no such board."), hint=gettext("Check the address; a private board needs you to log in.")
        )
    return board


def _visible(board: Board, user: User | None, *, by_link: bool) -> bool:
    campaigns = list(board.campaigns.all())
    if not campaigns:
        return False
    return all(
        Campaign.objects.filter(visible_by_key(str(campaign.public_id) if by_link else campaign.slug, user)).exists()
        for campaign in campaigns
    )


@dataclass(frozen=True, slots=True)
class Filter:
    """What a reader wants to see of a board: `by` is a Slice.By."""

    by: str
    value: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filter | None":
        """The one that a query names; none for the whole board. Raises InvalidInput for several at once."""
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
    """The slice behind a filter; None for the whole board, which its own aspect is. Raises NotFound."""
    if wanted is None or (wanted.by == Slice.By.ASPECT and wanted.value == board.aspect.key):
        return None
    found: Slice | None = (  # PostgreSQL cannot even look for a NUL
        board.slices.filter(by=wanted.by, value=wanted.value[:LONGEST_VALUE].replace("\x00", ""))
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


def slices_of(board: Board) -> list[Slice]:
    """Every filter that readers may choose."""
    return list(board.slices.all())


@dataclass(frozen=True, slots=True)
class Category:
    """What the fit of one category's judgments alone says."""

    name: str
    judgments: int
    rows: list[BoardRow]


def categories_of(board: Board) -> list[Category]:
    """Every category of a board that has been fitted, by its newest snapshot; two queries, whatever their number."""
    shown = _categories_shown(board)
    found = Snapshot.objects.filter(pk__in=shown).values_list("pk", "judgments", "rows")
    return [Category(shown[pk], judgments, rows) for pk, judgments, rows in found]


def categories_mark(board: Board) -> str:
    """Changes when what `categories_of` tells does."""
    return sha256(repr(sorted(_categories_shown(board))).encode()).hexdigest()[:12]


def _categories_shown(board: Board) -> dict[int, str]:
    """Newest snapshot -> category."""
    newest = Refit.objects.filter(board=OuterRef("own"), snapshot__isnull=False).order_by("-pk").values("snapshot")[:1]
    fitted = board.slices.filter(by=Slice.By.CATEGORY, own__isnull=False, judgments__gte=Slice.LEAST_JUDGMENTS)
    return dict(fitted.annotate(newest=Subquery(newest)).exclude(newest=None).values_list("newest", "value"))


def board_state_get(board: Board, wanted: Filter | None = None) -> BoardState:
    """The newest state of a board, or of what a filter leaves of it. Raises NotFound for a filter that it lacks."""
    piece = slice_get(board, wanted)
    shown = board if piece is None else piece.own if piece.enough else None
    snapshot = snapshot_current(shown) if shown else None
    # The last decision stands until there is another: late answers after a stop make snapshots, not decisions.
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
    )


def snapshot_current(board: Board) -> Snapshot | None:
    """The snapshot of the newest refit that came to an end (an earlier one again, when its input came back)."""
    return Snapshot.objects.filter(refits__board=board).defer("posterior").order_by("-refits__pk").first()


def boards_listed(user: User | None) -> QuerySet[Board]:
    """Boards that this person finds without a link: public ones, and all of their own; oldest first."""
    whole = Board.objects.filter(slice_of=None).order_by("pk")
    if user is not None and user.is_staff:
        return whole
    return whole.filter(Q(pk__in=boards_public().values("pk")) | Q(pk__in=Board.objects.of(user)))


def snapshots_of(board: Board) -> QuerySet[Snapshot]:
    """A board's snapshots without what only the worker reads, oldest first."""
    return board.snapshots.defer("posterior").order_by("pk")


def snapshot_get(*, board: Board, number: int) -> Snapshot:
    """One snapshot of a board. Raises NotFound."""
    found = snapshots_of(board).filter(number=number).first() if number < 2**31 else None
    if found is None:
        raise NotFound(gettext("The board has no such snapshot."), field="number")
    return found


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """How the rows of a snapshot fared against each other (boards.chart_data).

    at_random: judgments, and the largest SE that so many of them would have left if they had been asked at random.
    """

    pairs: list[Pair]
    at_random: list[tuple[int, float]]


def record_get(snapshot: Snapshot) -> BoardRecord | None:
    """The record of this snapshot; None for one that was made before records were kept."""
    row = BoardChartData.objects.filter(snapshot=snapshot).first()
    if row is None:
        return None
    at_random = [(n, se) for n, se in row.fit.get("at_random", [])]  # earlier releases kept none
    return BoardRecord([Pair(*values) for values in row.pairs], at_random)


def record_fit(snapshot: Snapshot) -> Mapping[str, Any] | None:
    """What the fit of this snapshot learned, without its pairs, which may be many thousands."""
    found: Mapping[str, Any] | None = (
        BoardChartData.objects.filter(snapshot=snapshot).values_list("fit", flat=True).first()
    )
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot as a point of a board's history."""

    number: int
    judgments: int
    created_at: datetime
    rows: list[BoardRow]
    engine: str = ""


def history(snapshot: Snapshot, *, at_most: int = 60) -> list[Moment]:
    """The board's snapshots up to this one, oldest first; of many the last and others evenly spread."""
    numbers = list(
        Snapshot.objects.filter(board=snapshot.board_id, number__lte=snapshot.number)
        .order_by("number")
        .values_list("number", flat=True)
    )
    step = max(1.0, (len(numbers) - 1) / (at_most - 1))
    kept = {numbers[round(index * step)] for index in range(min(at_most, len(numbers)))}
    rows = Snapshot.objects.filter(board=snapshot.board_id, number__in=kept).order_by("number")
    return [Moment(*values) for values in rows.values_list("number", "judgments", "created_at", "rows", "engine")]


def boards_public() -> QuerySet[Board]:
    """Boards that everybody may see, newest first."""
    hidden = ~Q(visibility=Campaign.Visibility.PUBLIC) | Q(state=Campaign.State.DRAFT)
    return (
        Board.objects.filter(default_of__visibility=Campaign.Visibility.PUBLIC)
        .exclude(default_of__state=Campaign.State.DRAFT)
        .exclude(campaigns__in=Campaign.objects.filter(hidden))
        .select_related("default_of__stopping", "aspect")
        .order_by("-pk")
    )


def boards_found(search: str) -> QuerySet[Board]:
    """Public boards in which each of the first words stands: in name, question, who made it, or one who takes part."""
    found = boards_public().prefetch_related("campaigns")
    for word in search.replace("\x00", "").split()[:WORDS_SEARCHED]:
        parts = Entrant.objects.filter(campaign__boards=OuterRef("pk"), version__chatbot__name__icontains=word)
        said = Q(name__icontains=word) | Q(aspect__question__icontains=word) | Q(organisation__name__icontains=word)
        found = found.filter(said | Exists(parts))
    return found


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """A campaign in a list. progress: to its target, of 1; judgments: as its newest snapshot has them."""

    campaign: Campaign
    chatbots: int
    judgments: int
    progress: float | None


def campaigns_standing(user: User, *, start: int, count: int) -> list[CampaignProgress]:
    """Campaigns in which this person has a role (staff: all), newest first; four queries however many there are."""
    own = Campaign.objects.all() if user.is_staff else Campaign.objects.of(user)
    active = Count("entrants", filter=Q(entrants__state=Entrant.State.ACTIVE))
    campaigns = list(
        own.select_related("organisation", "stopping").annotate(active=active).order_by("-pk")[start : start + count]
    )
    newest = Snapshot.objects.filter(board=OuterRef("pk")).order_by("-number").values("pk")[:1]
    # The last decision stands until there is another: a new snapshot is there before it is decided on.
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
    known = evidence_now(limits_of(campaign.stopping), decision.evidence, decision.snapshot.judgments)
    return known.get("progress")
