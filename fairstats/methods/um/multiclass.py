"""`um_multiclass`: posteriors of fairness metrics with more than two classes (the paper's appendix 8)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_number
from fairstats.ground.encoding import as_column, factorize, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import Grouping, encode_groups
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import counts_or_rows
from fairstats.methods.um.draws import DirichletSampler, as_counts, evaluate, prior_value, warn_of_undefined
from fairstats.methods.um.posterior import Request
from fairstats.methods.um.result import NO_TEST
from fairstats.methods.um.table import PosteriorRow, describe


def _share(part: Any, whole: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)


class _Table:
    """Sums over counts (draws, G, J, J), last two axes label and prediction.

    `selected`, `true` and `labelled` per group and class, `rows` per group (with an axis of classes).
    """

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self.selected, self.labelled = counts.sum(axis=-2), counts.sum(axis=-1)
        self.true = np.diagonal(counts, axis1=-2, axis2=-1)
        self.rows = self.labelled.sum(axis=-1, keepdims=True)

    def gap(self, part: Any, whole: Any) -> NDArray[np.float64]:
        """Largest difference between groups of a share."""
        values = _share(part, whole)
        return np.asarray(values.max(axis=1) - values.min(axis=1))

    def macro(self, part: Any, whole: Any) -> NDArray[np.float64]:
        """Gaps of the classes, averaged with p(y = j) over all groups."""
        total = self.labelled.sum(axis=1)
        weights = _share(total, total.sum(axis=-1, keepdims=True))
        return np.asarray((weights * self.gap(part, whole)).sum(axis=-1))


def _equal_accuracy(t: _Table) -> NDArray[np.float64]:
    return t.gap(t.true.sum(axis=-1), t.labelled.sum(axis=-1))


def _dp_micro(t: _Table) -> NDArray[np.float64]:
    found = t.gap(t.selected.sum(axis=-1), t.rows[..., 0] * t.selected.shape[-1])
    return np.asarray(np.where(np.abs(found) < 1e-12, 0.0, found))  # 0, but for the rounding of sums


def _dp_macro_micro(t: _Table) -> NDArray[np.float64]:
    averaged = (_share(t.labelled, t.rows) * _share(t.selected, t.rows)).sum(axis=-1)
    return t.gap(averaged, np.ones_like(averaged))


#: Name → function of the sums.
MULTICLASS_METRICS: dict[str, Callable[[_Table], NDArray[np.float64]]] = {
    "accuracy": lambda t: np.asarray(_share(t.true.sum(axis=(1, 2)), t.rows.sum(axis=(1, 2)))),
    "demographic_parity_micro": _dp_micro, "equal_opportunity_micro": _equal_accuracy,
    "demographic_parity_macro": lambda t: t.macro(t.selected, t.rows),
    "equal_opportunity_macro": lambda t: t.macro(t.true, t.labelled),
    "demographic_parity_macro_micro": _dp_macro_micro, "equal_opportunity_macro_micro": _equal_accuracy,
}  # fmt: skip


@serialisable
@dataclass(frozen=True, eq=False)
class UmMulticlass(Result):
    """Joint posterior of multi-class metrics.

    `cells`, shape (G, J, J), has the counts by group, label and prediction; `prior` is the Dirichlet
    parameter of every cell, 4α/J²; `target` is "parameter" or "predictive"; `entropy` seeds the draws.
    """

    groups: tuple[str, ...]
    classes: tuple[str, ...]
    cells: NDArray[np.float64]
    prior: float
    n_draws: int
    target: str
    entropy: int

    title: ClassVar[str] = "Uncertainty Matters: several classes"
    backend: ClassVar[str] = "exact"
    lacks: ClassVar[dict[str, str]] = {**NO_TEST, "plot": "draw .metric(name)"}

    def metric(self, name: str) -> NDArray[np.float64]:
        """Draws of a metric, shape (n_draws,); NaN where a drawn group lacks a class.

        Parameters
        ----------
        name : str
            "accuracy", "demographic_parity" or "equal_opportunity" with "_micro", "_macro" or "_macro_micro".

        Warns
        -----
        InsufficientEvidenceWarning
            Where over 5% of the draws are undefined.
        """
        check_choice("name", name, tuple(MULTICLASS_METRICS))
        return self._draws([name])[:, 0]

    def _draws(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Draws of several metrics in one pass, shape (n_draws, metrics)."""
        n_groups, n_classes = self.cells.shape[:2]
        sizes, alpha = self.cells.sum(axis=(1, 2)), self.prior + self.cells.reshape(n_groups, -1)
        sampler = DirichletSampler(alpha, sizes, self.entropy)
        if self.target == "predictive":
            sampler = DirichletSampler(alpha, np.ones(n_groups), self.entropy, sizes.astype(np.int64))

        def block(index: int, first: int, last: int) -> NDArray[np.float64]:
            return sampler.block(index, last - first).reshape(-1, n_groups, n_classes, n_classes)

        def every(counts: NDArray[np.float64], _: int) -> NDArray[np.float64]:
            sums = _Table(counts)
            return np.stack([MULTICLASS_METRICS[name](sums) for name in names], axis=-1)

        draws = evaluate(block, self.n_draws, [every], 0)[0]
        for name, column in zip(names, draws.T, strict=True):
            warn_of_undefined(name, column)
        return draws

    @property
    def comparisons(self) -> tuple[PosteriorRow, ...]:
        """One row per metric, with its 95% shortest interval."""
        seen = _Table(self.cells[None])
        draws = self._draws(list(MULTICLASS_METRICS))
        return tuple(
            replace(
                describe(column, 0.95),
                metric=name,
                group="all" if name == "accuracy" else "largest gap",
                n=int(self.cells.sum()),
                observed=float(function(seen)[0]),
                method=f"{self.target}, HDI",
            )
            for (name, function), column in zip(MULTICLASS_METRICS.items(), draws.T, strict=True)
        )

    def __getitem__(self, metric: Any) -> PosteriorRow:
        """The row of a metric."""
        check_choice("metric", metric, tuple(MULTICLASS_METRICS))
        return self.comparisons[list(MULTICLASS_METRICS).index(metric)]

    def sentences(self) -> list[str]:
        """One sentence per metric."""
        return [row.sentence() for row in self.comparisons]

    def notes(self) -> list[str]:
        """What the averages mean."""
        return [
            f"{len(self.classes)} classes, {self.n_draws:,} draws, target: {self.target}; intervals are 95%.",
            "demographic_parity_micro is always 0 (a group selects 1/J of its row × class pairs); "
            "equal_opportunity_micro and _macro_micro are the gap of the groups' accuracies. Prefer _macro.",
        ]


