"""The data of a board: its state as a table, and the judgments where their owner releases them."""

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from evalsite.boards.public_log import log_state
from evalsite.boards.selectors import BoardState, Filter, board_get, board_state_get
from evalsite.core.errors import NotFound
from evalsite.core.throttle import admit, client_network
from evalsite.exchange.board_export import board_csv, board_json, eval_results
from evalsite.presentation.board_head import board_context
from evalsite.presentation.data_files import data_file, log_file, released_files
from evalsite.presentation.links import Links, whole_address


def _board_state(request: HttpRequest, key: str) -> BoardState:
    user: Any = request.user if request.user.is_authenticated else None
    return board_state_get(board_get(key=key, user=user), Filter.of(request.GET))


@require_safe
def board_data(request: HttpRequest, key: str) -> HttpResponse:
    """List the files of a board."""
    state = _board_state(request, key)
    links, rows = Links.of(state, key), state.snapshot.rows if state.snapshot else []
    released = [] if state.slice else released_files(state.campaign)
    context = {
        "licence": state.campaign.licence if state.campaign else "",
        "tables": [(name, links.to("board_table", name)) for name in ("board.csv", "board.json")],
        "released": [(name, reverse("board_data_file", args=[key, name])) for name in released],
        "log": log_state(state.board) if not state.slice else None,
        "results": [(row["name"], links.to("board_results", row["chatbot"])) for row in rows],
    }
    return render(request, "data.html", board_context(state, key, here="board_data") | context)


@require_safe
def board_table(request: HttpRequest, key: str, name: str) -> HttpResponse:
    """Return the current state of the board as a file."""
    state = _board_state(request, key)
    if name == "board.json":
        return JsonResponse(board_json(state))
    if name != "board.csv":
        raise NotFound(_("There is no such file."), hint=_("The page of the data names all files."))
    response = HttpResponse(board_csv(state), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{state.board.slug}-board.csv"'
    return response


@require_safe
def board_data_file(request: HttpRequest, key: str, name: str) -> HttpResponseBase:
    """Return released data."""
    campaign = _board_state(request, key).campaign
    if campaign is None or name not in released_files(campaign):
        raise NotFound(_("There is no such file."), hint=_("The page of the data names all files."))
    return data_file(campaign, name, who=f"network:{client_network(request)}")


@require_safe
def board_log(request: HttpRequest, key: str) -> HttpResponseBase:
    """Return the public log of a board."""
    state = _board_state(request, key)
    admit(what="file", who=f"network:{client_network(request)}", at_most=settings.FILES_PER_HOUR, per_s=3600)
    return log_file(state.board)


@require_safe
def board_results(request: HttpRequest, key: str, chatbot: uuid.UUID) -> HttpResponse:
    """Return a chatbot's result for its repository on the Hugging Face hub."""
    state = _board_state(request, key)
    address = whole_address(Links.of(state, key).to("board"))
    text = eval_results(state, str(chatbot), address=address)
    if text is None:
        raise NotFound(_("The board has no such chatbot."), hint=_("The page of the data names all files."))
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{state.board.slug}.yaml"'
    return response
