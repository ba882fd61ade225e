"""Campaigns that show what the demonstration does not: rich replies, several aspects, a study on Prolific, a draft.

Run inside `manage.py shell` beside a served site: `from tests.browser.showcase import make; make()`.
"""

import uuid
from dataclasses import replace
from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.live import live_settings_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_set
from evalsite.campaigns.services import Design, NewAspect, campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.demo.bots import BOTS
from evalsite.demo.truth import load_prompts
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Assignment
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create
from evalsite.submissions.services import Accepted, submissions_accept
from tests.browser.addresses import DRAFT, SHOWCASE, STANDING, STUDY, TALKS
from tests.evalsite.single import SINGLE
from tests.processes import wait_for

TURNS = [
    {"speaker": "user", "text": "How long until an investment doubles at 5 % a year?\n\nI know `math.log`."},
    {"speaker": "chatbot", "text": "About fourteen years. Shall I show the formula?"},
    {"speaker": "user", "text": "Yes, with code and a table for 3, 5 and 8 %."},
]
SUBMITTED = 20  # prompts of the standing board
STANDS = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    batch_size=20,
    batch_age_s=2,
    block_size=5,
    target_se=None,
    budget=40,
    standing=True,
    newcomer_budget=60,
)
LONG = """## The formula

With yearly rate $r$ the capital doubles after $t$ years, where

$$(1+r)^t = 2 \\quad\\Rightarrow\\quad t = \\frac{\\ln 2}{\\ln(1+r)}$$

and the rate that doubles it in $t$ years is $\\sqrt[t]{2} - 1$, or $\\sqrt{2} - 1$ for two.

```python
import math
for rate in (0.03, 0.05, 0.08):
    print(f"{rate:.0%}", round(math.log(2) / math.log(1 + rate), 1))
```

| rate | years | rule of 72 |
|-----:|------:|-----------:|
| 3 %  | 23.4  | 24.0 |
| 5 %  | 14.2  | 14.4 |
| 8 %  | 9.0   | 9.0 |

> The rule of 72 is \\(72 / 100r\\), near enough for *small* rates.

1. Read **more** at [a page](https://example.org/rates).
2. ![A chart](https://example.org/chart.png)
"""
ODD = (
    "נכון: כ־14 שנים.\n\nA\u202e reversed\u202c word, a zero\u200bwidth one, <script>alert(1)</script>, and $\\frac{1$."
)

LABELLED = "labelled"


def make() -> None:
    owner = user_create(username="showcase", password=None).personal_organisation
    prompts = prompt_set_create(
        organisation=owner, name="showcase", prompts=[NewPrompt(f"p{n}", TURNS, "money") for n in range(6)]
    )
    aspects = (
        NewAspect("overall", "Which reply is better?"),
        NewAspect("clear", "Which is easier to understand?"),
        NewAspect("right", "Which is more correct?"),
    )
    shared = {
        "visibility": Campaign.Visibility.PUBLIC,
        "admission": Campaign.Admission.OPEN,
        "vetting_votes": 0,
        "block_size": 3,
        "votes_per_item": 40,
    }
    designs = {
        "showcase": Design(**shared, aspects=aspects, batch_size=50),  # type: ignore[arg-type]
        "study": Design(**shared, quota=3, batch_size=50),  # type: ignore[arg-type]
    }
    versions = []
    for name, text in (("Formula", LONG), ("Odd", ODD)):
        version = version_create(chatbot=chatbot_create(organisation=owner, name=name))
        replies_add(version=version, replies=dict.fromkeys(prompts.prompts.all(), text), origin=Reply.Origin.FILE)
        versions.append(version)
    for slug, design in designs.items():
        campaign = campaign_create(organisation=owner, name=slug.title(), slug=slug, prompt_set=prompts, design=design)
        Campaign.objects.filter(pk=campaign.pk).update(
            public_id=uuid.UUID(STUDY if slug == "study" else SHOWCASE), pay_rate="0.12"
        )
        for version in versions:
            entrant_add(campaign=campaign, version=version)
        campaign.refresh_from_db()
        receive(campaign)
        campaign_open(campaign=campaign)
    draft = campaign_create(
        organisation=owner, name="Spring models", slug=DRAFT, prompt_set=prompts, design=Design(gold_share=0.1)
    )
    for version in versions:
        entrant_add(campaign=draft, version=version)
    gold_add(campaign=draft, items=[NewGold("two-and-two", ("A",), prompt="p0", texts=("Four.", "Five."))])


