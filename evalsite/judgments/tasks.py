"""What the worker does for the judgments room."""

from evalsite.core import jobs
from evalsite.judgments import services

jobs.sweeps(services.batches_close_aged)
jobs.sweeps(services.assignments_expire)
