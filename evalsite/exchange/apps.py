from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "evalsite.exchange"
    label = "exchange"
    verbose_name = "Import and export"

    def ready(self) -> None:
        from evalsite.exchange import tasks  # noqa: F401  registers the worker's jobs
