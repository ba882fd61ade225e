from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="webhook",
            name="subject",
            field=models.UUIDField(
                db_index=True,
                editable=False,
                help_text="public id of the campaign; null: the owner's submissions",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="events",
            field=models.JSONField(default=list, help_text="types of the events that it is told; empty: all"),
        ),
        migrations.AddField(
            model_name="delivery",
            name="about",
            field=models.UUIDField(
                editable=False, help_text="public id of the changed object; its messages arrive in order", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("about__isnull", False), ("state", "queued")),
                fields=["webhook", "about", "id"],
                name="delivery_queued_about",
            ),
        ),
    ]
