"""The health page: the state of the service, and advice on problems."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.operations.service_health import ServiceHealth
from evalsite.presentation.formatting import fixed, whole


def health_context(vitals: ServiceHealth, not_ready: str) -> dict[str, Any]:
    """Return the context of the page.

    not_ready: why /readyz reports that this process cannot serve; "" if it can.
    """
    troubles = [not_ready] if not_ready else []
    troubles += [_troubles()[name] for name in vitals.troubles]
    words = _job_states()
    jobs = ", ".join(f"{whole(count)} {words.get(state, state)}" for state, count in sorted(vitals.jobs.items()))
    facts = [
        (_("Web"), _("cannot serve") if not_ready else _("answers")),
        (_("Worker"), _worker(vitals)),
        (_("Database"), _("answers in %(ms)s ms") % {"ms": fixed(vitals.database_ms, 1)}),
        (_("Broker"), _broker(vitals)),
        (_("Jobs that are not done"), jobs or _("none")),
        (_("Oldest job that is due"), _seconds(vitals.job_age)),
        (_("Oldest closed batch without a refit"), _seconds(vitals.batch_age)),
        (_("Judgments in open batches"), whole(vitals.open_judgments)),
        (_("Assignments that wait"), whole(vitals.queued)),
        (_("Assignments that annotators hold"), whole(vitals.issued)),
        (_("Last refit"), _last(vitals)),
        (_("Refits that failed today"), whole(vitals.refits_failed)),
        (_("Campaigns whose refits fail now"), whole(vitals.failing)),
        (_("Free on disk"), "–" if vitals.disk_free is None else f"{fixed(vitals.disk_free / 1e9, 1)} GB"),
    ]
    return {"troubles": troubles, "facts": facts}


def _troubles() -> dict[str, str]:
    return {
        "worker": _(
            "A job has been due for more than a minute, and no worker takes it. Start one. Nothing is lost meanwhile."
        ),
        "busy": _("A job has been due for more than a minute: the workers are busy. Start another one if this lasts."),
        "caller": _("Calls to live chatbots are due, and no caller makes them. Start one; nothing is lost meanwhile."),
        "dead_jobs": _("A job was given up after several attempts. The administration shows its error."),
        "failing": _("A campaign's refit fails and is tried again; its overview shows the error."),
        "batch": _("A closed batch waits for its refit for more than five minutes. Look at the worker's log."),
        "broker": _("The broker does not answer. The sweep does the work meanwhile, some seconds later."),
        "disk": _("The disk is nearly full. Make room: without it nothing more can be recorded."),
    }


def _worker(vitals: ServiceHealth) -> str:
    if "worker" in vitals.troubles:
        return _("takes no job")
    if vitals.jobs_held:
        text = ngettext("runs %(n)s job", "runs %(n)s jobs", vitals.jobs_held)
        return text % {"n": whole(vitals.jobs_held)}
    if vitals.worker_age is None:
        return _("had nothing to do yet")
    return _("ended a job %(age)s s ago") % {"age": fixed(vitals.worker_age, 0)}


def _job_states() -> dict[str, str]:
    return {"queued": _("queued"), "running": _("running"), "dead": _("given up")}


def _broker(vitals: ServiceHealth) -> str:
    if vitals.broker_trouble:
        return vitals.broker_trouble
    if vitals.broker_ms is None:
        return _("none is needed")
    return _("answers in %(ms)s ms") % {"ms": fixed(vitals.broker_ms, 1)}


def _seconds(age: float | None) -> str:
    return _("none") if age is None else f"{fixed(age, 0)} s"


def _last(vitals: ServiceHealth) -> str:
    if vitals.refit_age is None or vitals.refit_seconds is None:
        return _("none yet")
    return _("%(age)s s ago, took %(took)s s") % {
        "age": fixed(vitals.refit_age, 0),
        "took": fixed(vitals.refit_seconds, 1),
    }
