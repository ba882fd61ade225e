from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

PLATFORMS = ["prolific", "mturk"]


def stand_apart(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """A platform's id stood once for all campaigns; now once for each that its annotator was sent to."""
    identity = apps.get_model("judgments", "AnnotatorIdentity")
    enrolment = apps.get_model("judgments", "Enrolment")
    for known in identity.objects.filter(source__in=PLATFORMS):
        sent = enrolment.objects.filter(annotator=known.annotator_id, platform=known.source)
        identity.objects.bulk_create(
            identity(
                annotator_id=known.annotator_id, source=f"{known.source}/{campaign}", external_id=known.external_id
            )
            for campaign in sent.values_list("campaign__public_id", flat=True)
        )
        known.delete()


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0007_payment"),
    ]

    operations = [migrations.RunPython(stand_apart, migrations.RunPython.noop)]
