"""What a worker keeps of the votes it has read: the same votes as if it had read them all again."""

import random
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit
from evalsite.judgments.models import Annotator, Batch, Enrolment, Exclusion, Judgment
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.selectors import CountedVote, annotators_excluded, votes_by_judgment
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits import vote_cache
from evalsite.refits.vote_cache import VoteCache
from tests.environment import FULL
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge
from tests.shared import shared

Reads = list[Collection[int] | None]  # which batches were read, one time after the other; None: all


@shared
def campaign(make_campaign: CampaignMaker) -> Campaign:
    """More to ask than is asked here, without a worker; who is erased takes their judgments away."""
    campaign = make_campaign(design=OPEN, chatbots=6, prompts=20)
    onboarding_set(campaign=campaign, erasure="remove")
    return Campaign.objects.get(pk=campaign.pk)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    told: Reads = []

    def read(campaigns: Iterable[Campaign], aspect: Aspect, *, batches: Any = None, **more: Any) -> Any:
        told.append(batches)
        return votes_by_judgment(campaigns, aspect, batches=batches, **more)

    monkeypatch.setattr(vote_cache, "votes_by_judgment", read)
    return told


def all_of(board: Board, campaign: Campaign) -> list[CountedVote]:
    found = votes_by_judgment([campaign], board.aspect, category=board.category)
    return [vote for _, votes in sorted(found.items()) for vote in votes]


def take_back(judgment: Judgment, choice: str) -> None:
    judgment_record(
        annotator=judgment.annotator,  # type: ignore[arg-type]  # nobody is erased yet
        assignment_id=judgment.assignment.public_id,
        choices={"overall": choice},
        supersedes=judgment.public_id,
    )


def something_happens(campaign: Campaign, people: list[Annotator], by_chance: random.Random) -> None:
    somebody = by_chance.choice(people)
    (what,) = by_chance.choices(["judges", "takes back", "is out or in", "one is out", "leaves"], [12, 6, 2, 1, 1])
    given = Judgment.objects.filter(annotator=somebody, superseded_by=None).order_by("pk")
    out = somebody.pk in annotators_excluded(campaign)
    if what == "judges" and not out:
        for one in assignment_claim(campaign=campaign, annotator=somebody)[: by_chance.randint(1, 3)]:
            said = {"overall": by_chance.choice(["A", "B", "tie"])}
            judgment_record(annotator=somebody, assignment_id=one.public_id, choices=said)
    elif what == "takes back" and not out and (last := given.filter(assignment__block=newest_block(somebody)).last()):
        take_back(last, by_chance.choice(["A", "both_bad"]))
    elif what == "is out or in":
        (annotator_readmit if out else annotator_exclude)(campaign=campaign, annotator=somebody, reason="because")
    elif what == "one is out" and (last := given.last()):
        Exclusion.objects.create(campaign=campaign, judgment=last, reason="odd")
    elif what == "leaves":
        person_erase(user=None, parts=Enrolment.objects.filter(annotator=somebody))
        people[people.index(somebody)] = annotator_enrol(campaign=campaign)


def newest_block(annotator: Annotator) -> Any:
    """The one in which they may still take something back."""
    return annotator.assignments.exclude(block=None).order_by("-issued_at", "-pk").values_list("block", flat=True)[:1]


@pytest.mark.parametrize("seed", range(6 if FULL else 1))
def test_whatever_happens_what_is_kept_leads_to_the_same_votes_as_reading_all(
    campaign: Campaign, reads: Reads, seed: int
) -> None:
    by_chance, kept, board = random.Random(seed), VoteCache(), board_default(campaign=campaign)
    people = [annotator_enrol(campaign=campaign) for _ in range(5)]

    most = 0
    for _ in range(60):
        something_happens(campaign, people, by_chance)
        votes = kept.read(board, [campaign])
        assert votes == all_of(board, campaign)
        most = max(most, len(votes))
    assert most >= 10
    assert sum(bool(one) for one in reads) >= 3, "batches were read by themselves"


@pytest.mark.database
def test_only_batches_that_closed_since_are_read(campaign: Campaign, bob: Annotator, reads: Reads) -> None:
    kept, board = VoteCache(), board_default(campaign=campaign)
    judge(campaign, bob, blocks=2)
    assert len(kept.read(board, [campaign])) == 5, "of six, one waits in the next batch"
    before = set(Batch.objects.filter(state=Batch.State.CLOSED))
    judge(campaign, bob, blocks=3)
    assert len(kept.read(board, [campaign])) == 15
    since = sorted(one.pk for one in Batch.objects.filter(state=Batch.State.CLOSED) if one not in before)
    assert len(since) == 2
    assert [None if one is None else sorted(one) for one in reads] == [None, since]


def test_what_is_taken_back_counts_until_its_successor_does(campaign: Campaign, bob: Annotator, reads: Reads) -> None:
    kept, board = VoteCache(), board_default(campaign=campaign)
    judge(campaign, bob)
    for one in assignment_claim(campaign=campaign, annotator=bob)[:2]:
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    before = kept.read(board, [campaign])
    assert len(before) == 5
    take_back(Judgment.objects.latest("pk"), "tie")
    assert kept.read(board, [campaign]) == before
    judge(campaign, bob, blocks=2)
    after = kept.read(board, [campaign])
    assert (len(after), set(before) - set(after)) == (9, {before[-1]})
    assert [one if one is None else len(one) for one in reads] == [None, 1], "nothing where nothing had changed"


