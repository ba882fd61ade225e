"""The console at size: every page of a campaign of 200 chatbots, 5,000 prompts, 500 annotators, 200,000 judgments.

    python -m tests.benchmarks.console_size [--judgments 200000] [--chatbots 200] [--prompts 5000] [--annotators 500]

It builds the campaign in a data directory of its own (with DATABASE_URL and REDIS_URL set, in that database, which must
be empty), opens each page --times times as its owner, and prints the median, the 95th percentile, the processor time
and the number of queries. It fails where a page's 95th percentile is above --most-ms, or its processor time above
--most-cpu-ms: that is what a page costs on a machine that does other things too. It is of the serving process, user and
system, with SQLite in it; PostgreSQL's own is not. The first time a page is opened counts as well.

With TOUCHSTONE_DATA_DIR set, the campaign stays there, and the next run measures it without building it again.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from itertools import combinations, islice
from typing import Any

CHUNK = 5000
GOLD_EVERY, GOLD_ITEMS = 40, 50
OWNER, SLUG = "console-size", "at-size"


def main() -> int:
    args = _arguments()
    os.environ.setdefault("TOUCHSTONE_DATA_DIR", tempfile.mkdtemp(prefix="touchstone-console-size-"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    campaign = _built(args)
    pages = list(measure(campaign, args.times))
    slow = [name for name, p95, _ in pages if p95 > args.most_ms]
    heavy = [name for name, _, cpu in pages if cpu > args.most_cpu_ms]
    for most, unit, found in ((args.most_ms, "ms", slow), (args.most_cpu_ms, "ms of processor time", heavy)):
        if found:
            print(f"above {most:g} {unit}: {', '.join(found)}")  # noqa: T201
    return 1 if slow or heavy else 0


def _built(args: argparse.Namespace) -> Any:
    """The campaign, built now or by an earlier run."""
    from evalsite.campaigns.models import Campaign

    found = Campaign.objects.filter(slug=SLUG).first()
    if found is not None:
        return found
    began = time.perf_counter()
    campaign = build(args)
    print(f"built in {time.perf_counter() - began:.0f} s")  # noqa: T201
    return campaign


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chatbots", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=5000)
    parser.add_argument("--annotators", type=int, default=500)
    parser.add_argument("--judgments", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--most-ms", type=float, default=300.0)
    parser.add_argument("--most-cpu-ms", type=float, default=120.0)
    return parser.parse_args()


def measure(campaign: Any, times: int) -> Iterator[tuple[str, float, float]]:
    """Page by page: its name, the 95th percentile of its times, and its processor time; milliseconds."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext, override_settings

    from evalsite.accounts.models import User

    client = Client()
    client.force_login(User.objects.get(username=OWNER))
    print(f"{'page':<44}{'median ms':>10}{'p95 ms':>8}{'CPU ms':>8}{'queries':>9}{'KB':>6}")  # noqa: T201
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        client.get("/account/login/")  # what every process loads once is of no page
        for path in paths(campaign):
            taken, worked = [], time.process_time()
            for _ in range(times):
                clock = time.perf_counter()
                answer = client.get(path)
                taken.append(1000 * (time.perf_counter() - clock))
                if answer.status_code != 200:
                    raise SystemExit(f"{path}: {answer.status_code}")
            cpu = 1000 * (time.process_time() - worked) / times
            with CaptureQueriesContext(connection) as asked:
                size = len(client.get(path).content)
            p95 = sorted(taken)[max(0, round(0.95 * times) - 1)]
            name = path.replace(str(campaign.public_id), "<campaign>")[:43]
            print(f"{name:<44}{statistics.median(taken):>10.0f}{p95:>8.0f}{cpu:>8.0f}{len(asked):>9}{size // 1000:>6}")  # noqa: T201
            yield name, p95, cpu


