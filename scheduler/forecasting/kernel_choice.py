"""Choice of a forecast's kernels: compiled ones once all their machine code is cached, numpy ones before.

The worker compiles when it starts (`scheduler.warmup`), which takes up to a minute on a new machine. Forecasts use
numpy until then. Both kinds give the same numbers up to rounding.
"""

from __future__ import annotations

import importlib
from typing import Any

from irt_engine.compilation import all_compiled
from irt_engine.fitting.kernels import chosen_kind

_COMPILED, _REFERENCE = "scheduler.forecasting.kernels", "scheduler.forecasting.reference_kernels"
_found_ready: list[bool] = []  # True, once all machine code was found


def forecast_kernels() -> Any:
    """Return the module of the kernels: `kernels` or `reference_kernels`; see `irt_engine.fitting.kernels.use_kernels`.

    Returns
    -------
    module
        The kernels.
    """
    kind = chosen_kind()
    compiled = kind == "compiled" or (kind == "ready" and _compiled_are_ready())
    return importlib.import_module(_COMPILED if compiled else _REFERENCE)


def _compiled_are_ready() -> bool:
    if not _found_ready:
        importlib.import_module(_COMPILED)
        if all_compiled(_COMPILED):
            _found_ready.append(True)
    return bool(_found_ready)
