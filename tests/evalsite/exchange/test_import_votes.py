"""Importing a vote file: whole or not at all, once, with unknown stored as unknown."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.exchange.data_export import vote_rows
from evalsite.exchange.models import ImportedVote, VoteSource
from evalsite.exchange.vote_import import votes_import
from evalsite.exchange.vote_storage import moment
from evalsite.judgments.models import Annotator, AnnotatorIdentity, Answer, Assignment, Candidate, Judgment
from evalsite.prompts.models import Prompt
from evalsite.refits.mapping import fit_input

pytestmark = pytest.mark.django_db

COLUMNS = ["system_a", "system_b", "prompt_id", "annotator_id", "outcome", "a_first", "timestamp"]
VOTES = [
    ["ant", "bee", "p1", "w1", "-1", "1", "2024-05-01 12:00:00"],
    ["ant", "bee", "p1", "w1", "-1", "1", ""],  # the same person again: kept
    ["ant", "bee", "p2", "w2", "0", "0", "05/01/2024 12:00"],
    ["bee", "cow", "p1", "", "1", "", "1714564800"],
    ["cow", "ant", "p2", "w3", "1", "", ""],
]


def write(path: Path, rows: Iterable[list[str]], columns: list[str] = COLUMNS) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "zoo.csv", VOTES)


def import_votes(path: Path, campaign: str = "Zoo", **options: object) -> None:
    call_command("import_votes", str(path), campaign=campaign, **options)


def counts() -> list[int]:
    return [model.objects.count() for model in (Campaign, Prompt, Candidate, Judgment, Answer, ImportedVote, Annotator)]


@pytest.mark.database
def test_every_row_becomes_a_judgment_and_the_page_shows_the_board(votes: Path, stranger: Client) -> None:
    import_votes(votes)
    assert Judgment.objects.count() == len(VOTES)
    campaign = Campaign.objects.get(slug="zoo")
    page = stranger.get(f"/boards/{campaign.default_board.public_id}/")
    assert page.status_code == 200
    for name in ("ant", "bee", "cow"):
        assert name.encode() in page.content
    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    assert snapshot.judgments == len(VOTES)


def test_what_the_file_does_not_say_is_unknown(votes: Path) -> None:
    import_votes(votes)
    assert set(Prompt.objects.values_list("turns", flat=True)) == {None}
    assert not Candidate.objects.filter(reply__text__isnull=False).exists()
    assert Judgment.objects.filter(annotator__isnull=True).count() == 1
    assert Assignment.objects.filter(order_known=False).count() == 2
    assert Judgment.objects.filter(answered_at__isnull=True).count() == 3
    assert set(Annotator.objects.values_list("kind", flat=True)) == {"unknown"}
    assert set(AnnotatorIdentity.objects.values_list("external_id", flat=True)) == {"w1", "w2", "w3"}


def test_a_board_whose_file_names_nobody_does_not_say_that_there_was_nobody(tmp_path: Path, stranger: Client) -> None:
    nameless = write(tmp_path / "zoo.csv", [[*row[:3], "", *row[4:]] for row in VOTES])
    import_votes(nameless)
    page = stranger.get(f"/boards/{Campaign.objects.get().default_board.public_id}/").content
    assert b"annotators unknown" in page
    assert b"0 annotators" not in page


def test_the_fit_sees_the_votes_of_the_file_with_their_sides(votes: Path) -> None:
    import_votes(votes)
    board = Campaign.objects.get().default_board
    table = fit_input(board).table()
    names = {
        str(entrant.version_id): entrant.name
        for entrant in Campaign.objects.get().entrants.select_related("version__chatbot")
    }
    seen = []
    for a, b, outcome, first in zip(table.a, table.b, table.outcome, table.a_first, strict=True):
        pair = (names[table.chatbots[a]], names[table.chatbots[b]], int(outcome))
        seen.append((*(pair if pair[0] < pair[1] else (pair[1], pair[0], -pair[2])), int(first)))
    assert sorted(seen) == sorted(
        [
            ("ant", "bee", -1, 1),
            ("ant", "bee", -1, 1),
            ("ant", "bee", 0, 1),
            ("bee", "cow", 1, -1),
            ("ant", "cow", -1, -1),
        ]
    )


@pytest.mark.database
def test_importing_it_again_changes_nothing(votes: Path) -> None:
    import_votes(votes)
    before = [*counts(), Snapshot.objects.count()]
    import_votes(votes)
    assert [*counts(), Snapshot.objects.count()] == before


@pytest.mark.parametrize("stands", Campaign.Visibility.values)
@pytest.mark.parametrize("asked", Campaign.Visibility.values)
def test_importing_it_again_for_other_eyes_is_refused_and_changes_nothing(votes: Path, stands: str, asked: str) -> None:
    import_votes(votes, visibility=stands)
    if asked == stands:
        import_votes(votes, visibility=asked)
    else:
        with pytest.raises(CommandError, match=f"'zoo' is {stands}, not {asked}"):
            import_votes(votes, visibility=asked)
    import_votes(votes)
    assert Campaign.objects.get().visibility == stands


def test_its_owner_is_known_by_address_and_by_name_and_told_where_it_is_new(
    votes: Path, organisation: Organisation, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, called in enumerate((organisation.slug, organisation.name, organisation.name.upper())):
        import_votes(votes, campaign=f"Zoo {number}", organisation=called)
    assert set(Campaign.objects.values_list("organisation__slug", flat=True)) == {organisation.slug}
    assert "owner is new" not in capsys.readouterr().out
    import_votes(votes, campaign="Park", organisation="Rangers")
    assert "Created its owner: Rangers (rangers)." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: [*rows[:2], ["ant", "bee", "p2", "w2", "1", "0", ""], *rows[3:]], "1 changed"),
        (lambda rows: [*rows, ["ant", "cow", "p9", "w9", "1", "", ""]], "1 new"),
        (lambda rows: rows[:-1], "1 missing"),
    ],
)
def test_a_changed_file_under_the_same_name_is_refused_with_what_differs(
    votes: Path, change: object, words: str
) -> None:
    import_votes(votes)
    before = counts()
    write(votes, change(VOTES))  # type: ignore[operator]
    with pytest.raises(CommandError, match=words) as refused:
        import_votes(votes)
    assert refused.value.returncode == 2
    assert counts() == before


def test_the_files_own_vote_ids_are_used_so_that_rows_may_be_reordered(tmp_path: Path) -> None:
    rows = [[*row, f"v{number}"] for number, row in enumerate(VOTES)]
    path = write(tmp_path / "zoo.csv", rows, [*COLUMNS, "vote_id"])
    import_votes(path)
    write(path, rows[::-1], [*COLUMNS, "vote_id"])
    import_votes(path)
    assert VoteSource.objects.get().votes == len(VOTES)
    assert set(ImportedVote.objects.values_list("vote_id", flat=True)) == {f"id v{n}" for n in range(len(VOTES))}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["ant", "ant", "p1", "w1", "1", "", ""], "row 6"),
        (["ant", "bee", "p1", "w1", "2", "", ""], "outcome"),
        (["ant", "bee", "p1", "w" * 300, "1", "", ""], "annotator_id"),
    ],
)
def test_a_fault_in_the_last_row_leaves_nothing_behind(tmp_path: Path, row: list[str], words: str) -> None:
    path = write(tmp_path / "zoo.csv", [*VOTES, row])
    with pytest.raises(CommandError, match=words) as refused:
        import_votes(path)
    assert refused.value.returncode == 2
    assert counts() == [0] * 7


@pytest.fixture
def in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same votes, read row by row and stored two at a time."""
    monkeypatch.setattr("evalsite.exchange.vote_survey.CHUNK", 2)
    rows = [{name: cell for name, cell in zip(COLUMNS, row, strict=True) if cell} for row in VOTES]
    path = tmp_path / "pieces.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.mark.database
