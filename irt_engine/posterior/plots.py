"""Pictures of a posterior with matplotlib: intervals, probabilities of being better, and densities of differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from irt_engine.errors import EngineError, NotIdentified
from irt_engine.posterior.summary import columns_of_summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from irt_engine.posterior.posterior import Posterior

POINTS = 200
WIDTH_SE = 4.0  # a density is drawn so many standard errors on both sides


def plot_of(posterior: Posterior, kind: str, axes: Axes | None) -> Axes:
    """Draw a posterior of model board.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    kind : str
        ``"intervals"``: abilities with 95 % intervals. ``"matrix"``: the probability that the chatbot of the row is
        better than that of the column. ``"densities"``: densities of the differences of neighbours in the ranking.
    axes : matplotlib.axes.Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.

    Raises
    ------
    EngineError
        If the kind is unknown (``bad_kind``), or matplotlib is not installed (``missing_library``).
    NotIdentified
        For model pair, which has no abilities (``no_abilities``).
    """
    if kind not in KINDS:
        raise EngineError(f"there is no plot {kind!r}", code="bad_kind", hint=f"use one of {', '.join(KINDS)}")
    if not posterior.chatbots:
        raise NotIdentified("the model pair has no abilities", code="no_abilities", hint="fit with model='board'")
    found = axes if axes is not None else _new_axes()
    KINDS[kind](posterior, found)
    return found


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise EngineError(
            "plots need matplotlib", code="missing_library", hint="pip install 'touchstone-eval[plot]'"
        ) from error
    axes: Axes = pyplot.subplots(layout="constrained")[1]
    return axes


def _intervals(posterior: Posterior, axes: Axes) -> None:
    columns = columns_of_summary(posterior)
    place = np.arange(len(columns["chatbot"]))[::-1]
    ability = np.array(columns["ability"])
    half = np.array(columns["upper"]) - ability
    axes.errorbar(ability, place, xerr=half, fmt="o", capsize=3)
    axes.set_yticks(place, columns["chatbot"])
    axes.axvline(0.0, linewidth=0.8, linestyle=":", color="gray")
    axes.set_xlabel("ability in logits, with 95 % interval")


def _matrix(posterior: Posterior, axes: Axes) -> None:
    names = columns_of_summary(posterior)["chatbot"]
    place = {posterior.chatbots.index(name): number for number, name in enumerate(names)}
    pairs = posterior.differences()
    better = np.full((len(names), len(names)), np.nan)
    for a, b, p in zip(pairs.a, pairs.b, pairs.p_better, strict=True):
        better[place[b], place[a]], better[place[a], place[b]] = p, 1.0 - p
    image = axes.imshow(better, vmin=0.0, vmax=1.0, cmap="RdBu")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.figure.colorbar(image, ax=axes, label="P(row is better than column)")


def _densities(posterior: Posterior, axes: Axes) -> None:
    columns = columns_of_summary(posterior)
    order = [posterior.chatbots.index(name) for name in columns["chatbot"]]
    for up, low in pairwise(order):
        if posterior.group[up] != posterior.group[low]:
            continue
        covariance = posterior.covariance
        mean = posterior.ability[up] - posterior.ability[low]
        se = np.sqrt(covariance[up, up] + covariance[low, low] - 2.0 * covariance[up, low])
        x = np.linspace(mean - WIDTH_SE * se, mean + WIDTH_SE * se, POINTS)
        density = np.exp(-0.5 * ((x - mean) / se) ** 2) / (se * np.sqrt(2.0 * np.pi))
        axes.plot(x, density, label=f"{posterior.chatbots[up]} − {posterior.chatbots[low]}")
    axes.axvline(0.0, linewidth=0.8, linestyle=":", color="gray")
    axes.set_xlabel("difference of abilities in logits")
    axes.set_ylabel("density")
    axes.legend()


KINDS: Mapping[str, Callable[[Posterior, Any], None]] = MappingProxyType(
    {"intervals": _intervals, "matrix": _matrix, "densities": _densities}
)
