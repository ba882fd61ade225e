"""Limits for anonymous newcomers: how much of an open queue one network may hold.

Pseudonyms cost nothing, so one without answers is not trusted. Members, invited people and workers of a platform are
exempt. So is everybody who has answered a first small block.
"""

import ipaddress

from django.conf import settings
from django.db import connection

from evalsite.campaigns.models import Campaign
from evalsite.core.db import rows
from evalsite.core.tokens import keyed_hashes
from evalsite.judgments.models import Annotator, Assignment, Enrolment
from evalsite.judgments.skips import is_vouched

FIRST_BLOCK = 3
NETWORK_LOCK = 5_703  # class of PostgreSQL's advisory locks, see claim_sql.QUEUE_LOCK
IPV6_PREFIX = 64  # the network of one subscriber


def network_of(campaign: Campaign, address: str) -> str:
    """Return a keyed hash of the caller's network, specific to this campaign. The address itself is not stored."""
    return keyed_hashes(f"{campaign.public_id}:{_network(address)}", purpose="evalsite.judgments.network")[0]


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, IPV6_PREFIX), strict=False))
    return str(found)


def answered_first_block(campaign: Campaign, annotator: Annotator) -> bool:
    """Return whether the annotator has answered as many items as a first block has."""
    enough = min(FIRST_BLOCK, campaign.block_size)
    return _answered(campaign.pk, annotator.pk, enough) >= enough


def has_answered(campaign: int, annotator: int) -> bool:
    return _answered(campaign, annotator, 1) > 0


def _answered(campaign: int, annotator: int, at_most: int) -> int:
    own = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ANSWERED, campaign=campaign)
    return own[:at_most].count()


def newcomer_allowance(campaign: Campaign, annotator: Annotator, enrolment: Enrolment, address: str) -> int | None:
    """Return how many items a newcomer may be issued now; None for others.

    Runs in the claim's transaction with the enrolment locked. Newcomers of one network are serialized.
    """
    if not address or settings.NEWCOMER_PERCENT >= 100 or enrolment.invited:
        return None
    if answered_first_block(campaign, annotator) or is_vouched(campaign, annotator):
        _store_network(enrolment, "")
        return None
    network = network_of(campaign, address)
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock({NETWORK_LOCK}, hashtext(%s))", [network])
    _store_network(enrolment, network)
    open_states = [Assignment.State.QUEUED, Assignment.State.ISSUED]
    open_queue = Assignment.objects.filter(campaign=campaign, state__in=open_states).count()
    newcomers = Enrolment.objects.filter(campaign=campaign, network=network).values("annotator")
    issued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED)
    held = issued.filter(annotator__in=newcomers).count()
    most = max(campaign.block_size, open_queue * settings.NEWCOMER_PERCENT // 100)
    return max(0, min(FIRST_BLOCK, most - held))


def _store_network(enrolment: Enrolment, network: str) -> None:
    """Store the network of a newcomer. It is stored for nobody else."""
    if enrolment.network != network:
        enrolment.network = network
        Enrolment.objects.filter(pk=enrolment.pk).update(network=network)
