from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class EndpointsConfig(AppConfig):
    name = "evalsite.endpoints"
    label = "endpoints"
    verbose_name = "Endpoints"

    def ready(self) -> None:
        """Register the periodic work, and where a broker is configured the messages to callers."""
        from evalsite.endpoints import sweeps  # noqa: F401  registers itself

        if settings.PRODUCTION:
            import_module("evalsite.endpoints.tasks")
