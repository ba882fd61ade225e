"""What a campaign is and what it found, for readers: public things for everybody, the rest for members."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, cast

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework import serializers as s
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api import judgment_files
from evalsite.api.authentication import BrowserAuthentication, PersonTokenAuthentication
from evalsite.api.base_views import Door
from evalsite.api.openapi import READING, TEXT, operation, reading
from evalsite.api.paging import PageSerializer, page_cut, page_of
from evalsite.api.responses.boards import (
    BoardPageSerializer,
    BoardSerializer,
    SnapshotDetailSerializer,
    SnapshotPageSerializer,
)
from evalsite.api.responses.campaigns import (
    CampaignPageSerializer,
    CampaignSerializer,
    ChatbotPageSerializer,
    PromptPageSerializer,
)
from evalsite.api.responses.judgments import JudgmentPageSerializer, SkipPageSerializer
from evalsite.api.serializers import StrictCharField, StrictSerializer, WantedSerializer
from evalsite.boards.selectors import Filter, board_get, board_state_get, boards_listed, snapshot_get, snapshots_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.campaigns.selectors import campaign_get, campaign_of_member, campaigns_listed
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.core.http import unchanged
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.judgment_lists import Listed, ListedSkip, Wanted, entrant_names, judgments_page, skips_page


class ResultsView(Door):
    """A door for readers. A token opens what its scopes name; without one, what is public."""

    authentication_classes = (PersonTokenAuthentication, BrowserAuthentication)
    permission_classes = (AllowAny,)
    scope = ApiToken.Scope.CAMPAIGNS
    query: type[StrictSerializer] = StrictSerializer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        admit(what="read", who=_who(request), at_most=settings.READS_PER_MINUTE, per_s=60)
        if isinstance(request.auth, ApiToken) and self.scope not in request.auth.scopes:
            raise NotAllowed(
                "The token lacks the scope for this.", hint=f"Use one with {self.scope.value}.", code="scope_missing"
            )

    def asked(self, request: Request) -> dict[str, Any]:
        """The query, checked: what is not known here, or said twice, is refused and not passed over."""
        for name, values in request.query_params.lists():
            if len(values) > 1:
                raise InvalidInput("This parameter is given twice.", hint="Give it once.", field=name)
        query = self.query(data=request.query_params)
        query.is_valid(raise_exception=True)
        return dict(query.validated_data)


def _who(request: Request) -> str:
    user = person(request)
    return f"user:{user.pk}" if user else client_address(request._request)


def person(request: Request) -> User | None:
    return request.user if isinstance(request.user, User) else None


class CampaignsView(ResultsView):
    query = PageSerializer

    @reading("campaigns", "Campaigns, public and one's own", CampaignPageSerializer, query=PageSerializer)
    def get(self, request: Request) -> Response:
        rows = campaigns_listed(person(request)).select_related("organisation", "rubric", "stopping")
        rows = rows.prefetch_related("rubric__aspects")
        return Response(CampaignPageSerializer.render(page_of(rows, **self.asked(request))))


class CampaignView(ResultsView):
    @reading("campaign", "A campaign", CampaignSerializer)
    def get(self, request: Request, key: str) -> Response:
        self.asked(request)
        return Response(CampaignSerializer.render(campaign_get(key=key, user=person(request))))


class ChatbotsView(ResultsView):
    query = PageSerializer

    @reading("chatbots", "The chatbots that take part", ChatbotPageSerializer, query=PageSerializer)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_get(key=key, user=person(request))
        rows = campaign.entrants.select_related("version__chatbot__organisation")
        return Response(ChatbotPageSerializer.render(page_of(rows, **self.asked(request))))


class PromptsView(ResultsView):
    query = PageSerializer

    @reading("prompts", "Its prompts, for members", PromptPageSerializer, query=PageSerializer)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        rows = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
        return Response(PromptPageSerializer.render(page_of(rows, **self.asked(request))))


class JudgmentsQuery(PageSerializer, WantedSerializer):
    """Query of a list of judgments."""


class JudgmentsView(ResultsView):
    scope = ApiToken.Scope.JUDGMENTS
    query = JudgmentsQuery

    @reading("judgments", "Its judgments, for members", JudgmentPageSerializer, query=JudgmentsQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        asked = self.asked(request)
        limit = asked["limit"]
        rows = _reader(campaign, person(request), asked)(asked["cursor"], limit + 1)
        page = page_cut(rows, limit, id_of=attrgetter("judgment"))
        return Response(JudgmentPageSerializer.render(page, names=entrant_names(campaign)))


class AnyAccept(DefaultContentNegotiation):
    """What a file's address ends with is what is sent, whatever the Accept header says."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class FileView(ResultsView):
    """All judgments that are asked for, in one stream."""

    scope = ApiToken.Scope.JUDGMENTS
    query: type[StrictSerializer] = WantedSerializer
    content_negotiation_class = AnyAccept
    media_type = ""
    ending = ""

    def written(self, request: Request, key: str, write: judgment_files.Write) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        read = _reader(campaign, person(request), self.asked(request))
        return self.sent(
            request, campaign, write(lambda after: read(after, judgment_files.CHUNK), entrant_names(campaign))
        )

    def sent(self, request: Request, campaign: Campaign, rows: Iterator[str]) -> HttpResponseBase:
        admit(what="file", who=_who(request), at_most=settings.FILES_PER_HOUR, per_s=3600)
        response = StreamingHttpResponse(rows, content_type=f"{self.media_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{campaign.slug}.{self.ending}"'
        return response


class CsvView(FileView):
    media_type, ending = "text/csv", "csv"

    @reading("judgments_csv", "A file of them", TEXT, query=WantedSerializer, content_type="text/csv")
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.written(request, key, judgment_files.as_csv)


class JsonLinesView(FileView):
    media_type, ending = "application/jsonl", "jsonl"

    @reading("judgments_jsonl", "A file of them", TEXT, query=WantedSerializer, content_type="application/jsonl")
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.written(request, key, judgment_files.as_jsonl)


class SkipsView(ResultsView):
    scope = ApiToken.Scope.JUDGMENTS
    query = PageSerializer

    @reading("skips", "Its skips with reasons and notes, for members", SkipPageSerializer, query=PageSerializer)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        asked = self.asked(request)
        limit = asked["limit"]
        rows = _skip_reader(campaign, person(request))(asked["cursor"], limit + 1)
        page = page_cut(rows, limit, id_of=attrgetter("assignment"))
        return Response(SkipPageSerializer.render(page, names=entrant_names(campaign)))


class SkipFileView(FileView):
    """All skips, in one stream."""

    query = StrictSerializer

    def skips(self, request: Request, key: str, write: judgment_files.WriteSkips) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        self.asked(request)
        read = _skip_reader(campaign, person(request))
        return self.sent(
            request, campaign, write(lambda after: read(after, judgment_files.CHUNK), entrant_names(campaign))
        )


class SkipsCsvView(SkipFileView):
    media_type, ending = "text/csv", "skips.csv"

    @reading("skips_csv", "A file of them", TEXT, content_type="text/csv")
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.skips(request, key, judgment_files.skips_as_csv)


class SkipsJsonLinesView(SkipFileView):
    media_type, ending = "application/jsonl", "skips.jsonl"

    @reading("skips_jsonl", "A file of them", TEXT, content_type="application/jsonl")
    def get(self, request: Request, key: str) -> HttpResponseBase:
        return self.skips(request, key, judgment_files.skips_as_jsonl)


def _skip_reader(campaign: Campaign, user: User | None) -> Callable[[uuid.UUID | None, int], list[ListedSkip]]:
    gold = allows(role_of(user, campaign), Act.GOLD)
    return lambda after, count: skips_page(campaign=campaign, gold=gold, after=after, count=count)


class KnownTiesView(FileView):
    """What nobody is asked, because both replies are the same text."""

    query = StrictSerializer
    media_type, ending = "application/jsonl", "known_ties.jsonl"

    @reading("known_ties", "Its known ties, for members", TEXT, content_type="application/jsonl")
    def get(self, request: Request, key: str) -> HttpResponseBase:
        campaign = campaign_of_member(key=key, user=person(request))
        self.asked(request)
        return self.sent(request, campaign, judgment_files.ties_as_jsonl(campaign))


def _reader(
    campaign: Campaign, user: User | None, asked: Mapping[str, Any]
) -> Callable[[uuid.UUID | None, int], list[Listed]]:
    """(cursor, count) -> the judgments of that page; those of gold for who may see it."""
    aspects = {aspect.key: aspect for aspect in campaign.rubric.aspects.all()}
    aspect = aspects.get(asked.get("aspect", next(iter(aspects))))
    if aspect is None:
        raise InvalidInput("The campaign has no such aspect.", hint=f"Use of: {', '.join(aspects)}.", field="aspect")
    flags = {"true": True, "false": False}
    same = ("category", "chatbot", "annotator", "since", "until")
    wanted = Wanted(
        counted=flags.get(asked["counted"]),
        gold=allows(role_of(user, campaign), Act.GOLD),
        late=flags.get(asked.get("late", "")),
        explained=flags.get(asked.get("explained", "")),
        **{name: cast("Any", asked[name]) for name in same if name in asked},
    )
    return lambda after, count: judgments_page(
        campaign=campaign, aspect=aspect, wanted=wanted, after=after, count=count
    )


class FilterQuery(StrictSerializer):
    """One of them at a time; each has a fit of its own."""

    aspect = StrictCharField(required=False, max_length=60)
    category = StrictCharField(required=False, max_length=100)
    kind = s.ChoiceField(["live", "static"], required=False)


class BoardView(ResultsView):
    """With an ETag: an unchanged board is a 304."""

    query = FilterQuery

    @operation(
        "board",
        "A leaderboard; 304 while If-None-Match holds",
        {200: BoardSerializer, 304: None},
        READING,
        query=FilterQuery,
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        standing = board_state_get(board_get(key=key, user=person(request)), Filter.of(self.asked(request)))
        headers = {"ETag": standing.etag, "Cache-Control": "no-cache"}
        if unchanged(request._request, standing.etag):
            return Response(status=304, headers=headers)
        return Response(BoardSerializer.render(standing), headers=headers)


class BoardsView(ResultsView):
    query = PageSerializer

    @reading("boards", "Leaderboards, public and one's own", BoardPageSerializer, query=PageSerializer)
    def get(self, request: Request) -> Response:
        page = page_of(boards_listed(person(request)), **self.asked(request))
        return Response(BoardPageSerializer.render(page))


class SnapshotsView(ResultsView):
    query = PageSerializer

    @reading("snapshots", "The board's states, oldest first", SnapshotPageSerializer, query=PageSerializer)
    def get(self, request: Request, key: str) -> Response:
        rows = snapshots_of(board_get(key=key, user=person(request)))
        return Response(SnapshotPageSerializer.render(page_of(rows, **self.asked(request))))


class SnapshotView(ResultsView):
    @reading("snapshot", "One state, and what it was made of", SnapshotDetailSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        self.asked(request)
        board = board_get(key=key, user=person(request))
        return Response(SnapshotDetailSerializer.render(snapshot_get(board=board, number=number)))
