"""Serializers of answers, by subject: one for each response, which renders it and documents it."""
