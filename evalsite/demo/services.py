"""Create the campaigns of the demonstration and its administrator."""

from dataclasses import dataclass, replace

from django.conf import settings

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import organisation_create, user_create
from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import Design, campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core import env
from evalsite.core.db import write_transaction
from evalsite.demo.bots import BOTS
from evalsite.demo.truth import load_prompts
from evalsite.operations.services import campaign_open
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.prompts.services import NewPrompt, prompt_set_create

SLUG = "demonstration"
OPEN_SLUG = "your-turn"  # The campaign for visitors after the demonstration has stopped.
FINISHED_SLUG = "finished"  # A finished campaign as an example (`finished_campaign`).
LIVE_SLUG = "small-talk"  # The live campaign (`live_campaign`).
SEED = 20
ADMIN = "admin"
DESIGN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    shows_prompts=True,
    shows_replies=True,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,  # Visitors see their first answer move the board.
    seed=SEED,
    batch_size=60,
    batch_age_s=5,
    block_size=5,
    lease_s=300,
    target_se=0.13,
    budget=6000,
)
# This campaign never ends: no target, no budget, and more votes per item than visitors give.
OPEN_DESIGN = replace(DESIGN, target_se=None, budget=None, batch_size=10, votes_per_item=100, standing=True)


def demonstration_load(*, design: Design = DESIGN) -> Board:
    """Return the running demonstration campaign with eight chatbots and eighty prompts. Create it on the first call."""
    with write_transaction():
        campaign: Campaign | None = Campaign.objects.filter(slug=SLUG).first()
        return campaign.default_board if campaign is not None else _demonstration(design)


def open_campaign_load() -> Board:
    """Return the standing campaign, which has the same chatbots and prompts, human annotators only, and no end.

    The demonstration stops at its target, and later visitors want to judge too. Created on the first call.
    """
    with write_transaction():
        campaign: Campaign | None = Campaign.objects.filter(slug=OPEN_SLUG).first()
        return campaign.default_board if campaign is not None else _open_campaign(Campaign.objects.get(slug=SLUG))


def _demonstration(design: Design) -> Board:
    organisation = organisation_create(name="Touchstone")
    prompt_set = _prompt_set(organisation)
    campaign = campaign_create(
        organisation=organisation,
        name="Small chatbots, small talk",
        slug=SLUG,
        prompt_set=prompt_set,
        design=design,
        description="Eight small rule-based chatbots answer eighty prompts. Simulated annotators judge them "
        "until the ranking is precise enough, and you can judge too.",
    )
    _enter_bots(campaign, organisation, list(prompt_set.prompts.order_by("pk")))
    return campaign_open(campaign=campaign)


def _open_campaign(demonstration: Campaign) -> Board:
    campaign = campaign_create(
        organisation=demonstration.organisation,
        name="Small chatbots, your turn",
        slug=OPEN_SLUG,
        prompt_set=demonstration.prompt_set,
        design=OPEN_DESIGN,
        description="The same eight chatbots, judged by people alone. It never ends: your judgments move this board.",
    )
    for entrant in demonstration.entrants.filter(state=Entrant.State.ACTIVE).select_related("version").order_by("pk"):
        entrant_add(campaign=campaign, version=entrant.version)
    return campaign_open(campaign=campaign)


def _prompt_set(organisation: Organisation) -> PromptSet:
    prompts = [NewPrompt(prompt.prompt_id, prompt.turns, prompt.category) for prompt in load_prompts()]
    return prompt_set_create(organisation=organisation, name="Demonstration prompts", prompts=prompts)


def _enter_bots(campaign: Campaign, organisation: Organisation, prompts: list[Prompt]) -> None:
    for bot in BOTS:
        chatbot = chatbot_create(organisation=organisation, name=bot.name, description=bot.description)
        version = version_create(chatbot=chatbot)
        replies = [(prompt, bot.reply(prompt.turns or [])) for prompt in prompts]
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)


@dataclass(frozen=True, slots=True)
class Administrator:
    username: str
    password: str


def administrator_ensure() -> Administrator:
    """Return an account for Django's admin.

    Its password is generated once and stored in the data directory (0600).
    """
    password = env.generated_secret(settings.DATA_DIR / "admin_password")[:20]
    if not User.objects.filter(username=ADMIN).exists():
        user_create(username=ADMIN, password=password, staff=True)
    return Administrator(ADMIN, password)
