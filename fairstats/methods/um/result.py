"""What `um_posterior` and `um_cross_validate` return: counts, prior, seed, and draws of any metric."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.ground.groups import group_index
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.checks import MOST_UNDEFINED
from fairstats.methods.um.definitions import Metric, parse_metric
from fairstats.methods.um.draws import DirichletSampler, multinomial_counts
from fairstats.methods.um.evaluate import Evaluator, evaluate, evaluator, name_of
from fairstats.methods.um.evaluation_counts import EvaluationCounts, Rows
from fairstats.methods.um.origin import CrossValidation, Diagnostics
from fairstats.methods.um.sentences import posterior_notes
from fairstats.methods.um.table import metric_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fairstats.numerics.hdr.result import HdrResult

__all__ = ["UmPosterior"]

#: Draws up to this size are kept; larger runs are drawn again for every call, with the same numbers.
_KEPT_BYTES = 1 << 27


@serialisable
@dataclass(frozen=True, eq=False)
class UmPosterior(Result):
    """Joint posterior of every metric of the confusion counts.

    Nothing is drawn before a metric is asked for; the draws follow from counts, prior and seed, so that a
    stored result gives the same numbers.

    Attributes
    ----------
    counts : EvaluationCounts
        Counts per group in the order tp, tn, fp, fn; effective ones after cross-validation.
    prior : ndarray of float, shape (G, 4)
        Dirichlet parameters before the data.
    n_draws : int
    target : {"parameter", "predictive"}
    engine : str
        "exact", or the sampler that gave `stored`.
    entropy : int
        Seed of the draws.
    reference : str
        Group that the others are compared with.
    reference_rule : {"named", "largest"}
    cross_validation : CrossValidation or None
        Folds, correlations and effective counts.
    diagnostics : Diagnostics or None
        Convergence of a sampler.
    stored : ndarray of float, shape (n_draws, G, 4), or None
        Cell probabilities that a sampler gave.
    table_metrics : tuple of str
        Metrics of the table; empty for the usual ones.
    table_prob, table_rope : float
        Level of its intervals, and its region of practical equivalence.
    """

    counts: EvaluationCounts
    prior: NDArray[np.float64]
    n_draws: int = 10_000
    target: str = "parameter"
    engine: str = "exact"
    entropy: int = 0
    reference: str = ""
    reference_rule: str = "largest"
    cross_validation: CrossValidation | None = None
    diagnostics: Diagnostics | None = None
    stored: NDArray[np.float64] | None = None
    table_metrics: tuple[str, ...] = ()
    table_prob: float = 0.95
    table_rope: float = 0.01
    _rows: Rows | None = field(default=None, init=False, repr=False)
    _blocks: dict[int, Any] = field(default_factory=dict, init=False, repr=False)
    _inference: Any = field(default=None, init=False, repr=False)

    title: ClassVar[str] = "Uncertainty Matters: posterior of the metrics"

    # ------------------------------------------------------------ draws

    @property
    def groups(self) -> tuple[str, ...]:
        """Group labels."""
        return self.counts.groups

    @property
    def reference_index(self) -> int:
        """Position of the reference group."""
        return self.groups.index(self.reference)

    @property
    def sampler(self) -> DirichletSampler:
        """The Dirichlet posterior of every group, and what its draws are scaled to."""
        sizes = self.counts.sizes
        if self.target == "parameter":
            return DirichletSampler(self.prior + self.counts.cells, sizes, self.entropy)
        trials = np.rint(self.counts.totals).astype(np.int64)
        scale = np.divide(sizes, trials, out=np.ones_like(sizes), where=trials > 0)
        return DirichletSampler(self.prior + self.counts.cells, scale, self.entropy, trials)

    def _block(self, index: int, first: int, last: int) -> NDArray[np.float64]:
        if self.stored is not None:
            return self._stored_block(self.stored[first:last], index)
        if index in self._blocks and len(self._blocks[index]) >= last - first:
            return np.asarray(self._blocks[index][: last - first])
        counts = self.sampler.block(index, last - first)
        if self.n_draws * self.counts.cells.size * 8 <= _KEPT_BYTES and last - first > 2:
            self._blocks[index] = counts
        return counts

    def _stored_block(self, pi: NDArray[np.float64], index: int) -> NDArray[np.float64]:
        """A sampler's draws as counts: expected ones, or those of a next test set."""
        sampler = self.sampler
        if sampler.trials is None:
            return np.asarray(pi * self.counts.sizes[:, None])
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 1)))
        cells = pi.transpose(2, 1, 0)
        drawn = multinomial_counts(cells, cells.sum(axis=0), sampler.trials, rng)
        return (drawn * sampler.scale[:, None]).transpose(2, 1, 0)

    @property
    def draws(self) -> NDArray[np.float64]:
        """Counts of shape (n_draws, G, 4) in the order tp, tn, fp, fn: what the metrics are functions of.

        Expected counts N_s·π_s under ``target="parameter"``, with N_s the rows evaluated; counts of the next
        test set under "predictive".
        """
        return evaluate(self._block, self.n_draws, [lambda counts, _: counts], 0)[0]

    def metric(
        self,
        name: str | Callable[[Any], Any],
        *,
        group: Hashable | None = None,
        by_group: bool = False,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Draws of one metric.

        Parameters
        ----------
        name : str or callable
            "accuracy", "balanced_accuracy", "f1", "tpr", "tnr", "fpr", "fnr", "ppv", "npv",
            "selection_rate", "base_rate", "mcc", "error_ratio" (FN/FP): of all rows. "demographic_parity",
            "equal_opportunity", "predictive_equality", "predictive_parity", "equalized_odds",
            "treatment_equality": between groups. All of them may end in "_difference" (group − reference;
            the default of the latter), "_absolute", "_ratio" or "_max" (largest gap between any two groups).
            A function gets counts of shape (draws, G, 4), last axis tp, tn, fp, fn, and returns one entry
            per draw.
        group : hashable, optional
            A rate of this group instead of all rows.
        by_group : bool, default False
            A rate of every group, shape (n_draws, G).
        n_jobs : int, optional
            Threads; the numbers do not depend on it.

        Returns
        -------
        ndarray
            Shape (n_draws,); (n_draws, G − 1) for a comparison with the reference among more than two
            groups; with a last axis (TPR, FPR) for equalized odds.

        Raises
        ------
        InputError
            Unknown name, unknown group, a comparison of one group.

        Warns
        -----
        InsufficientEvidenceWarning
            Where over 5% of the draws are undefined (0/0); they are NaN.
        """
        return self.metrics([name], group=group, by_group=by_group, n_jobs=n_jobs)[name_of(name)]

    def metrics(
        self,
        names: Sequence[str | Callable[[Any], Any]],
        *,
        group: Hashable | None = None,
        by_group: bool = False,
        n_jobs: int | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Draws of several metrics from the same joint draws, in one pass; see `metric`."""
        keys = [name_of(name) for name in names]
        if len(set(keys)) < len(keys):
            raise InputError("metrics", got=repr(keys), allowed="distinct names", cure="rename a function")
        values = evaluate(
            self._block,
            self.n_draws,
            [self.evaluator_of(name, group=group, by_group=by_group) for name in names],
            self.reference_index,
            n_jobs,
        )
        found = dict(zip(keys, map(_without_single_axis, values), strict=True))
        for key, draws in found.items():
            warn_of_undefined(key, draws)
        return found

    def evaluator_of(self, name: Any, *, group: Hashable | None = None, by_group: bool = False) -> Evaluator:
        """The function of counts and reference behind a name."""
        if callable(name):
            return evaluator(name)
        metric = parse_metric(name)
        if group is not None or by_group:
            if metric.between_groups:
                raise InputError(
                    "metric",
                    got=f"{name!r} of one group",
                    allowed="a rate, such as 'tpr'",
                    cure="leave out group= and by_group=",
                )
            if by_group:
                return lambda counts, _: metric.by_group(counts)
            index = group_index(self.groups, group, "group")
            return lambda counts, _: metric.by_group(counts[:, [index]])[:, 0]
        self._needs_two_groups(metric)
        return metric.values

    def _needs_two_groups(self, metric: Metric) -> None:
        if metric.between_groups and len(self.groups) < 2:
            raise InputError(
                "metric",
                got=f"{metric.name!r} with one group ({self.groups[0]!r})",
                allowed="metrics of all rows, such as 'accuracy'",
                cure="pass at least two groups to compare them",
            )

    def hdr(self, names: Any, prob: Any = 0.95, *, backend: str | None = None, **options: Any) -> HdrResult:
        """Highest density region of one metric, or of several jointly; see `fs.hdr`.

        Parameters
        ----------
        names : str, callable, or sequence of them
            Metrics with one value per draw; equalized odds has two.
        prob : float or sequence of float, default 0.95
        backend, **options
            Of `fs.hdr`.
        """
        from fairstats.numerics.hdr.region import hdr

        wanted = [names] if isinstance(names, str) or callable(names) else list(names)
        columns = np.column_stack([v.reshape(self.n_draws, -1) for v in self.metrics(wanted).values()])
        columns = columns[~np.isnan(columns).any(axis=1)]
        return hdr(columns[:, 0] if columns.shape[1] == 1 else columns, prob, backend=backend, **options)

    # ------------------------------------------------------------ tables

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table for the usual metrics."""
        return metric_rows(self, self.table_metrics or None, self.table_prob, self.table_rope)

    def to_frame(
        self, metrics: Sequence[Any] | None = None, *, prob: float | None = None, rope: float | None = None
    ) -> pd.DataFrame:
        """One row per metric and group.

        Parameters
        ----------
        metrics : sequence of str or callable, optional
            Default: the usual rates and differences.
        prob : float, optional
            Of the shortest interval; default 0.95.
        rope : float, optional
            Half-width of the region of practical equivalence of a difference; default 0.01.

        Returns
        -------
        DataFrame
            The tidy columns — `estimate` is the posterior mean, `std_error` the posterior standard
            deviation, `ci_low` and `ci_high` the ends of the shortest interval (HDI) —, then ``median``,
            ``observed`` (the metric of the counts), ``rope``, ``p_rope`` = P(|difference| ≤ rope),
            ``mc_error`` of the mean, ``undefined`` (share of draws 0/0),
            ``confidence_level`` (probability that the interval holds).
        """
        import pandas as pd

        from fairstats.ground.results import TIDY_COLUMNS

        rows = metric_rows(
            self,
            self.table_metrics or None if metrics is None else metrics,
            self.table_prob if prob is None else prob,
            self.table_rope if rope is None else rope,
        )
        extra = [name for name in rows[0] if name not in TIDY_COLUMNS]
        return pd.DataFrame(rows, columns=[*TIDY_COLUMNS, *extra])

    def summary(
        self, metrics: Sequence[Any] | None = None, *, prob: float | None = None, rope: float | None = None
    ) -> str:
        """The table of `to_frame` as text, with notes."""
        frame = self.to_frame(metrics, prob=prob, rope=rope)
        table = frame[self.summary_columns(frame)].rename(columns={"estimate": "mean", "std_error": "sd"})
        text = table.to_string(index=False, float_format=lambda v: f"{v:.4g}", na_rep="—")
        return "\n".join([self.title, text, *self.notes()])

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        shown = ["metric", "group", "reference", "estimate", "std_error", "ci_low", "ci_high", "p_rope"]
        if (frame["undefined"] > 0).any():
            shown.append("undefined")
        return [c for c in shown if not (frame[c].isna() | (frame[c] == "")).all()]

    def notes(self) -> list[str]:
        """Target, prior, reference, where the counts come from."""
        return posterior_notes(self)

    def to_arviz(self) -> Any:
        """The draws for ArviZ: InferenceData (0.x) or DataTree (1.x).

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            Group ``posterior`` with ``pi`` (chain, draw, group, cell), the cell probabilities, and group
            ``observed_data`` with ``counts`` (group, cell); ``posterior_predictive`` with the counts of the
            next test sets under that target. After a sampler: what the sampler returned.

        Raises
        ------
        MissingDependencyError
            Without ArviZ.
        """
        from fairstats.methods.um.arviz_door import from_posterior

        return self._inference if self._inference is not None else from_posterior(self)

    def plot(self, metrics: Any = None, ax: Axes | None = None, *, prob: float = 0.95) -> Axes:
        """Draw the density of one metric with its HDR, or the joint HDR of two.

        Parameters
        ----------
        metrics : str, callable or two of them, optional
            Default: equal opportunity against accuracy where there are two groups, else accuracy.
        ax : matplotlib.axes.Axes, optional
        prob : float, default 0.95
        """
        from fairstats.plots.um import plot_posterior

        if metrics is None:
            metrics = ("accuracy", "equal_opportunity_max") if len(self.groups) > 1 else ("accuracy",)
        wanted = (metrics,) if isinstance(metrics, str) or callable(metrics) else tuple(metrics)
        region = self.hdr(wanted, prob)
        return plot_posterior(region, tuple(name_of(m) for m in wanted), ax)


def _without_single_axis(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """One comparison needs no axis of comparisons."""
    return draws[:, 0] if draws.ndim > 1 and draws.shape[1] == 1 else draws


def warn_of_undefined(key: str, draws: NDArray[np.float64]) -> None:
    """Warn where too many draws are NaN."""
    share = float(np.isnan(draws).any(axis=tuple(range(1, draws.ndim))).mean())
    if share > MOST_UNDEFINED:
        caution(
            f"{key}: {share:.1%} of the draws are undefined (0/0, a drawn group without the cases); "
            "they are NaN and left out of summaries.",
            InsufficientEvidenceWarning,
        )
