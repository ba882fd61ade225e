"""Statements written by hand: the same on both databases."""

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Place
from evalsite.judgments.queue import item_of
from evalsite.judgments.statements import AT_ONCE, places_add


def test_a_long_queue_is_added_in_parts_and_every_place_has_its_own_item(campaign: Campaign) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(2 * AT_ONCE + 7)]
    keys = places_add(campaign.pk, [(prompt, item) for item in items])
    stored = Place.objects.in_bulk(keys)
    assert [stored[key].item for key in keys] == items
