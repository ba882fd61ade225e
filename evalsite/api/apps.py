from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "evalsite.api"
    label = "api"
    verbose_name = "API"
