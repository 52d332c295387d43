"""MADD in words: the verdict of every row, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairstats.methods.madd.entries import LargestMadd, MaddComparison
    from fairstats.methods.madd.settings import MaddSettings

__all__ = ["comparison_sentences", "largest_sentence", "settings_notes"]


def comparison_sentences(c: MaddComparison, settings: MaddSettings) -> list[str]:
    """One sentence per row of one comparison."""
    pair, level = f"{c.group} against {c.reference}", _percent(settings)
    if c.verdict == "insufficient evidence":
        return [f"{pair}: insufficient evidence. {c.note}".strip()] * (2 if settings.apart else 1)
    judged = (
        f"{pair}: MADD {c.binned:.3f} in {c.grid_bins} bins ({level} interval {c.interval.low:.3f} to "
        f"{c.interval.high:.3f}; alike groups would show {c.binned_null_mean:.3f}): "
        f"{_judged(c.verdict, settings.threshold)}"
    )
    if not settings.apart:
        return [judged]
    where = f"in {settings.n_bins} bins"
    if c.bandwidth is not None:
        where = f"for bandwidths from {c.bandwidth.low:.3f} to {c.bandwidth.high:.3f}"
    limit = f"the L1 distance is at least {c.lower_limit:.3f} ({level} limit)"
    return [f"{pair}: MADD {c.estimate:.3f} {where}; {limit}.", judged]


def largest_sentence(largest: LargestMadd, settings: MaddSettings) -> str:
    """The largest MADD in words."""
    said = (
        f"Largest MADD {largest.estimate:.3f} ({_percent(settings)} interval {largest.interval.low:.3f} to "
        f"{largest.interval.high:.3f}), between {largest.group} and {largest.reference}: "
        f"{_judged(largest.verdict, settings.threshold)}"
    )
    if largest.verdict != "violated" or largest.limited_by == (largest.group, largest.reference):
        return said
    return f"{said} It is the limit of {' against '.join(largest.limited_by)} that shows it."


def _percent(settings: MaddSettings) -> str:
    return f"{100 * settings.confidence_level:g}%"


def _judged(verdict: str, threshold: float) -> str:
    tail = {
        "violated": f"the data show a distance above {threshold:g}",
        "satisfied": f"the data show a distance below {threshold:g} in these bins",
        "undecided": f"the data do not settle on which side of {threshold:g} it lies",
    }[verdict]
    return f"{verdict}; {tail}."


def settings_notes(settings: MaddSettings, comparisons: Sequence[MaddComparison]) -> list[str]:
    """What was done, in sentences."""
    level = f"{100 * settings.confidence_level:g}%"
    lines = []
    if settings.apart:
        search = f"the mean over the stable stretch of h = 1 … 1/{settings.max_bins} (Algorithm 1)"
        lines.append(
            f"madd: {search if settings.searched else 'in the bins asked for'}; ci_low is the {level} "
            "lower limit for the L1 distance of the densities, for which no upper limit exists."
        )
        lines.append("madd_binned: MADD on a grid chosen from the group sizes alone, with interval and test.")
    lines.append(
        f"{level} intervals by the directional delta method, for the distance in the bins named; verdicts by "
        f"one-sided limits against {settings.threshold:g}. null_mean: what alike groups would show."
    )
    methods = dict.fromkeys(t.method for c in comparisons for t in c.tests)
    if methods:
        seed = "" if settings.seed is None else f", seed {settings.seed}"
        lines.append(f"p-values: {', '.join(methods)}, {settings.n_resamples:,} resamples{seed}.")
    if len(comparisons) > 1:
        what = {
            "all": "All pairs of groups are compared",
            "rest": "Each group is compared with all others",
            "reference": f"Each group is compared with {comparisons[0].reference}",
        }[settings.comparisons]
        lines.append(f"{what}; p-values adjusted by {settings.adjust} over {settings.family}.")
    return lines
