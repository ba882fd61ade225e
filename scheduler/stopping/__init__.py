"""Stopping rules: when a campaign has reached its goal, has spent its budget, or cannot reach its goal."""
