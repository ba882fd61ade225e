"""Bytes of posteriors and warm starts: a compressed numpy archive without pickles.

The archive holds the arrays, and a JSON header with names, scalars, the format and a digest of everything. Archives of
earlier releases lack the digest and some arrays; they are still read.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from irt_engine.errors import EngineError, InvalidResponses
from irt_engine.posterior.moments import FLOAT_ARRAYS, INTEGER_ARRAYS, Comparison, PosteriorMoments, Scales
from irt_engine.posterior.warm_start import ARRAYS, WarmStart

_FORMAT = 3
# Arrays that the first archives of this format lack.
_ADDED = (
    "thresholds_se",
    "tier",
    "tier_discrimination",
    "tier_discrimination_se",
    "reply",
    "reply_se",
    "style",
    "style_se",
)
_PREFIX = "warm_"
_TOTALS = ("i_theta", "cross", "i_phi")  # earlier archives hold total information in place of the excess
# Errors of numpy, zipfile and json on damaged bytes (RuntimeError: "encrypted"), and of a posterior of other parts.
_UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, EngineError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True, slots=True)
class PosteriorArchive:
    """Store the contents of an archive.

    Parameters
    ----------
    values : dict
        The arguments of `PosteriorMoments` by name.
    warm_start : WarmStart or None
        The warm start, if the archive has one.
    """

    values: dict[str, Any]
    warm_start: WarmStart | None


def write_archive(posterior: PosteriorMoments, warm_start: WarmStart | None = None) -> bytes:
    """Return a posterior, and the warm start of the next fit, as bytes.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    warm_start : WarmStart, optional
        The warm start of the same fit.

    Returns
    -------
    bytes
        A compressed archive; equal arguments give equal bytes.
    """
    arrays: dict[str, Any] = {name: getattr(posterior, name) for name in FLOAT_ARRAYS + INTEGER_ARRAYS}
    header = {part.name: getattr(posterior, part.name) for part in fields(posterior) if part.name not in arrays}
    if warm_start is not None:
        arrays |= {_PREFIX + name: getattr(warm_start, name) for name in ARRAYS}
    header["comparisons"] = [(c.a, c.b, c.by, c.judgments) for c in posterior.comparisons]
    header["scales"] = asdict(posterior.scales)
    header["format"] = _FORMAT
    header["digest"] = _digest(header, arrays)
    head = np.frombuffer(json.dumps(header, sort_keys=True).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=head, **arrays)
    return buffer.getvalue()


def read_archive(data: bytes) -> PosteriorArchive:
    """Return the posterior and the warm start that `write_archive` wrote, in this release or an earlier one.

    Parameters
    ----------
    data : bytes
        The archive.

    Returns
    -------
    PosteriorArchive
        Values of the posterior, and the warm start.

    Raises
    ------
    InvalidResponses
        If the bytes are anything else (``bad_bytes``).
    """
    try:
        header, arrays = _unpacked(data)
        digest = header.pop("digest", None)
        whole = digest in (None, _digest(header, arrays)) and header.pop("format") == _FORMAT
        stored = {name: arrays.pop(name) for name in list(arrays) if name.startswith(_PREFIX)}
        values = _values(header, arrays)
        posterior = PosteriorMoments(**values)
        warm_start = _warm_start(posterior, stored) if stored else None
        whole = whole and _has_shapes(posterior) and (warm_start is None or _belongs(warm_start))
    except _UNREADABLE as error:
        raise _not_a_posterior() from error
    if not whole:
        raise _not_a_posterior()
    return PosteriorArchive(values, warm_start)


def read_warm_start(data: bytes) -> WarmStart | None:
    """Return the warm start that is stored with a posterior.

    Parameters
    ----------
    data : bytes
        The bytes of `Posterior.to_bytes`, of this release or an earlier one.

    Returns
    -------
    WarmStart or None
        None if the bytes hold a posterior alone.

    Raises
    ------
    InvalidResponses
        If the bytes are anything else (``bad_bytes``).
    """
    return read_archive(data).warm_start


def _unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        header = json.loads(archive["head"].tobytes())
        return header, {name: archive[name] for name in archive.files if name != "head"}


def _values(header: dict[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `PosteriorMoments`."""
    stored = [name for name in FLOAT_ARRAYS + INTEGER_ARRAYS if name not in _ADDED or name in arrays]
    return {
        **header,
        "comparisons": tuple(Comparison(*row) for row in header["comparisons"]),
        "scales": Scales(**{**header["scales"], "at_limit": tuple(header["scales"].get("at_limit", ()))}),
        "chatbots": tuple(header["chatbots"]),
        "prompts": tuple(header["prompts"]),
        "style_names": tuple(header.get("style_names", ())),
        **{name: arrays[name] for name in stored},
    }


