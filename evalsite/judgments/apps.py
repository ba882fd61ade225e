from django.apps import AppConfig


class JudgmentsConfig(AppConfig):
    name = "evalsite.judgments"
    label = "judgments"
    verbose_name = "Judgments"

    def ready(self) -> None:
        from evalsite.judgments import tasks  # noqa: F401  registers the job handlers
