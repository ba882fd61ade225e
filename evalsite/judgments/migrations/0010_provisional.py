"""The votes of newcomers to open campaigns are provisional until they are vetted."""

from django.db import migrations, models
from django.db.models import Q

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete


class Migration(migrations.Migration):
    dependencies = [("judgments", "0009_recognised")]

    operations = [
        migrations.AddField(
            model_name="exclusion",
            name="provisional",
            field=models.BooleanField(
                default=False, help_text="a newcomer's votes do not count yet; lifted: they are vetted"
            ),
        ),
        migrations.AddConstraint(
            model_name="exclusion",
            constraint=models.CheckConstraint(
                condition=Q(("provisional", False)) | Q(("annotator__isnull", False), ("proposed", False)),
                name="exclusion_provisional_of_annotator",
            ),
        ),
        forbid_update("judgments_exclusion"),
        forbid_delete("judgments_exclusion"),
    ]
