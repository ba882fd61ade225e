"""What make.py's database has of live campaigns, conversation sets, submissions and webhooks.

Imported once Django is set up. No endpoint and no webhook is called: the outcome of each call is made up here.
"""

from collections.abc import Callable

from django.utils import timezone

from evalsite.accounts.first_administrator import setup_link_issue
from evalsite.accounts.members import member_invite
from evalsite.accounts.models import SingleSignOnIdentity, User
from evalsite.accounts.services import organisation_create, user_create
from evalsite.boards.live_reports import live_report_request
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.studies import Arms, study_create
from evalsite.core.models import Job
from evalsite.dialogues.endings import conversation_end
from evalsite.dialogues.models import Conversation
from evalsite.dialogues.reports import entrant_pause, reply_report
from evalsite.dialogues.studies import arm_of
from evalsite.dialogues.third_parties import third_parties_ask
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import CallBudget, Collection, Drift, Endpoint, EndpointCheck
from evalsite.endpoints.services import secret_set
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.network_traces import network_trace_record
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.operations.studies import study_open
from evalsite.scorecards.annotation import AnnotationRequest, annotation_create
from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.reply_sampling import SampleRequest
from evalsite.scorecards.services import conversation_set_open, conversations_add, user_erase
from evalsite.submissions.models import SubmissionSettings
from evalsite.submissions.services import Accepted, submissions_accept
from evalsite.webhooks.models import Delivery
from evalsite.webhooks.services import webhook_create, webhook_test
from tests.evalsite.cast import assignment_claim
from tests.evalsite.dialogues.steps import answer_all, begin, choose, endpoint_of, live_campaign_make, post, released
from tests.evalsite.submissions.steps import FAULTY, sending, submit


def conversations_run(work: Callable[[], None]) -> None:
    """Chat in both settings, annotate conversations, submit a chatbot, and tell webhooks."""
    alice = User.objects.get(username="alice")
    soba = live_campaign_make(organisation=alice.personal_organisation, slug="chat")
    talks = [_talk(soba, annotator_enrol(campaign=soba)) for _ in range(4)]
    _troubles(soba)
    work()
    _arms(alice)
    work()
    _annotated(alice)
    work()
    live_report_request(soba)
    work()
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=talks[0].annotator))
    third_parties_ask(campaign=soba, by=alice, conversations=3)
    _submitted(alice)
    work()
    _accounts(alice)
    work()


def _talk(campaign: Campaign, annotator: Annotator, pick: object = "A") -> Conversation:
    conversation = begin(campaign, annotator)
    Conversation.objects.filter(pk=conversation.pk).update(consents_to_review=True)
    for number in range(3):
        choose(released(conversation, f"Message {number}: ü, 語"), pick)
    return conversation_end(annotator=annotator, conversation_id=conversation.public_id, rating=4, feedback="Friendly.")


def _troubles(campaign: Campaign) -> None:
    """A failed reply, a reported one, a paused chatbot, and a turn that is still open."""
    annotator = annotator_enrol(campaign=campaign)
    conversation = begin(campaign, annotator)
    turn = released(conversation)
    reply_report(annotator=annotator, turn_id=turn.public_id, label="A", reason="harmful", note="made up")
    choose(turn)
    failing = post(conversation, "And now?")
    answer_all({endpoint_of(failing, 0): ErrorClass.REJECTED})
    entrant_pause(entrant=campaign.entrants.order_by("pk")[3])
    post(begin(campaign, annotator_enrol(campaign=campaign)), "Is anybody there?")


def _arms(alice: User) -> None:
    """A study of two settings, with a conversation in an arm of sets."""
    draft = live_campaign_make(organisation=alice.personal_organisation, slug="arms", chatbots=2, start=False)
    study = study_create(campaign=draft, name="Two settings", arms=Arms(("soba", "sata_random")))
    study_open(study=study, by=alice)
    annotator = annotator_enrol(campaign=draft)
    arm = arm_of(study=study, annotator=annotator)
    assert arm is not None
    annotator_enrol(campaign=arm, annotator=annotator)
    _talk(arm, annotator, ["A"] if arm.live.selection == "sata" else "A")


