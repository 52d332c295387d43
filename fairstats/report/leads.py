"""Sentences that lead a part of a report: which comparison stands first, and what of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fairstats.ground.results import Comparison
from fairstats.plots.picture import Picture
from fairstats.report.format import isolate, printable

#: Comparisons with pictures of their own; tables have all of them.
PICTURED = 4
#: Verdict → what follows a finding.
MEANING = {
    "violated": "beyond the limit that was set",
    "satisfied": "shown to be within the limit that was set",
    "undecided": "the data do not settle whether that is within the limit that was set",
    "insufficient evidence": "too few cases to say anything",
}
NOTHING_COMPARED = f"No two groups can be compared: {MEANING['insufficient evidence']}."


def isolate_names(text: str, *names: str) -> str:
    """A text that can be shown, its names of groups kept in their own direction of writing."""
    return isolate(printable(text), [printable(name) for name in names])


def name_pair(comparison: Comparison) -> str:
    """Both groups of a comparison."""
    pair = f"{comparison.group} and {comparison.reference}"
    return isolate_names(pair, comparison.group, comparison.reference)


def order_comparisons(comparisons: Sequence[Any], size: Callable[[Any], float]) -> list[Any]:
    """Comparisons that have an estimate: those shown to be beyond the limit first, then by size."""

    def rank(comparison: Comparison) -> tuple[bool, bool, float]:
        violated = comparison.verdict == "violated"
        judged = comparison.verdict != "insufficient evidence"
        return violated, judged, size(comparison)

    estimated = []
    for one in comparisons:
        if math.isfinite(size(one)):
            estimated.append(one)
    return sorted(estimated, key=rank, reverse=True)


def count_others(shown: Any, comparisons: Sequence[Any]) -> str:
    """What became of the comparisons that the lead does not name; empty for none."""
    verdicts = []
    for one in comparisons:
        if one is not shown:
            verdicts.append(one.verdict)
    if not verdicts:
        return ""
    beyond = verdicts.count("violated")
    within = verdicts.count("satisfied")
    lacking = verdicts.count("insufficient evidence")
    still_open = len(verdicts) - beyond - within - lacking
    if len(verdicts) == 1:
        if beyond:
            state = "shown to be beyond it"
        elif within:
            state = "shown to be within it"
        elif lacking:
            state = "without sufficient evidence"
        else:
            state = "open"
        return f" The other comparison is {state}."
    counted = [f"{beyond or 'none'} shown to be beyond it", f"{within or 'none'} within it"]
    if lacking:
        counted.append(f"{lacking} without sufficient evidence")
    counted.append(f"{still_open or 'none'} open")
    return f" Of {len(verdicts)} other comparisons, {', '.join(counted)}."


def one_row(pictures: tuple[Picture, ...]) -> tuple[tuple[str, tuple[Picture, ...]], ...]:
    """Pictures without a heading, as the figures of a part; nothing for none."""
    if not pictures:
        return ()
    return (("", pictures),)
