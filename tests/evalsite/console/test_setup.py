"""A campaign is set up in the console, from nothing to its launch; every step is saved and can be come back to."""

import re
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.campaigns.drafts import draft_change, draft_create, draft_prompt_set, draft_questions_set
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign, Onboarding, Rubric
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import RESERVED_SLUGS, NewAspect, campaign_create, plan_set, role_give, rubric_create
from evalsite.chatbots.models import Chatbot
from evalsite.console import urls
from evalsite.console.setup import FORMS
from evalsite.core.errors import Conflict, NotAllowed
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import AuditEntry, Inquiry, Upload
from evalsite.exchange.draft_forecasts import FORECAST, draft_design
from evalsite.judgments.arrivals import arrival_secret
from evalsite.judgments.models import Assignment
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

GOAL = {"name": "Spring trial", "question": "Which is kinder?", "allow_tie": "on"}


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@shared
def draft(alice: User) -> Campaign:
    browser_of(alice).post("/console/new/", GOAL)
    return Campaign.objects.latest("pk")


@shared
def organisation_of_others(charlie: User) -> Organisation:
    return charlie.personal_organisation


def file(name: str, text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


def url(draft: Campaign, step: str) -> str:
    return f"/console/{draft.public_id}/setup/{step}/"


def fill(owner: Client, draft: Campaign, chatbots: int = 3, prompts: int = 6) -> None:
    ids = [f"p{n}" for n in range(prompts)]
    lines = "".join(f"{key},Question {key}?\n" for key in ids)
    owner.post(url(draft, "prompts"), {"file": file("prompts.csv", "prompt_id,text\n" + lines), "pasted": ""})
    owner.post(url(draft, "prompts"), {"take": "yes"})
    replies = [
        file(f"bot_{n}.csv", "prompt_id,reply\n" + "".join(f"{key},Bot {n} on {key}.\n" for key in ids))
        for n in range(chatbots)
    ]
    owner.post(url(draft, "chatbots"), {"file": replies})
    owner.post(url(draft, "chatbots"), {"take": "yes"})


@shared
def filled(alice: User, draft: Campaign) -> Campaign:
    """With three chatbots and six prompts."""
    fill(browser_of(alice), draft)
    return Campaign.objects.get(pk=draft.pk)


def test_the_first_step_makes_a_private_draft_of_ones_own(owner: Client, draft: Campaign, alice: User) -> None:
    assert (draft.state, draft.visibility, draft.slug) == ("draft", "private", "spring-trial")
    aspect = draft.rubric.aspects.get()
    assert (aspect.question, aspect.choices) == ("Which is kinder?", ["A", "tie", "B"])
    assert draft.roles.get().user == alice
    owner.post("/console/new/", GOAL)
    assert set(Campaign.objects.values_list("slug", flat=True)) == {"spring-trial", "spring-trial-2"}


@pytest.mark.parametrize("step", sorted(FORMS))
def test_every_question_of_a_step_stands_on_its_page(owner: Client, filled: Campaign, step: str) -> None:
    """What does not stand there is taken for a no when the step is saved."""
    page = owner.get(url(filled, step)).content.decode()
    asked = set(re.findall(r'<(?:input|select|textarea)[^>]* name="([^"]+)"', page))
    assert set(FORMS[step].base_fields) <= asked


def test_readers_may_be_shown_prompts_and_replies(owner: Client, draft: Campaign) -> None:
    given = {"visibility": "public", "admission": "open", "pay_rate": "0", "currency": "EUR", "per_day": "500"}
    sent = owner.post(url(draft, "annotators"), {**given, "shows_prompts": "on", "shows_replies": "on"})
    assert sent.status_code == 302, words(sent)
    draft.refresh_from_db()
    assert (draft.shows_prompts, draft.shows_replies) == (True, True)
    assert re.search(
        r'<input[^>]* name="shows_replies"[^>]* checked', owner.get(url(draft, "annotators")).content.decode()
    )


def test_no_campaign_has_the_address_of_a_page_of_the_console(alice: User) -> None:
    own = {str(one.pattern).partition("/")[0] for one in urls.urlpatterns}
    assert {name for name in own if name and not name.startswith("<")} == RESERVED_SLUGS
    home = alice.personal_organisation
    draft = draft_create(organisation=home, name="Prompt sets", aspect=NewAspect("overall", "Which?"), by=alice)
    assert draft.slug == "prompt-sets-2"
    with pytest.raises(Conflict, match="the address of a page"):
        campaign_create(organisation=home, name="Health", slug="health", prompt_set=draft.prompt_set)


@pytest.mark.usefixtures("filled")
def test_from_files_to_a_campaign_that_asks(owner: Client, draft: Campaign) -> None:
    given = {"visibility": "public", "admission": "open", "quota": "", "pay_rate": "0.10", "currency": "EUR"}
    owner.post(url(draft, "annotators"), {**given, "per_day": "500"})
    owner.post(url(draft, "quality"), {"votes_per_item": 1, "block_size": 5, "lease_s": 600, "batch_size": 20})
    owner.post(url(draft, "stopping"), {"target_se": "0.2", "budget": "60"})
    review = words(owner.get(url(draft, "review")))
    assert "It can begin." in review
    assert "0.10 EUR" in review
    asked = owner.get(f"/console/{draft.public_id}/act/launch/")
    assert "This cannot be undone." in words(asked)
    owner.post(f"/console/{draft.public_id}/act/launch/")
    run_jobs()
    draft.refresh_from_db()
    assert (draft.state, draft.quota, draft.stopping.budget) == ("running", None, 60)
    assert Assignment.objects.filter(campaign=draft, state="queued").exists()
    assert owner.get(url(draft, "goal")).status_code == 409, "what runs is not set up any more"


def test_a_prompt_file_is_looked_at_before_it_is_taken_in(owner: Client, draft: Campaign) -> None:
    content = "prompt_id,text\np1,Fine?\np1,Twice?\n,None?\n"
    sent = owner.post(url(draft, "prompts"), {"file": file("p.csv", content), "pasted": ""}, follow=True)
    text = words(sent)
    assert "1 prompt to add , 2 refused" in text.replace("add,", "add ,")
    assert "line 2 has the same prompt_id" in text
    assert draft.prompt_set.prompts.count() == 0
    owner.post(url(draft, "prompts"), {"take": "yes"})
    assert draft.prompt_set.prompts.get().key == "p1"
    assert not Upload.objects.exists()


def test_prompts_can_be_pasted(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "prompts"), {"pasted": "First?\nSecond?\n"})
    owner.post(url(draft, "prompts"), {"take": "yes"})
    assert draft.prompt_set.prompts.count() == 2


