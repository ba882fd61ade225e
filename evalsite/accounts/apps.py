from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "evalsite.accounts"
    label = "accounts"
    verbose_name = "Accounts and organisations"

    def ready(self) -> None:
        """Register the job handlers of this app."""
        from evalsite.accounts import account_mail, member_mail  # noqa: F401
