"""`python -m tests.house.locks`: the lock files name no index, no host and no path of a machine."""

import re
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent.parent / "requirements"
FORBIDDEN = re.compile(r"https?:|file:|^\s*--?(index|extra-index|find-links|f |i )|(^|\s)/", re.MULTILINE)


def problems() -> list[str]:
    """What is wrong with the lock files, a line each."""
    found = []
    for lock in sorted(REQUIREMENTS.glob("*.txt")):
        text = lock.read_text()
        found += [f"{lock.name}: {match.group().strip()!r}" for match in FORBIDDEN.finditer(text)]
        pinned = re.findall(r"^[a-z0-9_.\[\]-]+==", text, re.MULTILINE)
        if not pinned or text.count("--hash=sha256:") < len(pinned):
            found.append(f"{lock.name}: not every requirement is pinned with a hash")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
