"""Which of many crossed subgroups is treated worse: all of them up to a depth, with the search
counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.reading.table import read_table
from fairstats.ground.registry import RATES, Metric, Rate, find_metric
from fairstats.ground.results import LEVEL, Comparison, Interval, Result, printed
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, tally
from fairstats.ground.verdict import Procedure
from fairstats.methods.rates.estimates import rate_in
from fairstats.numerics.rates import subgroups as kernels
from fairstats.numerics.rates.score import difference_score_statistic
from fairstats.plots.subgroups import draw_subgroups

#: How p-values are adjusted to a false discovery rate → the authors.
PROCEDURES = {"fdr_by": "Benjamini and Yekutieli", "fdr_bh": "Benjamini and Hochberg"}
#: Most values of one attribute: more are numbers that want cuts.
MOST_LEVELS = 50
#: Least rows of a subgroup where nothing is said: 1% of all, and no fewer than these.
_LEAST_ROWS = 20
#: Rows of a printed result.
_N_PRINTED = 20
#: Name of the reference.
REST = "the rest"
METHOD = "Clopper–Pearson, MOVER, largest of all subgroups"


@serialisable(kw_only=True)
class SubgroupSettings:
    """What was asked, all of it reported: as in `subgroups`; `seed`: of the draws."""

    attributes: tuple[str, ...]
    depth: int
    min_rows: int
    false_discovery_rate: float
    adjust: str
    confidence_level: float
    n_resamples: int
    seed: int | None = None


@serialisable(kw_only=True)
class SubgroupComparison(Comparison):
    """One subgroup against everybody else.

    Attributes
    ----------
    attributes, values : tuple of str
        What the subgroup fixes, and to which values.
    rate, rate_reference : float
        Rates of the subgroup and of the rest.
    shrunken_rate : float
        Posterior mean under a common prior of the subgroups of the same attributes.
    n_reference : int
        Rows of the rest that count for the rate.
    share : float
        Rows of the subgroup over all rows.
    pvalue_search : float
        p-value over all subgroups, the search counted.
    flagged : bool
        Whether the false discovery rate keeps it.
    """

    further: ClassVar[tuple[str, ...]] = (
        "n_reference",
        "share",
        "rate",
        "rate_reference",
        "shrunken_rate",
        "pvalue_search",
        "flagged",
        LEVEL,
    )

    attributes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    rate: float = math.nan
    rate_reference: float = math.nan
    shrunken_rate: float = math.nan
    n_reference: int = 0
    share: float = math.nan
    pvalue_search: float = math.nan
    flagged: bool = False


@serialisable(eq=False, kw_only=True)
class SubgroupResult(Result):
    """All subgroups up to a depth, each against the rest, in the order of their evidence.

    Attributes
    ----------
    metric, rate_name, words : str
        The metric, the rate that it compares, and its title.
    comparisons : tuple of SubgroupComparison
        The smallest p-value first.
    settings : SubgroupSettings
        Everything that was chosen.
    critical : float
        Critical value of the simultaneous limits: quantile of the largest |z| over all subgroups.
    n_rows : int
        Rows of the table.
    counts : Tally
        The crossed table.
    """

    metric: str
    rate_name: str
    words: str
    comparisons: tuple[SubgroupComparison, ...]
    settings: SubgroupSettings
    critical: float
    n_rows: int
    counts: Tally
    backend: str = "numpy"

    scale: ClassVar[str] = "difference"
    _shown: ClassVar[tuple[str, ...]] = (
        "group",
        "n",
        "rate",
        "rate_reference",
        "estimate",
        "ci_low",
        "ci_high",
        "pvalue",
        "pvalue_adjusted",
        "shrunken_rate",
        "flagged",
    )
    lacks: ClassVar[Mapping[str, str]] = {
        "verdict": "nothing is judged against a margin; .flagged and .certificate() say what is shown"
    }

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        return f"{self.words.partition(':')[0]}: subgroups against the rest"

    @property
    def flagged(self) -> tuple[SubgroupComparison, ...]:
        """The subgroups that the false discovery rate keeps."""
        result = []
        for comparison in self.comparisons:
            if comparison.flagged:
                result.append(comparison)
        return tuple(result)

    @property
    def worst(self) -> SubgroupComparison:
        """The subgroup with the most evidence of a disadvantage; its p-value counts the search.

        Of a rate that is to nobody's advantage: with the most evidence of a difference.
        """
        sign = self._sign_of_disadvantage
        disadvantaged = []
        for comparison in self.comparisons:
            if sign * comparison.estimate >= 0:
                disadvantaged.append(comparison)
        return (disadvantaged or list(self.comparisons))[0]

    @property
    def _sign_of_disadvantage(self) -> int:
        return {"higher": -1, "lower": 1}.get(RATES[self.rate_name].favourable, 0)

    def certificate(self) -> float:
        """The difference that no subgroup exceeds to its disadvantage, with the confidence level.

        The lowest of the simultaneous limits where a higher rate is favourable (so −.04 says that
        no subgroup of at least `min_rows` rows lies more than .04 below the rest), the highest
        where a lower one is, and the farthest from 0 where neither is.
        """
        lows = [comparison.confidence_interval.low for comparison in self.comparisons]
        highs = [comparison.confidence_interval.high for comparison in self.comparisons]
        if self._sign_of_disadvantage < 0:
            return min(lows)
        if self._sign_of_disadvantage > 0:
            return max(highs)
        return max(-min(lows), max(highs))

    def sentences(self) -> list[str]:
        """How many are flagged, the worst one, and the certificate."""
        settings = self.settings
        rate_title = RATES[self.rate_name].title
        worst = self.worst
        number = len(self.comparisons)
        certificate = self.certificate()
        side = {-1: "below", 1: "above"}.get(self._sign_of_disadvantage, "from")
        return [
            f"{len(self.flagged):,} of {number:,} subgroups are flagged at a false discovery rate of"
            f" {100 * settings.false_discovery_rate:g}% ({PROCEDURES[settings.adjust]}).",
            f"Most evidence of a disadvantage: {worst.group}, {rate_title} {worst.rate:.1%} against"
            f" {worst.rate_reference:.1%} of the rest; p = {worst.pvalue_search:.2g} over all"
            f" {number:,} subgroups that were searched.",
            f"With confidence {100 * settings.confidence_level:g}% no subgroup of at least"
            f" {settings.min_rows:,} rows has a {rate_title} more than {abs(certificate):.3f} {side}"
            " that of the rest.",
        ]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        settings = self.settings
        sentences = self.sentences()
        if len(self.comparisons) > _N_PRINTED:
            sentences.append(
                f"The {_N_PRINTED} with the smallest p-values are shown; to_frame() has all"
                f" {len(self.comparisons):,}."
            )
        return [
            *sentences,
            f"Subgroups of up to {settings.depth} of {', '.join(settings.attributes)}, of"
            f" {settings.min_rows:,} rows or more; p-values by Fisher's exact test, limits by"
            " Clopper and Pearson's of both rates (MOVER), simultaneous over all of them (largest"
            f" |z|, {settings.n_resamples:,} draws).",
            *self.counts.missing.sentences,
        ]

    def summary(self) -> str:
        """The first rows as text: title, table, notes."""
        shown = replace(self, comparisons=self.comparisons[:_N_PRINTED])
        frame = shown.to_frame()
        return printed(self.title, frame[shown._telling_columns(frame)], self.notes())

    def _repr_html_(self) -> str:
        shown = replace(self, comparisons=self.comparisons[:_N_PRINTED])
        return Result._repr_html_(shown)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the subgroups with the most evidence, each below the larger one that holds it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        """
        return draw_subgroups(self, ax)


