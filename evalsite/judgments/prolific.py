"""Prolific's API: verifies the submission of an arrival (GET /api/v1/submissions/{id}/)."""

import logging
from collections.abc import Mapping
from typing import Any

import httpx2
from django.conf import settings
from django.utils.translation import gettext as _

from evalsite.core.errors import NotAllowed, Unavailable

logger = logging.getLogger(__name__)
TIMEOUT_S = 5.0
ENDED = {"RETURNED", "TIMED OUT", "REJECTED"}


def submission_check(*, token: str, session: str, worker: str, study: str) -> None:
    """Raise NotAllowed unless Prolific knows this open submission of this participant to this study.

    Raises Unavailable if Prolific does not answer: nobody is admitted without a check.
    """
    found = _submission(token, session)
    said = {name: found.get(name) for name in ("id", "participant", "study_id")}
    status = str(found.get("status", "")).upper().replace("_", " ").replace("-", " ")
    if said != {"id": session, "participant": worker, "study_id": study} or status in ENDED:
        raise _unknown()


def _submission(token: str, session: str) -> Mapping[str, Any]:
    url = f"{settings.PROLIFIC_API}/api/v1/submissions/{session}/"
    try:
        response = httpx2.get(url, headers={"Authorization": f"Token {token}"}, timeout=TIMEOUT_S)
    except httpx2.HTTPError as error:
        logger.warning("Prolific did not answer: %s", type(error).__name__)
        raise _away() from error
    if response.status_code == 404:
        raise _unknown()
    if response.status_code != 200:
        logger.warning("Prolific answered %s. With 401 or 403, check PROLIFIC_TOKENS.", response.status_code)
        raise _away()
    try:
        found = response.json()
    except ValueError as error:
        raise _away() from error
    return found if isinstance(found, dict) else {}


def _unknown() -> NotAllowed:
    return NotAllowed(
        _("Prolific does not know this submission."),
        hint=_("Open the study from Prolific again. If this happens again, contact the researcher."),
        code="submission_unknown",
    )


def _away() -> Unavailable:
    return Unavailable(
        _("Prolific cannot confirm your submission at the moment."),
        hint=_("Try again in a minute. If this happens again, contact the researcher."),
        code="platform_unavailable",
    )
