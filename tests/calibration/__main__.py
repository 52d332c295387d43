"""Run one study and print its table as Markdown."""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import tests.calibration as studies


def available() -> dict[str, Callable[..., pd.DataFrame]]:
    """Every module of this folder that defines `run`."""
    found = {}
    for module in pkgutil.iter_modules(studies.__path__):
        if not module.name.startswith("_"):
            run = getattr(importlib.import_module(f"{studies.__name__}.{module.name}"), "run", None)
            if callable(run):
                found[module.name] = run
    return found


def as_markdown(frame: pd.DataFrame) -> str:
    """A Markdown table; no package beyond pandas is needed."""
    text = frame.map(lambda v: f"{v:.4g}" if isinstance(v, float) else str(v)).replace("nan", "")
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *text.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, run the study, write the table."""
    names = available()
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=studies.__doc__)
    parser.add_argument("name", choices=sorted(names), help="the study")
    parser.add_argument("--replicates", type=int, help="simulated samples per setting")
    parser.add_argument("--seed", type=int, help="seed of the simulations")
    parser.add_argument("--out", type=Path, help="file for the Markdown table; default: standard output")
    options = parser.parse_args(arguments)
    known = inspect.signature(names[options.name]).parameters
    chosen = {k: v for k in ("replicates", "seed") if (v := getattr(options, k)) is not None and k in known}
    table = as_markdown(names[options.name](**chosen)) + "\n"
    if options.out is None:
        sys.stdout.write(table)
    else:
        options.out.write_text(table, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
