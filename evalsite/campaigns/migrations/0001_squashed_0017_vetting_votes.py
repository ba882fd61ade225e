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

    replaces = replaced("campaigns")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
        ("accounts", "__first__"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
        ("endpoints", "0001_squashed_0003_live_requests"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Rubric",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="rubrics", to="accounts.organisation"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("organisation", "name"), name="rubric_name_once")],
            },
        ),
        migrations.CreateModel(
            name="Campaign",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("description", models.TextField(blank=True, default="")),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("static", "Replies from files or collections are compared"),
                            ("live", "Annotators chat with the chatbots and judge every turn"),
                            ("single", "Replies are labelled or rated one at a time"),
                        ],
                        default="static",
                        max_length=6,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("pilot", "Pilot"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("stopped", "Stopped"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("private", "members of the organisation"),
                            ("link", "whoever has the link"),
                            ("public", "everybody"),
                        ],
                        default="private",
                        max_length=10,
                    ),
                ),
                (
                    "admission",
                    models.CharField(
                        choices=[
                            ("members", "members of the organisation judge"),
                            ("open", "whoever sees the campaign judges"),
                        ],
                        default="members",
                        max_length=10,
                    ),
                ),
                (
                    "shows_prompts",
                    models.BooleanField(
                        default=False,
                        help_text="whoever sees the board may read its prompts, and what each of them tells",
                    ),
                ),
                (
                    "shows_replies",
                    models.BooleanField(
                        default=False,
                        help_text="and some replies to them, as examples beside the chatbots that gave them",
                    ),
                ),
                (
                    "releases_data",
                    models.BooleanField(
                        default=False,
                        help_text="whoever sees the board may download its judgments, without names of annotators",
                    ),
                ),
                (
                    "licence",
                    models.CharField(
                        blank=True, default="", help_text="of the released data, such as CC-BY-4.0", max_length=100
                    ),
                ),
                (
                    "fits_known_ties",
                    models.BooleanField(
                        default=False,
                        help_text="where two replies are the same text, the fit takes it for a tie that somebody judged",
                    ),
                ),
                (
                    "standing",
                    models.BooleanField(
                        default=False,
                        help_text="never ends: after a stop it waits, and opens again when an entrant joins",
                    ),
                ),
                (
                    "newcomer_budget",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="judgments that each newcomer of a standing campaign adds; null: the budget",
                        null=True,
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        default="adaptive", help_text="that chooses what to ask (scheduler)", max_length=30
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=0)),
                (
                    "batch_size",
                    models.PositiveIntegerField(
                        default=100, help_text="judgments that close a batch and start a refit"
                    ),
                ),
                (
                    "batch_age_s",
                    models.PositiveIntegerField(default=60, help_text="seconds after which an open batch closes"),
                ),
                (
                    "block_size",
                    models.PositiveIntegerField(default=10, help_text="assignments that an annotator claims at a time"),
                ),
                (
                    "lease_s",
                    models.PositiveIntegerField(
                        default=1200, help_text="seconds in which a claimed block is to be answered"
                    ),
                ),
                (
                    "votes_per_item",
                    models.PositiveIntegerField(default=1, help_text="judgments wanted of one pair on one prompt"),
                ),
                (
                    "screening",
                    models.CharField(
                        choices=[
                            ("off", "annotators are not screened"),
                            ("propose", "exclusions are proposed to a person"),
                            ("act", "annotators are excluded, and admitted again, by rule"),
                        ],
                        default="propose",
                        max_length=7,
                    ),
                ),
                ("gold_share", models.FloatField(default=0.0, help_text="of what an annotator is given; 0: none")),
                (
                    "vetting_votes",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="votes after which those of a newcomer count, if the campaign is open; 0: at once",
                    ),
                ),
                (
                    "gold_mark",
                    models.FloatField(
                        blank=True,
                        help_text="share of gold that careful annotators pass; null: gold does not screen",
                        null=True,
                    ),
                ),
                (
                    "quota",
                    models.PositiveIntegerField(blank=True, help_text="judgments one annotator may give", null=True),
                ),
                (
                    "pay_rate",
                    models.DecimalField(decimal_places=4, default=0, help_text="for what pay_per says", max_digits=9),
                ),
                (
                    "pay_per",
                    models.CharField(
                        choices=[("judgment", "for one judgment"), ("hour", "for an hour of judging")],
                        default="judgment",
                        max_length=8,
                    ),
                ),
                ("currency", models.CharField(default="USD", max_length=3)),
                (
                    "per_day",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="judgments expected in a day; forecasts tell days by it, nothing else does",
                        null=True,
                    ),
                ),
                ("stop_reason", models.TextField(blank=True, default="")),
                (
                    "stop_reason_data",
                    models.JSONField(
                        editable=False,
                        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                (
                    "opened_at",
                    models.DateTimeField(
                        blank=True, help_text="the budget counts from here: the start, or the last reopening", null=True
                    ),
                ),
                ("stopped_at", models.DateTimeField(blank=True, null=True)),
                (
                    "call_budget",
                    models.OneToOneField(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="campaign",
                        to="endpoints.callbudget",
                    ),
                ),
                (
                    "gold_set",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gold_of",
                        to="prompts.promptset",
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="campaigns",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "prompt_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="campaigns", to="prompts.promptset"
                    ),
                ),
                (
                    "rubric",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="campaigns", to="campaigns.rubric"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["draft", "pilot", "running", "paused", "stopped"])),
                        name="campaign_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["static", "live", "single"])), name="campaign_mode_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["private", "link", "public"])),
                        name="campaign_visibility_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("admission__in", ["members", "open"])), name="campaign_admission_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("screening__in", ["off", "propose", "act"])),
                        name="campaign_screening_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("batch_age_s__gte", 1),
                            ("batch_size__gte", 1),
                            ("block_size__gte", 1),
                            ("lease_s__gte", 1),
                            ("votes_per_item__gte", 1),
                        ),
                        name="campaign_sizes_from_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("newcomer_budget__isnull", True), ("newcomer_budget__gte", 1), _connector="OR"
                        ),
                        name="campaign_newcomer_budget_from_one",
                    ),
                    models.CheckConstraint(condition=models.Q(("pay_rate__gte", 0)), name="campaign_pay_not_negative"),
                    models.CheckConstraint(
                        condition=models.Q(("pay_per__in", ["judgment", "hour"])), name="campaign_pay_per_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("gold_share__gte", 0), ("gold_share__lte", 0.5)),
                        name="campaign_gold_share_is_half_at_most",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("gold_mark__isnull", True),
                            models.Q(("gold_mark__gt", 0), ("gold_mark__lt", 1)),
                            _connector="OR",
                        ),
                        name="campaign_gold_mark_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "stopped"), _negated=True),
                            ("stopped_at__isnull", False),
                            _connector="OR",
                        ),
                        name="campaign_stopped_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("active", "Active"), ("withdrawn", "Withdrawn")], default="active", max_length=10
                    ),
                ),
                ("withdrawn_reason", models.CharField(blank=True, default="", max_length=300)),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entrants", to="campaigns.campaign"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entrants", to="chatbots.version"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "version"), name="entrant_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["active", "withdrawn"])), name="entrant_state_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "key",
                    models.CharField(
                        help_text="the id that its owner gives it; annotators never see it", max_length=200
                    ),
                ),
                ("text_a", models.TextField(blank=True, default="")),
                ("text_b", models.TextField(blank=True, default="")),
                ("right", models.JSONField(help_text="verdicts that pass")),
                ("explanation", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="gold_items", to="campaigns.campaign"
                    ),
                ),
                (
                    "entrant_a",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="campaigns.entrant",
                    ),
                ),
                (
                    "entrant_b",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="campaigns.entrant",
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="gold_items", to="prompts.prompt"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "key"), name="gold_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("entrant_a__isnull", True),
                                ("entrant_b__isnull", True),
                                models.Q(("text_a", ""), _negated=True),
                            ),
                            models.Q(
                                ("entrant_a__isnull", False),
                                ("entrant_b__isnull", False),
                                ("text_a", ""),
                                ("text_b", ""),
                            ),
                            _connector="OR",
                        ),
                        name="gold_shows_texts_or_entrants",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldWithdrawal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.CharField(max_length=300)),
                ("withdrawn_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="withdrawal", to="campaigns.golditem"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Onboarding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "platform",
                    models.CharField(
                        choices=[("none", "no crowd platform"), ("prolific", "Prolific"), ("mturk", "Mechanical Turk")],
                        default="none",
                        max_length=10,
                    ),
                ),
                ("code_complete", models.CharField(blank=True, default="", max_length=40)),
                ("code_screened_out", models.CharField(blank=True, default="", max_length=40)),
                ("code_failed", models.CharField(blank=True, default="", max_length=40)),
                (
                    "secret_required",
                    models.BooleanField(
                        default=True, help_text="the study's address has a secret, and nobody arrives without it"
                    ),
                ),
                (
                    "secret_number",
                    models.PositiveIntegerField(default=1, help_text="which secret; a new one ends those before it"),
                ),
                (
                    "study",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="STUDY_ID or hitId: nobody arrives from another; empty: any",
                        max_length=200,
                    ),
                ),
                (
                    "instructions",
                    models.TextField(blank=True, default="", help_text="Markdown; shown before the example"),
                ),
                (
                    "notice",
                    models.TextField(
                        blank=True, default="", help_text="Markdown; added to what is said about the data"
                    ),
                ),
                (
                    "consent_required",
                    models.BooleanField(default=False, help_text="nobody begins without agreeing to the notice"),
                ),
                (
                    "erasure",
                    models.CharField(
                        choices=[
                            ("keep", "They stay, without the person"),
                            ("remove", "They are removed with the person"),
                        ],
                        default="keep",
                        help_text="promised to whoever begins from now on",
                        max_length=6,
                    ),
                ),
                (
                    "pass_mark",
                    models.PositiveIntegerField(default=0, help_text="qualification items to be answered right"),
                ),
                (
                    "reasons",
                    models.JSONField(blank=True, default=list, help_text="words offered as reasons for a verdict"),
                ),
                (
                    "comments",
                    models.BooleanField(default=False, help_text="a verdict may be explained in the annotator's words"),
                ),
                ("comment_required", models.BooleanField(default=False, help_text="and must be")),
                (
                    "language",
                    models.CharField(blank=True, default="", help_text="that annotators must read", max_length=60),
                ),
                (
                    "reveal_chatbots",
                    models.BooleanField(
                        default=False,
                        help_text="annotators see after a round which chatbots wrote the replies of closed items",
                    ),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="onboarding", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "db_table": "campaigns_reception",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("platform__in", ["none", "prolific", "mturk"])),
                        name="reception_platform_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("erasure__in", ["keep", "remove"])), name="reception_erasure_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("comments", True), ("comment_required", False), _connector="OR"),
                        name="reception_required_comment_is_taken",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pilot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("judgments", models.PositiveIntegerField(help_text="after which it pauses")),
                ("begun_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "went_on_at",
                    models.DateTimeField(blank=True, help_text="when a person launched the whole campaign", null=True),
                ),
                (
                    "summary",
                    models.JSONField(
                        blank=True, help_text="refits.pilot_summary.Summary; null until worked out", null=True
                    ),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pilot", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("judgments__gte", 1)), name="pilot_asks_something"),
                    models.CheckConstraint(
                        condition=models.Q(("went_on_at__isnull", True), ("ended_at__isnull", False), _connector="OR"),
                        name="pilot_ends_before_it_goes_on",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PlanSpec",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "target",
                    models.CharField(
                        choices=[
                            ("aim", "what the campaign waits for"),
                            ("ranking", "who is above whom"),
                            ("precision", "every chatbot's ability"),
                            ("top", "which are the best"),
                            ("newcomer", "where one chatbot stands"),
                        ],
                        default="aim",
                        max_length=10,
                    ),
                ),
                ("top", models.PositiveIntegerField(blank=True, help_text="how many are the best", null=True)),
                (
                    "overlap_share",
                    models.FloatField(default=0.0, help_text="share of items that get several votes, for screening"),
                ),
                ("overlap_votes", models.PositiveIntegerField(default=2, help_text="votes of each of these items")),
                (
                    "votes_per_pair",
                    models.PositiveIntegerField(blank=True, help_text="votes of one pair at the most", null=True),
                ),
                (
                    "pair_share",
                    models.FloatField(default=0.1, help_text="largest share of all votes that one pair may take"),
                ),
                ("floor", models.FloatField(default=0.3, help_text="share of asks that go to open pairs at random")),
                (
                    "exposure",
                    models.FloatField(
                        default=4.0, help_text="how many times an even share of votes one prompt may take"
                    ),
                ),
                (
                    "balance",
                    models.JSONField(
                        blank=True,
                        help_text="category: share of votes; {} as the prompts are; null: not balanced",
                        null=True,
                    ),
                ),
                (
                    "retire_after",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="votes after which a prompt that teaches little is asked no more; null: never",
                        null=True,
                    ),
                ),
                ("retire_below", models.FloatField(default=0.25, help_text="of what the typical prompt teaches")),
                (
                    "tiers",
                    models.PositiveSmallIntegerField(
                        default=2,
                        help_text="tiers of ability in which a prompt may discriminate differently; 1: no tiers",
                    ),
                ),
                (
                    "style_control",
                    models.BooleanField(
                        default=False, help_text="whether a second board holds length and markup of the replies equal"
                    ),
                ),
                (
                    "merge_redundant",
                    models.BooleanField(
                        default=False, help_text="whether each group of redundant prompts is fitted as one prompt"
                    ),
                ),
                (
                    "queued_design",
                    models.CharField(
                        blank=True,
                        default="",
                        editable=False,
                        help_text="hash of the design that the queue is for",
                        max_length=64,
                    ),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="plan", to="campaigns.campaign"
                    ),
                ),
                (
                    "newcomer",
                    models.ForeignKey(
                        blank=True,
                        help_text="who is to be placed",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="campaigns.entrant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("target__in", ["aim", "ranking", "precision", "top", "newcomer"])),
                        name="plan_target_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("target", "top"), ("top__gte", 1)),
                            models.Q(models.Q(("target", "top"), _negated=True), ("top__isnull", True)),
                            _connector="OR",
                        ),
                        name="plan_top_fits_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("newcomer__isnull", False), ("target", "newcomer")),
                            models.Q(models.Q(("target", "newcomer"), _negated=True), ("newcomer__isnull", True)),
                            _connector="OR",
                        ),
                        name="plan_newcomer_fits_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("exposure__gte", 1),
                            ("floor__gte", 0),
                            ("floor__lte", 1),
                            ("overlap_share__gte", 0),
                            ("overlap_share__lte", 1),
                            ("overlap_votes__gte", 2),
                            ("pair_share__gt", 0),
                            ("pair_share__lte", 1),
                            ("retire_below__gt", 0),
                            ("retire_below__lt", 1),
                        ),
                        name="plan_shares_are_shares",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tiers__gte", 1), ("tiers__lte", 4)), name="plan_tiers_1_to_4"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="QualificationItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("turns", models.JSONField()),
                ("reply_a", models.TextField()),
                ("reply_b", models.TextField()),
                ("right", models.CharField(help_text="the verdict on the primary aspect", max_length=10)),
                ("explanation", models.TextField()),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="qualification_items",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "position"), name="qualification_position_once"),
                    models.CheckConstraint(
                        condition=models.Q(("right__in", ["A", "B", "tie", "both_bad"])),
                        name="qualification_right_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Retirement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.CharField(max_length=300)),
                ("retired_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="retirements", to="campaigns.campaign"
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="retirements", to="prompts.prompt"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("campaign", "prompt"), name="retirement_once")],
            },
        ),
        migrations.CreateModel(
            name="Aspect",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("key", models.SlugField(max_length=60)),
                ("question", models.CharField(max_length=300)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("choose_one", "choose one candidate"),
                            ("select_any", "select any candidates"),
                            ("rating", "rate a candidate"),
                            ("label", "label a candidate"),
                        ],
                        default="choose_one",
                        max_length=12,
                    ),
                ),
                ("allow_tie", models.BooleanField(default=True)),
                ("allow_both_bad", models.BooleanField(default=True)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("candidate", "each candidate"),
                            ("selected", "each candidate that the first question selects"),
                            ("turn", "the turn as a whole"),
                        ],
                        default="candidate",
                        max_length=12,
                    ),
                ),
                ("minimum", models.SmallIntegerField(blank=True, help_text="lowest rating", null=True)),
                ("maximum", models.SmallIntegerField(blank=True, help_text="highest rating", null=True)),
                ("labels", models.JSONField(blank=True, default=list, help_text="labels to choose from")),
                (
                    "one_label",
                    models.BooleanField(
                        default=False, help_text="an answer has exactly one label, not any number of them"
                    ),
                ),
                (
                    "rubric",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="aspects", to="campaigns.rubric"
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("rubric", "position"), name="aspect_position_once"),
                    models.UniqueConstraint(fields=("rubric", "key"), name="aspect_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["choose_one", "select_any", "rating", "label"])),
                        name="aspect_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["candidate", "selected", "turn"])), name="aspect_scope_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "rating"), ("minimum__isnull", True), _negated=True),
                            models.Q(("kind", "rating"), ("maximum__isnull", True), _negated=True),
                            models.Q(
                                ("minimum__isnull", True),
                                ("maximum__isnull", True),
                                ("minimum__lt", models.F("maximum")),
                                _connector="OR",
                            ),
                        ),
                        name="aspect_rating_has_bounds",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StoppingSpec",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "target_se",
                    models.FloatField(
                        blank=True,
                        help_text="in logits: every chatbot's ability is known to this standard error",
                        null=True,
                    ),
                ),
                (
                    "min_difference",
                    models.FloatField(
                        blank=True,
                        help_text="in logits, instead: neighbours that differ by so much are told apart",
                        null=True,
                    ),
                ),
                ("alpha", models.FloatField(default=0.05, help_text="two-sided level of that test")),
                ("power", models.FloatField(default=0.8, help_text="with which it finds the difference")),
                ("budget", models.PositiveIntegerField(blank=True, help_text="judgments at the most", null=True)),
                ("deadline", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="stopping", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("target_se__isnull", True), ("target_se__gt", 0), _connector="OR"),
                        name="stopping_target_se_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("budget__isnull", True), ("budget__gte", 1), _connector="OR"),
                        name="stopping_budget_from_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("min_difference__isnull", True),
                            models.Q(("min_difference__gt", 0), ("target_se__isnull", True)),
                            _connector="OR",
                        ),
                        name="stopping_one_aim",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("alpha__gt", 0), ("power__gt", models.F("alpha")), ("power__lt", 1)),
                        name="stopping_test_there_is",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("seed", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="studies", to="accounts.organisation"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "constraints": [models.UniqueConstraint(fields=("organisation", "name"), name="study_name_once")],
            },
        ),
        migrations.CreateModel(
            name="LiveSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "selection",
                    models.CharField(
                        choices=[
                            ("soba", "The best reply is selected"),
                            ("sata", "All appropriate replies are selected"),
                        ],
                        default="soba",
                        max_length=4,
                    ),
                ),
                (
                    "fallback",
                    models.CharField(
                        choices=[
                            ("random", "with a random reply"),
                            ("written", "with a reply that the annotator writes"),
                        ],
                        default="random",
                        help_text="of SATA",
                        max_length=7,
                    ),
                ),
                ("chatbots_per_conversation", models.PositiveSmallIntegerField(default=2)),
                ("minimum_turns", models.PositiveSmallIntegerField(default=10)),
                (
                    "maximum_turns",
                    models.PositiveSmallIntegerField(blank=True, help_text="null: no maximum", null=True),
                ),
                (
                    "opening_topics",
                    models.JSONField(blank=True, default=list, help_text="texts; one is proposed at random"),
                ),
                (
                    "count_first_turn",
                    models.BooleanField(default=False, help_text="whether the first turn counts for the board"),
                ),
                (
                    "pay_per",
                    models.CharField(
                        choices=[("turn", "for one turn"), ("conversation", "for one conversation")],
                        default="turn",
                        help_text="what the campaign's pay_rate is paid for",
                        max_length=12,
                    ),
                ),
                (
                    "end_rating",
                    models.BooleanField(default=True, help_text="a conversation is rated from 1 to 5 at its end"),
                ),
                ("end_feedback", models.BooleanField(default=True, help_text="free text is asked for at the end")),
                (
                    "data_notice",
                    models.TextField(blank=True, default="", help_text="Markdown; says where the texts go"),
                ),
                (
                    "conversations_per_annotator",
                    models.PositiveSmallIntegerField(default=1, help_text="with the same chatbots in the same setting"),
                ),
                (
                    "turn_deadline_s",
                    models.PositiveSmallIntegerField(
                        default=120, help_text="seconds after which a turn goes on without missing replies"
                    ),
                ),
                (
                    "idle_minutes",
                    models.PositiveIntegerField(
                        default=1440, help_text="minutes without activity after which a conversation ends"
                    ),
                ),
                (
                    "reports_to_pause",
                    models.PositiveSmallIntegerField(default=3, help_text="annotators whose reports pause a chatbot"),
                ),
                (
                    "repetition",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="of this setting and chatbot set in its study"
                    ),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="live", to="campaigns.campaign"
                    ),
                ),
                (
                    "static_campaign",
                    models.ForeignKey(
                        blank=True,
                        help_text="of the same chatbots on fixed prompts: one board ranks both if a test finds no difference",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="live_counterparts",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arms",
                        to="campaigns.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "live settings",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("selection__in", ["soba", "sata"])), name="live_selection_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("fallback__in", ["random", "written"])), name="live_fallback_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("pay_per__in", ["turn", "conversation"])), name="live_pay_per_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("chatbots_per_conversation__gte", 1), ("chatbots_per_conversation__lte", 8)
                        ),
                        name="live_chatbots_1_to_8",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("chatbots_per_conversation", 1), ("selection", "soba"), _negated=True),
                        name="live_single_chatbot_is_sata",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("minimum_turns__gte", 1),
                            models.Q(
                                ("maximum_turns__isnull", True),
                                ("maximum_turns__gte", models.F("minimum_turns")),
                                _connector="OR",
                            ),
                        ),
                        name="live_minimum_is_not_above_maximum",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("conversations_per_annotator__gte", 1),
                            ("idle_minutes__gte", 5),
                            ("repetition__gte", 1),
                            ("reports_to_pause__gte", 1),
                            ("turn_deadline_s__gte", 5),
                            ("turn_deadline_s__lte", 600),
                        ),
                        name="live_limits_from_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CampaignRole",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("manager", "Manager"), ("viewer", "Viewer")], max_length=10
                    ),
                ),
                ("given_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="roles", to="campaigns.campaign"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="campaign_roles",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "user"), name="campaign_role_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "manager", "viewer"])), name="campaign_role_known"
                    ),
                ],
            },
        ),
        forbid_update("campaigns_aspect"),
        forbid_update("campaigns_retirement"),
        forbid_update("campaigns_golditem"),
        forbid_update("campaigns_goldwithdrawal"),
        forbid_delete("campaigns_retirement"),
        forbid_delete("campaigns_golditem"),
        forbid_delete("campaigns_goldwithdrawal"),
    ]
