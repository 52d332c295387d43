"""Conjugate draws, and the table of a posterior.

With counts n = (tp, tn, fp, fn) of a group and the prior Dirichlet(a), the cells' probabilities are

    p | n ~ Dirichlet(n + a),    drawn as  p_c = G_c / Σ G,   G_c ~ Gamma(n_c + a_c, 1),

a metric is f(p), a comparison of groups f(p_g) − f(p_ref) of independent draws (Barrainkua et al.,
section 3). A predictive draw counts the cells of a next test set, Multinomial(N, p), first. The
table has mean, spread, shortest interval and share in the RoPE of each metric.

Block i of a run is drawn by a generator of its own, seeded by (entropy, i), so that the number of
threads does not matter. A block is laid out cell by cell and group by group: metrics run over
contiguous draws.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    as_generator,
    check_number,
    check_share,
    check_whole,
)
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.progress import under_way
from fairstats.ground.results import LEVEL, Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.um.counting import classes_of
from fairstats.methods.um.metrics import (
    CLASS_METRICS,
    Evaluator,
    Metric,
    evaluator,
    name_of,
    parse_metric,
)

#: Draws per block.
BLOCK = 1 << 13
#: Draws up to this size are kept; larger runs are drawn again for every call, with the same
#: numbers.
_KEPT_BYTES = 1 << 27
#: A larger share of undefined draws calls for a warning.
MOST_UNDEFINED = 0.05
#: The metrics of the plain table; the comparisons only with two groups or more.
DEFAULT_METRICS = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "mcc",
    "tpr",
    "fpr",
    "ppv",
    "selection_rate",
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "predictive_parity",
    "treatment_equality",
    "demographic_parity_max",
    "equal_opportunity_max",
    "equalized_odds_max",
)
#: A difference this little above the region of practical equivalence is a tie, which counts as
#: inside.
TOLERANCE = 1e-12
#: Draws × rows of a table at most, and its fewest draws: a table of 6,500 rows takes a second.
_MOST_VALUES = 10_000_000
_FEWEST_DRAWS = 1_000
#: Rows that are summed up at once.
_AT_ONCE = 64


def check_draws(draws: Any) -> int:
    """The number of draws, or raise; more than 10⁸ are a mistake."""
    return check_whole("draws", draws, low=100, high=10**8, cure="10_000, say")


def entropy_of(rng: SeedOrGenerator) -> int:
    """The seed of a run: the one given, or one that a generator draws."""
    generator, seed = as_generator(rng)
    if seed is None:
        return int(generator.integers(2**62))
    return seed


def check_rope(rope: Any, n_metrics: int) -> tuple[float, ...]:
    """Half-widths of the region of practical equivalence, one per metric, or raise."""
    if rope is None:
        sizes_given = [0.0]
    else:
        sizes_given = np.atleast_1d(np.asarray(rope, dtype=object)).ravel().tolist()
    if len(sizes_given) == 1:
        half_widths = sizes_given * n_metrics
    else:
        half_widths = sizes_given
    suggestion = "0.01 for differences below one percentage point"
    if len(half_widths) != n_metrics:
        allowed = f"a size ≥ 0, or {n_metrics} of them, one per metric"
        raise InputError("rope", got=repr(rope), allowed=allowed, cure=suggestion)
    result = []
    for half_width in half_widths:
        result.append(check_number("rope", half_width, low=0, cure=suggestion))
    return tuple(result)


@dataclass(frozen=True, eq=False)
class DirichletSampler:
    """Draws of probabilities, a Dirichlet (`alpha`, (G, c)) per group, times `scale`, or of counts
    of `trials` rows.
    """

    alpha: NDArray[np.float64]
    scale: NDArray[np.float64]
    entropy: int
    trials: NDArray[np.int64] | None = None

    def _draw_block(self, index: int, size: int) -> Floats:
        """Draws of block `index`, shape (size, G, c)."""
        generator = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        drawn_cells = gamma_table(self.alpha, size, generator)
        if self.trials is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                drawn_cells *= self.scale[:, None] / drawn_cells.sum(axis=0)
        else:
            drawn_cells = (
                multinomial_counts(drawn_cells, self.trials, generator) * self.scale[:, None]
            )
        return drawn_cells.transpose(2, 1, 0)


def gamma_table(alpha: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Independent gamma variables, (c, G, size), with shapes `alpha`, (G, c).

    A Dirichlet once normalised.
    """
    gamma_draws = np.empty((*alpha.T.shape, size))
    for group_index, cell_index in np.ndindex(alpha.shape):
        rng.standard_gamma(alpha[group_index, cell_index], out=gamma_draws[cell_index, group_index])
    return gamma_draws


