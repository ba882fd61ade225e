"""The live campaign of the demonstration: visitors and simulated people chat with four of its chatbots.

The chatbots are endpoints: a server of `chatbot_server` on a loopback address that nothing else uses, where the system
has one. The guard against calls into private networks is opened for this one address.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from evalsite.campaigns.live import live_set_make, live_settings_set
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import Design, campaign_create, entrant_add
from evalsite.chatbots.models import Chatbot
from evalsite.core.db import write_transaction
from evalsite.demo.bots import BOTS
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.demo.services import LIVE_SLUG, SEED, SLUG
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.options import EndpointSettings, settings_of
from evalsite.endpoints.services import endpoint_register, endpoint_update
from evalsite.operations.services import campaign_open

OWN_ADDRESS, USUAL_ADDRESS = "127.0.84.1", "127.0.0.1"  # macOS has the usual one only.
SPEAKERS = ("concierge", "mirror", "shrug", "babbler")
LABEL = "live"
DESIGN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,  # Visitors see their first answer move the board.
    seed=SEED,
    batch_size=20,
    batch_age_s=15,
    target_se=None,
    budget=None,
    standing=True,
)
CHAT = {
    "selection": "sata",
    "fallback": "random",
    "minimum_turns": 3,
    "maximum_turns": 20,
    "count_first_turn": True,
    "conversations_per_annotator": 100,
    "idle_minutes": 60,
    "opening_topics": ["A trip by train", "What to cook tonight", "A book that you like", "How computers count"],
    "data_notice": "Your messages stay on **this machine**: four small rule-based chatbots answer them.",
}


def chatbot_host() -> str:
    """Return the loopback address of the demonstration's chatbots: one of its own if the system has it."""
    with socket.socket() as probe:
        try:
            probe.bind((OWN_ADDRESS, 0))
        except OSError:
            return USUAL_ADDRESS
    return OWN_ADDRESS


@contextmanager
def live_chatbots() -> Iterator[ChatbotServer]:
    """Serve the chatbots: at the port of the last start if it is free, else at another one."""
    host = chatbot_host()
    with chatbots_served(host=host, port=_free(host, _last_port(host)), poll_s=0.25) as server:
        yield server


def _free(host: str, port: int) -> int:
    """Return this port, or 0 (any port) if it is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return 0
    return port


def live_campaign_load(*, url: str) -> Campaign:
    """Return the live campaign, with its chatbots at this address. Create it on the first call."""
    with write_transaction():
        campaign: Campaign | None = Campaign.objects.filter(slug=LIVE_SLUG).first()
        if campaign is None:
            return _live_campaign(Campaign.objects.get(slug=SLUG), url)
        for endpoint in _endpoints():
            if endpoint.url != url:
                endpoint_update(endpoint=endpoint, settings=replace(settings_of(endpoint), url=url))
        return campaign


def _live_campaign(demonstration: Campaign, url: str) -> Campaign:
    organisation = demonstration.organisation
    campaign = campaign_create(
        organisation=organisation,
        name="Small talk, live",
        slug=LIVE_SLUG,
        prompt_set=live_set_make(organisation=organisation, name=LIVE_SLUG),
        design=DESIGN,
        description="Chat with two of four small rule-based chatbots at once, and select their appropriate replies at "
        "every turn. Simulated people chat, too, and your judgments move this board.",
    )
    live_settings_set(campaign=campaign, values=CHAT)
    names = {bot.key: bot.name for bot in BOTS}
    for key in SPEAKERS:
        chatbot = Chatbot.objects.get(organisation=organisation, name=names[key])
        settings = EndpointSettings(adapter="openai", url=url, model=key, timeout_s=10)
        endpoint = endpoint_register(chatbot=chatbot, label=LABEL, settings=settings)
        entrant_add(campaign=campaign, version=endpoint.version)
    campaign_open(campaign=campaign)
    return campaign


def _endpoints() -> list[Endpoint]:
    entrants = Entrant.objects.filter(campaign__slug=LIVE_SLUG)
    return list(Endpoint.objects.filter(version__in=entrants.values("version"), model__in=SPEAKERS).order_by("pk"))


def _last_port(host: str) -> int:
    """Return the port of the last start at this address; 0 if there is none."""
    ports = [urlsplit(endpoint.url) for endpoint in _endpoints()]
    return next((parts.port or 0 for parts in ports if parts.hostname == host), 0)
