from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "evalsite.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from evalsite.webhooks import tasks  # noqa: F401  registers its jobs and its periodic work
