from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class CoreConfig(AppConfig):
    name = "evalsite.core"
    label = "core"
    verbose_name = "Core"

    def ready(self) -> None:
        """Give every process of the production form the broker that is configured, not Celery's default one."""
        if settings.PRODUCTION:
            import_module("evalsite.celery")
        from evalsite.core import inquiries  # noqa: F401  registers what the worker can do
