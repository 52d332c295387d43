"""What `madd` is asked for, and what it returns: settings, comparisons, the largest of them; as table and in words."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_number, check_whole
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.results import LEVEL, OF_VERDICT, Comparison, HypothesisTest, Result, columns_of
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import explain, fair_range
from fairstats.methods.madd.curve import MOST_SEARCHED, MaddCurve, StableBandwidth
from fairstats.methods.madd.scores import MOST_BINS, GridCounts, bin_edges, check_bins
from fairstats.plots.madd import plot_contributions, plot_histograms, plot_search

#: The other side of a comparison of one group with all others.
REST = "all others"
_NAN = math.nan
#: Draws of B·m counts for more bins than this would need gigabytes.
MOST_GRID_BINS = 2_000
#: 1/h this close to a whole number, relative to it, is meant to be that number (single precision has 1e-7).
_SLACK = 1e-6


@serialisable()
class MaddSettings:
    """The settings of a MADD: the arguments of `fairstats.madd`, checked.

    `n_bins`: number of bins m of the estimate; None: the mean over the stable stretch of bandwidths; `grid_bins`: bins
    of the grid of interval and test; None: ⌈1/h_sup⌉ of every comparison; `family`: what the p-values are adjusted
    over; `reference_rule`, {"named", "largest"}: how the reference group was chosen, where there is one.
    """

    n_bins: int | None = None
    grid_bins: int | None = None
    comparisons: str = "all"
    permutations: str = "grid"
    margin: float = 0.2
    confidence_level: float = 0.95
    adjust: str = "holm"
    family: str = "metric"
    n_resamples: int = 1_999
    seed: int | None = None
    max_bins: int = 1000
    min_points: int = 50
    width: float = 0.45
    reference_rule: str = "largest"

    def __post_init__(self) -> None:
        check_choice("comparisons", self.comparisons, ("all", "rest", "reference"))
        check_choice("permutations", self.permutations, ("grid", "search"))
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        if self.n_bins is not None and self.permutations == "search":
            got = f"'search' with {self.n_bins} bins given"
            cure = "permutations='grid': with a given grid nothing is searched"
            raise InputError("permutations", got=got, allowed="'search' with bandwidth='auto'", cure=cure)
        check_number("margin", self.margin, low=0, high=2, allowed="a MADD from 0 to 2", cure="0.2")
        level, words = self.confidence_level, "a level above 0.5 and below 1: verdicts use one-sided limits"
        check_number("confidence_level", level, low=0.5, high=1, open_low=True, open_high=True, allowed=words)
        check_whole("n_resamples", self.n_resamples, low=99, cure="1999")
        check_bins("max_bins", self.max_bins, most=MOST_SEARCHED)

    @property
    def apart(self) -> bool:
        """Whether the estimate rests on other bins than interval and test, and has a row of its own."""
        return self.n_bins is None or self.n_bins != self.grid_bins


def make_settings(
    *, bandwidth: Any = "auto", n_bins: int | None = None, grid_bins: int | None = None, **options: Any
) -> MaddSettings:
    """`MaddSettings` with the bins that are asked for, by their number or by a bandwidth."""
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if n_bins is not None and not automatic:
        got = f"n_bins={n_bins!r} and bandwidth={bandwidth!r}"
        cure = f"leave out bandwidth: {n_bins!r} bins are h = 1/{n_bins!r}"
        raise InputError("n_bins", got=got, allowed="one of them", cure=cure)
    if not automatic:
        n_bins = bins_of_bandwidth(bandwidth)
    elif n_bins is not None:
        n_bins = check_bins("n_bins", n_bins)
    if grid_bins is not None:
        check_bins("grid_bins", grid_bins, least=2, most=MOST_GRID_BINS)
    elif n_bins is not None and n_bins <= MOST_GRID_BINS:
        grid_bins = n_bins
    return MaddSettings(n_bins=n_bins, grid_bins=grid_bins, **options)


def bins_of_bandwidth(bandwidth: Any) -> int:
    """Number of bins ⌊1/h⌋ for h in (0, 1]; 1/h within rounding of a whole number is that number."""
    inverse = 1 / check_number(
        "bandwidth", bandwidth, low=1 / MOST_BINS, high=1,
        allowed=f"'auto', or a bandwidth h from {1 / MOST_BINS:g} to 1",
        cure="0.05 makes 20 bins; n_bins=20 does the same",
    )  # fmt: skip
    nearest = round(inverse)
    return nearest if abs(inverse - nearest) <= _SLACK * inverse else int(inverse)


def _judged(row: MaddComparison | LargestMadd, margin: float, *, adjusted: bool) -> str:
    """The verdict in words, and why where the printed interval seems to say something else."""
    tail = {
        "violated": f"the data show a distance above {margin:g}",
        "satisfied": f"the data show a distance below {margin:g} in these bins",
        "undecided": f"the data do not settle on which side of {margin:g} it lies",
    }[row.verdict]
    why = explain(row.confidence_interval, row.bounds, fair_range("gap", margin), row.verdict, adjusted=adjusted)
    return f"{row.verdict}; {tail}. {why}".strip()


@serialisable(eq=False, kw_only=True)
class MaddComparison(Comparison):
    """MADD of two groups; the order gives the sign of the contributions, MADD itself is symmetric.

    `estimate`: MADD, with the bins asked for or its mean over the stable stretch (`bandwidth`) of the searched `curve`;
    `h_sup`: order of the best bandwidth; `null_mean`: what `estimate` would be on average if the groups were alike, its
    bandwidths held fixed; NaN under weights or clusters where they were searched; `search_pvalue`: p-value of
    `estimate` when the search runs again in every permutation; NaN unless asked for; `grid_bins`: bins of the
    label-blind grid, on which everything below was computed; `atoms`: whether these are the distinct scores; `binned`,
    `statistic`: MADD on the grid; `binned_null_mean`: its mean if the groups were alike; `bias_corrected`: 2·binned −
    mean of its bootstrap, floored at 0; `std_error`: bootstrap standard deviation of `binned`; `confidence_interval`:
    for the binned distance δ_m; `lower_limit`: one-sided limit for the L1 distance of the densities; there is no upper
    one; `pvalue`, `mid_pvalue`, `pvalue_adjusted`: of "both groups have one score distribution"; `verdict`: on δ_m,
    family-wise; `contributions`, shape (grid_bins,): d_k − d_ref,k per bin; their absolute values sum to `binned`.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference", "h_sup", "lower_limit", "note", "null_mean=binned_null_mean", "bias_corrected",
        "mid_pvalue", "n_bins=grid_bins",
    )  # fmt: skip

    metric: str = "madd"
    bandwidth: StableBandwidth | None = None
    curve: MaddCurve | None = None
    h_sup: float = _NAN
    null_mean: float = _NAN
    search_pvalue: float = _NAN
    grid_bins: int
    atoms: bool = False
    binned: float = _NAN
    binned_null_mean: float = _NAN
    bias_corrected: float = _NAN
    lower_limit: float = 0.0
    mid_pvalue: float = _NAN
    tests: tuple[HypothesisTest, ...] = ()
    n_reference: int = 0
    contributions: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    method: str = "directional delta"

    def row(self, backend: str) -> dict[str, Any]:
        """Row of MADD on the grid, with interval, test and verdict."""
        width = _NAN if self.atoms else 1 / self.grid_bins
        own = {"estimate": self.binned, "h_low": width, "h_high": width, "n_searched": 1}
        return {**super().row(backend), **own, **columns_of(self, LEVEL, *OF_VERDICT)}

    def rows(self, backend: str, settings: MaddSettings) -> list[dict[str, Any]]:
        """Rows of the tidy table: MADD on the grid; before it the estimate, unjudged, where it rests on other bins."""
        on_grid, stable = self.row(backend), self.bandwidth
        if not settings.apart:
            return [on_grid]
        estimate = {
            **on_grid, "estimate": self.estimate, "std_error": _NAN, "ci_low": self.lower_limit,
            "ci_high": 2.0, "statistic": self.estimate, "pvalue": self.search_pvalue, "pvalue_adjusted": _NAN,
            "method": "lower limit for the L1 distance", "null_mean": self.null_mean, "bias_corrected": _NAN,
            "mid_pvalue": _NAN, "n_bins": settings.n_bins, "h_low": stable.low if stable else _NAN,
            "h_high": stable.high if stable else _NAN, "n_searched": stable.n_searched if stable else 1,
            "bound_low": self.lower_limit, "bound_high": 2.0, "pvalue_verdict": _NAN,
            "pvalue_verdict_adjusted": _NAN, "verdict": None,
        }  # fmt: skip
        return [estimate, {**on_grid, "metric": "madd_binned"}]

    def sentences(self, settings: MaddSettings) -> list[str]:
        """One sentence per row."""
        pair, level = f"{self.group} against {self.reference}", f"{100 * settings.confidence_level:g}%"
        if self.verdict == "insufficient evidence":
            return [f"{pair}: insufficient evidence. {self.note}".strip()] * (2 if settings.apart else 1)
        low, high = self.confidence_interval
        bins = "distinct scores" if self.atoms else "bins"
        judged = (
            f"{pair}: MADD {self.binned:.3f} in {self.grid_bins} {bins} ({level} interval {low:.3f} to "
            f"{high:.3f}; alike groups would show {self.binned_null_mean:.3f}): "
            f"{_judged(self, settings.margin, adjusted=settings.adjust != 'none')}"
        )
        if not settings.apart:
            return [judged]
        stable, where = self.bandwidth, f"in {settings.n_bins} bins"
        where = where if stable is None else f"for bandwidths from {stable.low:.3f} to {stable.high:.3f}"
        limit = f"the L1 distance is at least {self.lower_limit:.3f} ({level} limit)"
        return [f"{pair}: MADD {self.estimate:.3f} {where}; {limit}.", judged]


