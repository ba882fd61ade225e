"""Numbers within what a person reads."""

from django.utils.formats import number_format


def whole(number: int) -> str:
    """Thousands apart, as the active language does it."""
    return str(number_format(number, force_grouping=True))