@pytest.mark.parametrize(
    ("sent", "said"),
    [({"pasted": ""}, "Choose a file"), ({"pasted": "prompt_id,prompt_id\n1,x"}, "Two columns have the same name")],
)
def test_what_cannot_be_read_is_said_and_not_kept(
    owner: Client, draft: Campaign, sent: dict[str, str], said: str
) -> None:
    answer = owner.post(url(draft, "prompts"), sent)
    assert (answer.status_code, said in words(answer)) == (400, True)
    assert not Upload.objects.exists()


def test_reply_files_show_how_complete_they_are_and_take_the_names_given(owner: Client, draft: Campaign) -> None:
    fill(owner, draft, chatbots=1, prompts=3)
    more = [file("other_bot.csv", "prompt_id,reply\np0,Yes.\np9,No.\n"), file("broken.csv", "id\n1\n")]
    text = words(owner.post(url(draft, "chatbots"), {"file": more}, follow=True))
    assert "1 reply; the set has 3 prompts. 2 are missing: p1, p2" in text
    assert "no prompt has the id 'p9'" in text
    assert "There is no column prompt_id." in text
    upload = Upload.objects.get(name="other_bot.csv")
    owner.post(url(draft, "chatbots"), {"take": "yes", f"name-{upload.public_id}": "Kinder"})
    names = [entrant.name for entrant in draft.entrants.order_by("pk")]
    assert names == ["bot 0", "Kinder"]


