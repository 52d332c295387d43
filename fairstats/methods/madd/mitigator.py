"""Post-processing that brings the score distributions of groups together, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator

from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.outcomes import Outcomes
from fairstats.methods.madd.curve import curve_of
from fairstats.methods.madd.losses import (
    LabelledSample,
    error_losses,
    fairness_losses,
    log_loss,
    mapped_losses,
)
from fairstats.methods.madd.mapping import MixtureCdfs
from fairstats.methods.madd.mitigation import MitigationResult, mitigation_effect
from fairstats.methods.madd.mitigation_input import is_real, is_whole, label_pair, labelled, read_scores
from fairstats.methods.madd.scores import Sample
from fairstats.methods.madd.settings import bins_of_bandwidth
from fairstats.methods.madd.stable import stable_bandwidth

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["MaddMitigator"]

Loss = Literal["error", "log_loss"] | Callable[[Any, Any], float]


class MaddMitigator(BaseEstimator):  # type: ignore[misc]
    """Move the scores of every group towards the distribution of all (section 6 of Verger et al.).

    A score p of group s becomes (F_s^λ)⁻¹(F_s(p)) with F_s^λ = (1 − λ)F_s + λF. `fit` finds the λ with the
    least (1 − θ)·loss + θ·MADD/2 on validation data; `transform` maps any further scores with the fitted
    distributions.

    Parameters
    ----------
    theta : float, default 0.5
        θ in [0, 1]: weight of fairness against accuracy.
    loss : {"error", "log_loss"} or callable, default "error"
        Accuracy loss: share of wrong predictions, cross-entropy, or a function of (labels 0/1, mapped
        scores).
    threshold : float, default 0.5
        t in (0, 1]: scores from it on predict the favourable label.
    n_lambdas : int, default 1000
        Values of λ tried, evenly from 0 to 1.
    bandwidth : "auto" or float, default "auto"
        Bins in which MADD is computed, the same for every λ: "auto" takes the coarsest bandwidth of the
        stable stretch of the scores before mitigation; a number h makes ⌊1/h⌋ bins.
    pos_label : scalar, optional
        The favourable label; not needed for 0/1, False/True, −1/1.

    Attributes
    ----------
    lambda_ : float
        The λ of the least loss, the smallest of equals. The optimum is flat: other data give another.
    loss_curve_ : DataFrame
        lambda_, loss, accuracy_loss, fairness_loss, on the data of the fit.
    n_bins_ : int
        Bins of the fairness loss.
    groups_ : tuple of str
    cdfs_ : dict of str to (values, heights)
        Corners of the fitted F_s.
    maps_ : MixtureCdfs
    classes_ : ndarray
        The unfavourable and the favourable label.

    Raises
    ------
    InputError
        For parameters out of range, scores outside [0, 1], a group without rows, or a new group in
        `transform`.

    Notes
    -----
    Order within a group is kept. For scores without ties MADD(λ) is close to (1 − λ)·MADD(0) on the data of
    the fit by construction, so judge the effect by `evaluate` on rows that the search has not seen. A
    monotone map cannot split an atom: scores with few distinct values may stay apart. F_s is the
    mid-distribution function, linear between fitted scores, so that scores never seen are mapped, too.

    References
    ----------
    .. [1] Verger et al. (2024). JEDM 16(1), 365–409: section 6.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat(["a", "b"], 2000)
    >>> score = np.concatenate([rng.beta(2, 4, 2000), rng.beta(4, 2, 2000)])
    >>> y = rng.random(4000) < score
    >>> half = np.arange(4000) % 2 == 0
    >>> mitigator = fs.MaddMitigator(theta=0.5).fit(score[half], y[half], sensitive_features=group[half])
    >>> effect = mitigator.evaluate(score[~half], y[~half], sensitive_features=group[~half], rng=1)
    >>> print(f"MADD {effect.before.estimate:.2f} → {effect.after.estimate:.2f}")
    MADD 1.27 → 0.29
    """

    def __init__(
        self,
        theta: float = 0.5,
        loss: Loss = "error",
        threshold: float = 0.5,
        n_lambdas: int = 1000,
        bandwidth: float | Literal["auto"] = "auto",
        pos_label: Any = None,
    ) -> None:
        self.theta = theta
        self.loss = loss
        self.threshold = threshold
        self.n_lambdas = n_lambdas
        self.bandwidth = bandwidth
        self.pos_label = pos_label

    def fit(self, score: Any, y: Any, *, sensitive_features: Any) -> Self:
        """Fit the distributions and find λ.

        Parameters
        ----------
        score : array-like of float, shape (n,)
            Scores in [0, 1] of validation data.
        y : array-like, shape (n,)
            Labels with two values.
        sensitive_features : array-like (n,) or (n, k), data frame or mapping

        Returns
        -------
        MaddMitigator
            Itself.

        Warns
        -----
        DataWarning
            Where a group has fewer distinct scores than bins, and than half its rows.
        """
        self._check_parameters()
        outcomes = Outcomes.from_arrays(
            y, score=score, sensitive_features=sensitive_features, pos_label=self.pos_label
        )
        samples = labelled(outcomes)
        self.groups_ = outcomes.groups.labels
        self.classes_ = label_pair(y, self.pos_label)
        self.maps_ = MixtureCdfs.fit([s.scores for s in samples])
        self.cdfs_ = {
            name: (cdf.values, cdf.heights) for name, cdf in zip(self.groups_, self.maps_.cdfs, strict=True)
        }
        self.n_bins_ = self._bins(samples)
        self._warn_of_ties(samples)
        self.loss_curve_ = self._losses(samples)
        self.lambda_ = float(self.loss_curve_["lambda_"].iloc[int(self.loss_curve_["loss"].argmin())])
        return self

    def transform(self, score: Any, *, sensitive_features: Any) -> NDArray[np.float64]:
        """Map scores, of the fit or new.

        Parameters
        ----------
        score : array-like of float, shape (n,)
            Scores in [0, 1]; values never seen, ties and values beyond those of the fit are mapped, too.
        sensitive_features : array-like (n,) or (n, k), data frame or mapping
            Groups of the fit.

        Returns
        -------
        ndarray, shape (n,)
            In [0, 1], in the order of the rows; within a group in the order of `score`.
        """
        self._check_fitted()
        scores, codes = read_scores(score, sensitive_features, self.groups_)
        mapped = np.empty_like(scores)
        for g in range(len(self.groups_)):
            rows = codes == g
            mapped[rows] = self.maps_.map(scores[rows], g, self.lambda_)
        return mapped

    def predict(self, score: Any, *, sensitive_features: Any) -> NDArray[Any]:
        """Labels predicted by the mapped scores, shape (n,)."""
        mapped = self.transform(score, sensitive_features=sensitive_features)
        return np.asarray(self.classes_[(mapped >= self.threshold).astype(np.intp)])

    def evaluate(
        self, score: Any, y: Any, *, sensitive_features: Any, rng: Any = None, **options: Any
    ) -> MitigationResult:
        """Effect of the map on rows that the search has not seen.

        Parameters
        ----------
        score, y, sensitive_features
            As in `fit`, of other rows.
        rng : None, int or numpy.random.Generator
        **options
            Of `madd`, for both the scores as they are and the mapped ones.

        Returns
        -------
        MitigationResult
            MADD and error before and after, and the paired change of the error.

        Warns
        -----
        DataWarning
            If these are the rows of the fit.
        """
        self._check_fitted()
        outcomes = Outcomes.from_arrays(
            y, score=score, sensitive_features=sensitive_features, pos_label=self.pos_label
        )
        if self._seen(outcomes):
            text = "the rows are those that λ was searched on, where the effect is at its largest"
            warn(f"MaddMitigator.evaluate: {text}; pass other rows.", DataWarning, stacklevel=2)
        return mitigation_effect(
            outcomes,
            self.transform(score, sensitive_features=sensitive_features),
            lambda_=self.lambda_,
            threshold=float(self.threshold),
            rng=rng,
            options=options,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the three losses against λ; see `fairstats.plots.madd.plot_losses`."""
        from fairstats.plots.madd import plot_losses

        self._check_fitted()
        return plot_losses(self, ax=ax)

    def _check_parameters(self) -> None:
        checks = (
            ("theta", is_real(self.theta) and 0 <= self.theta <= 1, "a weight from 0 to 1", "0.5"),
            ("threshold", is_real(self.threshold) and 0 < self.threshold <= 1, "a score in (0, 1]", "0.5"),
            ("n_lambdas", is_whole(self.n_lambdas) and self.n_lambdas >= 2, "a whole number ≥ 2", "1000"),
            (
                "loss",
                callable(self.loss) or (isinstance(self.loss, str) and self.loss in ("error", "log_loss")),
                "'error', 'log_loss' or a function of (labels, scores)",
                "the paper's is 'error'",
            ),
        )
        for argument, fine, allowed, cure in checks:
            if not fine:
                raise InputError(argument, got=repr(getattr(self, argument)), allowed=allowed, cure=cure)
        self._given_bins()

    def _warn_of_ties(self, samples: list[LabelledSample]) -> None:
        distinct = [int(np.unique(s.scores).size) for s in samples]
        tied = [
            f"{name!r} ({k} values)"
            for name, k, s in zip(self.groups_, distinct, samples, strict=True)
            if k < min(self.n_bins_, s.scores.size / 2)
        ]
        if tied:
            text = f"the scores of {', '.join(tied)} are tied: a monotone map cannot split a value"
            cure = "and narrow bins see the mapped values apart; use scores with more values"
            warn(f"MaddMitigator: {text}, {cure}.", DataWarning, stacklevel=3)

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "lambda_")

    def _given_bins(self) -> int | None:
        automatic = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        return None if automatic else bins_of_bandwidth(self.bandwidth)

    def _bins(self, samples: list[LabelledSample]) -> int:
        given = self._given_bins()
        if given is not None:
            return given
        sides = [Sample(s.scores) for s in samples]
        curves = [
            curve_of(sides[i], sides[j], 1000, (self.groups_[i], self.groups_[j]))
            for i, j in combinations(range(len(sides)), 2)
        ]
        return max(stable_bandwidth(curve).n_bins[0] for curve in curves)

    def _losses(self, samples: list[LabelledSample]) -> pd.DataFrame:
        import pandas as pd

        lambdas = np.linspace(0, 1, self.n_lambdas)
        if callable(self.loss):
            accuracy = mapped_losses(self.maps_, samples, lambdas, self.loss)
        elif self.loss == "log_loss":
            accuracy = mapped_losses(self.maps_, samples, lambdas, log_loss)
        else:
            accuracy = error_losses(self.maps_, samples, lambdas, float(self.threshold))
        fairness = fairness_losses(self.maps_, samples, lambdas, self.n_bins_)
        return pd.DataFrame(
            {
                "lambda_": lambdas,
                "loss": (1 - self.theta) * accuracy + self.theta * fairness,
                "accuracy_loss": accuracy,
                "fairness_loss": fairness,
            }
        )

    def _seen(self, outcomes: Outcomes) -> bool:
        """Whether every group has just the scores of the fit."""
        if outcomes.groups.labels != self.groups_:
            return False
        for g, cdf in enumerate(self.maps_.cdfs):
            own = np.asarray(outcomes.score)[outcomes.groups.codes == g]
            if own.size != cdf.n or not np.array_equal(MixtureCdfs.fit([own]).cdfs[0].heights, cdf.heights):
                return False
            if not np.array_equal(MixtureCdfs.fit([own]).cdfs[0].values, cdf.values):
                return False
        return True
