import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import replaced


class Migration(migrations.Migration):
    initial = True

    replaces = replaced("judgments")

    dependencies = [
        ("accounts", "0001_squashed_0004_mail_language"),
        ("campaigns", "0001_squashed_0016_facts_stay"),
        ("chatbots", "0001_squashed_0004_facts_stay"),
        ("core", "0001_squashed_0004_permit"),
        ("prompts", "0001_squashed_0003_facts_stay"),
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
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="identities", to="judgments.annotator"
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        help_text="crowd platform, or the vote file that names the annotator", max_length=200
                    ),
                ),
                ("external_id", models.CharField(max_length=200)),
                ("email", models.EmailField(blank=True, default="", max_length=254)),
            ],
            options={
                "verbose_name_plural": "annotator identities",
                "constraints": [
                    models.UniqueConstraint(fields=("source", "external_id"), name="identity_once_per_source")
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatorToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to="judgments.annotator"
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invitations", to="campaigns.campaign"
                    ),
                ),
                ("name", models.CharField(help_text="whom it is for", max_length=100)),
                ("sha256", models.CharField(editable=False, max_length=64, unique=True)),
                ("at_most", models.PositiveIntegerField(blank=True, help_text="annotators that it admits", null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
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
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="enrolments", to="campaigns.campaign"
                    ),
                ),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="enrolments", to="judgments.annotator"
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
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
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
                (
                    "enrolment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="arrivals", to="judgments.enrolment"
                    ),
                ),
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
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("enrolment", "session"), name="arrival_session_once")],
            },
        ),
        migrations.CreateModel(
            name="PastWorker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="past_workers",
                        to="campaigns.campaign",
                    ),
                ),
                ("hmac", models.CharField(max_length=64)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("campaign", "hmac"), name="past_worker_once")],
            },
        ),
        migrations.CreateModel(
            name="QualificationAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("attempt", models.PositiveIntegerField()),
                ("choice", models.CharField(max_length=10)),
                ("answered_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
            name="Place",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="places", to="campaigns.campaign"
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="places", to="prompts.prompt"
                    ),
                ),
                ("item", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "indexes": [models.Index(fields=["campaign", "item"], name="place_item")],
            },
        ),
        migrations.CreateModel(
            name="Reserve",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reserves", to="campaigns.campaign"
                    ),
                ),
                (
                    "design",
                    models.CharField(help_text="the campaign's design mark, under which it was planned", max_length=64),
                ),
                ("policy", models.CharField(max_length=30)),
                (
                    "snapshot",
                    models.UUIDField(help_text="public id of the snapshot that it was planned from", null=True),
                ),
                ("plan_seed", models.PositiveBigIntegerField(help_text="of the plan that drew it")),
                ("size", models.PositiveIntegerField()),
                ("asks", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="campaigns.campaign"
                    ),
                ),
                (
                    "place",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="judgments.place"
                    ),
                ),
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
                        ],
                        default="measure",
                        max_length=14,
                    ),
                ),
                (
                    "source",
                    models.CharField(choices=[("plan", "Plan"), ("import", "Import")], default="plan", max_length=6),
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
                    "gold",
                    models.ForeignKey(
                        blank=True,
                        help_text="what it shows",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="campaigns.golditem",
                    ),
                ),
                (
                    "order_known",
                    models.BooleanField(
                        default=True, help_text="whether the candidates' positions are the shown order"
                    ),
                ),
                (
                    "annotator",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="judgments.annotator",
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["campaign", "state", "priority", "id"], name="assignment_queue"),
                    models.Index(
                        condition=models.Q(("state", "issued")), fields=["lease_until"], name="assignment_leases"
                    ),
                    models.Index(fields=["annotator", "state"], name="assignment_of_annotator"),
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
                                ("state__in", ["issued", "answered", "expired", "returned", "removed"]),
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
                        condition=models.Q(("purpose__in", ["measure", "overlap", "gold", "qualification"])),
                        name="assignment_purpose_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["plan", "import"])), name="assignment_source_known"
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
                (
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="judgments.assignment",
                    ),
                ),
                ("position", models.PositiveIntegerField()),
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
                ("gold_side", models.CharField(blank=True, default="", max_length=1)),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("assignment", "position"), name="candidate_position_once"),
                    models.UniqueConstraint(fields=("assignment", "entrant"), name="candidate_never_against_itself"),
                    models.CheckConstraint(
                        condition=models.Q(("position__lte", 1)), name="candidate_positions_built_now"
                    ),
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
            name="Batch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to="campaigns.campaign"
                    ),
                ),
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
            name="Judgment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judgments", to="judgments.assignment"
                    ),
                ),
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
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judgments", to="judgments.batch"
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
            name="Answer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "judgment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="answers", to="judgments.judgment"
                    ),
                ),
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
                ("value", models.CharField(max_length=60)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("judgment", "aspect"), name="answer_one_per_aspect_built_now"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("candidate__isnull", False), ("value", "chosen")),
                            models.Q(("candidate__isnull", True), ("value__in", ["tie", "both_bad"])),
                            _connector="OR",
                        ),
                        name="answer_choice_built_now",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgmentReason",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "judgment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reasons", to="judgments.judgment"
                    ),
                ),
                ("text", models.CharField(max_length=40)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("judgment", "text"), name="judgment_reason_once")],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "judgment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comment", to="judgments.judgment"
                    ),
                ),
                ("text", models.CharField(max_length=2000)),
            ],
        ),
        migrations.CreateModel(
            name="Skip",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="skip", to="judgments.assignment"
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("cannot_judge", "topic or language"),
                            ("broken", "a reply is missing or broken"),
                            ("offensive", "does not want to read it"),
                            ("other", "something else"),
                        ],
                        max_length=20,
                    ),
                ),
                ("skipped_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", ["cannot_judge", "broken", "offensive", "other"])),
                        name="skip_reason_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SkipNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "skip",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="note", to="judgments.skip"
                    ),
                ),
                ("text", models.CharField(max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="exclusions", to="campaigns.campaign"
                    ),
                ),
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
                    "judgment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="judgments.judgment",
                    ),
                ),
                ("lifted", models.BooleanField(default=False, help_text="this fact re-admits")),
                ("proposed", models.BooleanField(default=False, help_text="by the screening, for a person to decide")),
                ("reason", models.CharField(max_length=500)),
                (
                    "evidence",
                    models.JSONField(blank=True, default=dict, help_text="the numbers that the reason rests on"),
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
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnotatorNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="annotator_notes",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notes", to="judgments.annotator"
                    ),
                ),
                ("text", models.CharField(max_length=500)),
                ("written_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
            ],
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="campaigns.campaign"
                    ),
                ),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="judgments.annotator"
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=4, max_digits=11)),
                ("currency", models.CharField(max_length=3)),
                (
                    "reference",
                    models.CharField(blank=True, default="", help_text="the platform's, or a bank's", max_length=200),
                ),
                ("paid_at", models.DateTimeField(default=django.utils.timezone.now)),
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
            ],
        ),
        migrations.CreateModel(
            name="Bonus",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="bonuses", to="campaigns.campaign"
                    ),
                ),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="bonuses", to="judgments.annotator"
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=4, max_digits=11)),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(max_length=200)),
                ("given_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
            ],
            options={
                "verbose_name_plural": "bonuses",
            },
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
