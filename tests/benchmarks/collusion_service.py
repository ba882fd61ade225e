"""Coalitions in campaigns of the service: found and excluded by its own refits, on SQLite.

Each campaign has 30 annotators who claim blocks and answer by a simulated truth. A coalition of three judges honestly
except that it always prefers one weak chatbot. The rules exclude (`screening: act`).
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irt_engine.simulate import draw_votes
from irt_engine.truth import Truth, draw_truth

if TYPE_CHECKING:
    from evalsite.campaigns.models import Campaign
    from evalsite.judgments.models import Annotator, Assignment

CHATBOTS, PROMPTS, ANNOTATORS, COALITION = 6, 100, 30, 3
BLOCK, ROUNDS = 10, 3
BATCH = 450


@dataclass(frozen=True, slots=True)
class Found:
    """Members and honest annotators whom the refits have excluded."""

    members: int
    honest: int


def run(campaigns: int, first: int) -> int:
    """Run these campaigns on an empty site. Return 0 if each coalition was excluded and nobody else."""
    os.environ["TOUCHSTONE_DATA_DIR"] = tempfile.mkdtemp(prefix="touchstone-collusion-")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    seen = []
    for seed in range(first, first + campaigns):
        begin = time.perf_counter()
        seen.append(_campaign(seed))
        sys.stdout.write(f"{seed:4} {seen[-1]} {time.perf_counter() - begin:.0f} s\n")
        sys.stdout.flush()
    members = sum(one.members for one in seen)
    sys.stdout.write(f"members excluded: {members} of {COALITION * campaigns}; honest: {sum(o.honest for o in seen)}\n")
    return 0 if all(one.members == COALITION and not one.honest for one in seen) else 1


def _campaign(seed: int) -> Found:
    from evalsite.accounts.services import user_create
    from evalsite.campaigns.models import Campaign
    from evalsite.campaigns.services import Design
    from evalsite.judgments.services import annotator_enrol
    from tests.evalsite.cast import campaign_make, run_jobs

    owner = user_create(username=f"collusion-{seed}", password=None).personal_organisation
    design = Design(
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        vetting_votes=0,
        screening=Campaign.Screening.ACT,
        block_size=BLOCK,
        batch_size=BATCH,
        seed=seed,
        target_se=None,
    )
    campaign = campaign_make(
        slug=f"collusion-{seed}", design=design, chatbots=CHATBOTS, prompts=PROMPTS, organisation=owner
    )
    truth = draw_truth(CHATBOTS, PROMPTS, seed=1000 * seed, form="vote", reply_sd=0.4, cell_sd=0.2)
    people = [annotator_enrol(campaign=campaign) for _ in range(ANNOTATORS)]
    for turn in range(ROUNDS):
        for number, annotator in enumerate(people):
            _judge_block(
                campaign, annotator, truth, seed=(seed * ROUNDS + turn) * ANNOTATORS + number, shill=number < COALITION
            )
        run_jobs()
    return _found(campaign, people)


def _judge_block(campaign: "Campaign", annotator: "Annotator", truth: Truth, *, seed: int, shill: bool) -> None:
    from evalsite.judgments.services import judgment_record
    from tests.evalsite.cast import assignment_claim

    block = assignment_claim(campaign=campaign, annotator=annotator)
    if not block:
        return
    cells = _cells(campaign, block)
    outcomes = draw_votes(truth, cells, seed=seed).outcome
    weak = int(np.argsort(truth.ability)[1])
    for assignment, (a, b, _), drawn in zip(block, cells.tolist(), outcomes.tolist(), strict=True):
        outcome = drawn if not shill or weak not in {a, b} else -1 if a == weak else 1
        choice = {-1: "A", 0: "tie", 1: "B"}[outcome]
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choice})


def _cells(campaign: "Campaign", block: "list[Assignment]") -> np.ndarray:
    """Return (first chatbot, second chatbot, prompt) of each assignment, as places in the order of joining."""
    entrant = {key: place for place, key in enumerate(campaign.entrants.order_by("pk").values_list("pk", flat=True))}
    keys = campaign.prompt_set.prompts.order_by("pk").values_list("pk", flat=True)
    prompt = {key: place for place, key in enumerate(keys)}
    rows = []
    for assignment in block:
        shown = assignment.candidates.order_by("position").values_list("entrant_id", flat=True)
        rows.append([*(entrant[key] for key in shown), prompt[assignment.place.prompt_id]])
    return np.array(rows)


def _found(campaign: "Campaign", people: "list[Annotator]") -> Found:
    from evalsite.judgments.selectors import annotators_excluded

    out = annotators_excluded(campaign)
    members = {one.pk for one in people[:COALITION]}
    return Found(len(out & members), len(out - members))
