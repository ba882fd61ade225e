"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from evalsite.core.supervisor import follow_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_wsgi_application()
follow_parent(grandchild=True)
