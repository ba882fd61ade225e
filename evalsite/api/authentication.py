"""Authentication of annotators and of people, by tokens that are stored as hashes."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.selectors import api_tokens_in_force
from evalsite.accounts.services import api_token_use_record
from evalsite.core.tokens import token_hash
from evalsite.judgments.claim_selectors import tokens_in_force
from evalsite.judgments.models import Annotator, AnnotatorToken


@dataclass(frozen=True, slots=True)
class AnnotatorCaller:
    """The authenticated caller of the annotators' API."""

    annotator: Annotator
    is_authenticated: bool = True


class BearerAuthentication(BaseAuthentication):
    """Authenticate `Authorization: Bearer <token>`. The database stores only hashes of tokens."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        parts = get_authorization_header(request).split()
        if not parts:
            return None
        if len(parts) != 2 or parts[0].lower() != b"bearer":
            raise AuthenticationFailed("The Authorization header is not of the form: Bearer <token>.")
        found = self.find(token_hash(parts[1].decode("latin-1")))
        if found is None:
            raise AuthenticationFailed("The token is unknown or has expired.")
        return found

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="touchstone"'

    def find(self, sha256: str) -> tuple[Any, Any] | None:
        """Return the caller and the valid token with this hash."""
        raise NotImplementedError


class AnnotatorTokenAuthentication(BearerAuthentication):
    """An annotator's program (`ts_...`, from POST /api/v1/annotators)."""

    def find(self, sha256: str) -> tuple[AnnotatorCaller, AnnotatorToken] | None:
        for token in tokens_in_force(sha256, timezone.now()):
            return AnnotatorCaller(token.annotator), token
        return None


class PersonTokenAuthentication(BearerAuthentication):
    """A person's program (`tsp_...`, from the page of API tokens or `manage.py api_token`)."""

    def find(self, sha256: str) -> tuple[User, ApiToken] | None:
        for token in api_tokens_in_force(sha256, timezone.now()):
            api_token_use_record(token=token)
            return token.user, token
        return None


class BrowserAuthentication(SessionAuthentication):
    """Authenticate a person by the session of their browser. Unsafe methods need the CSRF token of the site's pages."""

    def enforce_csrf(self, request: Request) -> None:
        """Check the CSRF token. The message of the framework names the failed check, and not what to do."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            raise PermissionDenied("The request has a session, and no sign that a page of this site sent it.") from None
