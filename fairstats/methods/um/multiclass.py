"""`um_multiclass`: posteriors of fairness metrics with more than two classes (the paper's appendix 8)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fairstats.ground.encoding import as_column, factorize, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import encode_groups
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import Result, check_choice
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.checks import check_draws, check_share
from fairstats.methods.um.draws import DirichletSampler
from fairstats.methods.um.evaluate import evaluate
from fairstats.methods.um.hdi import shortest_interval
from fairstats.methods.um.result import warn_of_undefined

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MULTICLASS_METRICS", "UmMulticlass", "um_multiclass"]


def _rates(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Selected, true and labelled counts per group and class, and rows per group, of counts (n, G, J, J)."""
    selected, labelled = counts.sum(axis=-2), counts.sum(axis=-1)
    return selected, np.diagonal(counts, axis1=-2, axis2=-1), labelled, counts.sum(axis=(-2, -1))


def _gap(values: NDArray[np.float64], axis: int = 1) -> NDArray[np.float64]:
    return np.asarray(values.max(axis=axis) - values.min(axis=axis))


def _share(part: Any, whole: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)


def _dp_micro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    selected, _, _, rows = _rates(counts)
    return _gap(_share(selected.sum(axis=-1), rows * counts.shape[-1]))


def _eop_micro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    _, true, labelled, _ = _rates(counts)
    return _gap(_share(true.sum(axis=-1), labelled.sum(axis=-1)))


def _class_weights(labelled: NDArray[np.float64]) -> NDArray[np.float64]:
    """p(y = j) over all groups."""
    total = labelled.sum(axis=1)
    return np.asarray(_share(total, total.sum(axis=-1, keepdims=True)))


def _dp_macro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    selected, _, labelled, rows = _rates(counts)
    return np.asarray((_class_weights(labelled) * _gap(_share(selected, rows[..., None]))).sum(axis=-1))


def _eop_macro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    _, true, labelled, _ = _rates(counts)
    return np.asarray((_class_weights(labelled) * _gap(_share(true, labelled))).sum(axis=-1))


