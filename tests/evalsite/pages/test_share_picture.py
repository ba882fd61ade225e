"""The picture that a link to a board shows elsewhere: as the board is, to whom it is shown, whatever its names are."""

import re
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from PIL import Image

from evalsite.accounts.models import User
from evalsite.boards.models import Board
from evalsite.boards.selectors import board_get, board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from evalsite.pages import picture_drawing
from evalsite.pages.share_picture import Picture, picture_of, plain_line
from tests.evalsite.cast import judge, run_jobs
from tests.shared import shared

PICTURE = "/boards/trial/picture.png"
HOSTILE = {
    "long": "a" * 100_000,
    "script": "<script>alert(1)</script>",
    "controls": "a\x00b\x07c\nd\re\u2028f",
    "turned round": "gpt\u202e\u2066evil\u200b\u200d",
    "piled": "Z" + "\u0301\u0316" * 90,
    "no letters of ours": "模型 모델 \U000e0041\ue000\ud800",
    "nothing": "",
}


@shared
def judged(campaign: Campaign, bob: Annotator) -> Campaign:
    judge(campaign, bob, blocks=2)
    run_jobs()
    return campaign


@pytest.fixture
def shown(judged: Campaign) -> Picture:
    return picture_of(board_state_get(board_get(key="trial", user=None)))


def opened(content: bytes) -> Image.Image:
    return Image.open(BytesIO(content))


def test_it_is_a_png_of_the_size_that_is_asked_for(judged: Campaign) -> None:
    answer = Client().get(PICTURE)
    assert answer["Content-Type"] == "image/png"
    assert (opened(answer.content).format, opened(answer.content).size) == ("PNG", (1200, 630))


def test_it_says_what_the_board_says(shown: Picture) -> None:
    page = Client().get("/boards/trial/").content.decode()
    assert shown.title == "Trial"
    assert shown.headline in page
    for row in shown.rows:
        assert row.name in page
        assert row.ability.split(" ")[0] in page
        assert row.whisker.left < row.whisker.mid < row.whisker.right


def test_an_unchanged_one_is_a_304_and_another_snapshot_another_one(judged: Campaign, dora: Annotator) -> None:
    first = Client().get(PICTURE)
    same = Client().get(PICTURE, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    judge(judged, dora, "B", blocks=3)
    run_jobs()
    later = Client().get(PICTURE, headers={"If-None-Match": first["ETag"]})
    assert later.status_code == 200
    assert later.content != first.content


def test_it_is_shown_to_whom_the_board_is_shown(judged: Campaign, alice: User) -> None:
    Campaign.objects.update(visibility=Campaign.Visibility.LINK)
    assert Client().get(PICTURE).status_code == 404
    assert Client().get(f"/boards/{Board.objects.get().public_id}/picture.png").status_code == 200
    Campaign.objects.update(visibility=Campaign.Visibility.PRIVATE)
    member = Client()
    member.force_login(alice)
    own = member.get(PICTURE)
    assert own.status_code == 200
    assert member.get(PICTURE, headers={"If-None-Match": own["ETag"]}).status_code == 304


def test_it_is_the_same_in_every_language(judged: Campaign) -> None:
    assert Client(headers={"Accept-Language": "de"}).get(PICTURE).content == Client().get(PICTURE).content


def test_a_board_without_a_ranking_has_one_too(campaign: Campaign) -> None:
    shown = picture_of(board_state_get(board_get(key="trial", user=None)))
    assert shown.rows == []
    assert "Nothing is ranked yet." in shown.headline
    assert Client().get(PICTURE).status_code == 200


@pytest.mark.parametrize("page", ["", "charts/", "method/"])
def test_pages_of_the_board_name_it_by_its_whole_address(page: str, judged: Campaign) -> None:
    html = Client().get(f"/boards/trial/{page}").content.decode()
    said = dict(re.findall(r'property="og:image(:?\w*)" content="([^"]*)"', html))
    assert said[""] == f"{settings.SITE_URL}{PICTURE}"
    assert (said[":width"], said[":height"], said[":type"]) == ("1200", "630", "image/png")
    assert said[":alt"].startswith("Trial: ")


class TestHostileNames:
    @pytest.mark.parametrize("fonts", ["of this machine", "bundled alone"])
    def test_are_drawn_inside_their_row(self, fonts: str, shown: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
        if fonts == "bundled alone":
            monkeypatch.setattr(picture_drawing, "REGULAR", picture_drawing.REGULAR[:1])
            monkeypatch.setattr(picture_drawing, "BOLD", picture_drawing.BOLD[:1])
        pictures = {kind: self.drawn(shown, plain_line(name)) for kind, name in {"": "usual", **HOSTILE}.items()}
        own = (
            0,
            picture_drawing.ROW_TOP,
            picture_drawing.AXIS[0] - 1,
            picture_drawing.ROW_TOP + picture_drawing.ROW_STEP,
        )
        for image in pictures.values():
            image.paste("white", own)
        assert [kind for kind, image in pictures.items() if image.tobytes() != pictures[""].tobytes()] == []

    def drawn(self, shown: Picture, name: str) -> Image.Image:
        first, *others = shown.rows
        return opened(picture_drawing.png(replace(shown, rows=[replace(first, name=name), *others]))).convert("RGB")

    def test_lose_what_cannot_be_seen(self) -> None:
        assert plain_line(HOSTILE["controls"]) == "abc d e f"
        assert plain_line(HOSTILE["turned round"]) == "gptevil"
        assert len(plain_line(HOSTILE["long"])) == 200


SIGNS = "".join(map(chr, range(0x20, 0x7F))) + "−–—…·“”’‘%±≥≤≈×€ßäöüÄÖÜéñøşżőİıΩλЖя№™"  # noqa: RUF001


@pytest.mark.parametrize("fonts", ["REGULAR", "BOLD"])
def test_the_bundled_font_has_every_sign_that_we_write(fonts: str) -> None:
    bundled = getattr(picture_drawing, fonts)[0]
    assert [sign for sign in SIGNS if not picture_drawing.has_glyph(bundled, sign)] == []


def test_a_negative_ability_is_drawn_with_its_minus_sign(shown: Picture) -> None:
    rows = [row for row in shown.rows if row.ability.startswith("−")]
    assert rows
    for bold in (False, True):
        name = (picture_drawing.BOLD if bold else picture_drawing.REGULAR)[0]
        assert [sign for sign in rows[0].ability if not picture_drawing.has_glyph(name, sign)] == []
        assert picture_drawing.fitting(rows[0].ability, 46, bold)[1] == rows[0].ability


def test_a_sign_that_no_font_has_is_no_empty_box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_drawing, "REGULAR", picture_drawing.REGULAR[:1])
    font, text = picture_drawing.fitting("模型 ﬁx \U000f0001", 40, bold=False)
    assert text == "?? fix ?"
    assert font.getname()[0] == "Inter"


def test_its_colours_are_the_design_s() -> None:
    design: Any = (settings.BASE_DIR / "frontend/static/css/design.css").read_text()
    used = [
        picture_drawing.PAPER,
        picture_drawing.INK,
        picture_drawing.SOFT,
        picture_drawing.FAINT,
        picture_drawing.LINE,
        picture_drawing.DOUBT,
        picture_drawing.ACCENT,
    ]
    assert all(f"light-dark({colour}," in design for colour in used)
