"""Formats of dates and times in English."""
