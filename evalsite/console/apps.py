from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "evalsite.console"
    label = "console"
    verbose_name = "Console"
