"""Boards at equal style, and fits that merge redundant prompts: options of a campaign."""

import json
from dataclasses import replace

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.boards.models import BoardChartData, Refit, Slice
from evalsite.boards.selectors import Filter, board_state_get, slices_of, snapshot_current, style_result
from evalsite.boards.services import board_default
from evalsite.boards.slice_age import SliceAge
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Reply, Version
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create
from evalsite.refits.mapping import at_equal_style, fit_input
from irt_engine import Posterior
from tests.evalsite.cast import OPEN, assignment_claim, run_jobs
from tests.shared import shared

EQUAL = Filter("style", "equal")


@shared
def wordy(organisation: Organisation) -> Campaign:
    """Three chatbots, of which one writes at length; annotators choose the longer reply."""
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "all") for n in range(16)]
    prompts = prompt_set_create(organisation=organisation, name="wordy", prompts=new)
    plan = PlanOptions(style_control=True)
    design = replace(
        OPEN,
        visibility=Campaign.Visibility.PUBLIC,
        batch_size=40,
        block_size=8,
        policy="random",
        plan=plan,
        target_se=0.01,
    )
    campaign = campaign_create(organisation=organisation, name="Wordy", slug="wordy", prompt_set=prompts, design=design)
    for n in range(3):
        version = version_create(
            chatbot=chatbot_create(organisation=organisation, name=f"bot {n}"), kind=Version.Kind.STATIC
        )
        texts = {
            prompt: " ".join(["word"] * (2 + (7 * n + 5 * k) % 11 + 8 * (n == 2))) + (" **bold**" if k == n else "")
            for k, prompt in enumerate(prompts.prompts.order_by("pk"))
        }
        replies_add(version=version, replies=texts, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    run_jobs()
    annotator = annotator_enrol(campaign=campaign)
    while block := assignment_claim(campaign=campaign, annotator=annotator):
        for assignment in block:
            first, second = (len((one.reply and one.reply.text) or "") for one in assignment.candidates.all())
            judgment_record(
                annotator=annotator,
                assignment_id=assignment.public_id,
                choices={"overall": "A" if first >= second else "B"},
            )
        run_jobs()
    return Campaign.objects.get(pk=campaign.pk)


def test_board_at_equal_style_is_fitted_after_the_refit(wordy: Campaign) -> None:
    board = board_default(campaign=wordy)
    state = board_state_get(board, EQUAL)
    result = style_result(state)
    assert state.snapshot is not None
    assert result is not None
    assert result.effects[0].name == "length"
    assert 0.0 < result.effects[0].lower < result.effects[0].effect < result.effects[0].upper
    as_judged, equal = (
        {row["name"]: row for row in board_state_get(board, wanted).snapshot.rows}  # type: ignore[union-attr]
        for wanted in (None, EQUAL)
    )
    assert as_judged["bot 2"]["rank"] == 1
    assert equal["bot 2"]["ability"] < as_judged["bot 2"]["ability"]
    assert set(result.ranks_as_judged.values()) == {1, 2, 3}


def test_board_at_equal_style_shows_the_state_of_the_whole_board(wordy: Campaign) -> None:
    before = board_state_get(board_default(campaign=wordy), EQUAL).age
    Refit.objects.filter(board=board_default(campaign=wordy)).update(seen="of later votes", finished_at=timezone.now())
    assert (before, board_state_get(board_default(campaign=wordy), EQUAL).age) == (SliceAge.SAME, SliceAge.EARLIER)


def test_both_boards_are_one_click_apart(wordy: Campaign, stranger: Client) -> None:
    whole = stranger.get("/boards/wordy/").content.decode()
    assert "/boards/wordy/?style=equal" in whole
    page = stranger.get("/boards/wordy/?style=equal").content.decode()
    assert "Length (tokens)" in page
    assert 'href="/boards/wordy/"' in page
    document = json.loads(stranger.get("/api/v1/boards/wordy?style=equal").content)
    assert document["filter"]["by"] == "style"
    assert document["equal_style"]["effects"][0]["name"] == "length"
    assert document["equal_style"]["effects"][0]["lower"] > 0.0
    assert json.loads(stranger.get("/api/v1/boards/wordy").content)["equal_style"] is None


def test_rank_changes_stand_beside_the_rows(wordy: Campaign, stranger: Client) -> None:
    board = board_default(campaign=wordy)
    whole = snapshot_current(board)
    assert whole is not None
    state = board_state_get(board, EQUAL)
    result = style_result(state)
    assert result is not None
    ranks = {row["version"]: row["rank"] for row in state.snapshot.rows}  # type: ignore[union-attr]
    page = stranger.get("/boards/wordy/?style=equal").content.decode()
    moved = [version for version, rank in ranks.items() if rank != result.ranks_as_judged[version]]
    assert page.count("places by style:") == len(moved)


def test_campaign_without_the_option_has_no_such_board(wordy: Campaign, stranger: Client) -> None:
    PlanSpec.objects.filter(campaign=wordy).update(style_control=False)
    board = board_default(campaign=wordy)
    assert not slices_of(board).filter(by=Slice.By.STYLE).exists()
    assert stranger.get("/boards/wordy/?style=equal").status_code == 404
    assert "style=equal" not in stranger.get("/boards/wordy/").content.decode()


def test_input_at_equal_style_has_a_hash_of_its_own(wordy: Campaign) -> None:
    given = fit_input(board_default(campaign=wordy))
    equal = at_equal_style(given)
    assert equal.sha256 != given.sha256
    assert at_equal_style(given).sha256 == equal.sha256
    assert set(equal.style or {}) == {
        (version, prompt)
        for version in Version.objects.values_list("pk", flat=True)
        for prompt in {vote.prompt for vote in given.votes}
    }


def test_replies_without_a_text_count_as_equal(wordy: Campaign) -> None:
    given = fit_input(board_default(campaign=wordy))
    plain, unknown = given.fit()[0].posterior, replace(given, style={}).fit()[0].posterior
    assert unknown.style_names == ()
    assert unknown.ability.tolist() == plain.ability.tolist()


@pytest.mark.parametrize("merges", [False, True])
def test_redundant_prompts_are_merged_where_the_campaign_says_so(
    wordy: Campaign, stranger: Client, merges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = board_default(campaign=wordy)
    PlanSpec.objects.filter(campaign=wordy).update(merge_redundant=merges, exposure=5.0)
    alike = tuple(str(pk) for pk in wordy.prompt_set.prompts.order_by("pk").values_list("pk", flat=True)[:2])

    class Found:
        groups = (alike,)

    monkeypatch.setattr("irt_engine.agreement.merged_prompts.redundant_prompts", lambda table: Found())
    refit_request(wordy)
    run_jobs()
    snapshot = snapshot_current(board)
    assert snapshot is not None
    posterior = Posterior.from_bytes(bytes(snapshot.posterior))
    slopes = {posterior.discrimination[posterior.prompts.index(name)] for name in alike}
    fit = BoardChartData.objects.get(board=board).fit
    assert (len(slopes) == 1) is merges
    assert (fit["merged"] is not None) is merges
    assert ("1 group was merged" in stranger.get("/boards/wordy/method/").content.decode()) is merges


def test_scale_at_its_limit_is_shown_on_the_method_page(wordy: Campaign, stranger: Client) -> None:
    record = BoardChartData.objects.get(board=board_default(campaign=wordy))
    record.fit["scales"]["at_limit"] = ["reply", "cell"]
    record.save()
    assert "is at its limit for: replies, comparisons." in stranger.get("/boards/wordy/method/").content.decode()
