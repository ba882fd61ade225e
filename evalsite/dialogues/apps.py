from django.apps import AppConfig


class DialoguesConfig(AppConfig):
    name = "evalsite.dialogues"
    label = "dialogues"
    verbose_name = "Live conversations"

    def ready(self) -> None:
        """Register the periodic work, the end of calls, and the erasure of texts."""
        from evalsite.dialogues import sweeps  # noqa: F401  registers itself
        from evalsite.dialogues.erasure import conversations_erase
        from evalsite.dialogues.replies import requests_ended
        from evalsite.endpoints.queue import finishers
        from evalsite.judgments.person_erasure import erasers

        finishers.append(requests_ended)
        erasers.append(conversations_erase)
