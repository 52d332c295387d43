"""Conjugate draws, and the table of a posterior: mean, spread, shortest interval, share in the RoPE of each metric.

Block i of a run is drawn by a generator of its own, seeded by (entropy, i), so that the number of threads does not
matter. A block is laid out cell by cell and group by group: metrics run over contiguous draws.
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

from fairstats.ground.checks import Floats, as_generator, check_number, check_share, check_whole
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.results import LEVEL, Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.counting import ClassCounts, classes_of
from fairstats.methods.um.metrics import CLASS_METRICS, Evaluator, Metric, evaluator, name_of, parse_metric

#: Draws per block.
BLOCK = 1 << 13
#: Draws up to this size are kept; larger runs are drawn again for every call, with the same numbers.
_KEPT_BYTES = 1 << 27
#: A larger share of undefined draws calls for a warning.
MOST_UNDEFINED = 0.05
#: The metrics of the plain table; the comparisons only with two groups or more.
DEFAULT_METRICS = (
    "accuracy", "balanced_accuracy", "f1", "mcc", "tpr", "fpr", "ppv", "selection_rate",
    "demographic_parity", "equal_opportunity", "predictive_equality", "predictive_parity",
    "treatment_equality", "demographic_parity_max", "equal_opportunity_max", "equalized_odds_max",
)  # fmt: skip
#: Draws × rows of a table at most, and its fewest draws: a table of 6,500 rows takes a second.
_VALUES, _FEWEST_DRAWS = 10_000_000, 1_000
#: Rows that are summed up at once.
_AT_ONCE = 64


def check_draws(draws: Any) -> int:
    """The number of draws, or raise; more than 10⁸ are a mistake."""
    return check_whole("draws", draws, low=100, high=10**8, cure="10_000, say")


def entropy_of(rng: Any) -> int:
    """The seed of a run: the one given, or one that a generator draws."""
    generator, seed = as_generator(rng)
    return int(generator.integers(2**62)) if seed is None else seed


def check_rope(rope: Any, n_metrics: int) -> tuple[float, ...]:
    """Half-widths of the region of practical equivalence, one per metric, or raise."""
    given = [0.0] if rope is None else np.atleast_1d(np.asarray(rope, dtype=object)).ravel().tolist()
    widths = given * n_metrics if len(given) == 1 else given
    cure = "0.01 for differences below one percentage point"
    if len(widths) != n_metrics:
        allowed = f"a size ≥ 0, or {n_metrics} of them, one per metric"
        raise InputError("rope", got=repr(rope), allowed=allowed, cure=cure)
    return tuple(check_number("rope", width, low=0, cure=cure) for width in widths)


@dataclass(frozen=True, eq=False)
class DirichletSampler:
    """Draws of probabilities, a Dirichlet (`alpha`, (G, c)) per group, times `scale`, or of counts of `trials` rows."""

    alpha: NDArray[np.float64]
    scale: NDArray[np.float64]
    entropy: int
    trials: NDArray[np.int64] | None = None

    def _block(self, index: int, size: int) -> Floats:
        """Draws of block `index`, shape (size, G, c)."""
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        cells = gamma_table(self.alpha, size, rng)
        if self.trials is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                cells *= self.scale[:, None] / cells.sum(axis=0)
        else:
            cells = multinomial_counts(cells, self.trials, rng) * self.scale[:, None]
        return cells.transpose(2, 1, 0)


def gamma_table(alpha: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Independent gamma variables, (c, G, size), with shapes `alpha`, (G, c): a Dirichlet once normalised."""
    cells = np.empty((*alpha.T.shape, size))
    for g, c in np.ndindex(alpha.shape):
        rng.standard_gamma(alpha[g, c], out=cells[c, g])
    return cells


