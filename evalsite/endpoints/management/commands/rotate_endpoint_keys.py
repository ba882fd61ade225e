"""`manage.py rotate_endpoint_keys`: encrypt the secrets of endpoints with a new key."""

from typing import Any

from django.core.management.base import BaseCommand

from evalsite.endpoints.key_rotation import endpoint_keys_rotate


class Command(BaseCommand):
    help = (
        "Encrypt the secrets of endpoints with the first key. Without TOUCHSTONE_ENDPOINT_KEYS a new key is made. With "
        "it, put a new key first, restart all processes, run this command, then remove the old keys."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = endpoint_keys_rotate()
        self.stdout.write(f"{done.secrets} secrets are encrypted with the first key.")
        if done.unreadable:
            self.stderr.write(
                f"{done.unreadable} secrets cannot be read with any key of this site. Their endpoints are paused until "
                "somebody enters the secret again."
            )
        elif not done.keys_in_a_file:
            self.stdout.write("Remove the other keys from TOUCHSTONE_ENDPOINT_KEYS, and restart all processes.")
