"""Planning options of a campaign, as plain values that are checked on creation.

The scheduler checks them again (through `refits.designs`), but late, in the worker. The check here reports inconsistent
options to the person who sets them. tests/evalsite/refits/test_designs.py keeps both checks equal.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from evalsite.campaigns.models import PlanSpec
from evalsite.core.errors import InvalidInput

ROUNDING = 1e-6
# Limits for forms and files alike. The limit of the overlap is that of `scheduler.overlap`.
MOST_VOTES_PER_ITEM, MOST_OVERLAP_VOTES = 1_000_000, 1_000
MOST_TIERS = 4
MOST_IN_A_BLOCK, MOST_IN_A_BATCH, LONGEST_LEASE_S = 100, 100_000, 86_400
# The policies of `scheduler.POLICIES` and `scheduler.BASELINES`, which the web process does not import.
POLICIES = ("adaptive", "balanced", "least_certain", "random")
BASELINES = ("arena", "asap", "entropy", "paper", "rmed", "swiss", "thompson")


def policy_check(policy: str, *, stored: str = "") -> None:
    """Raise InvalidInput for an unknown policy, and for a published baseline unless it is the campaign's `stored`
    policy."""
    if policy in POLICIES or policy == stored:
        return
    message = _("There is no policy %(policy)s.")
    if policy in BASELINES:
        message = _("Policy %(policy)s is a baseline for comparisons. A campaign cannot choose it.")
    raise InvalidInput(
        message % {"policy": repr(policy)},
        hint=_("Use one of: %(policies)s.") % {"policies": ", ".join(POLICIES)},
        field="policy",
    )


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of `campaigns.models.PlanSpec`, in its units. Raises InvalidInput with the invalid field.

    - `target`: the goal of the votes. AIM follows the campaign's stopping target (`limits.Limits`); without one it
      is the ranking.
    - `balance`: None balances by value, an empty mapping follows the prompt set, otherwise each category's share of the
      votes.
    """

    target: str = PlanSpec.Target.AIM
    top: int | None = None
    newcomer: int | None = None
    overlap_share: float = 0.0
    overlap_votes: int = 2
    votes_per_pair: int | None = None
    pair_share: float = 0.1
    floor: float = 0.3
    exposure: float = 4.0
    balance: Mapping[str, float] | None = field(default=None, hash=False)
    retire_after: int | None = None
    retire_below: float = 0.25
    tiers: int = 2
    style_control: bool = False
    merge_redundant: bool = False

    def __post_init__(self) -> None:
        self._check_target()
        _check_share("overlap_share", self.overlap_share, above=0.0, up_to=1.0, open_below=False)
        _check_share("pair_share", self.pair_share, above=0.0, up_to=1.0)
        _check_share("floor", self.floor, above=0.0, up_to=1.0, open_below=False)
        _check_share("retire_below", self.retire_below, above=0.0, up_to=1.0, open_above=True)
        _check_count("overlap_votes", self.overlap_votes, 2, MOST_OVERLAP_VOTES)
        _check_count("votes_per_pair", self.votes_per_pair, 1)
        _check_count("retire_after", self.retire_after, 1)
        _check_count("tiers", self.tiers, 1, MOST_TIERS)
        if not (math.isfinite(self.exposure) and self.exposure >= 1.0):
            raise _contradiction(
                _("An exposure of %(exposure)s even shares leaves prompts for too few judgments.")
                % {"exposure": f"{self.exposure:g}"},
                _("Use 1, where all prompts are asked about equally often, or more."),
                "exposure",
            )
        if self.balance:
            _check_balance(self.balance)

    @property
    def most_votes(self) -> int:
        """Return the votes for an item of the overlap; 1 without overlap."""
        return self.overlap_votes if self.overlap_share > 0.0 else 1

    def check_votes(self, votes_per_item: int) -> None:
        """Raise InvalidInput unless an item's votes fit into those of its pair, and overlap exceeds the usual votes."""
        _check_count("votes_per_item", votes_per_item, 1, MOST_VOTES_PER_ITEM)
        most = max(votes_per_item, self.most_votes)
        if self.votes_per_pair is not None and self.votes_per_pair < most:
            raise _contradiction(
                _("A pair may get %(pair)s votes, and one of its items %(item)s.")
                % {"pair": self.votes_per_pair, "item": most},
                _("Raise the votes of a pair, or lower those of an item or of the overlap."),
                "votes_per_pair",
            )
        if self.overlap_share > 0.0 and self.overlap_votes <= votes_per_item:
            raise _contradiction(
                _("Every comparison gets %(votes)s judgments anyway: an overlap of %(overlap)s adds none.")
                % {"votes": votes_per_item, "overlap": self.overlap_votes},
                _("Raise the annotators of the overlap, or set its share to 0."),
                "overlap_votes",
            )

    def check_categories(self, prompts_in: Mapping[str, int]) -> None:
        """Raise InvalidInput unless every category with a share has enough prompts (`prompts_in`: their number by
        name)."""
        total = sum(prompts_in.values())
        for name, share in (self.balance or {}).items():
            count = prompts_in.get(name, 0)
            if share > 0.0 and count == 0:
                raise InvalidInput(
                    _("No prompt is in category %(name)s.") % {"name": repr(name)},
                    hint=_("The prompts' categories are: %(categories)s.")
                    % {"categories": ", ".join(sorted(prompts_in)) or _("none")},
                    field="balance",
                    code="unknown_category",
                )
            if share > self.exposure * count / max(total, 1) + ROUNDING:
                raise _contradiction(
                    _(
                        "Category %(name)s is to have %(share)s%% of the judgments, and exposure allows its prompts "
                        "%(most)s%%."
                    )
                    % {
                        "name": repr(name),
                        "share": f"{100 * share:.0f}",
                        "most": f"{100 * self.exposure * count / total:.0f}",
                    },
                    _("Lower its share, add prompts to it, or raise the exposure."),
                    "balance",
                )

    def _check_target(self) -> None:
        if self.target not in PlanSpec.Target.values:
            raise InvalidInput(
                _("%(target)s is nothing to learn.") % {"target": repr(self.target)},
                hint=_("Use one of: %(values)s.") % {"values": ", ".join(PlanSpec.Target.values)},
                field="target",
            )
        _check_count("top", self.top, 1)
        for name, wanted, value in (
            ("top", PlanSpec.Target.TOP, self.top),
            ("newcomer", PlanSpec.Target.NEWCOMER, self.newcomer),
        ):
            if (self.target == wanted) != (value is not None):
                raise InvalidInput(
                    _("The target %(label)s and %(name)s belong together.")
                    % {"label": repr(str(wanted.label)), "name": repr(name)},
                    hint=_("Give %(name)s with this target, and with no other.") % {"name": name},
                    field=name,
                )


