"""Studies: arms are copies of a live draft, are launched together, and get annotators at random."""

from typing import Any

import pytest

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect, Campaign, Entrant, Study
from evalsite.campaigns.studies import Arms, study_create
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.dialogues.models import StudyAllocation
from evalsite.dialogues.studies import arm_of
from evalsite.judgments.models import Annotator
from evalsite.operations.studies import study_open
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.shared import shared

ALL = ("soba", "sata_random", "sata_written")


@shared
def draft(organisation: Organisation) -> Campaign:
    """A live draft with four chatbots, two of them per conversation."""
    return live_campaign_make(organisation=organisation, slug="draft", start=False, minimum_turns=7)


def arms_of(study: Study) -> list[Campaign]:
    return list(Campaign.objects.filter(live__study=study).select_related("live").order_by("pk"))


def chatbots_of(arm: Campaign) -> list[int]:
    active = arm.entrants.filter(state=Entrant.State.ACTIVE)
    return sorted(active.values_list("version", flat=True))


def test_every_setting_set_and_repetition_makes_an_arm(draft: Campaign) -> None:
    entrants = list(draft.entrants.order_by("pk"))
    sets = ([one.pk for one in entrants[:2]], [one.pk for one in entrants[1:]])
    study = study_create(campaign=draft, name=" Pilot study ", arms=Arms(ALL, sets, repetitions=2))
    arms = arms_of(study)
    assert (study.name, len(arms), arms[0]) == ("Pilot study", 12, draft)
    made = {(arm.live.setting, tuple(chatbots_of(arm)), arm.live.repetition) for arm in arms}
    versions = [tuple(sorted(one.version_id for one in chosen)) for chosen in (entrants[:2], entrants[1:])]
    assert made == {(setting, members, n) for setting in ALL for members in versions for n in (1, 2)}
    assert {arm.live.minimum_turns for arm in arms} == {7}
    assert len({arm.slug for arm in arms} | {arm.prompt_set_id for arm in arms}) == 24
    kinds = {(arm.live.selection, Aspect.objects.get(rubric=arm.rubric, position=0).kind) for arm in arms}
    assert kinds == {("soba", "choose_one"), ("sata", "select_any")}


def test_arms_are_launched_together_and_get_annotators_evenly(draft: Campaign) -> None:
    study = study_create(campaign=draft, name="Study", arms=Arms(ALL))
    assert [arm.state for arm in arms_of(study)] == ["draft"] * 3
    study_open(study=study)
    people = [Annotator.objects.create() for _ in range(6)]
    given = [arm_of(study=study, annotator=one) for one in people]
    assert sorted(arm.pk for arm in given if arm) == sorted([arm.pk for arm in arms_of(study)] * 2)
    assert [arm_of(study=study, annotator=one) for one in people] == given
    odds = StudyAllocation.objects.order_by("pk").values_list("probability", flat=True)
    assert list(odds) == pytest.approx([1 / 3, 1 / 2, 1] * 2)


def test_no_arm_starts_where_one_cannot(draft: Campaign) -> None:
    study = study_create(campaign=draft, name="Study", arms=Arms(ALL[:2]))
    last = arms_of(study)[-1]
    last.entrants.update(state=Entrant.State.WITHDRAWN)
    with pytest.raises(Conflict):
        study_open(study=study)
    assert [arm.state for arm in arms_of(study)] == ["draft"] * 2


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"settings": ("sota",)}, "settings"),
        ({"settings": ()}, "settings"),
        ({"settings": ("soba", "soba")}, "settings"),
        ({"settings": ("soba",)}, "settings"),
        ({"settings": ALL, "repetitions": 9}, "settings"),
        ({"settings": ALL, "repetitions": 0}, "repetitions"),
        ({"settings": ALL, "repetitions": 11}, "repetitions"),
        ({"settings": ALL, "repetitions": True}, "repetitions"),
        ({"settings": ALL, "chatbot_sets": ((0, 1),)}, "chatbot_sets"),
        ({"settings": ALL, "chatbot_sets": ((),)}, "chatbot_sets"),
    ],
)
def test_impossible_arms_are_refused_with_nothing_made(draft: Campaign, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        study_create(campaign=draft, name="Study", arms=Arms(**given))
    assert refused.value.field == field
    assert (Study.objects.count(), Campaign.objects.count()) == (0, 1)


def test_only_a_free_live_draft_and_a_free_name_make_a_study(draft: Campaign, organisation: Organisation) -> None:
    other = live_campaign_make(organisation=organisation, slug="other", start=False)
    study_create(campaign=draft, name="Study", arms=Arms(ALL[:2]))
    running = live_campaign_make(organisation=organisation, slug="running")
    for campaign, name in ((draft, "Another"), (running, "Another"), (other, "Study")):
        with pytest.raises(Conflict):
            study_create(campaign=campaign, name=name, arms=Arms(ALL[:2]))
    with pytest.raises(InvalidInput):
        study_create(campaign=other, name=" ", arms=Arms(ALL[:2]))