@pytest.mark.database
@pytest.mark.parametrize("what", ["an exclusion", "a removal", "another database"])
def test_where_more_has_happened_all_are_read_again(
    campaign: Campaign, bob: Annotator, dora: Annotator, reads: Reads, what: str
) -> None:
    kept, board = VoteCache(), board_default(campaign=campaign)
    for annotator in (bob, dora):
        judge(campaign, annotator, blocks=2)
    assert len(kept.read(board, [campaign])) == 10
    if what == "an exclusion":
        annotator_exclude(campaign=campaign, annotator=bob, reason="asleep")
    elif what == "a removal":
        person_erase(user=None, parts=Enrolment.objects.filter(annotator=bob))
    else:
        Batch.objects.filter(state=Batch.State.CLOSED).update(closed_at=timezone.now())
    assert kept.read(board, [campaign]) == all_of(board, campaign)
    assert reads == [None, None]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("leave", [annotator_exclude, person_erase])
def test_a_worker_that_outlives_a_restored_backup_leaves_out_whom_the_restored_site_does(
    campaign: Campaign, bob: Annotator, dora: Annotator, tmp_path: Path, leave: Callable[..., Any]
) -> None:
    def leaves(annotator: Annotator) -> None:
        if leave is annotator_exclude:
            annotator_exclude(campaign=Campaign.objects.get(), annotator=annotator, reason="asleep")
        else:
            person_erase(user=None, parts=Enrolment.objects.filter(annotator=annotator))

    kept, backup = VoteCache(), str(tmp_path / "site.backup")
    for annotator in (bob, dora):
        judge(campaign, annotator, blocks=2)
    close_batches()
    call_command("backup", backup, verbosity=0)
    leaves(bob)
    assert len(kept.read(board_default(campaign=campaign), [campaign])) == 6

    call_command("flush", interactive=False, verbosity=0)
    call_command("restore", backup, verbosity=0)
    leaves(Annotator.objects.get(public_id=dora.public_id))
    campaign = Campaign.objects.get()
    board = board_default(campaign=campaign)
    votes = kept.read(board, [campaign])
    assert {vote.annotator for vote in votes} == {Annotator.objects.get(public_id=bob.public_id).pk}
    assert votes == all_of(board, campaign)


def close_batches() -> None:
    Batch.objects.filter(state=Batch.State.OPEN).update(state=Batch.State.CLOSED, closed_at=timezone.now())


def after_it_was_seen(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens once, between a worker's look at what votes depend on and its reading them."""
    looks = vote_cache._input_state

    def seen(campaigns: list[Campaign]) -> Any:
        found = looks(campaigns)
        monkeypatch.setattr(vote_cache, "_input_state", looks)
        happens()
        return found

    monkeypatch.setattr(vote_cache, "_input_state", seen)


def test_of_what_is_taken_back_as_a_worker_reads_one_of_the_two_counts(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, board = VoteCache(), board_default(campaign=campaign)
    kept.read(board, [campaign])
    judge(campaign, bob)
    close_batches()
    take_back(Judgment.objects.latest("pk"), "tie")
    after_it_was_seen(monkeypatch, close_batches)
    assert len(kept.read(board, [campaign])) == 3


def test_who_is_excluded_as_a_worker_reads_counts_with_all_or_nothing(
    campaign: Campaign, bob: Annotator, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, board = VoteCache(), board_default(campaign=campaign)
    for _ in range(2):
        kept.read(board, [campaign])
        for annotator in (bob, dora):
            judge(campaign, annotator)
        close_batches()
    after_it_was_seen(monkeypatch, lambda: annotator_exclude(campaign=campaign, annotator=bob, reason="asleep"))
    assert {vote.annotator for vote in kept.read(board, [campaign])} == {dora.pk}


def test_many_batches_are_read_with_all_others(
    campaign: Campaign, bob: Annotator, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_cache, "MOST_BATCHES", 1)
    kept, board = VoteCache(), board_default(campaign=campaign)
    kept.read(board, [campaign])
    judge(campaign, bob, blocks=4)
    assert len(kept.read(board, [campaign])) == 10
    assert reads == [None]


def test_the_board_seen_longest_ago_is_forgotten_first(
    make_campaign: CampaignMaker, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_cache, "MOST_VOTES", 12)
    kept = VoteCache()
    campaigns = [make_campaign(slug=f"c{number}") for number in range(3)]
    for campaign in campaigns:
        judge(campaign, annotator_enrol(campaign=campaign), blocks=2)

    def read(number: int) -> None:
        kept.read(board_default(campaign=campaigns[number]), [campaigns[number]])

    for number in (0, 1, 0, 2):
        read(number)
    reads.clear()
    read(0)
    read(1)
    assert reads == [None], "of fifteen votes the five of the second were too many"


def test_a_board_that_is_too_large_by_itself_takes_no_room_of_others(
    make_campaign: CampaignMaker, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_cache, "MOST_VOTES", 8)
    kept = VoteCache()
    small, large = (make_campaign(slug=slug) for slug in ("small", "large"))
    judge(small, annotator_enrol(campaign=small), blocks=2)
    judge(large, annotator_enrol(campaign=large), blocks=4)
    reads.clear()
    for campaign in (small, large, large, small):
        kept.read(board_default(campaign=campaign), [campaign])
    assert reads == [None, None, None], "the small one is still kept"