@serialisable(kw_only=True)
class LargestMadd(Comparison):
    """The largest MADD of several comparisons.

    `group`, `reference`: where it was found; `limited_by`: groups whose lower limit is the highest: a verdict
    "violated" rests on these; `estimate`: largest MADD on the grids; biased upwards, as every maximum of noisy values;
    `null_mean`: mean of the largest MADD over the permutations; `confidence_interval`, `bounds`: for the largest δ_m,
    from limits that hold for all comparisons at once (Bonferroni); `statistic`, `pvalue`, `mid_pvalue`: of "all groups
    have one score distribution", by the largest standardised MADD; `pvalue_adjusted`: another over a whole audit.
    """

    further: ClassVar[tuple[str, ...]] = ("null_mean", "mid_pvalue", LEVEL, *OF_VERDICT, "note")

    metric: str = "madd_max"
    limited_by: tuple[str, str]
    null_mean: float
    mid_pvalue: float

    def sentence(self, margin: float) -> str:
        """The largest MADD in words."""
        low, high = self.confidence_interval
        level = f"{100 * self.confidence_interval.confidence_level:g}%"
        said = (
            f"Largest MADD {self.estimate:.3f} ({level} interval {low:.3f} to {high:.3f}), between "
            f"{self.group} and {self.reference}: {_judged(self, margin, adjusted=False)}"
        )
        if self.verdict != "violated" or self.limited_by == (self.group, self.reference):
            return said
        return f"{said} It is the limit of {' against '.join(self.limited_by)} that shows it."


