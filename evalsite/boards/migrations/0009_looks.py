from django.db import migrations, models
from django.db.models import Q

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete


class Migration(migrations.Migration):
    dependencies = [("boards", "0008_public_log")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="looks",
            field=models.PositiveIntegerField(
                null=True,
                help_text="for which differences are tested, once the campaigns have stopped; null: any number",
            ),
        ),
        migrations.RemoveConstraint(model_name="snapshot", name="snapshot_input_once"),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.UniqueConstraint(
                fields=["board", "input_sha256"], condition=Q(looks=None), name="snapshot_input_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.UniqueConstraint(
                fields=["board", "input_sha256", "looks"], name="snapshot_input_looks_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.CheckConstraint(
                condition=Q(looks=None) | Q(looks__gte=1), name="snapshot_looks_from_one"
            ),
        ),
        forbid_update("adaptive_snapshot"),
        forbid_delete("adaptive_snapshot"),
    ]
