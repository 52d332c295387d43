"""What `madd` is asked for, and what it returns: settings, comparisons, the largest of them.

As table and in words.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_number, check_whole
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.results import (
    LEVEL,
    OF_VERDICT,
    Comparison,
    HypothesisTest,
    Result,
    columns_of,
)
from fairstats.ground.scores import label_blind_bins
from fairstats.ground.serialise import serialisable
from fairstats.ground.verdict import explain, fair_range
from fairstats.methods.madd.curve import MOST_SEARCHED, MaddCurve, StableBandwidth
from fairstats.methods.madd.scores import MOST_BINS, GridCounts, check_bins
from fairstats.plots.madd import plot_contributions, plot_histograms, plot_search

#: The other side of a comparison of one group with all others.
REST = "all others"
_NAN = math.nan
#: Draws of B·m counts for more bins than this would need gigabytes.
MOST_GRID_BINS = 2_000
#: All pairs are compared by default among so many groups; among more, each against the reference.
FEW_GROUPS = 10
#: Ends of bins are printed below a table for so many comparisons, of so many bins.
_MOST_PRINTED = 20
#: 1/h this close to a whole number, relative to it, is meant to be that number (single precision
#: has 1e-7).
_WHOLE_WITHIN = 1e-6


@serialisable()
class MaddSettings:
    """The settings of a MADD: the arguments of `fairstats.madd`, checked.

    `n_bins`: equally wide bins asked for; None: bins are found; `grid_bins`: at most so many
    quantiles of the pooled scores are the bins that are judged; None: ⌈1/h_sup⌉ of every
    comparison, or the `n_bins`; `comparisons`: "auto" until the number of groups is known,
    `chosen_by_number` then says whether it decided; `family`: what the p-values are adjusted over;
    `reference_rule`, {"named", "largest"}: how the reference group was chosen, where there is one.
    """

    n_bins: int | None = None
    grid_bins: int | None = None
    comparisons: str = "auto"
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
    chosen_by_number: bool = False

    def __post_init__(self) -> None:
        check_choice("comparisons", self.comparisons, ("auto", "all", "rest", "reference"))
        check_choice("permutations", self.permutations, ("grid", "search"))
        check_choice("adjust", self.adjust, ADJUSTMENTS)
        if self.n_bins is not None and self.permutations == "search":
            received = f"'search' with {self.n_bins} bins given"
            suggestion = "permutations='grid': with a given grid nothing is searched"
            raise InputError(
                "permutations",
                got=received,
                allowed="'search' with bandwidth='auto'",
                cure=suggestion,
            )
        margin = check_number(
            "margin",
            self.margin,
            low=0,
            high=2,
            allowed="a MADD from 0 to 2",
            cure="0.2",
        )
        confidence_level = check_number(
            "confidence_level",
            self.confidence_level,
            low=0.5,
            high=1,
            open_low=True,
            open_high=True,
            allowed="a level above 0.5 and below 1: verdicts use one-sided limits",
        )
        resamples = check_whole("n_resamples", self.n_resamples, low=99, cure="1999")
        # what was checked is kept, as Python's own numbers
        object.__setattr__(self, "margin", margin)
        object.__setattr__(self, "confidence_level", confidence_level)
        object.__setattr__(self, "n_resamples", resamples)
        check_bins("max_bins", self.max_bins, most=MOST_SEARCHED)

    @property
    def equal_width(self) -> bool:
        """Whether the bins that are judged are the equally wide ones asked for, not quantiles of
        the pooled scores.
        """
        return self.n_bins is not None and self.n_bins <= MOST_GRID_BINS and self.grid_bins is None

    def _most_bins(self, n0: float, n1: float) -> int:
        """Bins that are judged in a comparison of so many (effective) rows, ties apart."""
        if self.n_bins is not None and self.equal_width:
            return self.n_bins
        return self.grid_bins or label_blind_bins(n0, n1)


def make_settings(
    *,
    bandwidth: Any = "auto",
    n_bins: int | None = None,
    grid_bins: int | None = None,
    **options: Any,
) -> MaddSettings:
    """`MaddSettings` with the bins that are asked for, by their number or by a bandwidth."""
    automatic = isinstance(bandwidth, str) and bandwidth == "auto"
    if n_bins is not None and not automatic:
        received = f"n_bins={n_bins!r} and bandwidth={bandwidth!r}"
        suggestion = f"leave out bandwidth: {n_bins!r} bins are h = 1/{n_bins!r}"
        raise InputError("n_bins", got=received, allowed="one of them", cure=suggestion)
    if not automatic:
        n_bins = bins_of_bandwidth(bandwidth)
    elif n_bins is not None:
        n_bins = check_bins("n_bins", n_bins)
    if grid_bins is not None:
        check_bins("grid_bins", grid_bins, least=2, most=MOST_GRID_BINS)
    return MaddSettings(n_bins=n_bins, grid_bins=grid_bins, **options)


def bins_of_bandwidth(bandwidth: Any) -> int:
    """Number of bins ⌊1/h⌋ for h in (0, 1]; 1/h within rounding of a whole number is that
    number.
    """
    inverse = 1 / check_number(
        "bandwidth",
        bandwidth,
        low=1 / MOST_BINS,
        high=1,
        allowed=f"'auto', or a bandwidth h from {1 / MOST_BINS:g} to 1",
        cure="0.05 makes 20 bins; n_bins=20 does the same",
    )
    nearest = round(inverse)
    if abs(inverse - nearest) <= _WHOLE_WITHIN * inverse:
        return nearest
    return int(inverse)


def _verdict_in_words(
    comparison: MaddComparison | LargestMadd, margin: float, *, adjusted: bool
) -> str:
    """The verdict in words, and why where the printed interval seems to say something else."""
    data_words = {
        "violated": f"the data show a distance above {margin:g}",
        "satisfied": f"the data show a distance below {margin:g} in these bins",
        "undecided": f"the data do not settle on which side of {margin:g} it lies",
    }[comparison.verdict]
    explanation = explain(
        comparison.confidence_interval,
        comparison.bounds,
        fair_range("gap", margin),
        comparison.verdict,
        adjusted=adjusted,
    )
    return f"{comparison.verdict}; {data_words}. {explanation}".strip()


@serialisable(eq=False, kw_only=True)
class MaddComparison(Comparison):
    """MADD of two groups; the order gives the sign of the contributions, MADD itself is symmetric.

    All that follows up to `contributions` is of one quantity, the distance δ = Σ_k |p0_k − p1_k| in
    the bins `edges`, which are held fixed.

    Attributes
    ----------
    estimate, statistic : float
        MADD = Σ_k |d0_k − d1_k| in these bins.
    null_mean : float
        What `estimate` would be on average if the groups were alike.
    bias_corrected, std_error : float
        2·estimate − mean of its bootstrap, floored at 0; standard deviation of the bootstrap.
    confidence_interval, bounds, verdict
        For δ, and on which side of the margin it lies, family-wise.
    lower_limit : float
        One-sided limit for δ, and so for the L1 distance of the densities, which is no smaller;
        that has no upper one.
    pvalue, mid_pvalue, pvalue_adjusted : float
        Of "both groups have one score distribution".
    edges : ndarray, shape (m - 1,)
        Inner edges of the m bins: quantiles of the pooled scores, or equally spaced where bins were
        asked for.
    atoms : ndarray, shape (m,), or None
        The distinct scores, where each is a bin.
    counts : ndarray, shape (2, m)
        Rows (or weight) of the group and of the reference in the bins.
    headline : float
        MADD as published: the mean over the stable stretch (`bandwidth`) of the searched `curve`,
        or in the equally wide bins asked for. Nothing above is about it, unless the bins are the
        same.
    headline_null_mean : float
        What `headline` would be on average if the groups were alike, its bandwidths held fixed; NaN
        under weights or clusters.
    headline_pvalue : float
        Of `headline`, where the search runs again in every permutation; NaN unless asked for.
    h_sup : float
        Order of the best bandwidth.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference",
        "h_sup",
        "lower_limit",
        "note",
        "null_mean",
        "bias_corrected",
        "mid_pvalue",
        "n_bins=grid_bins",
        "headline",
        "headline_null_mean",
        "headline_pvalue",
    )

    metric: str = "madd"
    null_mean: float = _NAN
    bias_corrected: float = _NAN
    lower_limit: float = 0.0
    mid_pvalue: float = _NAN
    edges: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    atoms: NDArray[np.float64] | None = None
    counts: NDArray[Any] = field(default_factory=lambda: np.zeros((2, 1), dtype=np.int64))
    headline: float = _NAN
    headline_null_mean: float = _NAN
    headline_pvalue: float = _NAN
    bandwidth: StableBandwidth | None = None
    curve: MaddCurve | None = None
    h_sup: float = _NAN
    tests: tuple[HypothesisTest, ...] = ()
    n_reference: int = 0
    method: str = "directional delta"

    @property
    def grid_bins(self) -> int:
        """Number of bins m that are judged."""
        return int(self.edges.size + 1)

    @property
    def shares(self) -> Floats:
        """Shares of the group and of the reference in the bins, shape (2, m); NaN without rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def contributions(self) -> Floats:
        """d_k − d_ref,k per bin, shape (m,); the absolute values sum to `estimate`."""
        share_group, share_reference = self.shares
        return np.asarray(share_group - share_reference)

    def _row(self, backend: str) -> dict[str, Any]:
        """Row of the tidy table; `h_low`, `h_high` and `n_searched` are of the headline."""
        stable_stretch = self.bandwidth
        search_columns = {"h_low": _NAN, "h_high": _NAN, "n_searched": 1}
        if stable_stretch is not None:
            search_columns = {
                "h_low": stable_stretch.low,
                "h_high": stable_stretch.high,
                "n_searched": stable_stretch.n_searched,
            }
        return {**super()._row(backend), **search_columns, **columns_of(self, LEVEL, *OF_VERDICT)}

    def _sentence(self, settings: MaddSettings) -> str:
        """The row in words: what is judged, then the headline."""
        group_words = f"{self.group} against {self.reference}"
        level_words = f"{100 * settings.confidence_level:g}%"
        if self.verdict == "insufficient evidence":
            return f"{group_words}: insufficient evidence. {self.note}".strip()
        lower_limit, upper_limit = self.confidence_interval
        judged_words = (
            f"{group_words}: MADD {self.estimate:.3f} in {self._bins_in_words(settings)} ({level_words} interval"
            f" {lower_limit:.3f} to {upper_limit:.3f}; alike groups would show {self.null_mean:.3f}):"
            f" {_verdict_in_words(self, settings.margin, adjusted=settings.adjust != 'none')}"
        )
        if settings.equal_width:
            return judged_words
        stable_stretch = self.bandwidth
        where_words = f"in {settings.n_bins} equal bins"
        if stable_stretch is not None:
            where_words = (
                f"for bandwidths from {stable_stretch.low:.3f} to {stable_stretch.high:.3f}"
            )
        alike_words = ""
        if math.isfinite(self.headline_null_mean):
            alike_words = f" (alike groups would show {self.headline_null_mean:.3f})"
        return f"{judged_words} Headline MADD, not judged: {self.headline:.3f} {where_words}{alike_words}."

    def _bins_in_words(self, settings: MaddSettings) -> str:
        number = f"{self.grid_bins} "
        if settings.equal_width:
            return number + ("bin" if self.grid_bins == 1 else "equal bins")
        if self.atoms is not None:
            return number + ("score" if self.grid_bins == 1 else "distinct scores")
        return f"{number}bins of the pooled scores"

    def bins_sentence(self) -> str:
        """Where the bins end."""
        group_words = f"Bins of {self.group} against {self.reference}"
        if self.atoms is not None:
            return f"{group_words}: the scores {', '.join(f'{bin_end:.4g}' for bin_end in self.atoms)}."
        return (
            f"{group_words} end at {', '.join(f'{bin_end:.4g}' for bin_end in self.edges)} and 1."
        )


@serialisable(eq=False, kw_only=True)
class LargestMadd(Comparison):
    """The largest MADD of several comparisons.

    `group`, `reference`: where it was found; `limited_by`: groups whose lower limit is the highest:
    a verdict "violated" rests on these; `estimate`: largest MADD in the bins that are judged;
    biased upwards, as every maximum of noisy values; `null_mean`: mean of the largest MADD over the
    permutations; `confidence_interval`, `bounds`: for the largest δ_m, from limits that hold for
    all comparisons at once (Bonferroni); `statistic`, `pvalue`, `mid_pvalue`: of "all groups have
    one score distribution", by the largest standardised MADD; `pvalue_adjusted`: another over a
    whole audit; `cells`, shape (groups with rows, cells): rows in the cells of the scores of all
    groups that the test rests on.
    """

    further: ClassVar[tuple[str, ...]] = ("null_mean", "mid_pvalue", LEVEL, *OF_VERDICT, "note")

    metric: str = "madd_max"
    limited_by: tuple[str, str]
    null_mean: float
    mid_pvalue: float
    cells: NDArray[np.int64] | None = None

    def _sentence(self, margin: float) -> str:
        """The largest MADD in words."""
        lower_limit, upper_limit = self.confidence_interval
        level_words = f"{100 * self.confidence_interval.confidence_level:g}%"
        sentence = (
            f"Largest MADD {self.estimate:.3f} ({level_words} interval "
            f"{lower_limit:.3f} to {upper_limit:.3f}), between "
            f"{self.group} and {self.reference}: {_verdict_in_words(self, margin, adjusted=False)}"
        )
        if self.verdict != "violated" or self.limited_by == (self.group, self.reference):
            return sentence
        return f"{sentence} It is the limit of {' against '.join(self.limited_by)} that shows it."


def _property_of_each(name: str, meaning: str) -> Any:
    """Property: an attribute of the only comparison, else an array over all (a tuple where no
    numbers).
    """

    def of(result: MaddResult) -> Any:
        values = [getattr(comparison, name) for comparison in result.comparisons]
        if len(values) == 1:
            return values[0]
        if isinstance(values[0], (int, float)):
            return np.array(values)
        return tuple(values)

    return property(of, doc=meaning)


@serialisable(eq=False)
class MaddResult(Result):
    """MADD of every comparison.

    `estimate`, `std_error`, `null_mean`, `bias_corrected`, `confidence_interval` (all of the
    distance in the bins that are judged), `pvalue` (of equal distributions), `verdict`, `headline`
    (MADD as published) and the attributes below are those of the only comparison, or an array or
    tuple in the order of `comparisons`. `largest` is there where there are several; `counts` are
    what pictures are drawn from.
    """

    comparisons: tuple[MaddComparison, ...]
    largest: LargestMadd | None
    settings: MaddSettings
    counts: GridCounts
    backend: str = "numpy"

    title: ClassVar[str] = "MADD: distance between the score distributions"
    _shown: ClassVar[tuple[str, ...]] = (
        "metric",
        "group",
        "reference",
        "estimate",
        "null_mean",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "n_bins",
        "verdict",
        "headline",
        "headline_null_mean",
        "n",
        "n_reference",
    )
    metric: ClassVar[str] = "madd"
    scale: ClassVar[str] = "distance"

    grid_bins = _property_of_each("grid_bins", "Number of bins that are judged.")
    edges = _property_of_each("edges", "Inner edges of the bins that are judged.")
    headline = _property_of_each(
        "headline", "MADD as published: the mean over the stable stretch, or in the bins asked for."
    )
    headline_null_mean = _property_of_each(
        "headline_null_mean", "What `headline` would be on average if the groups were alike."
    )
    bandwidth = _property_of_each(
        "bandwidth", "Stable stretch of bandwidths; None where the bins were given."
    )
    lower_limit = _property_of_each("lower_limit", "Lower confidence limit of the L1 distance.")
    null_mean = _property_of_each(
        "null_mean", "What `estimate` would be on average if the groups were alike."
    )
    bias_corrected = _property_of_each("bias_corrected", "Bias-corrected MADD.")
    mid_pvalue = _property_of_each("mid_pvalue", "Mid-p value.")
    h_sup = _property_of_each("h_sup", "Order of the best bandwidth.")

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: every comparison, then the largest."""
        table_rows = [comparison._row(self.backend) for comparison in self.comparisons]
        if self.largest is None:
            return table_rows
        return [*table_rows, self.largest._row(self.backend)]

    def sentences(self) -> list[str]:
        """One sentence per row of the tidy table."""
        sentences = [comparison._sentence(self.settings) for comparison in self.comparisons]
        if self.largest is None:
            return sentences
        return [*sentences, self.largest._sentence(self.settings.margin)]

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        usual_columns = super()._summary_columns(frame)
        summary_columns: list[str] = []
        for column in usual_columns:
            if column != "pvalue_adjusted" or len(self.comparisons) > 1:
                summary_columns.append(column)
        return summary_columns

    def notes(self) -> list[str]:
        """What was done, and what could not be computed."""
        settings = self.settings
        level_words = f"{100 * settings.confidence_level:g}%"
        sentences = [
            f"{level_words} intervals by the directional delta method, for the distance in the bins"
            f" named; verdicts by one-sided limits at that level against {settings.margin:g}."
            " null_mean: what alike groups would show."
        ]
        if not settings.equal_width:
            sentences = [
                (
                    "Bins are quantiles of the scores of both groups together, chosen without their"
                    " labels; equal scores stay together. The distance in them depends on the"
                    " shares that the groups have of all rows, and not on the scale of the scores."
                ),
                *sentences,
                f"headline, which nothing else in the row is about: {self._headline_in_words()}",
            ]
            printed_comparisons = []
            for comparison in self.comparisons:
                if comparison.grid_bins <= _MOST_PRINTED and not np.isnan(comparison.estimate):
                    printed_comparisons.append(comparison)
            if len(self.comparisons) <= _MOST_PRINTED:
                for comparison in printed_comparisons:
                    if comparison.grid_bins > 1:
                        sentences.append(comparison.bins_sentence())
        methods = dict.fromkeys(
            hypothesis_test.method
            for comparison in self.comparisons
            for hypothesis_test in comparison.tests
        )
        if methods:
            if settings.seed is None:
                seed_words = ""
            else:
                seed_words = f", seed {settings.seed}"
            resamples = f"{settings.n_resamples:,} resamples"
            if 2 * len(self.comparisons) / (1 - settings.confidence_level) > settings.n_resamples:
                resamples = f"at least {resamples}"
            sentences.append(f"p-values: {', '.join(methods)}, {resamples}{seed_words}.")
        if len(self.comparisons) > 1:
            comparison_words = {
                "all": "All pairs of groups are compared",
                "rest": "Each group is compared with all others",
                "reference": f"Each group is compared with {self.comparisons[0].reference}",
            }[settings.comparisons]
            adjustment_words = f"adjusted by {settings.adjust} over {settings.family}"
            if settings.chosen_by_number and settings.comparisons == "reference":
                comparison_words += (
                    f", since there are more than {FEW_GROUPS} groups (comparisons='all' takes all"
                    " pairs)"
                )
            verdict_words = f"verdicts hold together over the comparisons ({settings.adjust})"
            if settings.adjust == "none":
                if settings.family == MaddSettings.family:
                    adjustment_words = "not adjusted"
                verdict_words = "each verdict is of its comparison by itself"
            sentences.append(f"{comparison_words}; p-values {adjustment_words}; {verdict_words}.")
        largest_words = self.beside_the_largest()
        if largest_words:
            sentences.append(largest_words)
        sentences += self.counts.missing.sentences
        return [
            *sentences,
            *sorted({comparison.note for comparison in self.comparisons if comparison.note}),
        ]

    def _headline_in_words(self) -> str:
        if self.settings.n_bins is not None:
            return f"MADD in the {self.settings.n_bins} equal bins asked for."
        return (
            f"the mean of MADD over the stable stretch of h = 1 … 1/{self.settings.max_bins}"
            " (Algorithm 1)."
        )

    def beside_the_largest(self) -> str:
        """Why the largest MADD is judged unlike the comparison that attains it.

        Empty where it is not.
        """
        largest = self.largest
        if (
            largest is None
            or (own_comparison := self[largest.group, largest.reference]).verdict == largest.verdict
        ):
            return ""
        reason = {
            "violated": (
                "whichever is the largest in truth, it is no smaller than that of "
                f"{' against '.join(largest.limited_by)}, which lies above the margin"
            ),
            "undecided": (
                "it is judged over all comparisons at once, any of which may be the largest in "
                "truth, and needs more evidence"
            ),
        }.get(largest.verdict, "it is judged by limits that hold for all comparisons at once")
        return (
            f"The largest MADD ({largest.group} against {largest.reference}: {largest.estimate:.3f}) is"
            f" {largest.verdict}, that comparison by itself is {own_comparison.verdict}: {reason}."
        )

    def __getitem__(self, group: Any) -> MaddComparison:
        """The comparison of one group, or of the pair ``(group, reference)`` in either order."""
        if isinstance(group, tuple) and len(group) == 2:
            for comparison in self.comparisons:
                if {comparison.group, comparison.reference} == {
                    str(group_label) for group_label in group
                }:
                    return comparison
        return super().__getitem__(group)  # type: ignore[no-any-return]

    def contributions(self) -> pd.DataFrame:
        """What every bin adds, with sign.

        Columns: group, reference, bin (from 1), low, high (its ends; of a distinct score that
        score), share, share_reference, contribution: the difference of the shares; the absolute
        values sum to `estimate`.
        """
        frames = []
        for comparison in self.comparisons:
            bin_ends = np.concatenate([[0.0], comparison.edges, [1.0]])
            lower_ends = bin_ends[:-1]
            upper_ends = bin_ends[1:]
            if comparison.atoms is not None:
                lower_ends = comparison.atoms
                upper_ends = comparison.atoms
            share_group, share_reference = comparison.shares
            columns = {
                "group": comparison.group,
                "reference": comparison.reference,
                "bin": np.arange(1, comparison.grid_bins + 1),
                "low": lower_ends,
                "high": upper_ends,
                "share": share_group,
                "share_reference": share_reference,
                "contribution": comparison.contributions,
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def _with_adjusted(self, adjusted: NDArray[np.float64], family: str) -> MaddResult:
        """The same result with these adjusted p-values, one per row of the tidy table, and this
        family.
        """
        with_pvalues = zip(self.comparisons, adjusted.tolist(), strict=False)
        comparisons = tuple(
            replace(comparison, pvalue_adjusted=pvalue) for comparison, pvalue in with_pvalues
        )
        largest = self.largest and replace(self.largest, pvalue_adjusted=float(adjusted[-1]))
        return replace(
            self,
            comparisons=comparisons,
            largest=largest,
            settings=replace(self.settings, family=family),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["histograms", "curve", "contributions"] = "histograms",
    ) -> Axes:
        """Draw histograms of the groups, or of the first comparison MADD against the bandwidth or
        the bins' parts.
        """
        plot_functions = {
            "histograms": plot_histograms,
            "curve": plot_search,
            "contributions": plot_contributions,
        }
        check_choice("kind", kind, tuple(plot_functions))
        return plot_functions[kind](self, ax=ax)
