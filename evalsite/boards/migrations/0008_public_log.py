import django.db.models.deletion
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("boards", "0007_boards_at_equal_style"),
        ("judgments", "0007_covered_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="PublicLogEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("version", "Version"),
                            ("withdrawal", "Withdrawal"),
                            ("retirement", "Retirement"),
                            ("judgments", "Judgments"),
                            ("batch", "Batch"),
                            ("exclusion", "Exclusion"),
                            ("erasure", "Erasure"),
                            ("snapshot", "Snapshot"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        help_text="the recorded fact; null: judgments, erasures", max_length=60, null=True
                    ),
                ),
                ("at", models.DateTimeField(help_text="when the entry was added")),
                ("digest", models.CharField(help_text="of salt and content", max_length=64)),
                ("previous", models.CharField(help_text="hash of the entry before it", max_length=64)),
                ("sha256", models.CharField(help_text="hash of this entry", max_length=64)),
                (
                    "board",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="log_entries",
                        to="boards.board",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicLogContent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("salt", models.CharField(max_length=32)),
                ("content", models.TextField(help_text="canonical JSON, byte by byte as the digest covers it")),
                (
                    "annotator",
                    models.ForeignKey(
                        help_text="whom the content is about",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="content", to="boards.publiclogentry"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicLogPseudonym",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.UUIDField(default=uuid.uuid4, unique=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="boards.board"),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="publiclogentry",
            constraint=models.UniqueConstraint(fields=("board", "number"), name="log_entry_number_once"),
        ),
        migrations.AddConstraint(
            model_name="publiclogentry",
            constraint=models.UniqueConstraint(fields=("board", "source"), name="log_entry_source_once"),
        ),
        migrations.AddConstraint(
            model_name="publiclogentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "version",
                            "withdrawal",
                            "retirement",
                            "judgments",
                            "batch",
                            "exclusion",
                            "erasure",
                            "snapshot",
                        ],
                    )
                ),
                name="log_entry_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="publiclogpseudonym",
            constraint=models.UniqueConstraint(fields=("annotator", "board"), name="log_pseudonym_once"),
        ),
        forbid_update("boards_publiclogentry"),
        forbid_delete("boards_publiclogentry"),
        forbid_update("boards_publiclogcontent"),
        forbid_delete("boards_publiclogcontent"),
    ]
