"""The states of the judging page: what an annotator sees next, and why."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Aspect, Campaign, Onboarding
from evalsite.campaigns.questions import KNOWN_LABELS, label_text
from evalsite.campaigns.selectors import aspect_primary, campaigns_open_beside, onboarding_of
from evalsite.core.errors import NotAllowed
from evalsite.judgments.admission import admission_check, lacks_consent
from evalsite.judgments.arrivals import Ending, ending_get
from evalsite.judgments.block_view import Item, NewestBlock, block_newest, pace_s
from evalsite.judgments.claim_selectors import AssignmentContent
from evalsite.judgments.conflict_of_interest import is_left_out
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.models import LABELS, Annotator, Assignment, Enrolment, QualificationAnswer
from evalsite.judgments.qualification import Qualification, qualification_get
from evalsite.judgments.round_results import RoundResult, round_result
from evalsite.judgments.selectors import is_newcomer, judgments_given, queue_is_empty
from evalsite.pages.chatting import how_it_goes
from evalsite.presentation.rich_text import visible
from evalsite.scorecards.annotated_replies import contents_shown, unit_judged
from evalsite.scorecards.models import Annotation

UNDO_S = 10  # How long the last answer or skip can be undone.
LONGEST_BEGINNING = 90  # Characters of a prompt in the list of a round.
WHOLE = {Annotation.Unit.CONVERSATION, Annotation.Unit.PAIR}


@dataclass(frozen=True, slots=True)
class VerdictChoice:
    value: str
    label: str
    letter: str
    arrow: str
    shortcuts: str


@dataclass(frozen=True, slots=True)
class LastResult:
    """The result of the last request: an answer or a skip that can be undone, an empty claim, or a message."""

    answered: str = ""
    skipped: str = ""
    found_nothing: bool = False
    notice: str = ""
    explained: QualificationAnswer | None = None
    wait: Wait | None = None


NOTHING = LastResult()


def stage_context(
    campaign: Campaign,
    key: str,
    enrolment: Enrolment | None,
    *,
    user: User | None = None,
    revisit: str = "",
    happened: LastResult = NOTHING,
    browser: str = "",
    users: Collection[int] = (),
) -> dict[str, Any]:
    """Return the context of judge.html and its stage.

    revisit: the answered assignment to show again.
    user: the person at the page, who may have no enrolment yet.
    users: accounts that were logged in on the device.
    browser: the secret that authorises a completion code.
    """
    if enrolment is None or (lacks_consent(enrolment) and campaign.collecting):
        return welcome_context(campaign, key=key, user=user, users=users)
    aspect, url = aspect_primary(campaign), reverse("judge", args=[key])
    block = block_newest(campaign=campaign, annotator=enrolment.annotator)
    current = _current(block, revisit)
    ending, qualification = ending_get(enrolment, browser), qualification_get(enrolment)
    stage = _stage(campaign, enrolment, block, current, happened, ending, qualification)
    return {
        "key": key,
        "campaign": _campaign(campaign, key, aspect),
        "stage": stage,
        "others": _others(campaign, key, stage["state"]),
        "item": _item(campaign, enrolment.annotator, aspect, block, current) if current else None,
        "round": _round(block, aspect, url, _result(campaign, enrolment, block, stage["state"])),
        "reward": _reward(campaign, enrolment, key) if stage["state"] == "round" else None,
        "saved": _saved(block, aspect, url, happened.answered) or _skipped(block, url, happened.skipped),
        "back_url": _back_url(block, current, url),
        "notice": happened.notice,
        "ending": ending,
        "trial": _trial(qualification, aspect, happened.explained),
    }


def welcome_context(
    campaign: Campaign,
    *,
    key: str = "",
    action: str = "",
    fields: Mapping[str, str] | None = None,
    user: User | None = None,
    users: Collection[int] = (),
    has_task: bool = False,
) -> dict[str, Any]:
    """Return the context of the welcome page.

    A visitor who could judge nothing, because the chatbots are their own, sees the reason and no button.

    action: the address for starting.
    fields: the parameters that a platform sent.
    has_task: whether the visitor holds an open task of a platform.
    """
    aspect, onboarding = aspect_primary(campaign), onboarding_of(campaign)
    left_out = campaign.collecting and is_left_out(campaign, user, users=users)
    stage = _arrival(campaign, user, at_campaign=bool(key), has_task=has_task)
    stage = _left_out("welcome") if left_out else stage
    return {
        "key": key,
        "campaign": _campaign(campaign, key, aspect),
        "stage": stage,
        "others": _others(campaign, key, stage["state"]),
        "onboarding": onboarding,
        "live": campaign.live if campaign.is_live else None,
        "how": how_it_goes(campaign.live) if campaign.is_live else "",
        "whole": unit_judged(campaign) in WHOLE,
        "vetting_votes": _vetting_votes(campaign, user) if key else 0,
        "meanings": _meanings(aspect),
        "action": "" if left_out else action or (reverse("judge_begin", args=[key]) if key else ""),
        "fields": fields or {},
    }


def _vetting_votes(campaign: Campaign, user: User | None) -> int:
    """Return after how many votes those of this visitor count; 0 where they count at once."""
    if not campaign.vets_newcomers or campaign.qualification_items.exists():
        return 0
    return (
        0 if user is not None and Campaign.objects.of(user).filter(pk=campaign.pk).exists() else campaign.vetting_votes
    )


def _arrival(campaign: Campaign, user: User | None, *, at_campaign: bool, has_task: bool) -> dict[str, str]:
    """Return the state of a visitor who has not begun: welcome, or why they cannot begin."""
    if campaign.collecting:
        return _refused(campaign, user) if at_campaign else _words("welcome")
    if has_task:
        text = _("This study is closed to new annotators. Nothing was recorded. Return the task on the platform.")
        return _words("late", text)
    states = {Campaign.State.STOPPED: "stopped", Campaign.State.PAUSED: "paused"}
    return _words(states.get(Campaign.State(campaign.state), "closed"), "")


def _refused(campaign: Campaign, user: User | None) -> dict[str, str]:
    """Return the welcome, or the reason why this person is not admitted."""
    try:
        admission_check(campaign, user)
    except NotAllowed as refused:
        return {**_words("closed", refused.message), "hint": refused.hint}
    return _words("welcome")


def _meanings(aspect: Aspect) -> list[tuple[Any, Any]]:
    """Return the labels with their meanings, if all of them are known."""
    labels = aspect.choices if aspect.kind == Aspect.Kind.LABEL else []
    known = [KNOWN_LABELS.get(label) for label in labels]
    return [(one.name, one.meaning) for one in known if one] if all(known) else []


def _campaign(campaign: Campaign, key: str, aspect: Aspect) -> dict[str, Any]:
    public = campaign.visibility == Campaign.Visibility.PUBLIC
    return {
        "name": campaign.name,
        "question": aspect.question,
        "url": reverse("judge", args=[key]) if key else "",
        "board_url": reverse("board", args=[key]) if key and public else "",
        "public": public,
        "releases_data": campaign.releases_data,
        "single": campaign.is_single,
        "whole": unit_judged(campaign) in WHOLE if campaign.is_single else False,
    }


def _others(campaign: Campaign, key: str, state: str) -> list[dict[str, str]]:
    """Return other campaigns for a visitor who is too late; none for participants of a crowd platform."""
    if state not in {"stopped", "closed"} or not key or onboarding_of(campaign).platform != Onboarding.Platform.NONE:
        return []
    return [
        {"name": other.name, "url": reverse("judge", args=[other.slug])} for other in campaigns_open_beside(campaign)
    ]


ENDINGS = {"complete": "finished", "screened_out": "screened", "failed": "blocked", "late": "late"}


def _current(block: NewestBlock, revisit: str) -> Item | None:
    """Return the current item: a requested answer that can still be changed, or the first open item."""
    again = block.find(revisit) if revisit else None
    if again is not None and again.changeable:
        return again
    return next(iter(block.open), None)


def _stage(
    campaign: Campaign,
    enrolment: Enrolment,
    block: NewestBlock,
    current: Item | None,
    happened: LastResult,
    ending: Ending,
    qualification: Qualification,
) -> dict[str, str]:
    if happened.explained is not None:
        return _words("explained")
    if ending.state and (current is None or ending.state == "failed"):
        return _words(ENDINGS[ending.state])
    if current is not None:
        return _words("item")
    if campaign.state == Campaign.State.STOPPED:
        reason = campaign.stop_reason_text or _("its owner ended it")
        return _words("stopped", _("Thank you. It stopped because %(reason)s.") % {"reason": reason})
    if campaign.state == Campaign.State.PAUSED:
        return _words("paused")
    return _may_judge(campaign, enrolment, block, happened, qualification)


def _may_judge(
    campaign: Campaign, enrolment: Enrolment, block: NewestBlock, happened: LastResult, qualification: Qualification
) -> dict[str, str]:
    """Return the state of an annotator without an open item in a collecting campaign."""
    if is_left_out(campaign, enrolment.annotator.user):
        return _left_out("own")
    if not qualification.passed:
        return _words("qualification")
    return _wait_state(_between_rounds(campaign, enrolment.annotator, block, happened), happened.wait)


def _wait_state(state: str, wait: Wait | None) -> dict[str, str]:
    """Return the state between two blocks, with the reason of an empty claim."""
    if wait == Wait.OWN_CHATBOTS:
        return _left_out("own")
    explains = state == "waiting" and wait in {Wait.NETWORK, Wait.SEEN_ALL, Wait.EXCLUDED, Wait.ON_HOLD}
    return _words(state, wait.hint if wait and explains else "")


def _between_rounds(campaign: Campaign, annotator: Annotator, block: NewestBlock, happened: LastResult) -> str:
    if campaign.quota is not None and judgments_given(campaign=campaign, annotator=annotator) >= campaign.quota:
        return "quota"
    if happened.found_nothing:
        return "waiting"
    if not block.items:
        return "waiting" if queue_is_empty(campaign) else "ready"
    return "expired" if block.unanswered else "round"


def _trial(
    qualification: Qualification, aspect: Aspect, explained: QualificationAnswer | None
) -> dict[str, Any] | None:
    """Return the qualification item, or the last answered one with its explanation."""
    item = explained.item if explained else qualification.item
    if item is None:
        return None
    labels = {choice.value: choice.label for choice in _choices()}
    return {
        "item": item.pk,
        "attempt": qualification.attempt,
        "turns": item.turns,
        "candidates": [{"label": "A", "text": item.reply_a}, {"label": "B", "text": item.reply_b}],
        "question": aspect.question,
        "choices": [choice for choice in _choices() if choice.value in aspect.choices],
        "number": item.position + 1,
        "of": qualification.of,
        "percent": round(100 * item.position / qualification.of) if qualification.of else 0,
        "before": qualification.right_before if qualification.answered == 0 else None,
        "pass_mark": qualification.pass_mark,
        "said": labels.get(explained.choice, "") if explained else "",
        "right": labels[item.right],
        "is_right": bool(explained and explained.choice == item.right),
        "explanation": item.explanation,
    }


def _words(state: str, message: str = "") -> dict[str, str]:
    """Return the state with a message beside the template's own text."""
    return {"state": state, "message": message, "hint": ""}


