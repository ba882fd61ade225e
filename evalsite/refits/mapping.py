"""The only mapping between database rows and the frozen values of the two libraries.

In a ResponseTable, the name of a chatbot is its version ID and the name of a prompt is its ID, because names may
change.
"""

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from uuid import UUID

import numpy as np
from django.utils import timezone

from evalsite.boards.models import Board
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign, Entrant, GoldWithdrawal
from evalsite.campaigns.services import design_hash, plan_options
from evalsite.chatbots.models import Reply
from evalsite.dialogues.chatbot_sets import set_key, turns_ahead
from evalsite.dialogues.models import PlannedSet, Turn
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment
from evalsite.judgments.planned_items import PlannedItem
from evalsite.judgments.queue import Waiting
from evalsite.judgments.selectors import (
    CountedVote,
    ItemCounts,
    LeftOut,
    counted_votes_version,
    item_counts,
    votes_counted,
)
from evalsite.judgments.skips import has_skips, items_closed
from evalsite.prompts.models import Prompt
from evalsite.refits.designs import design_of, overlap_of
from evalsite.refits.known_ties import fitted_mark, ties_fitted
from evalsite.refits.models import Findings
from evalsite.refits.planned_looks import looks_planned
from evalsite.refits.vote_cache import VOTE_CACHE
from evalsite.scorecards.annotated_replies import replies_annotated
from irt_engine import FitResult, Posterior, ResponseTable, WarmStart
from irt_engine.agreement import MergedPrompts, merged_fit
from irt_engine.responses.style import STYLE_COUNTS, StyleDifferences, style_counts, style_differences
from scheduler import Ask, CampaignState, Plan
from scheduler.estimator import estimate_with_warm_start
from scheduler.overlap import OverlapSample
from scheduler.pool import Pool
from scheduler.tiers import TIERS

ENGINE = "0.12"
PAST = "past"  # Stands in the plans of live campaigns for the conversations that have ended.
NEXT_CONVERSATIONS = 100  # Conversations that begin before the next plan, at most. Each is an item of the plan.
LIVE_VOTES_PER_ITEM = 10**9  # A conversation may have any number of turns.
MODEL = "board, vote"  # The model that `scheduler.estimator` fits.


