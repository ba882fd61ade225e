"""How long the check of a large submission takes: 10,000 replies, from bytes to the report and the stored row.

Run on a new database: `python -m tests.benchmarks.check_submission [prompts]`. The target is 5 s.
"""

import os
import sys
import tempfile
import time

TARGET_S = 5.0


def main(prompts: int) -> int:
    """Print the seconds, and return 1 if the processor time misses the target: other work may wait beside it."""
    os.environ.setdefault("TOUCHSTONE_DATA_DIR", tempfile.mkdtemp())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from evalsite.accounts.services import user_create
    from evalsite.exchange.sent_files import unpacked
    from evalsite.submissions.cards import ChatbotCard
    from evalsite.submissions.checks import Submitter
    from evalsite.submissions.services import (
        Accepted,
        NewSubmission,
        SentReplies,
        submission_check,
        submission_create,
        submissions_accept,
    )
    from tests.evalsite.cast import campaign_make

    alice, sam = (user_create(username=name, password=None) for name in ("alice", "sam"))
    campaign = campaign_make(organisation=alice.personal_organisation, chatbots=2, prompts=prompts, start=False)
    type(campaign).objects.filter(pk=campaign.pk).update(state="running")
    campaign.refresh_from_db()
    submissions_accept(campaign=campaign, accepted=Accepted(admission="moderated"))
    text = "A reply of the usual length, which says something about the question. " * 8
    content = b"prompt_id,reply\n" + b"".join(f'p{n},"{text}{n}"\n'.encode() for n in range(prompts))
    who = Submitter(sam, sam.personal_organisation)
    slowest = 0.0
    for name, act in (("check", submission_check), ("submit", submission_create)):
        begun, worked = time.perf_counter(), time.process_time()
        rows, filename = unpacked(content, "replies.csv")
        act(campaign=campaign, who=who, sent=NewSubmission(ChatbotCard("Large"), SentReplies(rows, filename)))
        seconds, of_processor = time.perf_counter() - begun, time.process_time() - worked
        slowest = max(slowest, of_processor)
        size = f"{prompts:,} prompts, {len(content) / 1e6:.1f} MB"
        sys.stdout.write(f"{name}: {size}: {of_processor:.2f} s of processor time, {seconds:.2f} s\n")
    return int(slowest > TARGET_S)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 10_000))
