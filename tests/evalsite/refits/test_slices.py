"""What is behind a board's filters: boards of their own, fitted after the refit and never in its way."""

from dataclasses import replace

import pytest

from evalsite.accounts.models import Organisation
from evalsite.boards.models import Board, Refit, Slice, Snapshot
from evalsite.boards.selectors import Filter, board_get, board_state_get, boards_listed
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import NewAspect, campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core import jobs
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.core.models import Job
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Exclusion
from evalsite.judgments.selectors import votes_counted
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create
from evalsite.refits import slices as slices_module
from evalsite.refits.models import Alarm
from evalsite.refits.refit import fitted_of
from evalsite.refits.services import slices_request
from irt_engine import EngineError
from tests.evalsite.cast import OPEN, assignment_claim, run_jobs
from tests.shared import shared

ASPECTS = (NewAspect("overall", "Which is better?"), NewAspect("clear", "Which is clearer?"))


@shared
def varied(organisation: Organisation) -> Campaign:
    """Two live chatbots and two files of replies; prompts on mathematics, on travel, and one on law; two aspects."""
    topics = ["maths"] * 16 + ["travel"] * 16 + ["law"]
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], topic) for n, topic in enumerate(topics)]
    prompts = prompt_set_create(organisation=organisation, name="varied", prompts=new)
    design = replace(OPEN, aspects=ASPECTS, batch_size=30, block_size=10, policy="random")
    campaign = campaign_create(
        organisation=organisation, name="Varied", slug="varied", prompt_set=prompts, design=design
    )
    for n, kind in enumerate(["live", "live", "static", "static"]):
        version = version_create(
            chatbot=chatbot_create(organisation=organisation, name=f"bot {n}"), kind=Version.Kind(kind)
        )
        replies = {prompt: f"Bot {n} on {prompt.key}." for prompt in prompts.prompts.all()}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    run_jobs()
    return campaign


@shared
def eve(varied: Campaign) -> Annotator:
    return annotator_enrol(campaign=varied)


def judge(campaign: Campaign, annotator: Annotator, judgments: int) -> None:
    """The first to join is better, and the last is clearer; on every eighth prompt each pair is judged the other way.

    Where the better one always wins, no fit can learn how much replies differ.
    """
    number = {
        pk: place for place, pk in enumerate(campaign.prompt_set.prompts.order_by("pk").values_list("pk", flat=True))
    }
    while judgments > 0:
        block = assignment_claim(campaign=campaign, annotator=annotator)
        assert block, "the campaign has prompts enough for this"
        for assignment in block:
            first, second = assignment.candidates.all()
            assert first.entrant_id is not None
            assert second.entrant_id is not None
            ahead = second.entrant_id - first.entrant_id
            odd = (number[item_parts(assignment.item)[0]] + abs(ahead)) % 8 == 0
            better, clearer = ("A", "B") if (ahead > 0) != odd else ("B", "A")
            judgment_record(
                annotator=annotator,
                assignment_id=assignment.public_id,
                choices={"overall": better, "clear": clearer},
            )
        judgments -= len(block)
    run_jobs()


@shared
def judged(varied: Campaign, eve: Annotator) -> Campaign:
    judge(varied, eve, 90)
    return varied


def piece(by: str, value: str) -> Slice:
    return Slice.objects.get(by=by, value=value)


def names_of(campaign: Campaign, by: str, value: str) -> list[str]:
    snapshot = board_state_get(board_default(campaign=campaign), Filter(by, value)).snapshot
    return [row["name"] for row in snapshot.rows] if snapshot else []


@pytest.mark.full
def test_every_category_kind_and_further_aspect_has_its_slice(judged: Campaign) -> None:
    found = set(Slice.objects.values_list("by", "value"))
    categories = {("category", "maths"), ("category", "travel"), ("category", "law")}
    assert found == categories | {("kind", "live"), ("kind", "static"), ("aspect", "clear")}


@pytest.mark.database
def test_a_category_is_fitted_on_its_own_judgments_alone(judged: Campaign) -> None:
    board = board_default(campaign=judged)
    votes = votes_counted([judged], board.aspect, category="maths")
    snapshot = board_state_get(board, Filter("category", "maths")).snapshot
    assert snapshot
    assert (snapshot.judgments, piece("category", "maths").judgments) == (len(votes), len(votes))
    assert 30 <= len(votes) < Snapshot.objects.filter(board=board).latest().judgments
    assert snapshot.board != board


def test_another_aspect_ranks_by_its_own_answers(judged: Campaign) -> None:
    assert names_of(judged, "aspect", "clear") == [f"bot {n}" for n in (3, 2, 1, 0)]
    assert names_of(judged, "aspect", "overall") == [f"bot {n}" for n in range(4)], "which is the whole board"


def test_a_kind_ranks_only_chatbots_of_it(judged: Campaign, eve: Annotator) -> None:
    kinds = {"live": {"bot 0", "bot 1"}, "static": {"bot 2", "bot 3"}}
    for kind, bots in kinds.items():
        own = piece("kind", kind)
        assert own.chatbots == 2
        assert own.judgments > 0
        assert set(names_of(judged, "kind", kind)) == (bots if own.enough else set())


