from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "evalsite.operations"
    label = "operations"
    verbose_name = "Operations and notices"

    def ready(self) -> None:
        from evalsite.operations import tasks  # noqa: F401  registers the worker's jobs
