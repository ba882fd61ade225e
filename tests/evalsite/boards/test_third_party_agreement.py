"""Agreement of third parties with the live choices, as the live report shows it."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.services import user_create
from evalsite.boards.live_report import live_report_content
from evalsite.boards.live_reports import live_report_request, report_mark
from evalsite.boards.services import board_default
from evalsite.boards.third_parties import third_party_content
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.models import Campaign
from evalsite.dialogues.models import ReviewedTurn
from evalsite.dialogues.third_parties import third_parties_ask
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Enrolment, Judgment, Place
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import assignment_claim, run_jobs
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def olga(organisation: Organisation) -> User:
    user = user_create(username="olga", password=None)
    Membership.objects.create(organisation=organisation, user=user, role="owner")
    return user


@shared
def talk(organisation: Organisation) -> Campaign:
    """SATA of two chatbots, whose annotators selected every pattern once."""
    campaign = live_campaign_rows(organisation, selection="sata")
    for pattern in ("10", "01", "11", "00"):
        conversation_rows(campaign, ["10", pattern])
    board_default(campaign=campaign)
    return campaign


@shared
def draft(talk: Campaign, olga: User) -> Campaign:
    return third_parties_ask(campaign=talk, by=olga)


def judged(draft: Campaign, prompt: Prompt, annotator: Annotator, pattern: str, versions: list[int]) -> Judgment:
    """A judgment on the two replies, by a pattern over these versions; the second one is shown first."""
    now, item = timezone.now(), f"{prompt.pk}:{versions}"
    place = Place.objects.create(campaign=draft, prompt=prompt, item=item)
    own = Assignment.objects.create(
        campaign=draft,
        place=place,
        item=item,
        annotator=annotator,
        state="answered",
        closed_at=now,
        issued_at=now,
        lease_until=now,
    )
    entrants = {one.version_id: one for one in draft.entrants.all()}
    batch, _ = Batch.objects.get_or_create(campaign=draft, number=1, defaults={"state": "closed", "closed_at": now})
    judgment = Judgment.objects.create(assignment=own, annotator=annotator, batch=batch, answered_at=now)
    shown = {}
    for position, version in enumerate(reversed(versions)):
        reply = prompt.replies.get(version=version)
        entrant = entrants[version]
        shown[version] = Candidate.objects.create(assignment=own, position=position, entrant=entrant, reply=reply)
    value = {"11": "tie", "00": "both_bad"}.get(pattern, "chosen")
    chosen = {"10": shown[versions[0]], "01": shown[versions[1]]}.get(pattern)
    Answer.objects.create(judgment=judgment, aspect=draft.rubric.aspects.get(), candidate=chosen, value=value)
    return judgment


def live_pattern(row: ReviewedTurn) -> str:
    """What the live annotator selected, over the campaign's chatbots."""
    answers = Answer.objects.filter(judgment__assignment=row.turn.assignment, candidate__isnull=False)
    chosen = set(answers.values_list("candidate__entrant", flat=True))
    return "".join(str(int(one.pk in chosen)) for one in row.turn.conversation.campaign.entrants.order_by("pk"))


def judge_all(draft: Campaign, talk: Campaign, *, flipped: bool = False, people: int = 2) -> list[Annotator]:
    versions = list(talk.entrants.order_by("pk").values_list("version", flat=True))
    annotators = [Annotator.objects.create() for _ in range(people)]
    for row in ReviewedTurn.objects.filter(review__campaign=draft).select_related("turn__conversation", "prompt"):
        pattern = live_pattern(row)
        given = "".join("10"[int(one)] for one in pattern) if flipped else pattern
        for annotator in annotators:
            judged(draft, row.prompt, annotator, given, versions)
    return annotators


def test_nobody_has_judged_yet(talk: Campaign, draft: Campaign) -> None:
    assert third_party_content(talk) == []


def test_equal_judgments_agree_perfectly(talk: Campaign, draft: Campaign) -> None:
    judge_all(draft, talk)
    (found,) = third_party_content(talk)
    assert (found["turns"], found["annotators"], found["judgments"]) == (4, 2, 8)
    assert (found["same"], found["compared"]) == (8, 8)
    assert found["with_live"]["krippendorff"]["value"] == pytest.approx(1.0)
    assert found["among_themselves"]["fleiss"]["value"] == pytest.approx(1.0)


