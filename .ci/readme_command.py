"""Print the one command line of a README that contains a word, as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main(readme: Path, word: str) -> None:
    """Find, in the blocks fenced as ``bash``, the one line that makes an environment and has the word."""
    text = readme.read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [
        line
        for block in blocks
        for line in block.splitlines()
        if "-m venv" in line and word in line
    ]
    if len(lines) != 1:
        raise SystemExit(
            f"{readme}: {len(lines)} commands make an environment and say {word!r}, not one"
        )
    sys.stdout.write(lines[0] + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
