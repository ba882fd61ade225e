"""Formats of dates and times on pages and in messages, one module for each language.

Templates and `django.utils.formats.date_format` take them by name. Tables of the console show ISO dates instead, which
align and sort. Names beyond Django's own are DATETIME_ZONE_FORMAT and DATETIME_SECONDS_FORMAT.
"""
