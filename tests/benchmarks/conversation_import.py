"""100,000 conversations: import in 5 minutes with constant memory, scorecard in 60 s, pages in 300 ms.

    python -m tests.benchmarks.conversation_import [--conversations 100000] [--turns 10]

Works on a database of its own in a temporary folder. The topics of utterances are classified once, when their
conversation is first computed; both times are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .report import Check, conclude, say

MOST_IMPORT_S, MOST_SCORECARD_S, MOST_PAGE_MS, MOST_GROWTH = 300, 60, 300, 1.25
_TEXT = (
    "i like the new film about jazz music and the football team from london do you have a dog or cat it rains today "
    "my phone is broken what should we cook for dinner tell me a story of an old king in school they read books"
)
_WORDS = _TEXT.split()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--plain-topics", action="store_true", help="name the domains by a word instead of the model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TOUCHSTONE_DATA_DIR"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
        return conclude(
            "Conversations", _checks(Path(folder), options.conversations, options.turns, plain=options.plain_topics)
        )


def _checks(folder: Path, count: int, turns: int, *, plain: bool) -> list[Check]:
    import django

    django.setup()
    from django.core.management import call_command

    from evalsite.accounts.services import organisation_create, user_create
    from evalsite.exchange.conversation_import import file_import
    from evalsite.scorecards.services import conversation_set_open

    call_command("migrate", verbosity=0)
    small, large = _written(folder / "small.jsonl", 2_000, turns), _written(folder / "large.jsonl", count, turns)
    owner = user_create(username="owner", password="correct horse battery")
    organisation = organisation_create(name="Benchmark", owner=owner)
    file_import(path=small, conversation_set=conversation_set_open(organisation=organisation, name="small"))
    before = _peak()
    found = conversation_set_open(organisation=organisation, name="large")
    begin = time.perf_counter()
    report = file_import(path=large, conversation_set=found)
    seconds, growth = time.perf_counter() - begin, _peak() / before
    say(f"import: {seconds:.0f} s, {report.counts['added']:,} added, peak memory x {growth:.2f}")
    checks = [
        Check(
            f"{count:,} conversations",
            f"{report.counts['added']:,} added",
            f"{count:,}",
            report.counts["added"] == count,
        ),
        Check("import", f"{seconds:.0f} s", f"at most {MOST_IMPORT_S} s", seconds <= MOST_IMPORT_S),
        Check("peak memory, against that of 2,000", f"x {growth:.2f}", f"at most {MOST_GROWTH}", growth <= MOST_GROWTH),
    ]
    return [*checks, *_scorecard(found, plain=plain), *_pages(found, owner)]


def _scorecard(found: object, *, plain: bool) -> list[Check]:
    from evalsite.scorecards.computing import domains_store, scorecard_compute
    from evalsite.scorecards.topics import site_classifier

    classify = _plain if plain else site_classifier().classify
    begin = time.perf_counter()
    domains_store(found, classify)  # type: ignore[arg-type]
    say(f"topics of all utterances, once: {time.perf_counter() - begin:.0f} s")
    begin = time.perf_counter()
    scorecard_compute(conversation_set=found, classify=classify)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begin
    say(f"peak memory: {_peak() / 1024:.0f} MB")
    return [Check("scorecard", f"{seconds:.0f} s", f"at most {MOST_SCORECARD_S} s", seconds <= MOST_SCORECARD_S)]


def _plain(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [("music", "sports", "none", "animals", "technology")[len(utterance) % 5] for _, utterance in pairs]


def _pages(found: object, owner: object) -> list[Check]:
    from django.test import Client

    client, checks = Client(HTTP_HOST="localhost"), []
    client.force_login(owner)  # type: ignore[arg-type]
    page = f"/console/conversations/{found.public_id}/"  # type: ignore[attr-defined]
    for name, address in (
        ("scorecard", page),
        ("weights", f"{page}?weight_rating=3"),
        ("chatbot", f"{page}chatbot/?name=bot1"),
    ):
        times = []
        for _ in range(40):
            begin = time.perf_counter()
            assert client.get(address).status_code == 200
            times.append(1000 * (time.perf_counter() - begin))
        p95 = sorted(times)[37]
        checks.append(
            Check(f"page of the {name}, p95", f"{p95:.0f} ms", f"at most {MOST_PAGE_MS} ms", p95 <= MOST_PAGE_MS)
        )
    return checks


def _written(path: Path, count: int, turns: int) -> Path:
    rng = random.Random(count)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {
                "conversation_id": f"c{number}",
                "chatbot": f"bot{number % 11}",
                "user_id": f"u{number // 3}",
                "started_at": 1_700_000_000 + 60 * number,
                "ended_at": 1_700_000_000 + 60 * number + rng.randrange(60, 900),
                "turns": [
                    {
                        "speaker": ("user", "chatbot")[turn % 2],
                        "text": " ".join(rng.choices(_WORDS, k=rng.randrange(3, 14))),
                    }
                    for turn in range(turns)
                ],
                "rating": rng.randrange(1, 6),
            }
            file.write(json.dumps(row) + "\n")
    return path


def _peak() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    sys.exit(main())
