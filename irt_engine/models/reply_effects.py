"""The replies of a board: what is particular to one chatbot's reply to one prompt, whoever is opposite.

A reply is one text. Where it is better than its chatbot's replies usually are, it wins more often against all: two
comparisons that share it are not two independent facts about its chatbot. With u_mj ~ N(0, reply_sd^2),

    theta = s_B - s_A + (u_Bj - u_Aj) + the pair's own effect (+ side effect).

A slot has an effect for each of the chatbots that were met on its prompt, in columns behind the prompt's own parameters
phi. Slots with fewer than the most have idle columns, about which no cell says anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.responses.cells import Cells, Comparisons, numbered

MOST_WORK = 10**9  # multiplications of a round: a tenth of a second. A board that takes more is fitted without them


@dataclass(frozen=True, slots=True, eq=False)
class ReplyColumns:
    """R columns of J slots, and where n cells are among them."""

    own: IntArray  # (n, 2) columns, 0..R - 1, of each cell's two replies, low then high; -1 in the shared slot
    chatbot: IntArray  # (J, R) whose reply a column is; -1 in an idle one
    slot: IntArray  # (n,)
    again: BoolArray  # (J, R) whether a column is a reply's that was judged twice or more

    @property
    def most(self) -> int:
        """R."""
        return int(self.chatbot.shape[1])

    @property
    def there(self) -> BoolArray:
        """(J, R) whether a column is a reply's."""
        there: BoolArray = self.chatbot >= 0
        return there

    def theta(self, effects: FloatArray) -> FloatArray:
        """(n,) what effects (J, R) put on the cells' theta."""
        low, high = self.own.T
        difference: FloatArray = np.where(low >= 0, effects[self.slot, high] - effects[self.slot, low], 0.0)
        return difference

    def gathered(self, of_cells: FloatArray) -> FloatArray:
        """(J, R) what numbers of the cells (n,) put on the effects together: the transpose of `theta`."""
        there = self.own[:, 0] >= 0
        place = (self.slot[there, None] * self.most + self.own[there]).ravel()
        signed = np.stack([-of_cells[there], of_cells[there]], axis=1).ravel()
        total = np.bincount(place, weights=signed, minlength=self.chatbot.size)
        return np.asarray(total, dtype=np.float64).reshape(self.chatbot.shape)

    def by_chatbot(self, of_columns: FloatArray, chatbots: int, of_others: float) -> FloatArray:
        """(J, M) from (J, R); `of_others` where a chatbot's reply was not met."""
        of_all = np.full((len(self.chatbot), chatbots), of_others)
        slot, column = np.nonzero(self.there)
        of_all[slot, self.chatbot[slot, column]] = of_columns[slot, column]
        return of_all


def most_replies(cells: Cells, comparisons: Comparisons, chatbots: int) -> int:
    """R of `replies_of`: the most replies that a slot of its own compares. It is had much sooner than they are."""
    own = cells.slot != cells.shared
    both = np.stack([comparisons.low, comparisons.high], axis=1)[cells.comparison[own]]
    code, _ = numbered((cells.slot[own, None] * chatbots + both).ravel(), cells.slots * chatbots)
    return int(np.bincount(code // chatbots).max(initial=0))


def replies_of(cells: Cells, comparisons: Comparisons, chatbots: int) -> ReplyColumns:
    """The replies that n cells of a board compare. A prompt of the shared slot has none of its own."""
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
