"""What a campaign accepts, in its file: written, read, and taken in as a draft."""

from typing import Any

import pytest
import yaml

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.exchange.campaign_file.draft import campaign_take
from evalsite.exchange.campaign_file.problems import CampaignFileError
from evalsite.exchange.campaign_file.reader import campaign_read
from evalsite.exchange.campaign_file.writer import campaign_write
from evalsite.submissions.selectors import settings_of
from evalsite.submissions.services import Accepted, accepted_of, submissions_accept

WANTED: dict[str, Any] = {
    "admission": "moderated",
    "takes": "file",
    "organisations": ("alice",),
    "versions_per_week": 2,
    "licence_note": "CC BY 4.0.",
    "terms": "Reply yourself.",
    "prompts_downloadable": True,
}


def test_what_is_accepted_survives_the_file(board: Campaign, submitter: User, organisation: Organisation) -> None:
    Campaign.objects.filter(pk=board.pk).update(newcomer_budget=300)
    board.refresh_from_db()
    submissions_accept(campaign=board, accepted=Accepted(**WANTED))
    whole = yaml.safe_load(campaign_write(board))
    assert whole["submissions"]["versions_per_week"] == 2
    whole["campaign"]["slug"] = "again"
    taken = campaign_take(
        organisation=submitter.personal_organisation, given=campaign_read(yaml.safe_dump(whole, sort_keys=False))
    )
    assert accepted_of(settings_of(taken)) == Accepted(**WANTED)
    assert (taken.standing, taken.newcomer_budget) == (True, 300)


def test_unknown_value_is_named_with_its_line(board: Campaign) -> None:
    text = campaign_write(board).replace("admission: moderated", "admission: sometimes")
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(text)
    assert [one.key for one in caught.value.problems] == ["submissions.admission"]
