"""Template filters: for text that others wrote, and for addresses."""

from django import template

from evalsite.adaptive.reasons import reason_said
from evalsite.pages import links, richtext

register = template.Library()
register.filter("rich", richtext.rich)
register.filter("visible", richtext.visible)
register.filter("reason", reason_said)
register.filter("whole_address", links.whole_address)
