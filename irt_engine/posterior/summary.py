"""Summary of a posterior: a row for each chatbot or comparison, as columns, text and an HTML table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from irt_engine.posterior.differences import quantile

if TYPE_CHECKING:
    from irt_engine.posterior.posterior import Posterior

SHOWN = 4  # chatbots in the text
SHOWN_IN_TABLE = 50
LEVEL = 0.95


def columns_of_summary(posterior: Posterior, level: float = LEVEL) -> dict[str, list[Any]]:
    """Return the columns of a summary, best chatbots first.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    level : float
        Probability of each interval.

    Returns
    -------
    dict of list
        Model board: ``chatbot``, ``rank``, ``rank_lower``, ``rank_upper``, ``ability``, ``se``, ``lower``, ``upper``,
        ``class``, ``judgments`` and ``group``. Model pair: ``a``, ``b``, ``by``, ``theta``, ``se``, ``lower``,
        ``upper`` and ``judgments``. Abilities are in units of the posterior. ``class`` is that of `interval_classes`.

    Raises
    ------
    EngineError
        If the level is not between 0 and 1 (``bad_level``).
    """
    return _of_board(posterior, level) if posterior.chatbots else _of_comparisons(posterior, level)


def _of_board(posterior: Posterior, level: float) -> dict[str, list[Any]]:
    interval = posterior.interval(level)
    ranks, names = posterior.rank_bounds(level), posterior.chatbots
    order = sorted(range(len(names)), key=lambda m: (posterior.group[m], ranks[m, 0], names[m]))
    columns = {
        "rank": ranks[:, 0],
        "rank_lower": ranks[:, 1],
        "rank_upper": ranks[:, 2],
        "ability": posterior.ability,
        "se": posterior.se,
        "lower": interval[:, 0],
        "upper": interval[:, 1],
        "class": posterior.interval_classes(level),
        "judgments": posterior.chatbot_judgments,
        "group": posterior.group,
    }
    return {"chatbot": [names[m] for m in order]} | {name: values[order].tolist() for name, values in columns.items()}


def _of_comparisons(posterior: Posterior, level: float) -> dict[str, list[Any]]:
    half = quantile(level) * posterior.theta_se
    return {
        **{name: [getattr(one, name) for one in posterior.comparisons] for name in ("a", "b", "by")},
        "theta": posterior.theta.tolist(),
        "se": posterior.theta_se.tolist(),
        "lower": (posterior.theta - half).tolist(),
        "upper": (posterior.theta + half).tolist(),
        "judgments": [one.judgments for one in posterior.comparisons],
    }


def text_of_summary(posterior: Posterior) -> str:
    """Return one line: what was fitted, and the best chatbots with their standard errors.

    Parameters
    ----------
    posterior : Posterior
        The posterior.

    Returns
    -------
    str
        The line.
    """
    columns = columns_of_summary(posterior)
    if posterior.chatbots:
        names, values = columns["chatbot"], columns["ability"]
        what = f"{len(names)} chatbots"
    else:
        names, values = [f"{a} : {b}" for a, b in zip(columns["a"], columns["b"], strict=True)], columns["theta"]
        what = f"{len(names)} comparisons"
    shown = [f"{name} {value:.2f} ± {se:.2f}" for name, value, se in zip(names, values, columns["se"], strict=True)]
    rest = ", ..." if len(shown) > SHOWN else ""
    size = f"{what}, {len(posterior.prompts):,} prompts, {posterior.judgments:,} judgments"
    return f"<Posterior of {size}: {', '.join(shown[:SHOWN])}{rest}>"


def html_of_summary(posterior: Posterior) -> str:
    """Return the summary as an HTML table, as notebooks show it. Names are escaped.

    Parameters
    ----------
    posterior : Posterior
        The posterior.

    Returns
    -------
    str
        A table of at most 50 rows.
    """
    columns = columns_of_summary(posterior)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = list(zip(*columns.values(), strict=True))
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows[:SHOWN_IN_TABLE])
    more = f"<p>{len(rows) - SHOWN_IN_TABLE:,} more rows: to_frame()</p>" if len(rows) > SHOWN_IN_TABLE else ""
    caption = f"{posterior.judgments:,} judgments, {len(posterior.prompts):,} prompts; intervals of {LEVEL:.0%}"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else escape(str(value))
