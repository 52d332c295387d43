"""Which of many crossed subgroups is treated worse: all of them up to a depth, with the search
counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats, SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.progress import under_way
from fairstats.ground.registry import RATES, Metric, find_metric
from fairstats.ground.results import LEVEL, Comparison, Interval, Result, printed
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally
from fairstats.ground.verdict import Procedure
from fairstats.methods.rates.crossing import CrossedTable, honest_leaves, name_of, tally_rows
from fairstats.numerics.rates import subgroups as kernels
from fairstats.numerics.rates.pooling import pool_rate
from fairstats.numerics.rates.score import difference_score_statistic
from fairstats.plots.subgroups import draw_subgroups

#: How p-values are adjusted to a false discovery rate → the authors.
PROCEDURES = {"fdr_by": "Benjamini and Yekutieli", "fdr_bh": "Benjamini and Hochberg"}
#: Which subgroups are looked at → in words.
SEARCHES = {"all": "every crossing", "tree": "leaves of a tree"}
#: How rates are drawn together → in words.
SHRINKAGES = {
    "conjugate": "a Beta prior of each partition with its moments",
    "um_hierarchical": "a Beta prior of each partition with unknown mean and concentration",
}
#: Median of the concentration a priori, and standard deviation of its logarithm, as in
#: `um_hierarchical`.
CONCENTRATION = (5.0, 1.5)
#: Least rows of a subgroup where nothing is said: 1% of all, and no fewer than these.
_LEAST_ROWS = 20
#: Rows of a printed result.
_N_PRINTED = 20
#: Name of the reference.
REST = "the rest"
METHOD = "Clopper–Pearson, MOVER, largest of all subgroups"


@serialisable(kw_only=True)
class SubgroupSettings:
    """What was asked, all of it reported: as in `subgroups`; `seed`: of the draws; `cuts`: where
    numbers were cut, in words.
    """

    attributes: tuple[str, ...]
    depth: int
    min_rows: int
    false_discovery_rate: float
    adjust: str
    confidence_level: float
    n_resamples: int
    seed: int | None = None
    search: str = "all"
    shrinkage: str = "conjugate"
    cuts: dict[str, str] = field(default_factory=dict)


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
        The crossed table; of a tree its leaves.
    n_fitting : int
        Rows that fitted the tree, which are not in the table; 0 without one.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "old": [0, 0, 1, 1] * 100})
    >>> people["hired"] = [1, 1, 0, 1, 1, 0, 0, 1] * 50
    >>> result = fs.subgroups(people, attributes=["sex", "old"], y_pred="hired", rng=1)
    >>> len(result), result.n_rows, result.worst.group, result.worst.n
    (8, 400, 'sex = f & old = 1', 100)
    """

    metric: str
    rate_name: str
    words: str
    comparisons: tuple[SubgroupComparison, ...]
    settings: SubgroupSettings
    critical: float
    n_rows: int
    counts: Tally
    n_fitting: int = 0
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
        kind = "leaves of a tree" if self.settings.search == "tree" else "subgroups"
        rate = RATES[self.rate_name].title
        return f"{rate[:1].upper()}{rate[1:]}: {kind} against the rest"

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
        """How many are flagged and to whose disadvantage, the worst one, and the certificate."""
        settings = self.settings
        rate_title = RATES[self.rate_name].title
        worst = self.worst
        number = len(self.comparisons)
        certificate = self.certificate()
        side = {-1: "below", 1: "above"}.get(self._sign_of_disadvantage, "from")
        noun = "subgroups"
        covered = f"no subgroup of at least {settings.min_rows:,} rows"
        if settings.search == "tree":
            noun = "leaves"
            covered = "no leaf"
        not_flagged = "" if worst.flagged else ", not flagged"
        evidence = "a disadvantage" if self._sign_of_disadvantage else "a difference"
        return [
            self._sentence_of_flags(noun),
            f"Most evidence of {evidence}: {worst.group}, {rate_title} {worst.rate:.1%} against"
            f" {worst.rate_reference:.1%} of the rest; p = {worst.pvalue_search:.2g} over all"
            f" {number:,} {noun} that were searched{not_flagged}.",
            f"With confidence {100 * settings.confidence_level:g}% {covered} has a {rate_title} more"
            f" than {abs(certificate):.3f} {side} that of the rest.",
        ]

    def _sentence_of_flags(self, noun: str) -> str:
        """How many are flagged, and in which direction: a flag alone is no disadvantage."""
        flagged = self.flagged
        settings = self.settings
        beginning = f"{len(flagged):,}" if flagged else "None"
        are = "is" if len(flagged) <= 1 else "are"
        text = (
            f"{beginning} of {len(self.comparisons):,} {noun} {are} flagged at a false discovery rate"
            f" of {100 * settings.false_discovery_rate:g}% ({PROCEDURES[settings.adjust]})"
        )
        # of a rate that is to nobody's advantage the lower side comes first
        sign = self._sign_of_disadvantage or -1
        first = [comparison for comparison in flagged if sign * comparison.estimate > 0]
        second = [comparison for comparison in flagged if sign * comparison.estimate <= 0]
        parts = []
        if first:
            parts.append(self._side_in_words(len(first), "disadvantage", "lower"))
        if second:
            # the next sentence names the strongest of the first side alone
            side = self._side_in_words(len(second), "advantage", "higher")
            parts.append(f"{side} (most evidence: {second[0].group})")
        if not parts:
            return f"{text}."
        return f"{text}: {', '.join(parts)}."

    def _side_in_words(self, number: int, consequence: str, direction: str) -> str:
        """Some flagged subgroups, and what their flag means: "2 to their advantage"."""
        if self._sign_of_disadvantage:
            whose = "its" if number == 1 else "their"
            return f"{number:,} to {whose} {consequence}"
        return f"{number:,} with a {direction} {RATES[self.rate_name].title} than the rest"

    def notes(self) -> list[str]:
        """Sentences below the table."""
        settings = self.settings
        sentences = self.sentences()
        if len(self.comparisons) > _N_PRINTED:
            sentences.append(
                f"The {_N_PRINTED} with the smallest p-values are shown; to_frame() has all"
                f" {len(self.comparisons):,}."
            )
        searched = (
            f"Subgroups of up to {settings.depth} of {', '.join(settings.attributes)}, of"
            f" {settings.min_rows:,} rows or more"
        )
        if settings.search == "tree":
            searched = (
                f"Leaves of a tree of up to {settings.depth} splits by"
                f" {', '.join(settings.attributes)}, fitted to {self.n_fitting:,} rows drawn at"
                f" random and judged by the other {self.n_rows:,} (honest splitting)"
            )
        return [
            *sentences,
            f"{searched}; p-values by Fisher's exact test, limits by"
            " Clopper and Pearson's of both rates (MOVER), simultaneous over all of them (largest"
            f" |z|, {settings.n_resamples:,} draws). Shrunken rates under"
            f" {SHRINKAGES[settings.shrinkage]}.",
            *(f"{name} is cut at {points}." for name, points in settings.cuts.items()),
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
    search: Literal["all", "tree"] = "all",
    shrinkage: Literal["conjugate", "um_hierarchical"] = "conjugate",
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> SubgroupResult:
    """Compare all subgroups of several attributes with everybody else, and count the search.

    A subgroup fixes the values of up to `depth` attributes. All come from one crossed table. Or,
    with ``search="tree"``, the leaves of a tree that one half of the rows fits and the other half
    judges.

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
    search : {"all", "tree"}, default "all"
        Every crossing; or the leaves of a classification tree of at most `depth` splits, fitted to
        a random half of the rows (`min_rows`: least cases of a leaf there), whose numbers are all of
        the other half. It cuts numbers itself (of more than 50 values between 32 groups of equal
        size, or at `cuts`) and tests fewer subgroups, each with half of the rows.
    shrinkage : {"conjugate", "um_hierarchical"}, default "conjugate"
        What the shrunken rates rest on: a Beta prior with the moments of the rates of a partition,
        or the model of `um_hierarchical`, of which mean and concentration are integrated; of a
        partition into two its prior of the concentration (median 5 rows) decides.
    n_resamples : int, default 999
        Draws of the largest |z|.
    rng : None, int or numpy.random.Generator
        Seed of the draws, and of the halves.

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
    subgroups of the same attributes, which are a partition; leaves are one.

    References
    ----------
    .. [1] Benjamini, Yekutieli (2001). The control of the false discovery rate in multiple testing
       under dependency. Annals of Statistics 29, 1165–1188.
    .. [2] Cherian, Candès (2024). Statistical inference for fairness auditing. Journal of Machine
       Learning Research 25.
    .. [3] Athey, Imbens (2016). Recursive partitioning for heterogeneous causal effects. PNAS 113,
       7353–7360.

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

    A tree finds the cut by itself, on one half of the rows:

    >>> leaves = fs.subgroups(people, attributes=["sex", "age"], y_pred="hired", search="tree", rng=1)
    >>> leaves.n_fitting, leaves.worst.group.startswith("sex = f & age = ")
    (2000, True)
    """
    depth = checks.check_whole("depth", depth, low=1, cure="depth=3")
    checks.check_choice("adjust", adjust, tuple(PROCEDURES))
    checks.check_choice("search", search, tuple(SEARCHES))
    checks.check_choice("shrinkage", shrinkage, tuple(SHRINKAGES))
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
    where_cut: dict[str, str] = {}
    if isinstance(data, Tally):
        crossed = data.by(*(attributes or data.sensitive))
    else:
        crossed, where_cut = tally_rows(
            data,
            attributes,
            cuts,
            for_tree=search == "tree",
            y_true=y_true,
            y_pred=y_pred,
            pos_label=pos_label,
            label_values=label_values,
            missing=missing,
        )
    rate = RATES[chosen_metric.rates[0]]
    names = crossed.attributes
    least = _check_least_rows(min_rows, crossed.n)
    n_fitting = 0
    if search == "tree":
        n_rows = crossed.n
        crossed, leaves = honest_leaves(crossed, rate, depth=depth, least=least, rng=generator)
        n_fitting = n_rows - crossed.n
        table = CrossedTable.of(crossed, rate, 1, leaves)
    else:
        table = CrossedTable.of(crossed, rate, depth)
    settings = SubgroupSettings(
        attributes=names,
        depth=depth,
        min_rows=least,
        false_discovery_rate=float(false_discovery_rate),
        adjust=adjust,
        confidence_level=float(confidence_level),
        n_resamples=n_resamples,
        seed=seed,
        search=search,
        shrinkage=shrinkage,
        cuts=where_cut,
    )
    result = _compare_subgroups(chosen_metric, crossed, table, settings, generator)
    return replace(result, n_fitting=n_fitting)


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


# ---------------------------------------------------------------- inference


@under_way("subgroups")
def _compare_subgroups(
    metric: Metric,
    crossed: Tally,
    table: CrossedTable,
    settings: SubgroupSettings,
    rng: np.random.Generator,
) -> SubgroupResult:
    """Evidence and simultaneous limits of all subgroups that are large enough."""
    total_cases = float(table.cell_cases.sum())
    is_judged = (table.cases > 0) & (table.cases < total_cases)
    if settings.search == "all":
        is_judged &= table.rows >= settings.min_rows
    if not is_judged.any():
        raise InputError(
            "min_rows",
            got=f"{settings.min_rows:,}, which no subgroup has beside others",
            allowed="the rows of at least one subgroup",
            cure="fewer rows, or other attributes",
        )
    total_successes = table.total_successes
    cases = table.cases[is_judged]
    successes = table.successes[is_judged]
    counts = np.column_stack([successes, cases, total_successes - successes, total_cases - cases])
    pvalues = kernels.exact_pvalues(
        successes.astype(np.int64), cases.astype(np.int64), int(total_successes), int(total_cases)
    )
    adjusted = adjust_pvalues(pvalues.tolist(), settings.adjust)
    largest = kernels.largest_scores(
        table.nodes, table.cell_cases, is_judged, table.depth, settings.n_resamples, rng
    )
    critical = float(np.quantile(largest, settings.confidence_level, method="higher"))
    low, high = kernels.exact_limits(
        successes, cases, total_successes - successes, total_cases - cases, critical
    )
    comparisons = _as_comparisons(
        metric,
        table,
        is_judged,
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
    table: CrossedTable,
    is_judged: NDArray[np.bool_],
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
    shrunken = _shrink_rates(table, settings.shrinkage)[is_judged]
    shares = table.rows[is_judged] / table.cell_rows.sum()
    names = []
    for name, is_kept in zip(table.names(), is_judged.tolist(), strict=True):
        if is_kept:
            names.append(name)
    procedure = Procedure("Fisher's exact test, limits of Clopper and Pearson", "exact")
    for position, (attributes, values) in enumerate(names):
        interval = Interval(
            low=float(limits[0][position]),
            high=float(limits[1][position]),
            confidence_level=settings.confidence_level,
            method=METHOD,
        )
        yield SubgroupComparison(
            metric=metric.name,
            group=name_of(attributes, values),
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


def _shrink_rates(table: CrossedTable, shrinkage: str) -> Floats:
    """Shrunken rates of all subgroups; those of the same attributes are one partition."""
    shrunk = []
    begin = 0
    for node in table.nodes:
        if len(node.attributes) > table.depth:
            continue
        end = begin + node.codes.shape[0]
        successes = table.successes[begin:end]
        cases = table.cases[begin:end]
        if shrinkage == "um_hierarchical":
            shrunk.append(pool_rate(successes, cases, CONCENTRATION).means())
        else:
            shrunk.append(kernels.shrunken_rates(successes, cases))
        begin = end
    return np.concatenate(shrunk)
