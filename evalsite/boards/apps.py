from django.apps import AppConfig


class BoardsConfig(AppConfig):
    name = "evalsite.boards"
    label = "boards"
    verbose_name = "Boards and snapshots"

    def ready(self) -> None:
        from evalsite.boards import tasks  # noqa: F401  registers the worker's jobs
        from evalsite.boards.public_log import log_contents_erase
        from evalsite.judgments.person_erasure import erasers

        erasers.append(log_contents_erase)
