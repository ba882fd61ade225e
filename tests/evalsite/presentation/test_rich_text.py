"""Texts that mean harm, or only disorder, are readable and harmless wherever they are shown."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import NewAspect
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.operations.services import campaign_open
from evalsite.presentation.rich_text import LONGEST_MARKDOWN, rich, visible
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import OPEN, CampaignMaker, run_jobs
from tests.evalsite.pages.reading import Page, Visitor

ROOT = Path(__file__).resolve().parents[3]

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
        ("```py\nif a < b:\n```", '<pre dir="ltr" tabindex="0"><code>if a &lt; b:\n</code></pre>'),
        ("# Title", '<p dir="ltr" class="head">Title</p>'),
        ("|a|\n|-:|\n|1|", '<td class="right">1</td>'),
        ("$x^2$", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"so \(x\) it is", '<math display="inline">'),
        ("\\[\nx\n\\]", '<math display="block">'),
        (r"$\frac{$", "<code>\\frac{</code>"),
        ("it costs $5 or $10", "it costs $5 or $10"),
        ("[words](http://a.b/c)", '<span class="address" dir="ltr">(http://a.b/c)</span>'),
        ("\u0645\u06cc\u200c\u062e\u0648 👩\u200d💻", "\u0645\u06cc\u200c\u062e\u0648 👩\u200d💻"),
        ("שלום", '<p dir="rtl">שלום</p>'),
    ],
)
def test_what_is_meant_is_drawn(written: str, drawn: str) -> None:
    assert drawn in rich(written)


@pytest.mark.parametrize(
    ("written", "direction"),
    [
        ("Python היא שפה נהדרת ונוחה.\n\nGPT\n\n- כן\n- no", "rtl"),
        ("The word שלום means peace.\n\nשלום\n\n> שלום", "ltr"),  # noqa: RUF001  it is Hebrew
        ("```py\nreturn_a_long_name_of_a_thing()\n```\n\nكذلك", "rtl"),
        ("12 + 30 = $x$\n\n1. 42", "ltr"),
    ],
)
def test_every_block_of_a_reply_has_the_direction_of_most_letters(written: str, direction: str) -> None:
    words = rich(written).replace('<pre dir="ltr" tabindex="0">', "")
    assert set(re.findall(r'dir="(\w+)"', words)) == {direction}
    assert not re.findall(r"<(?:p|ul|ol|blockquote|table)>", re.sub(r"<(li|blockquote).*?</\1>", "", words, flags=re.S))


@pytest.mark.parametrize("piece", ["[", r"\(", "word ", "$", "$$a\n\n", "*a", "> a\n", "- a\n", "`a"])
def test_a_text_as_long_as_any_that_is_drawn_is_drawn(piece: str) -> None:
    text = (piece * LONGEST_MARKDOWN)[: LONGEST_MARKDOWN - len(" **end**")] + " **end**"
    drawn = rich(text)
    assert 'class="plain"' not in drawn
    assert "end" in drawn


@pytest.mark.parametrize("piece", ["> ", "- ", "1. ", "> - "])
def test_what_is_nested_too_deeply_to_be_drawn_is_shown_as_it_was_written(piece: str) -> None:
    assert "<strong>end</strong>" in rich(piece * 10 + "**end**")
    assert rich(piece * 100 + "**end**").endswith("**end**</p>")


def test_at_the_limit_markdown_is_drawn_and_beyond_it_shown_as_it_was_written() -> None:
    assert LONGEST_MARKDOWN <= 30_000, "longer ones take seconds to draw"
    bold, more = "**<b>**\nnext\n", "x" * (LONGEST_MARKDOWN - 13)
    assert rich(bold + more).startswith('<p dir="ltr"><strong>&lt;b&gt;</strong><br>\nnext<br>\n')
    longer = rich(bold + more + "\u202e")
    assert longer.startswith('<p class="plain" dir="ltr">**&lt;b&gt;**\nnext\nxxx')
    assert longer.endswith("x⟦U+202E⟧</p>"), "nothing is cut off, and nothing hides"


def test_the_line_breaks_of_what_is_shown_as_it_was_written_are_kept() -> None:
    sheet = (ROOT / "frontend/static/css/judge.css").read_text()
    assert re.search(r"\.plain \{[^}]*white-space: pre-wrap", sheet)


@pytest.mark.parametrize("stray", ["$$", "$$ is what it costs", "a\n$$", "costs $5"])
def test_a_stray_dollar_swallows_no_paragraph(stray: str) -> None:
    drawn = rich(f"{stray}\n\nThen **this**.\n\nAnd that is $$")
    assert "<strong>this</strong>" in drawn
    assert "<math" not in drawn


def test_a_formula_of_several_lines_is_drawn() -> None:
    assert '<math display="block">' in rich("so\n\n$$\nx\n=\ny\n$$\n\nend")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_table_that_would_have_too_many_cells_is_shown_as_it_was_written(end: str) -> None:
    """Each line of two characters would be a row of a hundred cells."""
    head = f"{'|a' * 100}|{end}{'|-' * 100}|{end}"
    assert "<table " in rich(head + f"|{end}" * 40)
    drawn = rich(head + f"|{end}" * 60)
    assert "<t" not in drawn
    assert drawn.count("|a") == 100


def test_long_texts_with_many_tables_are_drawn() -> None:
    table = "|a|b|\n|-|-|\n|c|d|\n\nwords\n\n"
    assert rich(table * 300).count("<table ") == 300


def test_links_are_drawn_after_many_references_and_not_after_brackets_that_lead_nowhere_for_ever() -> None:
    link, drawn = "[words](http://a.b/c)", '<span class="link">'
    assert drawn in rich("as [1] and [2, p. 7] say. " * 1000 + link)
    hopeless = rich("[a][" * 5000 + link)
    assert (drawn in hopeless, hopeless.count("[a][")) == (False, 5000)
    assert "[words](http://a.b/c)" in hopeless


def test_names_tell_what_would_not_be_seen() -> None:
    assert visible("GPT\u202e-5\u200b") == "GPT⟦U+202E⟧-5⟦U+200B⟧"
