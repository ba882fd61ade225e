"""`manage.py verify_board BOARD FILE`: check that a board matches its exported judgments, to 1e-9."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.boards.models import Board
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.exchange.board_verification import board_verify
from evalsite.exchange.errors import VoteFileError
from irt_engine import EngineError

_BAD_INPUT = 2


class Command(BaseCommand):
    help = "Fit exported judgments (judgments.jsonl of the API) from scratch and compare with the campaign's board."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="slug of the board")
        parser.add_argument("file", type=Path, help="the exported judgments")

    def handle(self, *args: Any, board: str, file: Path, **options: Any) -> None:
        found = Board.objects.filter(slug=board).select_related("default_of").first()
        if found is None:
            raise CommandError(f"There is no board {board!r}.", returncode=_BAD_INPUT)
        try:
            verified = board_verify(board=found, path=file)
        # An error in the file is a TouchstoneError too, and has its position.
        except (VoteFileError, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip()), returncode=_BAD_INPUT) from error
        what = f"Snapshot {verified.snapshot} of {verified.judgments:,} judgments"
        if not verified.same:
            named = f" other ranks: {', '.join(map(shown, verified.others))};" if verified.others else ""
            raise CommandError(f"{what} is not what the file says:{named} numbers differ by up to {verified.apart:g}.")
        self.stdout.write(f"{what} is what the file says: no number differs by more than {verified.apart:.1g}.")
