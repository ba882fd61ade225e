"""Reasons of empty claims: a stable code for programs, and a hint with the next step."""

from enum import StrEnum

from django.utils.translation import gettext as _


class Wait(StrEnum):
    """The reason for an empty block."""

    NOT_STARTED = "not_started"
    PAUSED = "paused"
    STOPPED = "stopped"
    CONSENT = "consent"
    QUALIFICATION = "qualification"
    NOT_QUALIFIED = "not_qualified"
    EXCLUDED = "excluded"
    ON_HOLD = "on_hold"
    QUOTA = "quota"
    BUDGET = "budget"
    OWN_CHATBOTS = "own_chatbots"
    NETWORK = "network"
    SEEN_ALL = "seen_all"
    PLANNING = "planning"
    NOT_ADMITTED = "not_admitted"
    NOTHING_JOINED = "nothing_joined"
    CONVERSATION = "conversation"

    @property
    def hint(self) -> str:
        """Return the next step for the annotator or their program."""
        return {
            Wait.NOT_STARTED: _("The campaign has not started. Ask again later."),
            Wait.PAUSED: _("The campaign is paused. Ask again later."),
            Wait.STOPPED: _("The campaign has ended. There will be nothing more."),
            Wait.CONSENT: _("This campaign asks for your consent. Read its notice, then join again with your consent."),
            Wait.QUALIFICATION: _(
                "Answer the qualification items first: on the judging page, or by the API at "
                "/api/v1/campaigns/{campaign}/qualification."
            ),
            Wait.NOT_QUALIFIED: _("The qualification was not passed in two attempts. There will be nothing more here."),
            Wait.EXCLUDED: _("The owner has excluded this annotator. There will be nothing more here."),
            Wait.ON_HOLD: _("The owner has paused this annotator. Ask the owner."),
            Wait.QUOTA: _("You have judged all that one annotator may judge here."),
            Wait.BUDGET: _("The last judgments of the budget are with other annotators. Ask again later."),
            Wait.OWN_CHATBOTS: _("Each comparison here has a chatbot of your own organisation. Others judge it."),
            Wait.NETWORK: _(
                "Newcomers on your network hold as many questions as they may. Ask again in a minute, or log in as a "
                "member, or ask the owner for an invitation."
            ),
            Wait.SEEN_ALL: _(
                "You have judged everything that is open now. Try again after the next update of the board."
            ),
            Wait.PLANNING: _("Everything planned so far is with other annotators. Ask again in a moment."),
            Wait.NOT_ADMITTED: _("This campaign is judged by invited people only. Ask its owner for an invitation."),
            Wait.NOTHING_JOINED: _("You take part in no campaign that asks anything. Join one."),
            Wait.CONVERSATION: _(
                "Annotators chat with the chatbots in this campaign. Start a conversation: on its page, or by the API "
                "at /api/v1/campaigns/{campaign}/conversations."
            ),
        }[self]
