"""Rows of a site under a flood of forecasts: `python -m tests.attacks.flooded_site prepare|flood|board`.

`prepare`: two organisations with a campaign each. `flood`: one account asks for 100 forecasts of large campaigns, then
the other organisation's batch closes. `board`: print the seconds from that batch's closing to its board and how many
forecasts still wait, or nothing while there is no board.
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
    campaign_make(slug="victim", organisation=alice.personal_organisation)
    campaign_make(slug="flood", organisation=eve.personal_organisation, start=False)


def flood() -> None:
    """Ask for the forecasts, each about a subject of its own so that none replaces another; then close a batch."""
    from evalsite.accounts.models import User
    from evalsite.campaigns.limits import Limits
    from evalsite.campaigns.models import Campaign
    from evalsite.core.inquiries import inquiry_ask
    from evalsite.exchange.draft_forecasts import FORECAST, idea_of
    from evalsite.judgments.services import annotator_enrol
    from tests.evalsite.cast import judge

    victim, flooding = (Campaign.objects.get(slug=slug) for slug in ("victim", "flood"))
    idea = replace(idea_of(flooding, Limits(target_se=0.1)), chatbots=60, prompts=2_000)
    eve = User.objects.get(username="eve")
    for n in range(FORECASTS):
        args = {**asdict(idea), "budget": 20_000 + n}
        inquiry_ask(kind=FORECAST, args=args, by=eve.public_id, subject=uuid.uuid4())
    judge(victim, annotator_enrol(campaign=victim), blocks=2)


def board() -> None:
    """Print how long the victim's batch took."""
    from evalsite.boards.models import Snapshot
    from evalsite.core.models import Inquiry
    from evalsite.judgments.models import Batch

    batch = Batch.objects.filter(campaign__slug="victim", closed_at__isnull=False).order_by("closed_at").first()
    made = Snapshot.objects.filter(board__default_of__slug="victim", judgments__gt=0).order_by("created_at").first()
    if batch and batch.closed_at and made:
        waiting = Inquiry.objects.filter(answered_at=None).count()
        sys.stdout.write(f"{(made.created_at - batch.closed_at).total_seconds():.2f} {waiting}\n")


if __name__ == "__main__":
    django.setup()
    {"prepare": prepare, "flood": flood, "board": board}[sys.argv[1]]()
