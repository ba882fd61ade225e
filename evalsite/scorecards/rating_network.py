"""A hierarchical LSTM of ratings, as in Venkatesh et al. (2018, section 5.2). It needs torch, an optional extra.

One LSTM reads the words of each utterance, another one the utterances of the conversation, with their speakers. The
paper finds it behind gradient boosting; it is here for comparison.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from evalsite.scorecards.conversations import ScoredConversation, Speaker
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import EngineError

_WORD = re.compile(r"[\w']+|[?!.]")
_PADDING, _UNKNOWN = 0, 1

Ids = list[int]
Turn = tuple[int, Ids]  # Speaker, words


@dataclass(frozen=True, slots=True)
class LstmOptions:
    """Sizes of the network and of its training. Long utterances are cut; long conversations lose their start."""

    words: int = 8_000  # In the vocabulary: the most frequent of the training text.
    least_count: int = 3
    embedding: int = 64
    hidden: int = 64
    dropout: float = 0.3
    epochs: int = 8
    batch: int = 32
    learning_rate: float = 1e-3
    longest_turn: int = 40
    longest_conversation: int = 60


def load_torch() -> ModuleType:
    """Return torch. Raises EngineError if it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise EngineError(
            "the network needs torch, which is not installed",
            code="no_torch",
            hint='Install the extra: pip install "touchstone-eval[neural]".',
        ) from error
    found: ModuleType = torch
    return found


class HierarchicalLstm:
    """Learns the ratings of conversations from the words of their transcripts."""

    name = "hierarchical_lstm"

    def __init__(self, conversations: Sequence[ScoredConversation], options: LstmOptions | None = None) -> None:
        self._torch = load_torch()
        self._options = options or LstmOptions()
        speakers = list(Speaker)
        self._turns = [
            [(speakers.index(turn.speaker), self._words(turn.text)) for turn in one.turns] for one in conversations
        ]

    def _words(self, text: str) -> list[str]:
        return _WORD.findall(text.lower())[: self._options.longest_turn] or ["."]

    def fit(self, rows: IntArray, observed: FloatArray, seed: int) -> FittedLstm:
        """Return a network that predicts the observed ratings of some conversations."""
        torch, options = self._torch, self._options
        vocabulary = self._vocabulary(rows)
        numbered = [self._numbered(turns, vocabulary) for turns in self._turns]
        centre, spread = float(observed.mean()), float(observed.std()) or 1.0
        wanted = (observed - centre) / spread
        rng = np.random.default_rng(seed)
        with torch.random.fork_rng():  # The generator of the process stays as it is.
            torch.manual_seed(seed)
            network = _network(torch, len(vocabulary) + 2, options)
            optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
            for _ in range(options.epochs):
                for batch in _batches(rng.permutation(len(rows)), options.batch):
                    optimizer.zero_grad()
                    found = network([numbered[rows[place]] for place in batch])
                    loss = torch.mean((found - torch.tensor(wanted[batch], dtype=torch.float32)) ** 2)
                    loss.backward()
                    optimizer.step()
        network.eval()
        return FittedLstm(torch, network, numbered, centre, spread, options.batch)

    def _vocabulary(self, rows: IntArray) -> dict[str, int]:
        """Return the numbers of the words of these conversations."""
        counts = Counter(word for row in rows for _, words in self._turns[row] for word in words)
        common = [word for word, count in counts.most_common(self._options.words) if count >= self._options.least_count]
        return {word: number for number, word in enumerate(common, start=_UNKNOWN + 1)}

    def _numbered(self, turns: Sequence[tuple[int, list[str]]], vocabulary: dict[str, int]) -> list[Turn]:
        last = turns[-self._options.longest_conversation :]
        return [(speaker, [vocabulary.get(word, _UNKNOWN) for word in words]) for speaker, words in last]


@dataclass(frozen=True, slots=True)
class FittedLstm:
    """A trained network with the conversations that it may be asked about."""

    torch: ModuleType
    network: Any
    conversations: Sequence[list[Turn]]
    centre: float
    spread: float
    batch: int

    def predict(self, rows: IntArray) -> FloatArray:
        """Return the predicted ratings of some conversations."""
        with self.torch.no_grad():
            parts = [
                self.network([self.conversations[row] for row in batch]).numpy() for batch in _batches(rows, self.batch)
            ]
        found = np.concatenate(parts) if parts else np.zeros(0)
        return np.asarray(self.centre + self.spread * found, np.float64)


def _batches(rows: IntArray, size: int) -> Iterator[IntArray]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _network(torch: ModuleType, words: int, options: LstmOptions) -> Any:
    """Return the module. Its class needs torch, and so it is made here."""
    nn, rnn = torch.nn, torch.nn.utils.rnn

    class Network(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(words, options.embedding, padding_idx=_PADDING)
            self.of_words = nn.LSTM(options.embedding, options.hidden, batch_first=True)
            self.of_turns = nn.LSTM(options.hidden + 1, options.hidden, batch_first=True)
            self.dropout = nn.Dropout(options.dropout)
            self.rating = nn.Linear(options.hidden, 1)

        def forward(self, conversations: Sequence[list[Turn]]) -> Any:
            turns = [turn for one in conversations for turn in one]
            words = rnn.pad_sequence([torch.tensor(ids) for _, ids in turns], batch_first=True)
            read = self._last(self.of_words, self.dropout(self.embedding(words)), [len(ids) for _, ids in turns])
            speakers = torch.tensor([[float(speaker)] for speaker, _ in turns])
            lengths = [len(one) for one in conversations]
            by_conversation = torch.split(torch.cat([read, speakers], dim=1), lengths)
            whole = self._last(self.of_turns, rnn.pad_sequence(by_conversation, batch_first=True), lengths)
            return self.rating(self.dropout(whole))[:, 0]

        def _last(self, layer: Any, inputs: Any, lengths: list[int]) -> Any:
            """Return the last state of each sequence."""
            packed = rnn.pack_padded_sequence(inputs, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
            return layer(packed)[1][0][0]

    return Network()
