"""The true quality of the demonstration's bots, and the model of the simulated verdicts.

Notation. Bots m, prompts j; a candidate A and a candidate B. Logits throughout.

    s_m   latent quality of bot m (QUALITY; the mean of the eight is 0)
    d_mj  deviation of its reply to prompt j         d_mj ~ Normal(0, REPLY_SD)
    q_mj  = s_m + d_mj                               quality of that one reply
    a_j   discrimination of prompt j                 log a_j ~ Normal(0, DISCRIMINATION_SD)
    t_j   half the width of the tie                  log t_j ~ Normal(log TIE_WIDTH, TIE_SD)
    eta   = a_j (q_Bj - q_Aj) / T - h                T: the annotator's temperature (1: careful)
                                                     h: value of the first position (A first: +h, else -h)

    P(B)   = sigma(eta - t_j)
    P(A)   = sigma(-eta - t_j)
    P(tie) = 1 - P(A) - P(B), which is positive because t_j > 0

These are the three categories of Samejima's graded response model (Psychometrika Monograph 17, 1969) with
thresholds -t_j and +t_j. A share of the ties is called "both_bad", because the better reply is poor, too. The share is

    sigma(-BOTH_BAD_SLOPE (max(q_Aj, q_Bj) - BOTH_BAD_AT))

d, a and t are not random. They are functions of the bot's key and the prompt's ID (the normal quantile of a hash). So
the truth is the same on every machine and in every run.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType

from evalsite.demo.bots import BOTS, Bot
from evalsite.demo.bots.text import number

QUALITY: Mapping[str, float] = MappingProxyType(
    {
        "concierge": 2.10,
        "almanac": 1.40,
        "bookmark": 1.00,
        "mirror": 0.30,
        "diplomat": -0.10,
        "shrug": -0.85,
        "parrot": -1.30,
        "babbler": -2.55,
    }
)
"""Logits. Three pairs of neighbours differ by 0.4 to 0.45 (hard to separate), the others by 0.7 to 1.25 (easy).

Measured with this panel: after 1,400 judgments of random items, all of 12 seeds ranked with tau >= 0.92."""

REPLY_SD = 0.35
DISCRIMINATION_SD = 0.35
TIE_WIDTH = 0.45
TIE_SD = 0.30
BOTH_BAD_AT = -0.50
BOTH_BAD_SLOPE = 3.0

_PROMPTS = Path(__file__).with_name("prompts.jsonl")


@dataclass(frozen=True, slots=True)
class DemoPrompt:
    """A prompt of the demonstration. The last turn is the user's."""

    prompt_id: str
    category: str
    turns: tuple[Mapping[str, str], ...]


def load_prompts(path: Path = _PROMPTS) -> tuple[DemoPrompt, ...]:
    """Load the prompts of the file in order, one JSON object per line."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return tuple(DemoPrompt(row["prompt_id"], row["category"], tuple(row["turns"])) for row in rows)


@dataclass(frozen=True, slots=True)
class VerdictOdds:
    """The probabilities of one annotator's four verdicts on one assignment; they sum to 1."""

    a: float
    tie: float
    b: float
    both_bad: float

    def mirrored(self) -> "VerdictOdds":
        """Exchange A and B, as an adversary does."""
        return VerdictOdds(a=self.b, tie=self.tie, b=self.a, both_bad=self.both_bad)

    def by_choice(self) -> dict[str, float]:
        return {"A": self.a, "tie": self.tie, "B": self.b, "both_bad": self.both_bad}


@dataclass(frozen=True, slots=True)
class SimulatedTruth:
    """The quality model, with the author of each reply.

    quality: bot key -> logit.
    replies: (prompt ID, text) -> key of the bot that gives this reply.
    """

    quality: Mapping[str, float]
    replies: Mapping[tuple[str, str], str] = field(repr=False)

    @classmethod
    def of(cls, prompts: Sequence[DemoPrompt], bots: Sequence[Bot] = BOTS) -> "SimulatedTruth":
        """Run every bot once on each prompt and return the truth.

        If several bots give the same reply, the first one is its author.
        """
        replies: dict[tuple[str, str], str] = {}
        for prompt in prompts:
            for bot in bots:
                replies.setdefault((prompt.prompt_id, bot.reply(prompt.turns)), bot.key)
        return cls(MappingProxyType({bot.key: QUALITY[bot.key] for bot in bots}), MappingProxyType(replies))

    def identify(self, prompt_key: str, text: str) -> str | None:
        """Return the key of the bot that gives this reply to this prompt; None for unknown texts."""
        return self.replies.get((prompt_key, text))

    def quality_at(self, bot: str, prompt: str) -> float:
        """Return q_mj in logits."""
        return self.quality[bot] + REPLY_SD * _normal("reply", bot, prompt)

    def odds(self, a: str, b: str, prompt: str, *, temperature: float = 1.0, side: float = 0.0) -> VerdictOdds:
        """Return the odds of the verdicts on bots a and b at this prompt.

        side: advantage of A, in logits.
        """
        left, right = self.quality_at(a, prompt), self.quality_at(b, prompt)
        eta = discrimination(prompt) * (right - left) / temperature - side
        p_a, p_tie, p_b = graded(eta, tie_width(prompt))
        bad = sigma(-BOTH_BAD_SLOPE * (max(left, right) - BOTH_BAD_AT))
        return VerdictOdds(a=p_a, tie=p_tie * (1.0 - bad), b=p_b, both_bad=p_tie * bad)


def discrimination(prompt: str) -> float:
    """Return a_j, how sharply this prompt separates replies; the median is 1."""
    return math.exp(DISCRIMINATION_SD * _normal("discrimination", prompt))


def tie_width(prompt: str) -> float:
    """Return t_j > 0 in logits; the median is TIE_WIDTH."""
    return TIE_WIDTH * math.exp(TIE_SD * _normal("tie", prompt))


def graded(eta: float, width: float) -> tuple[float, float, float]:
    """Return P(A), P(tie), P(B).

    P(tie) is computed as a product, which avoids cancellation for small values.
    sigma(eta + t) - sigma(eta - t) = (e^2t - 1) sigma(eta - t) sigma(-eta - t).
    """
    p_a, p_b = sigma(-eta - width), sigma(eta - width)
    return p_a, math.expm1(2.0 * width) * p_a * p_b, p_b


def sigma(x: float) -> float:
    """Return the logistic function, without overflow on either side."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def _normal(*salt: str) -> float:
    """Return a standard normal value that depends only on the salt (the quantile function of its hash)."""
    return NormalDist().inv_cdf((number(*salt) + 0.5) / 2.0**64)