def _left_out(state: str) -> dict[str, str]:
    """Explain why members of the organisation have nothing to judge, and what they can do instead."""
    why = _(
        "Every comparison here has a chatbot of your organisation in it, and others see the board. So others judge."
    )
    hint = _("To try the judging yourself, set up a private campaign with the same chatbots: its members judge it.")
    return {"state": state, "message": why, "hint": hint}


def _item(
    campaign: Campaign, annotator: Annotator, aspect: Aspect, block: NewestBlock, current: Item
) -> dict[str, Any]:
    row, size = current.assignment, len(block.items)
    aspects = _aspects(campaign, current)
    onboarding = onboarding_of(campaign)
    content = contents_shown([row])[row.pk]
    closed = size - len(block.open)
    return {
        "assignment": str(row.public_id),
        "supersedes": str(current.given.public_id) if current.given else "",
        "given": current.given is not None,
        "single": campaign.is_single,
        "whole": bool(content.transcripts),
        "by_buttons": len(aspects) == 1 and not aspects[0]["several"] and not onboarding.comment_required,
        "aspects": aspects,
        "turns": content.turns or [],
        "candidates": _candidates(content),
        "number": current.number,
        "of": size,
        "percent": round(100 * closed / size),
        "minutes": _minutes_left(campaign, annotator, len(block.open)),
        "lease_s": _seconds_left(current),
        "quota": campaign.quota,
        "reasons": onboarding.reasons,
        "comments": onboarding.comments,
        "comment_required": onboarding.comment_required,
        "said_reasons": [one.text for one in current.given.reasons.all()] if current.given else [],
        "done_total": judgments_given(campaign=campaign, annotator=annotator),
    }


