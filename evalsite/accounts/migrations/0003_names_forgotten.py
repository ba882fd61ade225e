import uuid

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from evalsite.core.db import ALLOW_UPDATE, forbid_update

LOG = "core_auditentry"


def allow_update(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    schema_editor.execute(ALLOW_UPDATE[schema_editor.connection.vendor].format(table=LOG))


def name_by_id(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """Who was given a role stood in the log by name, and an erased person's organisation kept its address."""
    people = dict(apps.get_model("accounts", "User").objects.values_list("username", "public_id"))
    entries = apps.get_model("core", "AuditEntry").objects.filter(act="share")
    for pk, target in entries.values_list("pk", "target"):
        if not _is_id(target):
            entries.filter(pk=pk).update(target=str(people.get(target, "")))
    for organisation in apps.get_model("accounts", "Organisation").objects.filter(
        personal_of__username__startswith="erased-", personal_of__is_active=False
    ):
        organisation.slug = organisation.name
        organisation.save(update_fields=["slug"])


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_api_token"),
        ("core", "0003_audit_inquiry_upload"),
    ]

    operations = [
        migrations.RunPython(allow_update, migrations.RunPython.noop),
        migrations.RunPython(name_by_id, migrations.RunPython.noop),
        forbid_update(LOG),
    ]
