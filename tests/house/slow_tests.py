"""Compare tests/durations.csv with slow_tests.csv, which gives a reason for each test that takes long.

    python -m tests.house.slow_tests

Part of `make check`; it measures nothing.
"""

import csv
import sys
from pathlib import Path

from tests import durations

EXCEPTIONS = Path(__file__).with_name("slow_tests.csv")


def problems(seconds: dict[str, float], reasons: dict[str, str]) -> list[str]:
    """Return a sentence for each long test without a reason, and for each reason that is no longer needed."""
    long = {test: spent for test, spent in seconds.items() if spent > durations.LONG_S}
    return [
        *(
            f"{test} takes {spent:.1f} s of processor time. Shorten it, or give a reason in {EXCEPTIONS.name}."
            for test, spent in sorted(long.items())
            if not reasons.get(test, "").strip()
        ),
        *(
            f"{test} takes no longer than {durations.LONG_S:.0f} s of processor time. Remove it from {EXCEPTIONS.name}."
            for test in sorted(reasons.keys() - long.keys())
        ),
    ]


def reasons_read(path: Path = EXCEPTIONS) -> dict[str, str]:
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["test"]: row["reason"] for row in csv.DictReader(lines)}


def main() -> None:
    seconds = durations.read()
    if not seconds:
        sys.exit(f"{durations.FILE.name} is missing or empty. Run: make durations")
    if found := problems(seconds, reasons_read()):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
