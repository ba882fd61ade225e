"""Compute the live report of a campaign: the statistics of its conversations before and after cleaning.

Only the worker loads this module, because it needs the statistics. Pages read the stored row (`live_reports`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.boards.label_reports import label_report_of
from evalsite.boards.live_turns import (
    LiveConversation,
    LiveTurn,
    ReplyOutcomes,
    live_conversations,
    prompts_by_conversation,
    reply_outcomes,
    setting_name,
)
from evalsite.boards.modes import mode_tests
from evalsite.boards.selection_presenters import setting_as_dict
from evalsite.boards.selection_reports import ReportOptions, setting_report
from evalsite.boards.third_parties import third_party_content
from evalsite.campaigns.models import Campaign
from irt_engine.errors import EngineError, EngineWarning
from irt_engine.selections import (
    ConversationFacts,
    SampleSizes,
    SelectionRow,
    SettingTurns,
    abilities_of,
    analyse,
    cleaning_proposals,
    turn_tables,
)
from irt_engine.selections.analysis import McNemarMethod, PairTest
from irt_engine.significance.share_intervals import share_interval

_MCNEMAR: tuple[McNemarMethod, ...] = ("chi_square", "corrected", "exact")


def live_report_content(campaign: Campaign, *, baseline: float = 0.8) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what readers see, and the cleaning proposals for the console."""
    conversations = live_conversations(campaign)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)  # The report names the tests that fit small samples beside.
        content = report_content(conversations, reply_outcomes(campaign), baseline=baseline)
        content |= {"third_parties": third_party_content(campaign), "modes": modes_content(campaign, conversations)}
        content["labels"] = label_report_of(campaign, prompts_by_conversation(campaign))
        proposals = cleaning_content(conversations)
    return content, proposals


def modes_content(campaign: Campaign, conversations: Sequence[LiveConversation]) -> list[dict[str, Any]]:
    """Return the tests that static and live judgments give equal abilities, one for each static board."""
    tables = [one.table for one in _tables([one for one in conversations if not one.excluded]).values()]
    try:
        live = abilities_of(tables)
    except EngineError:
        return []
    return mode_tests(campaign, live)


def report_content(
    conversations: Sequence[LiveConversation], outcomes: Mapping[str, ReplyOutcomes], *, baseline: float = 0.8
) -> dict[str, Any]:
    """Return the statistics of these conversations; excluded ones count only in the sizes before cleaning."""
    kept = [one for one in conversations if not one.excluded]
    tables = _tables(kept)
    return {
        "settings": {name: _setting(name, table, baseline) for name, table in tables.items()},
        "samples": _samples(conversations),
        "abilities": _abilities(list(tables.values())),
        "failures": {name: _failures(one) for name, one in outcomes.items()},
        "ratings": _ratings(kept),
        "written": {name: _written(kept, name) for name in _names(kept) if name.endswith("Written")},
    }


def _setting(name: str, found: SettingTurns, baseline: float) -> dict[str, Any]:
    table = found.table
    report = setting_report(name, table.selections, table, ReportOptions(baseline=baseline))
    pairs = report.analysis.pairs
    ties = {"tie_win": pairs[0].tie_win, "tie_loss": pairs[0].tie_loss} if len(pairs) == 1 else None
    wald = analyse(table.selections, interval="wald", baseline=baseline).win_rates
    return {
        **setting_as_dict(report),
        "one_best": table.one_best,
        "ties": ties,
        "wald": {rate.chatbot: {"lower": rate.lower, "upper": rate.upper} for rate in wald},
        "tests": list(_all_tests(found, baseline)),
    }


def _all_tests(found: SettingTurns, baseline: float) -> Iterator[dict[str, Any]]:
    """Return every test that fits the setting, by name: of all chatbots, and of each pair by each form of the test."""
    selections = found.table.selections
    methods = ("chi_square",) if selections.one_best or len(selections.chatbots) == 1 else _MCNEMAR
    for index, method in enumerate(methods):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # about few turns: the exact test stands beside it
            analysis = analyse(selections, method=method, baseline=baseline)
        if index == 0 and len(analysis.pairs) != 1:
            whole = analysis.omnibus
            yield {"chatbots": list(selections.chatbots), **_test(whole.method, whole.statistic, whole.p, None)}
        for pair in analysis.pairs:
            yield {"chatbots": [pair.a, pair.b], **_pair_test(pair)}


def _pair_test(pair: PairTest) -> dict[str, Any]:
    return _test(pair.test.method, pair.test.statistic, pair.test.p, pair.p_holm)


def _test(name: str, statistic: float, p: float, p_holm: float | None) -> dict[str, Any]:
    return {"test": name, "statistic": statistic, "p": p, "p_holm": p_holm}


def _names(conversations: Sequence[LiveConversation]) -> list[str]:
    return list(dict.fromkeys(_setting_of(one) for one in conversations))


def _setting_of(one: LiveConversation) -> str:
    return setting_name(one.setting, len(one.turns[0].replies))


