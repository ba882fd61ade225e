"""The forecast that the console shows before the launch, against what the service's own loop then took.

    python -m tests.benchmarks.forecast_shown [--campaigns 20] [--only NAME] [--runs var/bench/forecast_shown.jsonl]

Each campaign is set up as the console's form does, in a database of its own: chatbots with replies, prompts, a target.
Its forecast is asked for as the form asks, and answered by the same job. Then it is launched, and annotators claim
blocks and answer them, by a truth drawn from the priors that the forecast is made of, until the service stops it: with
its own queue, batches, refits, decisions and plans. A campaign holds if what it took lies in the 80 % range that was
shown. Of 20 campaigns 13 to 19 are to hold: of an honest range that is so in 96 of 100 runs. Each setting has truths of
its own: twenty that all of them shared had no board of widely spread chatbots, and one piece of luck counted thrice.
A line is kept for each campaign; delete the file when the estimator, a policy or the forecast has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.report import Check, conclude, say, table

HOLD_AT_LEAST, HOLD_AT_MOST = 13, 19  # of 20
ANNOTATORS = 4  # each holds a block of his own: a plan has others' work in flight
MOST_VOTES = 4  # of one item, with an overlap


@dataclass(frozen=True, slots=True)
class Setting:
    """What a person sets up. changes: of the draft, as the form's steps save them; plan: options of its plan."""

    name: str
    chatbots: int
    prompts: int
    changes: Mapping[str, Any]
    plan: Mapping[str, Any]


SETTINGS = (
    Setting("SE 0.25 of 5 x 250", 5, 250, {"target_se": 0.25, "batch_size": 40}, {}),
    Setting("difference 1 of 5 x 250", 5, 250, {"target_se": None, "min_difference": 1.0, "batch_size": 40}, {}),
    Setting(
        "SE 0.25 of 5 x 250, a tenth judged twice",
        5,
        250,
        {"target_se": 0.25, "batch_size": 40},
        {"overlap_share": 0.1, "overlap_votes": 2},
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A campaign: what was shown (judgments), what it took, and why it stopped. seconds: of processor time."""

    setting: str
    seed: int
    low: float
    middle: float
    high: float
    took: int
    reason: str
    seconds: float

    @property
    def held(self) -> bool:
        return self.low <= self.took <= self.high


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, print, judge."""
    parser = argparse.ArgumentParser(prog="forecast_shown", description="The console's forecasts against campaigns.")
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--only", choices=[setting.name for setting in SETTINGS])
    parser.add_argument("--runs", type=Path, default=Path("var/bench/forecast_shown.jsonl"))
    options = parser.parse_args(arguments)
    _service()
    rows, checks = [], []
    for setting in SETTINGS:
        if options.only in (None, setting.name):
            found = list(outcomes(setting, options.campaigns, options.runs))
            rows.append(_row(setting, found))
            checks.append(check(setting, found))
    say(table(("setting", "shown 10 50 90 %", "took: least, median, most", "held"), rows))
    return conclude("The forecast shown against what campaigns took", checks)


def _row(setting: Setting, found: Sequence[Outcome]) -> list[str]:
    took = sorted(one.took for one in found)
    first = found[0]
    return [
        setting.name,
        f"{first.low:,.0f} {first.middle:,.0f} {first.high:,.0f}",
        f"{took[0]:,} {took[len(took) // 2]:,} {took[-1]:,}",
        f"{sum(one.held for one in found)} of {len(found)}",
    ]


def check(setting: Setting, found: Sequence[Outcome]) -> Check:
    held, of = sum(one.held for one in found), len(found)
    least, most = HOLD_AT_LEAST * of / 20, HOLD_AT_MOST * of / 20
    return Check(
        f"{setting.name}: campaigns that the range shown holds",
        f"{held} of {of}",
        f"{least:g} to {most:g}",
        least <= held <= most,
    )


def outcomes(setting: Setting, count: int, runs: Path) -> Iterator[Outcome]:
    """Of the setting's first `count` campaigns; those without a line are run."""
    runs.parent.mkdir(parents=True, exist_ok=True)
    lines = [Outcome(**json.loads(line)) for line in runs.read_text().splitlines()] if runs.exists() else []
    done = {(one.setting, one.seed): one for one in lines}
    for seed in range(count):
        found = done.get((setting.name, seed))
        if found is None:
            found = campaign_run(setting, seed)
            with runs.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
            shown = f"{found.low:,.0f} to {found.high:,.0f}"
            say(f"{setting.name}, {seed}: took {found.took:,}, shown {shown}; {found.seconds:.0f} s")
        yield found


def _service() -> None:
    """Django, with an empty database in a folder of its own."""
    os.environ.setdefault("TOUCHSTONE_DATA_DIR", tempfile.mkdtemp(prefix="touchstone-forecast-"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


# One campaign ------------------------------------------------------------------------------------------------


def campaign_run(setting: Setting, seed: int) -> Outcome:
    """Set it up, note the forecast, launch it, and let it be judged until the service stops it."""
    from evalsite.campaigns.models import Campaign
    from evalsite.campaigns.services import campaign_start
    from evalsite.judgments.selectors import judgments_spent
    from evalsite.judgments.services import annotator_enrol

    began = time.process_time()
    campaign, owner = _set_up(setting, seed)
    low, middle, high = _forecast(campaign, owner)
    campaign_start(campaign=campaign, by=owner)
    _work()
    people = [annotator_enrol(campaign=campaign) for _ in range(ANNOTATORS)]
    of_truth, of_votes = np.random.default_rng([*setting.name.encode(), seed]).integers(2**31, size=2)
    truth = _Votes(campaign, int(of_truth), int(of_votes))
    while campaign.collecting and _round(campaign, people, truth):
        _work()
        campaign = Campaign.objects.get(pk=campaign.pk)
    took, seconds = judgments_spent(campaign), time.process_time() - began
    return Outcome(setting.name, seed, low, middle, high, took, campaign.stop_reason, round(seconds, 1))


def _set_up(setting: Setting, seed: int) -> tuple[Any, Any]:
    """A draft of the console, and whose it is."""
    from evalsite.accounts.services import user_create
    from evalsite.campaigns.drafts import draft_change, draft_create
    from evalsite.campaigns.models import Campaign
    from evalsite.campaigns.plans import PlanOptions
    from evalsite.campaigns.services import NewAspect, entrant_add, plan_set
    from evalsite.chatbots.models import Reply
    from evalsite.chatbots.services import chatbot_create, replies_add, version_create
    from evalsite.prompts.models import Prompt
    from evalsite.prompts.services import NewPrompt, prompts_add

    owner = user_create(username=f"owner-{os.urandom(6).hex()}", password=None)
    home = owner.personal_organisation
    aspect = NewAspect("overall", "Which reply is better?")
    campaign = draft_create(organisation=home, name=f"{setting.name} {seed}", aspect=aspect, by=owner)
    texts = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}]) for n in range(setting.prompts)]
    prompts_add(prompt_set=campaign.prompt_set, prompts=texts, origin=Prompt.Origin.AUTHORED)
    prompts = list(campaign.prompt_set.prompts.all())
    for number in range(setting.chatbots):
        version = version_create(chatbot=chatbot_create(organisation=home, name=f"Chatbot {number}"))
        replies = {prompt: f"What {number} says to {prompt.key}." for prompt in prompts}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    if setting.plan:
        plan_set(campaign=campaign, options=PlanOptions(**setting.plan))
    Campaign.objects.filter(pk=campaign.pk).update(seed=seed)
    draft_change(
        campaign=campaign,
        changes={"admission": "open", "vetting_votes": 0, "visibility": "public", **setting.changes},
        by=owner,
    )
    return Campaign.objects.get(pk=campaign.pk), owner


