"""Plug-ins: what other installed packages register by entry points.

The groups are `touchstone.policies`, `touchstone.stopping_rules` and `touchstone.formats`. This module needs the
standard library alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

T = TypeVar("T")


class PluginWarning(UserWarning):
    """Warn that a plug-in is left out, and why."""


@cache
def plugins(group: str) -> Mapping[str, Any]:
    """Return the objects that entry points of a group name. They are loaded once in a process.

    Parameters
    ----------
    group : str
        The group.

    Returns
    -------
    mapping of str to object
        The objects by the names of their entry points, in the order of the names.

    Warns
    -----
    PluginWarning
        If an object cannot be loaded. It is left out.
    """
    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=group), key=lambda one: one.name):
        try:
            found[entry.name] = entry.load()
        except Exception as error:  # noqa: BLE001  code of other people: any error of it
            text = f"The plug-in {entry.name} ({entry.value}) is left out: {type(error).__name__}: {error}"
            warnings.warn(text, PluginWarning, stacklevel=2)
    return found


class WithPlugins(Mapping[str, T]):
    """Store objects by name, and add those of plug-ins at the first use.

    A plug-in cannot replace an object of ours: its name is taken.

    Parameters
    ----------
    ours : mapping of str to object
        Our own objects.
    group : str
        The group of the entry points.
    """

    def __init__(self, ours: Mapping[str, T], group: str) -> None:
        self._ours = dict(ours)
        self._group = group

    @property
    def _all(self) -> dict[str, T]:
        return {**plugins(self._group), **self._ours}

    def __getitem__(self, name: str) -> T:
        return self._ours[name] if name in self._ours else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
