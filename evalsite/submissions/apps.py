from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "evalsite.submissions"
    label = "submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        from evalsite.submissions import tasks  # noqa: F401  registers its jobs and its periodic work
