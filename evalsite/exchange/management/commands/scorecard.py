"""`manage.py scorecard --conversations FILE`: metrics of conversations without a server or a database."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.terminal import shown
from evalsite.exchange.conversation_files.judgment_tables import read_ratings, read_turn_labels
from evalsite.exchange.conversation_files.problems import ConversationFileError
from evalsite.exchange.conversation_files.reader import ConversationFile, read_conversations
from evalsite.exchange.conversation_files.values import RatingScale, main_ratings
from evalsite.exchange.progress import Bar
from evalsite.exchange.scorecard_text import scorecard_json, scorecard_table
from evalsite.scorecards.conversations import ConversationRating, TurnLabel
from evalsite.scorecards.metrics import METRIC
from evalsite.scorecards.scorecard import REPLICATES, Scorecard, scorecard_of
from evalsite.scorecards.topics import site_classifier
from irt_engine.errors import EngineError

_BAD_INPUT = 2
_EPILOG = """\
Conversations are JSON lines, ratings and turn labels CSV or JSON lines; plain or gzipped. docs/scorecards.md describes
the columns and the metrics. The exit status is 2 if a file cannot be used; standard error names every bad row.
"""


class Command(BaseCommand):
    help = "Compute a scorecard of conversations from files. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversations", metavar="FILE", required=True, help="the conversations")
        parser.add_argument("--ratings", metavar="FILE", help="ratings of conversations beside those in the first file")
        parser.add_argument("--turn-labels", metavar="FILE", help="labels of the chatbots' replies")
        parser.add_argument("--criterion", help="the criterion that is the rating (default: rating or overall)")
        parser.add_argument(
            "--scale", nargs=2, type=float, default=[1, 5], metavar=("LOW", "HIGH"), help="scale of the rating (1 5)"
        )
        parser.add_argument(
            "--label-criterion", metavar="NAME", help="the criterion of the labels, if there are several"
        )
        parser.add_argument(
            "--error-below", type=float, default=1, metavar="VALUE", help="numeric labels below it are errors (1)"
        )
        parser.add_argument(
            "--weight",
            action="append",
            default=[],
            type=_weight,
            metavar="METRIC=WEIGHT",
            help="weight of a metric in the unified scores (1); repeat it for others",
        )
        parser.add_argument("--no-topics", action="store_true", help="leave out the metrics that need the topics")
        parser.add_argument("--replicates", type=_count, default=REPLICATES, help="bootstrap replicates (%(default)s)")
        parser.add_argument("--seed", type=int, default=0, help="seed of the random generators (%(default)s)")
        parser.add_argument("--json", action="store_true", help="print the complete result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            scorecard = self._scorecard(options)
        except (ConversationFileError, EngineError) as error:
            text = "\n".join(shown(line) for line in str(error).splitlines())
            raise CommandError(text, returncode=_BAD_INPUT) from error
        for warning in scorecard.warnings:
            self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
        self.stdout.write(scorecard_json(scorecard) if options["json"] else scorecard_table(scorecard), ending="")

    def _scorecard(self, options: dict[str, Any]) -> Scorecard:
        scale = RatingScale(options["criterion"], *options["scale"])
        with Bar(self.stderr, "Reading") as bar:
            file = read_conversations(options["conversations"], scale=scale, progress=bar)
        ratings, labels, warnings = _judgments(file, scale, options)
        scorecard = scorecard_of(
            file.conversations,
            ratings,
            labels,
            classify=None if options["no_topics"] else site_classifier().classify,
            weights=dict(options["weight"]),
            replicates=options["replicates"],
            seed=options["seed"],
        )
        return scorecard.with_warnings(warnings)


def _judgments(
    file: ConversationFile, scale: RatingScale, options: dict[str, Any]
) -> tuple[list[ConversationRating], tuple[TurnLabel, ...], list[str]]:
    """Return the ratings and labels of all files, and warnings."""
    conversations = {one.conversation_id: one for one in file.conversations}
    ratings = [rating for one in file.conversations for rating in one.ratings]
    labels: tuple[TurnLabel, ...] = ()
    warnings = [f"{file.path.name}: {file.repeats:,} rows repeat another row. They count once."] * bool(file.repeats)
    if options["ratings"]:
        more, found = read_ratings(options["ratings"], conversations, scale=scale)
        ratings += more
        warnings += found
    if options["turn_labels"]:
        chosen = {"criterion": options["label_criterion"], "error_below": options["error_below"]}
        labels, found = read_turn_labels(options["turn_labels"], conversations, **chosen)
        warnings += found
    main, left_out = main_ratings(ratings, scale)
    return main, labels, [*warnings, *left_out]


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        weight = float(value)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not METRIC=WEIGHT") from None
    if name not in METRIC or not 0 <= weight < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a metric and a weight of 0 or more")
    return name, weight


def _count(text: str) -> int:
    if not text.isdigit() or not 10 <= int(text) <= 100_000:
        raise ArgumentTypeError("give a number between 10 and 100,000")
    return int(text)
