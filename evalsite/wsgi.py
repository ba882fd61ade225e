"""The WSGI entry point."""

import os

import django
from django.urls import get_resolver

from evalsite.core.garbage_collection import freeze_gc
from evalsite.core.http import Handler
from evalsite.core.supervisor import follow_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

django.setup(set_prefix=False)
application = Handler()
get_resolver().url_patterns  # noqa: B018  all views, which the first request would load
freeze_gc()
follow_parent(grandchild=True)
