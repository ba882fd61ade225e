"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from evalsite.core.heap import settle
from evalsite.core.supervisor import follow_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018  all views, which the first request would load
settle()
follow_parent(grandchild=True)
