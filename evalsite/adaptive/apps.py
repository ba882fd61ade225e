from django.apps import AppConfig


class AdaptiveConfig(AppConfig):
    name = "evalsite.adaptive"
    label = "adaptive"
    verbose_name = "Boards and snapshots"

    def ready(self) -> None:
        from evalsite.adaptive import tasks  # noqa: F401  registers what the worker can do
