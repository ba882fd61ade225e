from django.apps import AppConfig


class PresentationConfig(AppConfig):
    name = "evalsite.presentation"
    label = "presentation"
    verbose_name = "Presentation"
