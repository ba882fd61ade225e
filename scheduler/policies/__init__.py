"""Policies: how the next item is drawn. `registry` lists those that campaigns use, `baselines` the published ones."""
