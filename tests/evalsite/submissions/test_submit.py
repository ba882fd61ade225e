"""Submitting a chatbot: what is accepted, what is refused, and that nothing is half done."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, TouchstoneError
from evalsite.refits.services import campaign_close
from evalsite.submissions.cards import ChatbotCard
from evalsite.submissions.checks import Submitter, TooManyVersions
from evalsite.submissions.models import Submission, SubmissionFile
from evalsite.submissions.moderation import preview_of, submission_approve, submission_refuse
from evalsite.submissions.services import (
    Accepted,
    submission_check,
    submission_withdraw,
    submissions_accept,
)
from scheduler.reasons import Reason
from tests.evalsite.cast import run_jobs
from tests.evalsite.submissions.steps import FAULTY, last_event, replies, sending, sending_endpoint, states, submit


def test_moderated_submission_waits_and_keeps_its_file(board: Campaign, submitter: User) -> None:
    made = submit(board, submitter)
    assert states(made) == ["received", "checked", "waiting"]
    assert made.version is None
    assert SubmissionFile.objects.get().submission == made
    assert not Chatbot.objects.filter(name="Newcomer").exists()


def test_faulty_file_is_refused_with_its_rows(board: Campaign, submitter: User) -> None:
    made = submit(board, submitter, sending(FAULTY))
    assert states(made) == ["received", "refused"]
    assert [row["line"] for row in made.report["rows"]] == [3, 4, 5]
    assert made.report["missing"] == ["p1", "p3", "p4", "p5"]
    assert last_event(made).reason == "3 rows of its file are refused"
    assert not SubmissionFile.objects.exists()


def test_submitting_again_after_a_refusal_keeps_the_label(board: Campaign, submitter: User) -> None:
    submit(board, submitter, sending(FAULTY))
    assert submit(board, submitter).label == "1"


def test_dry_run_writes_nothing(board: Campaign, submitter: User) -> None:
    who = Submitter(submitter, submitter.personal_organisation)
    checked = submission_check(campaign=board, who=who, sent=sending(FAULTY))
    assert not checked.accepted
    assert not Submission.objects.exists()


def test_approved_submission_joins_with_its_replies(board: Campaign, submitter: User, alice: User) -> None:
    made = submission_approve(submission=submit(board, submitter), by=alice)
    assert made.state == "joined"
    assert made.version is not None
    assert Reply.objects.filter(version=made.version).count() == 6
    assert made.version.chatbot.organisation == submitter.personal_organisation
    assert board.entrants.filter(version=made.version, state="active").exists()
    assert not SubmissionFile.objects.exists()


def test_open_campaign_lets_a_submission_join_at_once(open_board: Campaign, submitter: User) -> None:
    assert states(submit(open_board, submitter)) == ["received", "checked", "joined"]


def test_refusal_by_a_moderator_tells_its_reason(board: Campaign, submitter: User, alice: User) -> None:
    made = submit(board, submitter, sending(mails=True))
    submission_refuse(submission=made, reason="The replies name their maker.", by=alice)
    run_jobs()
    assert last_event(made).reason_text == "The replies name their maker."
    assert [one.to for one in mail.outbox] == [["sam@example.org"]] * 4
    assert "The replies name their maker." in str(mail.outbox[-1].body)
    with pytest.raises(Conflict, match="does not wait"):
        submission_approve(submission=made, by=alice)


def test_new_version_of_the_same_chatbot_gets_the_next_number(open_board: Campaign, submitter: User) -> None:
    first = submit(open_board, submitter)
    second = submit(open_board, submitter, sending(replies("Perhaps")))
    assert first.version is not None
    assert second.version is not None
    assert (second.label, second.version.chatbot) == ("2", first.version.chatbot)


def test_withdrawn_version_stays_marked(open_board: Campaign, submitter: User) -> None:
    made = submission_withdraw(submission=submit(open_board, submitter), reason="A bug.", by=submitter)
    assert made.state == "withdrawn"
    assert open_board.entrants.get(version=made.version).withdrawn_reason == "A bug."
    with pytest.raises(Conflict, match="withdrawn already"):
        submission_withdraw(submission=made, by=submitter)


def test_stranger_cannot_withdraw(open_board: Campaign, submitter: User, charlie: User) -> None:
    made = submit(open_board, submitter)
    with pytest.raises(NotAllowed):
        submission_withdraw(submission=made, by=charlie)


LATE = timezone.now() - timedelta(seconds=1)
REFUSED = [
    ({"admission": "closed"}, {}, "submissions_closed"),
    ({"deadline": LATE}, {}, "deadline_passed"),
    ({"takes": "endpoint"}, {}, "kind"),
    ({"terms": "Be fair."}, {}, "terms_not_accepted"),
    ({"organisations": ("alice",)}, {}, "organisation_not_allowed"),
    ({}, {"name": "trial bot 1"}, "name_taken"),
    ({}, {"name": "Trial  Bot 1"}, "name_taken"),
    ({}, {"name": "trial b\u043et 1"}, "invalid"),
    ({}, {"name": ""}, "invalid"),
    ({}, {"link": "javascript:alert(1)"}, "invalid"),
    ({}, {"content": b"prompt_id,reply\np0,\xff\n"}, "invalid"),
]


@pytest.mark.parametrize(("accepted", "sent", "code"), REFUSED, ids=range(len(REFUSED)))
def test_refused_request_writes_nothing(
    board: Campaign, submitter: User, accepted: dict[str, Any], sent: dict[str, Any], code: str
) -> None:
    submissions_accept(campaign=board, accepted=Accepted(**{"admission": "open", **accepted}))
    with pytest.raises(TouchstoneError) as refused:
        submit(board, submitter, sending(**sent))
    assert refused.value.code == code
    assert not Submission.objects.exists()


def test_endpoint_is_refused_where_files_are_taken(board: Campaign, submitter: User) -> None:
    submissions_accept(campaign=board, accepted=Accepted(admission="open", takes="file"))
    with pytest.raises(InvalidInput, match="not endpoints"):
        submit(board, submitter, sending_endpoint())


def test_duplicate_file_is_named(board: Campaign, submitter: User) -> None:
    submit(board, submitter)
    reordered = b"prompt_id,reply\n" + b"".join(reversed(replies().splitlines(keepends=True)[1:]))
    with pytest.raises(Conflict, match="Newcomer 1") as refused:
        submit(board, submitter, sending(reordered, label="again"))
    assert refused.value.code == "duplicate"


def test_versions_of_a_week_are_limited(open_board: Campaign, submitter: User) -> None:
    submissions_accept(campaign=open_board, accepted=Accepted(admission="open", versions_per_week=1))
    submit(open_board, submitter, sending(FAULTY))  # which does not count
    first = submit(open_board, submitter)
    with pytest.raises(TooManyVersions) as refused:
        submit(open_board, submitter, sending(replies("Perhaps")))
    assert 0 < refused.value.retry_after_s <= 7 * 86_400
    Submission.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(days=8))
    assert submit(open_board, submitter, sending(replies("Perhaps"))).state == "joined"


def test_standing_board_that_a_rule_stopped_opens_again(open_board: Campaign, submitter: User) -> None:
    Campaign.objects.filter(pk=open_board.pk).update(newcomer_budget=40)
    campaign_close(campaign=open_board, reason=Reason("budget_spent", {"judgments": 5, "budget": 5}))
    assert (open_board.waits_for_chatbots, open_board.state_label) == (True, "Waiting for new chatbots")
    submit(open_board, submitter)
    open_board.refresh_from_db()
    assert (open_board.state, open_board.opened_again) == ("running", True)


def test_method_page_names_the_budget_that_a_newcomer_has_raised(
    open_board: Campaign, submitter: User, client: Client
) -> None:
    Campaign.objects.filter(pk=open_board.pk).update(newcomer_budget=40)
    StoppingSpec.objects.filter(campaign=open_board).update(budget=100)
    for most in (100, 140):
        page = client.get(f"/boards/{open_board.slug}/method/").content.decode()
        assert f"It collects at most {most} judgments." in page
        submit(open_board, submitter, sending(replies(f"Surely {most}")))


def test_board_that_a_person_closed_takes_nothing(open_board: Campaign, submitter: User, alice: User) -> None:
    campaign_close(campaign=open_board, reason="enough", by=alice)
    with pytest.raises(Conflict) as refused:
        submit(open_board, submitter)
    assert refused.value.code == "campaign_over"


def test_board_closed_between_check_and_write_takes_nothing(
    board: Campaign, submitter: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalsite.submissions import services

    before = services._source_check

    def closes(*args: Any) -> Any:
        report = before(*args)
        submissions_accept(campaign=board, accepted=Accepted())
        return report

    monkeypatch.setattr(services, "_source_check", closes)
    with pytest.raises(Conflict) as refused:
        submit(board, submitter)
    assert refused.value.code == "submissions_closed"
    assert not Submission.objects.exists()


def test_name_of_a_waiting_submission_is_taken(board: Campaign, submitter: User, charlie: User) -> None:
    submit(board, submitter)
    with pytest.raises(Conflict) as refused:
        submit(board, charlie, sending(replies("Perhaps")))
    assert refused.value.code == "name_taken"


def test_submitter_of_a_viewer_role_may_not_submit(board: Campaign, charlie: User, organisation: Organisation) -> None:
    from evalsite.accounts.models import Membership
    from evalsite.submissions.services import submission_create

    Membership.objects.create(organisation=organisation, user=charlie, role="viewer")
    with pytest.raises(NotAllowed):
        submission_create(campaign=board, who=Submitter(charlie, organisation), sent=sending())


def test_flags_name_what_a_moderator_should_see(board: Campaign, submitter: User) -> None:
    content = (
        b'prompt_id,reply\np0,I am ChatGPT by OpenAI.\np1,"I\'m sorry, but I cannot help."\n'
        b"p2,N/A\np3,Same.\np4,Same.\n"
    )
    made = submit(board, submitter, sending(content, name="trial b0t 3"))
    found = {flag.code: flag.count for flag in preview_of(made).flags}
    assert found == {"maker_name": 1, "refusal": 1, "empty": 1, "identical": 2, "name": 1, "missing": 1}


def test_preview_shows_replies_beside_prompts(board: Campaign, submitter: User) -> None:
    shown = preview_of(submit(board, submitter))
    assert (shown.total, shown.replies[0].prompt, shown.replies[0].reply) == (6, "Question 0?", "Surely 0.")


def test_card_is_kept(board: Campaign, submitter: User) -> None:
    sent = replace(sending(), card=ChatbotCard("Newcomer", link="https://example.org", licence="MIT"))
    assert submit(board, submitter, sent).card["licence"] == "MIT"
