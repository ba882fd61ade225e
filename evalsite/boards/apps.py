from django.apps import AppConfig


class BoardsConfig(AppConfig):
    name = "evalsite.boards"
    label = "boards"
    verbose_name = "Boards and snapshots"
