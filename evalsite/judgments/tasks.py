"""Worker jobs and sweeps of the judgments app."""

from evalsite.core import jobs
from evalsite.judgments import batches, leases, network_traces

jobs.sweeps(batches.batches_close_aged)
jobs.sweeps(leases.assignments_expire)
jobs.sweeps(network_traces.network_traces_expire, every_s=3600.0)