def paths(campaign: Any) -> list[str]:
    """Every page of the console that shows rows, some of them deep inside."""
    from evalsite.chatbots.models import Chatbot
    from evalsite.judgments.models import Annotator

    own = f"/console/{campaign.public_id}/"
    annotator = Annotator.objects.order_by("pk")[0].public_id
    chatbot = Chatbot.objects.order_by("pk")[0].public_id
    return [
        "/console/",
        *(own + page for page in ("", "pairs/", "prompts/", "prompts/?from=4000", "chatbots/", "annotators/")),
        *(own + page for page in ("annotators/?from=400", "gold/", "payments/", "payments/?from=400", "judgments/")),
        *(own + page for page in ("judgments/?counted=no", "judgments/?late=yes", f"judgments/?annotator={annotator}")),
        *(own + page for page in (f"judgments/?chatbot={chatbot}", "judgments/?category=c3", "fits/", "log/")),
        "/console/chatbots/",
        f"/console/chatbots/{chatbot}/",
        "/console/prompt-sets/",
        f"/console/prompt-sets/{campaign.prompt_set.public_id}/",
        f"/console/prompt-sets/{campaign.prompt_set.public_id}/?from=4000",
    ]


# The campaign -----------------------------------------------------------------------------------------------


def build(args: argparse.Namespace) -> Any:
    """The campaign, half an hour after its last judgment: in closed batches, with a snapshot, a record and findings."""
    from evalsite.accounts.services import user_create
    from evalsite.campaigns.gold import NewGold, gold_add
    from evalsite.campaigns.models import Campaign
    from evalsite.campaigns.services import Design, campaign_create
    from evalsite.prompts.services import NewPrompt, prompt_set_create

    owner = user_create(username=OWNER, password=None)
    organisation = owner.personal_organisation
    prompts = [
        NewPrompt(f"p{n:05}", [{"speaker": "user", "text": f"Question {n}? " + "Why so? " * 20}], f"c{n % 12}")
        for n in range(args.prompts)
    ]
    prompt_set = prompt_set_create(organisation=organisation, name="many", prompts=prompts)
    design = Design(visibility=Campaign.Visibility.PUBLIC, batch_size=500, gold_share=1 / GOLD_EVERY, gold_mark=0.7)
    campaign = campaign_create(
        organisation=organisation, name="At size", slug=SLUG, prompt_set=prompt_set, design=design
    )
    _chatbots(campaign, args.chatbots)
    gold_add(
        campaign=campaign,
        items=[NewGold(f"g{n}", ("A",), prompt=f"p{n:05}", texts=("Good", "Bad")) for n in range(GOLD_ITEMS)],
    )
    Campaign.objects.filter(pk=campaign.pk).update(pay_rate="0.1", state="running", per_day=5000)
    campaign.refresh_from_db()
    _judgments(campaign, _annotators(campaign, args.annotators), args.judgments)
    _queue(campaign)
    _fitted(campaign, args)
    return campaign


def _chatbots(campaign: Any, count: int) -> None:
    from django.db import connection
    from django.utils import timezone

    from evalsite.campaigns.models import Entrant
    from evalsite.chatbots.models import Chatbot, Version

    chatbots = Chatbot.objects.bulk_create(
        Chatbot(organisation=campaign.organisation, name=f"Chatbot {n:03}") for n in range(count)
    )
    versions = Version.objects.bulk_create(Version(chatbot=one, label="1", kind="static") for one in chatbots)
    Entrant.objects.bulk_create(Entrant(campaign=campaign, version=one) for one in versions)
    new_id, name = (
        ("lower(hex(randomblob(16)))", "'reply of ' || v.id || ' to ' || p.id")
        if connection.vendor == "sqlite"
        else ("gen_random_uuid()", "'reply of ' || v.id || ' to ' || p.id")
    )
    with connection.cursor() as cursor:  # a million rows: no object is made of them
        cursor.execute(
            "INSERT INTO chatbots_reply (public_id, version_id, prompt_id, sample, revision, text, sha256, origin,"  # noqa: S608
            f" created_at) SELECT {new_id}, v.id, p.id, 1, 1, {name}, 'x' || v.id || '-' || p.id, 'file', %s"
            " FROM chatbots_version v CROSS JOIN prompts_prompt p",
            [timezone.now()],
        )


