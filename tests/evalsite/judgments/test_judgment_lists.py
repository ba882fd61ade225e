"""Lists of judgments: page after page, whichever batches a page is gathered from."""

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.judgments import judgment_lists
from evalsite.judgments.judgment_lists import Listed, Wanted, judgments_page
from evalsite.judgments.models import Annotator, Batch, Judgment
from evalsite.judgments.selectors import judgments_counted
from tests.evalsite.cast import judge, run_only_refits
from tests.shared import shared


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """bob's judgments in earlier batches, dora's in later ones."""
    judge(campaign, bob, "A", blocks=3)
    run_only_refits()
    judge(campaign, dora, "B", blocks=2)
    run_only_refits()
    assert Batch.objects.filter(campaign=campaign).count() > 2
    return campaign


def listed(campaign: Campaign, wanted: Wanted, *, count: int) -> list[Listed]:
    """All pages of so many rows, one after the other."""
    found: list[Listed] = []
    while page := judgments_page(
        campaign=campaign,
        aspect=aspect_primary(campaign),
        wanted=wanted,
        after=found[-1].judgment if found else None,
        count=count,
    ):
        found += page
    return found


@pytest.mark.database
@pytest.mark.parametrize("at_once", [(), (1,), (1, 2)], ids=["all", "one first", "one, two, all"])
def test_pages_pass_over_nothing_and_repeat_nothing(
    judged: Campaign, monkeypatch: pytest.MonkeyPatch, at_once: tuple[int, ...]
) -> None:
    monkeypatch.setattr(judgment_lists, "BATCHES_AT_ONCE", at_once)
    all_of_them = list(Judgment.objects.order_by("pk").values_list("public_id", flat=True))
    for count in (1, 2, 3, 100):
        assert [row.judgment for row in listed(judged, Wanted(counted=None), count=count)] == all_of_them


def test_first_page_includes_judgments_of_later_batches(
    judged: Campaign, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgment_lists, "BATCHES_AT_ONCE", (1, 1))
    theirs = listed(judged, Wanted(counted=None, annotator=dora.public_id), count=2)
    assert len(theirs) == Judgment.objects.filter(annotator=dora).count() > 2
    assert {row.annotator for row in theirs} == {dora.public_id}


def test_what_is_counted_and_what_is_not_are_all_there_is(judged: Campaign, bob: Annotator) -> None:
    judge(judged, bob, "A")  # waits in an open batch
    seen, unseen = (listed(judged, Wanted(counted=counted), count=4) for counted in (True, False))
    assert len(seen) == judgments_counted([judged]).count()
    assert seen
    assert unseen
    assert len(seen) + len(unseen) == Judgment.objects.count()
