"""Categories of prompts by the classifier of topics."""

from __future__ import annotations

from collections.abc import Sequence

from evalsite.prompts.services import NewPrompt
from evalsite.scorecards.domains import UNATTACHED


def prompt_topics(prompts: Sequence[NewPrompt]) -> list[str]:
    """Return the domain of the last turn of each prompt; "" for one without a subject or a text."""
    from evalsite.scorecards.topics import site_classifier  # it loads scikit-learn

    known = [one for one in prompts if one.turns]
    texts = [[turn["text"] for turn in one.turns or ()] for one in known]
    found = site_classifier().classify([(said[-2] if len(said) > 1 else "", said[-1]) for said in texts])
    domain = {one.key: name for one, name in zip(known, found, strict=True) if name not in UNATTACHED}
    return [domain.get(one.key, "") for one in prompts]