def test_votes_stored_in_pieces_are_the_same(votes: Path, in_pieces: Path) -> None:
    campaigns = []
    for path in (votes, in_pieces):
        import_votes(path, path.stem, fit="later")
        campaigns.append(Campaign.objects.get(slug=path.stem))
    whole, pieces = ([{**row, "judge": "", "judgment_id": ""} for row in vote_rows(campaign)] for campaign in campaigns)
    assert len(pieces) == len(VOTES)
    assert pieces == whole


@pytest.mark.database
def test_an_interrupted_import_leaves_nothing_behind(in_pieces: Path) -> None:
    def interrupted(done: int, total: int) -> None:
        if Judgment.objects.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        votes_import(path=in_pieces, name="Zoo", organisation="Files", progress=interrupted)
    assert counts() == [0] * 7
    import_votes(in_pieces, fit="later")
    assert Judgment.objects.count() == len(VOTES)


def test_a_text_too_long_to_store_is_refused_with_its_file_row_and_column(tmp_path: Path) -> None:
    rows = [["ant", "bee", "1", "talk"], ["ant", "bee", "0", "t" * 101]]
    path = write(tmp_path / "zoo.csv", rows, ["system_a", "system_b", "outcome", "category"])
    with pytest.raises(CommandError, match=f"{path}, row 2, column category") as refused:
        import_votes(path)
    assert refused.value.returncode == 2
    assert counts() == [0] * 7


