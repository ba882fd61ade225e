import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("webhooks")

    dependencies = [
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "subject",
                    models.UUIDField(
                        db_index=True,
                        editable=False,
                        help_text="public id of the campaign; null: the owner's submissions",
                        null=True,
                    ),
                ),
                ("events", models.JSONField(default=list, help_text="types of the events that it is told; empty: all")),
                ("url", models.CharField(max_length=2000)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "active"),
                            ("paused", "paused"),
                            ("disabled", "disabled: the receiver answered 410 (gone)"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "told_at",
                    models.DateTimeField(editable=False, help_text="last mail to the owner about a failure", null=True),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("url", ""), _negated=True), name="webhook_has_address")
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "message_id",
                    models.CharField(editable=False, help_text="the header webhook-id", max_length=40, unique=True),
                ),
                ("event_type", models.CharField(max_length=60)),
                (
                    "about",
                    models.UUIDField(
                        editable=False,
                        help_text="public id of the changed object; its messages arrive in order",
                        null=True,
                    ),
                ),
                ("body", models.TextField(help_text="JSON, exactly as it is signed and sent")),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "queued"), ("delivered", "delivered"), ("failed", "failed")],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "attempts",
                    models.PositiveIntegerField(default=0, help_text="since it was queued by its event or a person"),
                ),
                ("next_attempt_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("attempted_at", models.DateTimeField(help_text="latest attempt", null=True)),
                ("duration_ms", models.PositiveIntegerField(help_text="of the latest attempt", null=True)),
                ("status", models.PositiveIntegerField(help_text="of HTTP; null without a response", null=True)),
                ("response", models.CharField(blank=True, default="", help_text="its beginning", max_length=1000)),
                (
                    "error",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("address_refused", "The address leads to a network that this site does not call."),
                            ("unresolved", "No server was found under this name."),
                            ("connect", "The server does not accept connections, or closed the connection."),
                            ("tls", "The secure connection failed."),
                            ("timeout", "No complete response arrived in time."),
                            ("too_large", "The response is too large."),
                            ("redirect", "The server redirects. Redirects are not followed."),
                            ("encoded", "The response is compressed, although no compression was asked for."),
                            ("protocol", "The server does not answer in HTTP."),
                            ("secret", "The signing secret cannot be read. Rotate it."),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="webhooks.webhook"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "queued")), fields=["next_attempt_at"], name="delivery_due"
                    ),
                    models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
                    models.Index(fields=["created_at"], name="delivery_age"),
                    models.Index(
                        condition=models.Q(("about__isnull", False), ("state", "queued")),
                        fields=["webhook", "about", "id"],
                        name="delivery_queued_about",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token", models.TextField(editable=False, help_text="encrypted (core.encryption)")),
                ("key_id", models.CharField(help_text="identifies the key that it is encrypted with", max_length=16)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(editable=False, help_text="null: the present secret", null=True)),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="secrets", to="webhooks.webhook"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("expires_at__isnull", True)),
                        fields=("webhook",),
                        name="webhook_secret_present_once",
                    )
                ],
            },
        ),
    ]
