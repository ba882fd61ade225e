"""The worker's jobs and periodic work of submissions."""

from evalsite.core import jobs
from evalsite.submissions import mail  # noqa: F401  registers its job
from evalsite.submissions.advance import endpoints_advance, newcomers_advance

jobs.sweeps(endpoints_advance)
jobs.sweeps(newcomers_advance)
