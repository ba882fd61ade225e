"""Boards and their snapshots, for readers."""

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponse, HttpResponseBase
from django.utils.translation import gettext
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.base_views import AnyAccept, ReaderView, person, reader_name
from evalsite.api.openapi import READING, TEXT, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.requests import BoardFilterQuery, PageQuery
from evalsite.api.responses.boards import (
    BoardPageSerializer,
    BoardSerializer,
    LiveReportSerializer,
    SnapshotDetailSerializer,
    SnapshotPageSerializer,
)
from evalsite.boards.live_reports import live_report_get
from evalsite.boards.selectors import Filter, board_get, board_state_get, boards_listed, snapshot_get, snapshots_of
from evalsite.boards.versions import board_version_get
from evalsite.core.errors import NotFound
from evalsite.core.http import unchanged
from evalsite.core.throttle import admit
from evalsite.presentation.anonymous_cache import made_once
from evalsite.presentation.data_files import log_file


class BoardView(ReaderView):
    """A board with an ETag. If it has not changed, the response is 304."""

    query = BoardFilterQuery

    @operation(
        "board",
        "Get a board",
        {200: BoardSerializer, 304: None},
        READING,
        query=BoardFilterQuery,
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        wanted, reader = Filter.of(self.checked_query(request)), person(request)
        if reader is None and wanted is None and (version := board_version_get(key)) is not None:
            return made_once(request._request, version, lambda: self._whole(key))
        standing = board_state_get(board_get(key=key, user=reader), wanted)
        headers = {"ETag": standing.etag, "Cache-Control": "no-cache"}
        if unchanged(request._request, standing.etag):
            return Response(status=304, headers=headers)
        return Response(BoardSerializer.render(standing), headers=headers)

    def _whole(self, key: str) -> HttpResponse:
        """Return the whole board as anonymous readers see it."""
        standing = board_state_get(board_get(key=key, user=None))
        headers = {"ETag": standing.etag, "Cache-Control": "no-cache"}
        content = JSONRenderer().render(BoardSerializer.render(standing))
        return HttpResponse(content, content_type=JSONRenderer.media_type, headers=headers)


class LiveReportView(ReaderView):
    """The statistics of a board's live conversations, if it has any."""

    @reading("live_report", "Get the live report of a board", LiveReportSerializer)
    def get(self, request: Request, key: str) -> Response:
        self.checked_query(request)
        campaign = board_get(key=key, user=person(request)).default_of
        if campaign is None or not campaign.is_live:
            raise NotFound(gettext("This board has no live report."), hint=gettext("Only live campaigns have one."))
        return Response(LiveReportSerializer.render(live_report_get(campaign, person(request))))


class PublicLogView(ReaderView):
    """The public log of a board as JSON lines. Its entries form a hash chain."""

    content_negotiation_class = AnyAccept

    @reading(
        "public_log",
        "Download the public log of a board",
        TEXT,
        content_types=("application/jsonl",),
    )
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        self.checked_query(request)
        board = board_get(key=key, user=person(request))
        admit(what="file", who=reader_name(request), at_most=settings.FILES_PER_HOUR, per_s=3600)
        return log_file(board)


class BoardsView(ReaderView):
    """Public boards and the caller's own."""

    query = PageQuery

    @reading("boards", "List boards", BoardPageSerializer, query=PageQuery)
    def get(self, request: Request) -> Response:
        page = page_of(boards_listed(person(request)), **self.checked_query(request))
        return Response(BoardPageSerializer.render(page))


class SnapshotsView(ReaderView):
    """The snapshots of a board, oldest first."""

    query = PageQuery

    @reading("snapshots", "List the snapshots of a board", SnapshotPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        rows = snapshots_of(board_get(key=key, user=person(request)))
        return Response(SnapshotPageSerializer.render(page_of(rows, **self.checked_query(request))))


class SnapshotView(ReaderView):
    """A snapshot of a board and its origin."""

    @reading("snapshot", "Get a snapshot and its origin", SnapshotDetailSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        self.checked_query(request)
        board = board_get(key=key, user=person(request))
        return Response(SnapshotDetailSerializer.render(snapshot_get(board=board, number=number)))
