"""Formats of dates and times in English."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i"
DATETIME_ZONE_FORMAT = "j M Y, H:i T"
DATETIME_SECONDS_FORMAT = "j M Y, H:i:s T"
