"""Reply effects: the quality of one chatbot's reply to one prompt, around the chatbot's ability.

Two comparisons with the same reply are not independent. With u_mj ~ N(0, reply_sd^2),

    theta = s_B - s_A + (u_Bj - u_Aj) + the pair effect (+ the side effect).

A slot has an effect for each chatbot on its prompt, in columns after the prompt's own parameters phi. Slots with fewer
chatbots have unused columns, about which the cells contain no information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.responses.cells import Cells, Comparisons, numbered

MOST_WORK = 10**9  # multiplications of a round: a tenth of a second. A board that takes more is fitted without them


@dataclass(frozen=True, slots=True, eq=False)
class ReplyColumns:
    """Store the columns of reply effects in J slots, and the place of n cells among them.

    Parameters
    ----------
    own : ndarray of int, shape (n, 2)
        Columns 0..R - 1 of each cell's two replies, low then high; -1 in the pooled slot.
    chatbot : ndarray of int, shape (J, R)
        Chatbot of each column; -1 for an unused one.
    slot : ndarray of int, shape (n,)
        Slot of each cell.
    again : ndarray of bool, shape (J, R)
        Whether the reply was judged twice or more.
    """

    own: IntArray  # (n, 2) columns, 0..R - 1, of each cell's two replies, low then high; -1 in the shared slot
    chatbot: IntArray  # (J, R) whose reply a column is; -1 in an idle one
    slot: IntArray  # (n,)
    again: BoolArray  # (J, R) whether a column is a reply's that was judged twice or more

    @property
    def most(self) -> int:
        """Return the number of columns, R."""
        return int(self.chatbot.shape[1])

    @property
    def there(self) -> BoolArray:
        """Return which columns (J, R) are used."""
        there: BoolArray = self.chatbot >= 0
        return there

    def theta(self, effects: FloatArray) -> FloatArray:
        """Return the part of theta that comes from reply effects.

        Parameters
        ----------
        effects : ndarray of float, shape (J, R)
            Effects.

        Returns
        -------
        ndarray of float, shape (n,)
            Effect of high minus effect of low.
        """
        low, high = self.own.T
        difference: FloatArray = np.where(low >= 0, effects[self.slot, high] - effects[self.slot, low], 0.0)
        return difference

    def gathered(self, of_cells: FloatArray) -> FloatArray:
        """Return the sums of cell values by reply: the transpose of `theta`.

        Parameters
        ----------
        of_cells : ndarray of float, shape (n,)
            Values of the cells.

        Returns
        -------
        ndarray of float, shape (J, R)
            Sums.
        """
        there = self.own[:, 0] >= 0
        place = (self.slot[there, None] * self.most + self.own[there]).ravel()
        signed = np.stack([-of_cells[there], of_cells[there]], axis=1).ravel()
        total = np.bincount(place, weights=signed, minlength=self.chatbot.size)
        return np.asarray(total, dtype=np.float64).reshape(self.chatbot.shape)

    def by_chatbot(self, of_columns: FloatArray, chatbots: int, of_others: float) -> FloatArray:
        """Return values of the columns by chatbot.

        Parameters
        ----------
        of_columns : ndarray of float, shape (J, R)
            Values.
        chatbots : int
            Number of chatbots M.
        of_others : float
            Value of replies without votes.

        Returns
        -------
        ndarray of float, shape (J, M)
            Values by chatbot.
        """
        of_all = np.full((len(self.chatbot), chatbots), of_others)
        slot, column = np.nonzero(self.there)
        of_all[slot, self.chatbot[slot, column]] = of_columns[slot, column]
        return of_all


def most_replies(cells: Cells, comparisons: Comparisons, chatbots: int) -> int:
    """Return the largest number of replies in a slot, without building the columns.

    Parameters
    ----------
    cells : Cells
        The cells.
    comparisons : Comparisons
        Their comparisons.
    chatbots : int
        Number of chatbots.

    Returns
    -------
    int
        R of `replies_of`.
    """
    own = cells.slot != cells.shared
    both = np.stack([comparisons.low, comparisons.high], axis=1)[cells.comparison[own]]
    code, _ = numbered((cells.slot[own, None] * chatbots + both).ravel(), cells.slots * chatbots)
    return int(np.bincount(code // chatbots).max(initial=0))


def replies_of(cells: Cells, comparisons: Comparisons, chatbots: int) -> ReplyColumns:
    """Return the columns of the replies in the cells of a board.

    Parameters
    ----------
    cells : Cells
        The cells; those of the pooled slot have no reply effects.
    comparisons : Comparisons
        Their comparisons.
    chatbots : int
        Number of chatbots.

    Returns
    -------
    ReplyColumns
        The columns.
    """
    both = np.stack([comparisons.low, comparisons.high], axis=1)[cells.comparison]
    alone = cells.slot == cells.shared
    code, index = numbered((cells.slot[~alone, None] * chatbots + both[~alone]).ravel(), cells.slots * chatbots)
    slot, chatbot = np.divmod(code, chatbots)
    column = np.arange(len(code)) - np.searchsorted(slot, slot)
    whose = np.full((cells.slots, int(column.max(initial=-1)) + 1), -1)
    whose[slot, column] = chatbot
    own = np.full(both.shape, -1)
    own[~alone] = column[index.reshape(-1, 2)]
    judged = np.zeros(whose.shape)
    np.add.at(judged, (cells.slot[~alone, None], own[~alone]), cells.observations[~alone, None])
    return ReplyColumns(own, whose, cells.slot, judged > 1.0)