@pytest.mark.parametrize(
    ("step", "sent", "said"),
    [
        ("goal", {"name": "", "question": "x"}, "This field is required"),
        ("annotators", {"pay_rate": "-1", "currency": "euro"}, "greater than or equal to 0"),
        ("quality", {"votes_per_item": 0}, "greater than or equal to 1"),
        ("stopping", {"target_se": "", "budget": ""}, "it must end somewhere"),
        ("stopping", {"target_se": "0.2", "min_difference": "0.4"}, "A campaign has one aim"),
        ("stopping", {"min_difference": "0.4", "power": "0.2"}, "greater than or equal to 0.5"),
        ("stopping", {"target_se": "1e-320"}, "greater than or equal to 0.01"),
        ("stopping", {"target_se": "nan"}, "Enter a number"),
        ("stopping", {"deadline": "2020-01-01T10:00"}, "This moment has passed"),
    ],
)
def test_a_value_that_cannot_be_is_said_beside_its_field(
    owner: Client, draft: Campaign, step: str, sent: dict[str, str], said: str
) -> None:
    answer = owner.post(url(draft, step), sent)
    assert (answer.status_code, said in words(answer)) == (400, True)


def test_another_first_question_leaves_the_others_as_they_are(draft: Campaign, alice: User) -> None:
    aspects = (NewAspect("kind", "Which is kinder?"), NewAspect("overall", "Which is better?", allow_tie=False))
    Campaign.objects.update(rubric=rubric_create(organisation=draft.organisation, name="two", aspects=aspects))
    draft.refresh_from_db()
    draft_questions_set(campaign=draft, aspect=NewAspect("overall", "Which is warmer?"), by=alice)
    asked = draft.rubric.aspects.order_by("position").values_list("key", "question", "allow_tie")
    assert list(asked) == [("kind", "Which is warmer?", True), ("overall", "Which is better?", False)]


def test_another_question_makes_the_draft_ask_it_and_leaves_no_rubric_behind(owner: Client, draft: Campaign) -> None:
    owner.post(url(draft, "goal"), {**GOAL, "question": "Which is truer?", "allow_both_bad": "on"})
    draft.refresh_from_db()
    assert draft.rubric.aspects.get().question == "Which is truer?"
    assert Rubric.objects.count() == 1
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert (entry.before, entry.after) == (
        {"question": "Which is kinder?", "verdicts": "A, tie, B"},
        {"question": "Which is truer?", "verdicts": "A, tie, B, both_bad"},
    )


