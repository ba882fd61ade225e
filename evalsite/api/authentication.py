"""Who is calling: an annotator's program, by its token."""

from dataclasses import dataclass

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from evalsite.judgments.models import Annotator, AnnotatorToken
from evalsite.judgments.services import token_hash


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller of the annotators' API."""

    annotator: Annotator
    is_authenticated: bool = True


class AnnotatorTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer ts_...`; looked up by its hash, so the database holds nothing to steal."""

    def authenticate(self, request: Request) -> tuple[Caller, AnnotatorToken] | None:
        parts = get_authorization_header(request).split()
        if not parts:
            return None
        if len(parts) != 2 or parts[0].lower() != b"bearer":
            raise AuthenticationFailed("The Authorization header is not of the form: Bearer <token>.")
        found = AnnotatorToken.objects.select_related("annotator").filter(
            sha256=token_hash(parts[1].decode("latin-1")), expires_at__gt=timezone.now()
        )
        token = found.first()
        if token is None:
            raise AuthenticationFailed("The token is unknown or has expired.")
        return Caller(token.annotator), token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="touchstone"'
