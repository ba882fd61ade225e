"""Gold items: comparisons with a known answer, hidden among the others, to find careless annotators."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Entrant, GoldItem, GoldWithdrawal
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import refit_request
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.number_format import whole
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.prompts.services import NewPrompt, check_turns, prompt_set_create, prompts_add

MOST_SHARE = 0.5
LONGEST_KEY, LONGEST_TEXT, LONGEST_REASON = 200, 200_000, 300
TRIES = 500


@dataclass(frozen=True, slots=True)
class NewGold:
    """A gold item as given in a file or a form.

    Its prompt is one of the campaign's (`prompt`, a key) or its own (`turns`). It compares two texts, or the replies of
    two chatbots (`chatbots`: their names). Where replies are judged one at a time, the second text is empty. `right`
    lists the passing verdicts on the primary aspect.
    """

    key: str
    right: tuple[str, ...]
    prompt: str = ""
    turns: Sequence[Mapping[str, str]] | None = None
    category: str = ""
    texts: tuple[str, str] | None = None
    chatbots: tuple[str, str] | None = None
    explanation: str = ""


def gold_add(*, campaign: Campaign, items: Sequence[NewGold], by: User | None = None) -> list[GoldItem]:
    """Add gold items, all or nothing; also while the campaign collects.

    Raises InvalidInput with the item's key, and Conflict after the campaign's stop.
    """
    with write_transaction():
        locked: Campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if locked.state == Campaign.State.STOPPED:
            raise Conflict(
                gettext("The campaign has stopped: nobody is shown further gold."),
                hint=gettext("Extend the campaign first, if it should go on."),
                code="stopped",
            )
        book = GoldBook.of(locked)
        twice = [key for key, times in Counter(new.key for new in items).items() if times > 1]
        if twice:
            raise InvalidInput(
                gettext("two gold items have the same id"),
                hint=gettext("Gold item %(twice)s.") % {"twice": repr(twice[0][:60])},
                field="id",
            )
        resolved = [book.resolve(new) for new in items]
        rows = [_row(locked, book, new, found) for new, found in zip(items, resolved, strict=True)]
        made = GoldItem.objects.bulk_create(rows)
        if made:
            audit_record(
                act="gold", subject=locked.public_id, by=by, before={}, after={"added": len(made)}, target=made[0].key
            )
    campaign.refresh_from_db()
    return made


def gold_bytes(items: Sequence[NewGold]) -> int:
    """Return the size of the items' texts in UTF-8 bytes."""
    turns = [turn["text"] for new in items for turn in new.turns or ()]
    replies = [text for new in items for text in (*(new.texts or ()), new.explanation)]
    return sum(len(text.encode()) for text in (*turns, *replies))


def gold_withdraw(*, campaign: Campaign, item: GoldItem, reason: str, by: User | None = None) -> None:
    """Withdraw an item: it is no longer shown or counted. Raises InvalidInput, Conflict."""
    reason = reason.strip()
    if not reason or "\0" in reason or len(reason) > LONGEST_REASON:
        raise InvalidInput(
            gettext("Give a reason of 1 to %(longest_reason)s characters.") % {"longest_reason": LONGEST_REASON},
            field="reason",
        )
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if GoldWithdrawal.objects.filter(item=item).exists():
            raise Conflict(gettext("This gold item is withdrawn already."), field="gold")
        GoldWithdrawal.objects.create(item=item, reason=reason)
        change = {"before": {"in_use": True}, "after": {"in_use": False}}
        audit_record(act="withdraw_gold", subject=campaign.public_id, by=by, **change, target=item.key, reason=reason)
        refit_request(campaign)  # exclusions because of this item must be decided anew


def gold_of(campaign: Campaign, public_id: Any) -> GoldItem:
    """Return an item of the campaign. Raises NotFound."""
    found = GoldItem.objects.filter(campaign=campaign, public_id=public_id).first()
    if found is None:
        raise NotFound(gettext("The campaign has no such gold item."), field="gold")
    return found


