"""Uploads of prompts and replies. They take the same files as the console and the command line."""

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api.base_views import ReaderView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import sending
from evalsite.api.parsers import ROW_ENDINGS, FileParser, file_sent
from evalsite.api.requests import PromptFileQuery, ReplyFileQuery
from evalsite.api.responses.uploads import PromptUpload, PromptUploadSerializer, ReplyUpload, ReplyUploadSerializer
from evalsite.campaigns.file_uploads import (
    SentFile,
    prompts_upload,
    prompts_upload_preview,
    replies_upload,
    replies_upload_preview,
)
from evalsite.campaigns.permissions import organisation_for
from evalsite.campaigns.storage_quota import file_read
from evalsite.core.encodings import recoded
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer

TYPES = tuple(ROW_ENDINGS)


class FileUploadView(ReaderView):
    """A view that takes a file. The caller, their role, the rate and the size are checked before the file is read."""

    parser_classes = (FileParser,)
    types = TYPES

    def sent(self, request: Request, organisation: str, set_name: str, encoding: str = "") -> tuple[SentFile, User]:
        """Return the file, in UTF-8, and the user who sends it."""
        user = person(request)
        if user is None:
            raise NotAllowed("Files need to know who you are.", hint=f"Send a token with {self.scope.value}.")
        place = organisation_for(slug=organisation, user=user, set_name=set_name)
        file = file_sent(request, ROW_ENDINGS)
        content = file_read(file=file, by=user)
        if encoding:
            content = recoded(content, encoding)
        return SentFile(place, set_name, content, file.name), user


class PromptFileView(FileUploadView):
    """Add prompts to the set with this name. The set is created if it does not exist."""

    scope, query = ApiToken.Scope.PROMPTS, PromptFileQuery

    @sending("send_prompts", "Upload a file of prompts", PromptUploadSerializer, types=TYPES, query=PromptFileQuery)
    def post(self, request: Request, organisation: str) -> Response:
        query = self.checked_query(request)
        sent, user = self.sent(request, organisation, query["set"], query.get("encoding", ""))

        def take() -> StoredAnswer:
            if query["check"] == "true":
                seen = PromptUpload(sent.set_name, *prompts_upload_preview(sent))
                return StoredAnswer(200, PromptUploadSerializer.render(seen))
            taken = PromptUpload(sent.set_name, *prompts_upload(sent, partly=query["partly"] == "true", by=user))
            return StoredAnswer(201 if taken.report.count("add") else 200, PromptUploadSerializer.render(taken))

        return answered(request, f"user:{user.public_id}", take)


class ReplyFileView(FileUploadView):
    """Add a version to the chatbot with this name. The chatbot is created if it does not exist."""

    scope, query = ApiToken.Scope.CHATBOTS, ReplyFileQuery

    @sending("send_replies", "Upload a file of replies", ReplyUploadSerializer, types=TYPES, query=ReplyFileQuery)
    def post(self, request: Request, organisation: str) -> Response:
        query = self.checked_query(request)
        sent, user = self.sent(request, organisation, query["set"], query.get("encoding", ""))
        version = {"name": query["name"], "label": query.get("label"), "made_by": query.get("made_by", "")}

        def take() -> StoredAnswer:
            if query["check"] == "true":
                seen = replies_upload_preview(sent, **version)
                upload = ReplyUpload(query["name"], seen.label, seen.chatbot, None, seen.report)
                return StoredAnswer(200, ReplyUploadSerializer.render(upload))
            made, report = replies_upload(sent, **version, partly=query["partly"] == "true", by=user)
            upload = ReplyUpload(made.chatbot.name, made.label, made.chatbot, made, report)
            return StoredAnswer(201, ReplyUploadSerializer.render(upload))

        return answered(request, f"user:{user.public_id}", take)