def multinomial_counts(cells: Floats, trials: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Counts of shape (c, G, n) given unnormalised cell probabilities, by conditional binomials."""
    left_mass = cells.sum(axis=0)
    left = np.broadcast_to(trials[:, None], left_mass.shape).copy()
    counts = np.empty_like(cells)
    for c in range(cells.shape[0] - 1):
        share = np.divide(cells[c], left_mass, out=np.zeros_like(left_mass), where=left_mass > 0)
        drawn = rng.binomial(left, np.clip(share, 0.0, 1.0))
        counts[c] = drawn
        left -= drawn
        left_mass -= cells[c]
    counts[-1] = left
    return counts


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draws of counts of every group under one posterior: what metrics are functions of; fields as in `UmPosterior`."""

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

    def _parsed(self, name: Any, **options: Any) -> Metric:
        """The metric of a name, as `parse_metric` finds it among those of these counts."""
        return parse_metric(name, several=bool(self.classes), **options)

    @property
    def dirichlet(self) -> DirichletSampler:
        """The Dirichlet posterior of every group, and what its draws are scaled to."""
        alpha, sizes = self.prior + self.counts.totals, self.counts.group_sizes.astype(np.float64)
        if self.target != "predictive":
            return DirichletSampler(alpha, sizes, self.entropy)
        trials = np.rint(self.counts.totals.sum(axis=1)).astype(np.int64)
        scale = np.divide(sizes, trials, out=np.ones_like(sizes), where=trials > 0)
        return DirichletSampler(alpha, scale, self.entropy, trials)

    def _block(self, index: int, first: int, last: int) -> Floats:
        """Counts (last − first, G, 4) of block `index`."""
        dirichlet = self.dirichlet
        if self.stored is None:
            if len(self._kept.get(index, ())) < last - first:
                drawn = self._refitted(dirichlet._block(index, last - first), index)
                if self.n_draws * self.prior.size * 8 > _KEPT_BYTES:
                    return drawn
                self._kept[index] = drawn
            return self._kept[index][: last - first]
        pi = self.stored[first:last]
        if dirichlet.trials is None:
            return np.asarray(pi * dirichlet.scale[:, None])
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 1)))
        counts = multinomial_counts(pi.transpose(2, 1, 0), dirichlet.trials, rng)
        return (counts * dirichlet.scale[:, None]).transpose(2, 1, 0)

    def _refitted(self, counts: Floats, index: int) -> Floats:
        """Under ``target="algorithm"`` the counts of models fitted to other training sets, else the same.

        Half the mean square of the `shifts` (J, G, 2) of models of disjoint halves, in logits, estimates the variance
        at half the rows, a quarter that at all of them. With J of them the draws are multivariate t.
        """
        if self.shifts is None or self.target != "algorithm":
            return counts
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 2)))
        n, splits = len(counts), len(self.shifts)
        by = rng.standard_normal((n, splits)) / (2.0 * np.sqrt(rng.chisquare(splits, (n, 1))))
        odds = np.exp(np.clip(np.tensordot(by, self.shifts, 1), -500.0, 500.0))
        hit, miss = counts[..., :2], counts[..., 2:]  # tp and fp, fn and tn
        whole, weight = hit + miss, hit * odds
        moved = np.divide(whole * weight, weight + miss, out=hit.copy(), where=weight + miss > 0)
        return np.concatenate([moved, whole - moved], axis=-1)

    @property
    def draws(self) -> Floats:
        """Counts of shape (n_draws, G, 4) in the order tp, fp, fn, tn: what the metrics are functions of.

        Under ``target="parameter"`` expected counts N_s·π_s, with N_s the rows evaluated; under "predictive" counts of
        the next test set; under "algorithm" expected counts of models fitted to other rows.
        """
        return evaluate(self._block, self.n_draws, [lambda counts, _: counts], 0)[0]


