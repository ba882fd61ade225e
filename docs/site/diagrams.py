"""Pictures of the Mermaid diagrams in ARCHITECTURE.md. The site shows them without a script of another host.

    python docs/site/diagrams.py

draws those that are missing into docs/pictures, and removes old ones. It needs the command `mmdc`
(`npm install @mermaid-js/mermaid-cli`).
"""

import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def file_name(diagram: str) -> str:
    """Return the name of a diagram's picture. A changed diagram has another name."""
    return f"diagram-{hashlib.sha256(diagram.encode()).hexdigest()[:12]}.svg"


def diagrams() -> dict[str, str]:
    """Return name of the picture -> source, for each diagram of ARCHITECTURE.md."""
    found = BLOCK.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    return {file_name(diagram): diagram for diagram in found}


def main() -> None:
    wanted = diagrams()
    for path in PICTURES.glob("diagram-*.svg"):
        if path.name not in wanted:
            path.unlink()
    for name, diagram in wanted.items():
        if not (PICTURES / name).exists():
            _draw(diagram, PICTURES / name)


def _draw(diagram: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, options = Path(folder, "diagram.mmd"), Path(folder, "mermaid.json")
        source.write_text(diagram, encoding="utf-8")
        options.write_text('{"htmlLabels": false, "flowchart": {"htmlLabels": false}}', encoding="utf-8")
        browser = Path(folder, "browser.json")
        browser.write_text('{"executablePath": "/usr/bin/chromium", "args": ["--no-sandbox"]}', encoding="utf-8")
        words = ["mmdc", "--input", source, "--output", path, "--configFile", options, "--puppeteerConfigFile", browser]
        subprocess.run(words, check=True)  # noqa: S603  our own file


if __name__ == "__main__":
    main()
