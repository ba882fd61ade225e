"""Adapters: how to ask a kind of endpoint for a reply, and where its response holds one. Pure: no I/O, no database."""
