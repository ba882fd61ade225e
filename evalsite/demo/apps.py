from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "evalsite.demo"
    label = "demo"
    verbose_name = "Demonstration"
