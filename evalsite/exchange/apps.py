from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "evalsite.exchange"
    label = "exchange"
    verbose_name = "Import and export"