def test_too_few_judgments_make_no_board_and_are_counted(judged: Campaign) -> None:
    law = piece("category", "law")
    assert 0 < law.judgments < Slice.LEAST_JUDGMENTS
    assert (law.own, law.enough) == (None, False)


def test_the_same_input_makes_no_second_snapshot_and_no_second_refit(judged: Campaign) -> None:
    before = (Snapshot.objects.count(), Refit.objects.count())
    Slice.objects.update(seen="")
    slices_request(judged)
    run_jobs()
    assert (Snapshot.objects.count(), Refit.objects.count()) == before


@pytest.mark.full
def test_an_exclusion_that_is_lifted_brings_the_slices_snapshot_back(judged: Campaign) -> None:
    fred = annotator_enrol(campaign=judged)
    judge(judged, fred, 30)
    board, wanted = board_default(campaign=judged), Filter("category", "maths")
    full = board_state_get(board, wanted).snapshot
    for lifted in (False, True):
        Exclusion.objects.create(campaign=judged, annotator=fred, reason="always the first", lifted=lifted)
        refit_request(judged)
        run_jobs()
        now = board_state_get(board, wanted).snapshot
        assert (now == full) is lifted


def test_the_queue_is_planned_before_any_slice_is_looked_at(varied: Campaign, eve: Annotator) -> None:
    answer(varied, eve, 3)
    assert jobs.work_once("test")
    assert board_default(campaign=varied).snapshots.count() == 1
    assert not Slice.objects.exists()
    assert Job.objects.filter(kind="slices", state=Job.State.QUEUED).exists()


def answer(campaign: Campaign, annotator: Annotator, blocks: int) -> None:
    """Judge, and let nobody work."""
    for _ in range(blocks):
        for assignment in assignment_claim(campaign=campaign, annotator=annotator):
            choices = {"overall": "A", "clear": "B"}
            judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices=choices)


def sliced() -> int:
    return Snapshot.objects.filter(board__slice_of__isnull=False).count()


def test_while_a_refit_is_due_one_slice_is_fitted_and_the_rest_waits_behind_it(
    judged: Campaign, eve: Annotator
) -> None:
    answer(judged, eve, 3)
    assert jobs.job_run_now(key=f"refit:{judged.pk}", owner="test")
    answer(judged, eve, 3)
    before = sliced()
    assert jobs.job_run_now(key=f"slices:{judged.pk}", owner="test")
    assert sliced() == before + 1
    waiting = Job.objects.filter(state=Job.State.QUEUED, kind__in=["refit", "slices"]).order_by("run_after", "pk")
    assert list(waiting.values_list("kind", flat=True)) == ["refit", "slices"]
    run_jobs()
    assert sliced() >= before + 3
    assert len(set(Slice.objects.values_list("seen", flat=True))) == 1, "in the end all have been looked at"


def test_one_that_fails_alarms_and_leaves_its_last_board_the_others_and_the_whole(
    judged: Campaign, eve: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, maths, travel = board_default(campaign=judged), Filter("category", "maths"), Filter("category", "travel")
    good, other, whole = (board_state_get(board, wanted).snapshot for wanted in (maths, travel, None))

    def fails(own: Board, *given: object) -> object:
        if own.category == "maths":
            raise EngineError("no answer", code="did_not_converge", hint="look at the data")
        return fitted_of(own, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(slices_module, "fitted_of", fails)
        judge(judged, eve, 40)
    assert board_state_get(board, maths).snapshot == good
    assert board_state_get(board, travel).snapshot != other
    assert board_state_get(board).snapshot != whole
    assert piece("category", "maths").trouble.startswith("no answer")
    assert Alarm.objects.get(cleared_at=None).about == Alarm.About.SLICES
    judge(judged, eve, 30)
    assert board_state_get(board, maths).snapshot != good
    assert not Alarm.objects.filter(cleared_at=None).exists()


def test_a_filter_that_the_board_lacks_is_not_found_and_two_at_once_are_refused(judged: Campaign) -> None:
    board = board_default(campaign=judged)
    for wanted in (Filter("category", "poetry"), Filter("kind", "x" * 5000), Filter("aspect", "a\x00b")):
        with pytest.raises(NotFound):
            board_state_get(board, wanted)
    with pytest.raises(InvalidInput, match="one thing at a time"):
        Filter.of({"category": "maths", "kind": "live"})
    assert Filter.of({"category": "", "q": "x"}) is None


def test_a_slice_is_no_board_that_anybody_finds_by_itself(judged: Campaign) -> None:
    own = piece("category", "maths").own
    assert own
    assert list(boards_listed(None)) == [board_default(campaign=judged)]
    for key in (own.slug, str(own.public_id)):
        with pytest.raises(NotFound):
            board_get(key=key, user=None)


def test_where_all_is_of_one_category_and_one_kind_there_is_nothing_to_filter_by(campaign: Campaign) -> None:
    assert slices_module.slices_ensured(board_default(campaign=campaign)) == []
