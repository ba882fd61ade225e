"""Import a campaign file as a draft."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.gold import gold_add
from evalsite.campaigns.limits import LIMITS
from evalsite.campaigns.live import live_settings_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, campaign_create, entrant_add, plan_set
from evalsite.campaigns.studies import Arms
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, text_sha256, version_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.exchange.campaign_file.content import CampaignFile, NewAnnotation
from evalsite.exchange.campaign_file.models import ChatbotPart
from evalsite.exchange.campaign_file.onboarding import onboarding_take
from evalsite.exchange.campaign_file.writer import unplaced
from evalsite.operations.studies import study_build
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import prompt_set_create
from evalsite.scorecards.annotation import block_terms, sample_add
from evalsite.scorecards.models import ConversationSet
from evalsite.submissions.services import Accepted, submissions_accept

PAY = ("pay_rate", "pay_per", "currency", "per_day")


def campaign_take(*, organisation: Organisation, given: CampaignFile, by: User | None = None) -> Campaign:
    """Create a draft from the file, all or nothing; with a study, it is the first arm.

    Raises Conflict for a slug, name or version that exists, and InvalidInput for arms that cannot be.
    """
    with write_transaction():
        campaign = _campaign(organisation, given)
        if given.live is not None:
            live_settings_set(campaign=campaign, values=given.live, by=by)
        if given.annotation is not None:
            _annotation_take(campaign, given.annotation, by)
        keys = {prompt.key: prompt for prompt in campaign.prompt_set.prompts.all()}
        entrants = [
            entrant_add(campaign=campaign, version=version, by=by) for version in _versions(organisation, given, keys)
        ]
        if given.plan.newcomer is not None:
            plan_set(campaign=campaign, options=replace(given.plan, newcomer=entrants[given.plan.newcomer].pk))
        if given.gold:
            gold_add(campaign=campaign, items=given.gold, by=by)
        if given.submissions:
            submissions_accept(campaign=campaign, accepted=Accepted(**given.submissions), by=by)
        onboarding_take(campaign, given.reception, given.qualification, by)
        audit_record(act="set_up", subject=campaign.public_id, by=by, after={"name": campaign.name}, target="YAML")
        if given.study is not None:
            sets = [[entrants[place].pk for place in members] for members in given.study.chatbot_sets]
            arms = Arms(given.study.settings, sets, given.study.repetitions)
            study_build(campaign=campaign, name=given.study.name, arms=arms, by=by)
    campaign.refresh_from_db()
    return campaign


def _campaign(organisation: Organisation, given: CampaignFile) -> Campaign:
    """Create the campaign with its prompts and its design, without chatbots."""
    slug, names = given.campaign["slug"], set(Design.__dataclass_fields__) & set(given.campaign)
    blocks = {} if given.annotation is None else block_terms(given.annotation.unit)
    design = Design(
        **{**blocks, **{name: given.campaign[name] for name in names}},
        **{name: getattr(given.stopping, name) for name in LIMITS},
        plan=unplaced(given.plan),
        aspects=tuple(given.aspects),
    )
    campaign = campaign_create(
        organisation=organisation,
        name=given.campaign["name"],
        slug=slug,
        prompt_set=prompt_set_create(organisation=organisation, name=slug, prompts=given.prompts),
        design=design,
        description=given.campaign.get("description", ""),
    )
    for name in PAY:
        if name in given.campaign:
            setattr(campaign, name, given.campaign[name])
    campaign.save(update_fields=PAY)
    return campaign


def _annotation_take(campaign: Campaign, given: NewAnnotation, by: User | None) -> None:
    """Draw the replies that the campaign judges."""
    sets = ConversationSet.objects.filter(organisation=campaign.organisation)
    found = sets.filter(name=given.conversation_set).first()
    if found is None:
        raise Conflict(
            f"{campaign.organisation.name} has no set of conversations {given.conversation_set!r}.",
            hint="Import the conversations first, or name a set that there is.",
            field="annotation",
        )
    sample_add(
        campaign=campaign,
        conversation_set=found,
        sample=given.sample,
        seed=given.seed,
        error_below=given.error_below,
        unit=given.unit,
        by=by,
    )


def _says_the_same(version: Version, part: ChatbotPart, keys: Mapping[str, Prompt]) -> bool:
    """Whether the version has the file's replies wherever it has replied to these prompts before."""
    given = {_text_of(keys[key].turns): {text_sha256(reply) for reply in told} for key, told in part.replies.items()}
    found: dict[str, set[str | None]] = {}
    rows = version.replies.filter(corrected_by__isnull=True)
    for turns, sha256 in rows.values_list("prompt__turns", "sha256"):
        found.setdefault(_text_of(turns), set()).add(sha256)
    return version.kind == Version.Kind.STATIC and all(given[one] == found[one] for one in given.keys() & found.keys())


def _text_of(turns: object) -> str:
    return json.dumps(turns, sort_keys=True)


def _versions(organisation: Organisation, given: CampaignFile, keys: Mapping[str, Prompt]) -> list[Version]:
    """Return the versions that take part: new ones with their replies, or live ones that are there already."""
    if given.live is not None:
        return [_live_version(organisation, part) for part in given.chatbots]
    return [_take_chatbot(organisation, part, keys) for part in given.chatbots]


def _live_version(organisation: Organisation, part: ChatbotPart) -> Version:
    """Return the live version that the file names. A file holds no endpoints, since they have secrets."""
    named = Version.objects.filter(chatbot__organisation=organisation, chatbot__name=part.name, label=part.version)
    found = named.filter(endpoint__isnull=False).first()
    if found is None:
        raise Conflict(
            f"{organisation.name} has no live chatbot {part.name} of version {part.version!r}.",
            hint="Register its endpoint first, or name one that there is.",
            field="chatbots",
        )
    return found


def _take_chatbot(organisation: Organisation, part: ChatbotPart, keys: Mapping[str, Prompt]) -> Version:
    chatbot = Chatbot.objects.filter(organisation=organisation, name=part.name).first()
    chatbot = chatbot or chatbot_create(
        organisation=organisation,
        name=part.name,
        description=part.description,
        made_by=Organisation.objects.filter(slug=part.organisation).first(),
    )
    version = chatbot.versions.filter(label=part.version).first()
    if version is None:
        version = version_create(chatbot=chatbot, label=part.version)
    elif not _says_the_same(version, part, keys):
        raise Conflict(
            f"{part.name} has a version {part.version!r} with other replies, and what a version says never changes.",
            hint="Give it another version in the file.",
            field="chatbots",
        )
    Reply.objects.bulk_create(
        (
            Reply(
                version=version,
                prompt=keys[key],
                sample=sample,
                text=reply,
                sha256=text_sha256(reply),
                origin=Reply.Origin.FILE,
            )
            for key, samples in part.replies.items()
            for sample, reply in enumerate(samples, start=1)
        ),
        batch_size=500,
    )
    return version
