"""Sample sizes and power of experiments and of campaigns."""

from .campaign_goals import CampaignDesign, GapFound, PreciseOrder
from .campaign_sizes import CampaignPower, CampaignSize, campaign_power, campaign_size
from .experiment_sizes import binomial_power, binomial_size, mcnemar_power, mcnemar_size
from .several_chatbots import chi_square_power, chi_square_size, cochran_power, cochran_size

__all__ = [
    "CampaignDesign",
    "CampaignPower",
    "CampaignSize",
    "GapFound",
    "PreciseOrder",
    "binomial_power",
    "binomial_size",
    "campaign_power",
    "campaign_size",
    "chi_square_power",
    "chi_square_size",
    "cochran_power",
    "cochran_size",
    "mcnemar_power",
    "mcnemar_size",
]
