"""Texts that mean harm, or only disorder, are readable and harmless wherever they are shown."""

from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from evalsite.adaptive.services import campaign_open
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import NewAspect
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.pages.richtext import rich, visible
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import OPEN, CampaignMaker, run_jobs
from tests.evalsite.pages.reading import Page, Visitor

# What is written, and what of it must still be read.
HOSTILE = {
    "a script": ("<script>alert(1)</script> end", "<script>alert(1)</script> end"),
    "an attribute's end": ("\"'><b onmouseover=alert(1)>x</b>", "\"'><b onmouseover=alert(1)>x</b>"),
    "an image": ("![seen](http://evil.example/seen.png) end", "(http://evil.example/seen.png) end"),
    "a script's address": ("[press](javascript:alert(1)) <javascript:alert(1)>", "javascript:alert(1)"),
    "an address": ("[press](http://evil.example/) end", "end"),
    "a formula with HTML": (r"$\text{<img src=x onerror=alert(1)>}$ end", "<img src=x onerror=alert(1)>"),
    "a formula with an address": (r"$\href{javascript:alert(1)}{x}$ end", "end"),
    "overriding direction": ("\u202eeht\u202c \u2066x end", "⟦U+202E⟧eht⟦U+202C⟧ ⟦U+2066⟧x end"),
    "nothing to be seen": ("a\u200bb\u2060c\U000e0041 end", "a⟦U+200B⟧b⟦U+2060⟧c⟦U+E0041⟧ end"),
    "broken Markdown": ("**[`<x> |\n|--\n> - # end", "end"),
}


class Dangers(HTMLParser):
    """What in a page could run, load or lead elsewhere."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name.startswith("on") or name in {"style", "srcset", "srcdoc"}:
                self.found.append(f"{tag} {name}")
            if name in {"src", "href", "action", "xlink:href"} and not self._ours(value or ""):
                self.found.append(f"{tag} {name}={value}")
        if tag in {"iframe", "object", "embed", "base", "style"} or (
            tag == "script" and not dict(attributes).get("src")
        ):
            self.found.append(tag)

    def _ours(self, address: str) -> bool:
        parts = urlsplit(address)
        return not parts.scheme and not parts.netloc


@pytest.fixture(params=list(HOSTILE.values()), ids=list(HOSTILE))
def hostile(request: pytest.FixtureRequest, make_campaign: CampaignMaker) -> tuple[str, str]:
    """A campaign whose owner, submitters and chatbots all say this."""
    text, _ = request.param
    campaign = make_campaign(
        start=False, chatbots=2, prompts=0, design=replace(OPEN, aspects=(NewAspect("overall", text),))
    )
    Campaign.objects.update(name=text, description=text)
    for number, chatbot in enumerate(Chatbot.objects.all()):
        chatbot.name = f"{text}{number}"
        chatbot.save()
    turns = [{"speaker": who, "text": text} for who in ("user", "chatbot", "user")]
    prompt = Prompt.objects.create(prompt_set=campaign.prompt_set, key="h", turns=turns, origin="authored")
    for number, entrant in enumerate(campaign.entrants.all()):
        said = f"{text}\n\n{number}"
        Reply.objects.create(version=entrant.version, prompt=prompt, text=said, sha256=f"{number}", origin="file")
    campaign.refresh_from_db()
    campaign_open(campaign=campaign)
    run_jobs()
    return request.param  # type: ignore[no-any-return]


def test_every_page_that_shows_it_is_harmless_and_the_judging_page_readable(
    hostile: tuple[str, str], stranger: Client
) -> None:
    visitor = Visitor(stranger, "/judge/trial/")
    pages = [visitor.page, Page(stranger.get("/")), Page(stranger.get("/boards/trial/"))]
    visitor.begin()
    pages.append(visitor.page)
    assert visitor.page.words.count(hostile[1].split(" end")[0].strip()) >= 3, "prompt and both replies"
    visitor.answer("A")
    pages.append(visitor.page)
    assert [Dangers(page.html).found for page in pages] == [[]] * len(pages)


@given(st.text(st.sampled_from("<>&\"'`*_[]()!\\$#|-=\n :/ab\u202e\u200b{}^ix"), max_size=80))
@example("[a](<http://x\"onclick='y>)")
@example("$$ <b onclick=x> $$")
@example("```<script>\n<img src=x>\n```")
def test_no_text_at_all_becomes_more_than_harmless_elements(text: str) -> None:
    assert Dangers(rich(text)).found == []


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        ("**bold** and `code`", "<strong>bold</strong> and <code>code</code>"),
        ("one\ntwo", "one<br>\ntwo"),
        ("```py\nif a < b:\n```", '<pre dir="ltr"><code>if a &lt; b:\n</code></pre>'),
        ("# Title", '<p dir="auto" class="head">Title</p>'),
        ("|a|\n|-:|\n|1|", '<td dir="auto" class="right">1</td>'),
        ("$x^2$", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"so \(x\) it is", '<math display="inline">'),
        ("\\[\nx\n\\]", '<math display="block">'),
        (r"$\frac{$", "<code>\\frac{</code>"),
        ("it costs $5 or $10", "it costs $5 or $10"),
        ("[words](http://a.b/c)", '<span class="address" dir="ltr">(http://a.b/c)</span>'),
        ("\u0645\u06cc\u200c\u062e\u0648 👩\u200d💻", "\u0645\u06cc\u200c\u062e\u0648 👩\u200d💻"),
        ("שלום", '<p dir="auto">שלום</p>'),
    ],
)
def test_what_is_meant_is_drawn(written: str, drawn: str) -> None:
    assert drawn in rich(written)


@pytest.mark.parametrize("piece", ["[", r"\(", "word "])
def test_a_hundred_thousand_characters_are_drawn(piece: str) -> None:
    """Quadratic work on any of these would take minutes."""
    text = (piece * 100_000)[:100_000]
    assert len(rich(text)) > 50_000


def test_longer_texts_are_shown_as_they_were_written() -> None:
    assert rich("<b>" * 40_000).startswith('<p class="plain" dir="auto">&lt;b&gt;')


def test_names_tell_what_would_not_be_seen() -> None:
    assert visible("GPT\u202e-5\u200b") == "GPT⟦U+202E⟧-5⟦U+200B⟧"
