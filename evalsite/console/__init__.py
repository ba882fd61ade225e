"""The console: where campaigns are set up, watched and acted on."""
