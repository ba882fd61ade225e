"""The page of one chatbot: rank, results against each other chatbot, and history."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.chart_data import Pair
from evalsite.boards.events import BoardEvent, events_of
from evalsite.boards.models import Slice
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, Moment, categories_version, chart_data_get, history
from evalsite.boards.slice_age import categories_behind
from evalsite.boards.withdrawn_rows import ranked_rows, unranked_rows
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Version
from evalsite.core.errors import NotFound
from evalsite.core.terminal import shown
from evalsite.judgments.selectors import votes_counted
from evalsite.pages.strengths import ReplyExample, Votes, examples_of, newest_text, strengths_of
from evalsite.presentation.chart_geometry import Axis, Whisker, axis_for, whisker
from evalsite.presentation.figures import Panels, panels, version_of
from evalsite.presentation.formatting import chance, fixed, interval_text, rank_text, share, signed
from evalsite.presentation.links import Links
from evalsite.presentation.page_cache import cached_part
from evalsite.presentation.ranking import organisation_text, status_of
from evalsite.prompts.models import Prompt

ON_PROMPTS = 5


@dataclass(frozen=True, slots=True)
class Opponent:
    """Results against one opponent.

    bar: where ties begin and where losses begin, in percent.
    apart: whether the board shows the two as different; None where it is not known.
    """

    rank: str
    name: str
    url: str
    won: int
    tied: int
    lost: int
    judgments: int
    known: int
    bar: tuple[float, float]
    difference: str
    interval: str
    chance: str
    apart: bool | None
    whisker: Whisker


@dataclass(frozen=True, slots=True)
class VersionResults:
    """A version of the chatbot on this board, with its results."""

    version: str
    rank: str
    rank_class: int | None
    of: int
    ability: str
    interval: str
    se: str
    judgments: int
    win_rate: str
    known_ties: int
    preliminary: bool
    status: str
    withdrawn: str | None
    axis: Axis
    opponents: list[Opponent]
    different: str
    never_met: int
    panels: Panels
    since: datetime


def rows_of(board_state: BoardState, chatbot: str) -> list[BoardRow]:
    """Return the rows of the chatbot's versions, strongest first; withdrawn ones last.

    Raises NotFound.
    """
    rows = board_state.rows
    found = [row for row in (*ranked_rows(rows), *unranked_rows(rows)) if row["chatbot"] == chatbot]
    if not found:
        raise NotFound(_("There is no such chatbot on this board."), hint=_("Choose one from the ranking."))
    return found


def chatbot_context(board_state: BoardState, key: str, chatbot: str) -> dict[str, Any]:
    """Return the context of chatbot.html without the board's head, computed once per snapshot."""
    campaign = board_state.campaign
    shown = f"{campaign.shows_prompts:d}{campaign.shows_replies:d}" if campaign else ""
    if campaign is not None and campaign.shows_replies:
        shown += newest_text(campaign, chatbot)  # Corrected replies are no longer public.
        shown += f"{_may_collect(board_state):d}"
    # Categories are fitted after the whole board.
    fitted = f"{categories_version(board_state.board)}{categories_behind(board_state.board):d}"
    name = f"chatbot-{key}-{version_of(board_state)}-{shown}-{fitted}-{chatbot}"
    return cached_part(name, lambda: _context(board_state, key, chatbot))


def _context(board_state: BoardState, key: str, chatbot: str) -> dict[str, Any]:
    snapshot = board_state.snapshot
    own, rows = rows_of(board_state, chatbot), board_state.rows
    assert snapshot is not None  # noqa: S101 - it has rows
    record = chart_data_get(snapshot)
    moments = history(snapshot)
    events = events_of(board_state.board, moments)
    pairs = record.pairs if record else []
    links = Links.of(board_state, key)
    counts = _by_prompt(own[0], board_state) if _lists_prompts(board_state) else None
    return {
        "name": shown(own[0]["name"]),
        "organisation": organisation_text(own[0], board_state.verified),
        "kind": {"live": _("live endpoint"), "static": _("static file of replies")}.get(own[0]["kind"], ""),
        "recorded": record is not None,
        "standings": [_version_results(row, board_state, links, rows, pairs, moments, events) for row in own],
        "preview": preview(own[0], board_state),
        "strengths": strengths_of(own[0], board_state, links),
        "prompts": None if counts is None else _notable_prompts(counts, links),
        "examples_wait": _examples_wait(board_state),
        "examples": _examples(own[0], board_state, counts, links),
        "badge_url": links.to("chatbot_badge", chatbot),
    }


@dataclass(frozen=True, slots=True)
class PromptResult:
    """Votes of a chatbot on one prompt."""

    key: str
    url: str
    won: int
    tied: int
    lost: int


def _lists_prompts(board_state: BoardState) -> bool:
    """Return whether the page may list prompts.

    The counts do not follow a filter of prompts or chatbots.
    """
    whole = board_state.slice is None or board_state.slice.by == Slice.By.ASPECT
    return whole and board_state.campaign is not None and board_state.campaign.shows_prompts


def _notable_prompts(counts: Mapping[int, Votes], links: Links) -> dict[str, list[PromptResult]]:
    """Return a few prompts with the most votes won over lost, and a few with the opposite."""
    by = sorted(counts, key=lambda prompt: (counts[prompt][0] - counts[prompt][2], counts[prompt][0]), reverse=True)
    best = [prompt for prompt in by if counts[prompt][0] > counts[prompt][2]][:ON_PROMPTS]
    worst = [prompt for prompt in reversed(by) if counts[prompt][0] < counts[prompt][2]][:ON_PROMPTS]
    named = Prompt.objects.in_bulk([*best, *worst])
    whole = Links(links.key)

    def shown(prompt: int) -> PromptResult:
        return PromptResult(named[prompt].key, whole.to("board_prompt", named[prompt].public_id), *counts[prompt])

    return {"best": [shown(prompt) for prompt in best], "worst": [shown(prompt) for prompt in worst]}


