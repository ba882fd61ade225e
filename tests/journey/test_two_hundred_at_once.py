"""Two hundred at the same moment, over HTTP, at whole sites of either form: their own processes and databases.

In production two web processes answer: what holds there holds by the database and by Redis, and not by a lock of one.
"""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design
from evalsite.core.models import Job
from evalsite.demo.services import SLUG, demonstration_load
from evalsite.judgments.models import Answer, Assignment, Judgment
from tests.environment import PATIENCE_S
from tests.faults.sites import Embedded, Production, Site
from tests.processes import wait_for

pytestmark = pytest.mark.full
AT_ONCE = 200
READS = 37
DESIGN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    seed=5,
    batch_size=300,
    batch_age_s=3600,
    block_size=3,
    lease_s=3600,
    votes_per_item=2,
    target_se=None,
)
Said = tuple[int, Any]


def filled(kind: type[Site], *arguments: Any) -> Site:
    class Crowded(kind):  # type: ignore[misc, valid-type]
        def load(self) -> None:
            demonstration_load(design=DESIGN)

    site: Site = Crowded(*arguments)
    site.environment["TOUCHSTONE_READS_PER_MINUTE"] = str(READS)
    return site


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("production", marks=[pytest.mark.postgresql_server, pytest.mark.redis_server]),
    ],
)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Iterator[Site]:
    found = filled(Embedded if request.param == "embedded" else Production, tmp_path_factory.mktemp(request.param))
    try:
        with django_db_blocker.unblock():
            found.fill()
            found.start()
            found.wait_until_ready()
            with found.inside():
                waiting = Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])
                wait_for(lambda: not waiting.exists(), what="the first plan")
            yield found
    finally:
        found.end()


def call(site: Site, method: str, path: str, body: Any = None, *, token: str = "") -> Said:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    line = http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE_S)
    try:
        line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


def at_once(work: Callable[[int], Said], count: int = AT_ONCE) -> list[Said]:
    """So many callers, each on a line of its own, who begin together."""
    said: list[Said | None] = [None] * count
    together = threading.Barrier(count)

    def one(number: int) -> None:
        together.wait()
        said[number] = work(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in said, "every call was answered"
    return [answer for answer in said if answer is not None]


def test_two_hundred_claims_and_their_answers(site: Site) -> None:
    tokens = [
        call(site, "POST", "/api/v1/annotators", {"campaign": SLUG, "kind": "simulated"})[1]["token"]
        for _ in range(AT_ONCE)
    ]
    with site.inside():
        waiting = Assignment.objects.filter(state=Assignment.State.QUEUED).count()
    claimed = at_once(lambda n: call(site, "POST", f"/api/v1/campaigns/{SLUG}/claims", {}, token=tokens[n]))
    assert {status for status, _ in claimed} == {200}
    held = [(n, row["id"]) for n, (_, body) in enumerate(claimed) for row in body["assignments"]]
    assert len(held) == len({key for _, key in held}), "no assignment to two annotators"
    assert len(held) >= waiting / 2, "and most of what waited was given out"
    with site.inside():
        issued = Assignment.objects.filter(annotator__isnull=False)
        assert {str(key) for key in issued.values_list("public_id", flat=True)} == {key for _, key in held}
        per_item = Counter(issued.values_list("item", flat=True))
        per_place = Counter(issued.values_list("place", flat=True))
        per_annotator = Counter(issued.values_list("annotator", "item"))
    assert max(per_item.values()) <= DESIGN.votes_per_item, "no item more often than the plan says"
    assert max(per_place.values()) == max(per_annotator.values()) == 1

    # Now each sends an answer, and half of them the same one once more at the same moment, under no key.
    first = dict(reversed(held))
    sent = [*first.items(), *list(first.items())[: len(first) // 2]]
    path = "/api/v1/assignments/{}/judgment".format
    answered = at_once(
        lambda n: call(
            site,
            "POST",
            path(sent[n][1]),
            {"answers": [{"aspect": "overall", "choice": "A"}]},
            token=tokens[sent[n][0]],
        ),
        len(sent),
    )
    assert Counter(status for status, _ in answered) == {201: len(first), 200: len(sent) - len(first)}
    with site.inside():
        assert Judgment.objects.count() == Answer.objects.count() == len(first)
        assert {str(key) for key in Judgment.objects.values_list("public_id", flat=True)} == {
            body["judgment"] for _, body in answered
        }


def test_of_two_hundred_calls_exactly_the_allowed_number_is_answered(site: Site) -> None:
    """Those of one minute count together: a try that a minute's end has divided is made again in a new one."""
    tried = -1

    def minute() -> int:
        return int(time.time() // 60)

    def answered_in_one_minute() -> list[Said]:
        nonlocal tried
        began = wait_for(lambda: minute() > tried and minute(), what="a minute without calls")
        answered = at_once(lambda _: call(site, "GET", "/api/v1/campaigns"))
        tried = minute()
        return answered if tried == began else []

    answered = wait_for(answered_in_one_minute, what="so many answers within one minute")
    assert Counter(status for status, _ in answered) == {200: READS, 429: AT_ONCE - READS}
