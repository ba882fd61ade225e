"""The base of views on endpoints. A chatbot is never called while a request waits: work is queued, and polled."""

import uuid
from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken, User
from evalsite.api.base_views import ReaderView, person
from evalsite.api.fields import StrictSerializer
from evalsite.api.idempotency import answered
from evalsite.api.parsers import json_sent
from evalsite.campaigns.endpoint_access import endpoint_for
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer
from evalsite.endpoints.models import Endpoint


class EndpointBaseView(ReaderView):
    """A view for members of an organisation. Reading needs campaigns:read, all else chatbots:write."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        reads = request.method in ("GET", "HEAD")
        self.scope = ApiToken.Scope.CAMPAIGNS if reads else ApiToken.Scope.CHATBOTS
        super().initial(request, *args, **kwargs)

    def user(self, request: Request) -> User:
        found = person(request)
        if found is None:
            raise NotAllowed("Endpoints need to know who you are.", hint=f"Send a token with {self.scope.value}.")
        return found

    def endpoint(self, request: Request, public_id: uuid.UUID, *, use: bool = True) -> Endpoint:
        return endpoint_for(public_id=public_id, user=self.user(request), use=use)

    def body(self, request: Request, shape: type[StrictSerializer]) -> dict[str, Any]:
        body = shape(data=json_sent(request))
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)

    def done(self, request: Request, act: Callable[[], tuple[int, dict[str, Any]]]) -> Response:
        """Return the answer of `act`: a status and a body. The same request under the same key is done once."""
        return answered(request, f"user:{self.user(request).public_id}", lambda: StoredAnswer(*act()))