def _samples(conversations: Sequence[LiveConversation]) -> dict[str, Any]:
    """Return dialogues, turns and mean turns of each setting, before and after cleaning, and the removed shares."""
    found = {}
    for name in _names(conversations):
        own = [one for one in conversations if _setting_of(one) == name]
        before, after = _sizes(own), _sizes([one for one in own if not one.excluded])
        dialogues, turns = after.removed_from(before)
        found[name] = {
            "before": _size(before),
            "after": _size(after),
            "removed": {"dialogues": dialogues, "turns": turns},
        }
    return found


def _sizes(conversations: Sequence[LiveConversation]) -> SampleSizes:
    return SampleSizes(len(conversations), sum(len(one.counted) for one in conversations))


def _size(sizes: SampleSizes) -> dict[str, Any]:
    return {"dialogues": sizes.dialogues, "turns": sizes.turns, "mean_turns": sizes.mean_turns}


def _tables(conversations: Sequence[LiveConversation]) -> dict[str, SettingTurns]:
    """Return the counted turns by setting; with the chatbots in brackets where a setting has several sets."""
    rows = [row for one in conversations for turn in one.counted for row in _rows(one, turn)]
    if not rows:
        return {}
    tables = turn_tables(rows)
    names = [one.setting for one in tables]
    labels = [
        one.setting if names.count(one.setting) == 1 else f"{one.setting} ({', '.join(one.table.chatbots)})"
        for one in tables
    ]
    return dict(zip(labels, tables, strict=True))


def _rows(one: LiveConversation, turn: LiveTurn) -> Iterator[SelectionRow]:
    """Return a row per reply. Turns with other chatbots than the first one are a conversation of their own."""
    shown = sorted(reply.chatbot for reply in turn.replies)
    first = sorted(reply.chatbot for reply in one.turns[0].replies)
    name = str(one.public_id) if shown == first else f"{one.public_id} {shown}"
    for reply in turn.replies:
        setting = setting_name(one.setting, len(turn.replies))
        yield SelectionRow(name, turn.number, setting, reply.chatbot, reply.position, reply.selected)


def _abilities(tables: Sequence[SettingTurns]) -> dict[str, Any] | None:
    """Return abilities from the selections of all settings; None where they cannot be estimated."""
    try:
        found = abilities_of([one.table for one in tables])
    except EngineError:
        return None
    rows = zip(found.chatbots, found.ability, found.se, found.intervals(), strict=True)
    return {
        "conversations": found.conversations,
        "turns": found.turns,
        "chatbots": {
            name: {"ability": float(ability), "se": float(se), "lower": float(low), "upper": float(high)}
            for name, ability, se, (low, high) in rows
        },
    }


def _failures(one: ReplyOutcomes) -> dict[str, Any]:
    found = share_interval(one.failed, one.came + one.failed)
    return {"replies": found.n, "failed": found.k, "rate": found.value, "lower": found.lower, "upper": found.upper}


def _ratings(conversations: Sequence[LiveConversation]) -> dict[str, Any]:
    """Return the ratings at the end, by setting."""
    found = {}
    for name in _names(conversations):
        given = [one.rating for one in conversations if _setting_of(one) == name and one.rating is not None]
        if given:
            found[name] = {"conversations": len(given), "mean": sum(given) / len(given)}
    return found


def _written(conversations: Sequence[LiveConversation], name: str) -> dict[str, Any]:
    """Return how often annotators wrote a reply themselves."""
    turns = [turn for one in conversations if _setting_of(one) == name for turn in one.turns]
    return {"turns": len(turns), "written": sum(turn.written for turn in turns)}


def cleaning_content(conversations: Sequence[LiveConversation]) -> dict[str, Any]:
    """Return the proposals, and a preview: sizes and win rates if all of them are accepted."""
    kept = [one for one in conversations if not one.excluded]
    reasons = {one.name: one.reasons for one in cleaning_proposals([_facts(one) for one in kept])}
    annotators = {one.annotator for one in kept if str(one.public_id) in reasons}
    left = [one for one in kept if one.annotator not in annotators]
    return {
        "proposals": [
            {
                "conversation": str(one.public_id),
                "annotator": str(one.annotator),
                "setting": _setting_of(one),
                "turns": len(one.counted),
                "reasons": list(reasons[str(one.public_id)]),
            }
            for one in kept
            if str(one.public_id) in reasons
        ],
        "preview": {
            name: {"now": _preview(kept, name), "then": _preview(left, name)} for name in _names(kept) if annotators
        },
    }


def _preview(conversations: Sequence[LiveConversation], name: str) -> dict[str, Any]:
    own = [one for one in conversations if _setting_of(one) == name]
    turns = [turn for one in own for turn in one.counted]
    chatbots = sorted({reply.chatbot for turn in turns for reply in turn.replies})
    rates = {}
    for chatbot in chatbots:
        replies = [reply.selected for turn in turns for reply in turn.replies if reply.chatbot == chatbot]
        rates[chatbot] = sum(replies) / len(replies)
    return {**_size(_sizes(own)), "win_rates": rates}


def _facts(one: LiveConversation) -> ConversationFacts:
    patterns = tuple(turn.pattern for turn in one.turns)
    return ConversationFacts(str(one.public_id), patterns, one.tokens, one.names_maker)
