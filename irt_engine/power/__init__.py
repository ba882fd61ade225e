"""Sample sizes and power of experiments and of campaigns."""

from .campaign_sizes import (
    CampaignDesign,
    CampaignPower,
    CampaignSize,
    GapFound,
    PreciseOrder,
    campaign_power,
    campaign_size,
)
from .experiment_sizes import (
    binomial_power,
    binomial_size,
    chi_square_power,
    chi_square_size,
    cochran_power,
    cochran_size,
    mcnemar_power,
    mcnemar_size,
)

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
