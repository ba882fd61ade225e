"""Files of a campaign's data as responses, for members and for readers of boards that release them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.conf import settings
from django.http import FileResponse, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.boards.models import Board
from evalsite.boards.public_log import log_lines
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import NotFound
from evalsite.core.throttle import admit
from evalsite.exchange.data_export import as_csv, as_jsonl, as_parquet, data_card, preference_rows, vote_rows
from evalsite.exchange.data_export import json_lines as lines_of
from evalsite.judgments.selectors import tally
from evalsite.presentation.links import whole_address


class DataFile(NamedTuple):
    """A file: its type, how it is written, and what of the campaign must be shown to everybody who gets it."""

    media_type: str
    write: Callable[[Campaign], HttpResponseBase]
    needs_texts: bool = False


def _card(campaign: Campaign) -> HttpResponse:
    address = whole_address(reverse("board", args=[campaign.slug]))
    return HttpResponse(data_card(campaign, address=address, count=lambda: tally([campaign]).judgments))


FILES: Mapping[str, DataFile] = {
    "votes.csv": DataFile("text/csv", lambda campaign: StreamingHttpResponse(as_csv(vote_rows(campaign)))),
    "votes.jsonl": DataFile("application/jsonl", lambda campaign: StreamingHttpResponse(as_jsonl(vote_rows(campaign)))),
    "votes.parquet": DataFile(
        "application/vnd.apache.parquet", lambda campaign: FileResponse(as_parquet(vote_rows(campaign)))
    ),
    "preferences.jsonl": DataFile(
        "application/jsonl", lambda campaign: StreamingHttpResponse(lines_of(preference_rows(campaign))), True
    ),
    "README.md": DataFile("text/markdown", _card),
}


def released_files(campaign: Campaign | None) -> list[str]:
    """Return the files that everybody may download who sees the board."""
    if campaign is None or not campaign.releases_data:
        return []
    texts = campaign.shows_prompts and campaign.shows_replies
    return [name for name, file in FILES.items() if texts or not file.needs_texts]


def data_file(campaign: Campaign, name: str, *, who: str) -> HttpResponseBase:
    """Return a file as a download. Raises NotFound for an unknown one, and TooMany.

    who: the reader, of whom the number of files in an hour is limited.
    """
    file = FILES.get(name)
    if file is None:
        raise NotFound(_("There is no such file."), hint=_("The page of the data names all files."))
    admit(what="file", who=who, at_most=settings.FILES_PER_HOUR, per_s=3600)
    response = file.write(campaign)
    text = file.media_type.startswith("text/") or file.media_type == "application/jsonl"
    response["Content-Type"] = f"{file.media_type}; charset=utf-8" if text else file.media_type
    response["Content-Disposition"] = f'attachment; filename="{campaign.slug}-{name}"'
    response["Cache-Control"] = "private, no-cache"
    return response


def log_file(board: Board) -> StreamingHttpResponse:
    """Return the public log of a board as JSON lines. Judgments are withheld where the owner does not release data.

    Raises NotFound for a board without a log.
    """
    campaign = board.default_of
    if campaign is None or not board.log_entries.exists():
        raise NotFound(_("This board has no public log."), hint=_("Only boards of public campaigns have one."))
    lines = lines_of(log_lines(board, with_judgments=campaign.releases_data))
    response = StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{board.slug}-log.jsonl"'
    response["Cache-Control"] = "private, no-cache"
    return response
