"""The rule by which the votes of newcomers begin to count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.judgments.vetting import NewcomerRecord, begins_provisional, vetting_reason

COUNTS = st.integers(0, 1000)
RECORDS = st.builds(NewcomerRecord, COUNTS, st.booleans(), st.booleans(), st.booleans())


@pytest.mark.parametrize(
    ("newcomer", "code"),
    [
        (NewcomerRecord(9), None),
        (NewcomerRecord(10), "vetted_votes"),
        (NewcomerRecord(10, is_flagged=True), None),
        (NewcomerRecord(1, passed_gold=True), "vetted_gold"),
        (NewcomerRecord(1, passed_gold=True, is_flagged=True), None),
        (NewcomerRecord(1, is_known=True, is_flagged=True), "vetted_known"),
    ],
)
def test_newcomer_is_vetted_by_votes_gold_or_a_voucher(newcomer: NewcomerRecord, code: str | None) -> None:
    reason = vetting_reason(newcomer, votes_needed=10)
    assert (reason.code if reason else None) == code


@given(RECORDS, st.integers(1, 1000))
def test_more_votes_never_unvet_a_newcomer(newcomer: NewcomerRecord, needed: int) -> None:
    more = NewcomerRecord(newcomer.votes + 1, newcomer.is_known, newcomer.passed_gold, newcomer.is_flagged)
    before, after = (vetting_reason(one, votes_needed=needed) for one in (newcomer, more))
    assert before is None or (after is not None and after.code == before.code)


@given(st.integers(0, 1000), st.booleans(), st.booleans())
def test_only_strangers_without_qualification_begin_provisional(needed: int, known: bool, qualifies: bool) -> None:
    found = begins_provisional(votes_needed=needed, is_known=known, qualifies=qualifies)
    assert found is (needed > 0 and not known and not qualifies)
