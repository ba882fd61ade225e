"""Number formatting for readers."""

from django.utils.formats import number_format


def whole(number: int) -> str:
    """Format a number with the thousands separator of the active language."""
    return str(number_format(number, force_grouping=True))
