"""Shared networks of annotators: keyed hashes of address blocks, kept for 30 days, to find coalitions."""

import ipaddress
from collections import defaultdict
from datetime import timedelta

from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.tokens import keyed_hashes
from evalsite.judgments.models import NetworkTrace

NETWORKS_KEPT = timedelta(days=30)
IPV4_BLOCK, IPV6_BLOCK = 24, 48


def network_trace_record(*, campaign: Campaign, annotator: int, address: str) -> None:
    """Record the address block of an annotator (a key) who claims work. A known one costs no further row.

    The hash is specific to the campaign, so networks cannot be compared between campaigns. An address that cannot be
    read leaves no trace.
    """
    block = address_block(address)
    if block is None:
        return
    network = keyed_hashes(f"{campaign.public_id}:{block}", purpose="evalsite.judgments.network_traces")[0]
    row = NetworkTrace(campaign=campaign, annotator_id=annotator, network=network)
    NetworkTrace.objects.bulk_create([row], ignore_conflicts=True)


def address_block(address: str) -> str | None:
    """Return the block of an address: /24 for IPv4, /48 for IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    prefix = IPV6_BLOCK if isinstance(found, ipaddress.IPv6Address) else IPV4_BLOCK
    return str(ipaddress.ip_network((found, prefix), strict=False))


def networks_shared(campaign: Campaign) -> list[set[int]]:
    """Return the annotators (keys) of each network from which several judged."""
    found: dict[str, set[int]] = defaultdict(set)
    for network, annotator in NetworkTrace.objects.filter(campaign=campaign).values_list("network", "annotator_id"):
        found[network].add(annotator)
    return [found[network] for network in sorted(found) if len(found[network]) > 1]


def network_traces_expire() -> None:
    """Delete traces that are older than NETWORKS_KEPT."""
    old = NetworkTrace.objects.filter(seen_at__lt=timezone.now() - NETWORKS_KEPT)
    if old.exists():
        with write_transaction():
            old.delete()
