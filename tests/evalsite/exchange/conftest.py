"""Small files of votes, written as a test asks for them."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text or bytes (gzipped on demand) under a name that says nothing about the format."""

    def _write(content: str | bytes, *, name: str = "votes.dat", zipped: bool = False) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if zipped else data)
        return path

    return _write