def test_opposite_judgments_disagree_with_the_live_choice_alone(talk: Campaign, draft: Campaign) -> None:
    judge_all(draft, talk, flipped=True)
    (found,) = third_party_content(talk)
    assert found["same"] == 0
    assert found["with_live"]["krippendorff"]["value"] < 0
    assert found["among_themselves"]["krippendorff"]["value"] == pytest.approx(1.0)


def test_excluded_third_parties_do_not_count_and_the_report_is_renewed(
    talk: Campaign, draft: Campaign, olga: User
) -> None:
    before = report_mark(talk)
    first, second = judge_all(draft, talk)
    judged_mark = report_mark(talk)
    annotator_exclude(campaign=draft, annotator=second, reason="tapped one key", by=olga)
    assert len({before, judged_mark, report_mark(talk)}) == 3
    (found,) = third_party_content(talk)
    assert (found["annotators"], found["judgments"]) == (1, 4)
    assert found["among_themselves"]["krippendorff"]["value"] is None
    assert first != second


def test_a_launched_sample_is_claimed_judged_and_survives_an_erasure(
    talk: Campaign, draft: Campaign, olga: User
) -> None:
    draft_change(
        campaign=draft,
        changes={"visibility": "public", "admission": "open", "vetting_votes": 0, "block_size": 2},
        by=olga,
    )
    campaign_open(campaign=draft, by=olga)
    run_jobs()
    third = annotator_enrol(campaign=draft)
    claimed = assignment_claim(campaign=draft, annotator=third)
    assert len(claimed) == 2
    for one in claimed:
        judgment_record(annotator=third, assignment_id=one.public_id, choices={"fine": "tie"})
    gone = ReviewedTurn.objects.exclude(prompt__places__assignments__in=claimed).select_related("turn__conversation")
    erased = gone.order_by("pk")[0]
    annotator = erased.turn.conversation.annotator
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=annotator))
    later = assignment_claim(campaign=draft, annotator=third)
    assert erased.prompt_id not in {one.place.prompt_id for one in later}
    assert later
    (found,) = third_party_content(talk)
    assert (found["judgments"], found["compared"]) == (2, 2)


def test_the_best_of_three_says_nothing_of_the_other_two(organisation: Organisation, olga: User) -> None:
    talk = live_campaign_rows(organisation, slug="three", chatbots=3)
    conversation_rows(talk, ["100", "100"])
    draft = third_parties_ask(campaign=talk, by=olga)
    row = ReviewedTurn.objects.select_related("prompt").get()
    a, b, c = talk.entrants.order_by("pk").values_list("version", flat=True)
    third = Annotator.objects.create()
    judged(draft, row.prompt, third, "10", [a, b])
    judged(draft, row.prompt, third, "10", [b, c])
    (found,) = third_party_content(talk)
    assert (found["judgments"], found["compared"], found["same"]) == (2, 1, 1)


def test_the_console_makes_the_draft_and_shows_the_coefficient(talk: Campaign, olga: User) -> None:
    client = Client()
    client.force_login(olga)
    home = f"/console/{talk.public_id}"
    assert "4 conversations can be drawn" in words(client.get(f"{home}/live-report/"))
    assert client.post(f"{home}/third-parties/", {"conversations": "0"}).status_code == 400
    made = client.post(f"{home}/third-parties/", {"conversations": "4"})
    draft = Campaign.objects.get(review__source=talk)
    assert made.headers["Location"] == f"/console/{draft.public_id}/prompts/"
    judge_all(draft, talk)
    live_report_request(talk)
    run_jobs()
    shown = words(client.get(f"{home}/live-report/"))
    assert "Krippendorff's alpha (nominal)" in shown
    assert draft.name in shown
    content, _ = live_report_content(talk)
    assert len(content["third_parties"]) == 1


def test_viewers_make_no_sample(talk: Campaign, organisation: Organisation) -> None:
    viewer = user_create(username="vera", password=None)
    Membership.objects.create(organisation=organisation, user=viewer, role="viewer")
    client = Client()
    client.force_login(viewer)
    assert "Make a draft" not in words(client.get(f"/console/{talk.public_id}/live-report/"))
    assert client.post(f"/console/{talk.public_id}/third-parties/", {"conversations": "4"}).status_code == 403
    assert not Campaign.objects.filter(review__source=talk).exists()
