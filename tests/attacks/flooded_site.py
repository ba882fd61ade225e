"""Rows of a site under a flood of forecasts: `python -m tests.attacks.flooded_site prepare|calm|flood|board SLUG`.

`prepare`: an organisation with the campaigns calm and victim, another one with the campaign flood. `calm`: a batch of
the first campaign closes. `flood`: an account asks for 100 forecasts of large campaigns, then the victim's batch
closes. `board`: print the seconds from a campaign's closed batch to its board and how many forecasts still wait, or
nothing while there is no board.
"""

import os
import sys
import uuid
from dataclasses import asdict, replace

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
FORECASTS = 100


def prepare() -> None:
    """Make both organisations and their campaigns."""
    from evalsite.accounts.services import user_create
    from tests.evalsite.cast import campaign_make

    eve, alice = (user_create(username=name, password=None) for name in ("eve", "alice"))
    for slug in ("calm", "victim"):
        campaign_make(slug=slug, organisation=alice.personal_organisation)
    campaign_make(slug="flood", organisation=eve.personal_organisation, start=False)


def flood() -> None:
    """Ask for the forecasts, each about a subject of its own so that none replaces another; then close a batch."""
    from evalsite.accounts.models import User
    from evalsite.campaigns.limits import Limits
    from evalsite.campaigns.models import Campaign
    from evalsite.core.inquiries import inquiry_ask
    from evalsite.exchange.draft_forecasts import FORECAST, draft_design

    flooding = Campaign.objects.get(slug="flood")
    idea = replace(draft_design(flooding, Limits(target_se=0.1)), chatbots=60, prompts=2_000)
    eve = User.objects.get(username="eve")
    for n in range(FORECASTS):
        args = {**asdict(idea), "budget": 20_000 + n}
        inquiry_ask(kind=FORECAST, args=args, by=eve.public_id, subject=uuid.uuid4())
    close_batch("victim")


def close_batch(slug: str) -> None:
    """Judge until a batch of the campaign closes."""
    from evalsite.campaigns.models import Campaign
    from evalsite.judgments.services import annotator_enrol
    from tests.evalsite.cast import judge

    campaign = Campaign.objects.get(slug=slug)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)


def board(slug: str) -> None:
    """Print how long the campaign's batch took."""
    from evalsite.boards.models import Snapshot
    from evalsite.core.models import Inquiry
    from evalsite.judgments.models import Batch

    batch = Batch.objects.filter(campaign__slug=slug, closed_at__isnull=False).order_by("closed_at").first()
    made = Snapshot.objects.filter(board__default_of__slug=slug, judgments__gt=0).order_by("created_at").first()
    if batch and batch.closed_at and made:
        waiting = Inquiry.objects.filter(answered_at=None).count()
        sys.stdout.write(f"{(made.created_at - batch.closed_at).total_seconds():.2f} {waiting}\n")


if __name__ == "__main__":
    django.setup()
    match sys.argv[1:]:
        case ["prepare"]:
            prepare()
        case ["calm"]:
            close_batch("calm")
        case ["flood"]:
            flood()
        case ["board", slug]:
            board(slug)
