"""The worker's jobs and periodic work of webhooks."""

from evalsite.core import jobs
from evalsite.webhooks import mail  # noqa: F401  registers its job
from evalsite.webhooks.sending import deliveries_due_queue, old_deliveries_delete

jobs.sweeps(deliveries_due_queue)
jobs.sweeps(old_deliveries_delete, every_s=60.0)