def subgroups(
    data: Any,
    *,
    attributes: Sequence[str] | None = None,
    y_true: str | None = None,
    y_pred: str | None = None,
    metric: str = "demographic_parity_difference",
    depth: int = 3,
    min_rows: int | None = None,
    cuts: Mapping[str, int | Sequence[float]] | None = None,
    false_discovery_rate: float = 0.05,
    adjust: Literal["fdr_by", "fdr_bh"] = "fdr_by",
    confidence_level: float = 0.95,
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    n_resamples: int = 999,
    rng: Any = None,
) -> SubgroupResult:
    """Compare all subgroups of several attributes with everybody else, and count the search.

    A subgroup fixes the values of up to `depth` attributes. All come from one crossed table.

    Parameters
    ----------
    data : data frame, lazy table, path or Tally
        Rows, as in `tally`; or a tally of the crossed attributes, which then needs no columns.
    attributes : sequence of str
        Columns whose values make the subgroups; of a tally by default all.
    y_true, y_pred : str, optional
        Columns of outcomes and predictions, as the metric needs them.
    metric : str, default "demographic_parity_difference"
        A difference of one rate, as in `group_metric`: ``"equal_opportunity_difference"``,
        ``"fpr_difference"``, …
    depth : int, default 3
        Most attributes that a subgroup fixes.
    min_rows : int, optional
        Least rows of a subgroup. Default: 1% of all, at least 20.
    cuts : mapping, optional
        Numeric attribute → its inner cut points, or a number of groups of equal size:
        ``{"age": [25, 40, 60], "income": 4}``. A value at a cut lies above it.
    false_discovery_rate : float, default 0.05
        Of the flags: the expected share of flagged subgroups whose rate is that of the rest.
    adjust : {"fdr_by", "fdr_bh"}, default "fdr_by"
        Benjamini and Yekutieli, which holds under any dependence, as that of overlapping subgroups
        and of complements is; or Benjamini and Hochberg, which flags more and is proven for
        positively dependent tests only.
    confidence_level : float, default 0.95
        Of all limits together.
    pos_label, label_values, missing
        As in `disparate_impact`.
    n_resamples : int, default 999
        Draws of the largest |z|.
    rng : None, int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    SubgroupResult
        `flagged`, `worst`, `certificate()`, `comparisons`, `to_frame()`, `plot()`.

    Raises
    ------
    InputError
        Where the input cannot be used, under weights or clusters, and where no subgroup has enough
        rows.

    Notes
    -----
    p-values are twice the smaller tail of Fisher's exact test. Limits are recovered from those of
    Clopper and Pearson of both rates (MOVER) at the quantile of the largest |z| over all subgroups,
    which is simulated with one normal number per crossed cell; `pvalue_search` is the share of draws whose largest |z|
    reaches that of the subgroup. Shrunken rates are posterior means under a Beta prior of the
    subgroups of the same attributes, with their moments.

    References
    ----------
    .. [1] Benjamini, Yekutieli (2001). The control of the false discovery rate in multiple testing
       under dependency. Annals of Statistics 29, 1165–1188.
    .. [2] Cherian, Candès (2024). Statistical inference for fairness auditing. Journal of Machine
       Learning Research 25.

    Examples
    --------
    >>> import numpy as np, pandas as pd, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"sex": rng.choice(["f", "m"], 4000), "age": rng.integers(18, 80, 4000)})
    >>> hidden = (people["sex"] == "f") & (people["age"] >= 60)
    >>> people["hired"] = (rng.random(4000) < np.where(hidden, 0.25, 0.4)).astype(int)
    >>> found = fs.subgroups(people, attributes=["sex", "age"], y_pred="hired", cuts={"age": [40, 60]}, rng=1)
    >>> found.worst.group, round(found.worst.estimate, 3)
    ('sex = f & age = 60 or more', -0.156)
    """
    depth = checks.check_whole("depth", depth, low=1, cure="depth=3")
    checks.check_choice("adjust", adjust, tuple(PROCEDURES))
    checks.check_confidence_level(confidence_level)
    checks.check_number(
        "false_discovery_rate",
        false_discovery_rate,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        cure="0.05, say",
    )
    n_resamples = checks.check_whole("n_resamples", n_resamples, low=99, cure="n_resamples=999")
    generator, seed = checks.as_generator(rng)
    chosen_metric = _check_metric(metric)
    if isinstance(data, Tally):
        crossed = data.by(*(attributes or data.sensitive))
    else:
        crossed = _tally_rows(
            data,
            attributes,
            cuts,
            y_true=y_true,
            y_pred=y_pred,
            pos_label=pos_label,
            label_values=label_values,
            missing=missing,
        )
    table = _CrossedTable.of(crossed, RATES[chosen_metric.rates[0]], depth)
    least = _check_least_rows(min_rows, int(table.cell_rows.sum()))
    settings = SubgroupSettings(
        attributes=crossed.attributes,
        depth=depth,
        min_rows=least,
        false_discovery_rate=float(false_discovery_rate),
        adjust=adjust,
        confidence_level=float(confidence_level),
        n_resamples=n_resamples,
        seed=seed,
    )
    return _compare_subgroups(chosen_metric, crossed, table, settings, generator)


