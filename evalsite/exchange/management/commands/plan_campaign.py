"""`manage.py plan_campaign --chatbots 8 --prompts 100 --target-se .15`: the effort of a campaign before it begins."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.campaigns.limits import LEAST_AIM, MOST_AIM, is_aim
from evalsite.exchange.campaign_planning import MOST_PROMPTS, CampaignPlan, PlannedCampaign, plan_campaign
from evalsite.exchange.management.commands.replay import natural, positive
from evalsite.exchange.presenters import plan_as_json
from evalsite.exchange.progress import Bar
from evalsite.exchange.text_tables import plan_as_table
from irt_engine.errors import DidNotConverge, EngineError
from scheduler import Overlap, SchedulerError
from scheduler.forecasting.forecast import FORECASTABLE_POLICIES, ForecastTerms
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it.
_MOST_CHATBOTS = 200
_MOST_SIMULATED = 200_000  # Items of a simulated campaign. All votes are drawn beforehand.
_EPILOG = """\
Forecasts are made from expected information in about a second (200 chatbots: seven); --simulate also runs whole
campaigns, which takes seconds to minutes each. Four of five campaigns end within the ranges.
"""


class Command(BaseCommand):
    help = "Forecast the judgments, the money and the days that a campaign will take. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--chatbots", type=natural, required=True, metavar="M")
        parser.add_argument("--prompts", type=natural, required=True, metavar="J")
        goal = parser.add_mutually_exclusive_group(required=True)
        goal.add_argument("--target-se", type=aim, metavar="SE", help="the standard error to reach, in logits")
        goal.add_argument(
            "--separated",
            type=number,
            metavar="SHARE",
            help="alternative goal: this share of all pairs separated (95 %%)",
        )
        parser.add_argument(
            "--neighbours", action="store_true", help="the SE of differences between neighbours, not of all abilities"
        )
        parser.add_argument(
            "--votes-per-item", type=positive, default=1, metavar="N", help="votes of an item at most (default: 1)"
        )
        parser.add_argument(
            "--overlap",
            type=number,
            default=0.0,
            metavar="SHARE",
            help="share of items with several votes (default: 0)",
        )
        parser.add_argument(
            "--overlap-votes", type=positive, default=2, metavar="N", help="votes of those items (default: 2)"
        )
        parser.add_argument("--budget", type=natural, metavar="N", help="judgments at most (default: all items)")
        parser.add_argument(
            "--batch", type=positive, default=100, metavar="N", help="judgments between refits (default: 100)"
        )
        parser.add_argument("--price", type=number, metavar="MONEY", help="price of a judgment")
        parser.add_argument("--per-day", type=number, metavar="N", help="judgments per day")
        parser.add_argument(
            "--policy", choices=sorted(FORECASTABLE_POLICIES), default="adaptive", help="(default: adaptive)"
        )
        parser.add_argument("--simulate", type=natural, default=0, metavar="N", help="also simulate N whole campaigns")
        parser.add_argument("--seed", type=natural, default=0, metavar="S", help="(default: 0)")
        parser.add_argument("--json", action="store_true", help="print the complete result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            plan = self._plan(options)
        except DidNotConverge as error:  # The design is not the cause.
            raise CommandError(str(error), returncode=1) from error
        except (SchedulerError, EngineError) as error:
            raise CommandError(str(error), returncode=_BAD_INPUT) from error
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            raise SystemExit(_INTERRUPTED) from None
        self.stdout.write(plan_as_json(plan) if options["json"] else plan_as_table(plan))

    def _plan(self, options: dict[str, Any]) -> CampaignPlan:
        overlap = Overlap(options["overlap"], options["overlap_votes"], options["seed"])
        campaign = PlannedCampaign(options["chatbots"], options["prompts"], options["votes_per_item"], overlap=overlap)
        _check_overlap(campaign)
        _check_size(campaign, simulated=options["simulate"])
        terms = ForecastTerms(
            _goal(options),
            budget=options["budget"],
            policy=options["policy"],
            batch=options["batch"],
            price=options["price"],
            per_day=options["per_day"],
        )
        with Bar(self.stderr, "Simulating") as bar:
            return plan_campaign(campaign, terms, simulated=options["simulate"], seed=options["seed"], progress=bar)


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise ArgumentTypeError(f"{text!r} is not finite")
    return value


def aim(text: str) -> float:
    """Parse a standard error in the range that campaigns allow."""
    value = number(text)
    if not is_aim(value):
        raise ArgumentTypeError(f"{text} is not a valid target: give a number from {LEAST_AIM:g} to {MOST_AIM:g}")
    return value


def _goal(options: dict[str, Any]) -> ForecastGoal:
    if options["separated"] is None:
        return Neighbours(options["target_se"]) if options["neighbours"] else AllAbilities(options["target_se"])
    if options["neighbours"]:
        raise CommandError("Use --neighbours with --target-se, not with --separated.", returncode=_BAD_INPUT)
    return Separated(options["separated"])


def _check_overlap(campaign: PlannedCampaign) -> None:
    """Check the overlap as a campaign's set-up does (campaigns.plans)."""
    votes, overlap = campaign.votes_per_item, campaign.overlap
    if overlap.share > 0.0 and overlap.votes <= votes:
        raise CommandError(
            f"Every item gets {votes} votes already: an overlap of {overlap.votes} adds none. "
            f"Set --overlap-votes {votes + 1} or more, or leave --overlap out.",
            returncode=_BAD_INPUT,
        )


def _check_size(campaign: PlannedCampaign, *, simulated: int) -> None:
    items = math.comb(campaign.chatbots, 2) * campaign.prompts * campaign.votes_per_item
    if campaign.chatbots > _MOST_CHATBOTS or campaign.prompts > MOST_PROMPTS:
        raise CommandError(
            f"Forecasts support up to {_MOST_CHATBOTS:,} chatbots and {MOST_PROMPTS:,} prompts.",
            returncode=_BAD_INPUT,
        )
    if simulated and items > _MOST_SIMULATED:
        raise CommandError(
            f"Campaigns of up to {_MOST_SIMULATED:,} items are simulated, and this one has {items:,}. "
            "Leave --simulate out, or use fewer prompts.",
            returncode=_BAD_INPUT,
        )