def _dp_macro_micro(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    selected, _, labelled, rows = _rates(counts)
    whole = rows[..., None]
    return _gap((_share(labelled, whole) * _share(selected, whole)).sum(axis=-1))


def _accuracy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    _, true, _, rows = _rates(counts)
    return np.asarray(_share(true.sum(axis=(-2, -1)), rows.sum(axis=-1)))


#: Name → function of counts (draws, G, J, J).
MULTICLASS_METRICS = {
    "accuracy": _accuracy,
    "demographic_parity_micro": _dp_micro,
    "equal_opportunity_micro": _eop_micro,
    "demographic_parity_macro": _dp_macro,
    "equal_opportunity_macro": _eop_macro,
    "demographic_parity_macro_micro": _dp_macro_micro,
    "equal_opportunity_macro_micro": _eop_micro,
}


@serialisable
@dataclass(frozen=True, eq=False)
class UmMulticlass(Result):
    """Joint posterior of multi-class metrics.

    Attributes
    ----------
    groups, classes : tuple of str
    cells : ndarray of float, shape (G, J, J)
        Counts by group, label and prediction.
    prior : float
        Dirichlet parameter of every cell, 4α/J².
    n_draws : int
    target : {"parameter", "predictive"}
    entropy : int
        Seed of the draws.
    """

    groups: tuple[str, ...]
    classes: tuple[str, ...]
    cells: NDArray[np.float64]
    prior: float
    n_draws: int
    target: str
    entropy: int

    title: ClassVar[str] = "Uncertainty Matters: several classes"

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
        n_groups, n_classes = self.cells.shape[:2]
        sizes = self.cells.sum(axis=(1, 2))
        predictive = self.target == "predictive"
        sampler = DirichletSampler(
            self.prior + self.cells.reshape(n_groups, -1),
            np.ones(n_groups) if predictive else sizes,
            self.entropy,
            sizes.astype(np.int64) if predictive else None,
        )

        def block(index: int, first: int, last: int) -> NDArray[np.float64]:
            return sampler.block(index, last - first).reshape(-1, n_groups, n_classes, n_classes)

        function = MULTICLASS_METRICS[name]
        draws = evaluate(block, self.n_draws, [lambda counts, _: function(counts)], 0)[0]
        warn_of_undefined(name, draws)
        return draws

    def rows(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """One row per metric."""
        level = check_share("prob", prob)
        nan = float("nan")
        rows = []
        for name, function in MULTICLASS_METRICS.items():
            draws = self.metric(name)
            known = draws[~np.isnan(draws)]
            low, high = shortest_interval(known, level)
            rows.append(
                {
                    "metric": name,
                    "group": "all" if name == "accuracy" else "largest gap",
                    "reference": "",
                    "estimate": float(known.mean()) if known.size else nan,
                    "std_error": float(known.std(ddof=1)) if known.size > 1 else nan,
                    "ci_low": low,
                    "ci_high": high,
                    **dict.fromkeys(("statistic", "pvalue", "pvalue_adjusted"), nan),
                    "n": int(self.cells.sum()),
                    "method": f"{self.target}, HDI",
                    "backend": "exact",
                    "observed": float(function(self.cells[None])[0]),
                    "undefined": 1 - known.size / draws.size,
                }
            )
        return rows

    def notes(self) -> list[str]:
        """What the averages mean."""
        return [
            f"{len(self.classes)} classes, {self.n_draws:,} draws, target: {self.target}; intervals are 95%.",
            "demographic_parity_micro is always 0 (a group selects 1/J of its row × class pairs); "
            "equal_opportunity_micro and _macro_micro are the gap of the groups' accuracies. Prefer _macro.",
        ]


def um_multiclass(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    prior: float = 1.0,
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
    prior : float, default 1.0
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
    check_choice("target", target, ("parameter", "predictive"))
    number = check_draws(draws)
    if (
        isinstance(prior, bool)
        or not isinstance(prior, (int, float))
        or not (np.isfinite(prior) and prior > 0)
    ):
        raise InputError("prior", got=repr(prior), allowed="a number above 0", cure="1.0")
    generator, seed = as_generator(rng)
    grouping = encode_groups(sensitive_features, groups=groups)
    true, predicted = (as_column(v, name) for v, name in ((y_true, "y_true"), (y_pred, "y_pred")))
    n = grouping.codes.size
    if len(true) != n or len(predicted) != n:
        raise InputError(
            "y_true, y_pred",
            got=f"{len(true):,} and {len(predicted):,} rows for {n:,} sensitive values",
            allowed="columns of one length",
            cure="take all columns from the same rows",
        )
    both = factorize(np.concatenate([np.asarray(true), np.asarray(predicted)]), "y_true")
    if both.has_missing or (grouping.codes < 0).any():
        raise InputError(
            "y_true, y_pred, sensitive_features",
            got="missing values",
            allowed="complete rows",
            cure="leave out the rows with missing values",
        )
    J, G = len(both.levels), len(grouping.labels)
    if J < 2 or G < 2:
        raise InputError(
            "y_true" if J < 2 else "sensitive_features",
            got=f"{J} classes and {G} groups",
            allowed="two of each or more",
            cure="compare groups on a question with several answers",
        )
    code = (grouping.codes.astype(np.int64) * J + both.codes[:n]) * J + both.codes[n:]
    cells = np.bincount(code, minlength=G * J * J).reshape(G, J, J).astype(np.float64)
    return UmMulticlass(
        groups=grouping.labels,
        classes=tuple(label_text(level) for level in both.levels),
        cells=cells,
        prior=4.0 * float(prior) / J**2,
        n_draws=number,
        target=target,
        entropy=int(generator.integers(2**62)) if seed is None else seed,
    )
