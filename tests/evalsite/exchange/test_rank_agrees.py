"""`rank` and the board of the same votes agree: one estimator, and one unit."""

import csv
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.exchange.file_ranking import rank_votes
from evalsite.exchange.vote_file import read_votes
from irt_engine import Posterior

pytestmark = pytest.mark.django_db


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Write 240 votes on four chatbots whose names have another order than their rows in the database."""
    rng = np.random.default_rng(3)
    ability = {"zebra": 0.8, "ant": 0.2, "cow": -0.2, "bee": -0.8}
    path = tmp_path / "votes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system_a", "system_b", "prompt_id", "annotator_id", "outcome", "a_first"])
        for number in range(240):
            a, b = rng.permutation(list(ability))[:2]
            chance = 1.0 / (1.0 + np.exp(ability[a] - ability[b]))
            outcome = int(rng.choice([-1, 0, 1], p=[0.8 * (1 - chance), 0.2, 0.8 * chance]))
            writer.writerow([a, b, f"p{number % 17}", f"w{number % 9}", outcome, number % 2])
    return path


def test_rank_and_the_board_of_an_import_agree(votes: Path) -> None:
    call_command("import_votes", str(votes), campaign="Zoo")
    campaign = Campaign.objects.get()
    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    board = Posterior.from_bytes(bytes(snapshot.posterior))
    names = {str(one.version_id): one.name for one in campaign.entrants.select_related("version__chatbot")}
    ranked = {row.name: row for row in rank_votes(read_votes(votes)).chatbots}
    assert len(ranked) == len(board.chatbots) == 4
    for version, ability, se in zip(board.chatbots, board.ability, board.se, strict=True):
        row = ranked[names[version]]
        assert row.ability == pytest.approx(ability, abs=1e-9)
        assert row.se == pytest.approx(se, abs=1e-9)
