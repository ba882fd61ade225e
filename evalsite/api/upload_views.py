"""Files of prompts and of replies, by a person's program: the same rows as by the console's upload and the commands."""

from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api.board_views import ResultsView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import sending
from evalsite.api.parsers import ENDINGS, FileParser, file_sent
from evalsite.api.responses.uploads import PromptUpload, PromptUploadSerializer, ReplyUpload, ReplyUploadSerializer
from evalsite.api.serializers import StrictCharField, StrictSerializer
from evalsite.campaigns.file_uploads import SentFile, prompts_look, prompts_take, replies_look, replies_take
from evalsite.campaigns.permissions import organisation_for
from evalsite.campaigns.storage_quota import file_read
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer

OF_PROMPTS = tuple(ENDINGS)
OF_REPLIES = tuple(one for one in ENDINGS if one != "text/plain")  # which has no columns


class FileQuery(StrictSerializer):
    """What a file is sent with; true or false, as in the other queries."""

    set = StrictCharField(max_length=200, help_text="name of the prompt set")
    partly = s.ChoiceField(["true", "false"], default="false", help_text="take what can be taken, refuse the rest")
    check = s.ChoiceField(["true", "false"], default="false", help_text="only tell what would become of each row")


class ReplyFileQuery(FileQuery):
    name = StrictCharField(max_length=200, help_text="of the chatbot, which is made if there is none")
    label = StrictCharField(  # type: ignore[assignment]  # also an attribute of every field
        max_length=100, required=False, help_text="of the version; absent: the next number"
    )
    made_by = StrictCharField(
        max_length=80,
        required=False,
        help_text="slug of the organisation that made the chatbot, if that is another one",
    )


class FileView(ResultsView):
    """A door for files. Who sends is asked first, then what they may, how often and how much; only then it is read."""

    parser_classes = (FileParser,)
    types: tuple[str, ...] = ()

    def sent(self, request: Request, organisation: str, set_name: str) -> tuple[SentFile, User]:
        """The file, and who sends it."""
        user = person(request)
        if user is None:
            raise NotAllowed("Files need to know who you are.", hint=f"Send a token with {self.scope.value}.")
        place = organisation_for(slug=organisation, user=user, set_name=set_name)
        file = file_sent(request, self.types)
        return SentFile(place, set_name, file_read(file=file, by=user), file.name), user


class PromptFileView(FileView):
    """They are added to the set of this name, which is made if there is none."""

    scope, query, types = ApiToken.Scope.PROMPTS, FileQuery, OF_PROMPTS

    @sending("send_prompts", "Send a file of prompts", PromptUploadSerializer, types=OF_PROMPTS, query=FileQuery)
    def post(self, request: Request, organisation: str) -> Response:
        asked = self.asked(request)
        sent, user = self.sent(request, organisation, asked["set"])

        def take() -> StoredAnswer:
            if asked["check"] == "true":
                seen = PromptUpload(sent.set_name, *prompts_look(sent))
                return StoredAnswer(200, PromptUploadSerializer.render(seen))
            taken = PromptUpload(sent.set_name, *prompts_take(sent, partly=asked["partly"] == "true", by=user))
            return StoredAnswer(201 if taken.report.count("add") else 200, PromptUploadSerializer.render(taken))

        return answered(request, f"user:{user.public_id}", take)


class ReplyFileView(FileView):
    """They are a new version of the chatbot of this name, which is made if there is none."""

    scope, query, types = ApiToken.Scope.CHATBOTS, ReplyFileQuery, OF_REPLIES

    @sending("send_replies", "Send a file of replies", ReplyUploadSerializer, types=OF_REPLIES, query=ReplyFileQuery)
    def post(self, request: Request, organisation: str) -> Response:
        asked = self.asked(request)
        sent, user = self.sent(request, organisation, asked["set"])
        version = {"name": asked["name"], "label": asked.get("label"), "made_by": asked.get("made_by", "")}

        def take() -> StoredAnswer:
            if asked["check"] == "true":
                seen = replies_look(sent, **version)
                upload = ReplyUpload(asked["name"], seen.label, seen.chatbot, None, seen.report)
                return StoredAnswer(200, ReplyUploadSerializer.render(upload))
            made, report = replies_take(sent, **version, partly=asked["partly"] == "true", by=user)
            upload = ReplyUpload(made.chatbot.name, made.label, made.chatbot, made, report)
            return StoredAnswer(201, ReplyUploadSerializer.render(upload))

        return answered(request, f"user:{user.public_id}", take)
