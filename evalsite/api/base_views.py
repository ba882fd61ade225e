"""Bases of the views of the API."""

from typing import Any

from django.conf import settings
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from evalsite.accounts.models import ApiToken, User
from evalsite.api.authentication import BrowserAuthentication, PersonTokenAuthentication
from evalsite.api.fields import StrictSerializer
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.core.throttle import admit, client_address


class BaseView(APIView):
    """A view without OPTIONS: docs/openapi.yaml describes what there is."""

    http_method_names = [name for name in APIView.http_method_names if name != "options"]


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


def reader_name(request: Request) -> str:
    user = person(request)
    return f"user:{user.pk}" if user else client_address(request._request)


def person(request: Request) -> User | None:
    return request.user if isinstance(request.user, User) else None
