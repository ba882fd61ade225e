"""The formats of votes that this program reads, in the order in which they are tried."""

from __future__ import annotations

from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_formats.alpaca_eval import AlpacaEval
from evalsite.exchange.vote_formats.annotation_tools import LabelStudio, Potato
from evalsite.exchange.vote_formats.appraise import Appraise
from evalsite.exchange.vote_formats.autoarena import AutoArena
from evalsite.exchange.vote_formats.base import VoteFormat
from evalsite.exchange.vote_formats.chosen_name import AcuteEval, Comparia
from evalsite.exchange.vote_formats.columns import ArenaColumns, OtherSpellings, OwnColumns
from evalsite.exchange.vote_formats.crowd_work import CrowdWork
from evalsite.exchange.vote_formats.mt_bench import HumanJudgments, OrderedPairs
from evalsite.exchange.vote_formats.one_hot import OneHot
from scheduler.plugins import plugins

_EXACT: tuple[VoteFormat, ...] = (OwnColumns(), ArenaColumns())
FORMATS: tuple[VoteFormat, ...] = (
    # These refine the arena's columns, so they are tried before them.
    *(AutoArena(), HumanJudgments(), *_EXACT),
    *(OneHot(), OrderedPairs(), AlpacaEval(), Comparia(), AcuteEval(), LabelStudio(), Potato(), Appraise()),
    *(CrowdWork(), OtherSpellings()),
)


def format_of(records: Records) -> VoteFormat:
    """Return the first format that recognises the columns. The last one takes every file, and names what is missing.

    Formats of plug-ins are tried before the two that take other spellings.
    """
    if all(form.recognises(records) for form in _EXACT):
        return FORMATS[-1]  # It refuses both at once.
    others: list[VoteFormat] = [make() for make in plugins("touchstone.formats").values()]
    return next(form for form in (*FORMATS[:-2], *others, *FORMATS[-2:]) if form.recognises(records))
