"""`manage.py demo`, as a visitor meets it: it starts, judges itself, can be stopped, killed and started again."""

import os
import signal

import pytest

from evalsite.demo.truth import SimulatedTruth, load_prompts
from tests.processes import Start, alive, children_of, end, free_port, visit, wait_for


def board(url: str, slug: str = "demonstration") -> dict:
    with visit(url) as site:
        answer: dict = site.get(f"/api/v1/boards/{slug}").raise_for_status().json()
    return answer


def test_ctrl_c_ends_all_and_the_next_start_goes_on(manage: Start) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = ("demo", "--port", str(port), "--speed", "8", "--annotators", "6")
    process = manage(*words)
    wait_for(lambda: board(url)["judgments"] >= 10, what="ten judgments")
    children = children_of(process.pid)
    assert len(children) >= 4, "web, annotators, worker and caller"
    nice = sorted(os.getpriority(os.PRIO_PROCESS, pid) for pid in children)
    assert nice[0] == nice[1] < nice[-2] == nice[-1], "worker and caller give way to web and annotators"
    status, output = end(process)
    assert status == 0, output
    assert not [pid for pid in children if alive(pid)]

    process = manage(*words)
    kept = wait_for(lambda: board(url)["judgments"], what="the second start")
    assert kept >= 10
    wait_for(lambda: board(url)["judgments"] > kept, what="further judgments")
    wait_for(lambda: board(url, "small-talk")["judgments"], what="judged turns of live conversations")
    status, output = end(process)
    assert status == 0, output
    assert f"{url}/boards/demonstration/" in output
    assert "Admin" in output
    assert "Traceback" not in output


@pytest.mark.full
def test_demonstration_ends_by_its_rule_with_the_right_ranking(manage: Start) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = manage("demo", "--port", str(port), "--speed", "8", "--annotators", "16")
    final = wait_for(lambda: (b := board(url))["state"] == "stopped" and b, what="the stopping rule")
    assert final["decision"]["stop"]
    evidence = final["decision"]["evidence"]
    assert evidence["se"] <= evidence["target"]
    # What was under way then is in by now, and may move the scale by some percent.
    assert max(row["se"] for row in final["chatbots"]) <= 1.1 * evidence["target"]
    assert tau_with_the_truth(final) >= 0.8
    assert wrong_by_more_than_two_se(final) == []
    status, output = end(process)
    assert status == 0, output
    assert "Traceback" not in output


def tau_with_the_truth(final: dict) -> float:
    """Kendall's tau between the ranking and the simulated qualities."""
    order = quality_in_order(final)
    pairs = [(i, j) for i in range(len(order)) for j in range(i + 1, len(order))]
    return sum(1 if order[i] > order[j] else -1 for i, j in pairs) / len(pairs)


def wrong_by_more_than_two_se(final: dict) -> list[tuple[str, str]]:
    """Pairs in the wrong order whose abilities the board puts more than two standard errors apart."""
    rows, order = final["chatbots"], quality_in_order(final)
    wrong = []
    for i, upper in enumerate(rows):
        for j in range(i + 1, len(rows)):
            apart = upper["ability"] - rows[j]["ability"]
            if order[i] < order[j] and apart > 2 * (upper["se"] ** 2 + rows[j]["se"] ** 2) ** 0.5:
                wrong.append((upper["name"], rows[j]["name"]))
    return wrong


def quality_in_order(final: dict) -> list[float]:
    truth = SimulatedTruth.of(load_prompts())
    return [truth.quality[row["name"].lower()] for row in final["chatbots"]]


@pytest.mark.full
@pytest.mark.parametrize("victim", ["supervisor", "web", "worker"])
def test_kill_9_loses_no_acknowledged_judgment_and_the_loop_goes_on(manage: Start, victim: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = manage("demo", "--port", str(port), "--speed", "4")
    wait_for(lambda: board(url)["judgments"] >= 80, what="eighty judgments")
    pids = {"supervisor": [process.pid]}
    for pid in children_of(process.pid):
        words = open(f"/proc/{pid}/cmdline").read().split("\0")  # noqa: SIM115, PTH123
        for name in ("web", "worker"):
            if name in words[2:3]:
                pids.setdefault(name, []).append(pid)
    acknowledged = board(url)["judgments"]
    everybody = [process.pid, *children_of(process.pid)]
    for pid in pids[victim]:
        os.kill(pid, signal.SIGKILL)
    if victim == "supervisor":
        process.communicate()
        wait_for(lambda: not [pid for pid in everybody if alive(pid)], what="the end of the orphans")
        process = manage("demo", "--port", str(port), "--speed", "4")
    after = wait_for(
        lambda: (b := board(url))["snapshot"] and b["snapshot"]["judgments"] > acknowledged and b,
        what="a ranking of what had been acknowledged, and more",
    )
    assert after["judgments"] >= after["snapshot"]["judgments"]
    end(process)