def _annotated(alice: User) -> None:
    """A set of conversations with ratings, an erased user, and a campaign that annotates its replies."""
    found = conversation_set_open(organisation=alice.personal_organisation, name="Talks")
    made = [_conversation(n) for n in range(6)]
    conversations_add(conversation_set=found, conversations=made)
    user_erase(conversation_set=found, user_id="user-5", by=alice)
    _label(found)


def _conversation(number: int) -> ScoredConversation:
    name, chatbot, user = f"talk-{number}", f"Bot {'AB'[number % 2]}", f"user-{number}"
    turns = [
        turn
        for n in range(3)
        for turn in (ScoredTurn(Speaker.USER, f"Question {n}?"), ScoredTurn(Speaker.CHATBOT, f"Answer {n}."))
    ]
    rating = ConversationRating(name, chatbot, "overall", float(1 + number % 5), user_id=user)
    return ScoredConversation(name, chatbot, tuple(turns), user, ratings=(rating,))


def _label(found: ConversationSet) -> None:
    campaign = annotation_create(conversation_set=found, request=AnnotationRequest("Errors", SampleRequest(share=1.0)))
    Campaign.objects.filter(pk=campaign.pk).update(visibility="link", admission="open", vetting_votes=0)
    campaign.refresh_from_db()
    campaign_open(campaign=campaign)
    annotator = annotator_enrol(campaign=campaign)
    key = campaign.rubric.aspects.get(position=0).key
    for held in assignment_claim(campaign=campaign, annotator=annotator)[:2]:
        judgment_record(annotator=annotator, assignment_id=held.public_id, choices={key: []})


def _submitted(alice: User) -> None:
    board = Campaign.objects.get(slug="trial")
    Campaign.objects.filter(pk=board.pk).update(standing=True)
    submissions_accept(campaign=board, accepted=Accepted(admission="moderated", prompts_downloadable=True))
    board.refresh_from_db()
    sam = user_create(username="sam", password=None)
    submit(board, sam, sending(b"prompt_id,reply\n" + b"".join(b"p%d,Surely.\n" % n for n in range(5))))
    submit(board, sam, sending(FAULTY, name="Faulty"))
    SubmissionSettings.objects.get(campaign=board).organisations.add(alice.personal_organisation)


def _accounts(alice: User) -> None:
    """Invitations, single sign-on, a secret of an endpoint, and a webhook with a delivery that failed."""
    setup_link_issue()
    laboratory = organisation_create(name="Laboratory", owner=alice)
    member_invite(slug=laboratory.slug, email="new@example.org", role="manager", by=alice)
    SingleSignOnIdentity.objects.create(user=alice, issuer="https://login.example.org", subject="alice")
    _endpoint(Endpoint.objects.order_by("pk")[0])
    webhook, _ = webhook_create(user=alice, url="https://hooks.example.org/")
    webhook_test(webhook=webhook)
    Delivery.objects.update(state=Delivery.State.FAILED)
    Job.objects.filter(state=Job.State.QUEUED).delete()


def _endpoint(endpoint: Endpoint) -> None:
    """A secret, a check that passed, a model that changed, and a collection with a budget, which has ended."""
    secret_set(endpoint=endpoint, secret="made-up-secret")
    now = timezone.now()
    endpoint.checks.create(kind=EndpointCheck.Kind.DAILY, state=EndpointCheck.State.PASSED, finished_at=now)
    endpoint.drifts.create(sign=Drift.Sign.MODEL, value="model-0-new", before="model-0", outcome=Drift.Outcome.OPEN)
    chat = Campaign.objects.get(slug="chat")
    trial = Campaign.objects.get(slug="trial")
    endpoint.collections.create(prompt_set=trial.prompt_set, state=Collection.State.COMPLETE, finished_at=now)
    Campaign.objects.filter(pk=chat.pk).update(call_budget=CallBudget.objects.create(currency="USD", cap=5))
    network_trace_record(campaign=chat, annotator=chat.enrolments.order_by("pk")[0].annotator_id, address="192.0.2.1")
