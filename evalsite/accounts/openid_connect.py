"""OpenID Connect: the provider's addresses, and the check of its answers. Loaded only where it is configured."""

import logging
from collections.abc import Mapping
from typing import Any

import jwt
import requests
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from evalsite.accounts.models import User
from evalsite.accounts.single_sign_on import single_sign_on_user
from evalsite.core.errors import NotAllowed, Unavailable

log = logging.getLogger(__name__)

KEPT_S = 3600
LEEWAY_S = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")  # signed with a key that only the provider has
_ADDRESSES = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
    "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
}


def single_sign_on_finish(request: HttpRequest, *, nonce: str, code_verifier: str | None) -> User:
    """Return the account of the person whom the provider sends back with a code.

    Raises
    ------
    Unavailable
        The provider does not answer.
    NotAllowed
        Its answer is not valid, or the person has no account here and gets none.
    """
    try:
        user: User | None = _Backend().authenticate(request, nonce=nonce, code_verifier=code_verifier)
    except requests.RequestException as error:
        status = getattr(error.response, "status_code", None)
        log.warning("single sign-on: %s, status %s", type(error).__name__, status)
        raise _does_not_answer() from error
    except (jwt.PyJWTError, SuspiciousOperation, KeyError, ValueError) as error:
        log.warning("single sign-on: answer refused: %s", type(error).__name__)
        raise _answer_is_invalid() from error
    if user is None:
        raise _answer_is_invalid()
    return user


class RequestView(OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Send the browser to the provider, with a state, a nonce and a code challenge (PKCE)."""

    @staticmethod
    def get_settings(attr: str, *args: Any) -> Any:
        return _setting(attr, *args)


class _Backend(OIDCAuthenticationBackend):  # type: ignore[misc]
    """Exchange the code for tokens and check them."""

    @staticmethod
    def get_settings(attr: str, *args: Any) -> Any:
        return _setting(attr, *args)

    def verify_token(self, token: str, **kwargs: Any) -> dict[str, Any]:
        """Return the claims of an ID token. Raises for a false signature, issuer, audience, time or nonce."""
        claims = jwt.decode(
            token,
            self.retrieve_matching_jwk(token),
            algorithms=ALGORITHMS,
            audience=settings.OIDC_RP_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=LEEWAY_S,
            options={"require": ["aud", "exp", "iat", "iss", "sub"]},
        )
        if not kwargs.get("nonce") or claims.get("nonce") != kwargs["nonce"]:
            raise SuspiciousOperation("The nonce of the ID token is not that of the request.")
        return dict(claims)

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """Return the provider's key of this token: the one that it names, or the only one if it names none."""
        answer = requests.get(self.OIDC_OP_JWKS_ENDPOINT, timeout=settings.OIDC_TIMEOUT)
        answer.raise_for_status()
        name = jwt.get_unverified_header(token).get("kid")
        keys = [key for key in jwt.PyJWKSet.from_dict(answer.json()).keys if key.public_key_use in {None, "sig"}]
        found = [key for key in keys if name is None or key.key_id == name]
        if len(found) != 1:
            raise SuspiciousOperation(f"{len(found)} keys of the provider match the ID token.")
        return found[0]

    def get_or_create_user(self, access_token: str, id_token: str, payload: Mapping[str, Any]) -> User:
        """Return the account of the claims. What the user address says counts only for the same person."""
        described = self.get_userinfo(access_token, id_token, payload) if self.OIDC_OP_USER_ENDPOINT else {}
        if described.get("sub", payload["sub"]) != payload["sub"]:
            raise SuspiciousOperation("The user address describes another person than the ID token.")
        claims = {**described, **payload}
        return single_sign_on_user(issuer=settings.OIDC_ISSUER, claims=claims, language=get_language() or "")


def _setting(name: str, *default: Any) -> Any:
    """Return a setting of the library. The provider's addresses come from its own description."""
    if name in _ADDRESSES:
        return _provider().get(_ADDRESSES[name])
    return getattr(settings, name, *default)


def _provider() -> dict[str, Any]:
    """Return the provider's description of itself (OpenID Connect Discovery). Raises Unavailable."""
    key = f"openid-connect:{settings.OIDC_ISSUER}"
    kept: dict[str, Any] | None = cache.get(key)
    if kept is None:
        kept = _discovered()
        cache.set(key, kept, KEPT_S)
    return kept


def _discovered() -> dict[str, Any]:
    try:
        answer = requests.get(
            f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration", timeout=settings.OIDC_TIMEOUT
        )
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        log.warning("single sign-on: no description of the provider: %s", type(error).__name__)
        raise _does_not_answer() from error
    if not isinstance(found, dict) or found.get("issuer") != settings.OIDC_ISSUER:
        log.error("single sign-on: TOUCHSTONE_OIDC_ISSUER is not the issuer that the provider names")
        raise Unavailable(
            _("Single sign-on is not set up correctly."), hint=_("Log in with a password, or tell an administrator.")
        )
    return {name: found[name] for name in _ADDRESSES.values() if name in found}


def _does_not_answer() -> Unavailable:
    return Unavailable(
        _("The provider of the log-in does not answer."), hint=_("Try again in a minute, or log in with a password.")
    )


def _answer_is_invalid() -> NotAllowed:
    return NotAllowed(_("The log-in could not be checked."), hint=_("Log in again."))