def by_name(entrants: Sequence[tuple[str, str, Entrant]]) -> dict[str, Entrant]:
    """Map names to entrants, from (chatbot, chatbot and version, entrant).

    Both names are keys, but a chatbot with several versions is found only by the second one.
    """
    times = Counter(name for name, _, _ in entrants)
    found = {name: entrant for name, _, entrant in entrants if times[name] == 1}
    return {**found, **{whole: entrant for _, whole, entrant in entrants}}


# Names in an item -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResolvedItem:
    """The objects that an item's names refer to. `prompt` None means a prompt of its own, not yet created."""

    prompt: Prompt | None
    entrants: tuple[Entrant, Entrant] | None


@dataclass(frozen=True, slots=True)
class GoldBook:
    """The objects that a campaign's gold items may name, read once for many items."""

    choices: Sequence[str]
    prompts: Mapping[str, Prompt]
    entrants: Mapping[str, Entrant]
    answered: frozenset[tuple[int, int]]
    there: Mapping[str, GoldItem]
    single: bool = False

    @classmethod
    def of(cls, campaign: Campaign) -> "GoldBook":
        active = campaign.entrants.filter(state=Entrant.State.ACTIVE).select_related("version__chatbot").order_by("pk")
        entrants = by_name([(entrant.name, str(entrant.version), entrant) for entrant in active])
        prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")
        replies = Prompt.objects.filter(
            prompt_set=campaign.prompt_set_id,
            replies__version__in=[entrant.version_id for entrant in entrants.values()],
            replies__sample=1,
            replies__text__isnull=False,
            replies__corrected_by__isnull=True,
        ).values_list("pk", "replies__version_id")
        there = GoldItem.objects.filter(campaign=campaign).select_related("prompt")
        return cls(
            aspect_primary(campaign).choices,
            {prompt.key: prompt for prompt in prompts},
            entrants,
            frozenset(replies),
            {item.key: item for item in there},
            campaign.is_single,
        )

    def resolve(self, new: NewGold) -> ResolvedItem:
        """Resolve the names. Raises InvalidInput, with the error in terms of the file's columns."""
        if not new.key or len(new.key) > LONGEST_KEY or "\0" in new.key:
            raise _wrong(new, gettext("its id must have 1 to %(longest)s characters") % {"longest": LONGEST_KEY}, "id")
        if new.key in self.there:
            raise _wrong(
                new, gettext("there is a gold item of this id already; gold never changes: give another id"), "id"
            )
        unknown = [verdict for verdict in new.right if verdict not in self.choices]
        if not new.right or unknown:
            raise _wrong(
                new,
                gettext("right must be of: %(choices)s (several with |)") % {"choices": ", ".join(self.choices)},
                "right",
            )
        if set(new.right) >= set(self.choices):
            raise _wrong(new, gettext("every answer would pass it"), "right")
        return ResolvedItem(self._prompt(new), self._entrants(new))

    def _prompt(self, new: NewGold) -> Prompt | None:
        if bool(new.prompt) == bool(new.turns):
            raise _wrong(
                new, gettext("it needs a prompt_id of the campaign, or a text or turns of its own"), "prompt_id"
            )
        if new.prompt and new.prompt not in self.prompts:
            raise _wrong(
                new, gettext("the campaign has no prompt %(key)s") % {"key": repr(new.prompt[:60])}, "prompt_id"
            )
        if new.turns:
            check_turns(NewPrompt(new.key, new.turns))
        return self.prompts[new.prompt] if new.prompt else None

    def _entrants(self, new: NewGold) -> tuple[Entrant, Entrant] | None:
        if self.single:
            self._check_single(new)
            return None
        if (new.texts is None) == (new.chatbots is None):
            raise _wrong(new, gettext("it needs reply_a and reply_b, or chatbot_a and chatbot_b"), "reply_a")
        if new.texts is not None:
            for text in new.texts:
                _check_text(new, text)
            if new.texts[0] == new.texts[1]:
                raise _wrong(new, gettext("both replies are the same"), "reply_b")
            return None
        return self._pair(new, new.chatbots or ("", ""))

    def _check_single(self, new: NewGold) -> None:
        if new.texts is None or new.texts[1] or new.chatbots is not None:
            raise _wrong(new, gettext("it needs one reply, reply_a"), "reply_a")
        _check_text(new, new.texts[0])

    def _pair(self, new: NewGold, names: tuple[str, str]) -> tuple[Entrant, Entrant]:
        for column, name in zip(("chatbot_a", "chatbot_b"), names, strict=True):
            if name not in self.entrants:
                raise _wrong(new, gettext("no chatbot %(name)s takes part") % {"name": repr(name[:60])}, column)
        first, second = self.entrants[names[0]], self.entrants[names[1]]
        if first.pk == second.pk:
            raise _wrong(new, gettext("both chatbots are the same"), "chatbot_b")
        if not new.prompt:
            raise _wrong(
                new, gettext("chatbots have replied to the campaign's prompts only: give a prompt_id"), "prompt_id"
            )
        prompt = self.prompts.get(new.prompt)
        for name, entrant in zip(names, (first, second), strict=True):
            if prompt is not None and (prompt.pk, entrant.version_id) not in self.answered:
                raise _wrong(
                    new,
                    gettext("%(name)s has no reply to %(key)s") % {"name": repr(name), "key": repr(new.prompt)},
                    "prompt_id",
                )
        return first, second