def _check_share(
    name: str, value: float, *, above: float, up_to: float, open_below: bool = True, open_above: bool = False
) -> None:
    low = value > above if open_below else value >= above
    high = value < up_to if open_above else value <= up_to
    if not (low and high):  # false for NaN
        raise InvalidInput(
            _("%(name)s %(value)s is no such share.") % {"name": name, "value": f"{value:g}"},
            hint=_("Give a share between 0 and 1."),
            field=name,
        )


def _check_count(name: str, value: int | None, least: int, most: int | None = None) -> None:
    if value is not None and value < least:
        raise InvalidInput(
            _("%(name)s %(value)s is too few.") % {"name": name, "value": value},
            hint=_("Give at least %(least)s.") % {"least": least},
            field=name,
        )
    if value is not None and most is not None and value > most:
        raise InvalidInput(
            _("%(name)s %(value)s is too many.") % {"name": name, "value": value},
            hint=_("Give at most %(most)s.") % {"most": most},
            field=name,
        )


def _check_balance(shares: Mapping[str, float]) -> None:
    total = math.fsum(shares.values())
    if not all(share >= 0.0 for share in shares.values()) or not abs(total - 1.0) <= ROUNDING:
        raise InvalidInput(
            _("The shares of the categories sum to %(total)s.") % {"total": f"{total:g}"},
            hint=_("Give each category a share from 0 to 1; together they are 1."),
            field="balance",
        )


def _contradiction(message: str, hint: str, name: str) -> InvalidInput:
    return InvalidInput(message, hint=hint, field=name, code="contradictory_caps")