def _check_metric(name: str) -> Metric:
    """A difference of one rate that is successes among cases."""
    metric = find_metric(name) if isinstance(name, str) else None
    if (
        metric is None
        or metric.contrast != "difference"
        or len(metric.rates) != 1
        or RATES[metric.rates[0]].interval != "score"
    ):
        raise InputError(
            "metric",
            got=repr(name),
            allowed="a difference of one rate",
            cure='metric="equal_opportunity_difference", "fpr_difference", …',
        )
    return metric


def _check_least_rows(min_rows: int | None, n_rows: int) -> int:
    if min_rows is None:
        return max(_LEAST_ROWS, math.ceil(n_rows / 100))
    return checks.check_whole("min_rows", min_rows, low=1, cure="min_rows=100")


# ---------------------------------------------------------------- rows to a crossed table


def _tally_rows(
    data: Any,
    attributes: Sequence[str] | None,
    cuts: Mapping[str, int | Sequence[float]] | None,
    **columns: Any,
) -> Tally:
    """The crossed table of rows; numeric attributes with cuts are cut first."""
    are_names = (
        isinstance(attributes, Sequence)
        and not isinstance(attributes, str)
        and len(attributes) > 0
        and all(isinstance(name, str) for name in attributes)
    )
    checks.check_that(
        are_names,
        "attributes",
        attributes,
        "names of columns",
        'attributes=["sex", "age", "region"]',
    )
    if cuts is not None:
        checks.check_that(
            isinstance(cuts, Mapping),
            "cuts",
            cuts,
            "a mapping of column to cut points, or to a number of groups",
            'cuts={"age": [25, 40, 60], "income": 4}',
        )
        data = _cut_columns(data, cuts, attributes or ())
    return tally(data, sensitive_features=list(attributes or ()), **columns)


