"""Draws the paper's figure from the installed version: ``python vignettes/paper/figure.py``."""

from __future__ import annotations

from pathlib import Path

import fairstats
from fairstats.report.audit import demo_report

FIGURE = Path(__file__).with_name("rates.png")


def main() -> None:
    """The demo's rates of selection by race, with intervals; the version stands in the file."""
    axes = demo_report().plot("rates-selection-rate", "race")
    figure = axes.get_figure()
    figure.savefig(
        FIGURE,
        dpi=200,
        bbox_inches="tight",
        metadata={"Software": f"fairstats {fairstats.__version__}"},
    )


if __name__ == "__main__":
    main()