def _check_text(new: NewGold, text: str) -> None:
    if not text.strip() or len(text) > LONGEST_TEXT or "\0" in text:
        raise _wrong(
            new, gettext("a reply has 1 to %(longest)s characters") % {"longest": whole(LONGEST_TEXT)}, "reply_a"
        )


def _wrong(new: NewGold, problem: str, field: str) -> InvalidInput:
    return InvalidInput(problem, hint=gettext("Gold item %(key)s.") % {"key": repr(new.key[:60])}, field=field)


def _row(campaign: Campaign, book: GoldBook, new: NewGold, found: ResolvedItem) -> GoldItem:
    a, b = found.entrants or (None, None)
    texts = new.texts or ("", "")
    return GoldItem(
        campaign=campaign,
        key=new.key,
        prompt=found.prompt or _own_prompt(campaign, book, new),
        text_a=texts[0],
        text_b=texts[1],
        entrant_a=a,
        entrant_b=b,
        right=[verdict for verdict in book.choices if verdict in new.right],
        explanation=new.explanation,
    )


def _own_prompt(campaign: Campaign, book: GoldBook, new: NewGold) -> Prompt:
    """Create a prompt for gold only, in a set of its own that plans do not see.

    Annotators see its key and its category. Both are therefore made like those of the campaign's prompts.
    """
    if campaign.gold_set is None:
        campaign.gold_set = _gold_set(campaign)
        campaign.save(update_fields=["gold_set"])
    rng = random.Random(f"{campaign.public_id}:{new.key}")  # noqa: S311  a key that resembles others, not a secret
    taken = {*book.prompts, *campaign.gold_set.prompts.values_list("key", flat=True)}
    models = list(book.prompts.values())
    category = new.category or (rng.choice(models).category if models else "")
    key = similar_key([prompt.key for prompt in models], taken, rng)
    return prompts_add(
        prompt_set=campaign.gold_set,
        prompts=[NewPrompt(key, new.turns, category)],
        origin=Prompt.Origin.AUTHORED,
    )[0]


def _gold_set(campaign: Campaign) -> PromptSet:
    stem = f"{campaign.slug} gold"
    taken = set(PromptSet.objects.filter(organisation=campaign.organisation_id).values_list("name", flat=True))
    name = stem if stem not in taken else f"{stem} {campaign.public_id}"
    return prompt_set_create(organisation=campaign.organisation, name=name, prompts=[])


def similar_key(keys: Sequence[str], taken: set[str], rng: random.Random) -> str:
    """Return an unused key that looks like one of these, with other digits or else other letters."""
    for _ in range(TRIES):
        stem = rng.choice(keys) if keys else "p000"
        pattern = r"\d" if re.search(r"\d", stem) else r"[a-z]"
        key = re.sub(pattern, lambda found: rng.choice("0123456789" if found[0].isdigit() else "aeiounrstl"), stem)
        if key not in taken:
            return key
    return next(key for number in range(len(taken) + 1) if (key := f"p{len(taken) + number}") not in taken)
