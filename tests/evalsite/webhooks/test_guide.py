"""The function of the guide that checks signatures, as it stands there."""

import re
import time
from pathlib import Path
from typing import Any

from evalsite.webhooks.signatures import headers, secret_make

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "submitter.md"


def test_function_of_the_guide_checks_signatures() -> None:
    found = re.search(r"```python\n(import base64.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found
    names: dict[str, Any] = {}
    exec(found[1], names)  # noqa: S102  the project's own guide
    verified, old, new, now = names["verified"], secret_make(), secret_make(), int(time.time())
    sent = headers([new, old], message_id="msg_1", timestamp=now, body="{}")
    assert verified(sent, "{}", old)
    assert verified(sent, "{}", new)
    assert not verified(sent, "{ }", old)
    assert not verified(sent, "{}", secret_make())
    late = headers([new], message_id="msg_1", timestamp=now - 600, body="{}")
    assert not verified(late, "{}", new)