def um_multiclass(
    y_true: Any = None,
    y_pred: Any = None,
    *,
    sensitive_features: Any = None,
    counts: Any = None,
    prior: float | str = 1.0,
    draws: int = 10_000,
    target: Literal["parameter", "predictive"] = "parameter",
    groups: Sequence[Hashable] | None = None,
    rng: Any = None,
) -> UmMulticlass:
    """Posterior of accuracy and fairness with J classes: micro, macro and macro-micro averages.

    Each group has one Dirichlet over its J × J table of label and prediction, so that the paper's 2 × 2
    tables of one class against the rest, which it treats apart, are drawn jointly.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels and predictions of any type; a class may occur in either.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
    counts : Tally, ConfusionCounts, mapping or frame, instead of rows
        Of two classes, 0 and 1, as in `um_posterior`.
    prior : float, "uniform", "jeffreys" or "perks", default 1.0
        α of the two-class model; a cell of the J × J table has 4α/J², the same in all.
    draws, target, groups, rng
        As in `um_posterior`.

    Returns
    -------
    UmMulticlass

    Raises
    ------
    InputError
        Missing values, one group, one class, and other input that cannot be used.

    Notes
    -----
    Micro-averaged demographic parity (the paper's equations 5 and 6) is Σ_j(TP + FP) over Σ_j N, which is
    1/J for every group and classifier: it is always 0. Micro-averaged equal opportunity is the gap of the
    groups' accuracies, and so is the macro-micro one (equation 15), since Σ_j p(y = j|s)·TPR_sj is the
    accuracy of group s. Only the macro averages (equations 9 to 12) look at the classes one by one.

    References
    ----------
    .. [1] Barrainkua et al. (2024), appendix 8, equations 4 to 16.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 3, 600)
    >>> predicted = np.where(rng.random(600) < 0.7, y, rng.integers(0, 3, 600))
    >>> result = fs.um_multiclass(y, predicted, sensitive_features=rng.integers(0, 2, 600), rng=1)
    >>> print(f"{result.metric('accuracy').mean():.2f}")
    0.78
    >>> print(f"{abs(result.metric('demographic_parity_micro')).max():.3f}")
    0.000
    """
    request = Request.checked(draws, target, None, rng)
    alpha = check_number("prior", prior_value(prior), low=0, high=1e6, open_low=True, cure="1.0")
    columns = {"y_true": y_true, "y_pred": y_pred, "sensitive_features": sensitive_features}
    if counts_or_rows(counts, needs=", ".join(columns), **columns):
        known, _ = as_counts(counts)
        classes: tuple[str, ...] = ("0", "1")
        names, cells = known.groups, known.totals[:, [3, 1, 2, 0]].reshape(-1, 2, 2)
    else:
        check_row_labels(**columns)
        names, classes, cells = _count(y_true, y_pred, encode_groups(sensitive_features, groups=groups))
    if len(classes) < 2 or len(names) < 2:
        name, got = "y_true" if len(classes) < 2 else "sensitive_features", f"{len(classes)} classes"
        cure = "compare groups on a question with several answers"
        raise InputError(name, got=f"{got} and {len(names)} groups", allowed="two of each or more", cure=cure)
    return UmMulticlass(
        groups=names, classes=classes, cells=cells, prior=4.0 * alpha / len(classes) ** 2,
        n_draws=request.draws, target=request.target, entropy=request.entropy,
    )  # fmt: skip


def _count(
    y_true: Any, y_pred: Any, grouping: Grouping
) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.float64]]:
    """Groups, classes and counts (G, J, J) of rows."""
    true, predicted = (as_column(v, name) for v, name in ((y_true, "y_true"), (y_pred, "y_pred")))
    n = grouping.codes.size
    if not len(true) == len(predicted) == n:
        rows = f"{len(true):,} and {len(predicted):,} rows for {n:,} sensitive values"
        cure = "take all columns from the same rows"
        raise InputError("y_true, y_pred", got=rows, allowed="columns of one length", cure=cure)
    both = factorize([*np.asarray(true, dtype=object), *np.asarray(predicted, dtype=object)], "y_true")
    if both.has_missing or (grouping.codes < 0).any():
        got, cure = "missing values", "leave out the rows with missing values"
        raise InputError("y_true, y_pred, sensitive_features", got=got, allowed="complete rows", cure=cure)
    J, G = len(both.levels), len(grouping.labels)
    code = (grouping.codes.astype(np.int64) * J + both.codes[:n]) * J + both.codes[n:]
    cells = np.bincount(code, minlength=G * J * J).reshape(G, J, J).astype(np.float64)
    return grouping.labels, tuple(label_text(level) for level in both.levels), cells
