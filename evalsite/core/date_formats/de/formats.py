"""Formats of dates and times in German."""

DATE_FORMAT = "j. N Y"
DATETIME_FORMAT = "j. N Y, H:i"
DATETIME_ZONE_FORMAT = "j. N Y, H:i T"
DATETIME_SECONDS_FORMAT = "j. N Y, H:i:s T"
