"""Whole sites with a live campaign, of either form, and the chat server that plays its chatbots."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from django.test import override_settings

from evalsite.accounts.services import organisation_create
from evalsite.campaigns.live import live_settings_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, campaign_create, entrant_add
from evalsite.chatbots.services import chatbot_create
from evalsite.endpoints.models import CallRequest, Endpoint
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import prompt_set_create
from tests.faults.sites import SETTINGS, Embedded, Production, Site
from tests.processes import ROOT, wait_for

SLUG, KEY, NETWORK = "chat", "the-key-of-live-sites-0123456789abcd", "127.0.0.0/8"
ENVIRONMENT = {**SETTINGS, "TOUCHSTONE_ENDPOINT_NETWORKS": NETWORK, "TOUCHSTONE_ENDPOINT_KEYS": KEY}
CONCURRENCY = 64  # calls of one endpoint at a time
NICE = 10  # of the worker: a tenth of a share of the processor, as in docker/compose.yml
PARTS = ("web", "caller", "worker")


class LiveSite(Site):
    """A site whose only campaign is a live one. `address`: of the chat server."""

    chatbots, minimum_turns, address = 4, 10, ""

    def load(self) -> None:
        allowed = override_settings(ENDPOINT_KEYS=[KEY], ENDPOINT_NETWORKS=[ip_network(NETWORK)])
        with allowed:
            _campaign(self.address, self.chatbots, self.minimum_turns)

    def replace(self, part: str) -> None:
        """Kill a part of the site, with its children, and wait until another one is at work."""
        raise NotImplementedError


class LiveEmbedded(LiveSite, Embedded):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ENVIRONMENT)

    def replace(self, part: str) -> None:
        name = {"caller": "call_endpoints"}.get(part, part)
        before = wait_for(lambda: self.pids(name), what=f"the {part}")
        self.kill(name)
        wait_for(lambda: (now := self.pids(name)) and now[0] != before[0], what=f"another {part}")


class LiveProduction(LiveSite, Production):
    """Web, worker, caller and beat, on a PostgreSQL and a Redis of their own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ENVIRONMENT)

    def start(self) -> None:
        super().start()
        self.start_one("caller")

    def start_one(self, name: str) -> None:
        if name != "caller":
            super().start_one(name)
            if name == "worker":  # refits give way to people
                os.setpriority(os.PRIO_PROCESS, self.started[name].pid, NICE)
            return
        command = ["celery", "-A", "evalsite", "worker", "-n", "caller@%h", "--pool", "threads", "--concurrency", "16"]
        with (self.folder / "caller.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                [sys.executable, "-m", *command, "--queues", "touchstone-calls", "--loglevel", "WARNING"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def replace(self, part: str) -> None:
        self.kill(part)
        self.start_one(part)


SITES: dict[str, Callable[[Path], LiveSite]] = {"embedded": LiveEmbedded, "production": LiveProduction}


def _campaign(address: str, chatbots: int, minimum_turns: int) -> Campaign:
    organisation = organisation_create(name="Live")
    design = Design(
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        vetting_votes=0,
        batch_size=50,
        batch_age_s=5,
        target_se=None,
        budget=1_000_000,
    )
    prompt_set = prompt_set_create(organisation=organisation, name=SLUG, prompts=[])
    campaign = campaign_create(organisation=organisation, name="Chat", slug=SLUG, prompt_set=prompt_set, design=design)
    live_settings_set(campaign=campaign, values={"minimum_turns": minimum_turns, "conversations_per_annotator": 1_000})
    for number in range(chatbots):
        chosen = EndpointSettings("openai", address, model=f"tiny-{number}", concurrency=CONCURRENCY)
        chatbot = chatbot_create(organisation=organisation, name=f"Bot {number}")
        endpoint = endpoint_register(chatbot=chatbot, label="1", settings=chosen, secret="a-secret-of-benchmarks")
        entrant_add(campaign=campaign, version=endpoint.version)
    CallRequest.objects.update(state=CallRequest.State.DONE)
    Endpoint.objects.update(state=Endpoint.State.HEALTHY)
    campaign_open(campaign=campaign)
    return campaign


@contextmanager
def chat_server(latency_s: float) -> Iterator[str]:
    """Run a chat server in a process of its own, and yield its address."""
    code = f"import asyncio; from tests.benchmarks.collect_replies import serve; asyncio.run(serve({latency_s}))"
    process: subprocess.Popen[Any] = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait()
