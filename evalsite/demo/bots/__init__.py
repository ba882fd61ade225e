"""The chatbots of the demonstration campaign: eight small rule-based programs.

They need only the standard library, have no state and use no random numbers. Choices depend on a hash of the text. The
order of `BOTS` is alphabetical by key and does not reflect quality.
"""

from evalsite.demo.bots.almanac import Almanac
from evalsite.demo.bots.babbler import Babbler
from evalsite.demo.bots.base import Bot, Turns
from evalsite.demo.bots.concierge import Concierge
from evalsite.demo.bots.deflector import Deflector
from evalsite.demo.bots.dont_know import DontKnow
from evalsite.demo.bots.echo import Echo
from evalsite.demo.bots.reflector import Reflector
from evalsite.demo.bots.shelf import Retrieval

BOTS: tuple[Bot, ...] = (
    Almanac(),
    Babbler(),
    Retrieval(),
    Concierge(),
    Deflector(),
    Reflector(),
    Echo(),
    DontKnow(),
)

__all__ = ["BOTS", "Bot", "Turns"]
