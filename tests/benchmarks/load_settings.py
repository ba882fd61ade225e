"""The site's own settings, and beside its addresses one bare insert to compare with."""

from evalsite.settings import *  # noqa: F403

ROOT_URLCONF = "tests.benchmarks.load_bare"