def _warm_start(posterior: PosteriorMoments, stored: Mapping[str, Any]) -> WarmStart:
    arrays = {name.removeprefix(_PREFIX): value for name, value in stored.items()}
    if all(name in arrays for name in _TOTALS):
        arrays = _without_excess(arrays)
    return WarmStart(
        model=posterior.model,
        form=posterior.form,
        chatbots=posterior.chatbots,
        comparisons=tuple((c.a, c.b, c.by) for c in posterior.comparisons),
        prompts=posterior.prompts,
        **arrays,
    )


def _without_excess(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of an earlier archive, with no cell's excess information."""
    P = arrays["phi"].shape[-1]
    none = {"excess_theta": np.zeros(0), "excess_cross": np.zeros((0, P)), "excess_phi": np.zeros((0, P, P))}
    none |= {"comparison": np.zeros(0, np.int64), "prompt": np.zeros(0, np.int64)}
    return {name: value for name, value in arrays.items() if name not in _TOTALS} | none


def _digest(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """Return a hash of everything in an archive, so that renamed, cut and changed parts are found."""
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _has_shapes(posterior: PosteriorMoments) -> bool:
    """Return whether all arrays have the shapes that `PosteriorMoments` promises."""
    M, C, J = len(posterior.chatbots), len(posterior.comparisons), len(posterior.prompts)
    E, T = 6 if posterior.form == "net" else 2, int(posterior.tier.max(initial=-1)) + 1
    required: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("ability", "group", "chatbot_judgments"), (M,)),
        **dict.fromkeys(("theta", "theta_se"), (C,)),
        **dict.fromkeys(("discrimination", "discrimination_se"), (J,)),
        "covariance": (M, M),
        "thresholds": (J, E),
    }
    optional: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("tier_discrimination", "tier_discrimination_se"), (J, T, T)),
        **dict.fromkeys(("reply", "reply_se"), (J, M)),
        **dict.fromkeys(("style", "style_se"), (len(posterior.style_names),)),
        "theta_covariance": (C, C),
        "thresholds_se": (J, E),
        "tier": (M,),
    }
    present = {name: shape for name, shape in optional.items() if getattr(posterior, name).size}
    return all(getattr(posterior, name).shape == shape for name, shape in (required | present).items())


def _belongs(warm: WarmStart) -> bool:
    """Return whether all arrays have the shapes that `WarmStart` promises."""
    C, J, P, n = len(warm.comparisons), len(warm.prompts), warm.phi.shape[-1], len(warm.excess_theta)
    return (
        (warm.z.ndim, warm.log_sd.ndim) == (1, 1)
        and (warm.own.shape, warm.phi.shape, warm.flip.shape) == ((J,), (J, P), (C,))
        and warm.excess_phi.shape in ((J, P, P), (0, P, P))
        and (warm.excess_theta.shape, warm.excess_cross.shape) == ((n,), (n, P))
        and (warm.comparison.shape, warm.prompt.shape) == ((n,), (n,))
        and (warm.reply.size == 0 or len(warm.reply) == J)
    )


def _not_a_posterior() -> InvalidResponses:
    return InvalidResponses(
        "these bytes are not a posterior of this version", code="bad_bytes", hint="fit the votes again"
    )