def _annotators(campaign: Any, count: int) -> list[Any]:
    from evalsite.judgments.models import Annotator, AnnotatorIdentity, Enrolment, Exclusion

    people = Annotator.objects.bulk_create(Annotator(kind="human") for _ in range(count))
    Enrolment.objects.bulk_create(Enrolment(campaign=campaign, annotator=one, blocks_claimed=40) for one in people)
    AnnotatorIdentity.objects.bulk_create(
        AnnotatorIdentity(annotator=one, source=f"prolific/{campaign.public_id}", external_id=f"w{n}")
        for n, one in enumerate(people)
    )
    Exclusion.objects.bulk_create(
        Exclusion(campaign=campaign, annotator=one, reason="answers at random") for one in people[::25]
    )
    return list(people)


def _judgments(campaign: Any, people: list[Any], count: int) -> None:
    from django.utils import timezone

    from evalsite.chatbots.models import Reply
    from evalsite.judgments.models import Batch

    rng = random.Random(7)
    entrants = list(campaign.entrants.order_by("pk"))
    prompts = list(campaign.prompt_set.prompts.order_by("pk"))
    gold = list(campaign.gold_items.order_by("pk"))
    aspect = campaign.rubric.aspects.get()
    now = timezone.now()
    batches = Batch.objects.bulk_create(
        Batch(campaign=campaign, number=n + 1, state="closed", closed_at=now) for n in range(max(1, count // 500))
    )
    first = Reply.objects.order_by("pk").values_list("pk", flat=True)[0]
    of_version = {one.pk: place for place, one in enumerate(entrants)}
    reply = lambda entrant, prompt: first + of_version[entrant.pk] * len(prompts) + prompt  # noqa: E731
    for start in range(0, count, CHUNK):
        numbers = range(start, min(start + CHUNK, count))
        _chunk(campaign, people, numbers, rng, entrants, prompts, gold, aspect, batches, reply, now)


def _chunk(
    campaign: Any,
    people: list[Any],
    numbers: range,
    rng: random.Random,
    entrants: list[Any],
    prompts: list[Any],
    gold: list[Any],
    aspect: Any,
    batches: list[Any],
    reply: Any,
    now: Any,
) -> None:
    from evalsite.judgments.models import Answer, Assignment, Candidate, Judgment, Place

    drawn = [
        (people[n % len(people)], rng.sample(entrants, 2), rng.randrange(len(prompts)), n % GOLD_EVERY == 0)
        for n in numbers
    ]
    places = Place.objects.bulk_create(
        Place(campaign=campaign, prompt=prompts[prompt], item=f"{prompts[prompt].pk}:{n}-{n}")
        for n, (_, _, prompt, _) in zip(numbers, drawn, strict=True)
    )
    rows = Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            place=place,
            item=place.item,
            state="answered",
            purpose="gold" if checks else "measure",
            gold=gold[n // GOLD_EVERY % len(gold)] if checks else None,
            annotator=who,
            block=uuid.uuid4(),
            pay_rate=campaign.pay_rate,
            currency="USD",
            issued_at=now - timedelta(minutes=40),
            lease_until=now - timedelta(minutes=20),
            closed_at=now - timedelta(minutes=30),
        )
        for n, place, (who, _, _, checks) in zip(numbers, places, drawn, strict=True)
    )
    shown = Candidate.objects.bulk_create(
        Candidate(
            assignment=row,
            position=position,
            entrant=None if checks else entrant,
            reply_id=None if checks else reply(entrant, prompt),
            gold_side="AB"[position] if checks else "",
        )
        for row, (_, pair, prompt, checks) in zip(rows, drawn, strict=True)
        for position, entrant in enumerate(pair)
    )
    judgments = Judgment.objects.bulk_create(
        Judgment(
            assignment=row,
            annotator=row.annotator,
            batch=batches[min(n // 500, len(batches) - 1)],
            late=rng.random() < 0.02,
            client_ms=rng.randrange(2000, 90_000),
            answered_at=now - timedelta(minutes=30),
        )
        for n, row in zip(numbers, rows, strict=True)
    )
    Answer.objects.bulk_create(
        Answer(judgment=judgment, aspect=aspect, candidate=None, value="tie")
        if (choice := rng.randrange(3)) == 2
        else Answer(judgment=judgment, aspect=aspect, candidate=shown[2 * place + choice], value="chosen")
        for place, judgment in enumerate(judgments)
    )


def _queue(campaign: Any) -> None:
    """A thousand asks that wait."""
    from evalsite.judgments.planned_items import Origin, PlannedItem, QueuePlan
    from evalsite.judgments.queue import queue_continue, queue_replace

    pairs = islice(combinations(campaign.entrants.order_by("pk"), 2), 1000)
    prompts = list(campaign.prompt_set.prompts.order_by("pk")[:1000])
    asks = [PlannedItem(pair, prompt, 0.01, votes=5) for pair, prompt in zip(pairs, prompts, strict=False)]
    rest = queue_replace(campaign=campaign, plan=QueuePlan(asks, Origin("adaptive")))
    while rest:
        rest = queue_continue(rest)


def _fitted(campaign: Any, args: argparse.Namespace) -> None:
    """What a refit leaves, without one: pages read it, and what it says is of no matter here."""
    from evalsite.boards.chart_data import Pair
    from evalsite.boards.models import BoardChartData, Decision, Refit, Snapshot
    from evalsite.boards.services import board_default
    from evalsite.judgments.models import Annotator
    from evalsite.judgments.payments import annotators_of
    from evalsite.refits.models import Findings

    board, rng = board_default(campaign=campaign), random.Random(3)
    rows = [_row(place, one, args) for place, one in enumerate(campaign.entrants.select_related("version__chatbot"))]
    snapshots = [
        Snapshot.objects.create(
            board=board,
            number=number,
            input_sha256=f"{number:064}",
            engine="0",
            seed=0,
            judgments=args.judgments * number // 40,
            annotators=args.annotators,
            converged=True,
            seconds=3.0,
            rows=rows,
            posterior=bytes(500_000),
        )
        for number in range(1, 41)
    ]
    for snapshot in snapshots:
        Refit.objects.create(board=board, outcome="published", snapshot=snapshot, started_at=snapshot.created_at)
    snapshot = snapshots[-1]
    evidence = {"progress": 0.6, "judgments_to_go": 120_000.0}
    Decision.objects.create(snapshot=snapshot, stop=False, reason="Go on: it is not known yet", evidence=evidence)
    pairs = [Pair(a, b, 4, 2, 4, 0.1, 0.2, 0.4, 0.7) for a, b in combinations(range(len(rows)), 2)]
    kept = [list(asdict(pair).values()) for pair in pairs]
    BoardChartData.objects.create(board=board, snapshot=snapshot, pairs=kept, fit={})
    Findings.objects.create(
        campaign=campaign,
        annotators=[_annotator(one.pk, rng) for one in annotators_of(campaign)],
        prompts=[
            {"prompt": one.pk, "judgments": 40, "discrimination": 1.1, "se": 0.2}
            for one in campaign.prompt_set.prompts.all()
        ],
        gold={
            "annotators": [_share("annotator", number) for number in Annotator.objects.values_list("pk", flat=True)],
            "items": [{**_share("item", one.pk), "doubtful": False} for one in campaign.gold_items.all()],
        },
    )


def _row(place: int, entrant: Any, args: argparse.Namespace) -> dict[str, Any]:
    ability = 2.0 - 4.0 * place / args.chatbots
    return {
        "chatbot": str(entrant.version.chatbot.public_id),
        "name": entrant.version.chatbot.name,
        "organisation": "many",
        "kind": "static",
        "rank": place + 1,
        "rank_lower": max(1, place - 4),
        "rank_upper": place + 6,
        "ability": ability,
        "se": 0.1,
        "lower": ability - 0.2,
        "upper": ability + 0.2,
        "judgments": 2 * args.judgments // args.chatbots,
        "group": 0,
        "preliminary": False,
        "version": str(entrant.version.public_id),
        "version_label": "1",
        "rank_class": place // 10 + 1,
        "win_rate": 0.5,
    }


def _annotator(number: int, rng: random.Random) -> dict[str, Any]:
    shares = {"agreement": 0.5, "lower": 0.4, "upper": 0.6, "first_share": 0.5, "tie_share": 0.3}
    said = {"decision": "keep", "reason": "agrees with the others", "pace": [rng.random() for _ in range(12)]}
    return {"annotator": number, "votes": 400, "shared": 100, "seconds": 20.0, **shares, **said}


def _share(name: str, number: int) -> dict[str, Any]:
    return {name: number, "passed": 8, "given": 10, "lower": 0.44, "upper": 0.97}


if __name__ == "__main__":
    sys.exit(main())
