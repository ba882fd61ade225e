"""The console's pages: what they say, that they ask the database a bounded number of times, and what they escape."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import prompt_retire
from evalsite.chatbots.models import Chatbot
from evalsite.console import setup, urls
from evalsite.console.formatting import duration
from evalsite.console.tables import tier_gaps
from evalsite.core.models import AuditEntry, Inquiry
from evalsite.judgments.exclusions import exclusion_propose
from evalsite.judgments.models import Annotator, Exclusion, Judgment
from evalsite.judgments.services import annotator_enrol
from evalsite.presentation.figures import matrices
from evalsite.refits.models import Findings
from evalsite.refits.services import alarm_raise
from tests import console_pages
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs, run_only_refits
from tests.evalsite.dialogues.steps import begin, live_campaign_make, released
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    judge(campaign, bob, "A", blocks=2)
    run_jobs()
    judge(campaign, dora, "B", blocks=2)
    run_jobs()
    return campaign


def test_the_home_lists_ones_own_campaigns_and_no_other(
    owner: Client, judged: Campaign, make_campaign: CampaignMaker, charlie: User
) -> None:
    page = words(owner.get("/console/"))
    assert "Trial" in page
    assert "1 campaign is collecting." in page
    other = Client()
    other.force_login(charlie)
    assert "You have no campaign yet." in words(other.get("/console/"))


def test_the_overview_answers_whether_it_goes_well(owner: Client, make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=0.5), prompts=60)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    text = words(owner.get("/console/trial/"))
    assert "It is going well" in text
    assert re.search(r"Judgments \d+", text)
    assert "Go on:" in text


def test_the_overview_tells_what_is_wrong(owner: Client, judged: Campaign) -> None:
    judged.assignments.filter(state="queued").update(state="withdrawn")
    text = words(owner.get("/console/trial/"))
    assert "there is 1 alarm" in text
    assert "Nothing waits to be judged" in text


def test_the_overview_tells_of_a_loop_that_fails(owner: Client, judged: Campaign) -> None:
    alarm_raise(campaign=judged, message="SchedulerError: no plan")
    assert "The update of the board fails and is tried again" in words(owner.get("/console/trial/"))


def test_what_the_screening_proposes_a_person_decides(owner: Client, judged: Campaign, bob: Annotator) -> None:
    exclusion_propose(campaign=judged, annotator=bob, lifted=False, reason="says the opposite", evidence={})
    assert "you decide: 1" in words(owner.get("/console/trial/"))
    assert "The screening would exclude them" in words(owner.get("/console/trial/annotators/"))
    owner.post("/console/trial/act/readmit/", {"annotator": str(bob.public_id), "reason": "I know them"})
    assert "you decide" not in words(owner.get("/console/trial/annotators/"))
    entry = AuditEntry.objects.filter(act="readmit").get()
    assert (entry.before, entry.after) == ({"excluded": False}, {"excluded": False})


def test_the_parts_of_a_large_matrix_are_pages_of_the_console(
    owner: Client, judged: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrices, "MATRIX_AT_MOST", 2)
    first = owner.get("/console/trial/pairs/").content.decode()
    assert 'href="/console/trial/pairs/?from=3#counts"' in first
    assert 'id="counts"' in first
    second = owner.get("/console/trial/pairs/?from=3").content.decode()
    assert 'from=3#counts" aria-current="true"' in second
    assert words(owner.get("/console/trial/pairs/?from=999")).count("1–2") == 1


def test_judgments_say_how_many_there_are_and_how_long_each_took(owner: Client, judged: Campaign) -> None:
    text = words(owner.get("/console/trial/judgments/"))
    assert f"{Judgment.objects.count()} judgments so far." in text
    assert " ms" not in text


@pytest.mark.parametrize(
    ("days", "said"),
    [(0.0005, "about 1 minute"), (0.02, "about 29 minutes"), (1, "about 24 hours"), (3, "about 3 days")],
)
def test_a_length_of_time_is_told_in_a_persons_unit(days: float, said: str) -> None:
    assert duration(days) == said


def test_pairs_show_how_often_each_was_judged_and_what_comes_next(owner: Client, judged: Campaign) -> None:
    text = words(owner.get("/console/trial/pairs/"))
    assert "judgments on" in text
    assert "Next planned" in text
    assert re.search(r"trial bot \d – trial bot \d p\d adaptive", text)
    assert "draws by what a judgment is expected to teach" in text


def test_prompts_show_what_they_tell_and_which_are_retired(owner: Client, judged: Campaign) -> None:
    prompt_retire(campaign=judged, prompt=judged.prompt_set.prompts.get(key="p0"), reason="a wrong premise")
    text = words(owner.get("/console/trial/prompts/"))
    assert "6 prompts, 1 retired" in text
    assert "retired: a wrong premise" in text
    assert re.search(r"\d\.\d\d \d\.\d\d – \d\.\d\d", text), "discrimination with its interval"
    assert re.search(r"\d \d\.\d times \d\.\d\d \d\.\d\d – \d\.\d\d \d\.\d\d ", text), "exposure and difficulty"


def test_prompts_tell_of_each_tier_and_which_say_the_same(owner: Client, judged: Campaign) -> None:
    found = Findings.objects.get(campaign=judged)
    first, second = judged.prompt_set.prompts.order_by("pk")[:2]
    one = {"judgments": 4, "discrimination": 1.0, "se": 0.2, "half_at": 0.75}
    found.prompts = [
        {"prompt": first.pk, **one, "information": [0.5 - 0.02 * n for n in range(25)], "like": [second.pk]},
        {"prompt": second.pk, **one, "judgments": 2, "information": [0.1] * 25, "like": [first.pk]},
    ]
    found.save()
    snapshot = snapshot_current(judged.boards.get())
    assert snapshot is not None
    for row, ability, tier in zip(snapshot.rows, (2.0, 1.5, -1.0, -2.0), (1, 1, 2, 2), strict=True):
        row["ability"], row["tier"] = ability, tier
    assert tier_gaps(snapshot.rows) == [("stronger half", 0.5), ("weaker half", 1.0)]
    assert tier_gaps(snapshot.rows[:1]) == []
    text = words(owner.get("/console/trial/prompts/"))
    assert re.search(r"p0 Question 0\? general 4 4\.0 times 1\.00 0\.68 – 1\.48 0\.75 \d\.\d\d · \d\.\d\d p1 ", text)
    assert re.search(r"p1 Question 1\? general 2 2\.0 times .* 0\.10 · 0\.10 p0 ", text)


def test_annotators_stand_with_their_work_and_the_advice(owner: Client, judged: Campaign, bob: Annotator) -> None:
    text = words(owner.get("/console/trial/annotators/"))
    assert str(bob.public_id)[:8] in text
    assert "100 %" in text
    assert "not enough yet" in text


def test_what_is_true_of_all_who_judged_is_said_once_whoever_has_only_come_by(owner: Client, judged: Campaign) -> None:
    annotator_enrol(campaign=judged)
    reasons = {one["reason"] for one in Findings.objects.get(campaign=judged).annotators}
    assert len(reasons) == 1, "two annotators about whom the same is said"
    text = words(owner.get("/console/trial/annotators/"))
    assert text.count("Of everybody here: ") == 1


def test_judgments_are_filtered_and_go_on_page_by_page(
    owner: Client, judged: Campaign, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsite.console.tables.ROWS", 4)
    seen, path = 0, "/console/trial/judgments/"
    while path:
        page = owner.get(path).content.decode()
        seen += page.count("<tr") - 1
        following = re.search(r'href="\?(cursor=[^"]+)"', page)
        path = f"/console/trial/judgments/?{following.group(1)}" if following else ""
    assert seen == Judgment.objects.count()
    of_dora = words(owner.get("/console/trial/judgments/", {"annotator": str(dora.public_id)}))
    assert " B " in of_dora
    assert owner.get("/console/trial/judgments/?annotator=x").status_code == 400
    assert owner.get("/console/trial/judgments/?cursor=7").status_code == 400


def test_fits_tell_what_each_refit_changed(owner: Client, judged: Campaign) -> None:
    text = words(owner.get("/console/trial/fits/"))
    assert "The last update of the board succeeded." in text
    assert re.search(r"trial bot \d [+−]\d\.\d\d", text)


def test_the_log_names_who_did_what(owner: Client, judged: Campaign) -> None:
    owner.post("/console/trial/act/pause/")
    text = words(owner.get("/console/trial/log/"))
    assert re.search(r"alice Pause .*state: running → paused", text)
    assert "the service Add a chatbot" in text


def test_an_exclusion_is_previewed_then_done_and_can_be_taken_back(
    owner: Client, judged: Campaign, bob: Annotator
) -> None:
    annotator = {"annotator": str(bob.public_id)}
    assert "None of this annotator's judgments counts" in words(owner.get("/console/trial/act/exclude/", annotator))
    assert "being worked out" in words(owner.post("/console/trial/preview/", annotator))
    run_jobs()
    inquiry = Inquiry.objects.get()
    assert "judgments instead of" in words(owner.get(f"/console/trial/preview/{inquiry.public_id}/"))
    refused = owner.post("/console/trial/act/exclude/", annotator)
    assert (refused.status_code, "has a reason" in words(refused)) == (400, True)
    assert not Exclusion.objects.exists()
    done = owner.post("/console/trial/act/exclude/", {**annotator, "reason": "tapped one key"}, follow=True)
    assert "Done: Exclude." in words(done)
    assert "excluded tapped one key" in words(done)
    owner.post("/console/trial/act/readmit/", {**annotator, "reason": "a fast reader"})
    assert Exclusion.objects.count() == 2


@pytest.mark.parametrize("visibility", Campaign.Visibility.values)
def test_reasons_that_become_public_are_announced(
    owner: Client, judged: Campaign, bob: Annotator, visibility: str
) -> None:
    Campaign.objects.filter(pk=judged.pk).update(visibility=visibility)
    page = words(owner.get("/console/trial/act/exclude/", {"annotator": str(bob.public_id)}))
    assert ("its public log shows the reason" in page) is (visibility == Campaign.Visibility.PUBLIC)


def test_nothing_is_done_by_get_nor_without_the_forms_token(alice: User, judged: Campaign) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    before = AuditEntry.objects.count()
    for act in ("pause", "stop", "refit"):
        assert client.get(f"/console/trial/act/{act}/").status_code == 200
        assert client.post(f"/console/trial/act/{act}/").status_code == 403
    assert (AuditEntry.objects.count(), Campaign.objects.get().state) == (before, "running")


def test_an_unknown_act_or_campaign_is_not_found(owner: Client, judged: Campaign) -> None:
    assert owner.get("/console/trial/act/burn/").status_code == 404
    assert owner.get("/console/nowhere/").status_code == 404


def test_a_preview_of_one_campaign_is_not_shown_in_another(
    owner: Client, judged: Campaign, bob: Annotator, make_campaign: CampaignMaker
) -> None:
    owner.post("/console/trial/preview/", {"annotator": str(bob.public_id)})
    make_campaign(slug="other", start=False)
    assert owner.get(f"/console/other/preview/{Inquiry.objects.get().public_id}/").status_code == 404


@shared
def crowded(judged: Campaign) -> Campaign:
    """Three more people have judged, a refit after each."""
    for _ in range(3):
        judge(judged, annotator_enrol(campaign=judged), blocks=1)
        run_jobs()
    return judged


@pytest.mark.database
@pytest.mark.parametrize("page", console_pages.CAMPAIGN)
def test_a_page_asks_the_database_as_often_for_many_rows_as_for_few(
    owner: Client,
    crowded: Campaign,
    page: str,
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    with django_assert_max_num_queries(30):
        assert owner.get(f"/console/trial/{page}").status_code == 200


@pytest.mark.parametrize("page", console_pages.LIVE)
def test_a_page_of_conversations_costs_few_queries_and_static_campaigns_have_none(
    owner: Client,
    campaign: Campaign,
    alice: User,
    page: str,
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    chat = live_campaign_make(organisation=alice.personal_organisation, chatbots=2)
    annotator = annotator_enrol(campaign=chat)
    released(begin(chat, annotator))
    assert owner.get(f"/console/{campaign.slug}/{page}").status_code == 404
    with django_assert_max_num_queries(30):
        assert owner.get(f"/console/{chat.slug}/{page}").status_code == 200


@pytest.mark.database
def test_the_home_asks_as_often_for_many_campaigns_as_for_one(
    owner: Client,
    judged: Campaign,
    make_campaign: CampaignMaker,
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    for n in range(3):
        make_campaign(slug=f"draft-{n}", chatbots=2, prompts=1, start=False)
    with django_assert_max_num_queries(9):
        owner.get("/console/")


def test_hostile_names_and_reasons_are_text(owner: Client, judged: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(name=HOSTILE, stop_reason=HOSTILE)
    Chatbot.objects.filter(name="trial bot 0").update(name=HOSTILE)
    owner.post("/console/trial/act/exclude/", {"annotator": str(bob.public_id), "reason": HOSTILE})
    for page in console_pages.CAMPAIGN:
        text = owner.get(f"/console/trial/{page}").content.decode()
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_who_runs_campaigns_is_in_the_console_after_logging_in(campaign: Campaign, charlie: User) -> None:
    secret = "correct horse battery"
    for name, path in [("alice", "/console/"), ("charlie", "/me/")]:
        given = {"username": name, "password": secret}
        assert Client().post("/account/login/", given, REMOTE_ADDR="192.0.2.8")["Location"] == path


def test_the_list_of_pages_that_tests_walk_through_has_every_address_of_the_console() -> None:
    of_drafts = {"setup/", "qualification/"}
    asked_by_pages = {
        "forecast/",
        "live/",
        "preview/",
        "check/state/",
        "notices/seen/",
        "third-parties/",
        "static-campaign/",
    }
    routes = [str(route.pattern) for route in urls.urlpatterns]
    own = {route for route in routes if "<" not in route}
    campaign = {route.removeprefix("<slug:key>/") for route in routes if route.startswith("<slug:key>/")}
    assert own == set(console_pages.OWN)
    pages = {route for route in campaign if "<" not in route and not route.endswith(".csv")}
    assert pages - of_drafts - asked_by_pages == {*console_pages.CAMPAIGN, *console_pages.LIVE}
    assert set(console_pages.STEPS) == set(setup.STEPS)
