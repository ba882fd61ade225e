"""The classifier of topics that a site uses: its own model if it trained one, otherwise the one that comes with it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from evalsite.scorecards.topic_classifier import TopicClassifier
from evalsite.scorecards.topic_examples import DATA

OWN_TEXT = ("topic_utterances.csv", "topic_words.txt", "topic_reactions.txt")
SHIPPED = DATA / "topics.skops"


def site_model_path() -> Path:
    """Return where a site's own model is stored."""
    return Path(settings.DATA_DIR) / "topics.skops"


def site_classifier() -> TopicClassifier:
    """Return the site's own classifier, or the shipped one. Raises InvalidInput for a damaged file."""
    path = site_model_path()
    path = path if path.exists() else SHIPPED
    return _loaded(path, path.stat().st_mtime_ns)


def own_text_name() -> str:
    """Return a name of the project's training text, which changes with it."""
    digest = hashlib.sha256()
    for name in OWN_TEXT:
        digest.update((DATA / name).read_bytes())
    return f"own text {digest.hexdigest()[:16]}"


@lru_cache(maxsize=2)
def _loaded(path: Path, changed_at: int) -> TopicClassifier:
    return TopicClassifier.load(path)