def _candidates(content: AssignmentContent) -> list[dict[str, Any]]:
    """Return each candidate with its text, or with the turns of a whole conversation."""
    transcripts = content.transcripts or [()] * len(content.texts)
    return [
        {"label": label, "text": text or "", "said": said, "unknown": text is None and not said}
        for label, text, said in zip(LABELS, content.texts, transcripts, strict=False)
    ]


def _aspects(campaign: Campaign, current: Item) -> list[dict[str, Any]]:
    """Return every aspect with its choices and their keys."""
    offered = _scales(campaign) if campaign.is_single else _comparisons(campaign)
    return [
        {
            "key": aspect.key,
            "question": aspect.question,
            "choices": choices,
            "given": current.choices.get(aspect.key, ()),
            "several": aspect.kind == Aspect.Kind.LABEL and not aspect.one_label,
        }
        for aspect, choices in offered
    ]


def _comparisons(campaign: Campaign) -> Iterator[tuple[Aspect, list[VerdictChoice]]]:
    """Yield the aspects of pairs. The first one has letter and arrow keys, and the next ones have four digits each."""
    for row, aspect in enumerate(campaign.rubric.aspects.all()):
        offered = sorted((one for one in _choices() if one.value in aspect.choices), key=lambda one: one.value == "B")
        yield aspect, _with_digits(offered, 4 * row - 3) if row else offered


