"""Import a campaign file as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.gold import gold_add
from evalsite.campaigns.limits import LIMITS
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, campaign_create, entrant_add, plan_set
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.services import chatbot_create, text_sha256, version_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.exchange.campaign_file.content import CampaignFile
from evalsite.exchange.campaign_file.models import ChatbotPart
from evalsite.exchange.campaign_file.onboarding import onboarding_take
from evalsite.exchange.campaign_file.writer import unplaced
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import prompt_set_create

PAY = ("pay_rate", "pay_per", "currency", "per_day")


def campaign_take(*, organisation: Organisation, given: CampaignFile, by: User | None = None) -> Campaign:
    """Create a draft from the file, all or nothing. Raises Conflict for a slug, name or version that exists."""
    with write_transaction():
        campaign = _campaign(organisation, given)
        keys = {prompt.key: prompt for prompt in campaign.prompt_set.prompts.all()}
        entrants = [
            entrant_add(campaign=campaign, version=_take_chatbot(organisation, part, keys), by=by)
            for part in given.chatbots
        ]
        if given.plan.newcomer is not None:
            plan_set(campaign=campaign, options=replace(given.plan, newcomer=entrants[given.plan.newcomer].pk))
        if given.gold:
            gold_add(campaign=campaign, items=given.gold, by=by)
        onboarding_take(campaign, given.reception, given.qualification, by)
        audit_record(act="set_up", subject=campaign.public_id, by=by, after={"name": campaign.name}, target="YAML")
    campaign.refresh_from_db()
    return campaign


def _campaign(organisation: Organisation, given: CampaignFile) -> Campaign:
    """Create the campaign with its prompts and its design, without chatbots."""
    slug, names = given.campaign["slug"], set(Design.__dataclass_fields__) & set(given.campaign)
    design = Design(
        **{name: given.campaign[name] for name in names},
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


def _take_chatbot(organisation: Organisation, part: ChatbotPart, keys: Mapping[str, Prompt]) -> Version:
    chatbot = Chatbot.objects.filter(organisation=organisation, name=part.name).first()
    chatbot = chatbot or chatbot_create(
        organisation=organisation,
        name=part.name,
        description=part.description,
        made_by=Organisation.objects.filter(slug=part.organisation).first(),
    )
    if chatbot.versions.filter(label=part.version).exists():
        raise Conflict(
            f"{part.name} has a version {part.version!r} already, and what a version says never changes.",
            hint="Give it another version in the file.",
            field="chatbots",
        )
    version = version_create(chatbot=chatbot, label=part.version)
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
