import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("scorecards")

    dependencies = [
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
        ("dialogues", "0001_squashed_0002_third_parties"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConversationSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "criterion",
                    models.CharField(
                        blank=True, default="", help_text="that is the rating; empty: rating or overall", max_length=200
                    ),
                ),
                ("lowest", models.FloatField(default=1, help_text="of the scale of the rating")),
                ("highest", models.FloatField(default=5)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "mark",
                    models.CharField(
                        blank=True, default="", help_text="of the live conversations last computed", max_length=32
                    ),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        blank=True,
                        help_text="whose live conversations these are; null: they are imported",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversation_set",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversation_sets",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organisation", "name"), name="conversation_set_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("lowest__lt", models.F("highest"))), name="conversation_set_scale_ascends"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Annotation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "unit",
                    models.CharField(
                        choices=[
                            ("reply", "one reply with the conversation before it"),
                            ("conversation", "one whole conversation"),
                            ("pair", "two whole conversations of different chatbots"),
                        ],
                        default="reply",
                        max_length=12,
                    ),
                ),
                (
                    "whole_conversations",
                    models.BooleanField(default=False, help_text="conversations are drawn, with all replies"),
                ),
                ("seed", models.PositiveIntegerField(default=0, help_text="of the sample")),
                (
                    "size",
                    models.JSONField(default=dict, help_text="share, number, or half_width and rate; {}: not recorded"),
                ),
                (
                    "error_below",
                    models.FloatField(blank=True, help_text="ratings below are errors; null: the lowest", null=True),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="annotation", to="campaigns.campaign"
                    ),
                ),
                (
                    "conversation_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="annotations",
                        to="scorecards.conversationset",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("unit__in", ["reply", "conversation", "pair"])),
                        name="annotation_unit_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ErasedUser",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hmac", models.CharField(max_length=64)),
                ("erased_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "conversation_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="erased_users",
                        to="scorecards.conversationset",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("conversation_set", "hmac"), name="erased_user_once")],
            },
        ),
        migrations.CreateModel(
            name="ImportedConversation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("key", models.CharField(help_text="the id that its file gives it", max_length=200)),
                ("chatbot", models.CharField(max_length=200)),
                ("user_key", models.CharField(blank=True, default="", help_text="as the file has it", max_length=200)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("probability", models.FloatField(help_text="of the assignment of the chatbot", null=True)),
                ("turns", models.JSONField()),
                ("replies", models.PositiveIntegerField(help_text="of the chatbot")),
                ("feedback", models.TextField(blank=True, default="")),
                ("digest", models.CharField(help_text="of all values, to detect changes", max_length=32)),
                (
                    "domains",
                    models.JSONField(
                        help_text="number of the domain of each turn; null: not classified yet", null=True
                    ),
                ),
                ("imported_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "conversation_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to="scorecards.conversationset",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["conversation_set", "chatbot"], name="imported_of_chatbot"),
                    models.Index(fields=["conversation_set", "user_key"], name="imported_of_user"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("conversation_set", "key"), name="imported_conversation_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("key", ""), _negated=True), models.Q(("chatbot", ""), _negated=True)
                        ),
                        name="imported_conversation_has_names",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatedReply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "number",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="of the reply in its conversation, from 1; null: the whole conversation",
                        null=True,
                    ),
                ),
                (
                    "live",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="annotated_replies",
                        to="dialogues.conversation",
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="annotated_replies",
                        to="prompts.prompt",
                    ),
                ),
                (
                    "reply",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="annotated_reply", to="chatbots.reply"
                    ),
                ),
                (
                    "annotation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="replies", to="scorecards.annotation"
                    ),
                ),
                (
                    "imported",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="annotated_replies",
                        to="scorecards.importedconversation",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "annotated replies",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("imported__isnull", False), ("live__isnull", True)),
                            models.Q(("imported__isnull", True), ("live__isnull", False)),
                            _connector="OR",
                        ),
                        name="annotated_reply_has_one_conversation",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("number__isnull", True), ("number__gte", 1), _connector="OR"),
                        name="annotated_reply_from_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedRating",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.CharField(blank=True, default="", max_length=200)),
                ("row", models.PositiveIntegerField()),
                ("turn", models.PositiveIntegerField(null=True)),
                ("criterion", models.CharField(max_length=200)),
                ("value", models.FloatField(null=True)),
                ("label", models.CharField(blank=True, default="", max_length=30)),
                ("group", models.CharField(max_length=11)),
                ("user_key", models.CharField(blank=True, default="", max_length=200)),
                ("at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ratings",
                        to="scorecards.importedconversation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "source", "row"), name="imported_rating_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("label", ""), ("value__isnull", False)),
                            models.Q(("value__isnull", True), models.Q(("label", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="imported_rating_is_value_or_label",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("group__in", ["user", "evaluator", "third_party"])),
                        name="imported_rating_group_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StoredScorecard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("conversations", models.PositiveIntegerField()),
                (
                    "content",
                    models.JSONField(help_text="as manage.py scorecard --json prints it, and scores of replicates"),
                ),
                ("prediction", models.JSONField(help_text="as manage.py predict_ratings --json prints it", null=True)),
                ("computed_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "conversation_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scorecards",
                        to="scorecards.conversationset",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["conversation_set", "-id"], name="scorecard_newest")],
            },
        ),
    ]