def _examples_wait(board_state: BoardState) -> bool:
    """Return whether examples are released but the campaign has not ended."""
    released = (
        board_state.campaign is not None and board_state.campaign.shows_replies and board_state.campaign.shows_prompts
    )
    return released and _may_collect(board_state)


def _examples(
    row: BoardRow, board_state: BoardState, counts: Mapping[int, Votes] | None, links: Links
) -> list[ReplyExample]:
    """Return examples; None unless the campaign releases them and has stopped.

    A running campaign may show any reply again. An annotator who knows its author would not judge blindly.
    """
    if (
        board_state.campaign is None
        or not board_state.campaign.shows_replies
        or not counts
        or _may_collect(board_state)
    ):
        return []
    version = _version(row)
    return examples_of(version, counts, links) if version else []


def _may_collect(board_state: BoardState) -> bool:
    """Return whether a campaign of this board collects, or may collect again."""
    return board_state.board.campaigns.exclude(state=Campaign.State.STOPPED).exists()


def _version(row: BoardRow) -> int | None:
    key = row.get("version") or row["chatbot"]
    found: int | None = Version.objects.filter(public_id=key).values_list("pk", flat=True).first()
    return found


def _by_prompt(row: BoardRow, board_state: BoardState) -> dict[int, Votes]:
    """Map prompt keys to votes won, tied and lost."""
    version = _version(row)
    votes = (
        votes_counted(list(board_state.board.campaigns.all()), board_state.aspect, version=version) if version else []
    )
    counts: dict[int, list[int]] = {}
    for vote in votes:
        if vote.live:
            continue  # nobody else sees the prompt of a live turn
        of = counts.setdefault(vote.prompt, [0, 0, 0])
        of[1 + (vote.outcome if vote.first_version == version else -vote.outcome)] += 1
    return {prompt: (of[0], of[1], of[2]) for prompt, of in counts.items()}


def preview(row: BoardRow, board_state: BoardState) -> str:
    """Describe the chatbot in one line, for shared links."""
    words = {
        "board": shown(board_state.board.name),
        "ability": signed(row["ability"]),
        "interval": interval_text(row["lower"], row["upper"]),
    }
    if "withdrawn" in row:
        return _("Withdrawn from %(board)s: ability %(ability)s (%(interval)s).") % words
    return _("Rank %(rank)s of %(of)s on %(board)s: ability %(ability)s (%(interval)s).") % {
        **words,
        "rank": rank_text(row),
        "of": _size(row, board_state.rows),
    }


def _size(row: BoardRow, rows: list[BoardRow]) -> int:
    return sum(other["group"] == row["group"] for other in ranked_rows(rows))


def _version_results(
    row: BoardRow,
    board_state: BoardState,
    links: Links,
    rows: list[BoardRow],
    pairs: list[Pair],
    moments: list[Moment],
    events: list[BoardEvent],
) -> VersionResults:
    place = rows.index(row)
    met = [pair if pair.first == place else pair.turned() for pair in pairs if place in {pair.first, pair.second}]
    met = sorted((pair for pair in met if pair.judgments), key=lambda pair: pair.second)
    axis = axis_for([pair.mean - pair.margin for pair in met], [pair.mean + pair.margin for pair in met])
    size = _size(row, rows)
    with_it = [moment for moment in moments if any(each["chatbot"] == row["chatbot"] for each in moment.rows)]
    return VersionResults(
        version=row.get("version_label", ""),
        rank=rank_text(row),
        rank_class=None if "withdrawn" in row else row.get("rank_class"),
        of=size,
        ability=signed(row["ability"]),
        interval=interval_text(row["lower"], row["upper"]),
        se=fixed(row["se"]),
        judgments=row["judgments"],
        win_rate=share(row.get("win_rate")),
        known_ties=row.get("known_ties", 0),
        preliminary=row["preliminary"],
        status=status_of(row, rows, board_state.withdrawn).word,
        withdrawn=row.get("withdrawn"),
        axis=axis,
        opponents=[_opponent(pair, rows[pair.second], links, axis) for pair in met],
        different=_different(met),
        never_met=sum(other["group"] == row["group"] for other in rows) - 1 - len(met),
        panels=panels([row], moments, events),
        since=with_it[0].created_at,
    )


def _different(met: list[Pair]) -> str:
    """Say from how many of its opponents the board shows it as different; empty where that is not known."""
    if not met or any(pair.apart is None for pair in met):
        return ""
    return ngettext(
        "The board shows it as different from %(n)s of %(all)s opponent.",
        "The board shows it as different from %(n)s of %(all)s opponents.",
        len(met),
    ) % {"n": sum(bool(pair.apart) for pair in met), "all": len(met)}


def _opponent(pair: Pair, other: BoardRow, links: Links, axis: Axis) -> Opponent:
    lower, upper = pair.mean - pair.margin, pair.mean + pair.margin
    bar = (round(100 * pair.won / pair.judgments, 2), round(100 * (pair.won + pair.tied) / pair.judgments, 2))
    return Opponent(
        rank="–" if "withdrawn" in other else str(other["rank"]),
        name=shown(other["name"]),
        url=links.to("board_chatbot", other["chatbot"]),
        won=pair.won,
        tied=pair.tied,
        lost=pair.lost,
        judgments=pair.judgments,
        known=pair.known,
        bar=bar,
        difference=signed(pair.mean),
        interval=interval_text(lower, upper),
        chance=chance(pair.p_above),
        apart=pair.apart,
        whisker=whisker(axis, lower, pair.mean, upper),
    )
