"""Template filters: for text that others wrote, and for addresses."""

from django import template

from evalsite.boards.reasons import reason_said
from evalsite.presentation import links, rich_text

register = template.Library()
register.filter("rich", rich_text.rich)
register.filter("visible", rich_text.visible)
register.filter("reason", reason_said)
register.filter("whole_address", links.whole_address)
