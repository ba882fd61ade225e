from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class CoreConfig(AppConfig):
    name = "evalsite.core"
    label = "core"
    verbose_name = "Core"

    def ready(self) -> None:
        """Start traces if they are on, and give every production process the configured broker."""
        if settings.TRACES_ENDPOINT:
            from evalsite.core import tracing

            tracing.start()
        if settings.PRODUCTION:
            import_module("evalsite.celery")
        from evalsite.core import inquiries  # noqa: F401  registers the job handler
