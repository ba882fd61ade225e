"""`manage.py verify_board BOARD [FILE] [--log FILE]`: check a board against its judgments, to 1e-9.

Without a file, the board's public log is verified: its chain, and the board that its judgments give.
"""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.boards.models import Board
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.exchange.board_verification import Verified, board_verify
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.log_verification import VerifiedLog, log_verify
from irt_engine import EngineError

_BAD_INPUT = 2
_NAMED = 20  # Gaps that are listed by number.


class Command(BaseCommand):
    help = (
        "Fit the judgments of a board from scratch and compare with the board. The judgments come from its public log, "
        "whose chain is verified too, or from an export of the API (judgments.jsonl)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("board", help="slug of the board")
        files = parser.add_mutually_exclusive_group()
        files.add_argument("file", type=Path, nargs="?", help="the exported judgments")
        files.add_argument("--log", type=Path, help="a downloaded log.jsonl; default: the log of this site")

    def handle(self, *args: Any, board: str, file: Path | None, log: Path | None, **options: Any) -> None:
        found = Board.objects.filter(slug=board).select_related("default_of").first()
        if found is None:
            raise CommandError(f"There is no board {board!r}.", returncode=_BAD_INPUT)
        try:
            if file is None:
                self._told(log_verify(board=found, path=log))
            else:
                self._compared(board_verify(board=found, path=file), "the file")
        # An error in the file is a TouchstoneError too, and has its position.
        except (VoteFileError, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip()), returncode=_BAD_INPUT) from error

    def _told(self, log: VerifiedLog) -> None:
        self.stdout.write(f"The chain of {log.chain.entries:,} entries verifies. Its last hash is {log.chain.head}.")
        gaps = log.chain.erased
        if gaps:
            numbers = ", ".join(map(str, gaps[:_NAMED])) + (", ..." if len(gaps) > _NAMED else "")
            self.stdout.write(f"Gaps: the contents of {len(gaps):,} entries were erased ({numbers}).")
        if log.board is None:
            self.stdout.write(f"The board was not computed: {log.why}.")
            return
        self._compared(log.board, "the log")

    def _compared(self, verified: Verified, source: str) -> None:
        what = f"Snapshot {verified.snapshot} of {verified.judgments:,} judgments"
        if not verified.same:
            named = f" other ranks: {', '.join(map(shown, verified.others))};" if verified.others else ""
            raise CommandError(f"{what} is not what {source} says:{named} numbers differ by up to {verified.apart:g}.")
        self.stdout.write(f"{what} is what {source} says: no number differs by more than {verified.apart:.1g}.")
