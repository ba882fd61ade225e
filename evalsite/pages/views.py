"""Views of the start page and of the design page."""

from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from evalsite.accounts.first_administrator import administrator_exists
from evalsite.boards.models import Board
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import board_state_get, boards_found
from evalsite.campaigns.selectors import campaigns_to_judge
from evalsite.core.errors import NotFound
from evalsite.core.mail import mails_are_sent
from evalsite.core.terminal import shown
from evalsite.pages.design_system import design_context
from evalsite.presentation.anonymous_cache import cached_home
from evalsite.presentation.board_head import chatbots_of, headline, status
from evalsite.presentation.chart_geometry import Whisker, axis_for, whisker
from evalsite.submissions.selectors import campaigns_accepting

SHOWN_ON_HOME = 30
CHART_ROWS = 5
SEARCH_AT_MOST = 80  # Characters.
SEARCHED_FROM = 4  # Boards that fit on one screen.


@require_safe
@cached_home
def home(request: HttpRequest) -> HttpResponse:
    search = request.GET.get("q", "").strip()[:SEARCH_AT_MOST]
    pages = Paginator(boards_found(search), SHOWN_ON_HOME)
    page = pages.get_page(request.GET.get("page"))
    campaigns = campaigns_to_judge().prefetch_related("rubric__aspects")[:SHOWN_ON_HOME]
    judging = [
        {"name": one.name, "url": reverse("judge", args=[one.slug]), "question": one.rubric.aspects.all()[0].question}
        for one in campaigns
    ]
    context = {
        "boards": [_entry(board) for board in page],
        "found": pages.count,
        "search": search,
        "searchable": bool(search) or pages.count >= SEARCHED_FROM,
        "before": _page(search, page.previous_page_number()) if page.has_previous() else "",
        "after": _page(search, page.next_page_number()) if page.has_next() else "",
        "open": judging,
        "accepting": campaigns_accepting(most=SHOWN_ON_HOME),
        "sign_up": settings.SIGN_UP,
        "setup": not administrator_exists(),
        "setup_mail": bool(settings.ADMIN_EMAIL) and mails_are_sent(),
    }
    return render(request, "home.html", context)


def _entry(board: Board) -> dict[str, Any]:
    board_state = board_state_get(board)
    rows = board_state.ranked
    collecting = board_state.campaign is None or board_state.campaign.collecting
    return {
        "headline": headline(rows, more_to_come=collecting) if rows else "",
        "chart": _chart(rows),
        "name": board.name,
        "url": reverse("board", args=[board.slug]),
        "state": board_state.campaign.state if board_state.campaign else "",
        "state_text": status(board_state)["text"],
        "judgments": board_state.tally.judgments,
        "chatbots": chatbots_of(board_state),
        "question": board.aspect.question,
    }


def _chart(rows: list[BoardRow]) -> list[tuple[str, Whisker]]:
    """Return the strongest chatbots with their intervals on one axis."""
    top = [row for row in rows if row["group"] == 1][:CHART_ROWS]
    axis = axis_for([row["lower"] for row in top], [row["upper"] for row in top])
    return [(shown(row["name"]), whisker(axis, row["lower"], row["ability"], row["upper"])) for row in top]


def _page(search: str, number: int) -> str:
    parameters = [*([("q", search)] if search else []), ("page", str(number))]
    return f"{reverse('home')}?{urlencode(parameters)}"


@require_safe
def design(request: HttpRequest) -> HttpResponse:
    """Show the design system to staff."""
    if not request.user.is_staff:
        raise NotFound(_("There is no such page."))
    return render(request, "design.html", design_context())


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon. Browsers request this address for content that is not a page, such as a picture or JSON."""
    return redirect(static("img/favicon.ico"))
