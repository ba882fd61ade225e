"""Columns that mark votes which should perhaps not count. Fits count every row, and a warning names such columns.

Public files of votes contain rows that their own boards exclude, such as votes on chatbots with visible names (`anony`
is false). The reader decides which rows to exclude.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

"""Columns whose values are different questions: their answers are pooled unless one is chosen."""
"""Columns of lists or objects that mark votes to be left out: nothing here reads them."""


_YES = frozenset({"true", "1", "1.0", "yes", "y", "t"})
_NO = frozenset({"false", "0", "0.0", "no", "n", "f"})


class Qualifier(NamedTuple):
    """Describe a column that casts doubt on votes.

    Parameters
    ----------
    doubtful : frozenset of str
        The values that cast doubt.
    meaning : str
        What they mean.
    """

    doubtful: frozenset[str]
    meaning: str


QUALIFIERS: Mapping[str, Qualifier] = MappingProxyType(
    {
        **dict.fromkeys(("anony", "anonymous"), Qualifier(_NO, "the annotator could see the chatbots' names")),
        "counted": Qualifier(_NO, "the campaign did not count them"),
        **dict.fromkeys(("valid", "is_valid"), Qualifier(_NO, "they are marked as not valid")),
        **dict.fromkeys(("include", "included", "sampled"), Qualifier(_NO, "they are marked to be left out")),
        **dict.fromkeys(("exclude", "excluded", "filtered"), Qualifier(_YES, "they are marked to be left out")),
        **dict.fromkeys(("is_gold", "gold", "attention_check"), Qualifier(_YES, "they check the annotator")),
        **dict.fromkeys(("is_onboarding", "onboarding", "is_practice"), Qualifier(_YES, "they are practice")),
        **dict.fromkeys(("duplicate", "is_duplicate", "high_freq"), Qualifier(_YES, "they are marked as duplicates")),
        **dict.fromkeys(("spam", "is_spam", "flagged", "rejected"), Qualifier(_YES, "they are marked as rejected")),
        **dict.fromkeys(("assignmentstatus", "status"), Qualifier(frozenset({"rejected"}), "their work was rejected")),
        "purpose": Qualifier(frozenset({"gold", "qualification"}), "they check the annotator"),
    }
)
QUESTIONS = frozenset({"aspect", "criterion"})
NESTED_FLAGS = frozenset({"dedup_tag"})


def is_doubtful(column: str, value: str) -> bool:
    """Return whether a value of a column casts doubt on its vote.

    Parameters
    ----------
    column, value : str
        Name of the column, and the value as text.

    Returns
    -------
    bool
        True for a doubtful value.
    """
    qualifier = QUALIFIERS.get(column.casefold())
    return qualifier is not None and value.strip().casefold() in qualifier.doubtful


def doubt_text(column: str, values: Iterable[str], rows: int, total: int) -> str:
    """Return the warning about rows that count and perhaps should not.

    Parameters
    ----------
    column : str
        Name of the column.
    values : iterable of str
        The doubtful values in it.
    rows, total : int
        Number of doubtful rows, and of all rows.

    Returns
    -------
    str
        The warning.
    """
    shown = " or ".join(sorted(values))
    what = f"{rows:,} of {total:,} votes have" if total > 1 else "1 vote has"
    return (
        f"{what} {column} {shown}: {QUALIFIERS[column.casefold()].meaning}. They are counted; "
        f"to leave them out, select the other values of {column}."
    )
