from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "evalsite.campaigns"
    label = "campaigns"
    verbose_name = "Campaigns"
