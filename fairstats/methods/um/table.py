"""Rows of the table of a posterior: mean, spread, shortest interval and share in the RoPE of each metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import Floats, check_share
from fairstats.ground.errors import InsufficientEvidenceWarning, caution
from fairstats.ground.results import LEVEL, Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.draws import MOST_UNDEFINED, PosteriorDraws, check_rope, evaluate
from fairstats.methods.um.metrics import CLASS_METRICS, Evaluator, evaluator, name_of

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
    parts = _all_parts(draws, metrics, reference)
    number = _draws_of(draws, parts)
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


def table_draws(draws: PosteriorDraws, metrics: Sequence[Any], reference: int) -> int:
    """Draws that a table of these metrics is made of: all of them, unless it has very many rows."""
    return _draws_of(draws, _all_parts(draws, metrics, reference))


def _draws_of(draws: PosteriorDraws, parts: Sequence[_Part]) -> int:
    length = sum(len(part.columns) for part in parts)
    return min(draws.n_draws, max(_VALUES // length, _FEWEST_DRAWS))


def _all_parts(draws: PosteriorDraws, metrics: Sequence[Any], reference: int) -> list[_Part]:
    return [part for name in metrics or usual_metrics(draws) for part in _parts(draws, name, reference)]


def usual_metrics(draws: PosteriorDraws) -> list[str]:
    """The metrics of the plain table."""
    names = ("accuracy", *CLASS_METRICS) if draws.classes else DEFAULT_METRICS
    return [m for m in names if len(draws.counts.groups) > 1 or not draws.parsed(m).between_groups]


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
    metric = draws.parsed(name)
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
