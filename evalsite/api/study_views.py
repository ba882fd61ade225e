"""Studies: live campaigns that are launched together as arms."""

import uuid
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import User
from evalsite.api.base_views import ManagerView
from evalsite.api.live_requests import StudyRequest
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.requests import EmptyRequest, PageQuery
from evalsite.api.responses.live import StudyPageSerializer, StudySerializer
from evalsite.campaigns.models import Study
from evalsite.operations.studies import studies_of, studies_progress, study_for, study_launch, study_make

KEYED = (IDEMPOTENCY_KEY,)


class StudiesView(ManagerView):
    """The caller's studies. Creating a study launches nothing."""

    query = PageQuery

    @reading("studies", "List studies", StudyPageSerializer, query=PageQuery)
    def get(self, request: Request) -> Response:
        user = self.user(request)
        page = page_of(studies_of(user), **self.checked_query(request))
        return Response(StudyPageSerializer.render(replace(page, results=studies_progress(page.results, user))))

    @operation(
        "create_study",
        "Create a study from a live draft",
        {201: StudySerializer},
        ACTING,
        parameters=KEYED,
        body=StudyRequest,
    )
    def post(self, request: Request) -> Response:
        user = self.user(request)
        given = self.body(request, StudyRequest)
        key = given.pop("campaign")
        return self.done(request, lambda: (201, _shown(study_make(key=key, **given, by=user), user)))


class StudyView(ManagerView):
    """A study and the progress of its arms."""

    @reading("study", "Get a study", StudySerializer)
    def get(self, request: Request, study: uuid.UUID) -> Response:
        self.checked_query(request)
        user = self.user(request)
        return Response(_shown(study_for(public_id=study, user=user), user))


class StudyLaunchView(ManagerView):
    """Launch all arms that are drafts. If one arm cannot start, none is launched."""

    @operation(
        "launch_study",
        "Launch a study",
        {200: StudySerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, study: uuid.UUID) -> Response:
        user = self.user(request)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (200, _shown(study_launch(public_id=study, by=user), user)))


def _shown(study: Study, user: User) -> dict[str, Any]:
    return StudySerializer.render(studies_progress([study], user)[0])
