"""Permissions in a campaign: one table for all pages and API calls."""

from collections.abc import Mapping
from enum import StrEnum

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.members import manages_members
from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.selectors import membership_roles
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.selectors import campaign_get
from evalsite.core.composed import composed
from evalsite.core.errors import NotAllowed, NotFound


class Role(StrEnum):
    """Roles, from the highest to the lowest."""

    STAFF = "staff"
    OWNER = "owner"
    MANAGER = "manager"
    VIEWER = "viewer"


class Act(StrEnum):
    """Acts on a campaign, in the console or through the API."""

    SEE = "see"
    SET_UP = "set_up"
    PILOT = "pilot"
    LAUNCH = "launch"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    EXTEND = "extend"
    CAP_CALLS = "cap_calls"
    SHOW = "show"
    REFIT = "refit"
    FULL_CHECK = "full_check"
    EXCLUDE = "exclude"
    READMIT = "readmit"
    NOTE = "note"
    PAUSE_ANNOTATOR = "pause_annotator"
    RESUME_ANNOTATOR = "resume_annotator"
    ADD_ENTRANT = "add_entrant"
    WITHDRAW_ENTRANT = "withdraw_entrant"
    RETIRE_PROMPT = "retire_prompt"
    REOPEN_SKIPPED = "reopen_skipped"
    INVITE = "invite"
    GOLD = "gold"
    WITHDRAW_GOLD = "withdraw_gold"
    PAY = "pay"
    SHARE = "share"
    SUBMISSIONS = "submissions"
    MODERATE = "moderate"
    WEBHOOKS = "webhooks"


WORDS: Mapping[Act, str | Promise] = {
    Act.SEE: _("see its console, its log, and judgments and skips with what annotators wrote"),
    Act.SET_UP: _("change it as long as it is a draft, or after its pilot"),
    Act.PILOT: _("try it on a few judgments"),
    Act.LAUNCH: _("launch it"),
    Act.PAUSE: _("pause it"),
    Act.RESUME: _("resume it"),
    Act.STOP: _("stop it for good"),
    Act.EXTEND: _("extend its target"),
    Act.CAP_CALLS: _("limit what calls of live chatbots may cost"),
    Act.SHOW: _("change who sees its board, and what of it"),
    Act.REFIT: _("update the board now"),
    Act.FULL_CHECK: _("ask for the full Bayesian check now"),
    Act.EXCLUDE: _("exclude an annotator"),
    Act.READMIT: _("re-admit an annotator"),
    Act.NOTE: _("note something about an annotator"),
    Act.PAUSE_ANNOTATOR: _("pause an annotator"),
    Act.RESUME_ANNOTATOR: _("let a paused annotator go on"),
    Act.ADD_ENTRANT: _("add a chatbot"),
    Act.WITHDRAW_ENTRANT: _("withdraw a chatbot, pause it in live conversations, and settle reports of its replies"),
    Act.RETIRE_PROMPT: _("retire a prompt"),
    Act.REOPEN_SKIPPED: _("reopen skipped items"),
    Act.INVITE: _("invite annotators, end an invitation, and say who may arrive from a crowd platform"),
    Act.GOLD: _("see the gold with its right answers, and add to it"),
    Act.WITHDRAW_GOLD: _("withdraw a gold item"),
    Act.PAY: _("see what annotators are owed, give bonuses and mark them as paid"),
    Act.SHARE: _("give and take roles"),
    Act.SUBMISSIONS: _("decide which chatbots may be submitted, and whether the board stands"),
    Act.MODERATE: _("see what was submitted, and approve or refuse it"),
    Act.WEBHOOKS: _("see, add, change and delete its webhooks"),
}
ROLE_WORDS: Mapping[Role, str | Promise] = {
    Role.STAFF: _("staff"),
    Role.OWNER: _("owner"),
    Role.MANAGER: _("manager"),
    Role.VIEWER: _("viewer"),
}

_EVERYTHING = frozenset(Act)
# Only the owner may commit money, end the campaign, show it to others or change its roles. A manager with concerns can
# pause it.
_OWNERS = frozenset(
    {Act.PILOT, Act.LAUNCH, Act.STOP, Act.EXTEND, Act.CAP_CALLS, Act.SHOW, Act.PAY, Act.SHARE, Act.SUBMISSIONS}
)
ALLOWED: Mapping[Role, frozenset[Act]] = {
    Role.STAFF: _EVERYTHING,
    Role.OWNER: _EVERYTHING,
    Role.MANAGER: _EVERYTHING - _OWNERS,
    Role.VIEWER: frozenset({Act.SEE}),
}
# Roles that may create campaigns in an organisation, and upload its prompt and reply files.
MAKERS = frozenset({Role.STAFF, Role.OWNER, Role.MANAGER})


