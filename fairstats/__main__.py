"""``python -m fairstats`` and the command ``fairstats``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; without the extra ``cli`` say which extra to install and exit with 2."""
    from fairstats.ground.errors import MissingDependencyError

    try:
        from fairstats.cli.app import app
    except MissingDependencyError as problem:
        sys.stderr.write(f"fairstats: {problem}\n")
        raise SystemExit(2) from None
    app()


if __name__ == "__main__":
    main()
