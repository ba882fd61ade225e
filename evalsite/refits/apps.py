from django.apps import AppConfig


class RefitsConfig(AppConfig):
    name = "evalsite.refits"
    label = "refits"
    verbose_name = "Refits"

    def ready(self) -> None:
        from evalsite.refits import tasks  # noqa: F401  registers the worker's jobs
