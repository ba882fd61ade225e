"""Published crowd votes: the first paper's signs, and who comes first. Needs EVAL_DATA_DIR."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pytest

from irt_engine import Posterior, ResponseTable, fit

FOLDER = os.environ.get("EVAL_DATA_DIR")
pytestmark = pytest.mark.skipif(not FOLDER, reason="EVAL_DATA_DIR names no folder with the published votes")

# Table 3 of Sedoc & Ungar (2020), by run, oriented as the votes are: mean ability, > 0 when the second is better.
PUBLISHED = {
    "Cakechat_GloveTwitter": -0.529, "Cakechat_Harvard": 0.125, "Cakechat_OS": -0.460, "Glove_OS": 0.088,
    "Glove_Twitter": 0.424, "Cakechat_NCM": 1.314, "Human1_GloveTwitter": -1.98, "Human1_Human2": 0.356,
    "NCM_Cakechat": -0.715, "NCM_GloveTwitter": -1.426, "NCM_Harvard": -1.034, "NCM_Human1": -0.224,
    "NCM_Human2": 0.377, "OSC_OSQ": 0.295, "OSQ_Human2": 2.015, "OS_Twitter": 0.052, "Twitter_Human2": 2.760,
}  # fmt: skip


def votes(name: str, by: str | None = None) -> ResponseTable:
    assert FOLDER is not None
    with gzip.open(Path(FOLDER) / name, "rt", newline="") as file:
        lines = list(csv.DictReader(file))
    return ResponseTable.from_votes(
        [line["system_a"] for line in lines],
        [line["system_b"] for line in lines],
        [line["prompt_id"] for line in lines],
        [int(line["outcome"]) for line in lines],
        a_first=[int(line["a_first"]) if line["a_first"] else None for line in lines],
        label=[line[by] for line in lines] if by else None,
    )


def best_first(board: Posterior) -> list[str]:
    return [board.chatbots[i] for i in board.ability.argsort()[::-1]]


def test_the_pair_model_has_the_papers_signs_on_all_seventeen_runs() -> None:
    found = fit(votes("chateval_ncm_human.csv.gz", "category"), "pair")
    theta = {str(c.by).removeprefix("AMT_NCM_Test_"): t for c, t in zip(found.comparisons, found.theta, strict=True)}
    assert [run for run, mean in PUBLISHED.items() if theta[run] * mean <= 0] == []


def test_both_humans_and_ncm_stand_above_every_other_chatbot() -> None:
    assert set(best_first(fit(votes("chateval_ncm_human.csv.gz")))[:3]) == {"Human1", "Human2", "NCM"}


def test_gpt_4_stands_first() -> None:
    assert best_first(fit(votes("vicuna80_human.csv.gz")))[0] == "gpt-4"
