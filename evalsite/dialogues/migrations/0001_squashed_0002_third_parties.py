import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("dialogues")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "__first__"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
        ("endpoints", "0001_squashed_0003_live_requests"),
        ("judgments", "0001_squashed_0010_provisional"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "in progress"),
                            ("ended", "ended by the annotator"),
                            ("left", "left before the minimum of turns"),
                            ("expired", "ended after a time without activity"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("start_key", models.CharField(help_text="Idempotency-Key of the start", max_length=100)),
                (
                    "setting",
                    models.CharField(help_text="soba, sata_random or sata_written, as at its begin", max_length=20),
                ),
                (
                    "chatbot_set",
                    models.CharField(help_text="entrant ids in ascending order, joined by '-'", max_length=200),
                ),
                ("policy", models.CharField(help_text="that chose the chatbots", max_length=30)),
                ("probability", models.FloatField(blank=True, help_text="of this choice of chatbots", null=True)),
                ("snapshot", models.UUIDField(blank=True, null=True)),
                ("plan_seed", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "seed",
                    models.PositiveBigIntegerField(help_text="of the orders of replies and of random continuations"),
                ),
                (
                    "topic",
                    models.CharField(
                        blank=True, default="", help_text="opening topic that was proposed", max_length=300
                    ),
                ),
                (
                    "consents_to_review",
                    models.BooleanField(
                        default=False, help_text="third parties may judge turns of it, after redaction"
                    ),
                ),
                (
                    "rating",
                    models.PositiveSmallIntegerField(blank=True, help_text="from 1 to 5, at the end", null=True),
                ),
                ("feedback", models.TextField(blank=True, default="", help_text="erasable")),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "active_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="the last action of the annotator"
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("erased_at", models.DateTimeField(blank=True, null=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversations",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversations",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "open")), fields=["active_at"], name="conversation_idle"),
                    models.Index(fields=["campaign", "chatbot_set", "state"], name="conversation_of_set"),
                    models.Index(fields=["annotator", "campaign"], name="conversation_of_annotator"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("campaign", "annotator"),
                        name="conversation_one_open",
                    ),
                    models.UniqueConstraint(
                        fields=("campaign", "annotator", "start_key"), name="conversation_start_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "ended", "left", "expired"])),
                        name="conversation_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("state", "open")),
                            models.Q(models.Q(("state", "open"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="conversation_ended_has_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rating__isnull", True), models.Q(("rating__gte", 1), ("rating__lte", 5)), _connector="OR"
                        ),
                        name="conversation_rating_1_to_5",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("probability__isnull", True),
                            models.Q(("probability__gt", 0), ("probability__lte", 1)),
                            _connector="OR",
                        ),
                        name="conversation_probability_is_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConversationEntrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "left_at",
                    models.DateTimeField(blank=True, help_text="failed on turn 1: a reserve took its place", null=True),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="members", to="dialogues.conversation"
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversations",
                        to="campaigns.entrant",
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="campaigns.entrant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "entrant"), name="conversation_entrant_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ConversationKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(editable=False, max_length=64)),
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="key", to="dialogues.conversation"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EntrantPause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by_reports", models.BooleanField(default=False)),
                ("paused_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "entrant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="live_pause", to="campaigns.entrant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PlannedSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("entrants", models.CharField(max_length=200)),
                ("priority", models.PositiveIntegerField(default=0)),
                ("policy", models.CharField(blank=True, default="", max_length=30)),
                ("probability", models.FloatField(blank=True, help_text="of this draw", null=True)),
                (
                    "snapshot",
                    models.UUIDField(
                        blank=True, help_text="public id of the snapshot that it was planned from", null=True
                    ),
                ),
                ("plan_seed", models.PositiveBigIntegerField(blank=True, null=True)),
                ("planned_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="planned_sets",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["campaign", "priority", "id"], name="planned_set_order")],
            },
        ),
        migrations.CreateModel(
            name="StudyAllocation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("probability", models.FloatField()),
                ("allocated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="allocations",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="allocations", to="campaigns.campaign"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="allocations", to="campaigns.study"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("study", "annotator"), name="study_allocation_once")],
            },
        ),
        migrations.CreateModel(
            name="ThirdPartyReview",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seed", models.PositiveBigIntegerField(help_text="of the sample")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="review", to="campaigns.campaign"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="campaigns.campaign"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("number", models.PositiveSmallIntegerField(help_text="from 1")),
                ("message_key", models.CharField(help_text="Idempotency-Key of the message", max_length=100)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "replies are being written"),
                            ("released", "to be judged"),
                            ("judged", "judged"),
                            ("skipped", "skipped"),
                            ("void", "not judged, because a chatbot failed"),
                            ("dropped", "not judged, because the conversation ended"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "counts",
                    models.BooleanField(
                        help_text="whether its judgment enters the board; not the first turn by default"
                    ),
                ),
                ("posted_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("deadline", models.DateTimeField(help_text="of the replies")),
                ("released_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "assignment",
                    models.OneToOneField(
                        blank=True,
                        help_text="from its release",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turn",
                        to="judgments.assignment",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="turns", to="dialogues.conversation"
                    ),
                ),
                (
                    "prompt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="turn", to="prompts.prompt"
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "indexes": [
                    models.Index(condition=models.Q(("state", "waiting")), fields=["deadline"], name="turn_waiting")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "number"), name="turn_number_once"),
                    models.UniqueConstraint(fields=("conversation", "message_key"), name="turn_message_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["waiting", "released"])),
                        fields=("conversation",),
                        name="turn_one_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["waiting", "released", "judged", "skipped", "void", "dropped"])
                        ),
                        name="turn_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewedTurn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "prompt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviewed_turn", to="prompts.prompt"
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turns",
                        to="dialogues.thirdpartyreview",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="dialogues.turn"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("review", "turn"), name="reviewed_turn_once")],
            },
        ),
        migrations.CreateModel(
            name="TurnReply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("came", "Came"), ("failed", "Failed")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("text", models.TextField(blank=True, default="", help_text="erasable")),
                (
                    "hmac",
                    models.CharField(
                        blank=True, default="", help_text="of the text, by the conversation's key", max_length=64
                    ),
                ),
                (
                    "flags",
                    models.JSONField(blank=True, default=list, help_text="of the call (cut off), and names_maker"),
                ),
                ("error_class", models.CharField(blank=True, default="", max_length=20)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="turn_replies", to="campaigns.entrant"
                    ),
                ),
                (
                    "reply",
                    models.OneToOneField(
                        blank=True,
                        help_text="from the release",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turn_reply",
                        to="chatbots.reply",
                    ),
                ),
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turn_reply",
                        to="endpoints.callrequest",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="replies", to="dialogues.turn"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "turn replies",
                "ordering": ["position", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("turn", "entrant"), name="turn_reply_once"),
                    models.UniqueConstraint(fields=("turn", "position"), name="turn_reply_position_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "came", "failed"])), name="turn_reply_state_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "came"), _negated=True),
                            models.Q(("hmac", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="turn_reply_has_hash",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Continuation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("chosen", "the selected reply"),
                            ("random_of_selected", "a random one of the selected replies"),
                            ("random_of_none", "a random reply, because none was selected"),
                            ("written", "a reply that the annotator wrote"),
                            ("only", "the only reply that came"),
                        ],
                        max_length=18,
                    ),
                ),
                ("seed", models.PositiveBigIntegerField(blank=True, help_text="of a random choice", null=True)),
                ("continued_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "turn",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="continuation", to="dialogues.turn"
                    ),
                ),
                (
                    "reply",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="continuations",
                        to="dialogues.turnreply",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("how__in", ["chosen", "random_of_selected", "random_of_none", "written", "only"])
                        ),
                        name="continuation_how_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("how", "written"), ("reply__isnull", True)),
                            models.Q(models.Q(("how", "written"), _negated=True), ("reply__isnull", False)),
                            _connector="OR",
                        ),
                        name="continuation_has_reply_unless_written",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChatbotReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("harmful", "harmful or offensive"),
                            ("private", "personal data"),
                            ("identity", "it says which chatbot it is"),
                            ("broken", "broken"),
                            ("other", "something else"),
                        ],
                        max_length=10,
                    ),
                ),
                ("note", models.CharField(blank=True, default="", help_text="erasable", max_length=500)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("open", "not looked at yet"), ("dismissed", "dismissed"), ("upheld", "upheld")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("reported_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="chatbot_reports",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "settled_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "reply",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reports", to="dialogues.turnreply"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("reply", "annotator"), name="chatbot_report_once"),
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", ["harmful", "private", "identity", "broken", "other"])),
                        name="chatbot_report_reason_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("outcome__in", ["open", "dismissed", "upheld"])),
                        name="chatbot_report_outcome_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Utterance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("speaker", models.CharField(choices=[("user", "User"), ("chatbot", "Chatbot")], max_length=7)),
                ("text", models.TextField(help_text="erasable")),
                ("hmac", models.CharField(max_length=64)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("erased_at", models.DateTimeField(blank=True, null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="utterances",
                        to="dialogues.conversation",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="utterances", to="dialogues.turn"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("turn", "speaker"), name="utterance_once_per_speaker"),
                    models.CheckConstraint(
                        condition=models.Q(("speaker__in", ["user", "chatbot"])), name="utterance_speaker_known"
                    ),
                ],
            },
        ),
        forbid_update("dialogues_continuation"),
        forbid_delete("dialogues_continuation"),
    ]
