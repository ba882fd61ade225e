"""What pictures are drawn from: every vote once, seen from both sides, and always of the snapshot that is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.boards.chart_data import Pair, points
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import board_state_get, chart_data_fit, chart_data_get, history, snapshot_current
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.selectors import versions_withdrawn
from evalsite.judgments.models import Annotator
from evalsite.judgments.selectors import CountedVote
from tests.evalsite.cast import CampaignMaker, judge, run_only_refits
from tests.shared import shared


def vote(first: int, second: int, outcome: int) -> CountedVote:
    return CountedVote(first, second, prompt=1, annotator=None, outcome=outcome, order_known=True)


votes = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(-1, 1)).filter(lambda v: v[0] != v[1]), max_size=40
)


@given(votes)
def test_every_vote_gives_one_point_in_all(given_votes: list[tuple[int, int, int]]) -> None:
    found = points([vote(*values) for values in given_votes])
    assert sum(each.won + 0.5 * each.tied for each in found.values()) == len(given_votes)
    assert sum(each.judgments for each in found.values()) == 2 * len(given_votes)
    assert all(0 <= (each.win_rate or 0) <= 1 for each in found.values())


def test_a_tie_counts_half_and_a_win_is_the_winners_whichever_side_it_stood_on() -> None:
    found = points([vote(1, 2, -1), vote(2, 1, 1), vote(1, 2, 0), vote(1, 2, 1)])
    assert found[1].win_rate == pytest.approx(2.5 / 4)
    assert found[2].win_rate == pytest.approx(1.5 / 4)


def test_a_pair_turned_twice_is_itself() -> None:
    pair = Pair(0, 1, 5, 2, 1, 0.4, 0.2, 0.39, 0.75)
    assert pair.turned() == Pair(1, 0, 1, 2, 5, -0.4, 0.2, 0.39, 0.25)
    assert pair.turned().turned() == pair
    assert pair.turned().judgments == 8


@shared
def judged(campaign: Campaign, bob: Annotator) -> Campaign:
    judge(campaign, bob, blocks=4)
    run_only_refits()
    return campaign


@pytest.mark.usefixtures("judged")
def test_the_record_holds_all_votes_of_the_snapshot_and_its_differences() -> None:
    snapshot = Snapshot.objects.latest()
    record = chart_data_get(snapshot)
    assert record is not None
    assert sum(pair.judgments for pair in record.pairs) == snapshot.judgments
    for pair in record.pairs:
        above, below = snapshot.rows[pair.first], snapshot.rows[pair.second]
        assert pair.mean == pytest.approx(above["ability"] - below["ability"], abs=1e-4)
        assert pair.mean >= 0
        assert 0.5 <= pair.p_above <= 1
        assert 0 < pair.se < pair.margin < 2 * pair.se
    neighbours = {(pair.first, pair.second) for pair in record.pairs}
    assert {(0, 1), (1, 2), (2, 3)} <= neighbours, "whether or not they were compared"
    learned = chart_data_fit(snapshot)
    assert learned is not None
    assert 1 <= learned["prompts"] <= learned["cells"] <= snapshot.judgments


def test_rows_tell_class_win_rate_and_version(judged: Campaign) -> None:
    rows = Snapshot.objects.latest().rows
    assert rows[0]["rank_class"] == 1
    assert [row["rank_class"] for row in rows] == sorted(row["rank_class"] for row in rows)
    assert {row["version"] for row in rows} == {
        str(entrant.version.public_id) for entrant in judged.entrants.select_related("version")
    }
    share = sum(row["win_rate"] * row["judgments"] for row in rows) / sum(row["judgments"] for row in rows)
    assert share == pytest.approx(0.5), "what one side wins the other loses"


@pytest.mark.full
def test_history_keeps_the_first_and_the_last_of_many_snapshots(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(prompts=20)
    bob = Annotator.objects.create()
    campaign.enrolments.create(annotator=bob)
    for _ in range(7):
        judge(campaign, bob, blocks=2)
        run_only_refits()
    last = snapshot_current(campaign.default_board)
    assert last is not None
    assert last.number > 4
    assert [moment.number for moment in history(last)] == list(range(1, last.number + 1))
    thinned = [moment.number for moment in history(last, at_most=4)]
    assert len(thinned) == 4
    assert (thinned[0], thinned[-1]) == (1, last.number)
    assert [moment.judgments for moment in history(last)] == sorted(moment.judgments for moment in history(last))


def test_a_version_is_withdrawn_when_it_takes_part_nowhere(campaign: Campaign, make_campaign: CampaignMaker) -> None:
    entrant = campaign.entrants.select_related("version").order_by("pk")[0]
    other = make_campaign(slug="other", start=False)
    again = Entrant.objects.create(campaign=other, version=entrant.version)
    Entrant.objects.filter(pk=entrant.pk).update(state="withdrawn", withdrawn_reason="at its owner's wish")
    assert versions_withdrawn([campaign, other]) == {}
    before = board_state_get(campaign.default_board)
    Entrant.objects.filter(pk=again.pk).update(state="withdrawn", withdrawn_reason="too")
    assert versions_withdrawn([campaign, other]) == {str(entrant.version.public_id): "too"}
    assert before.withdrawn == {str(entrant.version.public_id): "at its owner's wish"}