def _cut_columns(
    data: Any, cuts: Mapping[str, int | Sequence[float]], attributes: Sequence[str]
) -> Any:
    """The frame with intervals in place of numbers."""
    if isinstance(data, (str, Path)):
        data = read_table(data)
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            "data",
            got=type(data).__name__,
            allowed="a data frame, or the path of a file, where cuts= are asked for",
            cure="leave out cuts=, or pass a frame",
        )
    for name, points in cuts.items():
        if name not in attributes or name not in frame.columns:
            raise InputError(
                "cuts",
                got=repr(name),
                allowed=f"some of {list(attributes)}",
                cure="check the name",
            )
        labels = _cut_labels(name, frame[name].to_numpy(), points)
        frame = frame.with_columns(
            nw.new_series(name, labels, backend=nw.get_native_namespace(frame))
        )
    return frame.to_native()


def _cut_labels(name: str, values: Any, points: int | Sequence[float]) -> list[str | None]:
    """The interval of each value in words; None where it is missing."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            "cuts",
            got=f"cuts of {name!r}, which are no numbers",
            allowed="numeric columns",
            cure=f"leave {name!r} out of cuts=",
        ) from problem
    known = numbers[np.isfinite(numbers)]
    inner = np.empty(0)
    if isinstance(points, (int, np.integer)) and not isinstance(points, bool):
        n_groups = checks.check_whole("cuts", points, low=2, high=MOST_LEVELS, cure='{"age": 4}')
        if known.size:
            inner = np.unique(np.quantile(known, np.arange(1, n_groups) / n_groups))
    elif isinstance(points, (Sequence, np.ndarray)) and not isinstance(points, (str, bytes)):
        places = []
        for point in points:
            places.append(checks.check_number("cuts", point, cure='cuts={"age": [25, 40, 60]}'))
        inner = np.asarray(places, dtype=np.float64)
    increasing = inner.ndim == 1 and inner.size > 0 and bool(np.isfinite(inner).all())
    if not increasing or not (np.diff(inner) > 0).all():
        raise InputError(
            "cuts",
            got=f"{points!r} of {name!r}",
            allowed="increasing numbers, or a number of groups",
            cure='cuts={"age": [25, 40, 60], "income": 4}',
        )
    ends = [f"{end:g}" for end in inner.tolist()]
    words = [f"below {ends[0]}"]
    words += [f"{low} to below {high}" for low, high in itertools.pairwise(ends)]
    words += [f"{ends[-1]} or more"]
    place = np.searchsorted(inner, numbers, side="right")
    cut_labels: list[str | None] = []
    for position, is_known in zip(place.tolist(), np.isfinite(numbers).tolist(), strict=True):
        cut_labels.append(words[position] if is_known else None)
    return cut_labels


class _CrossedTable:
    """Counts of the crossed cells and of all their subgroups.

    `nodes`: crossings that lead to the subgroups; `names`: attributes and values of each subgroup;
    `rows`, `cases`, `successes`: of each subgroup; those with `cell_` before: of each cell;
    `total_successes`: of everybody.
    """

    def __init__(
        self,
        *,
        nodes: list[kernels.Node],
        level_names: list[list[str]],
        attributes: tuple[str, ...],
        depth: int,
        cell_rows: Floats,
        cell_cases: Floats,
        cell_successes: Floats,
    ) -> None:
        self.nodes = nodes
        self.level_names = level_names
        self.attributes = attributes
        self.depth = depth
        self.cell_rows = cell_rows
        self.cell_cases = cell_cases
        self.total_successes = float(cell_successes.sum())
        self.rows, self.cases, self.successes = (
            kernels.marginal_sums(nodes, values, depth)
            for values in (cell_rows, cell_cases, cell_successes)
        )

    @classmethod
    def of(cls, crossed: Tally, rate: Rate, depth: int) -> _CrossedTable:
        """The table of a tally; an InputError for weights, clusters and too many values."""
        cells = _cells_of(crossed, rate)
        rate = rate_in(cells, rate)
        codes = []
        level_names = []
        for position, name in enumerate(crossed.attributes):
            values = np.array([level[position] for level in crossed.levels], dtype=object)
            distinct, code = np.unique(values.astype(str), return_inverse=True)
            if distinct.size > MOST_LEVELS:
                raise InputError(
                    "attributes",
                    got=f"{name!r} with {distinct.size:,} values",
                    allowed=f"at most {MOST_LEVELS} values of an attribute",
                    cure=f"cuts={{{name!r}: 4}} where they are numbers",
                )
            codes.append(code.reshape(-1))
            level_names.append(distinct.tolist())
        return cls(
            nodes=kernels.lattice(np.column_stack(codes).astype(np.int64), depth),
            level_names=level_names,
            attributes=crossed.attributes,
            depth=depth,
            cell_rows=np.asarray(crossed.group_sizes, dtype=np.float64),
            cell_cases=np.asarray(cells.total(*rate.cases), dtype=np.float64),
            cell_successes=np.asarray(cells.total(*rate.successes), dtype=np.float64),
        )

    def names(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Attributes and values of every subgroup, in the order of the counts."""
        found = []
        for node in self.nodes:
            if len(node.attributes) > self.depth:
                continue
            attributes = tuple(self.attributes[position] for position in node.attributes)
            names_of_levels = [self.level_names[position] for position in node.attributes]
            for row in node.codes.tolist():
                values = [names[code] for names, code in zip(names_of_levels, row, strict=True)]
                found.append((attributes, tuple(values)))
        return found


