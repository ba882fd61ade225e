"""The pages of the console, by their addresses: one list for whoever walks through all of them."""

OWN = ("", "new/", "chatbots/", "chatbots/new/", "prompt-sets/", "notices/", "health/")  # of /console/
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
)
ACTS = (
    "act/stop/",
    "act/extend/",
    "act/cap_calls/",
    "act/show/",
    "act/share/",
)  # that ask before they act, of /console/<campaign>/
STEPS = ("goal", "prompts", "chatbots", "annotators", "quality", "stopping", "review")  # of /console/<campaign>/setup/
