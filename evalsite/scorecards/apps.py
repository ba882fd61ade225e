from django.apps import AppConfig


class ScorecardsConfig(AppConfig):
    name = "evalsite.scorecards"
    label = "scorecards"
    verbose_name = "Scorecards"
