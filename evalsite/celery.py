"""Celery for the production form: `celery -A evalsite worker` and `celery -A evalsite beat`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

app = Celery("evalsite")
# In every thread: a thread that knew no app would send to Celery's own default, an AMQP broker on this machine.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