def make_labels() -> None:
    """A campaign that labels replies one at a time."""
    owner = user_create(username="labels", password=None).personal_organisation
    design = replace(SINGLE, block_size=5, batch_size=50, votes_per_item=40)
    prompts = [NewPrompt(f"p{n}", TURNS, "money") for n in range(5)]
    prompt_set = prompt_set_create(organisation=owner, name=LABELLED, prompts=prompts)
    campaign = campaign_create(organisation=owner, name="Labels", slug=LABELLED, prompt_set=prompt_set, design=design)
    version = version_create(chatbot=chatbot_create(organisation=owner, name="Formulas"))
    replies_add(version=version, replies=dict.fromkeys(prompt_set.prompts.all(), LONG), origin=Reply.Origin.FILE)
    entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)


def make_live(url: str) -> None:
    """A live campaign with the chatbots of `manage.py serve_chatbots` at this address."""
    owner = user_create(username="live", password=None).personal_organisation
    design = Design(
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        vetting_votes=0,
        target_se=None,
        budget=1000,
    )
    campaign = campaign_create(
        organisation=owner,
        name="Live talks",
        slug=TALKS,
        prompt_set=prompt_set_create(organisation=owner, name=TALKS, prompts=[]),
        design=design,
    )
    live_settings_set(
        campaign=campaign,
        values={
            "selection": "sata",
            "fallback": "written",
            "minimum_turns": 1,
            "opening_topics": ["A trip by train"],
            "data_notice": "Your words go to a server on **this machine**.",
        },
    )
    for name, model in (("Concise", "concierge"), ("Slow", "parrot:slow")):
        settings = EndpointSettings(adapter="openai", url=url, model=model)
        chatbot = chatbot_create(organisation=owner, name=name)
        entrant_add(campaign=campaign, version=endpoint_register(chatbot=chatbot, label="1", settings=settings).version)
    campaign_open(campaign=campaign)


def receive(campaign: Campaign) -> None:
    if campaign.slug == "showcase":
        onboarding_set(
            campaign=campaign, reasons=["more exact", "clearer", "kinder", "shorter"], comments=True, language="English"
        )
        return
    items = [
        NewQualificationItem(TURNS[:1], "About fourteen years.", "Money is nice.", "A", "Only **A** answers."),
        NewQualificationItem(TURNS[:1], "Never.", "In 14.2 years: $\\ln 2/\\ln 1.05$.", "B", "*B* is right, A is not."),
    ]
    qualification_set(campaign=campaign, items=items, pass_mark=1)
    onboarding_set(
        campaign=campaign,
        platform="prolific",
        secret_required=False,  # tests.browser.addresses knows no secret of this site
        code_complete="C1DONE77",
        code_screened_out="C1OUT",
        code_failed="C1FAIL",
        consent_required=True,
        notice="The study is run by the **Example University**; data are kept for five years.",
        instructions="Judge the *answer*, not its length.",
    )


def wait_for_queues() -> None:
    """Wait until the worker has planned for both campaigns."""
    queued = Assignment.objects.filter(campaign=OuterRef("pk"), state=Assignment.State.QUEUED)
    planned = Campaign.objects.filter(Exists(queued), slug__in=["showcase", "study"])
    wait_for(lambda: planned.count() == 2, what="plans")


def end_leases() -> None:
    """As if every open round had run out of time."""
    Assignment.objects.filter(state="issued").update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()


def standing() -> None:
    """A standing board of three of the demonstration's chatbots that takes moderated submissions."""
    prompts = load_prompts()[:SUBMITTED]
    admin = User.objects.filter(username="admin").first()
    admin = admin or user_create(username="admin", password="correct horse battery", staff=True)
    owner = admin.personal_organisation
    prompt_set = prompt_set_create(
        organisation=owner,
        name="Standing",
        prompts=[NewPrompt(one.prompt_id, one.turns, one.category) for one in prompts],
    )
    campaign = campaign_create(
        organisation=owner, name="Standing board", slug=STANDING, prompt_set=prompt_set, design=STANDS
    )
    for bot in [one for one in BOTS if one.key in {"almanac", "mirror", "parrot"}]:
        version = version_create(chatbot=chatbot_create(organisation=owner, name=f"{bot.name} of old"))
        replies = [(prompt, bot.reply(prompt.turns or [])) for prompt in prompt_set.prompts.order_by("pk")]
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    submissions_accept(
        campaign=campaign,
        accepted=Accepted(admission="moderated", terms="Reply yourself.", prompts_downloadable=True),
    )
