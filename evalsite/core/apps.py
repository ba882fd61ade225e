from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class CoreConfig(AppConfig):
    name = "evalsite.core"
    label = "core"
    verbose_name = "Core"

    def ready(self) -> None:
        """Give every production process the configured broker instead of Celery's default one."""
        if settings.PRODUCTION:
            import_module("evalsite.celery")
        from evalsite.core import inquiries  # noqa: F401  registers the job handler
