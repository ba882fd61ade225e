"""The worker's jobs of boards: live reports, public logs, and sizes of studies."""

from collections.abc import Mapping
from typing import Any

from evalsite.boards.analysis_plans import plan_of
from evalsite.boards.live_reports import LIVE_REPORT, live_report_store, outdated_reports_request, report_mark
from evalsite.boards.models import Board
from evalsite.boards.public_log import PUBLIC_LOG, log_append_now, logs_begin, public_log_request
from evalsite.boards.public_log_entries import MissingEntries
from evalsite.boards.study_sizes import STUDY_SIZES
from evalsite.campaigns.models import Campaign
from evalsite.core import inquiries, jobs
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput

jobs.sweeps(outdated_reports_request, every_s=5.0)
jobs.sweeps(logs_begin, every_s=60.0)


@jobs.handles(LIVE_REPORT)
def live_report(lease: jobs.Lease) -> None:
    """Compute the report outside a transaction, then store it fenced by the lease."""
    # Imported here: every process registers this handler, and only the worker should pay for numpy and scipy.
    from evalsite.boards.live_report import live_report_content

    campaign = Campaign.objects.get(pk=lease.args["campaign"])
    mark = report_mark(campaign)
    content, cleaning = live_report_content(campaign, baseline=plan_of(campaign).baseline)
    with write_transaction():
        lease.confirm()
        live_report_store(campaign=campaign, mark=mark, content=content, cleaning=cleaning)


@jobs.handles(PUBLIC_LOG)
def public_log(lease: jobs.Lease) -> None:
    """Add what the log of a board lacks, in one transaction that is fenced by the lease."""
    board = Board.objects.select_related("default_of").get(pk=lease.args["board"])
    if board.default_of is None:
        return
    missing = MissingEntries(board, board.default_of)
    entries = missing.entries()
    if not entries:
        return
    with write_transaction():
        lease.confirm()
        if not log_append_now(board, entries, tuple(missing.used)):
            public_log_request(board)


@inquiries.answers(STUDY_SIZES)
def study_sizes(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return turns, conversations, money and days by setting."""
    # Imported here: every process registers this, and only the worker should pay for numpy and scipy.
    from irt_engine.errors import EngineError
    from irt_engine.selections import StudyTerms, TurnDesign, study_costs

    values = {name: args[name] for name in ("difference", "alpha", "power", "baseline", "discordance")}
    terms = {name: args[name] for name in ("chatbots", "counted_turns", "paid_turns", "pay", "pay_per")}
    # The pace is in judged turns per day.
    pace = None if args["per_day"] is None else args["per_day"] / args["counted_turns"]
    try:
        found = study_costs(TurnDesign(**values), StudyTerms(**terms, conversations_per_day=pace))
    except EngineError as error:
        raise InvalidInput(str(error)) from error
    rows = [
        {
            "setting": name,
            "chosen": name == args["chosen"],
            "studies": cost.studies,
            "turns_each": cost.size.turns,
            "turns": cost.turns,
            "conversations": cost.conversations,
            "money": cost.money,
            "days": cost.days,
            "test": cost.size.assumptions["test"],
        }
        for name, cost in found.items()
    ]
    return {"settings": rows}