def multinomial_counts(
    cells: Floats, trials: NDArray[np.int64], rng: np.random.Generator
) -> Floats:
    """Counts of shape (c, G, n) given unnormalised cell probabilities, by conditional binomials."""
    left_mass = cells.sum(axis=0)
    rows_left = np.broadcast_to(trials[:, None], left_mass.shape).copy()
    counts = np.empty_like(cells)
    for cell_index in range(cells.shape[0] - 1):
        cell_share = np.divide(
            cells[cell_index], left_mass, out=np.zeros_like(left_mass), where=left_mass > 0
        )
        drawn_rows = rng.binomial(rows_left, np.clip(cell_share, 0.0, 1.0))
        counts[cell_index] = drawn_rows
        rows_left -= drawn_rows
        left_mass -= cells[cell_index]
    counts[-1] = rows_left
    return counts


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draws of counts of every group under one posterior: what metrics are functions of.

    Fields as in `UmPosterior`.
    """

    counts: ConfusionCounts | ClassCounts
    prior: NDArray[np.float64]
    n_draws: int = 10_000
    target: str = "parameter"
    entropy: int = 0
    stored: NDArray[np.float64] | None = None
    shifts: NDArray[np.float64] | None = None
    _kept: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes; empty for two labels, whose cells are tp, fp, fn, tn."""
        return classes_of(self.counts)

    def _parse_metric_name(self, name: Any, **options: Any) -> Metric:
        """The metric of a name, as `parse_metric` finds it among those of these counts."""
        return parse_metric(name, several=bool(self.classes), **options)

    @property
    def dirichlet(self) -> DirichletSampler:
        """The Dirichlet posterior of every group, and what its draws are scaled to."""
        posterior_parameters = self.prior + self.counts.totals
        group_sizes = self.counts.group_sizes.astype(np.float64)
        if self.target != "predictive":
            return DirichletSampler(posterior_parameters, group_sizes, self.entropy)
        trials = np.rint(self.counts.totals.sum(axis=1)).astype(np.int64)
        scales = np.divide(group_sizes, trials, out=np.ones_like(group_sizes), where=trials > 0)
        return DirichletSampler(
            alpha=posterior_parameters, scale=scales, entropy=self.entropy, trials=trials
        )

    def _draw_block(self, index: int, first: int, last: int) -> Floats:
        """Counts (last − first, G, 4) of block `index`."""
        dirichlet = self.dirichlet
        if self.stored is None:
            if len(self._kept.get(index, ())) < last - first:
                drawn_counts = self._with_training_spread(
                    dirichlet._draw_block(index, last - first), index
                )
                if self.n_draws * self.prior.size * 8 > _KEPT_BYTES:
                    return drawn_counts
                self._kept[index] = drawn_counts
            return self._kept[index][: last - first]
        probabilities = self.stored[first:last]
        if dirichlet.trials is None:
            return np.asarray(probabilities * dirichlet.scale[:, None])
        generator = np.random.default_rng(
            np.random.SeedSequence(self.entropy, spawn_key=(index, 1))
        )
        counts = multinomial_counts(probabilities.transpose(2, 1, 0), dirichlet.trials, generator)
        return (counts * dirichlet.scale[:, None]).transpose(2, 1, 0)

    def _with_training_spread(self, counts: Floats, index: int) -> Floats:
        """Under ``target="algorithm"`` the counts of models fitted to other training sets, else the
        same.

        Half the mean square of the `shifts` (J, G, 2) of models of disjoint halves, in logits,
        estimates the variance at half the rows, a quarter that at all of them. With J of them the
        draws are multivariate t.
        """
        if self.shifts is None or self.target != "algorithm":
            return counts
        generator = np.random.default_rng(
            np.random.SeedSequence(self.entropy, spawn_key=(index, 2))
        )
        n_draws = len(counts)
        splits = len(self.shifts)
        shift_factors = generator.standard_normal((n_draws, splits)) / (
            2.0 * np.sqrt(generator.chisquare(splits, (n_draws, 1)))
        )
        odds_ratios = np.exp(np.clip(np.tensordot(shift_factors, self.shifts, 1), -500.0, 500.0))
        # tp and fp, fn and tn
        hits = counts[..., :2]
        misses = counts[..., 2:]
        group_labels = hits + misses
        weight = hits * odds_ratios
        moved_hits = np.divide(
            group_labels * weight, weight + misses, out=hits.copy(), where=weight + misses > 0
        )
        return np.concatenate([moved_hits, group_labels - moved_hits], axis=-1)

    @property
    def draws(self) -> Floats:
        """Counts of shape (n_draws, G, 4) in the order tp, fp, fn, tn.

        What the metrics are functions of.

        Under ``target="parameter"`` expected counts N_s·π_s, with N_s the rows evaluated; under
        "predictive" counts of the next test set; under "algorithm" expected counts of models fitted
        to other rows.
        """
        return evaluate(self._draw_block, self.n_draws, [lambda counts, _: counts], 0)[0]


