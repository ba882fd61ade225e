from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("boards", "0006_boards_of_both_modes")]

    operations = [
        migrations.AlterField(
            model_name="slice",
            name="by",
            field=models.CharField(
                choices=[
                    ("aspect", "Aspect"),
                    ("category", "Category"),
                    ("kind", "Kind"),
                    ("mode", "Mode"),
                    ("style", "Style"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="slice",
            name="value",
            field=models.CharField(
                help_text="an aspect's key, a category, a kind of chatbot, both modes, or equal style", max_length=100
            ),
        ),
        migrations.RemoveConstraint(model_name="slice", name="slice_by_known"),
        migrations.AddConstraint(
            model_name="slice",
            constraint=models.CheckConstraint(
                condition=models.Q(("by__in", ["aspect", "category", "kind", "mode", "style"])), name="slice_by_known"
            ),
        ),
    ]
