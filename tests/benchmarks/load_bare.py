"""What a plain Django REST view costs on the same server and database: a token looked up, a body checked, a row kept.

The row goes into the table of idempotency keys: small, with one unique key. Middleware and parser are the site's own.
The token is looked up by its hash as the framework's TokenAuthentication would: by the ORM, with whose it is; the
site's own statement for it, written by hand, is what a bare view does without.
"""

from typing import Any, cast

from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsite.api.authentication import AnnotatorCaller, AnnotatorTokenAuthentication
from evalsite.core.db import write_transaction
from evalsite.core.models import IdempotencyKey
from evalsite.judgments.models import AnnotatorToken
from evalsite.urls import handler400, handler404, handler500
from evalsite.urls import urlpatterns as of_the_site

__all__ = ["handler400", "handler404", "handler500", "urlpatterns"]


class Kept(serializers.Serializer[Any]):
    key = serializers.CharField(max_length=100)
    choice = serializers.ChoiceField(["A", "B", "tie"])


class PlainToken(AnnotatorTokenAuthentication):
    def find(self, sha256: str) -> tuple[AnnotatorCaller, AnnotatorToken] | None:
        tokens = AnnotatorToken.objects.select_related("annotator")
        token = tokens.filter(sha256=sha256, expires_at__gt=timezone.now()).first()
        return (AnnotatorCaller(token.annotator), token) if token else None


class BareView(APIView):
    authentication_classes = (PlainToken,)

    def post(self, request: Request) -> Response:
        given = Kept(data=request.data)
        given.is_valid(raise_exception=True)
        who = str(cast("AnnotatorCaller", request.user).annotator.public_id)
        with write_transaction():
            row, created = IdempotencyKey.objects.get_or_create(
                principal=f"bare:{who}", key=given.validated_data["key"], defaults={"sha256": "", "body": "{}"}
            )
        return Response({"id": row.pk}, status=201 if created else 200)


urlpatterns = [path("bare", BareView.as_view()), *of_the_site]
