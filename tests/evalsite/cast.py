"""What the cast does: small helpers that tests import by name."""

from collections.abc import Callable
from decimal import Decimal

from django.db.models import Sum
from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core import jobs
from evalsite.core.models import Job
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Annotator, Assignment, Payment, Place, Skip
from evalsite.judgments.services import block_claim, judgment_record
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create

OPEN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    batch_size=5,
    block_size=3,
    seed=1,
    target_se=0.05,
)

CampaignMaker = Callable[..., Campaign]


def campaign_make(
    *,
    slug: str = "trial",
    design: Design = OPEN,
    chatbots: int = 4,
    prompts: int = 6,
    start: bool = True,
    organisation: Organisation | None = None,
    organisation_id: int | None = None,
) -> Campaign:
    """A campaign of `chatbots` chatbots on `prompts` prompts, opened and planned unless `start` is False."""
    owner = organisation or Organisation.objects.get(pk=organisation_id or 0)
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "general") for n in range(prompts)]
    prompt_set = prompt_set_create(organisation=owner, name=slug, prompts=new)
    campaign = campaign_create(organisation=owner, name=slug.title(), slug=slug, prompt_set=prompt_set, design=design)
    for n in range(chatbots):
        version = version_create(chatbot=chatbot_create(organisation=owner, name=f"{slug} bot {n}"))
        replies = {prompt: f"Bot {n} on {prompt.key}." for prompt in prompt_set.prompts.all()}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    if start:
        campaign_open(campaign=campaign)
        run_jobs()
    campaign.refresh_from_db()
    return campaign


def assignment_claim(*, campaign: Campaign, annotator: Annotator, count: int | None = None) -> list[Assignment]:
    """Return the annotator's block, without the reason of an empty one."""
    return block_claim(campaign=campaign, annotator=annotator, count=count).block


def payment_record(
    *, campaign: Campaign, annotator: Annotator, amount: Decimal, currency: str, reference: str = ""
) -> Payment:
    """Record that money was paid."""
    return Payment.objects.create(
        campaign=campaign, annotator=annotator, amount=amount, currency=currency, reference=reference
    )


def run_jobs() -> int:
    """Do what the worker would do, now; the number of jobs that ran."""
    done = 0
    while jobs.work_once("test"):
        done += 1
    return done


def run_only(*kinds: str) -> int:
    """Do the due jobs of these kinds alone; the number of them."""
    due, done = Job.objects.filter(kind__in=kinds, state=Job.State.QUEUED), 0
    while keys := list(due.filter(run_after__lte=timezone.now()).values_list("key", flat=True)):
        for key in keys:
            jobs.job_run_now(key=key, owner="test")
            done += 1
    return done


def run_only_refits() -> int:
    """Do the refits that are due, and leave all that follows them (findings, slices, the log); the number of them."""
    return run_only("refit")


def run_refits() -> int:
    """Do what the worker would do, now; the number of refits that were tried."""
    tried = Job.objects.filter(kind="refit").aggregate(times=Sum("attempts", default=0))
    run_jobs()
    again = Job.objects.filter(kind="refit").aggregate(times=Sum("attempts", default=0))
    return int(again["times"] - tried["times"])


def empty_queue(campaign: Campaign) -> None:
    """Leave nothing that could be claimed, until the worker has planned again."""
    Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).update(state=Assignment.State.WITHDRAWN)


def skip_twice(campaign: Campaign) -> None:
    """Have two annotators skip the same item."""
    prompt = campaign.prompt_set.prompts.order_by("pk")[0]
    item = item_of(prompt.pk, [one.pk for one in campaign.entrants.order_by("pk")[:2]])
    now = timezone.now()
    for _ in range(2):
        skipped = Assignment.objects.create(
            campaign=campaign,
            place=Place.objects.create(campaign=campaign, prompt=prompt, item=item),
            item=item,
            state=Assignment.State.RETURNED,
            annotator=Annotator.objects.create(),
            issued_at=now,
            lease_until=now,
            closed_at=now,
        )
        Skip.objects.create(assignment=skipped, reason=Skip.Reason.BROKEN)


def judge(campaign: Campaign, annotator: Annotator, choice: str = "A", *, blocks: int = 1) -> int:
    """Let an annotator answer whole blocks with one choice; the number of judgments."""
    given = 0
    for _ in range(blocks):
        for assignment in assignment_claim(campaign=campaign, annotator=annotator):
            judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choice})
            given += 1
    return given


def by_number(assignment: Assignment) -> str:
    """The chatbot that joined first is the better one."""
    first, second = assignment.candidates.all()
    return "A" if (first.entrant_id or 0) < (second.entrant_id or 0) else "B"


def judge_as(campaign: Campaign, annotator: Annotator, choose: Callable[[Assignment], str]) -> None:
    for assignment in assignment_claim(campaign=campaign, annotator=annotator):
        judgment_record(
            annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choose(assignment)}
        )