def _scales(campaign: Campaign) -> Iterator[tuple[Aspect, list[VerdictChoice]]]:
    """Yield the aspects of single replies, with labels or ratings. Digits answer the first nine of all choices."""
    start = 1
    for aspect in campaign.rubric.aspects.all():
        offered = [VerdictChoice(value, label_text(value), "", "", "") for value in aspect.choices]
        yield aspect, _with_digits(offered, start)
        start += len(offered)


def _with_digits(offered: list[VerdictChoice], start: int) -> list[VerdictChoice]:
    return [
        replace(one, letter=str(digit), arrow="", shortcuts=str(digit)) if digit < 10 else _without_keys(one)
        for digit, one in enumerate(offered, start)
    ]


def _without_keys(choice: VerdictChoice) -> VerdictChoice:
    return replace(choice, letter="", arrow="", shortcuts="")


def _minutes_left(campaign: Campaign, annotator: Annotator, items: int) -> int | None:
    pace = pace_s(campaign=campaign, annotator=annotator)
    return None if pace is None else max(1, math.ceil(items * pace / 60))


def _seconds_left(current: Item) -> int:
    until = current.assignment.lease_until
    return max(0, math.ceil((until - timezone.now()).total_seconds())) if until else 0


def _result(
    campaign: Campaign, enrolment: Enrolment, block: NewestBlock, state: str
) -> tuple[RoundResult, dict[int, str]]:
    """Return the result of the round and the beginnings of its prompts, where the round is listed."""
    if state not in {"round", "expired"}:
        return RoundResult(), {}
    rows = [item.assignment for item in block.items]
    result = round_result(
        campaign=campaign,
        annotator=enrolment.annotator,
        aspect=aspect_primary(campaign),
        round_=rows,
        reveals=onboarding_of(campaign).reveal_chatbots,
    )
    return result, {key: _beginning(content) for key, content in contents_shown(rows).items()}


