"""Costs of a study in each setting: turns, conversations, money and days, side by side.

To compare k chatbots, settings with two chatbots need k (k - 1) / 2 pairs of conversations' worth of turns, settings
with several chatbots need one study with all of them, and settings with one chatbot need k studies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from irt_engine.errors import InvalidResponses
from irt_engine.selections.sample_sizes import SETTINGS, TurnDesign, TurnSize, turns_needed
from irt_engine.significance.argument_checks import check_count

_OPTIONS = {
    "pm-soba": (),
    "pm-sata": ("discordance",),
    "mm-soba": ("chatbots",),
    "mm-sata": ("chatbots",),
    "sm": ("baseline",),
}


@dataclass(frozen=True, slots=True)
class StudyTerms:
    """Store what a study pays and how fast it goes.

    Parameters
    ----------
    chatbots : int
        Number of chatbots k to compare.
    counted_turns : float
        Mean number of turns of a conversation that count for the tests.
    paid_turns : float
        Mean number of turns of a conversation that are paid.
    pay : float
        Pay for one unit.
    pay_per : {"turn", "conversation"}
        The unit.
    conversations_per_day : float, optional
        Conversations that annotators finish in a day; None if unknown.
    design_effect : float
        Factor on the independent turns, because turns of one conversation are alike.
    removed : float
        Share of conversations that cleaning is expected to leave out, from 0 to below 1.
    """

    chatbots: int
    counted_turns: float
    paid_turns: float
    pay: float = 0.0
    pay_per: str = "turn"
    conversations_per_day: float | None = None
    design_effect: float = 1.0
    removed: float = 0.0


@dataclass(frozen=True, slots=True)
class StudyCost:
    """Store what a study in one setting needs.

    Parameters
    ----------
    setting : str
        One of `SETTINGS`.
    studies : int
        Number of chatbot sets that are evaluated one by one: all pairs, one set, or each chatbot.
    size : TurnSize
        Independent turns of one of them, with the assumptions.
    turns, conversations : int
        Number of counted turns and of conversations, of all studies, with design effect and cleaning.
    money : float
        Pay of all conversations.
    days : float or None
        Duration; None if the speed is unknown.
    """

    setting: str
    studies: int
    size: TurnSize
    turns: int
    conversations: int
    money: float
    days: float | None


def study_costs(design: TurnDesign, terms: StudyTerms) -> Mapping[str, StudyCost]:
    """Return the costs of all settings that compare this number of chatbots.

    Parameters
    ----------
    design : TurnDesign
        Difference, alpha and power; baseline, discordance and a pilot are used by the settings that have them.
    terms : StudyTerms
        Pay, speed and length of conversations.

    Returns
    -------
    dict of str to StudyCost
        One per setting that is possible: two chatbots have no setting for several; one chatbot has `sm` only.

    Raises
    ------
    InvalidResponses
        If a term is outside its range, or as `turns_needed`.

    Examples
    --------
    >>> terms = StudyTerms(2, counted_turns=9, paid_turns=10, pay=0.8, pay_per="conversation")
    >>> {name: cost.conversations for name, cost in study_costs(TurnDesign(0.1), terms).items()}
    {'pm-soba': 22, 'pm-sata': 75, 'sm': 28}
    """
    _check(terms)
    return {setting: _cost(setting, design, terms) for setting in SETTINGS if _possible(setting, terms.chatbots)}


def _possible(setting: str, k: int) -> bool:
    return setting == "sm" or (k > 2 if setting.startswith("mm") else k > 1)


def _cost(setting: str, design: TurnDesign, terms: StudyTerms) -> StudyCost:
    k = terms.chatbots
    studies = {"pm": k * (k - 1) // 2, "mm": 1, "sm": k}[setting[:2]]
    size = turns_needed(setting, _design_for(setting, design, k))
    turns = math.ceil(size.turns * max(terms.design_effect, 1.0))
    each = math.ceil(turns / (1.0 - terms.removed) / terms.counted_turns)
    conversations = studies * each
    units = conversations * (terms.paid_turns if terms.pay_per == "turn" else 1.0)
    days = None if terms.conversations_per_day is None else conversations / terms.conversations_per_day
    return StudyCost(setting, studies, size, studies * turns, conversations, units * terms.pay, days)


def _design_for(setting: str, design: TurnDesign, k: int) -> TurnDesign:
    """Return the design with the options that the setting has; a pilot is used where it has the setting's width."""
    pilot = design.pilot
    width = None if pilot is None else len(pilot.chatbots)
    usable = {"pm-sata": width == 2, "mm-soba": width == k, "mm-sata": width == k, "sm": width == 1}
    if pilot is not None and usable.get(setting, False):
        return replace(design, baseline=None, discordance=None, chatbots=None)
    options = {"baseline": design.baseline, "discordance": design.discordance, "chatbots": k}
    kept = {name: value if name in _OPTIONS[setting] else None for name, value in options.items()}
    return TurnDesign(design.difference, design.alpha, design.power, **kept)  # type: ignore[arg-type]


def _check(terms: StudyTerms) -> None:
    check_count(terms.chatbots, "chatbots", least=1)
    speed = terms.conversations_per_day
    lengths = terms.counted_turns > 0 and terms.paid_turns >= terms.counted_turns
    if terms.pay_per not in ("turn", "conversation"):
        raise InvalidResponses(f"pay per {terms.pay_per!r}", code="bad_terms", hint="use 'turn' or 'conversation'")
    if not lengths or terms.pay < 0 or (speed is not None and speed <= 0) or not 0 <= terms.removed < 1:
        raise InvalidResponses(
            "a length, pay, speed or share of a study is outside its range",
            code="bad_terms",
            hint="give positive lengths (paid turns at least the counted ones) and speed, pay from 0, removed below 1",
        )
