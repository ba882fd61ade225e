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

    replaces = replaced("judgments")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "__first__"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Annotator",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("human", "Human"),
                            ("simulated", "Simulated"),
                            ("model", "Model"),
                            ("unknown", "Unknown"),
                        ],
                        default="unknown",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "user",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="annotator",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["human", "simulated", "model", "unknown"])),
                        name="annotator_kind_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatorIdentity",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "source",
                    models.CharField(
                        help_text="crowd platform, or the vote file that names the annotator", max_length=200
                    ),
                ),
                ("external_id", models.CharField(max_length=200)),
                ("email", models.EmailField(blank=True, default="", max_length=254)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="identities", to="judgments.annotator"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "annotator identities",
                "constraints": [
                    models.UniqueConstraint(fields=("source", "external_id"), name="identity_once_per_source")
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatorNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=500)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notes", to="judgments.annotator"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="annotator_notes",
                        to="campaigns.campaign",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AnnotatorToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to="judgments.annotator"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Batch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(choices=[("open", "Open"), ("closed", "Closed")], default="open", max_length=10),
                ),
                (
                    "size",
                    models.PositiveIntegerField(
                        default=0, help_text="judgments for ranking that it holds; gold fills no batch"
                    ),
                ),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "batches",
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "number"), name="batch_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")), fields=("campaign",), name="batch_one_open_per_campaign"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("closed_at__isnull", True), ("state", "open")),
                            models.Q(("closed_at__isnull", False), ("state", "closed")),
                            _connector="OR",
                        ),
                        name="batch_closed_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Bonus",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", models.DecimalField(decimal_places=4, max_digits=11)),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(max_length=200)),
                ("given_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="bonuses", to="judgments.annotator"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="bonuses", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "bonuses",
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(help_text="whom it is for", max_length=100)),
                ("sha256", models.CharField(editable=False, max_length=64, unique=True)),
                ("at_most", models.PositiveIntegerField(blank=True, help_text="annotators that it admits", null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invitations", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Enrolment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "platform",
                    models.CharField(blank=True, default="", help_text="that sent the annotator", max_length=10),
                ),
                ("consented_at", models.DateTimeField(blank=True, null=True)),
                (
                    "erasure",
                    models.CharField(
                        choices=[
                            ("keep", "They stay, without the person"),
                            ("remove", "They are removed with the person"),
                        ],
                        default="keep",
                        help_text="what they were promised of their judgments, whatever the campaign says since",
                        max_length=6,
                    ),
                ),
                ("left_at", models.DateTimeField(blank=True, null=True)),
                (
                    "paused_at",
                    models.DateTimeField(
                        blank=True, help_text="by who runs the campaign: nothing new is issued", null=True
                    ),
                ),
                ("blocks_claimed", models.PositiveIntegerField(default=0)),
                (
                    "network",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="keyed hash of a newcomer's network; blank once they answered",
                        max_length=64,
                    ),
                ),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="enrolments", to="judgments.annotator"
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="enrolments", to="campaigns.campaign"
                    ),
                ),
                (
                    "invitation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="enrolments",
                        to="judgments.invitation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("network", ""), _negated=True),
                        fields=["campaign", "network"],
                        name="enrolment_newcomers",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "annotator"), name="enrolment_once"),
                    models.CheckConstraint(
                        condition=models.Q(("erasure__in", ["keep", "remove"])), name="enrolment_erasure_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Arrival",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("study", models.CharField(help_text="STUDY_ID, or hitId", max_length=200)),
                ("session", models.CharField(help_text="SESSION_ID, or assignmentId", max_length=200)),
                ("submit_to", models.CharField(blank=True, default="", help_text="turkSubmitTo", max_length=200)),
                (
                    "counts_from",
                    models.PositiveIntegerField(
                        default=0, help_text="judgments that an earlier visit had its code for"
                    ),
                ),
                ("arrived_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "browser",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="hash of what the browser keeps that is shown the code",
                        max_length=64,
                    ),
                ),
                (
                    "enrolment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="arrivals", to="judgments.enrolment"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("enrolment", "session"), name="arrival_session_once")],
            },
        ),
        migrations.CreateModel(
            name="NetworkTrace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=64)),
                ("seen_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="judgments.annotator"
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "network", "annotator"), name="network_trace_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="PastWorker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hmac", models.CharField(max_length=64)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="past_workers",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("campaign", "hmac"), name="past_worker_once")],
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", models.DecimalField(decimal_places=4, max_digits=11)),
                ("currency", models.CharField(max_length=3)),
                (
                    "reference",
                    models.CharField(blank=True, default="", help_text="the platform's, or a bank's", max_length=200),
                ),
                ("paid_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="judgments.annotator"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="campaigns.campaign"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Place",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("item", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="places",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="places", to="prompts.prompt"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["campaign", "item"], name="place_item")],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "item",
                    models.CharField(
                        help_text="its place's; here so that the database keeps it single", max_length=200
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("issued", "Issued"),
                            ("answered", "Answered"),
                            ("expired", "Expired"),
                            ("returned", "Returned"),
                            ("withdrawn", "Withdrawn"),
                            ("removed", "Removed"),
                            ("void", "Void"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("measure", "to rank the chatbots"),
                            ("overlap", "to compare annotators (it also ranks)"),
                            ("gold", "to check an annotator"),
                            ("qualification", "to admit an annotator"),
                            ("opening", "to begin a conversation (it does not rank)"),
                        ],
                        default="measure",
                        max_length=14,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[("plan", "Plan"), ("import", "Import"), ("live", "Live")], default="plan", max_length=6
                    ),
                ),
                (
                    "priority",
                    models.PositiveIntegerField(
                        default=0, help_text="its place in the plan; the lowest is issued first"
                    ),
                ),
                ("policy", models.CharField(blank=True, default="", max_length=30)),
                (
                    "snapshot",
                    models.UUIDField(
                        blank=True, help_text="public id of the snapshot that it was planned from", null=True
                    ),
                ),
                (
                    "plan_seed",
                    models.PositiveBigIntegerField(blank=True, help_text="of the plan that drew it", null=True),
                ),
                (
                    "probability",
                    models.FloatField(
                        blank=True, help_text="of this draw, given the earlier draws of the same plan", null=True
                    ),
                ),
                (
                    "order_known",
                    models.BooleanField(
                        default=True, help_text="whether the candidates' positions are the shown order"
                    ),
                ),
                ("block", models.UUIDField(blank=True, null=True)),
                ("block_position", models.PositiveIntegerField(default=0)),
                ("pay_rate", models.DecimalField(decimal_places=4, default=0, max_digits=9)),
                ("currency", models.CharField(blank=True, default="", max_length=3)),
                (
                    "pay_per",
                    models.CharField(
                        choices=[("judgment", "for one judgment"), ("hour", "for an hour of judging")],
                        default="judgment",
                        max_length=8,
                    ),
                ),
                (
                    "worked_ms",
                    models.PositiveIntegerField(
                        blank=True, help_text="to its first answer, where hours are paid", null=True
                    ),
                ),
                ("queued_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("issued_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "gold",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="what it shows",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="campaigns.golditem",
                    ),
                ),
                (
                    "place",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="judgments.place"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["campaign", "state", "priority", "id"], name="assignment_queue"),
                    models.Index(
                        condition=models.Q(("state", "issued")), fields=["lease_until"], name="assignment_leases"
                    ),
                    models.Index(fields=["annotator", "state"], name="assignment_of_annotator"),
                    models.Index(
                        condition=models.Q(("gold__isnull", False)), fields=["gold"], name="assignment_of_gold"
                    ),
                    models.Index(
                        fields=[
                            "campaign",
                            "annotator",
                            "currency",
                            "pay_rate",
                            "pay_per",
                            "state",
                            "worked_ms",
                            "closed_at",
                        ],
                        name="assignment_accounts",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "issued", "answered"])),
                        fields=("place",),
                        name="assignment_one_open_or_answered_per_place",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("annotator__isnull", False), ("source", "plan")),
                        fields=("annotator", "item"),
                        name="assignment_item_once_per_annotator",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("annotator__isnull", True), ("state__in", ["queued", "withdrawn"])),
                            models.Q(
                                ("annotator__isnull", False),
                                ("issued_at__isnull", False),
                                ("lease_until__isnull", False),
                                ("state__in", ["issued", "answered", "expired", "returned", "removed", "void"]),
                            ),
                            models.Q(("source", "import"), ("state", "answered")),
                            _connector="OR",
                        ),
                        name="assignment_state_fits_annotator_and_lease",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("probability__isnull", True),
                            models.Q(("probability__gt", 0), ("probability__lte", 1)),
                            _connector="OR",
                        ),
                        name="assignment_probability_is_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["measure", "overlap", "gold", "qualification", "opening"])),
                        name="assignment_purpose_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["plan", "import", "live"])), name="assignment_source_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("gold__isnull", True), ("purpose", "gold"), _connector="OR"),
                        name="assignment_of_gold_checks",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("gold_side", models.CharField(blank=True, default="", max_length=1)),
                (
                    "assignment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="judgments.assignment",
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidacies",
                        to="campaigns.entrant",
                    ),
                ),
                (
                    "reply",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidacies",
                        to="chatbots.reply",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("assignment", "position"), name="candidate_position_once"),
                    models.UniqueConstraint(fields=("assignment", "entrant"), name="candidate_never_against_itself"),
                    models.CheckConstraint(condition=models.Q(("position__lte", 7)), name="candidate_positions_a_to_h"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("entrant__isnull", False), ("reply__isnull", False)),
                            models.Q(("entrant__isnull", True), ("gold_side__in", ["A", "B"]), ("reply__isnull", True)),
                            _connector="OR",
                        ),
                        name="candidate_is_a_reply_or_golds",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Judgment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("late", models.BooleanField(default=False, help_text="answered after its lease had ended")),
                (
                    "over_quota",
                    models.BooleanField(
                        default=False,
                        help_text="late, when all that the quota takes was answered or open: fills no place, is not paid",
                    ),
                ),
                (
                    "client_ms",
                    models.PositiveIntegerField(
                        blank=True, help_text="from shown to decided, by the client", null=True
                    ),
                ),
                (
                    "answered_at",
                    models.DateTimeField(blank=True, help_text="null: an imported vote does not say", null=True),
                ),
                ("recorded_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judgments", to="judgments.assignment"
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="judgments.batch",
                    ),
                ),
                (
                    "supersedes",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="superseded_by",
                        to="judgments.judgment",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["batch", "annotator", "supersedes"], name="judgment_tally")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("supersedes__isnull", True)),
                        fields=("assignment",),
                        name="judgment_first_once_per_assignment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("over_quota", False), ("late", True), _connector="OR"),
                        name="judgment_only_late_ones_are_over_quota",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lifted", models.BooleanField(default=False, help_text="this fact re-admits")),
                ("proposed", models.BooleanField(default=False, help_text="by the screening, for a person to decide")),
                (
                    "provisional",
                    models.BooleanField(
                        default=False, help_text="a newcomer's votes do not count yet; lifted: they are vetted"
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                (
                    "reason_data",
                    models.JSONField(
                        editable=False,
                        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
                        null=True,
                    ),
                ),
                (
                    "evidence",
                    models.JSONField(blank=True, default=dict, help_text="the numbers that the reason rests on"),
                ),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "annotator",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="exclusions", to="campaigns.campaign"
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "judgment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="judgments.judgment",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("annotator__isnull", False), ("judgment__isnull", True)),
                            models.Q(("annotator__isnull", True), ("judgment__isnull", False)),
                            _connector="OR",
                        ),
                        name="exclusion_of_annotator_or_judgment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("provisional", False),
                            models.Q(("annotator__isnull", False), ("proposed", False)),
                            _connector="OR",
                        ),
                        name="exclusion_provisional_of_annotator",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=2000)),
                (
                    "judgment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comment", to="judgments.judgment"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("value", models.CharField(max_length=60)),
                (
                    "aspect",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="answers", to="campaigns.aspect"
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="judgments.candidate",
                    ),
                ),
                (
                    "judgment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="judgments.judgment",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("judgment", "aspect", "candidate", "value"), name="answer_once_per_candidate_and_value"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("candidate__isnull", True)),
                        fields=("judgment", "aspect", "value"),
                        name="answer_once_per_value",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("candidate__isnull", True), ("value", "chosen"), _negated=True),
                            models.Q(
                                ("candidate__isnull", False), ("value__in", ["tie", "both_bad", "none"]), _negated=True
                            ),
                            models.Q(("value", ""), _negated=True),
                        ),
                        name="answer_value_fits_candidate",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgmentReason",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=40)),
                (
                    "judgment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reasons", to="judgments.judgment"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("judgment", "text"), name="judgment_reason_once")],
            },
        ),
        migrations.CreateModel(
            name="QualificationAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveIntegerField()),
                ("choice", models.CharField(max_length=10)),
                ("answered_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "enrolment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="qualification_answers",
                        to="judgments.enrolment",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="campaigns.qualificationitem",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("enrolment", "item", "attempt"), name="qualification_answer_once"),
                    models.CheckConstraint(
                        condition=models.Q(("attempt__in", [1, 2])), name="qualification_attempts_are_two"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Skip",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("cannot_judge", "topic or language"),
                            ("broken", "a reply is missing or broken"),
                            ("offensive", "does not want to read it"),
                            ("recognised", "recognises the chatbot"),
                            ("other", "something else"),
                        ],
                        max_length=20,
                    ),
                ),
                ("skipped_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="skip", to="judgments.assignment"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reason__in", ["cannot_judge", "broken", "offensive", "recognised", "other"])
                        ),
                        name="skip_reason_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SkipNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=500)),
                (
                    "skip",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="note", to="judgments.skip"
                    ),
                ),
            ],
        ),
        forbid_update("judgments_candidate"),
        forbid_update("judgments_judgment"),
        forbid_update("judgments_answer"),
        forbid_update("judgments_skip"),
        forbid_update("judgments_exclusion"),
        forbid_update("judgments_judgmentreason"),
        forbid_update(
            "judgments_payment", of=("campaign_id", "annotator_id", "amount", "currency", "paid_at", "by_id")
        ),
        forbid_update("judgments_bonus", of=("campaign_id", "annotator_id", "amount", "currency", "given_at", "by_id")),
        forbid_delete("judgments_candidate"),
        forbid_delete("judgments_judgment"),
        forbid_delete("judgments_answer"),
        forbid_delete("judgments_judgmentreason"),
        forbid_delete("judgments_skip"),
        forbid_delete("judgments_exclusion"),
        forbid_delete("judgments_payment"),
        forbid_delete("judgments_bonus"),
    ]
