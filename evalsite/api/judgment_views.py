"""Judgments and skips, for members: lists and files."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, cast

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api import judgment_files
from evalsite.api.base_views import AnyAccept, ReaderView, person, reader_name
from evalsite.api.fields import StrictSerializer
from evalsite.api.openapi import TEXT, reading
from evalsite.api.paging import page_cut
from evalsite.api.requests import JudgmentFilterQuery, JudgmentsQuery, PageQuery
from evalsite.api.responses.judgments import JudgmentPageSerializer, SkipPageSerializer
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.campaigns.selectors import campaign_of_member
from evalsite.core.errors import InvalidInput
from evalsite.core.throttle import admit
from evalsite.judgments.judgment_lists import Listed, ListedSkip, Wanted, entrant_names, judgments_page, skips_page


class JudgmentsView(ReaderView):
    """The judgments of a campaign, for members."""

    scope = ApiToken.Scope.JUDGMENTS
    query = JudgmentsQuery

    @reading("judgments", "List the judgments of a campaign", JudgmentPageSerializer, query=JudgmentsQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        query = self.checked_query(request)
        limit = query["limit"]
        rows = _judgment_reader(campaign, person(request), query)(query["cursor"], limit + 1)
        page = page_cut(rows, limit, id_of=attrgetter("judgment"))
        return Response(JudgmentPageSerializer.render(page, names=entrant_names(campaign)))


class JudgmentFileView(ReaderView):
    """A file of all judgments that the query selects, as one stream."""

    scope = ApiToken.Scope.JUDGMENTS
    query: type[StrictSerializer] = JudgmentFilterQuery
    content_negotiation_class = AnyAccept
    media_type = ""
    ending = ""

    def written(self, request: Request, key: str, write: judgment_files.Write) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        read = _judgment_reader(campaign, person(request), self.checked_query(request))
        return self.sent(
            request, campaign, write(lambda after: read(after, judgment_files.CHUNK), entrant_names(campaign))
        )

    def sent(self, request: Request, campaign: Campaign, rows: Iterator[str]) -> HttpResponseBase:
        admit(what="file", who=reader_name(request), at_most=settings.FILES_PER_HOUR, per_s=3600)
        response = StreamingHttpResponse(rows, content_type=f"{self.media_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{campaign.slug}.{self.ending}"'
        return response


class JudgmentsCsvView(JudgmentFileView):
    """The judgments of a campaign as CSV."""

    media_type, ending = "text/csv", "csv"

    @reading(
        "judgments_csv", "Download the judgments as CSV", TEXT, query=JudgmentFilterQuery, content_types=("text/csv",)
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.written(request, key, judgment_files.as_csv)


class JudgmentsJsonLinesView(JudgmentFileView):
    """The judgments of a campaign as JSON lines."""

    media_type, ending = "application/jsonl", "jsonl"

    @reading(
        "judgments_jsonl",
        "Download the judgments as JSON lines",
        TEXT,
        query=JudgmentFilterQuery,
        content_types=("application/jsonl",),
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.written(request, key, judgment_files.as_jsonl)


class SkipsView(ReaderView):
    """The skips of a campaign with reasons and notes, for members."""

    scope = ApiToken.Scope.JUDGMENTS
    query = PageQuery

    @reading("skips", "List the skips of a campaign", SkipPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        query = self.checked_query(request)
        limit = query["limit"]
        rows = _skip_reader(campaign, person(request))(query["cursor"], limit + 1)
        page = page_cut(rows, limit, id_of=attrgetter("assignment"))
        return Response(SkipPageSerializer.render(page, names=entrant_names(campaign)))


class SkipFileView(JudgmentFileView):
    """A file of all skips, as one stream."""

    query = StrictSerializer

    def skips(self, request: Request, key: str, write: judgment_files.WriteSkips) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        self.checked_query(request)
        read = _skip_reader(campaign, person(request))
        return self.sent(
            request, campaign, write(lambda after: read(after, judgment_files.CHUNK), entrant_names(campaign))
        )


class SkipsCsvView(SkipFileView):
    """The skips of a campaign as CSV."""

    media_type, ending = "text/csv", "skips.csv"

    @reading("skips_csv", "Download the skips as CSV", TEXT, content_types=("text/csv",))
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.skips(request, key, judgment_files.skips_as_csv)


class SkipsJsonLinesView(SkipFileView):
    """The skips of a campaign as JSON lines."""

    media_type, ending = "application/jsonl", "skips.jsonl"

    @reading("skips_jsonl", "Download the skips as JSON lines", TEXT, content_types=("application/jsonl",))
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.skips(request, key, judgment_files.skips_as_jsonl)


def _skip_reader(campaign: Campaign, user: User | None) -> Callable[[uuid.UUID | None, int], list[ListedSkip]]:
    gold = allows(role_of(user, campaign), Act.GOLD)
    return lambda after, count: skips_page(campaign=campaign, gold=gold, after=after, count=count)


class KnownTiesView(JudgmentFileView):
    """Comparisons of two equal replies, which annotators do not see. For members."""

    query = StrictSerializer
    media_type, ending = "application/jsonl", "known_ties.jsonl"

    @reading("known_ties", "Download the known ties of a campaign", TEXT, content_types=("application/jsonl",))
    def get(self, request: Request, key: str) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        self.checked_query(request)
        return self.sent(request, campaign, judgment_files.ties_as_jsonl(campaign))


def _judgment_reader(
    campaign: Campaign, user: User | None, query: Mapping[str, Any]
) -> Callable[[uuid.UUID | None, int], list[Listed]]:
    """Return the function from (cursor, count) to a page of judgments. Gold is included for those who may see it."""
    aspects = {aspect.key: aspect for aspect in campaign.rubric.aspects.all()}
    aspect = aspects.get(query.get("aspect", next(iter(aspects))))
    if aspect is None:
        raise InvalidInput("The campaign has no such aspect.", hint=f"Use of: {', '.join(aspects)}.", field="aspect")
    flags = {"true": True, "false": False}
    same = ("category", "chatbot", "annotator", "since", "until")
    wanted = Wanted(
        counted=flags.get(query["counted"]),
        gold=allows(role_of(user, campaign), Act.GOLD),
        late=flags.get(query.get("late", "")),
        explained=flags.get(query.get("explained", "")),
        **{name: cast("Any", query[name]) for name in same if name in query},
    )
    return lambda after, count: judgments_page(
        campaign=campaign, aspect=aspect, wanted=wanted, after=after, count=count
    )
