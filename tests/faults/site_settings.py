"""The site's own settings; and each of its processes says where it is when it is asked."""

import os
import select
import time

from evalsite.settings import *  # noqa: F403
from evalsite.settings import DATA_DIR
from tests.faults.whereabouts import answer_when_asked


def sleep(seconds: float) -> None:
    """As `time.sleep`, which waits for a time of the monotonic clock: libfaketime takes that for an invalid one."""
    select.select((), (), (), seconds)


if "FAKETIME_TIMESTAMP_FILE" in os.environ:
    time.sleep = sleep  # type: ignore[assignment]

answer_when_asked(DATA_DIR)
