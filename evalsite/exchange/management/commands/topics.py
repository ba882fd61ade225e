"""`manage.py topics train|evaluate`: the classifier of topics."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.errors import InvalidInput
from evalsite.core.terminal import shown
from evalsite.exchange.conversation_files.problems import ConversationFileError
from evalsite.exchange.topic_file import read_topic_labels
from evalsite.scorecards.topic_classifier import TopicClassifier, train
from evalsite.scorecards.topic_evaluation import TopicEvaluation, cross_validate, evaluate
from evalsite.scorecards.topic_examples import own_text, with_utterances
from evalsite.scorecards.topics import own_text_name, site_classifier, site_model_path

_BAD_INPUT = 2


class Command(BaseCommand):
    help = "Train or evaluate the classifier of topics. Files have the columns previous, utterance and domain."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        training = verbs.add_parser("train", help="train on the project's own text and on labels of yours")
        training.add_argument("file", metavar="FILE", nargs="?", help="labelled utterances")
        training.add_argument("--output", metavar="MODEL", help="the file of the model (default: the site's own model)")
        training.add_argument(
            "--folds", type=int, choices=range(2, 11), metavar="N", help="first cross-validate in N folds, up to 10"
        )
        evaluation = verbs.add_parser("evaluate", help="measure accuracy, F1 and calibration on labels of yours")
        evaluation.add_argument("file", metavar="FILE", help="labelled utterances")
        evaluation.add_argument("--model", metavar="MODEL", help="the file of a model (default: the site's)")
        evaluation.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["verb"] == "train":
                self._train(options["file"], options["output"], options["folds"])
            else:
                self._evaluate(options["file"], options["model"], as_json=options["json"])
        except ConversationFileError as error:
            text = "\n".join(shown(line) for line in str(error).splitlines())
            raise CommandError(text, returncode=_BAD_INPUT) from error
        except InvalidInput as error:
            raise CommandError(f"{shown(error.message)} {error.hint}".strip(), returncode=_BAD_INPUT) from error

    def _train(self, file: str | None, output: str | None, folds: int | None) -> None:
        more = read_topic_labels(file) if file is not None else ()
        source = own_text_name() + (f" and {Path(file).name}" if file is not None else "")
        path = Path(output) if output is not None else site_model_path()
        text = with_utterances(own_text(), more)
        if folds is not None:
            self.stdout.write(f"{folds} folds: {_text(cross_validate(text, folds))}")
        train(text, source=source).save(path)
        self.stdout.write(f"Trained on the project's text and {len(more):,} utterances of yours: {shown(str(path))}")

    def _evaluate(self, file: str, model: str | None, *, as_json: bool) -> None:
        examples = read_topic_labels(file)
        classifier = TopicClassifier.load(Path(model)) if model is not None else site_classifier()
        found = evaluate(classifier, examples)
        self.stdout.write(json.dumps(asdict(found), indent=2) if as_json else _text(found))


def _text(found: TopicEvaluation) -> str:
    lines = [
        f"{found.n:,} utterances: accuracy {found.accuracy:.3f}, macro F1 {found.macro_f1:.3f}, ECE {found.ece:.3f}",
        *(f"  {name:<22} F1 {one.f1:.2f}  n = {one.n:,}" for name, one in found.per_domain.items()),
    ]
    return "\n".join(lines)