def _each(name: str, meaning: str) -> Any:
    """Property: an attribute of the only comparison, else an array over all (a tuple where no numbers)."""

    def of(result: MaddResult) -> Any:
        values = [getattr(c, name) for c in result.comparisons]
        if len(values) == 1:
            return values[0]
        return np.array(values) if isinstance(values[0], (int, float)) else tuple(values)

    return property(of, doc=meaning)


@serialisable(eq=False)
class MaddResult(Result):
    """MADD of every comparison.

    `estimate`, `std_error` (bootstrap, of MADD on the grid), `confidence_interval` (of the binned distance), `pvalue`
    (of equal distributions), `verdict` and the attributes below are those of the only comparison, or an array or tuple
    in the order of `comparisons`. `largest` is there where there are several; `counts` are the sufficient statistics.
    """

    comparisons: tuple[MaddComparison, ...]
    largest: LargestMadd | None
    settings: MaddSettings
    counts: GridCounts
    backend: str = "numpy"

    title: ClassVar[str] = "MADD: distance between the score distributions"
    _shown: ClassVar[tuple[str, ...]] = (
        "metric", "group", "reference", "estimate", "null_mean", "ci_low", "ci_high", "pvalue",
        "pvalue_adjusted", "n_bins", "h_low", "h_high", "n", "n_reference", "verdict",
    )  # fmt: skip
    metric: ClassVar[str] = "madd"
    scale: ClassVar[str] = "distance"

    grid_bins = _each("grid_bins", "Bins of the label-blind grid.")
    bandwidth = _each("bandwidth", "Stable stretch of bandwidths; None where the bins were given.")
    binned = _each("binned", "MADD on the label-blind grid.")
    lower_limit = _each("lower_limit", "Lower confidence limit of the L1 distance.")
    null_mean = _each("null_mean", "What `estimate` would be on average if the groups were alike.")
    bias_corrected = _each("bias_corrected", "Bias-corrected MADD on the grid.")
    mid_pvalue = _each("mid_pvalue", "Mid-p value.")
    h_sup = _each("h_sup", "Order of the best bandwidth.")

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: every comparison, then the largest."""
        found = [r for c in self.comparisons for r in c.rows(self.backend, self.settings)]
        return found if self.largest is None else [*found, self.largest.row(self.backend)]

    def sentences(self) -> list[str]:
        """One sentence per row of the tidy table."""
        found = [s for c in self.comparisons for s in c.sentences(self.settings)]
        return found if self.largest is None else [*found, self.largest.sentence(self.settings.margin)]

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        shown = super()._summary_columns(frame)
        return [c for c in shown if c != "pvalue_adjusted" or len(self.comparisons) > 1]

    def notes(self) -> list[str]:
        """What was done, and what could not be computed."""
        settings = self.settings
        lines: list[str] = []
        atoms, level = self.counts.atoms, f"{100 * settings.confidence_level:g}%"
        if settings.apart:
            where = "in the bins asked for"
            if settings.n_bins is None:
                where = f"the mean over the stable stretch of h = 1 … 1/{settings.max_bins} (Algorithm 1)"
            grid = "a grid chosen from the group sizes alone"
            grid = grid if atoms is None else f"the {atoms.size} scores that occur, each a bin of its own"
            lines = [
                f"madd: {where}; ci_low is the {level} lower limit for the L1 distance of the densities, for "
                "which no upper limit exists.",
                f"madd_binned, which is judged: MADD on {grid}.",
            ]
        lines.append(
            f"{level} intervals by the directional delta method, for the distance in the bins named; verdicts by "
            f"one-sided limits at that level against {settings.margin:g}. null_mean: what alike groups would show."
        )
        methods = dict.fromkeys(t.method for c in self.comparisons for t in c.tests)
        if methods:
            seed = "" if settings.seed is None else f", seed {settings.seed}"
            lines.append(f"p-values: {', '.join(methods)}, {settings.n_resamples:,} resamples{seed}.")
        if len(self.comparisons) > 1:
            what = {
                "all": "All pairs of groups are compared",
                "rest": "Each group is compared with all others",
                "reference": f"Each group is compared with {self.comparisons[0].reference}",
            }[settings.comparisons]
            how = f"adjusted by {settings.adjust} over {settings.family}"
            judged = f"verdicts hold together over the comparisons ({settings.adjust})"
            if settings.adjust == "none":
                how = "not adjusted" if settings.family == MaddSettings.family else how
                judged = "each verdict is of its comparison by itself"
            lines.append(f"{what}; p-values {how}; {judged}.")
        lines += [text] if (text := self.beside_the_largest()) else []
        lines += self.counts.missing.sentences
        return [*lines, *sorted({c.note for c in self.comparisons if c.note})]

    def beside_the_largest(self) -> str:
        """Why the largest MADD is judged unlike the comparison that attains it; empty where it is not."""
        top = self.largest
        if top is None or (own := self[top.group, top.reference]).verdict == top.verdict:
            return ""
        why = {
            "violated": "whichever is the largest in truth, it is no smaller than that of "
            f"{' against '.join(top.limited_by)}, which lies above the margin",
            "undecided": "it is judged over all comparisons at once, any of which may be the largest in "
            "truth, and needs more evidence",
        }.get(top.verdict, "it is judged by limits that hold for all comparisons at once")
        return (
            f"The largest MADD ({top.group} against {top.reference}: {top.estimate:.3f}) is {top.verdict}, "
            f"that comparison by itself is {own.verdict}: {why}."
        )

    def __getitem__(self, group: Any) -> MaddComparison:
        """The comparison of one group, or of the pair ``(group, reference)`` in either order."""
        if isinstance(group, tuple) and len(group) == 2:
            for comparison in self.comparisons:
                if {comparison.group, comparison.reference} == {str(g) for g in group}:
                    return comparison
        return super().__getitem__(group)  # type: ignore[no-any-return]

    def contributions(self) -> pd.DataFrame:
        """What every bin of the grid adds, with sign.

        Columns: group, reference, bin (from 1), low, high (its ends), share, share_reference, contribution: the
        difference of the shares; the absolute values sum to MADD on the grid.
        """
        names = ("group", "reference", "bin", "low", "high", "share", "share_reference", "contribution")
        frames, atoms = [], self.counts.atoms
        for c in self.comparisons:
            ends = np.concatenate([[0.0], bin_edges(c.grid_bins), [1.0]])
            low, high = (ends[:-1], ends[1:]) if atoms is None else (atoms, atoms)
            counts = self.counts.on_grid(c.grid_bins)
            sides = [counts[list(g)].sum(axis=0) for g in self.counts.sides(c.group, c.reference)]
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = [side / side.sum() for side in sides]
            bins = np.arange(1, c.grid_bins + 1)
            columns = (c.group, c.reference, bins, low, high, *shares, c.contributions)
            frames.append(pd.DataFrame(dict(zip(names, columns, strict=True))))
        return pd.concat(frames, ignore_index=True)

    def _with_adjusted(self, adjusted: NDArray[np.float64], family: str) -> MaddResult:
        """The same result with these adjusted p-values, one per row of the tidy table, and this family."""
        step = 2 if self.settings.apart else 1
        own = zip(self.comparisons, adjusted[step - 1 :: step].tolist(), strict=False)
        comparisons = tuple(replace(c, pvalue_adjusted=p) for c, p in own)
        largest = self.largest and replace(self.largest, pvalue_adjusted=float(adjusted[-1]))
        return replace(self, comparisons=comparisons, largest=largest, settings=replace(self.settings, family=family))

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["histograms", "curve", "contributions"] = "histograms"
    ) -> Axes:
        """Draw histograms of the groups, or of the first comparison MADD against the bandwidth or the bins' parts."""
        draw = {"histograms": plot_histograms, "curve": plot_search, "contributions": plot_contributions}
        check_choice("kind", kind, tuple(draw))
        return draw[kind](self, ax=ax)
