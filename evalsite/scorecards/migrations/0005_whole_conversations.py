import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Q, Subquery


def replies_link(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Link each sampled reply to its row. So far each prompt of a sample had exactly one."""
    rows = apps.get_model("chatbots", "Reply").objects.filter(prompt=OuterRef("prompt")).order_by("pk")
    apps.get_model("scorecards", "AnnotatedReply").objects.update(reply=Subquery(rows.values("pk")[:1]))


class Migration(migrations.Migration):
    dependencies = [
        ("chatbots", "0005_erasable_texts"),
        ("prompts", "0002_erasable_texts"),
        ("scorecards", "0004_annotation_size"),
    ]

    operations = [
        migrations.AddField(
            model_name="annotation",
            name="unit",
            field=models.CharField(
                choices=[
                    ("reply", "one reply with the conversation before it"),
                    ("conversation", "one whole conversation"),
                    ("pair", "two whole conversations of different chatbots"),
                ],
                default="reply",
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="annotation",
            constraint=models.CheckConstraint(
                condition=Q(("unit__in", ["reply", "conversation", "pair"])), name="annotation_unit_known"
            ),
        ),
        migrations.AlterField(
            model_name="annotatedreply",
            name="prompt",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="annotated_replies", to="prompts.prompt"
            ),
        ),
        migrations.RemoveConstraint(model_name="annotatedreply", name="annotated_reply_from_one"),
        migrations.AlterField(
            model_name="annotatedreply",
            name="number",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="of the reply in its conversation, from 1; null: the whole conversation",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="annotatedreply",
            constraint=models.CheckConstraint(
                condition=Q(("number__isnull", True), ("number__gte", 1), _connector="OR"),
                name="annotated_reply_from_one",
            ),
        ),
        migrations.AddField(
            model_name="annotatedreply",
            name="reply",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="annotated_reply",
                to="chatbots.reply",
            ),
        ),
        migrations.RunPython(replies_link, migrations.RunPython.noop),
    ]
