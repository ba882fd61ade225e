"""`manage.py annotate_conversations --set NAME`: a campaign on a random sample of the replies in a set."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from evalsite.campaigns.models import Campaign
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.operations.annotations import annotation_launch
from evalsite.scorecards.annotation import (
    QUESTIONS,
    AnnotationRequest,
    ChatbotSample,
    judgments_planned,
    label_question,
    pair_question,
    rating_question,
    sample_plan,
)
from evalsite.scorecards.models import Annotation, ConversationSet
from evalsite.scorecards.reply_sampling import WORST_RATE, SampleRequest

_BAD_INPUT = 2
_EPILOG = """\
Give one of --share, --number and --half-width: how many replies of each chatbot are drawn. Annotators give each reply
one of the labels, or with --rating a number. docs/scorecards.md describes the settings.
"""


class Command(BaseCommand):
    help = "Launch a campaign that annotates a random sample of the replies in a set of conversations. " + _EPILOG

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--set", metavar="NAME", required=True, help="the set of conversations")
        parser.add_argument("--organisation", help="slug or name of its owner, if several have a set of this name")
        parser.add_argument("--name", help="name of the campaign (default: Errors of the set)")
        size = parser.add_mutually_exclusive_group(required=True)
        size.add_argument("--share", type=float, help="share of the replies of each chatbot, such as 0.1")
        size.add_argument("--number", type=int, help="replies of each chatbot")
        size.add_argument("--half-width", type=float, help="half-width of the 95 %% interval of the error rate")
        parser.add_argument("--rate", type=float, default=WORST_RATE, help="expected error rate (%(default)s)")
        parser.add_argument("--whole", action="store_true", help="draw conversations, and take all of their replies")
        parser.add_argument(
            "--unit", choices=Annotation.Unit.values, default="reply", help="what an assignment shows (%(default)s)"
        )
        parser.add_argument("--justify", action="store_true", help="each answer needs a justification")
        parser.add_argument("--votes", type=int, default=1, metavar="N", help="annotators of each reply (%(default)s)")
        parser.add_argument("--question", help="the question to annotators")
        parser.add_argument("--label", action="append", metavar="LABEL", help="a label; repeat it for others")
        parser.add_argument("--rating", type=int, nargs=2, metavar=("LOW", "HIGH"), help="ask for a rating instead")
        parser.add_argument(
            "--error-below", type=float, metavar="VALUE", help="ratings below it are errors (default: LOW alone)"
        )
        parser.add_argument("--seed", type=int, default=0, help="seed of the sample (%(default)s)")
        parser.add_argument("--draft", action="store_true", help="leave the campaign a draft")
        parser.add_argument("--check", action="store_true", help="only print the sample size")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found, request = _set_named(options["set"], options["organisation"]), _request(options)
            plan = sample_plan(found, request.sample, seed=request.seed, unit=request.unit)
            campaign = None
            if not options["check"]:
                campaign = annotation_launch(conversation_set=found, request=request, by=None, draft=options["draft"])
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip()), returncode=_BAD_INPUT) from error
        if options["json"]:
            self.stdout.write(json.dumps(_values(plan, request, campaign), indent=2))
        else:
            self.stdout.write("\n".join(_lines(plan, request, campaign)))


def _set_named(name: str, organisation: str | None) -> ConversationSet:
    sets = ConversationSet.objects.filter(name=name)
    if organisation is not None:
        sets = sets.filter(Q(organisation__slug=organisation) | Q(organisation__name=organisation))
    found: list[ConversationSet] = list(sets[:2])
    if len(found) != 1:
        what = "There is no such set" if not found else "Several organisations have such a set"
        hint = "Give --organisation." if found or organisation is None else "See manage.py import_conversations."
        raise CommandError(f"{what}: {shown(name)}. {hint}", returncode=_BAD_INPUT)
    return found[0]


def _request(options: dict[str, Any]) -> AnnotationRequest:
    """Return the checked options. Raises InvalidInput."""
    unit = Annotation.Unit(options["unit"])
    usual = {"question": QUESTIONS[unit]} if unit in QUESTIONS else {}
    asked = {"question": options["question"]} if options["question"] is not None else usual
    if unit == Annotation.Unit.PAIR:
        question = pair_question(**asked)
    elif options["rating"] is not None:
        low, high = options["rating"]
        question = rating_question(**asked, minimum=low, maximum=high)
    else:
        question = label_question(**asked, **({"labels": options["label"]} if options["label"] else {}))
    sizes = {name: options[name] for name in ("share", "number", "half_width")}
    return AnnotationRequest(
        options["name"] or f"Errors of {options['set'][:150]}",
        SampleRequest(**sizes, whole=options["whole"], rate=options["rate"]),
        question,
        options["votes"],
        options["seed"],
        options["error_below"],
        unit,
        options["justify"],
    )


def _values(plan: Sequence[ChatbotSample], request: AnnotationRequest, campaign: Campaign | None) -> dict[str, object]:
    """Return what the API answers: the sample, the number of judgments, and the campaign (null with --check)."""
    return {
        "sample": [
            {
                "chatbot": one.chatbot,
                "conversations": one.conversations,
                "replies": one.replies,
                "drawn": len(one.drawn),
            }
            for one in plan
        ],
        "judgments": judgments_planned(plan, request.votes, request.unit),
        "campaign": None if campaign is None else {"slug": campaign.slug, "state": campaign.state},
    }


def _lines(plan: Sequence[ChatbotSample], request: AnnotationRequest, campaign: Campaign | None) -> list[str]:
    drawn = sum(len(one.drawn) for one in plan)
    replies = request.unit == Annotation.Unit.REPLY
    what = "replies" if replies else "conversations"
    lines = [
        f"{shown(one.chatbot)}: {len(one.drawn):,} of {one.replies if replies else one.conversations:,} {what}"
        for one in plan
    ]
    lines.append(f"{judgments_planned(plan, request.votes, request.unit):,} judgments on {drawn:,} {what}")
    return lines if campaign is None else [*lines, f"{campaign.slug}: {campaign.state}"]