def _cells_of(crossed: Tally, rate: Rate) -> CellCounts:
    """Cells of what the rate needs, of plain rows."""
    if crossed.cells is not None and crossed.cells.weighted:
        raise InputError(
            "data",
            got="weighted or clustered rows",
            allowed="independent rows of equal weight",
            cure="make the tally without weights and clusters",
        )
    if isinstance(crossed.cells, ConfusionCounts) or rate.name != "selection_rate":
        return crossed.confusion()
    return crossed.selection()


# ---------------------------------------------------------------- inference


def _compare_subgroups(
    metric: Metric,
    crossed: Tally,
    table: _CrossedTable,
    settings: SubgroupSettings,
    rng: np.random.Generator,
) -> SubgroupResult:
    """Evidence and simultaneous limits of all subgroups that are large enough."""
    total_cases = float(table.cell_cases.sum())
    kept = (table.rows >= settings.min_rows) & (table.cases > 0) & (table.cases < total_cases)
    if not kept.any():
        raise InputError(
            "min_rows",
            got=f"{settings.min_rows:,}, which no subgroup has beside others",
            allowed="the rows of at least one subgroup",
            cure="fewer rows, or other attributes",
        )
    total_successes = table.total_successes
    cases = table.cases[kept]
    successes = table.successes[kept]
    counts = np.column_stack([successes, cases, total_successes - successes, total_cases - cases])
    pvalues = kernels.exact_pvalues(
        successes.astype(np.int64), cases.astype(np.int64), int(total_successes), int(total_cases)
    )
    adjusted = adjust_pvalues(pvalues.tolist(), settings.adjust)
    largest = kernels.largest_scores(
        table.nodes, table.cell_cases, kept, table.depth, settings.n_resamples, rng
    )
    critical = float(np.quantile(largest, settings.confidence_level, method="higher"))
    low, high = kernels.exact_limits(
        successes, cases, total_successes - successes, total_cases - cases, critical
    )
    comparisons = _as_comparisons(
        metric,
        table,
        kept,
        counts,
        settings,
        pvalues=pvalues,
        adjusted=adjusted,
        searched=_search_pvalues(pvalues, largest),
        limits=(low, high),
    )
    return SubgroupResult(
        metric=metric.name,
        rate_name=metric.rates[0],
        words=metric.title,
        comparisons=tuple(sorted(comparisons, key=_order_of_evidence)),
        settings=settings,
        critical=critical,
        n_rows=int(table.cell_rows.sum()),
        counts=replace(crossed, scores=None, tails=None, distinct=None),
    )


