"""The start page: a thin door that parses, calls selectors, and presents."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from evalsite.adaptive.selectors import board_state_get, boards_public
from evalsite.campaigns.selectors import campaigns_to_judge
from evalsite.pages.board import status

SHOWN_ON_HOME = 30


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    standings = [board_state_get(board) for board in boards_public()[:SHOWN_ON_HOME]]
    boards = [
        {
            "name": standing.board.name,
            "url": reverse("board", args=[standing.board.slug]),
            "state": standing.campaign.state if standing.campaign else "",
            "state_text": status(standing)["text"],
            "judgments": standing.tally.judgments,
            "chatbots": len(standing.snapshot.rows) if standing.snapshot else 0,
            "question": standing.board.aspect.question,
        }
        for standing in standings
    ]
    campaigns = campaigns_to_judge().prefetch_related("rubric__aspects")[:SHOWN_ON_HOME]
    judging = [
        {"name": one.name, "url": reverse("judge", args=[one.slug]), "question": one.rubric.aspects.all()[0].question}
        for one in campaigns
    ]
    return render(request, "home.html", {"boards": boards, "open": judging})


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask here when what they show is not a page of ours: a picture, a JSON file."""
    return redirect(static("img/favicon.ico"))
