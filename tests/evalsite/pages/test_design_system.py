"""The page that documents the design: every token stands on it, and style sheets use only tokens that there are."""

import re

import pytest
from django.conf import settings
from django.test import Client

from evalsite.accounts.services import user_create
from tests.evalsite.pages.test_pages import words

CSS = settings.BASE_DIR / "frontend" / "static" / "css"
TOKENS = re.findall(r"^    --([a-z0-9-]+):", (CSS / "design.css").read_text(), re.MULTILINE)


def test_every_token_is_named_with_its_use_and_shown(db: None, stranger: Client) -> None:
    assert len(TOKENS) > 40
    assert stranger.get("/design/").status_code == 404, "for staff only"
    stranger.force_login(user_create(username="staff", password=None, staff=True))
    page = stranger.get("/design/")
    text = words(page)
    assert [name for name in TOKENS if f"--{name} " not in text] == []
    assert [name for name in re.findall(r"--([a-z0-9-]+) ", text) if name not in TOKENS] == []
    shown = (CSS / "tokens.css").read_text()
    named = re.findall(r'class="swatch swatch-([a-z-]+)"', page.content.decode())
    assert [name for name in named if f".swatch-{name} {{ background: var(--{name}); }}" not in shown] == []


@pytest.mark.parametrize("sheet", sorted(path.name for path in CSS.glob("*.css") if path.name != "design.css"))
def test_a_pages_own_style_sheet_uses_tokens_that_there_are(sheet: str) -> None:
    text = (CSS / sheet).read_text()
    own = set(re.findall(r"--([a-z0-9-]+):", text))
    assert [name for name in re.findall(r"var\(--([a-z0-9-]+)", text) if name not in {*TOKENS, *own}] == []
