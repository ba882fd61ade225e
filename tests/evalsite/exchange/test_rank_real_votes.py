"""Rankings of real votes, against what was published about them. The project does not hold the files."""

import os
from pathlib import Path

import pytest

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.file_ranking import rank_votes
from evalsite.exchange.vote_file import read_votes

DATA = os.environ.get("EVAL_DATA_DIR", "")
pytestmark = pytest.mark.skipif(not DATA, reason="EVAL_DATA_DIR is not set: no real votes to rank")

# Sedoc and Ungar (2020), Table 3: the signs of the differences, oriented as the votes (positive: B better).
SIGNS = {
    "Cakechat_GloveTwitter": -1,
    "Cakechat_Harvard": +1,
    "Cakechat_OS": -1,
    "Glove_OS": +1,
    "Glove_Twitter": +1,
    "Cakechat_NCM": +1,
    "Human1_GloveTwitter": -1,
    "Human1_Human2": +1,
    "NCM_Cakechat": -1,
    "NCM_GloveTwitter": -1,
    "NCM_Harvard": -1,
    "NCM_Human1": -1,
    "NCM_Human2": +1,
    "OSC_OSQ": +1,
    "OSQ_Human2": +1,
    "OS_Twitter": +1,
    "Twitter_Human2": +1,
}


def file(name: str) -> Path:
    path = Path(DATA) / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def test_the_comparisons_of_chateval_have_the_papers_signs() -> None:
    ranking = rank_votes(read_votes(file("chateval_ncm_human"), by="category"), model="pair")
    found = {(row.by or "").removeprefix("AMT_NCM_Test_"): row.delta or 0.0 for row in ranking.pairs}
    assert found.keys() - SIGNS.keys() == {"OSQ_Harvard", "OSQ_Human2_2"}
    assert {name: 1 if found[name] > 0 else -1 for name in SIGNS} == SIGNS
    assert ranking.warnings[0].startswith("1,552 votes repeat")


def test_the_board_of_chateval_has_both_humans_and_ncm_above_all_others() -> None:
    ranking = rank_votes(read_votes(file("chateval_ncm_human")))
    assert {row.name for row in ranking.chatbots if row.rank <= 3} == {"Human1", "Human2", "NCM"}
    assert len(ranking.chatbots) == 11


def test_gpt_4_leads_the_board_of_vicuna80() -> None:
    ranking = rank_votes(read_votes(file("vicuna80_human")))
    first = ranking.chatbots[0]
    assert (first.name, first.rank, first.rank_upper) == ("gpt-4", 1, 1)
    assert (ranking.fit.judgments, ranking.fit.cells) == (6_720, 2_240)


def test_the_criteria_of_spotthebot_are_not_mixed() -> None:
    path = file("spotthebot_human")
    with pytest.raises(VoteFileError, match="'humanlike', 'fluency', 'sensibleness', 'specificity'"):
        read_votes(path)
    assert len(read_votes(path, where=[("criterion", "fluency")])) == 8_210


def test_the_baseline_against_itself_is_refused_in_alpacaeval() -> None:
    with pytest.raises(VoteFileError, match="compared with itself"):
        read_votes(file("alpacaeval_weighted_alpaca_eval_gpt4_turbo"))
