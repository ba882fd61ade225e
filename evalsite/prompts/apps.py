from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "evalsite.prompts"
    label = "prompts"
    verbose_name = "Prompts"
