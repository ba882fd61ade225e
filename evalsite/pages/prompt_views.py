"""Views of a board's prompts: the list, and one prompt."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from evalsite.boards.selectors import BoardState, board_get, board_state_get
from evalsite.campaigns.selectors import prompts_readable
from evalsite.core.errors import NotFound
from evalsite.pages.board_views import table_file
from evalsite.pages.prompts import FIGURES, prompt_context, prompt_input, prompts_context
from evalsite.pages.visitors import user_of
from evalsite.presentation.board_head import board_context


def _board_state(request: HttpRequest, key: str) -> BoardState:
    """Return the state of the whole board, if this reader may see its prompts."""
    user = user_of(request)
    board_state = board_state_get(board_get(key=key, user=user))
    if board_state.campaign is None or not prompts_readable(board_state.campaign, user):
        raise NotFound(_("The prompts of this board are not shown."), hint=_("Its ranking and its charts are."))
    return board_state


@require_safe
def board_prompts(request: HttpRequest, key: str) -> HttpResponse:
    board_state = _board_state(request, key)
    context = board_context(board_state, key, here="board_prompts")
    return render(request, "prompts.html", context | prompts_context(board_state, key, request.GET))


@require_safe
def board_prompt(request: HttpRequest, key: str, prompt: uuid.UUID) -> HttpResponse:
    board_state = _board_state(request, key)
    context = board_context(board_state, key, here="board_prompt")
    return render(request, "prompt.html", context | prompt_context(prompt_input(board_state, key, prompt)))


@require_safe
def prompt_figure(request: HttpRequest, key: str, prompt: uuid.UUID, slug: str, form: str) -> HttpResponse:
    """Return the numbers of a prompt's figure as a file."""
    board_state = _board_state(request, key)
    if slug not in FIGURES:
        raise NotFound(_("There are no such numbers."), hint=_("The prompt's page names what there is."))
    given = prompt_input(board_state, key, prompt)
    return table_file(FIGURES[slug](given).table, form, f"{board_state.board.slug}-{prompt}-{slug}")
