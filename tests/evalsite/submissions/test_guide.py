"""The script of the guide submits, as it stands there."""

import re
import runpy
import sys
from functools import partial
from pathlib import Path

import httpx2
import pytest

from evalsite.accounts.models import User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.submissions.models import Submission
from tests.evalsite.transport import answered

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "submitter.md"


def test_script_of_the_guide_submits(
    board: Campaign,
    submitter: User,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found
    script = found[1]
    assert len(script.strip().splitlines()) <= 30
    assert len([line for line in script.splitlines() if line.strip()]) <= 25
    token = api_token_issue(user=submitter, name="guide", scopes=["campaigns:read", "chatbots:write"], days=1)
    monkeypatch.setattr(sys, "argv", ["submit.py", "http://testserver", token, "trial"])
    monkeypatch.setattr(httpx2, "Client", partial(httpx2.Client, transport=httpx2.MockTransport(answered)))
    path = tmp_path / "submit.py"
    path.write_text(script)
    runpy.run_path(str(path))
    assert capsys.readouterr().out.startswith("waiting ")
    assert Submission.objects.get().report["add"] == 6
