"""What a choice is called is said in the reader's language wherever a page shows it."""

from django.db import models
from django.utils.functional import Promise

# Read by programs and the administration only; whoever shows one on a page wraps its labels first.
ONLY_PROGRAMS = {
    "refits.Alarm.About": "pages have sentences of their own for alarms",
    "boards.PublicLogEntry.Kind": "only programs read the log",
    "boards.Slice.By": "a board's filters have words of their own",
    "campaigns.Aspect.Kind": "pages differ by it and do not name it",
    "campaigns.Aspect.Scope": "pages differ by it and do not name it",
    "campaigns.Campaign.Screening": "pages have names of their own for them",
    "campaigns.Entrant.State": "pages say in words of their own who was withdrawn",
    "campaigns.Onboarding.Platform": "pages differ by it; two of its three labels are names",
    "chatbots.Reply.Origin": "only the administration lists it",
    "core.Job.State": "the health page has words of its own",
    "dialogues.TurnReply.State": "counted, never named",
    "dialogues.Utterance.Speaker": "pages have words of their own",
    "endpoints.CallRequest.State": "counted by progress, never named",
    "judgments.Answer.Value": "choices have words of their own on the judging pages",
    "judgments.Assignment.Source": "told apart by queries, never named",
    "judgments.Assignment.State": "counted, never named",
    "judgments.Batch.State": "counted, never named",
    "prompts.Prompt.Origin": "only the administration lists it",
}


def name_of(choices: type[models.TextChoices]) -> str:
    return f"{choices.__module__.split('.')[1]}.{choices.__qualname__}"


def ours() -> dict[str, type[models.TextChoices]]:
    return {name_of(each): each for each in models.TextChoices.__subclasses__() if each.__module__[:9] == "evalsite."}


def test_every_choice_is_found() -> None:
    assert {"campaigns.Campaign.State", "judgments.Skip.Reason"} <= set(ours())


def test_labels_that_pages_show_are_said_in_the_readers_language() -> None:
    fixed = {
        name for name, choices in ours().items() if not all(isinstance(label, Promise) for _, label in choices.choices)
    }
    assert fixed == set(ONLY_PROGRAMS), "Wrap the labels in gettext_lazy, or say above why no page shows them"
