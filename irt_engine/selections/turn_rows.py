"""Rows of one reply each (conversation, turn, setting, chatbot, position, selected), gathered into tables of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from irt_engine.errors import InvalidResponses
from irt_engine.selections.tables import TurnTable


class SelectionRow(NamedTuple):
    """Store one reply that was shown in a turn, and whether it was selected.

    Parameters
    ----------
    conversation : str
        Name of the conversation.
    turn : int
        Number of the turn in its conversation.
    setting : str
        Name of the setting.
    chatbot : str
        Name of the chatbot that wrote the reply.
    position : int or None
        Display position of the reply, from 1 to k or from 0 to k - 1; None if unknown.
    selected : bool
        Whether the reply was selected.
    """

    conversation: str
    turn: int
    setting: str
    chatbot: str
    position: int | None
    selected: bool


class SelectionRowError(InvalidResponses):
    """Report an error in one row.

    Parameters
    ----------
    message, code, hint : str
        As for `EngineError`.
    row : int
        Index of the row, from 0.
    column : str
        Name of the field of `SelectionRow` that is wrong.
    """

    def __init__(self, message: str, *, code: str, hint: str, row: int = 0, column: str = "") -> None:
        super().__init__(message, code=code, hint=hint)
        self.row = row
        self.column = column


@dataclass(frozen=True, slots=True, eq=False)
class SettingTurns:
    """Store the turns of one setting and one set of chatbots.

    Parameters
    ----------
    setting : str
        Name of the setting.
    table : TurnTable
        The n turns.
    conversations : tuple of str, length G
        Names of the conversations; `table.conversation` holds indices into it.
    """

    setting: str
    table: TurnTable
    conversations: tuple[str, ...]


_Turn = dict[str, int]  # chatbot -> index of its row


def turn_tables(rows: Sequence[SelectionRow]) -> list[SettingTurns]:
    """Gather rows into one table for each setting and set of chatbots.

    All turns of a conversation show the same chatbots. Conversations of one setting may show different sets; each set
    gets its own table. A setting is select-one-best if its name contains SOBA, select-all if it contains SATA, and
    otherwise if every turn has exactly one selected reply.

    Parameters
    ----------
    rows : sequence of SelectionRow
        One row for each reply shown, in any order.

    Returns
    -------
    list of SettingTurns
        One table for each setting and set of chatbots, in the order of first appearance.

    Raises
    ------
    SelectionRowError
        If a row is repeated or missing. If a turn's positions are not 1 to k (or 0 to k - 1). If a turn of a SOBA
        setting does not have exactly one selected reply.
    InvalidResponses
        If there are no rows.
    """
    if not rows:
        raise InvalidResponses("there are no turns", code="no_votes", hint="give at least one turn")
    arms: dict[tuple[str, frozenset[str]], dict[str, dict[int, _Turn]]] = {}
    for (setting, conversation), turns in _conversations(rows).items():
        chatbots = frozenset(name for turn in turns.values() for name in turn)
        _check_complete(turns, chatbots)
        arms.setdefault((setting, chatbots), {})[conversation] = turns
    return [_table(rows, setting, conversations) for (setting, _), conversations in arms.items()]


def is_one_best(setting: str, sizes: Sequence[int] | np.ndarray[Any, Any], k: int) -> bool:
    """Return whether a setting is select-one-best (SOBA), by its name or else by its turns.

    Parameters
    ----------
    setting : str
        Name of the setting.
    sizes : sequence of int, shape (n,)
        Number of selected replies in each turn.
    k : int
        Number of chatbots. A single reply can always be rejected.

    Returns
    -------
    bool
        True for SOBA, False for SATA; always False for a single chatbot.
    """
    soba, sata = "SOBA" in setting.upper(), "SATA" in setting.upper()
    if k == 1 or soba != sata:
        return k > 1 and soba
    return bool((np.asarray(sizes) == 1).all())


def _conversations(rows: Sequence[SelectionRow]) -> Mapping[tuple[str, str], dict[int, _Turn]]:
    found: dict[tuple[str, str], dict[int, _Turn]] = {}
    for index, row in enumerate(rows):
        turn = found.setdefault((row.setting, row.conversation), {}).setdefault(row.turn, {})
        if turn.setdefault(row.chatbot, index) != index:
            raise SelectionRowError(
                f"chatbot {row.chatbot!r} stands twice in turn {row.turn} of conversation {row.conversation!r}",
                code="repeated_row",
                hint="Remove one of the rows, or correct the turn.",
                row=index,
                column="chatbot",
            )
    return found


def _check_complete(turns: Mapping[int, _Turn], chatbots: frozenset[str]) -> None:
    for number, turn in turns.items():
        if missing := sorted(chatbots - turn.keys()):
            raise SelectionRowError(
                f"turn {number} has no row for chatbot {missing[0]!r}, which other turns of the conversation have",
                code="missing_row",
                hint="Add the row, or remove the turn: all chatbots of a conversation are shown in each turn.",
                row=min(turn.values()),
                column="chatbot",
            )


def _table(
    rows: Sequence[SelectionRow], setting: str, conversations: Mapping[str, Mapping[int, _Turn]]
) -> SettingTurns:
    turns = [(c, number, turn) for c, name in enumerate(conversations) for number, turn in conversations[name].items()]
    chatbots = tuple(sorted(turns[0][2]))  # the order of display is random
    index = np.array([[turn[chatbot] for chatbot in chatbots] for _, _, turn in turns])
    selected = np.array([row.selected for row in rows], np.int64)[index]
    one_best = is_one_best(setting, selected.sum(axis=1), len(chatbots))
    if one_best:
        _check_one_best(rows, index, selected)
    table = TurnTable(
        chatbots,
        np.array([c for c, _, _ in turns], np.int64),
        np.array([number for _, number, _ in turns], np.int64),
        selected,
        _positions(rows, index),
        one_best,
    )
    return SettingTurns(setting, table, tuple(conversations))


def _check_one_best(rows: Sequence[SelectionRow], index: np.ndarray[Any, Any], selected: np.ndarray[Any, Any]) -> None:
    wrong = np.flatnonzero(selected.sum(axis=1) != 1)
    if len(wrong):
        row = int(index[wrong[0]].min())
        raise SelectionRowError(
            f"turn {rows[row].turn} of conversation {rows[row].conversation!r} has {selected[wrong[0]].sum()} selected "
            f"replies, but in setting {rows[row].setting!r} (SOBA) exactly one is selected",
            code="not_one_best",
            hint="Correct the turn, or name the setting SATA.",
            row=row,
            column="selected",
        )


def _positions(rows: Sequence[SelectionRow], index: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return the positions from 1, shape (n, k); None if no row has one."""
    given = [rows[i].position for i in index.flat]
    if all(position is None for position in given):
        return None
    found = np.array([-1 if position is None else position for position in given], np.int64).reshape(index.shape)
    found = found + int(found.min() == 0)  # some files count from 0
    k = index.shape[1]
    wrong = np.flatnonzero((np.sort(found, axis=1) != np.arange(1, k + 1)).any(axis=1))
    if len(wrong):
        row = int(index[wrong[0]].min())
        raise SelectionRowError(
            f"the positions of turn {rows[row].turn} of conversation {rows[row].conversation!r} are not 1 to {k}",
            code="bad_position",
            hint="Give each reply of the turn its own position, or leave all positions of the setting empty.",
            row=row,
            column="position",
        )
    return found
