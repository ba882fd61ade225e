"""Template filters for text that others wrote."""

from django import template

from evalsite.adaptive.reasons import reason_said
from evalsite.pages import richtext

register = template.Library()
register.filter("rich", richtext.rich)
register.filter("visible", richtext.visible)
register.filter("reason", reason_said)
