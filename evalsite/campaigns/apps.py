from importlib import import_module

from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "evalsite.campaigns"
    label = "campaigns"
    verbose_name = "Campaigns"

    def ready(self) -> None:
        """Register the budgets of campaigns for calls of live chatbots."""
        import_module("evalsite.campaigns.call_costs")
