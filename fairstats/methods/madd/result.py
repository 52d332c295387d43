"""What `madd` returns: the comparisons, the largest of them, settings and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fairstats.ground.groups import group_index
from fairstats.ground.results import Result, check_choice
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import bin_edges
from fairstats.methods.madd.entries import LargestMadd, MaddComparison
from fairstats.methods.madd.grid_counts import GridCounts
from fairstats.methods.madd.sentences import comparison_sentences, largest_sentence, settings_notes
from fairstats.methods.madd.settings import MaddSettings
from fairstats.methods.madd.table import comparison_rows, largest_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["MaddResult"]


@serialisable
@dataclass(frozen=True, eq=False)
class MaddResult(Result):
    """MADD of every comparison.

    Attributes
    ----------
    comparisons : tuple of MaddComparison
    largest : LargestMadd or None
        Where there are several comparisons.
    settings : MaddSettings
    counts : GridCounts
        The sufficient statistics.
    backend : str
    """

    comparisons: tuple[MaddComparison, ...]
    largest: LargestMadd | None
    settings: MaddSettings
    counts: GridCounts
    backend: str = "numpy"

    metric: ClassVar[str] = "madd"
    scale: ClassVar[str] = "distance"

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return "MADD: distance between the score distributions"

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: every comparison, then the largest."""
        found = [r for c in self.comparisons for r in comparison_rows(c, self.settings, self.backend)]
        return found if self.largest is None else [*found, largest_row(self.largest, self.backend)]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric", "group", "reference", "estimate", "null_mean", "ci_low", "ci_high", "pvalue",
            "pvalue_adjusted", "n_bins", "h_low", "h_high", "n", "n_reference", "verdict",
        ]  # fmt: skip
        if len(self.comparisons) < 2:
            wanted.remove("pvalue_adjusted")
        return [c for c in wanted if not (frame[c].isna() | (frame[c] == "")).all()]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        lines = settings_notes(self.settings, self.comparisons)
        if self.counts.missing.n_dropped:
            lines.append(self.counts.missing.sentence)
        return [*lines, *sorted({c.note for c in self.comparisons if c.note})]

    def sentences(self) -> list[str]:
        """One sentence per row of the tidy table."""
        found = [s for c in self.comparisons for s in comparison_sentences(c, self.settings)]
        return found if self.largest is None else [*found, largest_sentence(self.largest, self.settings)]

    def __getitem__(self, group: Any) -> MaddComparison:
        """The comparison of one group, or of the pair ``(group, reference)`` in either order."""
        if isinstance(group, tuple) and len(group) == 2:
            wanted = {str(g) for g in group}
            for comparison in self.comparisons:
                if {comparison.group, comparison.reference} == wanted:
                    return comparison
        return self.comparisons[group_index([c.group for c in self.comparisons], group, "group")]

    def _each(self, name: str) -> Any:
        values = [getattr(c, name) for c in self.comparisons]
        if len(values) == 1:
            return values[0]
        return np.array(values) if isinstance(values[0], (int, float)) else tuple(values)

    @property
    def estimate(self) -> Any:
        """MADD: a float for one comparison, else an array in the order of `comparisons`."""
        return self._each("estimate")

    @property
    def std_error(self) -> Any:
        """Bootstrap standard deviation of MADD on the grid, float or array."""
        return self._each("std_error")

    @property
    def grid_bins(self) -> Any:
        """Bins of the label-blind grid, int or array."""
        return self._each("grid_bins")

    @property
    def bandwidth(self) -> Any:
        """Stable stretch of bandwidths, or a tuple of them; None where the bins were given."""
        return self._each("bandwidth")

    @property
    def binned(self) -> Any:
        """MADD on the label-blind grid, float or array."""
        return self._each("binned")

    @property
    def confidence_interval(self) -> Any:
        """Interval of the binned distance, or a tuple of intervals."""
        return self._each("interval")

    @property
    def lower_limit(self) -> Any:
        """Lower confidence limit of the L1 distance, float or array."""
        return self._each("lower_limit")

    @property
    def null_mean(self) -> Any:
        """What `estimate` would be on average if the groups were alike, float or array."""
        return self._each("null_mean")

    @property
    def bias_corrected(self) -> Any:
        """Bias-corrected MADD on the grid, float or array."""
        return self._each("bias_corrected")

    @property
    def pvalue(self) -> Any:
        """p-value of equal distributions, float or array."""
        return self._each("pvalue")

    @property
    def mid_pvalue(self) -> Any:
        """Mid-p value, float or array."""
        return self._each("mid_pvalue")

    @property
    def h_sup(self) -> Any:
        """Order of the best bandwidth, float or array."""
        return self._each("h_sup")

    @property
    def verdict(self) -> Any:
        """Verdict for one comparison, else a tuple of verdicts."""
        return self._each("verdict")

    def contributions(self) -> pd.DataFrame:
        """What every bin of the grid adds, with sign.

        Returns
        -------
        DataFrame
            group, reference, bin (from 1), low, high (its ends), share, share_reference, contribution: the
            difference of the shares; the absolute values sum to MADD on the grid.
        """
        import pandas as pd

        frames = []
        for c in self.comparisons:
            ends = np.concatenate([[0.0], bin_edges(c.grid_bins), [1.0]])
            shares = self._shares(c)
            frames.append(
                pd.DataFrame(
                    {
                        "group": c.group,
                        "reference": c.reference,
                        "bin": np.arange(1, c.grid_bins + 1),
                        "low": ends[:-1],
                        "high": ends[1:],
                        "share": shares[0],
                        "share_reference": shares[1],
                        "contribution": c.contributions,
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    def _shares(self, c: MaddComparison) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = self.counts.on(c.grid_bins)
        first = counts[self.counts.groups.index(c.group)]
        if c.reference in self.counts.groups:
            second = counts[self.counts.groups.index(c.reference)]
        else:
            second = counts.sum(axis=0) - first
        with np.errstate(divide="ignore", invalid="ignore"):
            return first / first.sum(), second / second.sum()

    def with_adjusted(self, adjusted: NDArray[np.float64], family: str) -> MaddResult:
        """The same result with these adjusted p-values, one per row of the tidy table, and this family."""
        step = 2 if self.settings.apart else 1
        comparisons = tuple(
            replace(c, pvalue_adjusted=float(adjusted[step * (i + 1) - 1]))
            for i, c in enumerate(self.comparisons)
        )
        largest = self.largest
        if largest is not None:
            largest = replace(largest, pvalue_adjusted=float(adjusted[-1]))
        settings = replace(self.settings, family=family)
        return replace(self, comparisons=comparisons, largest=largest, settings=settings)

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["histograms", "curve", "contributions"] = "histograms"
    ) -> Axes:
        """Draw the histograms of the groups, MADD against the bandwidth, or the contributions of the bins.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"histograms", "curve", "contributions"}
            The last two show the first comparison.
        """
        from fairstats.plots.madd import plot_contributions, plot_histograms, plot_search

        check_choice("kind", kind, ("histograms", "curve", "contributions"))
        draw = {"histograms": plot_histograms, "curve": plot_search, "contributions": plot_contributions}[
            kind
        ]
        return draw(self, ax=ax)
