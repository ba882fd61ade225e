"""Views of a board: ranking, charts, one chatbot, method, badge."""

import uuid
from hashlib import sha256
from typing import Any

from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from evalsite.boards.live_reports import LiveReportContent, live_report_get
from evalsite.boards.selectors import BoardState, Filter, board_get, board_state_get, usual_filter
from evalsite.core.errors import NotFound
from evalsite.pages.badge import Badge, board_badge, chatbot_badge
from evalsite.pages.chatbot import chatbot_context
from evalsite.pages.embed import EmbedOptions, embed_context, snippet
from evalsite.pages.filters import menus
from evalsite.pages.method import method_context
from evalsite.pages.share_picture import board_png
from evalsite.pages.visitors import user_of
from evalsite.presentation.anonymous_cache import cached_for_anonymous
from evalsite.presentation.board_head import board_context, page_etag
from evalsite.presentation.figures import (
    FIGURES,
    RenderedFigure,
    Table,
    as_csv,
    figure_html,
    figure_input,
    figures_html,
)
from evalsite.presentation.label_report import label_report_context
from evalsite.presentation.links import Links
from evalsite.presentation.live_report import live_report_context
from evalsite.presentation.live_report_file import COLUMNS, report_rows
from evalsite.presentation.ranking import Cut, ranking_html


def _board_state(request: HttpRequest, key: str) -> BoardState:
    user: Any = request.user if request.user.is_authenticated else None
    board = board_get(key=key, user=user)
    return board_state_get(board, Filter.of(request.GET) or usual_filter(board))


def _is_single(board_state: BoardState) -> bool:
    return board_state.campaign is not None and board_state.campaign.is_single


@require_safe
@cached_for_anonymous
def board(request: HttpRequest, key: str) -> HttpResponse:
    board_state = _board_state(request, key)
    if _is_single(board_state):
        report = label_report_context(board_state.board)
        return render(request, "label_board.html", board_context(board_state, key) | report)
    cut = Cut.of(request.GET)
    context = board_context(board_state, key, cut=cut) | {
        "ranking": ranking_html(board_state, key, cut),
        "menus": menus(board_state, key, cut),
        "snippet": snippet(board_state),
    }
    return render(request, "board.html", context)


@require_safe
@cached_for_anonymous
def board_live(request: HttpRequest, key: str) -> HttpResponse:
    board_state = _board_state(request, key)
    response = render(request, "_board_live.html", board_context(board_state, key))
    response["ETag"], response["Cache-Control"] = page_etag(board_state), "no-cache"
    return response


@require_safe
@cached_for_anonymous
def board_picture(request: HttpRequest, key: str) -> HttpResponse:
    """Return the preview picture for links to the board on other sites."""
    content = board_png(_board_state(request, key))
    headers = {"ETag": f'"{sha256(content).hexdigest()[:32]}"', "Cache-Control": "no-cache"}
    return HttpResponse(content, content_type="image/png", headers=headers)


@require_safe
@cached_for_anonymous
def board_ranking(request: HttpRequest, key: str) -> HttpResponse:
    return HttpResponse(ranking_html(_board_state(request, key), key, Cut.of(request.GET)))


@require_safe
@cached_for_anonymous
def board_charts(request: HttpRequest, key: str) -> HttpResponse:
    board_state = _board_state(request, key)
    return _charts(request, board_state, key, figures_html(board_state, key))


@require_safe
@cached_for_anonymous
def board_chart(request: HttpRequest, key: str, slug: str) -> HttpResponse:
    """Show one chart on its own page. A matrix starts at the row in the address."""
    board_state = _board_state(request, key)
    drawn = _figure(board_state, key, slug, _start(request))
    return _charts(request, board_state, key, [drawn], alone=True)


@require_safe
@cached_for_anonymous
def board_chart_part(request: HttpRequest, key: str, slug: str) -> HttpResponse:
    """Return the matrix that replaces its placeholder on the page of all charts."""
    return HttpResponse(_figure(_board_state(request, key), key, slug).html)


def _figure(board_state: BoardState, key: str, slug: str, start: int = 0) -> RenderedFigure:
    drawn = figure_html(board_state, key, slug, start) if slug in FIGURES else None
    if drawn is None:
        raise NotFound(_("There is no such chart."), hint=_("The charts page has all charts of a board."))
    return drawn


