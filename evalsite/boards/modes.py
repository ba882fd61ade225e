"""Whether static and live judgments of the same chatbots agree. Only the worker loads this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evalsite.boards.live_reports import static_boards
from evalsite.boards.live_turns import chatbot_names
from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from irt_engine.errors import EngineError
from irt_engine.posterior import Posterior
from irt_engine.selections import ModeAbilities, SelectionAbilities, mode_test


def mode_tests(campaign: Campaign, live: SelectionAbilities) -> list[dict[str, Any]]:
    """Return a test for each static board that can be compared, with the newest snapshot."""
    names = chatbot_names(campaign)
    chatbots = _once(campaign.entrants.values_list("pk", "version__chatbot"))
    by_name = {names[entrant]: str(chatbot) for entrant, chatbot in chatbots.items()}
    known = [place for place, name in enumerate(live.chatbots) if name in by_name]
    mode = ModeAbilities(
        tuple(by_name[live.chatbots[place]] for place in known),
        live.ability[known],
        live.covariance[np.ix_(known, known)],
        live.conversations,
    )
    shown = {chatbot: name for name, chatbot in by_name.items()}
    return [found for board in static_boards(campaign) if (found := _test(board, mode, shown)) is not None]


def _test(board: Board, live: ModeAbilities, names: Mapping[str, str]) -> dict[str, Any] | None:
    static = board.default_of
    assert static is not None  # noqa: S101  by the filter
    snapshot = board.snapshots.latest()
    try:
        modes = (_static(static, Posterior.from_bytes(bytes(snapshot.posterior)), live.chatbots), live)
        found = mode_test(*modes)
    except EngineError:
        return None
    return {
        "campaign": str(static.public_id),
        "name": static.name,
        "snapshot": snapshot.number,
        "chatbots": [names[one] for one in found.chatbots],
        "test": found.method,
        "statistic": found.statistic,
        "df": list(found.df),
        "p": found.p,
        "one_board": found.one_board,
        "shifts": {names[chatbot]: shift for chatbot, shift in found.shifts.items()},
        "largest_se": _largest_se(modes, found.chatbots),
    }


def _largest_se(modes: Iterable[ModeAbilities], shared: Sequence[str]) -> float:
    """Return the largest standard error of a shift, relative to the mean of the shared chatbots."""
    centre = np.eye(len(shared)) - 1 / len(shared)
    total = np.zeros_like(centre)
    for mode in modes:
        places = [mode.chatbots.index(one) for one in shared]
        total += mode.covariance[np.ix_(places, places)]
    return float(np.sqrt(np.diag(centre @ total @ centre).max()))


def _static(campaign: Campaign, posterior: Posterior, wanted: Iterable[str]) -> ModeAbilities:
    """Return the static abilities of the wanted chatbots in the largest group that were compared with each other."""
    fit = posterior.marginal()
    chatbots = _once(campaign.entrants.values_list("version", "version__chatbot"))
    of_place = {place: str(chatbots[int(one)]) for place, one in enumerate(fit.chatbots) if int(one) in chatbots}
    shared = [place for place, chatbot in of_place.items() if chatbot in set(wanted)]
    groups = Counter(int(fit.group[place]) for place in shared).most_common(1)
    places = [place for place in shared if int(fit.group[place]) == groups[0][0]]
    names = tuple(of_place[place] for place in places)
    return ModeAbilities(names, fit.ability[places], fit.covariance[np.ix_(places, places)])


def _once(rows: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the rows whose chatbot takes part with one version alone."""
    found = dict(rows)
    counts = Counter(found.values())
    return {key: chatbot for key, chatbot in found.items() if counts[chatbot] == 1}
