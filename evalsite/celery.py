"""Celery for the production form: `celery -A evalsite worker` and `celery -A evalsite beat`."""

import os

from celery import Celery
from django.conf import settings
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

app = Celery("evalsite")
# In every thread: a thread that knew no app would send to Celery's own default, an AMQP broker on this machine.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
# What a worker listens to that is given no -Q: a single one does everything, and refits first.
QUEUES = (settings.QUEUE, settings.SLOW_QUEUE, settings.INQUIRY_QUEUE, settings.CALL_QUEUE)
app.conf.task_queues = [Queue(name, Exchange(name), routing_key=name) for name in QUEUES]
app.autodiscover_tasks()