def _beginning(content: AssignmentContent) -> str:
    """Return the beginning of the last turn before the replies, in one line."""
    turns = content.turns or next(iter(content.transcripts), ()) or []
    text = " ".join(str(turns[-1]["text"]).split()) if turns else ""
    return visible(text if len(text) <= LONGEST_BEGINNING else f"{text[:LONGEST_BEGINNING]}…")


def _reward(campaign: Campaign, enrolment: Enrolment, key: str) -> dict[str, Any]:
    """Return how much the annotator has given so far, and on how many judgments the board rests."""
    public = campaign.visibility == Campaign.Visibility.PUBLIC and key
    snapshot = snapshot_current(campaign.default_board) if public else None
    return {
        "given": judgments_given(campaign=campaign, annotator=enrolment.annotator),
        "counted": snapshot.judgments if snapshot else None,
        "newcomer": is_newcomer(campaign=campaign, annotator=enrolment.annotator),
        "vetting_votes": campaign.vetting_votes,
    }


def _round(block: NewestBlock, aspect: Aspect, url: str, found: tuple[RoundResult, dict[int, str]]) -> dict[str, Any]:
    """Return the block for its last page: every answer, with a link if it can be changed."""
    result, beginnings = found
    return {
        "agreed": result.agreed,
        "compared": result.compared,
        "rows": [
            {
                "number": item.number,
                "said": _answer_text(item, aspect),
                "prompt": beginnings.get(item.assignment.pk, ""),
                "chatbots": list(zip(LABELS, result.chatbots.get(item.assignment.pk, ()), strict=False)),
                "url": f"{url}?item={item.assignment.public_id}" if item.changeable else "",
            }
            for item in block.items
        ],
        "answered": sum(item.given is not None for item in block.items),
        "of": len(block.items),
        "changeable": bool(block.changeable),
        "unanswered": block.unanswered,
        "paid": any(item.assignment.pay_rate for item in block.items),
    }


def _answer_text(item: Item, aspect: Aspect) -> str:
    if item.expired:
        return _("Not answered")
    labels = {choice.value: choice.label for choice in _choices()}
    given = item.choices.get(aspect.key, ())
    return ", ".join(labels.get(one) or label_text(one) for one in given) or _("Skipped")


def _saved(block: NewestBlock, aspect: Aspect, url: str, answered: str) -> dict[str, Any] | None:
    """Return the last answer while it can be undone."""
    item = block.find(answered) if answered else None
    if item is None or not item.changeable:
        return None
    return {"said": _answer_text(item, aspect), "url": f"{url}?item={answered}", "for_s": UNDO_S}


def _skipped(block: NewestBlock, url: str, skipped: str) -> dict[str, Any] | None:
    """Return the last skip while it can be undone."""
    item = block.find(skipped) if skipped else None
    if item is None or item.assignment.state != Assignment.State.RETURNED:
        return None
    return {"skip": skipped, "action": f"{url}unskip/", "for_s": UNDO_S}


def _back_url(block: NewestBlock, current: Item | None, url: str) -> str:
    before = block.before(current.number if current else len(block.items) + 1)
    return f"{url}?item={before.assignment.public_id}" if before else ""


def _choices() -> list[VerdictChoice]:
    return [
        VerdictChoice("A", _("A is better"), "A", "←", "A ArrowLeft"),
        VerdictChoice("tie", _("Tie"), "T", "↓", "T ArrowDown"),
        VerdictChoice("B", _("B is better"), "B", "→", "B ArrowRight"),
        VerdictChoice("both_bad", _("Both are bad"), "N", "↑", "N ArrowUp"),
    ]
