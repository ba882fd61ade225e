"""Begin of conversations: who may, with which chatbots, and how often."""

import pytest

from evalsite.campaigns.models import Campaign, Study
from evalsite.core.errors import Conflict, NotAllowed
from evalsite.dialogues.endings import conversation_leave
from evalsite.dialogues.models import Conversation, EntrantPause, PlannedSet
from evalsite.dialogues.reports import entrant_resume, reply_report, report_settle
from evalsite.dialogues.selectors import reports_of
from evalsite.dialogues.starting import StartRefusal, conversation_start
from evalsite.dialogues.studies import arm_of
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.dialogues.steps import begin, live_campaign_make, released

pytestmark = pytest.mark.django_db


def test_second_start_returns_the_open_conversation(soba: Campaign, emma: Annotator) -> None:
    first = conversation_start(campaign=soba, annotator=emma, key="one")
    again = conversation_start(campaign=soba, annotator=emma, key="two")
    assert (first.conversation, again.created) == (again.conversation, False)
    assert Conversation.objects.count() == 1


def test_planned_set_is_used_first_and_once(soba: Campaign, emma: Annotator) -> None:
    entrants = "-".join(str(one.pk) for one in soba.entrants.order_by("pk")[1:3])
    PlannedSet.objects.create(campaign=soba, entrants=entrants, policy="adaptive", probability=0.25)
    conversation = begin(soba, emma)
    assert (conversation.chatbot_set, conversation.policy, conversation.probability) == (entrants, "adaptive", 0.25)
    assert not PlannedSet.objects.exists()


def test_random_choice_logs_its_probability(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    assert conversation.policy == "random"
    assert conversation.probability == pytest.approx(1 / 6)


def test_more_than_two_are_the_least_exposed(sata: Campaign, emma: Annotator) -> None:
    first = begin(sata, emma)
    left_out = set(sata.entrants.values_list("pk", flat=True)) - set(first.members.values_list("entrant", flat=True))
    second = begin(sata, annotator_enrol(campaign=sata))
    assert left_out <= set(second.members.values_list("entrant", flat=True))
    assert second.probability == pytest.approx(1 / 3)


def test_single_chatbot_is_drawn_at_random(soba: Campaign, emma: Annotator) -> None:
    soba.live.chatbots_per_conversation, soba.live.selection = 1, "sata"
    soba.live.save()
    assert begin(soba, emma).probability == pytest.approx(1 / 4)


def test_limit_of_conversations_per_set(soba: Campaign, emma: Annotator) -> None:
    sets = set()
    for number in range(6):
        conversation = begin(soba, emma, key=str(number))
        sets.add(conversation.chatbot_set)
        conversation_leave(annotator=emma, conversation_id=conversation.public_id)
    assert len(sets) == 6
    refused = conversation_start(campaign=soba, annotator=emma, key="seventh")
    assert refused.refusal == StartRefusal.LIMIT


def test_too_few_chatbots_refuse_a_start(soba: Campaign, emma: Annotator) -> None:
    for entrant in soba.entrants.order_by("pk")[:3]:
        EntrantPause.objects.create(entrant=entrant)
    refused = conversation_start(campaign=soba, annotator=emma, key="one")
    assert refused.refusal == StartRefusal.CHATBOTS


@pytest.mark.parametrize("state", ["paused", "draft"])
def test_campaign_that_does_not_collect_refuses(soba: Campaign, emma: Annotator, state: str) -> None:
    Campaign.objects.filter(pk=soba.pk).update(state=state)
    expected = {"paused": StartRefusal.PAUSED, "draft": StartRefusal.NOT_STARTED}
    assert conversation_start(campaign=soba, annotator=emma, key="one").refusal == expected[state]


def test_stranger_cannot_start(soba: Campaign) -> None:
    with pytest.raises(NotAllowed):
        conversation_start(campaign=soba, annotator=Annotator.objects.create(), key="one")


def test_static_campaign_has_no_conversations(campaign: Campaign, bob: Annotator) -> None:
    with pytest.raises(Conflict) as refused:
        conversation_start(campaign=campaign, annotator=bob, key="one")
    assert refused.value.code == "static"


def test_reports_pause_a_chatbot(soba: Campaign, emma: Annotator) -> None:
    soba.live.reports_to_pause = 1
    soba.live.save()
    turn = released(begin(soba, emma))
    reply_report(annotator=emma, turn_id=turn.public_id, label="A", reason="harmful", note="Rude.")
    report = reply_report(annotator=emma, turn_id=turn.public_id, label="A", reason="harmful", note="Rude.")
    entrant = turn.replies.shown()[0].entrant
    assert EntrantPause.objects.get().entrant == entrant
    (row,) = reports_of(soba)
    assert (row.chatbot, row.paused, row.message) == (entrant.name, True, "Hello!")
    report_settle(report=report, upheld=False, by=None)
    entrant_resume(entrant=entrant)
    assert not EntrantPause.objects.exists()


def test_study_allocates_evenly_and_stably(soba: Campaign, sata: Campaign) -> None:
    study = Study.objects.create(organisation=soba.organisation, name="Study", seed=3)
    for arm in (soba, sata):
        arm.live.study = study
        arm.live.save()
    people = [Annotator.objects.create() for _ in range(4)]
    arms = [arm_of(study=study, annotator=one) for one in people]
    assert sorted(arm.slug for arm in arms if arm) == ["sata", "sata", "soba", "soba"]
    assert arm_of(study=study, annotator=people[0]) == arms[0]


def test_launch_needs_enough_live_chatbots(soba: Campaign) -> None:
    with pytest.raises(Conflict) as refused:
        live_campaign_make(organisation=soba.organisation, slug="few", chatbots=2, chatbots_per_conversation=3)
    assert refused.value.field == "chatbots_per_conversation"
