"""`manage.py study`: what it makes, what it prints, and what it refuses."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign, Study
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.shared import shared


@shared
def draft(organisation: Organisation) -> Campaign:
    return live_campaign_make(organisation=organisation, slug="talk", start=False)


def test_it_launches_an_arm_for_each_set_and_setting(draft: Campaign) -> None:
    out = StringIO()
    sets = ("--chatbots=talk speaker 0,talk speaker 1", "--chatbots=talk speaker 2, talk speaker 3")
    settings = ("--setting=soba", "--setting=sata_written")
    call_command("study", "talk", "--name=How", *settings, *sets, "--launch", stdout=out)
    *arms, address = out.getvalue().splitlines()
    assert len(arms) == 4
    assert arms[0] == "talk: soba, repetition 1, running (talk speaker 0, talk speaker 1)"
    assert address.endswith(f"/studies/{Study.objects.get().public_id}/")


@pytest.mark.parametrize(
    ("slug", "more", "told"),
    [
        ("none", (), "There is no campaign"),
        ("talk", ("--chatbots=talk speaker 0,nobody",), "no chatbot 'nobody'"),
        ("talk", (), "has 2 to 24 arms"),
        ("talk", ("--repetitions=0",), "not a number from 1 to 10"),
        ("talk", ("--setting=best",), "invalid choice"),
    ],
)
def test_it_refuses_with_nothing_made(draft: Campaign, slug: str, more: tuple[str, ...], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        call_command("study", slug, "--name=How", "--setting=soba", *more, stdout=StringIO())
    assert (Study.objects.count(), Campaign.objects.count()) == (0, 1)
