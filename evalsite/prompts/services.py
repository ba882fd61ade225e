"""Write operations on prompt sets and prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.core.audit import audit_record
from evalsite.core.confusable_names import name_check
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.row_files import unstorable
from evalsite.prompts.models import Prompt, PromptSet

SPEAKERS = {"user", "chatbot"}


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """A prompt as given in a file. `turns` None means that its text is unknown."""

    key: str
    turns: Sequence[Mapping[str, str]] | None
    category: str = ""


def prompt_set_create(
    *,
    organisation: Organisation,
    name: str,
    prompts: Iterable[NewPrompt],
    description: str = "",
    origin: Prompt.Origin = Prompt.Origin.AUTHORED,
) -> PromptSet:
    """Create a set with its prompts, all or nothing."""
    with write_transaction():
        if PromptSet.objects.filter(organisation=organisation, name=name).exists():
            raise Conflict(_("There is already a prompt set called %(name)s.") % {"name": repr(name)}, field="name")
        prompt_set = PromptSet(organisation=organisation, name=name, description=description)
        prompt_set.names_check()
        prompt_set.save()
        prompts_add(prompt_set=prompt_set, prompts=prompts, origin=origin)
    return prompt_set


def prompt_set_rename(*, prompt_set: PromptSet, name: str, by: User | None = None) -> None:
    """Give the set another name. Raises Conflict if the organisation has a set of this name."""
    name = name.strip()
    with write_transaction():
        others = PromptSet.objects.filter(organisation=prompt_set.organisation_id, name=name)
        if others.exclude(pk=prompt_set.pk).exists():
            raise Conflict(_("There is already a prompt set called %(name)s.") % {"name": repr(name)}, field="name")
        before, prompt_set.name = prompt_set.name, name
        prompt_set.names_check()
        prompt_set.save(update_fields=["name"])
        if before != name:
            audit_record(
                act="rename", subject=prompt_set.public_id, by=by, before={"name": before}, after={"name": name}
            )


def prompts_add(*, prompt_set: PromptSet, prompts: Iterable[NewPrompt], origin: Prompt.Origin) -> list[Prompt]:
    """Add prompts with new keys to the set. A known key is an error, because prompts never change."""
    new = list(prompts)
    known = set(prompt_set.prompts.values_list("key", flat=True))
    for prompt in new:
        if prompt.key in known:
            raise InvalidInput(
                _("The set already has a prompt %(key)s.") % {"key": repr(prompt.key)}, field="prompt_id"
            )
        if origin == Prompt.Origin.AUTHORED:  # names from imported votes are not the user's choice
            name_check(prompt.key, field="prompt_id")
        known.add(prompt.key)
        if prompt.turns is not None:
            check_turns(prompt)
    rows = [
        Prompt(
            prompt_set=prompt_set,
            key=prompt.key,
            category=prompt.category,
            turns=None if prompt.turns is None else [dict(turn) for turn in prompt.turns],
            origin=origin,
        )
        for prompt in new
    ]
    with write_transaction():
        return Prompt.objects.bulk_create(rows, batch_size=500)


def check_turns(prompt: NewPrompt) -> None:
    """Raise InvalidInput unless a chatbot can answer the turns and a database can store them."""
    turns = prompt.turns or []
    if what := unstorable([prompt.key, prompt.category, turns]):
        raise InvalidInput(
            _("Prompt %(key)s: %(what)s stands in its text.") % {"key": repr(prompt.key), "what": what},
            hint=_("Remove it."),
            field="turns",
        )
    for turn in turns:
        if set(turn) != {"speaker", "text"} or turn["speaker"] not in SPEAKERS or not turn["text"].strip():
            raise InvalidInput(
                _("Prompt %(key)s: each turn needs a speaker (user or chatbot) and a text.")
                % {"key": repr(prompt.key)},
                field="turns",
            )
    if not turns or turns[-1]["speaker"] != "user":
        raise InvalidInput(
            _("Prompt %(key)s: the last turn must be the user's.") % {"key": repr(prompt.key)}, field="turns"
        )
