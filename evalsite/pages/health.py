"""Answers for load balancers: does the process live, and can it serve."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """The process answers; nothing else is looked at."""
    return JsonResponse({"live": True})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and its tables are those of this code."""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return JsonResponse({"ready": False, "why": "the database does not answer"}, status=503)
    if pending:
        return JsonResponse({"ready": False, "why": "migrations are pending"}, status=503)
    return JsonResponse({"ready": True})
