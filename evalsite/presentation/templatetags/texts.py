"""Template filters for user-written text and for addresses."""

from typing import Any

from django import template
from django.db.models import Model
from django.utils.safestring import SafeData

from evalsite.core.terminal import shown
from evalsite.presentation import links, rich_text

register = template.Library()


@register.filter("shown")
def shown_name(name: Any) -> Any:
    """Return a name in one line, with escapes for invisible and reordering characters."""
    own = isinstance(name, str | Model) and not isinstance(name, SafeData)
    return shown(str(name)) if own else name


@register.filter("visible")
def visible_text(text: Any) -> Any:
    """Return a text of several lines in the same way."""
    return rich_text.visible(text) if isinstance(text, str) and not isinstance(text, SafeData) else text


register.filter("rich", rich_text.rich)
register.filter("whole_address", links.whole_address)
