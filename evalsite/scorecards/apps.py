from django.apps import AppConfig


class ScorecardsConfig(AppConfig):
    name = "evalsite.scorecards"
    label = "scorecards"
    verbose_name = "Scorecards"

    def ready(self) -> None:
        from evalsite.scorecards import tasks  # noqa: F401  registers the worker's jobs
