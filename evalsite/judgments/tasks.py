"""What the worker does for the judgments room."""

from evalsite.core import jobs
from evalsite.judgments import leases, services

jobs.sweeps(services.batches_close_aged)
jobs.sweeps(leases.assignments_expire)