StyleCounts = Mapping[tuple[int, int], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class FitInput:
    """The input of a fit, and the hash that identifies it.

    ties: known ties that belong in the fit (`known_ties`); nobody judged them.
    conversations: conversation of each live turn, by its prompt. The turns of a conversation are one item of the fit.
    Each is seen once, so its own parameters could not be estimated; and they share an annotator, whose preferences
    become the effects of this item's replies.
    tiers: tiers of ability in which a prompt may discriminate differently, as `scheduler.estimator` takes them.
    style: style counts of replies by (version, prompt), to hold the style equal; None does not.
    merge_redundant: whether each group of redundant prompts is fitted as one prompt.
    """

    votes: Sequence[CountedVote]
    sha256: str
    seed: int
    ties: Sequence[CountedVote] = ()
    conversations: Mapping[int, int] = field(default_factory=dict)
    tiers: int = TIERS
    style: StyleCounts | None = None
    merge_redundant: bool = False

    @property
    def judgments(self) -> int:
        """Return the number of judgments. A turn with more than two chatbots may have several votes."""
        return sum(not vote.live for vote in self.votes) + len({vote.prompt for vote in self.votes if vote.live})

    @property
    def annotators(self) -> int:
        return len({vote.annotator for vote in self.votes if vote.annotator is not None})

    def table(self) -> ResponseTable:
        """Return the votes in the engine's format.

        The first candidate of an assignment was displayed first, if the order is known.
        """
        seen = [*self.votes, *self.ties]
        return ResponseTable.from_votes(
            [str(vote.first_version) for vote in seen],
            [str(vote.second_version) for vote in seen],
            [self._item(vote) for vote in seen],
            [vote.outcome for vote in seen],
            annotator_id=[None if vote.annotator is None else str(vote.annotator) for vote in seen],
            a_first=[1 if vote.order_known else None for vote in seen],
        )

    def fit(self, start: WarmStart | None = None) -> tuple[FitResult, MergedPrompts | None]:
        """Fit the votes as a board, and return the merged prompts if they are asked for. Raises EngineError."""
        style = None if self.style is None else self._differences(self.style)

        def estimated(table: ResponseTable, start: WarmStart | None) -> FitResult:
            return estimate_with_warm_start(table, start, self.seed, tiers=self.tiers, style=style)

        if self.merge_redundant:
            return merged_fit(self.table(), estimated, start)
        return estimated(self.table(), start), None

    def _differences(self, counts: StyleCounts) -> StyleDifferences:
        seen = [*self.votes, *self.ties]
        unknown = (math.nan,) * len(STYLE_COUNTS)
        a = [counts.get((vote.first_version, vote.prompt), unknown) for vote in seen]
        b = [counts.get((vote.second_version, vote.prompt), unknown) for vote in seen]
        columns = zip(STYLE_COUNTS, zip(*a, strict=True), zip(*b, strict=True), strict=True)
        return style_differences({name: (of_a, of_b) for name, of_a, of_b in columns})

    def _item(self, vote: CountedVote) -> str:
        conversation = self.conversations.get(vote.prompt)
        return str(vote.prompt) if conversation is None else f"conversation {conversation}"


def votes_to_screen(board: Board, given: FitInput) -> Sequence[CountedVote]:
    """Return the votes for screening a campaign's annotators, including votes that the screening left out."""
    campaign = board.default_of
    if campaign is None or not campaign.exclusions.filter(decided_by=None, provisional=False).exists():
        return given.votes
    return votes_counted([campaign], board.aspect, without=LeftOut.BY_PEOPLE)


def input_mark(board: Board) -> str:
    """Return a hash of everything that fit, tests and screening of a board depend on, without reading votes."""
    campaigns = campaigns_of(board)
    own = board.default_of
    words = (ENGINE, _model(campaigns), campaigns[0].seed if campaigns else 0, board.aspect_id, board.category)
    screening = own.screening if own else ""
    if own and own.gold_mark is not None:
        withdrawn = GoldWithdrawal.objects.filter(item__campaign=own).count()
        screening += f",{own.gold_mark},{withdrawn}"
    if (looks := looks_planned(campaigns)) is not None:
        screening += f",{looks} looks"
    marks = (screening, counted_votes_version(campaigns), fitted_mark(campaigns))
    return hashlib.sha256(f"{words};{';'.join(marks)}".encode()).hexdigest()


def campaigns_of(board: Board) -> list[Campaign]:
    """Return the campaigns of a board with their plans and limits."""
    return list(board.campaigns.select_related("plan", "stopping").order_by("pk"))


def fit_input(board: Board) -> FitInput:
    """Return the counted votes of a board.

    The same votes, options and engine have the same hash in any order.
    """
    campaigns = campaigns_of(board)
    return input_of(VOTE_CACHE.read(board, campaigns), campaigns, board.category)


def input_of(votes: Sequence[CountedVote], campaigns: Sequence[Campaign], category: str = "") -> FitInput:
    """Return these votes of the campaigns with their known ties, in one category or in all."""
    seed = campaigns[0].seed if campaigns else 0
    ties = ties_fitted(campaigns, versions_of(votes), category)
    found = replace(
        input_named(votes, ties, seed, model=_model(campaigns)),
        tiers=tiers_of(campaigns),
        merge_redundant=merges_redundant(campaigns),
    )
    live = [campaign for campaign in campaigns if campaign.is_live]
    turns = Turn.objects.filter(conversation__campaign__in=live) if live else Turn.objects.none()
    return replace(found, conversations=dict(turns.values_list("prompt_id", "conversation_id")))


def conversation_items(campaigns: Sequence[Campaign]) -> dict[str, str]:
    """Map the keys of live turns' prompts to their items of the fit."""
    turns = Turn.objects.filter(conversation__campaign__in=[one for one in campaigns if one.is_live])
    return {key: f"conversation {number}" for key, number in turns.values_list("prompt__key", "conversation_id")}


def tiers_of(campaigns: Sequence[Campaign]) -> int:
    """Return the tiers of a board's fit: those of its first campaign."""
    return campaigns[0].plan.tiers if campaigns else TIERS


def merges_redundant(campaigns: Sequence[Campaign]) -> bool:
    """Return whether a board's fit merges redundant prompts: the choice of its first campaign."""
    return bool(campaigns) and campaigns[0].plan.merge_redundant


def at_equal_style(given: FitInput) -> FitInput:
    """Return the same votes with the style of their replies, as annotators see them."""
    versions, prompts = versions_of(given.votes), {vote.prompt for vote in given.votes}
    rows = Reply.objects.shown().filter(version__in=versions)
    texts = rows.values_list("version", "prompt", "text").iterator(chunk_size=1000)
    counts = {(version, prompt): style_counts(text) for version, prompt, text in texts if prompt in prompts and text}
    digest = hashlib.sha256(f"{given.sha256};style {sorted(counts.items())}".encode()).hexdigest()
    return replace(given, style=counts, sha256=digest)


def _model(campaigns: Sequence[Campaign]) -> str:
    tiers = f", {tiers_of(campaigns)} tiers" + (", merged" if merges_redundant(campaigns) else "")
    return MODEL + (", conversations" if any(campaign.is_live for campaign in campaigns) else "") + tiers


def input_named(votes: Sequence[CountedVote], ties: Sequence[CountedVote], seed: int, *, model: str = "") -> FitInput:
    """Return the votes and ties with their hash."""
    digest = hashlib.sha256(f"{ENGINE};{model or MODEL};{seed}\n".encode())
    digest.update("\n".join(_lines(votes)).encode())
    if ties:
        digest.update(b"\nknown\n" + "\n".join(_lines(ties)).encode())
    return FitInput(votes, digest.hexdigest(), seed, ties)


def versions_of(votes: Sequence[CountedVote]) -> set[int]:
    """Return the versions that these votes compare."""
    return {version for vote in votes for version in (vote.first_version, vote.second_version)}


def _lines(votes: Sequence[CountedVote]) -> list[str]:
    return sorted(
        f"{v.first_version},{v.second_version},{v.prompt},{v.annotator},{v.outcome},{int(v.order_known)}" for v in votes
    )


class Planner:
    """Maps the rows of a campaign to the scheduler's indices, and planned items back to rows."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        # Read first, so that a change during the following reads makes the planner outdated.
        self.mark = design_hash(campaign)
        self.entrants = list(
            campaign.entrants.filter(state=Entrant.State.ACTIVE).select_related("version__chatbot").order_by("pk")
        )
        # A live turn is never asked again. Live campaigns plan pairs for the next conversations instead.
        annotated = replies_annotated(campaign)
        in_use = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
        if not annotated:
            in_use = in_use.exclude(origin=Prompt.Origin.LIVE)
        in_use = in_use.exclude(pk__in=campaign.retirements.values("prompt"))
        self.prompts = list(in_use.order_by("pk"))
        self.hashes = self._hashes() | annotated
        self.options = plan_options(campaign)
        self.limits = limits_of(campaign.stopping)
        self.design = design_of(self.options, self.limits, [entrant.pk for entrant in self.entrants])
        self.overlap = overlap_of(self.options, campaign.seed)

    def _hashes(self) -> dict[tuple[int, int], str | None]:
        """Map (version, prompt) to the hash of the current visible reply."""
        rows = Reply.objects.shown().filter(
            version__in=[entrant.version_id for entrant in self.entrants],
            prompt__prompt_set=self.campaign.prompt_set_id,
        )
        return {
            (version, prompt): sha256 for version, prompt, sha256 in rows.values_list("version", "prompt", "sha256")
        }

    def state(self, posterior: Posterior | None, judgments: int, counts: ItemCounts | None = None) -> CampaignState:
        """Return the state from which the scheduler chooses.

        Items are (a, b, prompt) with a < b, one row for each judgment or open assignment.

        counts: counts of the items, if they are known already.
        """
        counts = counts or item_counts(self.campaign)
        if self.campaign.is_live:
            return self._live_state(posterior, judgments, counts)
        return CampaignState(
            chatbots=self._chatbot_names,
            prompts=self._prompt_names,
            posterior=posterior,
            judged=self._items(counts.judged),
            pending=self._items(counts.pending),
            closed=self._closed(),
            votes_per_item=self.campaign.votes_per_item,
            judgments=judgments,
            votes_per_pair=self.options.votes_per_pair,
            overlap=self.overlap,
            categories=tuple(prompt.category for prompt in self.prompts),
            redundant=self._redundant(),
            now=timezone.now(),
        )

    def _live_state(self, posterior: Posterior | None, judgments: int, counts: ItemCounts) -> CampaignState:
        """Return the state of a live campaign: its pairs meet in the next conversations.

        Pending are issued turns, and the turns that conversations in progress still have before them. They are spread
        over items as over conversations of the least length, because turns of one conversation repeat each other.
        """
        judged = self._live_items(counts.judged)
        pending = Counter(counts.pending)
        for chatbot_set, turns in turns_ahead(self.campaign).items():
            pending[f"0:{chatbot_set}"] += turns
        return CampaignState(
            chatbots=self._chatbot_names,
            prompts=(PAST, *(f"next {number}" for number in range(1, NEXT_CONVERSATIONS + 1))),
            posterior=posterior,
            judged=_triples([(*pair, 0) for pair in judged]),
            pending=_triples(
                [(*pair, 1 + place % NEXT_CONVERSATIONS) for pair, place in self._by_conversation(pending)]
            ),
            retired=np.array([0]),
            votes_per_item=LIVE_VOTES_PER_ITEM,
            judgments=judgments,
            votes_per_pair=self.options.votes_per_pair,
            now=timezone.now(),
        )

    def _by_conversation(self, counts: Mapping[str, int]) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield the pair of each vote with the number of its conversation, if each has the least number of turns."""
        for pair, votes in Counter(self._live_items(counts)).items():
            for number in range(votes):
                yield pair, number // self.campaign.live.minimum_turns

    def _live_items(self, counts: Mapping[str, int]) -> list[tuple[int, int]]:
        """Return one pair of active chatbots for each vote."""
        numbers = [entrant.pk for entrant in self.entrants]
        places: dict[tuple[int, ...], tuple[int, int]] = dict(
            zip(_pairs(numbers), _pairs(range(len(numbers))), strict=True)
        )
        found = [(places.get(item_parts(item)[1]), count) for item, count in counts.items()]
        return [place for place, count in found if place is not None for _ in range(count)]

    def live_sets(self, made: Plan, snapshot: UUID | None) -> list[PlannedSet]:
        """Convert a live campaign's plan to sets of chatbots, the next one first."""
        return [
            PlannedSet(
                campaign=self.campaign,
                entrants=set_key([self.entrants[ask.a].pk, self.entrants[ask.b].pk]),
                priority=priority,
                policy=made.policy,
                probability=ask.probability,
                snapshot=snapshot,
                plan_seed=made.seed,
            )
            for priority, ask in enumerate(made.asks)
        ]

    def _redundant(self) -> tuple[tuple[str, ...], ...]:
        """Return the last found groups of redundant prompts that are in use, as the console displays them."""
        found = Findings.objects.filter(campaign=self.campaign).values_list("prompts", flat=True).first() or []
        in_use = {prompt.pk for prompt in self.prompts}
        alike = {frozenset([one["prompt"], *one["like"]]) & in_use for one in found if one["like"]}
        return tuple(tuple(str(pk) for pk in sorted(group)) for group in sorted(alike, key=sorted) if len(group) > 1)

    @property
    def _chatbot_names(self) -> tuple[str, ...]:
        return tuple(str(entrant.version_id) for entrant in self.entrants)

    @property
    def _prompt_names(self) -> tuple[str, ...]:
        return tuple(str(prompt.pk) for prompt in self.prompts)

    def is_outdated(self, now: Campaign) -> bool:
        """Return whether entrants, retirements, the plan or the limits have changed since the planner read them."""
        return design_hash(now) != self.mark

    def asks(self, asks: Sequence[Ask]) -> list[PlannedItem]:
        """Convert the scheduler's indices to rows."""
        lots = OverlapSample(self.overlap, self._chatbot_names, self._prompt_names)
        a, b, prompt = (np.array([getattr(ask, name) for ask in asks], np.int64) for name in ("a", "b", "prompt"))
        shared = lots.chosen(a, b, prompt).tolist()
        return [self._ask(ask, chosen) for ask, chosen in zip(asks, shared, strict=True)]

    def _ask(self, ask: Ask, shared: bool) -> PlannedItem:
        first, second, prompt = self.entrants[ask.a], self.entrants[ask.b], self.prompts[ask.prompt]
        return PlannedItem((first, second), prompt, ask.probability, votes=self._votes(shared), shared=shared)

    def _votes(self, shared: bool) -> int:
        return max(self.campaign.votes_per_item, self.overlap.votes if shared else 1)

    def still_open(self, state: CampaignState, waiting: Mapping[int, Waiting]) -> dict[int, int]:
        """Return which queued assignments (keys) may still be issued, in their order, with the votes of their items.

        It leaves out items of withdrawn entrants, of prompts that are retired or corrected, of closed items, and of
        items that have all their votes.
        """
        indices = self._indices({one.item for one in waiting.values()})
        found = [(key, one) for key, one in waiting.items() if one.item in indices]
        open_items = Pool(state).open_items(_triples([indices[one.item] for _, one in found]))
        return {
            key: self._votes(one.purpose == Assignment.Purpose.OVERLAP)
            for (key, one), is_open in zip(found, open_items.tolist(), strict=True)
            if is_open
        }

    def _indices(self, items: Iterable[str]) -> dict[str, tuple[int, int, int]]:
        """Return the indices of items in the state, without those of withdrawn entrants and of unused prompts."""
        numbers = [entrant.pk for entrant in self.entrants]  # In the same order as in an item's name.
        places = dict(zip(_pairs(numbers), _pairs(range(len(numbers))), strict=True))
        prompt_index = {prompt.pk: index for index, prompt in enumerate(self.prompts)}
        found = {}
        for item in items:
            prompt, pair = item_parts(item)
            if pair in places and prompt in prompt_index:
                found[item] = (*places[pair], prompt_index[prompt])
        return found

    def _items(self, counts: Mapping[str, int]) -> np.ndarray:
        return _triples([indices for item, indices in self._indices(counts).items() for _ in range(counts[item])])

    def withheld(self, state: CampaignState) -> int:
        """Count the items that only skips have closed, if the state has no open item left."""
        if not self._skipped or Pool(state).total:
            return 0
        return Pool(replace(state, closed=self._closed(skipped=False))).total

    @cached_property
    def _skipped(self) -> set[str]:
        """Return the items that skips have closed."""
        return items_closed(self.campaign) if has_skips(self.campaign) else set()

    def _closed(self, *, skipped: bool = True) -> np.ndarray:
        """Return closed items: a missing reply, the same text twice (a known tie), or `skipped` items."""
        found = [self._items(dict.fromkeys(self._skipped, 1))] if skipped else []
        low, high = np.triu_indices(len(self.entrants), 1)
        for index, texts in enumerate(self._texts()):
            a, b = texts[low], texts[high]
            shut = np.flatnonzero((a == b) | (a < 0) | (b < 0))
            found.append(np.column_stack([low[shut], high[shut], np.full(len(shut), index)]))
        return np.concatenate([self._items({}), *found])

    def _texts(self) -> np.ndarray:
        """Return a number for each reply's text, shape (prompts, entrants).

        Equal texts have equal numbers; -1 means that there is no reply.
        """
        numbers: dict[str | None, int] = {None: -1}
        rows = [
            [
                numbers.setdefault(self.hashes.get((entrant.version_id, prompt.pk)), len(numbers))
                for entrant in self.entrants
            ]
            for prompt in self.prompts
        ]
        return np.array(rows, np.int64).reshape(len(self.prompts), len(self.entrants))


def _pairs(of: Sequence[int]) -> Iterator[tuple[int, int]]:
    return itertools.combinations(of, 2)


def _triples(rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
