"""Any metric `f(y_true, y_pred[, sample_weight])` by group: bootstrap and permutation test."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    as_generator,
    check_choice,
    check_that,
    check_whole,
)
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.results import HypothesisTest
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.methods.rates.numbers.compare import OVERALL, REST, Side, compare_numbers
from fairstats.methods.rates.numbers.options import check_contrast, make_number_settings
from fairstats.methods.rates.numbers.result import (
    FEW_UNITS,
    NumberDifferenceResult,
    NumberRatioResult,
)
from fairstats.methods.rates.setup import POOLED
from fairstats.numerics.means.hall import Statistics
from fairstats.numerics.means.resampling import (
    AgainstAll,
    Draws,
    Rows,
    Units,
    draw_metric,
    studentised_permutation_test,
)

STUDENTISED = "studentised bootstrap"
SYMMETRIC = "studentised bootstrap, at least symmetric"
BCA = "BCa bootstrap"
#: Names of the methods, as they are asked for.
BOOTSTRAPS = {"studentised": STUDENTISED, "bca": BCA}
PERMUTATION = "studentised permutation test"
#: Rows, or clusters, that a group needs: fewer have not shown their law. The mean of 20 exponential
#: rows beside 200 erred in .080 on one side at a nominal .05.
MIN_UNITS = 40
#: Share of resamples in which a metric may be undefined.
LARGEST_LOST = 0.05
#: What a metric may raise where rows do not define it: one label only, a division by 0.
_UNDEFINED = (ValueError, ArithmeticError)


#: Draws of nothing, for a contrast that was drawn as one.
NO_DRAWS = Draws(
    value=0.0, variance=0.0, values=np.zeros(1), variances=np.zeros(1), changes=np.zeros(0)
)


def takes_rows(metric: Any) -> bool:
    """Whether a function is one of labels and predictions, not of tp, fp, fn, tn."""
    try:
        parameters = list(inspect.signature(metric).parameters.values())
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [each for each in parameters if each.kind in kinds]
    # scikit-learn's log_loss has a second argument with a default
    if len(positional) >= 2 and positional[0].name == "y_true":
        return True
    needed = [each for each in positional if each.default is each.empty]
    takes_any_number = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return len(needed) == 2 and not takes_any_number


def name_of_metric(metric: Any) -> str:
    """Its name; of a partial function that of the function."""
    named = getattr(metric, "func", metric)
    return getattr(named, "__name__", type(named).__name__).strip("<>")


@dataclass(frozen=True, eq=False)
class CalledMetric:
    """A function of the user's, asked about rows by their positions."""

    function: Callable[..., Any]
    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    weight: Floats | None

    def __call__(self, rows: Rows) -> float:
        """Its value, NaN where the rows do not define it."""
        try:
            return self.ask(rows)
        except _UNDEFINED:
            return math.nan

    def ask(self, rows: Rows) -> float:
        """Its value, or whatever it raises."""
        options = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        value = np.asarray(self.function(self.y_true[rows], self.y_pred[rows], **options))
        if value.ndim != 0 or value.dtype.kind not in "biuf":
            raise InputError(
                "metric",
                got=f"{name_of_metric(self.function)}, which returned {value!r:.60}",
                allowed="a function that returns one number",
                cure="functools.partial(metric, average='macro'), say",
            )
        return float(value)