def role_of(user: User | None, campaign: Campaign) -> Role | None:
    """Return this person's highest role here: as staff, as a member of the organisation, or in the campaign."""
    if user is None or not user.is_active:
        return None
    if user.is_staff:
        return Role.STAFF
    held = {*membership_roles(user.pk, campaign.organisation_id), *_campaign_roles(user.pk, campaign.pk)}
    return next((role for role in Role if role in held), None)


@composed
def _campaign_roles(user: int, campaign: int) -> QuerySet[CampaignRole, str]:
    return CampaignRole.objects.filter(user=user, campaign=campaign).values_list("role", flat=True)


def allows(role: Role | None, act: Act) -> bool:
    return role is not None and act in ALLOWED[role]


def campaign_for(*, key: str, user: User | None, act: Act) -> tuple[Campaign, Role]:
    """Return the campaign at this address and this person's role, if it permits the act.

    Raises NotFound if they may not know of the campaign, and NotAllowed if their role does not permit the act.
    """
    campaign = campaign_get(key=key, user=user)
    role = role_of(user, campaign)
    if role is None or not allows(role, act):
        raise NotAllowed(gettext("You may not %(act)s.") % {"act": WORDS[act]}, hint=_who(role))
    return campaign, role


def organisation_for(*, slug: str, user: User, set_name: str) -> Organisation:
    """Return the organisation if this person may upload files for its prompt set of this name (or a new one).

    A role in a campaign permits uploads that belong to its set-up: prompts of its draft, and replies to them. Raises
    NotFound without a role, whether the organisation exists or not. Raises NotAllowed for an insufficient role.
    """
    members = Membership.objects.filter(user=user, organisation__slug=slug)
    role = Role.STAFF if user.is_staff else next((Role(member.role) for member in members), None)
    organisation = Organisation.objects.filter(slug=slug).first()
    if organisation is not None and role in MAKERS:
        return organisation
    setting_up = [each.value for each in Role if allows(each, Act.SET_UP)]
    drafts = Campaign.objects.filter(
        organisation=organisation, state=Campaign.State.DRAFT, roles__user=user, roles__role__in=setting_up
    )
    if organisation is None or (role is None and not drafts.exists()):
        raise NotFound(gettext("There is no such organisation."), hint=gettext("It may be one that you are not in."))
    if not drafts.filter(prompt_set__name=set_name).exists():
        known = role is not None
        hint = _who(role) if known else gettext("Name the prompt set of a draft that you set up.")
        raise NotAllowed(gettext("You may not send files into this organisation."), hint=hint)
    return organisation


def _who(role: Role | None) -> str:
    if role is None:
        return gettext("You have no role in this campaign. Ask its owner.")
    return gettext("Your role here is %(role)s. Ask its owner.") % {"role": ROLE_WORDS[role]}


