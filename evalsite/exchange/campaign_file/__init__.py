"""A whole campaign as one YAML file: design, limits, aspects, prompts, chatbots and their replies.

`lines` parses, `models` validates each part, `references` compares the parts, and `reader` collects their problems.
`writer` exports a campaign; `draft` imports one.
"""

from evalsite.exchange.campaign_file.content import CampaignFile
from evalsite.exchange.campaign_file.draft import campaign_take
from evalsite.exchange.campaign_file.problems import CampaignFileError, Problem
from evalsite.exchange.campaign_file.reader import campaign_read
from evalsite.exchange.campaign_file.writer import campaign_write

__all__ = [
    "CampaignFile",
    "CampaignFileError",
    "Problem",
    "campaign_read",
    "campaign_take",
    "campaign_write",
]
