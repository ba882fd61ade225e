"""`manage.py rank FILE`: rank a vote file without a server or a database."""

from __future__ import annotations

import math
import shutil
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.campaigns.plans import MOST_TIERS
from evalsite.core.errors import InvalidInput
from evalsite.core.terminal import shown
from evalsite.exchange.elo import MEAN_RATING, Anchor, in_elo
from evalsite.exchange.file_ranking import Ranking, rank_votes
from evalsite.exchange.management.output import write_result
from evalsite.exchange.presenters import as_csv, as_json
from evalsite.exchange.progress import Bar
from evalsite.exchange.text_tables import ASCII, UNICODE, as_table
from evalsite.exchange.vote_arguments import condition, format_arguments, mapping_of, merge_turns_argument, vote_path
from evalsite.exchange.vote_file import read_votes
from evalsite.exchange.vote_style import read_style
from irt_engine.errors import DidNotConverge, EngineError
from irt_engine.models.annotator_effects import LEAST_VOTES
from irt_engine.responses.style import MOST_COVARIATES
from scheduler.tiers import TIERS

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it.
_EPILOG = """\
The file has the columns system_a, system_b, outcome (-1: A better, 0: tie, 1: B better) or model_a, model_b, winner
(model_a, model_b, tie, both_bad); prompt and annotator if known. docs/formats.md lists the other formats. For anything
else, name the columns: --a COLUMN --b COLUMN --winner COLUMN --map LABEL=model_a.
The exit status is 2 if the file cannot be used; standard error says why.
"""


def rating(text: str) -> Anchor:
    """Return an anchor from CHATBOT=RATING. Raises ArgumentTypeError for anything else."""
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (equals and name and math.isfinite(value)):
        raise ArgumentTypeError(f"{text!r} is not CHATBOT=RATING, for example gpt=1200")
    return Anchor(name, value)


def covariates(text: str) -> tuple[str, ...]:
    """Return the names of covariates. Raises ArgumentTypeError for an empty or a repeated name."""
    names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    if not all(names) or len(set(names)) < len(names) or len(names) > MOST_COVARIATES:
        raise ArgumentTypeError(f"{text!r} is no list of at most {MOST_COVARIATES} names, for example length,bold")
    return names


class Command(BaseCommand):
    help = "Rank the chatbots of a file of votes. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the votes; - for standard input")
        parser.add_argument(
            "--model",
            choices=["board", "pair"],
            default="board",
            help="board: one ability for each chatbot; pair: each comparison separately (default: board)",
        )
        parser.add_argument(
            "--form",
            choices=["vote", "net"],
            help="vote: fit single votes, as boards of campaigns do; net: fit the net rating of all votes of an item "
            "(default: vote for model board, net for model pair)",
        )
        parser.add_argument(
            "--unit",
            choices=["marginal", "conditional"],
            help="marginal: log odds of a vote on two new replies, as on boards of campaigns; conditional: logits "
            "given the effects of replies and items (default: marginal for model board, conditional for model pair)",
        )
        parser.add_argument(
            "--tiers",
            type=int,
            choices=range(1, MOST_TIERS + 1),
            default=TIERS,
            help="tiers of chatbots, in which a prompt may discriminate differently, for six chatbots or more; 1: none "
            f"(default: {TIERS})",
        )
        parser.add_argument(
            "--scale",
            choices=["logits", "elo"],
            default="logits",
            help="elo: 400 points are odds of 10 to 1, and the mean of the board is 1000 (default: logits)",
        )
        parser.add_argument(
            "--anchor",
            metavar="CHATBOT=RATING",
            type=rating,
            help="with --scale elo: give this chatbot this rating, and move the others with it",
        )
        parser.add_argument(
            "--style",
            metavar="COVARIATE,...",
            nargs="?",
            const="",
            type=covariates,
            help="hold the style of replies equal: covariates with the columns COVARIATE_a and COVARIATE_b; without "
            "names length, headers, lists and bold of the texts in reply_a and reply_b",
        )
        parser.add_argument(
            "--merge-redundant",
            action="store_true",
            help="fit each group of redundant prompts as one prompt, and say how standard errors change",
        )
        parser.add_argument(
            "--check",
            choices=["sandwich"],
            help="sandwich: show Bradley-Terry abilities with standard errors clustered by prompt, too",
        )
        parser.add_argument(
            "--no-annotators",
            dest="annotators",
            action="store_false",
            help="fit no effects of annotators (default: carelessness, sides, ties and preferences, where the median "
            f"annotator has {LEAST_VOTES} votes)",
        )
        parser.add_argument("--by", metavar="COLUMN", help="treat each value of the column as a separate comparison")
        parser.add_argument(
            "--where",
            metavar="COLUMN=VALUE",
            action="append",
            default=[],
            type=condition,
            help="only rows with this value; repeat it for other columns, or for other values of one column",
        )
        merge_turns_argument(parser)
        format_arguments(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print the complete result as JSON")
        form.add_argument("--csv", action="store_true", help="chatbots (board) or comparisons (pair), as CSV")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ranking = self._scaled(self._rank(options), options)
            for warning in ranking.warnings:
                self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
            self._show(ranking, options)
        except DidNotConverge as error:  # The file is not the cause.
            raise CommandError(shown(str(error)), returncode=1) from error
        except (InvalidInput, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            raise SystemExit(_INTERRUPTED) from None

    def _rank(self, options: dict[str, Any]) -> Ranking:
        with vote_path(options["file"]) as path, Bar(self.stderr, "Reading") as bar:
            votes = read_votes(
                path,
                by=options["by"],
                where=options["where"],
                merge_turns=options["merge_turns"],
                encoding=options.get("encoding"),
                mapping=mapping_of(options),
                progress=bar,
            )
            style = None
            if options["style"] is not None:
                style = read_style(path, votes, options["style"], encoding=options.get("encoding"), progress=bar)
        self.stderr.write(f"The file looks like {votes.looks_like}.")
        with Bar(self.stderr, "Fitting") as bar:
            return rank_votes(
                votes,
                model=options["model"],
                form=options["form"],
                unit=options["unit"],
                tiers=options["tiers"],
                merge_redundant=options["merge_redundant"],
                sandwich=options["check"] == "sandwich",
                style=style,
                annotators=options["annotators"],
                progress=bar,
            )

    def _scaled(self, ranking: Ranking, options: dict[str, Any]) -> Ranking:
        if options["scale"] == "elo":
            return in_elo(ranking, options["anchor"])
        if options["anchor"] is not None:
            raise InvalidInput("--anchor needs --scale elo.")
        return ranking

    def _show(self, ranking: Ranking, options: dict[str, Any]) -> None:
        if options["json"]:
            text = as_json(ranking)
        elif options["csv"]:
            text = as_csv(ranking)
        else:
            zero = MEAN_RATING if options["scale"] == "elo" else 0.0
            text = as_table(ranking, width=self._width(), pen=UNICODE if self._draws_lines() else ASCII, zero=zero)
        write_result(self.stdout, text)

    def _width(self) -> int:
        return shutil.get_terminal_size((100, 24)).columns if self.stdout.isatty() else 100

    def _draws_lines(self) -> bool:
        encoding = getattr(self.stdout, "encoding", None) or "utf-8"
        return "utf" in encoding.lower()
