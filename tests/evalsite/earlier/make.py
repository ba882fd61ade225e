"""Make a backup of a small lived-in database: run it at the commit whose state later migrations are to meet.

    TOUCHSTONE_DATA_DIR=$(mktemp -d) python -m tests.evalsite.earlier.make tests/evalsite/earlier/<commit>.backup

Everything in it is made up here. What it holds is what people do: two plans' worth of judgments with batches and
snapshots, an answer taken back, a late one, a skip, work still held; an imported campaign; a stopped one; tokens; and
(study.py) a paid study of crowd workers. The backup's rows serve SQLite and PostgreSQL alike.
"""

import os
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import django

WORKER = "worker"
VOTES = "vote_id,model_a,model_b,prompt_id,winner,annotator\n"


def main(path: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    django.setup()
    from django.core.management import call_command

    from evalsite.core.backup import backup_write

    call_command("migrate", verbosity=0, interactive=False)
    _collected()
    _stopped()
    _imported()
    _conversed()
    _studied()
    sys.stdout.write(f"{dict(backup_write(path).rows)}\n")


def _campaign(  # type: ignore[no-untyped-def]
    slug: str, chatbots: int, prompts: int, *, opened: bool = True, categories: tuple[str, ...] = ("general",), **more
):
    from evalsite.accounts.models import User
    from evalsite.accounts.services import user_create
    from evalsite.campaigns.models import Campaign
    from evalsite.campaigns.services import Design, campaign_create, entrant_add
    from evalsite.chatbots.models import Reply
    from evalsite.chatbots.services import chatbot_create, replies_add, version_create
    from evalsite.operations.services import campaign_open
    from evalsite.prompts.services import NewPrompt, prompt_set_create

    alice = User.objects.filter(username="alice").first() or user_create(username="alice", password=None)
    organisation = alice.personal_organisation
    new = [
        NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], categories[n % len(categories)])
        for n in range(prompts)
    ]
    design = Design(
        visibility=Campaign.Visibility.PUBLIC, admission=Campaign.Admission.OPEN, batch_size=10, block_size=4, seed=3,
        target_se=0.05, votes_per_item=5, vetting_votes=0, **more,
    )  # fmt: skip
    prompt_set = prompt_set_create(organisation=organisation, name=slug, prompts=new)
    campaign = campaign_create(
        organisation=organisation, name=slug.title(), slug=slug, prompt_set=prompt_set, design=design
    )
    for n in range(chatbots):
        version = version_create(chatbot=chatbot_create(organisation=organisation, name=f"{slug} bot {n}"))
        replies = {prompt: f"Bot {n} on {prompt.key}: grüße, 日本語." for prompt in prompt_set.prompts.all()}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    if opened:
        campaign_open(campaign=campaign)
        _work()
    campaign.refresh_from_db()
    return campaign


def _work() -> None:
    from evalsite.core import jobs

    while jobs.work_once(WORKER):
        pass


def _collected() -> None:
    from django.utils import timezone

    from evalsite.accounts.models import User
    from evalsite.accounts.services import api_token_issue
    from evalsite.judgments.leases import assignment_skip
    from evalsite.judgments.models import Assignment
    from evalsite.judgments.services import annotator_enrol, judgment_record, token_issue
    from tests.evalsite.cast import assignment_claim

    campaign = _campaign("trial", chatbots=4, prompts=5)
    people = [annotator_enrol(campaign=campaign) for _ in range(4)]
    for turn in range(12):
        annotator = people[turn % 4]
        for n, held in enumerate(assignment_claim(campaign=campaign, annotator=annotator)):
            choice = ("A", "B", "tie", "both_bad")[(turn * n + turn) % 4]
            judgment_record(annotator=annotator, assignment_id=held.public_id, choices={"overall": choice})
        if turn % 6 == 5:
            _work()
    bob, dora, erin = (annotator_enrol(campaign=campaign) for _ in range(3))
    first, second, third, *_ = assignment_claim(campaign=campaign, annotator=bob)
    given = judgment_record(
        annotator=bob, assignment_id=first.public_id, choices={"overall": "A"}, client_ms=4200, comment="Clearer."
    ).judgment
    judgment_record(annotator=bob, assignment_id=first.public_id, choices={"overall": "B"}, supersedes=given.public_id)
    assignment_skip(annotator=bob, assignment_id=second.public_id, reason="broken", note="cut off")
    Assignment.objects.filter(pk=third.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    judgment_record(annotator=bob, assignment_id=third.public_id, choices={"overall": "tie"})  # late
    assignment_claim(campaign=campaign, annotator=dora)  # and held
    judged = assignment_claim(campaign=campaign, annotator=erin)[0]
    judgment_record(annotator=erin, assignment_id=judged.public_id, choices={"overall": "B"})
    held_still = Assignment.objects.filter(state=Assignment.State.ISSUED)
    held_still.update(lease_until=timezone.now() - timedelta(minutes=1))
    token_issue(annotator=erin)
    api_token_issue(user=User.objects.get(username="alice"), name="laptop", scopes=["judgments:read"], days=30)


def _stopped() -> None:
    from evalsite.campaigns.services import campaign_stop
    from evalsite.judgments.services import annotator_enrol, judgment_record
    from tests.evalsite.cast import assignment_claim

    campaign = _campaign("ended", chatbots=3, prompts=4, categories=("code", "general"))
    bob = annotator_enrol(campaign=campaign)
    for _ in range(3):
        for held in assignment_claim(campaign=campaign, annotator=bob):
            judgment_record(annotator=bob, assignment_id=held.public_id, choices={"overall": "A"})
    campaign.refresh_from_db()
    campaign_stop(campaign=campaign, reason="by_hand")
    _work()


def _imported() -> None:
    from evalsite.campaigns.models import Campaign
    from evalsite.exchange.vote_import import votes_import

    winners = ("model_a", "model_b", "tie")
    rows = [
        f"v{n},made-up {n % 4},made-up {(n + 1 + n % 3) % 4},q{n % 7},{winners[n % 3]},someone {n % 5}\n"
        for n in range(60)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.csv"
        file.write_text(VOTES + "".join(rows))
        votes_import(path=file, name="Imported", organisation="Imported votes", visibility=Campaign.Visibility.PUBLIC)
    _work()


def _studied() -> None:
    from tests.evalsite.earlier.study import study_run

    study_run(_campaign("study", chatbots=4, prompts=6, opened=False, gold_share=0.25, budget=400), _work)


def _conversed() -> None:
    from tests.evalsite.earlier.conversations import conversations_run

    conversations_run(_work)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
