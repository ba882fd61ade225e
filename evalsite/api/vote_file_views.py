"""Uploads of vote files. A worker reads and imports them, so clients poll for the result."""

import uuid
from collections.abc import Mapping

from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.api.base_views import ReaderView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.parsers import VOTE_ENDINGS, FileParser, file_sent
from evalsite.api.requests import VoteFileQuery
from evalsite.api.responses.votes import VoteFileSerializer
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import organisation_for
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.models import Inquiry, Upload
from evalsite.exchange.vote_uploads import (
    VoteFileOptions,
    vote_file_inquiry,
    vote_file_keep,
    vote_file_read,
    vote_file_take,
)

TYPES = tuple(VOTE_ENDINGS)


class VoteFilesView(ReaderView):
    """Import the votes of a file as a campaign with a board. GET /vote_files/{id} returns the result."""

    scope, query = ApiToken.Scope.ACTS, VoteFileQuery
    parser_classes = (FileParser,)
    types = TYPES

    @operation(
        "send_votes",
        "Upload a file of votes",
        {202: VoteFileSerializer},
        ACTING,
        body=dict.fromkeys(TYPES, OpenApiTypes.BINARY),
        query=VoteFileQuery,
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, organisation: str) -> Response:
        query = self.checked_query(request)
        user = _sender(request)
        place = organisation_for(slug=organisation, user=user, set_name="")
        options = _options(query)
        upload = vote_file_keep(file=file_sent(request, VOTE_ENDINGS), by=user)
        if query.get("source"):
            Upload.objects.filter(pk=upload.pk).update(name=query["source"])

        def take() -> StoredAnswer:
            inquiry = (
                vote_file_read(upload=upload, options=options, by=user)
                if query["check"] == "true"
                else _taken(upload, options, query, place, user)
            )
            return StoredAnswer(202, VoteFileSerializer.render(inquiry))

        return answered(request, f"user:{user.public_id}", take)


def _taken(
    upload: Upload, options: VoteFileOptions, query: Mapping[str, str], place: Organisation, user: User
) -> Inquiry:
    return vote_file_take(
        upload=upload,
        options=options,
        name=query["campaign"],
        organisation=place,
        visibility=Campaign.Visibility(query["visibility"]),
        by=user,
    )


class VoteFileView(ReaderView):
    """The content of a vote file, or the result of its import."""

    scope = ApiToken.Scope.ACTS

    @reading("vote_file", "Get a vote file", VoteFileSerializer)
    def get(self, request: Request, vote_file: uuid.UUID) -> Response:
        self.checked_query(request)
        return Response(VoteFileSerializer.render(vote_file_inquiry(public_id=vote_file, by=_sender(request))))


def _sender(request: Request) -> User:
    user = person(request)
    if user is None:
        raise NotAllowed("Files need to know who you are.", hint=f"Send a token with {ApiToken.Scope.ACTS.value}.")
    return user


def _options(query: Mapping[str, str]) -> VoteFileOptions:
    return VoteFileOptions(
        encoding=query.get("encoding", ""),
        a=query.get("a", ""),
        b=query.get("b", ""),
        winner=query.get("winner", ""),
        labels=_labels(query.get("map", "")),
        merge_turns=query["merge_turns"] == "true",
    )


def _labels(text: str) -> dict[str, str]:
    """Return the meanings in `LABEL=OUTCOME,LABEL=OUTCOME`."""
    found = {}
    for part in filter(None, text.split(",")):
        label, sign, meaning = part.rpartition("=")
        if not sign or not label.strip():
            raise InvalidInput(
                f"{part[:40]!r} is not LABEL=OUTCOME.", hint="As in left=model_a,right=model_b.", field="map"
            )
        found[label.strip()] = meaning.strip()
    return found
