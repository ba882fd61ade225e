"""`manage.py forecast_campaign CAMPAIGN`: the remaining effort of a campaign under its own plan."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign
from evalsite.refits.designs import RESOLVED, aim_of, goal_of
from evalsite.refits.forecasts import campaign_forecast
from scheduler import Forecast, Range, SchedulerError

_BAD_INPUT = 2


class Command(BaseCommand):
    help = "Forecast the judgments, the cost and the days that a campaign, draft or running, will still take."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("campaign", help="its address (slug)")
        parser.add_argument(
            "--per-day", type=float, metavar="JUDGMENTS", help="judgments per day, to forecast the days"
        )
        parser.add_argument("--json", action="store_true", help="print the complete result as JSON")

    def handle(self, *args: Any, campaign: str, per_day: float | None, **options: Any) -> None:
        found = Campaign.objects.filter(slug=campaign).select_related("stopping").first()
        if found is None:
            raise CommandError(f"There is no campaign {campaign!r}.", returncode=_BAD_INPUT)
        try:
            forecast = campaign_forecast(found, per_day=per_day)
        except SchedulerError as error:
            raise CommandError(str(error), returncode=_BAD_INPUT) from error
        self.stdout.write(json.dumps(asdict(forecast)) if options["json"] else _forecast_text(forecast, found))


def _forecast_text(forecast: Forecast, campaign: Campaign) -> str:
    limits = limits_of(campaign.stopping)
    aim, measured = aim_of(limits), goal_of(limits).unit
    lines = [f"Judgments  {_ranged(forecast.judgments, ',.0f')} of {forecast.most:,} that remain possible"]
    if forecast.cost is not None:
        lines.append(f"Cost       {_ranged(forecast.cost, ',.2f')} {campaign.currency}")
    if forecast.days is not None:
        lines.append(f"Days       {_ranged(forecast.days, ',.1f')}")
    if aim is None:  # The campaign continues beyond the forecast, up to its budget, its deadline or its last prompt.
        lines.append(f"The campaign has no aim. The forecast ends when {RESOLVED:.0%} of the pairs are separated,")
        lines.append(f"which is reached in {forecast.reached:.0%} of such campaigns.")
    else:
        lines.append(f"The goal, {measured} of at most {aim.value:.3g},")
        lines.append(f"is reached in {forecast.reached:.0%} of such campaigns.")
    if forecast.reachable is not None:
        lines.append(f"In the others, {measured} ends at {_ranged(forecast.reachable, '.3g')}.")
    return "\n".join(lines)


def _ranged(values: Range, form: str) -> str:
    """Format a range: four of five campaigns are within the brackets."""
    return f"{format(values.middle, form)} ({format(values.low, form)} to {format(values.high, form)})"
