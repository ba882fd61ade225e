"""Worker jobs and sweeps of the judgments app."""

from evalsite.core import jobs
from evalsite.judgments import batches, leases

jobs.sweeps(batches.batches_close_aged)
jobs.sweeps(leases.assignments_expire)
