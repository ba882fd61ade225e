"""`manage.py annotate_conversations` and the part `annotation` of campaign files: a sample of replies to judge."""

import json
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write
from evalsite.scorecards.models import AnnotatedReply, ConversationSet
from evalsite.scorecards.services import conversation_set_open, conversations_add
from tests.evalsite.scorecards.test_annotation import conversation
from tests.shared import shared

FILE = """\
touchstone: 1
campaign: {name: Errors, slug: errors, mode: single}
annotation: {set: Talks, number: 4}
aspects:
- {key: error, question: Is it correct?, kind: label, labels: [correct, incorrect], one_label: true}
"""


@shared
def talks(organisation: Organisation) -> ConversationSet:
    """Four conversations of three replies, of two chatbots by turns."""
    found = conversation_set_open(organisation=organisation, name="Talks")
    conversations_add(conversation_set=found, conversations=[conversation(n, f"Bot {'AB'[n % 2]}") for n in range(4)])
    return found


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("annotate_conversations", *arguments, stdout=out)
    return out.getvalue()


class TestCommand:
    def test_sample_is_launched(self, talks: ConversationSet) -> None:
        found = json.loads(run("--set", "Talks", "--share", "0.5", "--votes", "2", "--json"))
        assert [one["drawn"] for one in found["sample"]] == [3, 3]
        assert (found["judgments"], found["campaign"]["state"]) == (12, "running")
        assert AnnotatedReply.objects.count() == 6

    def test_check_prints_the_size_and_makes_nothing(self, talks: ConversationSet) -> None:
        assert "12 judgments on 12 replies" in run("--set", "Talks", "--half-width", "0.05", "--check")
        assert not Campaign.objects.exists()

    def test_ratings_and_drafts_may_be_chosen(self, talks: ConversationSet) -> None:
        run("--set", "Talks", "--number", "2", "--whole", "--rating", "1", "5", "--error-below", "3", "--draft")
        campaign = Campaign.objects.get()
        assert (campaign.state, campaign.rubric.aspects.get().maximum) == ("draft", 5)
        assert AnnotatedReply.objects.count() == 6

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--set", "Nothing", "--number", "2"], "no such set"),
            (["--set", "Talks", "--share", "2"], "share is above 0"),
            (["--set", "Talks", "--number", "2", "--label", "one"], "2 to 50 different labels"),
            (["--set", "Talks", "--number", "2", "--error-below", "1"], "Only ratings"),
        ],
    )
    def test_wrong_option_is_named(self, talks: ConversationSet, arguments: list[str], said: str) -> None:
        with pytest.raises(CommandError, match=said) as caught:
            run(*arguments)
        assert caught.value.returncode == 2
        assert not Campaign.objects.exists()


class TestFile:
    def test_file_draws_the_sample(self, talks: ConversationSet) -> None:
        campaign = campaign_take(organisation=talks.organisation, given=campaign_read(FILE))
        assert (campaign.entrants.count(), campaign.prompt_set.prompts.count()) == (2, 8)
        assert (campaign.annotation.size, campaign.block_size) == ({"number": 4}, 20)

    def test_campaign_comes_back_as_it_was(self, talks: ConversationSet) -> None:
        sample = "{set: Talks, half_width: 0.1, rate: 0.2, whole: true, seed: 7}"
        text = FILE.replace("{set: Talks, number: 4}", sample)
        campaign = campaign_take(organisation=talks.organisation, given=campaign_read(text))
        written = campaign_write(campaign)
        assert yaml.safe_load(written)["annotation"] == yaml.safe_load(sample)
        again = campaign_read(written.replace("slug: errors", "slug: again"))
        copy = campaign_take(organisation=talks.organisation, given=again)
        assert copy.annotation.replies.count() == campaign.annotation.replies.count()

    def test_gold_on_sampled_replies_stays_at_home(self, talks: ConversationSet) -> None:
        campaign = campaign_take(organisation=talks.organisation, given=campaign_read(FILE))
        own = NewGold("g1", ("incorrect",), turns=[{"speaker": "user", "text": "Two and two?"}], texts=("Five.", ""))
        gold_add(campaign=campaign, items=[own, NewGold("g2", ("correct",), prompt="r1", texts=("Four.", ""))])
        assert [one.key for one in campaign_read(campaign_write(campaign)).gold] == ["g1"]

    def test_unknown_set_is_refused(self, organisation: Organisation) -> None:
        with pytest.raises(Conflict, match="no set of conversations 'Talks'"):
            campaign_take(organisation=organisation, given=campaign_read(FILE))
        assert not Campaign.objects.exists()

    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            ("number: 4", "number: 4, share: 0.5", "Say how many"),
            ("number: 4", "number: 0", "annotation.number"),
            ("number: 4", "number: 4, error_below: 1", "Only ratings"),
            ("mode: single", "mode: static", "needs mode: single"),
            ("aspects:", "prompts: [{id: p1, text: Hi}]\naspects:", "must be empty"),
        ],
    )
    def test_wrong_sample_is_named_with_its_key(self, before: str, after: str, said: str) -> None:
        with pytest.raises(CampaignFileError) as caught:
            campaign_read(FILE.replace(before, after))
        problems: Any = caught.value
        assert said in str(problems)
