"""Options of `rank` beside the ranking: style, redundant prompts, and the sandwich."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evalsite.exchange.file_ranking import scales_at_limit

Write = Callable[..., Path]
HEAD = "system_a,system_b,prompt_id,outcome,length_a,length_b,bold_a,bold_b,reply_a,reply_b\n"


def ranked(path: Path, *arguments: str) -> str:
    stream = io.StringIO()
    call_command("rank", str(path), *arguments, stdout=stream, stderr=io.StringIO())
    return stream.getvalue()


def document(path: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ranked(path, *arguments, "--json"))
    return found


@pytest.fixture
def styled(write: Write) -> Path:
    """The longer reply wins, and c has long ones: beside that all are equal."""
    rng = np.random.default_rng(1)
    lines = []
    for number in range(240):
        a, b = rng.permutation(["a", "b", "c"])[:2]
        words = [int(rng.integers(1, 9)) + 6 * (name == "c") for name in (a, b)]
        outcome = 1 if rng.random() < 1.0 / (1.0 + np.exp(2.5 * (words[0] - words[1]) / sum(words))) else -1
        texts = ",".join(("word " * count).strip() for count in words)
        lines.append(f"{a},{b},p{number % 30},{outcome},{words[0]},{words[1]},0,0,{texts}\n")
    return write(HEAD + "".join(lines))


def test_style_has_the_sign_of_its_effect_and_lowers_who_is_long(styled: Path) -> None:
    plain, held = document(styled), document(styled, "--style", "length,bold")
    (row,) = held["style"]["covariates"]
    assert row["name"] == "length"
    assert 0.0 < row["lower"] < row["effect"] < row["upper"]
    assert {one["name"]: one["rank"] for one in plain["chatbots"]} == held["style"]["ranks_without"]
    lead = [next(one["ability"] for one in board["chatbots"] if one["name"] == "c") for board in (plain, held)]
    assert lead[0] > lead[1] + row["se"]


def test_texts_of_replies_are_counted(styled: Path) -> None:
    of_text, of_column = document(styled, "--style"), document(styled, "--style", "length")
    assert of_text["style"] == of_column["style"]
    assert of_text["chatbots"] == of_column["chatbots"]


def test_covariate_without_differences_changes_nothing(styled: Path) -> None:
    plain, held = document(styled), document(styled, "--style", "bold")
    assert held["style"]["covariates"] == []
    assert held["chatbots"] == plain["chatbots"]


def test_rows_that_where_leaves_out_have_no_style(styled: Path) -> None:
    found = document(styled, "--style", "length", "--where", "system_a=c")
    assert found["style"]["unknown"] == 0
    assert found["fit"]["judgments"] < 240


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        (HEAD + "a,b,p,1,1,x,0,0,,\n", "length", "row 1 (line 2), column length_b: holds 'x', which is no count."),
        (HEAD + "a,b,p,1,-1,2,0,0,,\n", "length", "column length_a: holds '-1', which is no count."),
        (HEAD + "a,b,p,1,1,2,0,0,,\n", "emoji", "there is no column 'emoji_a', which --style asks for."),
        ("system_a,system_b,prompt_id,outcome\na,b,p,1\n", "", "has neither texts of replies nor counts"),
    ],
)
def test_style_that_the_file_lacks_is_refused(write: Write, text: str, asked: str, message: str) -> None:
    with pytest.raises(CommandError) as refused:
        ranked(write(text), f"--style={asked}")
    assert message in str(refused.value)
    assert refused.value.returncode == 2


@pytest.mark.parametrize("names", ["length,", "length,length", ",".join(map(str, range(21)))])
def test_names_of_covariates_are_checked(styled: Path, names: str) -> None:
    with pytest.raises(CommandError):
        ranked(styled, "--style", names)


def test_sandwich_stands_beside_the_board(styled: Path) -> None:
    check = document(styled, "--check", "sandwich")["sandwich"]
    assert (check["prompts"], check["pairs"]) == (30, 3)
    assert {row["name"] for row in check["chatbots"]} == {"a", "b", "c"}
    assert all(0.0 < row["se"] < 1.0 for row in check["chatbots"])
    assert "SE by prompt" in ranked(styled, "--check", "sandwich")


def test_sandwich_of_one_prompt_is_refused(write: Write) -> None:
    path = write("system_a,system_b,prompt_id,outcome\na,b,p,1\nb,a,p,1\n")
    with pytest.raises(CommandError, match="all votes are on one prompt"):
        ranked(path, "--check", "sandwich")


@pytest.fixture
def repeated(write: Write) -> Path:
    """Eight chatbots on prompts of which two always get the same votes."""
    rng = np.random.default_rng(2)
    names = [f"m{k}" for k in range(8)]
    lines = ["system_a,system_b,prompt_id,outcome\n"]
    for first in range(8):
        for second in range(first + 1, 8):
            for prompt in range(6):
                outcome = int(rng.choice([-1, 1]))
                lines.append(f"{names[first]},{names[second]},p{prompt},{outcome}\n")
                if prompt == 0:
                    lines.append(f"{names[first]},{names[second]},p0 again,{outcome}\n")
    return write("".join(lines))


def test_redundant_prompts_are_merged_on_request(repeated: Path) -> None:
    found = document(repeated, "--merge-redundant")
    assert found["merged"]["groups"] == [["p0", "p0 again"]]
    assert found["merged"]["se_after"] > 0.0
    slope = {row["id"]: row["discrimination"] for row in found["prompts"]}
    assert slope["p0"] == slope["p0 again"]
    assert "Merged 2 redundant prompts into 1: the mean SE is" in ranked(repeated, "--merge-redundant")


def test_nothing_redundant_changes_nothing(styled: Path) -> None:
    found = document(styled, "--merge-redundant")
    assert found["merged"]["groups"] == []
    assert found["chatbots"] == document(styled)["chatbots"]
    assert "none were merged" in ranked(styled, "--merge-redundant")


def test_elo_scales_every_part(styled: Path) -> None:
    options = ["--style", "length", "--check", "sandwich", "--merge-redundant"]
    logits, points = document(styled, *options), document(styled, *options, "--scale", "elo")
    factor = 400.0 / np.log(10.0)
    assert points["style"]["covariates"][0]["effect"] == pytest.approx(
        factor * logits["style"]["covariates"][0]["effect"]
    )
    assert points["sandwich"]["chatbots"][0]["se"] == pytest.approx(factor * logits["sandwich"]["chatbots"][0]["se"])
    assert points["merged"]["se_after"] == pytest.approx(factor * logits["merged"]["se_after"])


def test_parts_stand_below_the_table(styled: Path) -> None:
    text = ranked(styled, "--style", "length")
    assert "change" in text
    assert "Abilities are those at equal style." in text


def test_scales_at_their_limit_are_named() -> None:
    assert "replies" in scales_at_limit(("reply", "log_discrimination"))


def test_votes_without_contradiction_are_warned_of(write: Write) -> None:
    rows = [f"m{a},m{b},p{j},-1\n" for a in range(6) for b in range(a + 1, 6) for j in range(12)] * 2
    found = document(write("system_a,system_b,prompt_id,outcome\n" + "".join(rows)))
    assert any("The learned scale is at its limit for" in warning for warning in found["warnings"])


@pytest.fixture
def named(write: Write) -> Path:
    """Five annotators judge honestly, and `clicker` does not look."""
    rng, lines = np.random.default_rng(3), ["system_a,system_b,prompt_id,outcome,annotator_id\n"]
    worth = {"a": 0.0, "b": 1.5, "c": 3.0}
    for number in range(360):
        a, b = rng.permutation(list(worth))[:2]
        who = "clicker" if number % 6 == 0 else f"r{number % 6}"
        chance = 0.5 if who == "clicker" else 1.0 / (1.0 + np.exp(worth[a] - worth[b]))
        lines.append(f"{a},{b},p{number % 40},{1 if rng.random() < chance else -1},{who}\n")
    return write("".join(lines))


def test_careless_annotators_are_named_and_can_be_counted_alike(named: Path) -> None:
    with_effects, alike = document(named), document(named, "--no-annotators")
    assert {row["id"] for row in with_effects["annotators"]} == {"clicker", "r1", "r2", "r3", "r4", "r5"}
    assert with_effects["annotators"][0]["id"] == "clicker"
    assert with_effects["annotators"][0]["careless"] > 0.5 > with_effects["annotators"][1]["careless"]
    assert "annotators" not in alike
    spread = [max(row["ability"] for row in board["chatbots"]) for board in (with_effects, alike)]
    assert spread[0] > spread[1]
    assert "Careless in more than half of their votes: clicker." in ranked(named)
    assert "annotators" not in ranked(named, "--no-annotators")
