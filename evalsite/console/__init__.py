"""The console: set up campaigns, monitor them and act on them."""
