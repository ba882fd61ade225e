"""What is a fact cannot be changed, whoever asks: the database itself refuses."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply, Version
from evalsite.judgments.models import Annotator, Answer, Judgment
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import judge

IMMUTABLE = {
    "core_auditentry",
    "campaigns_retirement",
    "campaigns_golditem",
    "campaigns_goldwithdrawal",
    "prompts_prompt",
    "campaigns_aspect",
    "chatbots_version",
    "chatbots_reply",
    "judgments_candidate",
    "judgments_judgment",
    "judgments_answer",
    "judgments_judgmentreason",
    "judgments_skip",
    "judgments_exclusion",
    "judgments_payment",
    "judgments_bonus",
    "adaptive_snapshot",
    "adaptive_decision",
}


@pytest.mark.django_db
def test_every_immutable_table_has_its_trigger() -> None:
    query = {
        "sqlite": "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT event_object_table FROM information_schema.triggers WHERE event_manipulation = 'UPDATE'",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert {row[0] for row in cursor.fetchall()} == IMMUTABLE


def test_a_judgment_and_what_it_rests_on_cannot_be_edited(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    changes: list[tuple[QuerySet, dict[str, Any]]] = [
        (Judgment.objects.all(), {"late": True}),
        (Answer.objects.all(), {"value": "tie"}),
        (Reply.objects.all(), {"text": "better"}),
        (Prompt.objects.all(), {"category": "other"}),
        (Version.objects.all(), {"label": "2"}),
    ]
    for rows, change in changes:
        assert rows.exists()
        with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
            rows.update(**change)
