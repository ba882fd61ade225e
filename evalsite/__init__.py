"""Touchstone's Django project: HTTP, SQL, users and queues. Statistics live in irt_engine and scheduler."""