def evaluate(
    block: Callable[[int, int, int], Any],
    draws: int,
    functions: Sequence[Evaluator],
    reference: int,
    n_jobs: int | None = None,
) -> list[Floats]:
    """Draws of several metrics in one pass.

    In threads where there are many, on which the numbers do not depend.
    """
    counts = block(0, 0, min(draws, BLOCK))
    first_values = []
    for function in functions:
        first_values.append(np.asarray(function(counts, reference)))
    answers = [np.empty((draws, *values.shape[1:])) for values in first_values]

    def fill(index: int) -> None:
        first_draw = index * BLOCK
        last_draw = min((index + 1) * BLOCK, draws)
        if index:
            counts = block(index, first_draw, last_draw)
        else:
            counts = None
        for answer, function, values in zip(answers, functions, first_values, strict=True):
            answer[first_draw:last_draw] = values if counts is None else function(counts, reference)

    n_blocks = -(-draws // BLOCK)
    with under_way("posterior draws", total=n_blocks) as work:
        if n_blocks < 8:  # a thread would take longer to start
            for index in range(n_blocks):
                fill(index)
                work.advance()
            return answers
        with ThreadPoolExecutor(min(n_jobs or os.cpu_count() or 1, n_blocks)) as executor:
            for _ in executor.map(fill, range(n_blocks)):
                work.advance()
    return answers


def warn_of_undefined(name: str, draws: Floats) -> None:
    """Warn where too many draws are NaN."""
    undefined_share = float(np.isnan(draws).any(axis=tuple(range(1, draws.ndim))).mean())
    if undefined_share > MOST_UNDEFINED:
        warning_text = (
            "(0/0, a drawn group without the cases); they are NaN and left out of summaries."
        )
        caution(
            f"{name}: {undefined_share:.1%} of the draws are undefined {warning_text}",
            InsufficientEvidenceWarning,
        )


def without_undefined(delta: Floats) -> tuple[Floats, float]:
    """Draws without NaN, and the share left out, with a warning where it is large."""
    lacking = np.isnan(delta).reshape(len(delta), -1).any(axis=1)
    undefined_share = float(lacking.mean())
    if lacking.all():
        received = "no draw in which every metric is defined"
        suggestion = "choose other metrics, a prior above 0, or target='parameter'"
        raise InputError(
            "metrics",
            got=received,
            allowed="metrics with cases in every group",
            cure=suggestion,
        )
    if undefined_share > MOST_UNDEFINED:
        warning_text = (
            f"{undefined_share:.1%} of the draws are undefined (0/0: a drawn group without the cases) and"
            " left out."
        )
        caution(warning_text, InsufficientEvidenceWarning)
    return delta[~lacking], undefined_share


@serialisable(kw_only=True)
class PosteriorRow(Comparison):
    """Posterior of one metric: mean (`estimate`), standard deviation, shortest interval.

    `observed` is the metric of the counts; `rope` and `p_rope` are the half-width of the region of
    practical equivalence and the posterior's share inside, its ends included (ties to 1e-12), NaN
    for what is no difference; `mc_error` is the Monte Carlo error of the mean; `undefined` the
    share of draws 0/0, left out.
    """

    further: ClassVar[tuple[str, ...]] = (
        "median",
        "observed",
        "rope",
        "p_rope",
        "mc_error",
        "undefined",
        LEVEL,
    )

    median: float = math.nan
    observed: float = math.nan
    rope: float = math.nan
    p_rope: float = math.nan
    mc_error: float = math.nan
    undefined: float = 0.0

    def sentence(self) -> str:
        """The posterior in words."""
        lower_limit, upper_limit = self.confidence_interval
        group_words = f" of {self.group}" if self.group else ""
        if self.reference:
            reference_words = f" against {self.reference}"
        else:
            reference_words = ""
        if math.isnan(self.p_rope):
            rope_words = ""
        else:
            rope_words = f"; {self.p_rope:.1%} of it within ±{self.rope:g}"
        return (
            f"{self.metric}{group_words}{reference_words}: posterior mean {self.estimate:.3f} "
            f"({100 * self.confidence_interval.confidence_level:g}% shortest interval {lower_limit:.3f} to "
            f"{upper_limit:.3f}; target: {self.method.partition(',')[0]}){rope_words}."
        )


class Summaries:
    """Mean, spread, shortest interval, median of each row of draws (rows, draws) but NaN; `rope`:
    see the row.
    """

    def __init__(self, draws: Floats, prob: float, rope: float) -> None:
        self.prob = prob
        self.rope = rope
        ordered = np.sort(draws, axis=1)  # NaN last
        n_defined = np.count_nonzero(~np.isnan(ordered), axis=1)
        self.undefined = 1.0 - n_defined / draws.shape[1]
        self.columns = np.full((7, len(draws)), np.nan)
        for n_of_rows in np.unique(n_defined[n_defined > 0]):  # rows with as many draws at once
            row_numbers = np.flatnonzero(n_defined == n_of_rows)
            for first_row in range(0, row_numbers.size, _AT_ONCE):
                rows_at_once = row_numbers[first_row : first_row + _AT_ONCE]
                self.columns[:, rows_at_once] = self._summaries_of_known(
                    ordered[rows_at_once, :n_of_rows]
                )

    def _summaries_of_known(self, sorted_draws: Floats) -> Floats:
        """What the table shows of each row of draws, which ascend: estimate, interval, share
        within ±rope.
        """
        row_numbers = np.arange(len(sorted_draws))
        n_draws = sorted_draws.shape[1]
        if n_draws > 1:
            spread = sorted_draws.std(axis=1, ddof=1)
        else:
            spread = np.full(len(sorted_draws), np.nan)
        n_between = min(int(np.floor(self.prob * n_draws)), n_draws - 1)
        first_draws = np.argmin(
            sorted_draws[:, n_between:] - sorted_draws[:, : n_draws - n_between], axis=1
        )
        interval_ends = sorted_draws[
            [row_numbers, row_numbers], [first_draws, first_draws + n_between]
        ]
        median = (sorted_draws[:, (n_draws - 1) // 2] + sorted_draws[:, n_draws // 2]) / 2
        inside = np.count_nonzero(np.abs(sorted_draws) <= self.rope + TOLERANCE, axis=1) / n_draws
        if math.isnan(self.rope):
            inside = np.full(len(sorted_draws), np.nan)
        return np.stack(
            [
                sorted_draws.mean(axis=1),
                spread,
                *interval_ends,
                median,
                inside,
                spread / math.sqrt(n_draws),
            ]
        )

    def rows(self, about: Iterable[Mapping[str, Any]]) -> Iterator[PosteriorRow]:
        """Rows of the table, with what each is about."""
        summary_names = ("estimate", "std_error", "low", "high", "median", "p_rope", "mc_error")
        for values, undefined, own_fields in zip(
            self.columns.T.tolist(), self.undefined.tolist(), about, strict=True
        ):
            summary = dict(zip(summary_names, values, strict=True))
            interval = Interval(
                low=summary.pop("low"),
                high=summary.pop("high"),
                confidence_level=self.prob,
                method="HDI",
            )
            yield PosteriorRow(
                **summary,
                confidence_interval=interval,
                undefined=undefined,
                rope=self.rope,
                **own_fields,
            )


def describe(draws: Floats, prob: float, rope: float | None = None) -> PosteriorRow:
    """The `Summaries` of one metric's draws."""
    return next(Summaries(draws[None], prob, math.nan if rope is None else rope).rows([{}]))


@dataclass(frozen=True)
class _TablePart:
    """One evaluation: a function, and what each of its columns is (metric, group, rows)."""

    function: Evaluator
    columns: Sequence[tuple[str, str, int]]
    reference: str = ""
    equivalence: bool = False


def posterior_rows(
    draws: PosteriorDraws,
    metrics: Sequence[Any],
    reference: int,
    prob: Any,
    rope: Any,
) -> tuple[PosteriorRow, ...]:
    """One row per metric and group (without metrics those of `DEFAULT_METRICS`).

    Long tables are of fewer draws.
    """
    interval_level = check_share("prob", prob)
    half_width = check_rope(rope, 1)[0]
    table_parts = parts_of_table(draws, metrics, reference)
    n_draws = draws_of_table(draws, table_parts)
    if n_draws < draws.n_draws:
        draws = replace(
            draws, n_draws=n_draws, stored=None if draws.stored is None else draws.stored[:n_draws]
        )
    values = evaluate(
        draws._draw_block, n_draws, [table_part.function for table_part in table_parts], reference
    )
    observed = _counts_at_scale(draws)[None]
    method = f"{draws.target}, HDI"
    table_rows: list[PosteriorRow] = []
    for table_part, part_draws in zip(table_parts, values, strict=True):
        observed_values = np.asarray(table_part.function(observed, reference)).reshape(-1).tolist()
        shared_fields = {"reference": table_part.reference, "method": method}
        row_fields = []
        for (metric, group, n_rows), observed_value in zip(
            table_part.columns, observed_values, strict=True
        ):
            row_fields.append(
                {
                    **shared_fields,
                    "metric": metric,
                    "group": group,
                    "n": n_rows,
                    "observed": observed_value,
                }
            )
        columns = part_draws.reshape(len(part_draws), -1).T
        table_rows += Summaries(
            columns, interval_level, half_width if table_part.equivalence else math.nan
        ).rows(row_fields)
    often_undefined = []
    for row in table_rows:
        if row.undefined > MOST_UNDEFINED:
            often_undefined.append(f"{row.metric} of {row.group!r} {row.undefined:.1%}")
    if often_undefined:
        warning_text = (
            "draws undefined (0/0: a drawn group without the cases) and left out:"
            f" {', '.join(often_undefined)}."
        )
        caution(warning_text, InsufficientEvidenceWarning)
    return tuple(table_rows)


def draws_of_table(draws: PosteriorDraws, parts: Sequence[_TablePart]) -> int:
    """Draws that a table is made of: all of them, unless it has very many rows."""
    length = sum(len(table_part.columns) for table_part in parts)
    return min(draws.n_draws, max(_MOST_VALUES // length, _FEWEST_DRAWS))


def parts_of_table(
    draws: PosteriorDraws, metrics: Sequence[Any], reference: int
) -> list[_TablePart]:
    """What a table of these metrics, or of the usual ones, is made of."""
    parts: list[_TablePart] = []
    for metric_name in metrics or usual_metrics(draws):
        for table_part in _parts_of_metric(draws, metric_name, reference):
            parts.append(table_part)
    return parts


def usual_metrics(draws: PosteriorDraws) -> list[str]:
    """The metrics of the plain table."""
    if draws.classes:
        metric_names = ("accuracy", *CLASS_METRICS)
    else:
        metric_names = DEFAULT_METRICS
    result: list[str] = []
    for metric_name in metric_names:
        if len(draws.counts.groups) > 1 or not draws._parse_metric_name(metric_name).between_groups:
            result.append(metric_name)
    return result


def _counts_at_scale(draws: PosteriorDraws) -> Floats:
    """The counts at the scale of the rows evaluated, which effective counts are below."""
    totals = draws.counts.totals.sum(axis=1)
    group_sizes = draws.counts.group_sizes.astype(np.float64)
    scales = np.divide(group_sizes, totals, out=np.ones_like(group_sizes), where=totals > 0)
    return np.asarray(draws.counts.totals * scales[:, None])


def _parts_of_metric(draws: PosteriorDraws, name: Any, reference: int) -> list[_TablePart]:
    """Columns of the table that a metric has: of all, of each group, or of each against the
    reference.
    """
    groups = draws.counts.groups
    group_sizes = [int(n_rows) for n_rows in np.rint(draws.counts.group_sizes)]
    if callable(name):
        function = evaluator(name)
        function_name = name_of(name)
        n_values = np.asarray(function(draws._draw_block(0, 0, 2), 0)).reshape(2, -1).shape[1]
        labels = []
        for value_index in range(n_values):
            labels.append(function_name if n_values == 1 else f"{function_name}[{value_index}]")
        return [
            _TablePart(function, [(column_label, "", sum(group_sizes)) for column_label in labels])
        ]
    metric = draws._parse_metric_name(name)
    metric.needs_groups(groups)
    if not metric.between_groups:
        part_of_all = _TablePart(metric.values, [(name, "all", sum(group_sizes))])
        group_columns = []
        for group, n_rows in zip(groups, group_sizes, strict=True):
            group_columns.append((name, group, n_rows))
        if len(groups) == 1:
            return [part_of_all]
        return [part_of_all, _TablePart(lambda c, _: metric.by_group(c), group_columns)]
    if metric.contrast == "max":
        return [
            _TablePart(metric.values, [(name, "largest gap", sum(group_sizes))], equivalence=True)
        ]
    if len(metric.rates) == 1:
        endings = [""]
    else:
        endings = [f" ({rate})" for rate in metric.rates]
    others = []
    for group_index, n_rows in enumerate(group_sizes):
        if group_index != reference:
            others.append((group_index, n_rows + group_sizes[reference]))
    columns = []
    for group_index, n_rows in others:
        for ending in endings:
            columns.append((name + ending, groups[group_index], n_rows))
    return [
        _TablePart(
            function=metric.values,
            columns=columns,
            reference=groups[reference],
            equivalence=metric.contrast != "ratio",
        )
    ]
