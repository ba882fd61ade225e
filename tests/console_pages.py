"""The pages of the console, by their addresses: one list for whoever walks through all of them."""

OWN = (  # of /console/
    "",
    "new/",
    "chatbots/",
    "chatbots/new/",
    "prompt-sets/",
    "conversations/",
    "conversations/import/",
    "studies/",
    "studies/new/",
    "votes/",
    "notices/",
    "health/",
)
CAMPAIGN = (  # of /console/<campaign>/, for everybody who sees the campaign
    "",
    "pairs/",
    "prompts/",
    "chatbots/",
    "annotators/",
    "gold/",
    "payments/",
    "judgments/",
    "skips/",
    "fits/",
    "log/",
    "check/",
    "invitations/",
    "arrivals/",
    "submissions/",
    "submissions/settings/",
    "webhooks/",
)
LIVE = (  # of /console/<campaign>/, where conversations are judged
    "conversations/",
    "reports/",
    "analysis-plan/",
    "live-report/",
)
ACTS = (
    "act/stop/",
    "act/extend/",
    "act/cap_calls/",
    "act/show/",
    "act/share/",
)  # that ask before they act, of /console/<campaign>/
STEPS = (
    "goal",
    "prompts",
    "chatbots",
    "annotators",
    "quality",
    "stopping",
    "submissions",
    "review",
)  # of /console/<campaign>/setup/
