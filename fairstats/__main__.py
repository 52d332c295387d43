"""``python -m fairstats`` and the command ``fairstats``."""

from __future__ import annotations

import sys
import traceback

__all__ = ["main"]


def main() -> None:
    """Run the command line and end with the exit code that ``fairstats.cli.exits`` lists."""
    from fairstats.cli import exits

    exits.steady_streams()
    exits.end_in_order()
    try:
        code = _run()
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, exits.Terminated) as problem:  # noqa: BLE001 - the last place to say it
        if exits.shows_traceback():
            traceback.print_exception(problem)
        sys.stderr.write(exits.line_of(problem) + "\n")
        code = exits.code_of(problem)
    raise SystemExit(code)


def _run() -> int:
    """Run the command line; its exit code."""
    from fairstats.cli.app import app

    try:
        app()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
            return 1
        return end.code or 0
    return 0


if __name__ == "__main__":
    main()
