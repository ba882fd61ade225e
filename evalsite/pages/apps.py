from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "evalsite.pages"
    label = "pages"
    verbose_name = "Pages"