def test_further_questions_stand_a_line_each_and_are_asked_too(owner: Client, draft: Campaign) -> None:
    others = "clear: Which is easier to follow?\r\n\r\nTo the point : Which says less that is not needed?"
    assert owner.post(url(draft, "goal"), {**GOAL, "others": others}).status_code == 302
    draft.refresh_from_db()
    asked = list(draft.rubric.aspects.values_list("key", "question", "allow_both_bad"))
    assert asked == [
        ("overall", "Which is kinder?", False),
        ("clear", "Which is easier to follow?", False),
        ("to-the-point", "Which says less that is not needed?", False),
    ]
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert entry.after["clear"] == "Which is easier to follow?"
    page = owner.get(url(draft, "goal"))
    assert "clear: Which is easier to follow?" in page.content.decode()
    assert "Also asked Which is easier to follow?" in words(owner.get(url(draft, "review")))
    owner.post(url(draft, "goal"), {**GOAL, "others": "clear: Which is easier to follow?"})
    draft.refresh_from_db()
    assert list(draft.rubric.aspects.values_list("key", flat=True)) == ["overall", "clear"]
    owner.post(url(draft, "goal"), GOAL)  # what is not sent stays
    draft.refresh_from_db()
    assert draft.rubric.aspects.count() == 2


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ("Which is easier to follow?", "a short name, a colon and a question"),
        ("clear: One?\nclear: Two?", "The name clear stands here twice"),
        ("overall: Again?", "The name overall stands here twice"),
        ("\n".join(f"q{n}: Which?" for n in range(7)), "at most 6 further questions"),
        (f"clear: {'x' * 301}", "up to 300 characters"),
    ],
)
def test_a_further_question_that_cannot_be_is_said_beside_the_field(
    owner: Client, draft: Campaign, others: str, said: str
) -> None:
    answer = owner.post(url(draft, "goal"), {**GOAL, "others": others})
    assert (answer.status_code, said in words(answer)) == (400, True)
    assert draft.rubric.aspects.count() == 1


def test_a_set_that_is_there_already_is_used_and_who_replied_can_take_part(
    owner: Client, draft: Campaign, make_campaign: CampaignMaker
) -> None:
    earlier = make_campaign(chatbots=2, prompts=3, start=False)
    page = words(owner.get(url(draft, "prompts")))
    assert "trial: 3 prompts" in page
    answer = owner.post(url(draft, "prompts"), {"use": "yes", "set": str(earlier.prompt_set.public_id)})
    assert answer["Location"] == url(draft, "chatbots")
    draft.refresh_from_db()
    assert draft.prompt_set == earlier.prompt_set
    assert re.search(r"trial bot 0 1 ?, 3 / 3", words(owner.get(url(draft, "chatbots"))))
    entry = AuditEntry.objects.filter(subject=draft.public_id).order_by("-pk")[0]
    assert entry.after == {"prompt_set": "trial"}


def test_to_a_set_that_a_campaign_asks_already_nothing_is_added(
    owner: Client, draft: Campaign, campaign: Campaign
) -> None:
    page, own = url(draft, "prompts"), campaign.prompt_set
    owner.post(page, {"file": file("late.csv", "prompt_id,text\nlate,Late?\n"), "pasted": ""})
    owner.post(page, {"use": "yes", "set": str(own.public_id)})
    text = words(owner.get(page))
    assert "Trial asks these prompts already: none can be added to the set." in text
    for sent in ({"take": "yes"}, {"pasted": "One more?"}):
        assert owner.post(page, sent).status_code == 409
    assert own.prompts.count() == 6


def test_a_set_of_others_is_not_offered_and_not_used(owner: Client, draft: Campaign, charlie: User) -> None:
    other = prompt_set_create(
        organisation=charlie.personal_organisation,
        name="Theirs",
        prompts=[NewPrompt("p1", [{"speaker": "user", "text": "x"}])],
    )
    assert "Theirs" not in words(owner.get(url(draft, "prompts")))
    answer = owner.post(url(draft, "prompts"), {"use": "yes", "set": str(other.public_id)})
    assert (answer.status_code, "There is no such prompt set" in words(answer)) == (404, True)


def test_a_role_in_a_draft_opens_no_other_set_of_the_organisation(
    draft: Campaign, campaign: Campaign, alice: User, charlie: User
) -> None:
    role_give(campaign=draft, user=charlie, role="manager", by=alice)
    client = Client()
    client.force_login(charlie)
    page, theirs = url(draft, "prompts"), campaign.prompt_set
    assert str(theirs.public_id) not in client.get(page).content.decode()
    assert client.post(page, {"use": "yes", "set": str(theirs.public_id)}).status_code == 404
    with pytest.raises(NotAllowed, match="Only members of the organisation"):
        draft_prompt_set(campaign=draft, prompt_set=theirs, by=charlie)
    draft.refresh_from_db()
    assert draft.prompt_set != theirs
    draft_prompt_set(campaign=draft, prompt_set=theirs, by=alice)
    assert draft.prompt_set == theirs