def _search_pvalues(pvalues: Floats, largest: Floats) -> Floats:
    """p-values over all subgroups; beyond the draws by Bonferroni, where that says more."""
    searched = kernels.search_pvalues(kernels.normal_score(pvalues), largest)
    fewest = 1 / (1 + largest.size)
    by_bonferroni = np.minimum(pvalues * pvalues.size, 1.0)
    beyond = searched <= fewest * (1 + 1e-9)
    return np.where(beyond, np.minimum(searched, by_bonferroni), searched)


def _order_of_evidence(comparison: SubgroupComparison) -> tuple[float, int, str]:
    """The smallest p-value first; of equal ones, as of complements, the larger subgroup by name."""
    return float(f"{comparison.pvalue:.9e}"), len(comparison.attributes), comparison.group


def _as_comparisons(
    metric: Metric,
    table: _CrossedTable,
    kept: NDArray[np.bool_],
    counts: Floats,
    settings: SubgroupSettings,
    *,
    pvalues: Floats,
    adjusted: Floats,
    searched: Floats,
    limits: tuple[Floats, Floats],
) -> Iterable[SubgroupComparison]:
    """One comparison for every subgroup that is kept."""
    k, n, k_rest, n_rest = counts.T
    rate = k / n
    rate_rest = k_rest / n_rest
    std_errors = np.sqrt(rate * (1 - rate) / n + rate_rest * (1 - rate_rest) / n_rest)
    statistics = difference_score_statistic(k, n, k_rest, n_rest, 0.0)
    shrunken = _shrink_rates(table)[kept]
    shares = table.rows[kept] / table.cell_rows.sum()
    names = []
    for name, is_kept in zip(table.names(), kept.tolist(), strict=True):
        if is_kept:
            names.append(name)
    procedure = Procedure("Fisher's exact test, limits of Clopper and Pearson", "exact")
    for position, (attributes, values) in enumerate(names):
        pairs = zip(attributes, values, strict=True)
        interval = Interval(
            float(limits[0][position]),
            float(limits[1][position]),
            settings.confidence_level,
            METHOD,
        )
        yield SubgroupComparison(
            metric=metric.name,
            group=INTERSECTION.join(f"{attribute} = {value}" for attribute, value in pairs),
            reference=REST,
            attributes=attributes,
            values=values,
            estimate=float(rate[position] - rate_rest[position]),
            std_error=float(std_errors[position]),
            confidence_interval=interval,
            bounds=interval,
            statistic=float(statistics[position]),
            pvalue=float(pvalues[position]),
            pvalue_adjusted=float(adjusted[position]),
            pvalue_search=float(searched[position]),
            flagged=bool(adjusted[position] <= settings.false_discovery_rate),
            n=int(n[position]),
            n_reference=int(n_rest[position]),
            share=float(shares[position]),
            rate=float(rate[position]),
            rate_reference=float(rate_rest[position]),
            shrunken_rate=float(shrunken[position]),
            method=METHOD,
            procedure=procedure,
        )


def _shrink_rates(table: _CrossedTable) -> Floats:
    """Shrunken rates of all subgroups; those of the same attributes are one partition."""
    found = []
    begin = 0
    for node in table.nodes:
        if len(node.attributes) > table.depth:
            continue
        end = begin + node.codes.shape[0]
        found.append(kernels.shrunken_rates(table.successes[begin:end], table.cases[begin:end]))
        begin = end
    return np.concatenate(found)