def evaluate(
    block: Callable[[int, int, int], Any], draws: int, functions: Sequence[Evaluator], reference: int,
    n_jobs: int | None = None,
) -> list[Floats]:  # fmt: skip
    """Draws of several metrics in one pass; in threads where there are many, on which the numbers do not depend."""
    counts = block(0, 0, min(draws, BLOCK))
    begin = [np.asarray(function(counts, reference)) for function in functions]  # these have the shapes
    answers = [np.empty((draws, *values.shape[1:])) for values in begin]

    def fill(index: int) -> None:
        first, last = index * BLOCK, min((index + 1) * BLOCK, draws)
        counts = block(index, first, last) if index else None
        for answer, function, values in zip(answers, functions, begin, strict=True):
            answer[first:last] = values if counts is None else function(counts, reference)

    number = -(-draws // BLOCK)
    if number < 8:  # a thread would take longer to start
        list(map(fill, range(number)))
        return answers
    with ThreadPoolExecutor(min(n_jobs or os.cpu_count() or 1, number)) as pool:
        list(pool.map(fill, range(number)))
    return answers


def warn_of_undefined(name: str, draws: Floats) -> None:
    """Warn where too many draws are NaN."""
    share = float(np.isnan(draws).any(axis=tuple(range(1, draws.ndim))).mean())
    if share > MOST_UNDEFINED:
        text = "(0/0, a drawn group without the cases); they are NaN and left out of summaries."
        caution(f"{name}: {share:.1%} of the draws are undefined {text}", InsufficientEvidenceWarning)


def without_undefined(delta: Floats) -> tuple[Floats, float]:
    """Draws without NaN, and the share left out, with a warning where it is large."""
    lacking = np.isnan(delta).reshape(len(delta), -1).any(axis=1)
    share = float(lacking.mean())
    if lacking.all():
        got = "no draw in which every metric is defined"
        cure = "choose other metrics, a prior above 0, or target='parameter'"
        raise InputError("metrics", got=got, allowed="metrics with cases in every group", cure=cure)
    if share > MOST_UNDEFINED:
        text = f"{share:.1%} of the draws are undefined (0/0: a drawn group without the cases) and left out."
        caution(text, InsufficientEvidenceWarning)
    return delta[~lacking], share


@serialisable(kw_only=True)
class PosteriorRow(Comparison):
    """Posterior of one metric: mean (`estimate`), standard deviation, shortest interval.

    `observed` is the metric of the counts; `rope` and `p_rope` are the half-width of the region of practical
    equivalence and the posterior's share inside, NaN for what is no difference; `mc_error` is the Monte Carlo error of
    the mean; `undefined` the share of draws 0/0, left out.
    """

    further: ClassVar[tuple[str, ...]] = ("median", "observed", "rope", "p_rope", "mc_error", "undefined", LEVEL)

    median: float = math.nan
    observed: float = math.nan
    rope: float = math.nan
    p_rope: float = math.nan
    mc_error: float = math.nan
    undefined: float = 0.0

    def sentence(self) -> str:
        """The posterior in words."""
        low, high = self.confidence_interval
        of = f" of {self.group}" if self.group else ""
        against = f" against {self.reference}" if self.reference else ""
        inside = "" if math.isnan(self.p_rope) else f"; {self.p_rope:.1%} of it within ±{self.rope:g}"
        return (
            f"{self.metric}{of}{against}: posterior mean {self.estimate:.3f} "
            f"({100 * self.confidence_interval.confidence_level:g}% shortest interval {low:.3f} to "
            f"{high:.3f}; target: {self.method.partition(',')[0]}){inside}."
        )


class Summaries:
    """Mean, spread, shortest interval, median of each row of draws (rows, draws) but NaN; `rope`: see the row."""

    def __init__(self, draws: Floats, prob: float, rope: float) -> None:
        self.prob, self.rope = prob, rope
        ordered = np.sort(draws, axis=1)  # NaN last
        n = np.count_nonzero(~np.isnan(ordered), axis=1)
        self.undefined = 1.0 - n / draws.shape[1]
        self.columns = np.full((7, len(draws)), np.nan)
        for size in np.unique(n[n > 0]):  # rows with as many draws at once
            rows = np.flatnonzero(n == size)
            for first in range(0, rows.size, _AT_ONCE):
                part = rows[first : first + _AT_ONCE]
                self.columns[:, part] = self._of_known(ordered[part, :size])

    def _of_known(self, known: Floats) -> Floats:
        rows, n = np.arange(len(known)), known.shape[1]
        spread = known.std(axis=1, ddof=1) if n > 1 else np.full(len(known), np.nan)
        span = min(int(np.floor(self.prob * n)), n - 1)
        first = np.argmin(known[:, span:] - known[:, : n - span], axis=1)
        ends, median = known[[rows, rows], [first, first + span]], (known[:, (n - 1) // 2] + known[:, n // 2]) / 2
        inside = np.count_nonzero(np.abs(known) <= self.rope + 1e-12, axis=1) / n
        inside = np.full(len(known), np.nan) if math.isnan(self.rope) else inside
        return np.stack([known.mean(axis=1), spread, *ends, median, inside, spread / math.sqrt(n)])

    def rows(self, about: Iterable[Mapping[str, Any]]) -> Iterator[PosteriorRow]:
        """Rows of the table, with what each is about."""
        names = ("estimate", "std_error", "low", "high", "median", "p_rope", "mc_error")
        for values, undefined, own in zip(self.columns.T.tolist(), self.undefined.tolist(), about, strict=True):
            row = dict(zip(names, values, strict=True))
            interval = Interval(row.pop("low"), row.pop("high"), self.prob, "HDI")
            yield PosteriorRow(**row, confidence_interval=interval, undefined=undefined, rope=self.rope, **own)


def describe(draws: Floats, prob: float, rope: float | None = None) -> PosteriorRow:
    """The `Summaries` of one metric's draws."""
    return next(Summaries(draws[None], prob, math.nan if rope is None else rope).rows([{}]))


@dataclass(frozen=True)
class _Part:
    """One evaluation: a function, and what each of its columns is (metric, group, rows)."""

    function: Evaluator
    columns: Sequence[tuple[str, str, int]]
    reference: str = ""
    equivalence: bool = False


def posterior_rows(
    draws: PosteriorDraws, metrics: Sequence[Any], reference: int, prob: Any, rope: Any
) -> tuple[PosteriorRow, ...]:
    """One row per metric and group (without metrics those of `DEFAULT_METRICS`); long tables are of fewer draws."""
    level, width = check_share("prob", prob), check_rope(rope, 1)[0]
    parts = parts_of_table(draws, metrics, reference)
    number = draws_of_table(draws, parts)
    if number < draws.n_draws:
        draws = replace(draws, n_draws=number, stored=None if draws.stored is None else draws.stored[:number])
    values = evaluate(draws._block, number, [part.function for part in parts], reference)
    observed, method = _observed(draws)[None], f"{draws.target}, HDI"
    rows: list[PosteriorRow] = []
    for part, found in zip(parts, values, strict=True):
        seen = np.asarray(part.function(observed, reference)).reshape(-1).tolist()
        same = {"reference": part.reference, "method": method}
        about = [
            {**same, "metric": metric, "group": group, "n": n, "observed": value}
            for (metric, group, n), value in zip(part.columns, seen, strict=True)
        ]
        columns = found.reshape(len(found), -1).T
        rows += Summaries(columns, level, width if part.equivalence else math.nan).rows(about)
    many = [f"{r.metric} of {r.group!r} {r.undefined:.1%}" for r in rows if r.undefined > MOST_UNDEFINED]
    if many:
        text = f"draws undefined (0/0: a drawn group without the cases) and left out: {', '.join(many)}."
        caution(text, InsufficientEvidenceWarning)
    return tuple(rows)


def draws_of_table(draws: PosteriorDraws, parts: Sequence[_Part]) -> int:
    """Draws that a table is made of: all of them, unless it has very many rows."""
    length = sum(len(part.columns) for part in parts)
    return min(draws.n_draws, max(_VALUES // length, _FEWEST_DRAWS))


def parts_of_table(draws: PosteriorDraws, metrics: Sequence[Any], reference: int) -> list[_Part]:
    """What a table of these metrics, or of the usual ones, is made of."""
    return [part for name in metrics or usual_metrics(draws) for part in _parts(draws, name, reference)]


def usual_metrics(draws: PosteriorDraws) -> list[str]:
    """The metrics of the plain table."""
    names = ("accuracy", *CLASS_METRICS) if draws.classes else DEFAULT_METRICS
    return [m for m in names if len(draws.counts.groups) > 1 or not draws._parsed(m).between_groups]


def _observed(draws: PosteriorDraws) -> Floats:
    """The counts at the scale of the rows evaluated, which effective counts are below."""
    totals, sizes = draws.counts.totals.sum(axis=1), draws.counts.group_sizes.astype(np.float64)
    scale = np.divide(sizes, totals, out=np.ones_like(sizes), where=totals > 0)
    return np.asarray(draws.counts.totals * scale[:, None])


def _parts(draws: PosteriorDraws, name: Any, reference: int) -> list[_Part]:
    groups, sizes = draws.counts.groups, [int(n) for n in np.rint(draws.counts.group_sizes)]
    if callable(name):
        function, label = evaluator(name), name_of(name)
        width = np.asarray(function(draws._block(0, 0, 2), 0)).reshape(2, -1).shape[1]
        labels = [label if width == 1 else f"{label}[{k}]" for k in range(width)]
        return [_Part(function, [(text, "", sum(sizes)) for text in labels])]
    metric = draws._parsed(name)
    metric.needs_groups(groups)
    if not metric.between_groups:
        every = _Part(metric.values, [(name, "all", sum(sizes))])
        own = [(name, group, n) for group, n in zip(groups, sizes, strict=True)]
        return [every] if len(groups) == 1 else [every, _Part(lambda c, _: metric.by_group(c), own)]
    if metric.contrast == "max":
        return [_Part(metric.values, [(name, "largest gap", sum(sizes))], equivalence=True)]
    endings = [""] if len(metric.rates) == 1 else [f" ({rate})" for rate in metric.rates]
    others = [(g, n + sizes[reference]) for g, n in enumerate(sizes) if g != reference]
    columns = [(name + ending, groups[g], n) for g, n in others for ending in endings]
    return [_Part(metric.values, columns, groups[reference], metric.contrast != "ratio")]