def test_a_private_campaign_that_asks_the_prompts_is_named_to_who_may_know_of_it(
    draft: Campaign, campaign: Campaign, owner: Client, alice: User, charlie: User
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(visibility="private")
    role_give(campaign=draft, user=charlie, role="manager", by=alice)
    draft_prompt_set(campaign=draft, prompt_set=campaign.prompt_set, by=alice)
    client = Client()
    client.force_login(charlie)
    assert "Trial asks these prompts already" in words(owner.get(url(draft, "prompts")))
    shown = words(client.get(url(draft, "prompts")))
    assert ("Another campaign asks these prompts already" in shown, "Trial asks" in shown) == (True, False)
    Campaign.objects.filter(pk=campaign.pk).update(visibility="public")
    assert "Trial asks these prompts already" in words(client.get(url(draft, "prompts")))


def test_a_table_says_for_each_prompt_whose_reply_is_missing(owner: Client, draft: Campaign) -> None:
    fill(owner, draft, chatbots=2, prompts=3)
    assert "Every one of them has a reply to every prompt." in words(owner.get(url(draft, "chatbots")))
    replies = [file("late.csv", "prompt_id,reply\np1,Late.\n")]
    owner.post(url(draft, "chatbots"), {"file": replies})
    owner.post(url(draft, "chatbots"), {"take": "yes"})
    text = words(owner.get(url(draft, "chatbots")))
    assert "Prompt late 1 p0 missing p2 missing" in text


def test_who_sends_annotators_is_set_up_and_the_platforms_address_is_shown(owner: Client, draft: Campaign) -> None:
    given = {"visibility": "public", "admission": "members", "pay_rate": "0.10", "currency": "EUR"}
    lacks = owner.post(url(draft, "annotators"), {**given, "platform": "prolific"})
    assert (lacks.status_code, "needs a completion code" in words(lacks)) == (400, True)
    sent = {**given, "platform": "prolific", "code_complete": "C1AB", "instructions": "Read **both**."}
    assert owner.post(url(draft, "annotators"), sent).status_code == 302
    onboarding = Onboarding.objects.get(campaign=draft)
    assert (onboarding.platform, onboarding.code_complete, onboarding.instructions) == (
        "prolific",
        "C1AB",
        sent["instructions"],
    )
    page = owner.get(url(draft, "annotators")).content.decode()
    assert f"/arrive/{draft.public_id}/?key={arrival_secret(draft)}&amp;PROLIFIC_PID=" in page
    assert "Sent by Prolific" in words(owner.get(url(draft, "review")))
    entry = AuditEntry.objects.filter(after__platform="prolific").get()
    assert entry.before["platform"] == "none"
    owner.post(url(draft, "annotators"), sent)
    assert AuditEntry.objects.filter(after__has_key="platform").count() == 1, "nothing changed the second time"


def test_what_becomes_of_the_judgments_of_who_is_erased_is_chosen_and_shown(owner: Client, draft: Campaign) -> None:
    given = {"visibility": "public", "admission": "open", "pay_rate": "0.10", "currency": "EUR"}
    stays, goes = "They stay, without the person", "They are removed with the person"
    page = words(owner.get(url(draft, "annotators")))
    assert stays in page
    assert goes in page
    assert f"Judgments of who is erased {stays}" in words(owner.get(url(draft, "review"))), "unless it is chosen"
    refused = owner.post(url(draft, "annotators"), {**given, "erasure": "both"})
    assert (refused.status_code, "valid choice" in words(refused)) == (400, True)
    for _ in range(2):
        assert owner.post(url(draft, "annotators"), {**given, "erasure": "remove"}).status_code == 302
        assert Onboarding.objects.get(campaign=draft).erasure == "remove"
        assert f"Judgments of who is erased {goes}" in words(owner.get(url(draft, "review")))
    (entry,) = AuditEntry.objects.filter(after__has_key="erasure")
    assert (entry.before["erasure"], entry.after["erasure"]) == ("keep", "remove")
    assert owner.post(url(draft, "annotators"), given).status_code == 302
    assert Onboarding.objects.get(campaign=draft).erasure == "remove", "who does not say it changes no promise"
    assert owner.post(url(draft, "annotators"), {**given, "erasure": "keep"}).status_code == 302
    assert Onboarding.objects.get(campaign=draft).erasure == "keep"


def test_what_is_missing_is_named_and_launching_is_refused(owner: Client, draft: Campaign) -> None:
    text = words(owner.get(url(draft, "review")))
    assert "Something is missing." in text
    assert "It has no prompts." in text
    answer = owner.post(f"/console/{draft.public_id}/act/launch/")
    assert (answer.status_code, "at least two chatbots" in words(answer)) == (409, True)


@pytest.mark.usefixtures("filled")
def test_the_review_says_where_members_could_be_asked_nothing(
    owner: Client, draft: Campaign, organisation_of_others: Organisation
) -> None:

    def warns(**changes: str) -> bool:
        Campaign.objects.filter(pk=draft.pk).update(**changes)
        return "members judge no chatbot of their own" in words(owner.get(url(draft, "review")))

    assert not warns(visibility="private", admission="members")
    assert warns(visibility="public")
    assert warns(visibility="link")
    assert not warns(admission="open")
    Chatbot.objects.filter(pk__in=list(Chatbot.objects.values_list("pk", flat=True)[:2])).update(
        organisation=organisation_of_others
    )
    assert not warns(admission="members"), "there are two that they may judge"


def test_the_forecast_is_worked_out_by_the_worker_and_asked_once(owner: Client, draft: Campaign) -> None:
    limits = {"target_se": "0.6", "budget": ""}
    forecast = f"/console/{draft.public_id}/forecast/"
    assert "needs two chatbots" in words(owner.post(forecast, limits))
    fill(owner, draft, chatbots=3, prompts=40)
    assert "Computing the forecast" in words(owner.post(forecast, limits))
    run_jobs()
    text = words(owner.post(forecast, limits))
    assert "This campaign" in text
    assert "Without choosing what to ask" in text
    assert re.search(r"\d+ \(\d+ – \d+\)", text)
    assert Inquiry.objects.count() == 1
    assert "Reaches the target" in text
    assert "No target is set" not in text
    assert "must end somewhere" in words(owner.post(forecast, {"target_se": "", "budget": ""}))


@pytest.mark.full
def test_a_forecast_without_an_aim_says_how_far_it_looks(owner: Client, draft: Campaign) -> None:
    limits = {"target_se": "", "budget": "200"}
    fill(owner, draft, chatbots=3, prompts=40)
    owner.post(f"/console/{draft.public_id}/forecast/", limits)
    run_jobs()
    text = words(owner.post(f"/console/{draft.public_id}/forecast/", limits))
    assert "No target is set" in text
    assert "Distinguishes 80 % of the pairs" in text
    assert "Reaches the target" not in text


def test_the_limits_are_saved_and_reviewed_in_the_order_in_which_they_are_asked(owner: Client, draft: Campaign) -> None:
    given = {"min_difference": "0.4", "power": "0.9", "budget": "500", "deadline": "2090-05-04T18:00"}
    assert owner.post(url(draft, "stopping"), given).status_code == 302
    draft.refresh_from_db()
    kept = Limits(None, 0.4, 0.05, 0.9, 500, datetime(2090, 5, 4, 18, tzinfo=UTC))
    assert limits_of(draft.stopping) == kept
    assert AuditEntry.objects.order_by("-pk")[0].after["deadline"] == "2090-05-04 18:00:00+00:00"
    review = words(owner.get(url(draft, "review")))
    order = ["Neighbours that differ by 0.4 are told apart with power 0.9", "500 judgments", "4 May 2090, 18:00 UTC"]
    assert [review.index(line) for line in order] == sorted(review.index(line) for line in order)
    assert "2090-05-04T18:00" in owner.get(url(draft, "stopping")).content.decode(), "it stands in the form again"


def test_a_forecast_that_cannot_be_worked_out_is_a_sentence_to_the_owner(
    owner: Client, draft: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    fill(owner, draft, chatbots=3, prompts=3)
    draft.refresh_from_db()
    beyond = replace(draft_design(draft, Limits(target_se=0.3)), votes_per_item=10**18, batch=10**17)
    inquiry = inquiry_ask(kind=FORECAST, args=asdict(beyond))
    run_jobs()
    inquiry.refresh_from_db()
    assert inquiry.trouble.startswith("No forecast: the numbers of this campaign are too large")
    assert "set a budget" in inquiry.trouble
    assert not caplog.records, "nothing of it is for the log"


def forecasts(owner: Client, draft: Campaign, **limits: str) -> list[tuple[float, float]]:
    """(judgments, share of campaigns that reach the aim) of the campaign and of the design that does not choose."""
    Inquiry.objects.all().delete()
    owner.post(f"/console/{draft.public_id}/forecast/", limits)
    run_jobs()
    rows = (Inquiry.objects.get().result or {})["forecasts"]
    return [(row["forecast"]["judgments"]["middle"], row["forecast"]["reached"]) for row in rows]


@pytest.mark.full
def test_the_forecast_moves_with_budget_and_plan(owner: Client, draft: Campaign) -> None:
    fill(owner, draft, chatbots=4, prompts=30)
    usual = forecasts(owner, draft, target_se="0.5")
    assert forecasts(owner, draft, target_se="0.5", budget="20")[0][0] <= 20
    plan_set(campaign=draft, options=PlanOptions(votes_per_pair=5))
    planned = forecasts(owner, draft, target_se="0.1")[0]
    assert planned == (30.0, 0.0), "six pairs of five votes are all there is"
    assert planned != usual[0]


@pytest.mark.full
def test_the_forecast_moves_with_every_limit_and_with_the_plan(owner: Client, draft: Campaign) -> None:
    fill(owner, draft, chatbots=4, prompts=30)
    draft_change(campaign=draft, changes={"batch_size": 5})  # the finest steps that a forecast can show
    usual = forecasts(owner, draft, target_se="0.5")
    found = forecasts(owner, draft, min_difference="3")[0]
    assert found != usual[0]
    assert forecasts(owner, draft, min_difference="3", power="0.95")[0][1] < found[1], "more power is harder to reach"
    bounded = forecasts(owner, draft, target_se="0.5", budget="20")
    assert bounded[0][0] <= 20
    assert bounded[0][1] < usual[0][1], "with less money the aim is reached less often"
    draft_change(campaign=draft, changes={"per_day": 10})
    soon = timezone.now() + timedelta(days=2, hours=1)
    assert forecasts(owner, draft, target_se="0.5", deadline=f"{soon:%Y-%m-%dT%H:%M}") == bounded, "two days of ten"
    assert forecasts(owner, draft, deadline=f"{soon:%Y-%m-%dT%H:%M}")[0][0] <= 20, "without an aim there is one too"
    plan_set(campaign=draft, options=PlanOptions(target="top", top=1, floor=0.9))
    otherwise = forecasts(owner, draft, target_se="0.5")
    assert otherwise[0] != usual[0], "the forecast is of the plan that the campaign would follow"
    assert otherwise[1] == usual[1]
    plan_set(campaign=draft, options=PlanOptions(votes_per_pair=5))
    assert forecasts(owner, draft, target_se="0.1")[0] == (30, 0.0), "six pairs of five votes are all there is"


def test_a_viewer_sets_nothing_up_and_a_manager_begins_a_campaign_of_the_organisation(
    owner: Client, draft: Campaign, charlie: User
) -> None:
    other = Client()
    other.force_login(charlie)
    member = Membership.objects.create(organisation=draft.organisation, user=charlie, role="viewer")
    assert other.get(url(draft, "goal")).status_code == 403
    assert other.post(f"/console/{draft.public_id}/forecast/").status_code == 403
    Membership.objects.filter(pk=member.pk).update(role="manager")
    assert other.get(url(draft, "goal")).status_code == 200
    chosen = {"organisation": str(draft.organisation.public_id)}
    other.post("/console/new/", {**GOAL, **chosen, "name": "Theirs"})
    assert Campaign.objects.get(name="Theirs").organisation == draft.organisation


def test_an_unknown_step_is_not_found(owner: Client, draft: Campaign) -> None:
    assert owner.get(url(draft, "magic")).status_code == 404


def test_hostile_files_are_shown_as_text(owner: Client, draft: Campaign) -> None:
    row = '"' + HOSTILE.replace('"', '""') + '"'
    owner.post(url(draft, "prompts"), {"file": file("p.csv", f"prompt_id,text\n{row},{row}\n"), "pasted": ""})
    page = owner.get(url(draft, "prompts")).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_only_a_draft_is_set_up(owner: Client, make_campaign: CampaignMaker) -> None:
    make_campaign(start=False)
    Campaign.objects.update(state="paused")
    assert owner.get("/console/trial/setup/goal/").status_code == 409


def test_replies_that_name_their_chatbot_are_flagged_and_masked_or_left_out(owner: Client, draft: Campaign) -> None:
    fill(owner, draft, chatbots=0, prompts=3)
    text = "prompt_id,reply\np0,I am Parrot.\np1,Parrots are birds.\np2,As ChatGPT I know.\n"
    owner.post(url(draft, "chatbots"), {"file": [file("Parrot.csv", text)]})
    page = owner.get(url(draft, "chatbots"))
    assert "2 replies name their chatbot or a maker, so annotators would recognize it: p0, p2" in words(page)
    key = Upload.objects.get(purpose="replies").public_id
    owner.post(url(draft, "chatbots"), {"take": "yes", f"naming-{key}": "mask"})
    replies = draft.entrants.get().version.replies.order_by("prompt__key")
    assert [one.text for one in replies] == ["I am [name].", "Parrots are birds.", "As [name] I know."]
    owner.post(url(draft, "chatbots"), {"file": [file("Parrot.csv", text)]})
    key = Upload.objects.get(purpose="replies").public_id
    owner.post(url(draft, "chatbots"), {"take": "yes", f"naming-{key}": "leave_out", f"name-{key}": "Parrot"})
    assert [one.text for one in draft.entrants.latest("pk").version.replies.all()] == ["Parrots are birds."]


@pytest.mark.usefixtures("filled")
def test_the_review_shows_quota_and_codes_and_warns_of_a_budget_beyond_all_questions(
    owner: Client, draft: Campaign
) -> None:
    onboarding_set(campaign=draft, platform="prolific", code_complete="C-DONE", code_failed="C-FAIL")
    Campaign.objects.filter(pk=draft.pk).update(quota=40)
    owner.post(url(draft, "stopping"), {"budget": "500"})
    review = words(owner.get(url(draft, "review")))
    assert "Judgments of one annotator, at most 40" in review
    assert "Code of finished annotators C-DONE" in review
    assert "Code of annotators who failed C-FAIL" in review
    assert "The budget of 500 judgments exceeds what can be asked: 18." in review
    owner.post(url(draft, "stopping"), {"budget": "18"})
    assert "exceeds what can be asked" not in words(owner.get(url(draft, "review")))