def _forecast(campaign: Any, owner: Any) -> tuple[float, float, float]:
    """Judgments, as the form shows them: low, middle, high."""
    from evalsite.campaigns.limits import limits_of
    from evalsite.exchange.draft_forecasts import draft_design, forecast_ask

    inquiry = forecast_ask(campaign, draft_design(campaign, limits_of(campaign.stopping)), by=owner)
    _work()
    inquiry.refresh_from_db()
    if not inquiry.result:
        raise SystemExit(f"no forecast: {inquiry.trouble}")
    found = inquiry.result["forecasts"][0]["forecast"]["judgments"]
    return found["low"], found["middle"], found["high"]


def _work() -> None:
    """Do what the worker would do."""
    from evalsite.core import jobs

    while jobs.work_once("forecast-shown"):
        pass


def _round(campaign: Any, people: Sequence[Any], truth: _Votes) -> int:
    """Everybody claims a block, and then all answer; how many answers were given."""
    from evalsite.judgments.services import judgment_record
    from tests.evalsite.cast import assignment_claim

    blocks = [(who, assignment_claim(campaign=campaign, annotator=who)) for who in people]
    given = 0
    for who, block in blocks:
        for one in block:
            choice = truth.choice(one)
            judgment_record(annotator=who, assignment_id=one.public_id, choices={"overall": choice})
            given += 1
    return given


class _Votes:
    """How annotators answer: votes of every item, drawn from a truth of this campaign's own."""

    def __init__(self, campaign: Any, of_truth: int, of_votes: int) -> None:
        from irt_engine.simulate import all_cells, draw_votes
        from irt_engine.truth import draw_truth
        from scheduler.estimator import CAMPAIGN_PRIORS as PRIORS

        self.entrants = {pk: number for number, pk in enumerate(_keys(campaign.entrants))}
        self.prompts = {pk: number for number, pk in enumerate(_keys(campaign.prompt_set.prompts))}
        sizes = len(self.entrants), len(self.prompts)
        truth = draw_truth(
            *sizes,
            seed=of_truth,
            form="vote",
            priors=PRIORS,
            pair_sd=PRIORS.pair_sd,
            cell_sd=PRIORS.cell_sd,
            reply_sd=PRIORS.reply_sd,
        )
        drawn = draw_votes(truth, all_cells(*sizes), seed=of_votes, votes=MOST_VOTES)
        self.left: dict[tuple[int, int, int], list[int]] = {}
        for a, b, prompt, outcome in zip(drawn.a, drawn.b, drawn.prompt, drawn.outcome, strict=True):
            self.left.setdefault((int(a), int(b), int(prompt)), []).append(int(outcome))

    def choice(self, assignment: Any) -> str:
        """The next vote on its item: "A", "B" or "tie"."""
        first, second = (self.entrants[one.entrant_id] for one in assignment.candidates.order_by("position"))
        outcome = self.left[min(first, second), max(first, second), self.prompts[assignment.place.prompt_id]].pop()
        return {-1: "A", 0: "tie", 1: "B"}[outcome if first < second else -outcome]


def _keys(rows: Any) -> list[int]:
    return list(rows.order_by("pk").values_list("pk", flat=True))


if __name__ == "__main__":
    sys.exit(main())
