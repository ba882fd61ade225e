"""Forecasts: how many judgments a campaign will take, what they cost and how long they last."""
