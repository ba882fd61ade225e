from django.apps import AppConfig


class BoardsConfig(AppConfig):
    name = "evalsite.boards"
    label = "boards"
    verbose_name = "Boards and snapshots"

    def ready(self) -> None:
        from evalsite.boards import tasks  # noqa: F401  registers the worker's jobs
