"""Forecast of the set-up at the first start: 20 chatbots on 200 prompts, with nothing compiled yet.

    python -m tests.benchmarks.forecast_first

A new process with an empty cache of machine code makes the plan twice: the first time with its imports, as after the
page opens, and again, as after a change of the form.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from tests.benchmarks.report import Check, conclude, say

MOST_SECONDS = 3.0
PROGRAM = """
import time
busy = 0.0
began = time.perf_counter()
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
from evalsite.exchange.campaign_planning import PlannedCampaign, plan_campaign
from scheduler.forecasting.forecast import ForecastTerms
from scheduler.forecasting.goals import AllAbilities
for _ in range(2):
    plan_campaign(PlannedCampaign(20, 200), ForecastTerms(AllAbilities(0.2)))
    print(time.perf_counter() - began, time.process_time() - busy)
    began, busy = time.perf_counter(), time.process_time()
"""


def main() -> int:
    """Return 0 if the forecast after a change comes within MOST_SECONDS."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"NUMBA_CACHE_DIR": empty}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
    (opening, _), (change, processor) = (map(float, line.split()) for line in run.stdout.splitlines())
    say(f"with imports, as after the page opens: {opening:.1f} s")
    say(f"after a change, in processor time: {processor:.1f} s")
    passed = change <= MOST_SECONDS
    return conclude("First start", [Check("after a change", f"{change:.1f} s", f"<= {MOST_SECONDS:.0f} s", passed)])


if __name__ == "__main__":
    sys.exit(main())
