"""Write pip constraints that pin every dependency to its lower bound in pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

#: Extras whose bounds are tested. `generate` is not installed by `all`; `docs` and `dev` are tools.
EXTRAS = ("report", "cli", "scale", "bayes", "search", "r", "test")
BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?>=(?P<version>[\w.]+)")


def main(pyproject: Path) -> None:
    """Print one ``name==version`` per dependency."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    pins = set()
    for requirement in [
        *project["dependencies"],
        *(r for extra in EXTRAS for r in optional[extra]),
    ]:
        match = BOUND.match(requirement)
        if match is None:
            raise SystemExit(f"{pyproject}: {requirement!r} has no lower bound")
        pins.add(f"{match['name']}=={match['version']}")
    sys.stdout.write("\n".join(sorted(pins)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
