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
    standing = board_state_get(board_get(key=key, user=user))
    if standing.campaign is None or not prompts_readable(standing.campaign, user):
        raise NotFound(_("The prompts of this board are not shown."), hint=_("Its ranking and its charts are."))
    return standing


@require_safe
def board_prompts(request: HttpRequest, key: str) -> HttpResponse:
    standing = _board_state(request, key)
    context = board_context(standing, key, here="board_prompts")
    return render(request, "prompts.html", context | prompts_context(standing, key, request.GET))


@require_safe
def board_prompt(request: HttpRequest, key: str, prompt: uuid.UUID) -> HttpResponse:
    standing = _board_state(request, key)
    context = board_context(standing, key, here="board_prompt")
    return render(request, "prompt.html", context | prompt_context(prompt_input(standing, key, prompt)))


@require_safe
def prompt_figure(request: HttpRequest, key: str, prompt: uuid.UUID, slug: str, form: str) -> HttpResponse:
    """Return the numbers of a prompt's figure as a file."""
    standing = _board_state(request, key)
    if slug not in FIGURES:
        raise NotFound(_("There are no such numbers."), hint=_("The prompt's page names what there is."))
    given = prompt_input(standing, key, prompt)
    return table_file(FIGURES[slug](given).table, form, f"{standing.board.slug}-{prompt}-{slug}")
