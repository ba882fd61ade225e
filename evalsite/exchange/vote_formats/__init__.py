"""Formats of vote files, each in a module of its own. `registry.FORMATS` lists them; a new one is added there."""
