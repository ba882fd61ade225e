"""Bases of the views of the API."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsite.accounts.models import ApiToken, User
from evalsite.api.authentication import BrowserAuthentication, PersonTokenAuthentication
from evalsite.api.fields import StrictSerializer
from evalsite.api.idempotency import answered
from evalsite.api.parsers import json_sent
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.throttle import admit, client_address


class BaseView(APIView):
    """A view without OPTIONS: docs/openapi.yaml describes the API."""

    http_method_names = [name for name in APIView.http_method_names if name != "options"]


class AnyAccept(DefaultContentNegotiation):
    """Send what the ending of the address names, whatever the Accept header says."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class ReaderView(BaseView):
    """A view for readers. A token shows what its scopes allow; without one, only public data is shown."""

    authentication_classes = (PersonTokenAuthentication, BrowserAuthentication)
    permission_classes = (AllowAny,)
    scope = ApiToken.Scope.CAMPAIGNS
    query: type[StrictSerializer] = StrictSerializer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        admit(what="read", who=reader_name(request), at_most=settings.READS_PER_MINUTE, per_s=60)
        if isinstance(request.auth, ApiToken) and self.scope not in request.auth.scopes:
            raise NotAllowed(
                "The token lacks the scope for this.", hint=f"Use one with {self.scope.value}.", code="scope_missing"
            )

    def checked_query(self, request: Request) -> dict[str, Any]:
        """Return the validated query. Unknown and repeated parameters are refused, not ignored."""
        for name, values in request.query_params.lists():
            if len(values) > 1:
                raise InvalidInput("This parameter is given twice.", hint="Give it once.", field=name)
        query = self.query(data=request.query_params)
        query.is_valid(raise_exception=True)
        return dict(query.validated_data)


class ManagerView(ReaderView):
    """A view for people with a role. Reading needs campaigns:read, all else the scope `writing`."""

    writing = ApiToken.Scope.ACTS

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.scope = ApiToken.Scope.CAMPAIGNS if request.method in ("GET", "HEAD") else self.writing
        super().initial(request, *args, **kwargs)

    def user(self, request: Request) -> User:
        found = person(request)
        if found is None:
            raise NotAllowed("This needs to know who you are.", hint=f"Send a token with {self.scope.value}.")
        return found

    def body(self, request: Request, shape: type[StrictSerializer]) -> dict[str, Any]:
        body = shape(data=json_sent(request))
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)

    def done(self, request: Request, act: Callable[[], tuple[int, dict[str, Any]]]) -> Response:
        """Return the answer of `act`: a status and a body. The same request under the same key is done once."""
        return answered(request, f"user:{self.user(request).public_id}", lambda: StoredAnswer(*act()))


def reader_name(request: Request) -> str:
    user = person(request)
    return f"user:{user.pk}" if user else client_address(request._request)


def person(request: Request) -> User | None:
    return request.user if isinstance(request.user, User) else None
