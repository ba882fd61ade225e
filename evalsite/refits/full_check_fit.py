"""The full Bayesian fit of a board, compared with its everyday fit, so that a person can judge the latter."""

import time
import warnings
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from django.utils import timezone

from evalsite.boards.models import Snapshot
from evalsite.boards.services import board_default
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.refits.mapping import ENGINE, FitInput, fit_input
from evalsite.refits.models import FullCheck
from irt_engine import EngineError, EngineWarning, Posterior
from irt_engine.full.sampling import FullPosterior, agreement, fit_full
from scheduler.estimator import campaign_priors
from scheduler.reasons import Reason

DRAWS, TUNE, CHAINS = 1500, 1000, 4


def check_make(check: FullCheck, lease: Lease) -> None:
    """Fit outside any transaction and report the progress, then store the result.

    An error of the engine is stored as `trouble`.
    """
    if check.finished_at is not None:
        return
    given = fit_input(board_default(campaign=check.campaign))
    result, trouble = _result(check, given, lease)
    with write_transaction():
        lease.confirm()
        done: dict[str, Any] = {"result": result, "trouble": trouble.text, "trouble_data": trouble.data}
        FullCheck.objects.filter(pk=check.pk).update(
            input_sha256=given.sha256, stage=FullCheck.STAGES, finished_at=timezone.now(), **done
        )


def _result(check: FullCheck, given: FitInput, lease: Lease) -> tuple[dict[str, Any] | None, StoredReason]:
    def told(done: int, most: int) -> None:
        with write_transaction():
            lease.confirm()
            FullCheck.objects.filter(pk=check.pk).update(stage=done * FullCheck.STAGES // most)

    clock = time.perf_counter()
    try:
        everyday = _everyday(check, given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # The diagnostics contain the same and are stored.
            full = fit_full(
                given.table(),
                "board",
                form="vote",
                priors=campaign_priors(given.table()),
                draws=DRAWS,
                tune=TUNE,
                chains=CHAINS,
                seed=given.seed,
                progress=told,
            )
        full = replace(full, posterior=full.posterior.marginal())  # As on the boards of campaigns.
        seconds = time.perf_counter() - clock
        judgments = given.judgments  # The full fit has no known ties, although the campaign may have fitted them.
        result = result_of(everyday, full, names_of(check.snapshot), judgments=judgments, seconds=seconds)
        return result, StoredReason("")
    except EngineError as error:
        return None, as_stored(Reason("full_fit_failed", {"rest": str(error)}))


def _everyday(check: FullCheck, given: FitInput) -> Posterior:
    """Return the snapshot's own posterior, or fit again if judgments have come in since."""
    same = check.snapshot.input_sha256 == given.sha256 and check.snapshot.engine == ENGINE
    return Posterior.from_bytes(bytes(check.snapshot.posterior)) if same else given.fit()[0].posterior


def names_of(snapshot: Snapshot) -> dict[str, str]:
    """Map the chatbot keys of response tables to names."""
    board = snapshot.board
    entrants = [
        one for campaign in board.campaigns.all() for one in campaign.entrants.select_related("version__chatbot")
    ]
    return {str(one.version_id): one.name for one in entrants}


def result_of(
    everyday: Posterior, full: FullPosterior, names: dict[str, str], *, judgments: int, seconds: float
) -> dict[str, Any]:
    """Return the result to store.

    It has the diagnostics, the agreement of the two fits, and the mean and SE of each chatbot by both, strongest first.
    ratio is the root mean square of the everyday SEs relative to the full ones.
    """
    reference, found = full.posterior, agreement(everyday, full)
    order = np.argsort(-everyday.ability, kind="stable")
    ratio = float(np.sqrt(np.mean((everyday.se / reference.se) ** 2)))
    rows = [
        {
            "name": names.get(everyday.chatbots[m], everyday.chatbots[m]),
            "everyday": [float(everyday.ability[m]), float(everyday.se[m])],
            "full": [float(reference.ability[m]), float(reference.se[m])],
        }
        for m in order.tolist()
    ]
    return {
        "judgments": judgments,
        "diagnostics": {**asdict(full.diagnostics), "converged": full.diagnostics.converged},
        "agreement": {**asdict(found), "ratio": ratio},
        "rows": rows,
        "seconds": seconds,
    }
