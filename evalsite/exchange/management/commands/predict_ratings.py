"""`manage.py predict_ratings --conversations FILE`: how well ratings are predicted, and predictions for the unrated."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.terminal import shown
from evalsite.exchange.conversation_files.judgment_tables import read_ratings
from evalsite.exchange.conversation_files.problems import ConversationFileError
from evalsite.exchange.conversation_files.reader import read_conversations
from evalsite.exchange.conversation_files.values import RatingScale, main_ratings
from evalsite.exchange.prediction_text import prediction_json, prediction_table
from evalsite.exchange.progress import Bar
from evalsite.scorecards.rating_prediction import FOLDS, PREDICTORS, RatingPrediction, predict_ratings
from evalsite.scorecards.topics import site_classifier
from irt_engine.errors import EngineError

_BAD_INPUT = 2
_EPILOG = """\
Files are those of `scorecard` (docs/scorecards.md). A model learns from the conversations with a rating. Its errors are
measured on conversations that it has not seen, beside baselines and beside the ceiling that rater agreement allows.
Conversations without a rating get a prediction with an interval.
"""


class Command(BaseCommand):
    help = "Predict ratings of conversations from their transcripts. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversations", metavar="FILE", required=True, help="the conversations")
        parser.add_argument("--ratings", metavar="FILE", help="ratings of conversations beside those in the first file")
        parser.add_argument("--criterion", help="the criterion that is predicted (default: rating or overall)")
        parser.add_argument(
            "--scale", nargs=2, type=float, default=[1, 5], metavar=("LOW", "HIGH"), help="scale of the rating (1 5)"
        )
        parser.add_argument(
            "--folds", type=int, choices=range(2, 21), default=FOLDS, metavar="N", help="number of folds (%(default)s)"
        )
        parser.add_argument(
            "--model",
            choices=PREDICTORS,
            default=PREDICTORS[0],
            help="the model that is trained and evaluated (%(default)s); hierarchical_lstm needs torch",
        )
        parser.add_argument("--no-topics", action="store_true", help="leave out the features of topics")
        parser.add_argument("--seed", type=int, default=0, help="seed of the random generators (%(default)s)")
        parser.add_argument("--json", action="store_true", help="print the complete result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report, warnings = self._report(options)
        except ConversationFileError as error:
            text = "\n".join(shown(line) for line in str(error).splitlines())
            raise CommandError(text, returncode=_BAD_INPUT) from error
        except EngineError as error:
            raise CommandError(f"{shown(str(error))}. {error.hint}", returncode=_BAD_INPUT) from error
        for warning in (*warnings, *report.warnings):
            self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
        self.stdout.write(prediction_json(report) if options["json"] else prediction_table(report), ending="")

    def _report(self, options: dict[str, Any]) -> tuple[RatingPrediction, list[str]]:
        scale = RatingScale(options["criterion"], *options["scale"])
        with Bar(self.stderr, "Reading") as bar:
            file = read_conversations(options["conversations"], scale=scale, progress=bar)
        ratings = [rating for one in file.conversations for rating in one.ratings]
        warnings: list[str] = []
        if options["ratings"]:
            known = {one.conversation_id: one for one in file.conversations}
            more, found = read_ratings(options["ratings"], known, scale=scale)
            ratings += more
            warnings += found
        main, left_out = main_ratings(ratings, scale)
        report = predict_ratings(
            file.conversations,
            main,
            classify=None if options["no_topics"] else site_classifier().classify,
            predictor=options["model"],
            scale=(scale.low, scale.high),
            folds=options["folds"],
            seed=options["seed"],
        )
        return report, [*warnings, *left_out]
