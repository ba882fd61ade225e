from django.apps import AppConfig


class EndpointsConfig(AppConfig):
    name = "evalsite.endpoints"
    label = "endpoints"
    verbose_name = "Endpoints"