@dataclass(frozen=True, eq=False)
class BootstrapContrast:
    """Difference or ratio of a metric of two groups, by draws of both.

    `group`, `reference`: the draws, of ratios of logarithms; `studentised`: by
    T* = (d* − d)/s*, else BCa; `symmetric`: on each side by the wider of T* and of |T*|.
    """

    group: Draws
    reference: Draws
    logarithms: bool
    studentised: bool
    symmetric: bool = False

    @property
    def difference(self) -> float:
        """Of the values, or of their logarithms."""
        return self.group.value - self.reference.value

    @property
    def _error(self) -> float:
        return math.sqrt(self.group.variance + self.reference.variance)

    @property
    def estimate(self) -> float:
        """The difference or ratio."""
        return math.exp(self.difference) if self.logarithms else self.difference

    @property
    def std_error(self) -> float:
        """By the resamples; of ratios by the delta method."""
        return self._error * self.estimate if self.logarithms else self._error

    def _sorted_draws(self) -> Floats:
        """Draws of T, or of the difference, in order."""
        draws = self.group.values - self.reference.values
        if self.studentised:
            with np.errstate(divide="ignore", invalid="ignore"):
                variances = self.group.variances + self.reference.variances
                draws = (draws - self.difference) / np.sqrt(variances)
        return np.sort(draws[~np.isnan(draws)])

    def _laws(self) -> list[Floats]:
        """Draws of T, and of T with either sign, in order; of which limits are the widest."""
        draws = self._sorted_draws()
        if not self.symmetric:
            return [draws]
        return [draws, np.sort(np.concatenate([draws, -draws]))]

    def _shape(self, draws: Floats) -> tuple[float, float]:
        """Bias z₀ and acceleration a of BCa (Efron 1987)."""
        below = (draws < self.difference).mean() + (draws == self.difference).mean() / 2
        within = 1 / (draws.size + 1)
        bias = normal_quantile(min(max(float(below), within), 1 - within))
        changes = np.concatenate([self.group.changes, -self.reference.changes])
        squares = float(np.square(changes).sum())
        acceleration = float((changes**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
        return bias, acceleration

    def statistics(self, value: float) -> Statistics:
        """Of H0: the contrast has this value, as the z at which a limit lies there."""
        if self.logarithms:
            value = math.log(value)
        distance = self.difference - value
        plain = distance / self._error
        if self.studentised:
            laws = self._laws()
            above = min(-normal_quantile(_share_beyond(-law, -plain)) for law in laws)
            below = max(normal_quantile(_share_beyond(law, plain)) for law in laws)
            return Statistics(above=above, below=below, plain=plain)
        draws = self._sorted_draws()
        bias, acceleration = self._shape(draws)
        at_least = 1 - _share_beyond(-draws, -value)
        at_most = _share_beyond(draws, value)
        ends = []
        for share in (at_most, at_least):
            shifted = normal_quantile(share) - bias
            ends.append(bias - shifted / (1 + acceleration * shifted))
        # the draws at or below the value count for it on either side
        return Statistics(above=min(ends), below=max(ends), plain=plain)

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at Φ(z); open where there are too few draws to say."""
        if self.studentised:
            laws = self._laws()
            low = self.difference - max(_quantile(law, z) for law in laws) * self._error
            high = self.difference - min(_quantile(law, -z) for law in laws) * self._error
        else:
            draws = self._sorted_draws()
            bias, acceleration = self._shape(draws)
            low, high = (
                _quantile(draws, bias + (bias + end) / (1 - acceleration * (bias + end)))
                for end in (-z, z)
            )
        if self.logarithms:
            return math.exp(low), math.exp(high) if high < math.log(1e300) else math.inf
        return low, high


def _share_beyond(draws: Floats, value: float) -> float:
    """(1 + number of draws at most this value)/(K + 1), which is never 0, and below 1."""
    n_at_most = int((draws <= value).sum())
    return min(1 + n_at_most, draws.size) / (draws.size + 1)


def _quantile(draws: Floats, z: float) -> float:
    """The draw below which a share Φ(z) lies, ±∞ beyond the last: (K + 1)·Φ(z) in order."""
    place = (draws.size + 1) * normal_cdf(z)
    if place < 1:
        return -math.inf
    if place > draws.size:
        return math.inf
    lower = int(place)
    upper = min(lower + 1, draws.size)
    return float(draws[lower - 1] + (place - lower) * (draws[upper - 1] - draws[lower - 1]))


@dataclass(frozen=True, eq=False)
class MetricValues:
    """A metric of every group, by draws of its rows or clusters."""

    groups: tuple[str, ...]
    units: tuple[Units, ...]
    draws: tuple[Draws, ...]
    failures: tuple[str, ...]
    clustered: bool
    studentised: bool

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return STUDENTISED if self.studentised else BCA

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return self.method

    def value(self, position: int) -> float:
        """The metric of a group."""
        return self.draws[position].value

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """Limits of a group's own value."""
        if self.why_not(position, ratio=False):
            return math.nan, math.nan
        alone = BootstrapContrast(
            group=self.draws[position],
            reference=NO_DRAWS,
            logarithms=False,
            studentised=self.studentised,
        )
        return alone.limits(z) if alone.std_error > 0 else (math.nan, math.nan)

    def variances(self) -> Floats:
        """Variance of every group's value."""
        return np.array([draws.variance for draws in self.draws])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few units, or a metric that is not defined."""
        name = self.groups[position]
        n_units = self.units[position].size
        if n_units < MIN_UNITS:
            kind = "clusters" if self.clustered else "rows"
            return f"{name} has {n_units} {kind}, and a bootstrap needs {MIN_UNITS}."
        if self.failures[position]:
            return f"{name}: {self.failures[position]}"
        draws = self.draws[position]
        lost = float((~np.isfinite(draws.values)).mean())
        if draws.variances.size:
            lost = max(lost, float((~np.isfinite(draws.variances)).mean()))
        if ratio:
            lost = max(lost, float((~(draws.values > 0)).mean()))
        if ratio and not draws.value > 0:
            return f"{name} has the value {draws.value:.4g}, of which a ratio has no meaning."
        if lost > LARGEST_LOST:
            return f"{name}: the metric has no value in {lost:.0%} of resamples of so few rows."
        if not np.isfinite(draws.changes).all():
            return f"{name}: the metric has no value without some of the rows."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> BootstrapContrast:
        """Of two groups, which are drawn independently of each other."""
        both = self.draws[group], self.draws[reference]
        if ratio:
            both = _logarithms(both[0]), _logarithms(both[1])
        return BootstrapContrast(*both, logarithms=ratio, studentised=self.studentised)


def _logarithms(draws: Draws) -> Draws:
    """Draws of the logarithm, its variance by the delta method."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(draws.values > 0, draws.values, math.nan)
        variances = draws.variances
        if variances.size:
            variances = variances / values**2
        return Draws(
            value=math.log(draws.value),
            variance=draws.variance / draws.value**2,
            values=np.log(values),
            variances=variances,
            changes=draws.changes / draws.value,
        )


def compare_called_metric(
    metric: Callable[..., Any],
    y_true: Any,
    y_pred: Any,
    *,
    name: str,
    contrast: str | None,
    method: str | None,
    reference: Hashable | None,
    setting_options: Mapping[str, Any],
    row_options: Mapping[str, Any],
    n_resamples: int,
    n_permutations: int,
    rng: SeedOrGenerator,
) -> NumberDifferenceResult | NumberRatioResult:
    """Compare a function of labels and predictions between groups.

    Parameters
    ----------
    metric, name : callable and str
        The function and what it is called.
    y_true, y_pred : array-like
        What it is given, row by row.
    contrast, method, reference, setting_options, row_options, n_resamples, n_permutations, rng
        Arguments of `group_metric`.
    """
    ratio = check_contrast(contrast or "difference")
    check_choice("method", method, (None, *BOOTSTRAPS), cure="None is the studentised bootstrap")
    kind = setting_options["comparisons"]
    check_choice("comparisons", kind, ("reference", "all", *POOLED))
    if kind in POOLED:
        _check_pooled(kind, reference, setting_options["simultaneous"])
    check_whole("n_resamples", n_resamples, low=199)
    check_whole("n_permutations", n_permutations, low=0)
    settings = make_number_settings(ratio=ratio, **setting_options)
    outcomes, labels = _read_rows(y_true, y_pred, row_options)
    if outcomes.weight is not None and "sample_weight" not in _names_of_arguments(metric):
        raise InputError(
            "sample_weight",
            got=f"weights for {name}, which takes none",
            allowed="a metric with an argument sample_weight",
            cure="a function metric(y_true, y_pred, sample_weight)",
        )
    generator, seed = as_generator(rng)
    called = CalledMetric(metric, *labels, outcomes.weight)
    units = _units_of(outcomes)
    studentised = method != "bca"
    draws, failures = _draw_groups(called, units, n_resamples, generator, studentised=studentised)
    values = MetricValues(
        groups=outcomes.groups.labels,
        units=units,
        draws=draws,
        failures=failures,
        clustered=outcomes.cluster is not None,
        studentised=studentised,
    )
    moments = MomentCounts._from_outcomes(outcomes, _numbers_of(*labels))
    result = compare_numbers(
        values,
        moments,
        replace(settings, n_resamples=n_resamples, seed=seed),
        reference,
        metric=name,
        words=f"{name}: {'ratio' if ratio else 'difference'} between groups",
        column=moments.columns[0],
        ratio=ratio,
        remarks=_remarks_on_few(values),
        pooled=_pooled_sides(
            kind, called, values, settings.confidence_level, n_resamples, generator, ratio=ratio
        ),
    )
    if n_permutations == 0:
        return result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _with_permutation_tests(result, called, values, n_permutations, generator, ratio)


def _check_pooled(kind: str, reference: Hashable | None, simultaneous: str | None) -> None:
    """Raise where comparisons with pooled groups are asked with what they do not have."""
    nothing = "None: each group is compared with pooled rows"
    check_that(reference is None, "reference", reference, nothing)
    allowed = f'None or "bonferroni" with comparisons="{kind}", whose groups overlap'
    check_that(simultaneous != "max-z", "simultaneous", simultaneous, allowed, '"bonferroni"')


def _pooled_sides(
    kind: str,
    called: CalledMetric,
    values: MetricValues,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    ratio: bool,
) -> dict[int, Side] | None:
    """What every group is compared with where groups are pooled; None where they are not."""
    if kind not in POOLED:
        return None
    z = normal_quantile((1 + level) / 2)
    sides = {}
    everyone = _together(values.units)
    for group in range(len(values.groups)):
        pooled = everyone
        if kind == "rest":
            pooled = _together(values.units[:group] + values.units[group + 1 :])
        draws, failures = _draw_groups(
            called, [pooled], n_resamples, rng, studentised=values.studentised
        )
        of_pooled = replace(
            values,
            groups=(REST if kind == "rest" else OVERALL,),
            units=(pooled,),
            draws=draws,
            failures=failures,
        )
        why_not = values.why_not(group, ratio=ratio) or of_pooled.why_not(0, ratio=ratio)
        contrast = None
        if not why_not and kind == "rest":
            both = values.draws[group], draws[0]
            if ratio:
                both = _logarithms(both[0]), _logarithms(both[1])
            contrast = BootstrapContrast(*both, ratio, values.studentised)
        elif not why_not:
            contrast, why_not = _contrast_with_all(
                called, values, group, n_resamples, rng, ratio=ratio
            )
        sides[group] = Side(
            name=of_pooled.groups[0],
            n=int(pooled.rows.size),
            value=of_pooled.value(0),
            interval=of_pooled.interval(0, z),
            positions=(),
            contrast=contrast,
            why_not=why_not,
        )
    return sides


def _together(groups: Sequence[Units]) -> Units:
    """The units of several groups."""
    together = groups[0]
    for units in groups[1:]:
        together = together.beside(units)
    return together


def _contrast_with_all(
    called: CalledMetric,
    values: MetricValues,
    group: int,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    ratio: bool,
) -> tuple[BootstrapContrast | None, str]:
    """A group and everybody, drawn together; or why there is none."""
    present = [place for place, units in enumerate(values.units) if units.size]
    against = AgainstAll(
        metric=called,
        groups=tuple(values.units[place] for place in present),
        group=present.index(group),
        logarithms=ratio,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = against.draw(n_resamples, rng, studentised=values.studentised)
    lost = float((~np.isfinite(draws.values)).mean())
    if not math.isfinite(draws.value) or lost > LARGEST_LOST:
        name = values.groups[group]
        return None, f"{name}: the metric has no value in {lost:.0%} of resamples."
    return BootstrapContrast(
        group=draws, reference=NO_DRAWS, logarithms=ratio, studentised=values.studentised
    ), ""


def _read_rows(
    y_true: Any, y_pred: Any, row_options: Mapping[str, Any]
) -> tuple[Outcomes, tuple[NDArray[Any], NDArray[Any]]]:
    """Groups, weights and clusters of the rows that are kept, and their labels as they are."""
    columns = {"y_true": y_true, "y_pred": y_pred}
    arrays = {}
    positions = {}
    for argument, column in columns.items():
        check_that(
            column is not None,
            argument,
            column,
            "one value a row: a function of rows is computed from rows, not from counts",
            f"pass {argument}=",
        )
        arrays[argument] = np.asarray(column)
        check_that(
            arrays[argument].ndim == 1,
            argument,
            f"an array of shape {arrays[argument].shape}",
            "one value a row",
            "a column by itself",
        )
        # the columns may hold anything: positions stand for them where rows are read and left out
        row_numbers = np.arange(arrays[argument].size, dtype=np.float64)
        row_numbers[np.asarray(pd.isna(arrays[argument]))] = math.nan
        positions[argument] = row_numbers
    outcomes = Outcomes.from_arrays(numbers=positions, **row_options)
    kept_rows = outcomes.numbers["y_true"].astype(np.intp)
    return outcomes, (
        _as_plain(arrays["y_true"][kept_rows]),
        _as_plain(arrays["y_pred"][kept_rows]),
    )


def _as_plain(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers and texts in arrays of their own type, which object arrays hide from a metric."""
    return np.array(column.tolist()) if column.dtype == object else column


def _names_of_arguments(metric: Any) -> set[str]:
    return set(inspect.signature(metric).parameters)


def _units_of(outcomes: Outcomes) -> tuple[Units, ...]:
    """Rows or clusters of every group; a cluster belongs to one group."""
    cluster = None if outcomes.cluster is None else outcomes.cluster.codes.astype(np.intp)
    codes = outcomes.groups.codes
    n_groups = len(outcomes.groups.labels)
    if cluster is not None:
        pairs = np.unique(np.stack([cluster, codes.astype(np.intp)]), axis=1)
        n_shared = pairs.shape[1] - np.unique(cluster).size
        check_that(
            n_shared == 0,
            "cluster",
            f"{n_shared:,} clusters with rows in more than one group",
            "clusters within groups: groups are drawn independently of each other",
            "a cluster that names the group, too, if rows of different groups are independent",
        )
    return tuple(
        Units.of_rows(np.flatnonzero(codes == group), cluster) for group in range(n_groups)
    )


def _draw_groups(
    called: CalledMetric,
    units: Sequence[Units],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    studentised: bool,
) -> tuple[tuple[Draws, ...], tuple[str, ...]]:
    """Draws of every group, and why there are none where the metric has no value."""
    draws = []
    failures = []
    for group in units:
        failure = ""
        value = math.nan
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = called.ask(group.rows)
            except InputError:
                raise
            except _UNDEFINED as error:
                failure = f"the metric says {_first_line(error)!r:.120}."
        if not failure and not math.isfinite(value):
            failure = f"the metric is {value}."
            if caught:
                failure += f" It says {_first_line(caught[0].message)!r:.120}."
        if failure or group.size < MIN_UNITS:
            draws.append(
                Draws(
                    value=value,
                    variance=math.nan,
                    values=np.zeros(0),
                    variances=np.zeros(0),
                    changes=np.zeros(0),
                )
            )
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of resamples with one label, as scikit-learn's
                draws.append(draw_metric(called, group, n_resamples, rng, studentised=studentised))
        failures.append(failure)
    if all(failures):
        raise InputError(
            "metric",
            got=f"{name_of_metric(called.function)}, which has no value in any group: {failures[0]}",
            allowed="a function metric(y_true, y_pred) of these columns",
            cure="functools.partial(metric, pos_label='yes'), say",
        )
    return tuple(draws), tuple(failures)


def _remarks_on_few(values: MetricValues) -> tuple[str, ...]:
    """Where simulation (`vignettes/calibration.md`) shows more errors than are nominal."""
    few = []
    for position, name in enumerate(values.groups):
        is_few = values.units[position].size < FEW_UNITS
        if is_few and not values.why_not(position, ratio=False):
            few.append(name)
    if not few:
        return ()
    remark = (
        f"{', '.join(few)}: fewer than {FEW_UNITS} rows or clusters. If what the metric is made of"
        " has a long tail that so few have not shown, limits err more often than they say"
    )
    if not values.studentised:
        remark += ", and by BCa more often than by the studentised bootstrap"
    return (f"{remark}.",)


def _first_line(message: object) -> str:
    return next(iter(str(message).splitlines()), type(message).__name__)


def _numbers_of(y_true: NDArray[Any], y_pred: NDArray[Any]) -> dict[str, Floats]:
    """What a result keeps of the rows: moments of numbers, or of whether labels agree."""
    if all(column.dtype.kind in "iuf" for column in (y_true, y_pred)):
        return {"y_true": y_true.astype(np.float64), "y_pred": y_pred.astype(np.float64)}
    return {"agreement": (y_true == y_pred).astype(np.float64)}


def _with_permutation_tests(
    result: NumberDifferenceResult | NumberRatioResult,
    called: CalledMetric,
    values: MetricValues,
    n_permutations: int,
    rng: np.random.Generator,
    ratio: bool,
) -> NumberDifferenceResult | NumberRatioResult:
    """The result with a further test of equality in every row that has an estimate."""
    place_of = {group: place for place, group in enumerate(values.groups)}
    comparisons = []
    for comparison in result.comparisons:
        group = place_of[comparison.group]
        if comparison.tests and result.settings.comparisons != "overall":
            if result.settings.comparisons == "rest":
                others = _together(values.units[:group] + values.units[group + 1 :])
            else:
                others = values.units[place_of[comparison.reference]]
            permuted = studentised_permutation_test(
                called,
                values.units[group],
                others,
                n_permutations,
                rng,
                ratio=ratio,
            )
            test = HypothesisTest(
                null=f"{result.scale} = {1 if ratio else 0}",
                alternative="two-sided",
                statistic=permuted.statistic,
                pvalue=permuted.pvalue,
                method=f"{PERMUTATION}, {permuted.n_permutations} permutations",
            )
            comparison = replace(comparison, tests=(*comparison.tests, test))
        comparisons.append(comparison)
    return replace(result, comparisons=tuple(comparisons))
