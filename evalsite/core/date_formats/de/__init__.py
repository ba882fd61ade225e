"""Formats of dates and times in German."""