def _charts(
    request: HttpRequest, board_state: BoardState, key: str, figures: list[RenderedFigure], *, alone: bool = False
) -> HttpResponse:
    context = board_context(board_state, key, here="board_charts")
    more = {
        "figures": figures,
        "alone": alone,
        "snapshot": board_state.snapshot,
        "all_url": Links.of(board_state, key).to("board_charts"),
    }
    return render(request, "charts.html", context | more)


@require_safe
@cached_for_anonymous
def board_figure(request: HttpRequest, key: str, slug: str, form: str) -> HttpResponse:
    """Return the numbers of a figure as a file."""
    board_state = _board_state(request, key)
    given = figure_input(board_state, key)
    if given is None or slug not in FIGURES:
        raise NotFound(_("There are no such numbers."), hint=_("The charts page names all figures of a board."))
    return table_file(FIGURES[slug](given).table, form, f"{board_state.board.slug}-{slug}")


def table_file(table: Table, form: str, name: str) -> HttpResponse:
    """Return the table as JSON, or as a CSV attachment."""
    if form == "json":
        return JsonResponse({"columns": table.columns, "rows": table.rows})
    response = HttpResponse(as_csv(table), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


@require_safe
@cached_for_anonymous
def board_chatbot(request: HttpRequest, key: str, chatbot: uuid.UUID) -> HttpResponse:
    board_state = _board_state(request, key)
    context = board_context(board_state, key, here="board_chatbot")
    return render(request, "chatbot.html", context | chatbot_context(board_state, key, str(chatbot)))


@require_safe
def board_method(request: HttpRequest, key: str) -> HttpResponse:
    board_state = _board_state(request, key)
    if _is_single(board_state):
        return redirect("board", key=key)  # which says how its shares are made
    return render(
        request, "method.html", board_context(board_state, key, here="board_method") | method_context(board_state)
    )


def _live_report(request: HttpRequest, key: str) -> tuple[BoardState, LiveReportContent]:
    """Return the report of the board's campaign. Raises NotFound for a board without a live campaign."""
    board_state = _board_state(request, key)
    if board_state.campaign is None or not board_state.campaign.is_live:
        raise NotFound(_("This board has no live report."), hint=_("Only live campaigns have one."))
    return board_state, live_report_get(board_state.campaign, user_of(request))


@require_safe
def board_live_report(request: HttpRequest, key: str) -> HttpResponse:
    """Show the statistics of the live conversations."""
    board_state, report = _live_report(request, key)
    head = board_context(board_state, key, here="board_live_report")
    return render(request, "live_report.html", head | live_report_context(report))


@require_safe
def board_live_report_csv(request: HttpRequest, key: str) -> HttpResponse:
    """Return the numbers of the live report as a file."""
    board_state, report = _live_report(request, key)
    rows = [list(row) for row in report_rows(report.content or {})]
    return table_file(Table(list(COLUMNS), rows), "csv", f"{board_state.board.slug}-live-report")


@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})  # type: ignore[arg-type]  # as in judging_views
@require_safe
def board_embed(request: HttpRequest, key: str) -> HttpResponse:
    """Show the board for other sites' pages. It contains only public content, whoever the reader is."""
    board_state = board_state_get(board_get(key=key, user=None), Filter.of(request.GET))
    response = render(request, "embed.html", embed_context(board_state, key, EmbedOptions.of(request.GET)))
    response["Cache-Control"] = "public, max-age=60"
    return response


@require_safe
def board_badge_svg(request: HttpRequest, key: str) -> HttpResponse:
    return _badge(request, board_badge(_board_state(request, key)))


@require_safe
def chatbot_badge_svg(request: HttpRequest, key: str, chatbot: uuid.UUID) -> HttpResponse:
    return _badge(request, chatbot_badge(_board_state(request, key), str(chatbot)))


def _badge(request: HttpRequest, badge: Badge) -> HttpResponse:
    response = render(request, "badge.svg", {"badge": badge}, content_type="image/svg+xml")
    response["Cache-Control"] = "max-age=60"
    return response


def _start(request: HttpRequest) -> int:
    """Return the first row of a matrix from 0; the address counts from 1."""
    text = request.GET.get("from", "")
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 6 else 0
