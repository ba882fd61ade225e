"""`manage.py collect_replies`: collect an endpoint's replies to a prompt set, and show the progress."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.chatbots.models import Version
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.endpoints.collecting import collection_pause, collection_start
from evalsite.endpoints.models import Collection, Endpoint
from evalsite.endpoints.selectors import CollectionProgress, collection_progress
from evalsite.prompts.models import PromptSet

EVERY_S = 1.0


class Command(BaseCommand):
    help = (
        "Collect the reply of a live version to every prompt of a set that has none. A caller must run (`serve` starts "
        "one). Ctrl-C ends the display only; run the command again to see the progress."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organisation", required=True, help="its slug")
        parser.add_argument("--chatbot", required=True, help="name of the chatbot")
        parser.add_argument("--label", help="label of the live version (default: the newest one)")
        parser.add_argument("--set", required=True, help="name of the prompt set")
        parser.add_argument("--pause", action="store_true", help="pause the collection instead")
        parser.add_argument("--no-wait", action="store_true", help="do not wait for the end")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint, prompt_set = self._endpoint(options), self._prompt_set(options)
        try:
            collection = collection_start(endpoint=endpoint, prompt_set=prompt_set)
            if options["pause"]:
                collection_pause(collection=collection)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error
        progress = self._report(collection)
        while not options["no_wait"] and not options["pause"] and progress.open:
            time.sleep(EVERY_S)
            progress = self._report(collection)
        if progress.failed:
            raise CommandError(f"{progress.failed} prompts have no reply. Run the command again to ask for them.")

    def _report(self, collection: Collection) -> CollectionProgress:
        found = Collection.objects.select_related("endpoint__version", "prompt_set").get(pk=collection.pk)
        progress = collection_progress(found)
        waits = f", waits ({progress.waits_for})" if progress.waits_for else ""
        cost = f"{progress.cost:.4f} {progress.currency}"
        self.stdout.write(
            f"{progress.done} of {progress.prompts} replies, {progress.failed} failed, cost {cost}, expected further "
            f"{progress.expected_cost:.4f}{waits}"
        )
        return progress

    def _endpoint(self, options: dict[str, Any]) -> Endpoint:
        versions = Version.objects.filter(
            chatbot__organisation__slug=options["organisation"],
            chatbot__name=options["chatbot"],
            endpoint__isnull=False,
        )
        if options["label"]:
            versions = versions.filter(label=options["label"])
        version = versions.select_related("endpoint__version__chatbot").order_by("-pk").first()
        if version is None:
            raise CommandError(f"{shown(options['chatbot'])} has no such live version. Register an endpoint first.")
        endpoint: Endpoint = version.endpoint
        return endpoint

    def _prompt_set(self, options: dict[str, Any]) -> PromptSet:
        sets = PromptSet.objects.filter(organisation__slug=options["organisation"], name=options["set"])
        found: PromptSet | None = sets.first()
        if found is None:
            raise CommandError(f"The organisation has no prompt set {options['set']!r}.")
        return found