def as_markdown() -> str:
    """Return the table in Markdown for docs/roles.md."""
    head = [
        "# Who may do what",
        "",
        "For owners who give roles to people, and for people who want to know what their role allows.",
        "",
        "A person's role in a campaign is the higher of two: the role in its organisation, and the role that its",
        "owner gave them in this campaign. Staff may do everything. Everybody else sees the parts that the",
        "campaign's visibility shows, and has no console. Drafts return 404 for them. Every cell is tested, on the",
        "page and by the API (tests/evalsite/pages/test_roles.py).",
        "",
        "| act | " + " | ".join(role.value for role in Role) + " | everybody else |",
        "|---|" + "---|" * (len(Role) + 1),
    ]
    rows = [
        f"| {WORDS[act]} | " + " | ".join("yes" if allows(role, act) else "–" for role in Role) + " | – |"
        for act in Act
    ]
    makers = " | ".join("yes" if role in MAKERS else "–" for role in Role)
    members = " | ".join("yes" for _role in Role)
    managers = " | ".join("yes" if manages_members(role.value) else "–" for role in Role)
    in_organisation = [
        ("begin a campaign in it", "– | " + makers.split(" | ", 1)[1], "–"),
        ("see its chatbots and prompt sets, and their log", members, "–"),
        ("choose one of its prompt sets for a draft", makers, "–"),
        ("make a study of a draft of a live campaign", makers, "–"),
        ("see its endpoints, their health, calls and costs", members, "–"),
        ("register, change, test and pause endpoints, and collect replies", makers, "–"),
        ("see its imported conversations and their scorecards", members, "–"),
        ("import and annotate conversations, erase users, delete sets of conversations", makers, "–"),
        ("send files of prompts by the API", makers, "its set"),
        ("send files of replies by the API", makers, "to its set"),
        ("import files of votes by the API", makers, "–"),
        ("see its members", members, "–"),
        ("invite members by mail, change their roles and remove them", managers, "–"),
    ]
    own = [
        "",
        "In an organisation, the role in the organisation counts (tests/evalsite/pages/test_roles.py). A person",
        "with a role in a campaign only can upload prompts for the set of a draft, and replies to them, by the API.",
        "The set-up of the draft has the same on its page. For everybody else the organisation returns 404. A role",
        "in a campaign does not show the organisation's prompt sets. Only members of the organisation can choose",
        "another set for a draft.",
        "",
        "| act | staff | owner | manager | viewer | in a draft: owner, manager | everybody else |",
        "|---|---|---|---|---|---|---|",
        *(f"| {words} | {may} | {drafts} | – |" for words, may, drafts in in_organisation),
        "",
        "A study shows each person the arms that they may see. To launch a study, a person must be allowed to launch",
        "every arm.",
        "",
        "Members may leave by themselves, except for the last owner. A personal organisation has no invitations: in",
        "its campaigns, the owner gives roles. A token of the API allows only the actions that both its scopes and",
        "its owner's roles allow.",
        "",
        "Judging does not depend on roles, with one exception. If people other than members see the board, members",
        "of an organisation cannot judge its chatbots. In a private campaign members can judge them.",
        "",
        "Members are recognised by their account, and by a cookie on each device where the account was once logged",
        "in. On other devices, or without cookies, they cannot be recognised. The method page of each board says",
        "so. A chatbot of a campaign file belongs to the organisation that the file names, whoever imports it. So",
        "does a chatbot that is submitted or imported with its maker (`made_by`, [submitter.md](submitter.md)).",
        "",
        "## Submitters",
        "",
        "A *submitter* has an account, and is owner or manager of the submitting organisation. Everybody is the",
        "owner of a personal organisation. Staff submit for their own organisations, too. The owner of a campaign",
        "decides which submissions it accepts (tests/evalsite/submissions/test_roles.py).",
        "",
        "| act | submitter | viewer of the organisation | owner, manager of the campaign | everybody else |",
        "|---|---|---|---|---|",
        "| see what a visible campaign accepts | yes | yes | yes | yes |",
        "| submit a chatbot, and check it first | yes | – | – | – |",
        "| download the prompts, where the campaign allows it | yes | – | – | – |",
        "| see a submission, its state and its private results | yes | yes | yes | – |",
        "| withdraw it | yes | – | – | – |",
        "| approve or refuse it | – | – | yes | – |",
        "",
        "## Pseudonymous annotators",
        "",
        "Anybody can create a pseudonym, so the actions of pseudonyms have limits. Members, people with a role in",
        "the campaign, invited people and annotators sent by a crowd platform are known.",
        "",
        "| act | known | pseudonym |",
        "|---|---|---|",
        "| two skips close an item | yes | no: the owner sees how many items were skipped |",
        "| skips | half of a block, and 10 in all plus 1 for each 2 answers | the same |",
        "| returned without a judgment | 20 in all plus 2 for each answer | the same |",
        "| first block | the block size of the campaign | 3, until they are answered |",
        "| assignments held by one network address | no limit | a share of the open queue, one block at least |",
        "| renewals of a block | 6 leases | 2 leases until the first answer, then 6 |",
        "",
        "Skips of excluded annotators do not count. From 10 skips on, screening excludes annotators who skip more",
        "than they answer, or proposes to exclude them. If skips have closed the only open items, the campaign does",
        "not stop. Its owner gets a notice, and can reopen these items.",
        "",
        "The health page and `/admin/` are for staff. Staff verify organisations there. A verified organisation has",
        "a mark on boards and in the API (`organisation_verified`). Only staff can give or remove the mark.",
    ]
    return "\n".join([*head, *rows, *own, ""])
