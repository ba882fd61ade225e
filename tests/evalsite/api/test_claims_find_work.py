"""Whoever asks for work is given some while something is left that they may judge."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from evalsite.campaigns.services import Design
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Assignment
from evalsite.judgments.services import annotator_enrol, token_issue
from tests.environment import FULL, PRODUCTION
from tests.evalsite.api.client import CLAIMS, Api, answer, judgment_url
from tests.evalsite.cast import OPEN, CampaignMaker, run_jobs
from tests.shared import shared

CHATBOTS, PROMPTS = 3, 5
Item = tuple[str, frozenset[str]]  # the prompt, and the two replies
EVERYTHING: set[Item] = {
    (f"Question {prompt}?", frozenset({f"Bot {a} on p{prompt}.", f"Bot {b} on p{prompt}."}))
    for prompt in range(PROMPTS)
    for a, b in combinations(range(CHATBOTS), 2)
}


def item_of(assignment: Any) -> Item:
    return assignment["context"]["turns"][-1]["text"], frozenset(one["text"] for one in assignment["candidates"])


def enrolled() -> Api:
    cache.clear()  # all of a test's annotators come from one address
    response = Api().post("/api/v1/annotators", {"campaign": "trial", "kind": "simulated"})
    assert response.status_code == 201
    return Api(response.json()["token"])


@dataclass
class Crowd:
    """Annotators by the API, and what each of them was shown; `asked`: how often each item is judged or held."""

    votes_per_item: int
    people: list[Api]
    asked: Counter[Item] = field(default_factory=Counter)
    seen: dict[int, set[Item]] = field(default_factory=dict)
    held: dict[int, list[Any]] = field(default_factory=dict)

    def eligible(self, number: int) -> set[Item]:
        return {item for item in EVERYTHING - self.seen.get(number, set()) if self.asked[item] < self.votes_per_item}

    def claim(self, number: int) -> list[Any]:
        cache.clear()
        eligible = self.eligible(number)
        response = self.people[number].post(CLAIMS)
        block: list[Any] = response.json()["assignments"]
        items = [item_of(one) for one in block]
        assert bool(block) == bool(eligible), (response.json()["campaign"], eligible)
        assert set(items) <= eligible, "nobody gets an item twice, and no item is asked too often"
        self.asked.update(items)
        self.seen.setdefault(number, set()).update(items)
        self.held[number] = block
        return block

    def answer(self, number: int, choice: str) -> None:
        for one in self.held.pop(number, []):
            assert self.people[number].post(judgment_url(one), answer(choice)).status_code == 201


DESIGNS = {
    "one vote": OPEN,
    "two votes": replace(OPEN, votes_per_item=2),
    "long blocks": replace(OPEN, block_size=20, batch_size=7),
    "balanced": replace(OPEN, policy="balanced", votes_per_item=2),
    "random": replace(OPEN, policy="random"),
}


def judge_all(crowd: Crowd, *, worker: bool) -> None:
    """Let annotators come in any order, until nothing is left to any of them; each claim looks for itself."""
    random = Random(7)
    everybody = range(len(crowd.people))
    while any(crowd.eligible(number) for number in everybody):
        number = random.choice(everybody)
        crowd.answer(number, random.choice(["A", "B", "tie"]))
        crowd.claim(number)
        if worker and random.random() < 0.3:
            run_jobs()
    assert set(crowd.asked) == EVERYTHING
    assert set(crowd.asked.values()) == {crowd.votes_per_item}


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_without_worker_claim_is_empty_only_when_nothing_is_left(make_campaign: CampaignMaker, design: Design) -> None:
    make_campaign(chatbots=CHATBOTS, prompts=PROMPTS, design=replace(design, target_se=None))
    judge_all(Crowd(design.votes_per_item, [enrolled() for _ in range(3)]), worker=False)


def test_between_refits_claim_is_empty_only_when_nothing_is_left(make_campaign: CampaignMaker) -> None:
    make_campaign(chatbots=CHATBOTS, prompts=PROMPTS, design=replace(OPEN, target_se=None, votes_per_item=2))
    judge_all(Crowd(2, [enrolled() for _ in range(3)]), worker=True)


def test_items_seen_at_the_head_of_the_queue_hide_no_others(make_campaign: CampaignMaker) -> None:
    """Each annotator judges everything, one after another: what the queue begins with they have seen already."""
    make_campaign(chatbots=CHATBOTS, prompts=PROMPTS, design=replace(OPEN, target_se=None, votes_per_item=3))
    crowd = Crowd(3, [enrolled() for _ in range(3)])
    for number in range(3):
        while crowd.claim(number):
            crowd.answer(number, "tie")
        assert crowd.seen[number] == EVERYTHING


def give_back(api: Api, block: list[Any]) -> None:
    assert api.post("/api/v1/campaigns/trial/returns").status_code == 200


def skip(api: Api, block: list[Any]) -> None:
    """Skip the first; give back the others."""
    path = f"/api/v1/assignments/{block[0]['id']}/skip"
    assert api.post(path, {"reason": "broken"}).status_code == 200
    give_back(api, block)


def keep_it_too_long(api: Api, block: list[Any]) -> None:
    Assignment.objects.filter(public_id__in=[one["id"] for one in block]).update(lease_until=timezone.now())
    assignments_expire()


@pytest.mark.parametrize("leave", [give_back, skip, keep_it_too_long])
def test_what_is_not_answered_is_given_to_the_next(make_campaign: CampaignMaker, leave: Callable[..., None]) -> None:
    make_campaign(chatbots=CHATBOTS, prompts=PROMPTS, design=replace(OPEN, target_se=None))
    first, second = enrolled(), enrolled()
    leave(first, first.post(CLAIMS).json()["assignments"])
    crowd = Crowd(1, [second])
    while crowd.claim(0):
        crowd.answer(0, "A")
    assert crowd.seen[0] == EVERYTHING


# Many at the opening -------------------------------------------------------------------------------------

MANY, PROMPTS_OF_MANY = (200, 60) if FULL or PRODUCTION else (50, 15)
THREADS = 8


@shared
def tokens(make_campaign: CampaignMaker) -> list[str]:
    """Many who have joined a campaign that was just launched and planned; no worker runs from here on."""
    campaign = make_campaign(chatbots=6, prompts=PROMPTS_OF_MANY)
    return [token_issue(annotator=annotator_enrol(campaign=campaign)) for _ in range(MANY)]


def first_block(token: str) -> list[str]:
    response = Api(token).post(CLAIMS)
    assert response.status_code == 200
    return [one["id"] for one in response.json()["assignments"]]


def test_many_get_first_blocks_without_a_worker(tokens: list[str]) -> None:
    blocks = [first_block(token) for token in tokens]
    assert [len(block) for block in blocks] == [OPEN.block_size] * MANY
    assert len({key for block in blocks for key in block}) == MANY * OPEN.block_size, "nobody has what another has"


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite lets one claim wait for the other")
@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_first_blocks_without_a_worker(tokens: list[str]) -> None:
    """Rows that others are claiming are passed over, but a claim is never empty while others are free."""

    def claim(part: list[str]) -> list[list[str]]:
        together.wait()
        try:
            return [first_block(token) for token in part]
        finally:
            connection.close()

    together = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as threads:
        parts = threads.map(claim, [tokens[start::THREADS] for start in range(THREADS)])
        blocks = [block for part in parts for block in part]
    assert (len(blocks), all(blocks)) == (MANY, True), "everybody has something to judge"
    given = [key for block in blocks for key in block]
    assert len(given) == len(set(given)), "nobody has what another has"