def test_a_name_that_belongs_to_another_campaign_is_refused(votes: Path, tmp_path: Path) -> None:
    import_votes(votes)
    other = write(tmp_path / "other.csv", VOTES[:3])
    with pytest.raises(CommandError, match="already a campaign"):
        import_votes(other)


def test_a_name_that_makes_no_address_is_refused(votes: Path) -> None:
    with pytest.raises(CommandError, match="No address"):
        import_votes(votes, campaign="???")


def test_both_bad_stays_both_bad_and_counts_as_a_tie(tmp_path: Path) -> None:
    rows = [["ant", "bee", "tie (bothbad)", "q1"], ["ant", "bee", "tie", "q2"], ["ant", "bee", "model_a", "q3"]]
    import_votes(write(tmp_path / "arena.csv", rows, ["model_a", "model_b", "winner", "question_id"]))
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["both_bad", "chosen", "tie"]
    board = Campaign.objects.get().default_board
    assert sorted(vote.outcome for vote in fit_input(board).votes) == [-1, 0, 0]


@pytest.mark.parametrize(("other", "warned"), [("dog", True), ("ant", False)])
def test_separate_parts_are_imported_with_a_warning(
    tmp_path: Path, other: str, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["ant", "bee", "1"], [other, "cow", "-1"]]
    import_votes(write(tmp_path / "zoo.csv", rows, ["system_a", "system_b", "outcome"]))
    assert ("fall into 2 separate parts" in capsys.readouterr().err) == warned
    assert Judgment.objects.count() == 2


def test_an_imported_campaign_asks_nobody(votes: Path) -> None:
    import_votes(votes)
    campaign = Campaign.objects.get()
    assert campaign.state == Campaign.State.STOPPED
    assert not Assignment.objects.exclude(state=Assignment.State.ANSWERED).exists()


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-05-01 12:00:00", "2024-05-01T12:00:00+00:00"),
        ("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00+00:00"),
        ("1714564800.5", "2024-05-01T12:00:00.500000+00:00"),
        ("05/01/2024 12:00", None),
        ("nan", None),
        ("1e300", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_where_its_writing_is_certain(text: str | None, iso: str | None) -> None:
    read = moment(text)
    assert (read and read.isoformat()) == iso


def test_real_votes_become_a_board_with_the_strongest_on_top(real_votes: Path) -> None:
    import_votes(real_votes / "vicuna80_human.csv.gz", campaign="vicuna")
    board = Campaign.objects.get().default_board
    snapshot = snapshot_current(board)
    assert snapshot is not None
    assert snapshot.judgments == 6720
    assert snapshot.rows[0]["name"] == "gpt-4"
