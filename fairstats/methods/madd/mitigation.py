"""Mitigation: scores mapped to a common distribution, and MADD and error before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import bin_edges
from fairstats.methods.madd.result import MaddResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_LEAST_PROBABILITY = 1e-15


@serialisable
@dataclass(frozen=True, eq=False)
class MitigationResult(Result):
    """MADD and error `before` and `after`: of the scores as they were, and mapped.

    `estimate`, `confidence_interval`, `pvalue` and `verdict` are those of the MADD after the mitigation. Of n
    rows `wrong_before` and `wrong_after` were predicted wrongly; `only_before` are wrong before but not
    after, `only_after` the reverse.
    """

    before: MaddResult
    after: MaddResult
    lambda_: float
    threshold: float
    n: int
    wrong_before: int
    wrong_after: int
    only_before: int
    only_after: int
    confidence_level: float = 0.95

    title: ClassVar[str] = "MADD mitigation: before and after"
    backend: ClassVar[str] = "numpy"

    @property
    def comparisons(self) -> Any:
        """The comparisons of the MADD after the mitigation."""
        return self.after.comparisons

    @property
    def error_before(self) -> float:
        """Share of wrong predictions before."""
        return self.wrong_before / self.n

    @property
    def error_after(self) -> float:
        """Share of wrong predictions after."""
        return self.wrong_after / self.n

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table: MADD before and after, errors, and their paired change."""
        stages = {"before": (self.before, self.wrong_before), "after": (self.after, self.wrong_after)}
        found = [{**row, "stage": s} for s, (result, _) in stages.items() for row in result.rows()]
        errors = {s: self._error(wrong) for s, (_, wrong) in stages.items()} | {"change": self.change}
        more = {"reference": None, "confidence_level": self.confidence_level}
        return found + [{**c.row(self.backend), **more, "stage": s} for s, c in errors.items()]

    def _error(self, wrong: int) -> Comparison:
        from statsmodels.stats.proportion import proportion_confint

        level, share = self.confidence_level, wrong / self.n
        low, high = map(float, proportion_confint(wrong, self.n, alpha=1 - level, method="wilson"))
        return Comparison(
            metric="error",
            group="all",
            estimate=share,
            std_error=float((share * (1 - share) / self.n) ** 0.5),
            confidence_interval=Interval(low, high, level, "Wilson"),
            n=self.n,
            method="Wilson",
        )

    @property
    def change(self) -> Comparison:
        """Change of the error on the same rows, by the discordant ones; the exact McNemar p-value."""
        from scipy.stats import binomtest

        worse, better = self.only_after, self.only_before
        change, discordant = (worse - better) / self.n, worse + better
        spread = max(discordant - (worse - better) ** 2 / self.n, 0.0) ** 0.5 / self.n
        reach = normal_quantile((1 + self.confidence_level) / 2) * spread
        method = "paired difference"
        return Comparison(
            metric="error",
            group="all",
            estimate=change,
            std_error=spread,
            confidence_interval=Interval(change - reach, change + reach, self.confidence_level, method),
            pvalue=float(binomtest(worse, discordant).pvalue) if discordant else 1.0,
            n=self.n,
            method=method,
        )

    def sentences(self) -> list[str]:
        """MADD before and after, and what it cost."""
        change = self.change
        low, high = change.confidence_interval
        pairs = zip(self.before.comparisons, self.after.comparisons, strict=True)
        return [
            *(
                f"{b.group} against {b.reference}: MADD {b.estimate:.3f} before, {a.estimate:.3f} after."
                for b, a in pairs
            ),
            f"Wrong predictions: {self.error_before:.3f} before, {self.error_after:.3f} after (change "
            f"{change.estimate:+.3f}, {100 * self.confidence_level:g}% interval {low:.3f} to {high:.3f}).",
        ]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        wanted = [
            "metric", "stage", "group", "reference", "estimate", "null_mean", "ci_low", "ci_high", "pvalue",
        ]  # fmt: skip
        return [*(c for c in wanted if c in frame.columns), "n"]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            f"λ = {self.lambda_:.3f}, predictions 1 from {self.threshold:g} on; MADD: see `before.notes()`. "
            "The change of the error is that of the same rows, with McNemar's exact p-value."
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distributions before and after; see `fairstats.plots.madd.plot_before_after`."""
        from fairstats.plots.madd import plot_before_after

        return plot_before_after(self, ax=ax)


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear.

    `values`, `heights`, shape (k,): its corners, both strictly ascending; `n`: rows that it was fitted to.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: int

    @classmethod
    def fit(cls, scores: NDArray[np.float64]) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1]."""
        values, counts = np.unique(scores, return_counts=True)
        heights = (np.cumsum(counts) - counts / 2) / scores.size
        if values[0] > 0:
            values, heights = np.concatenate([[0.0], values]), np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values, heights = np.concatenate([values, [1.0]]), np.concatenate([heights, [1.0]])
        return cls(values, heights, int(scores.size))

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F_s(x)."""
        return np.asarray(np.interp(x, self.values, self.heights))


@dataclass(frozen=True, eq=False)
class MixtureCdfs:
    """F_s of every group and F of all.

    `cdfs`, length G; `corners`, shape (k,): corners of all functions together; `heights`, shape (G, k): F_s
    at the corners.
    """

    cdfs: tuple[GroupCdf, ...]
    corners: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def fit(cls, samples: list[NDArray[np.float64]]) -> MixtureCdfs:
        """Fit every group; each sample has at least one score."""
        cdfs = tuple(GroupCdf.fit(s) for s in samples)
        corners = np.unique(np.concatenate([c.values for c in cdfs]))
        return cls(cdfs, corners, np.vstack([c(corners) for c in cdfs]))

    @property
    def shares(self) -> NDArray[np.float64]:
        """n_s/n, shape (G,)."""
        sizes = np.array([c.n for c in self.cdfs], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def pooled(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([c(x) for c in self.cdfs]))

    def towards(
        self, group: int, lambdas: NDArray[np.float64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own, all_groups = self.cdfs[group](x), self.pooled(x)
        return np.asarray(np.multiply.outer(1 - lambdas, own) + np.multiply.outer(lambdas, all_groups))

    def map(self, scores: NDArray[np.float64], group: int, lambda_: float) -> NDArray[np.float64]:
        """(F_s^λ)⁻¹(F_s(p)) of scores of one group, ascending in p; λ = 0 changes nothing."""
        if lambda_ == 0:
            return scores.copy()
        heights = (1 - lambda_) * self.heights[group] + lambda_ * (self.shares @ self.heights)
        mapped = np.interp(self.cdfs[group](scores), heights, self.corners)
        return np.asarray(np.clip(mapped, 0.0, 1.0))


class LabelledSample(NamedTuple):
    """Scores of one group, ascending, and labels, 1 where favourable, shape (n,)."""

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]


def fairness_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups, in [0, 1], shape (λ,)."""
    edges = bin_edges(n_bins)
    shares = []
    for g, sample in enumerate(samples):
        inner = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, edges))
        shares.append(np.diff(inner, axis=1, prepend=0, append=sample.scores.size) / sample.scores.size)
    distances = [np.abs(first - second).sum(axis=1) for first, second in combinations(shares, 2)]
    return np.asarray(np.max(distances, axis=0) / 2)


def error_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18), (λ,)."""
    cut = np.array([threshold])
    wrong = np.zeros(lambdas.size, dtype=np.int64)
    for g, sample in enumerate(samples):
        predicted_0 = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, cut)[:, 0])
        positives = np.concatenate([[0], np.cumsum(sample.labels, dtype=np.int64)])
        negatives = np.arange(sample.labels.size + 1) - positives
        wrong += positives[predicted_0] + negatives[-1] - negatives[predicted_0]
    return np.asarray(wrong / sum(s.labels.size for s in samples))


def log_loss(labels: NDArray[np.uint8], scores: NDArray[np.float64]) -> float:
    """Binary cross-entropy, natural logarithm; scores are kept 1e-15 from 0 and 1."""
    p = np.clip(scores, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return float(-np.mean(np.where(labels == 1, np.log(p), np.log1p(-p))))


def mapped_losses(
    maps: MixtureCdfs,
    samples: Sequence[LabelledSample],
    lambdas: NDArray[np.float64],
    loss: Callable[[NDArray[Any], NDArray[np.float64]], float],
) -> NDArray[np.float64]:
    """Any loss of (labels, mapped scores), one λ after the other, shape (λ,).

    Raises InputError if it is no finite number for some λ.
    """
    labels = np.concatenate([s.labels for s in samples])
    found = np.empty(lambdas.size)
    for k, v in enumerate(lambdas.tolist()):
        value = loss(labels, np.concatenate([maps.map(s.scores, g, v) for g, s in enumerate(samples)]))
        if not np.isscalar(value) or not np.isfinite(value):
            got = f"{value!r} for λ = {v:g}"
            allowed = "a function of (labels, scores) that returns a finite number"
            raise InputError("loss", got=got, allowed=allowed, cure="let it return a float")
        found[k] = value
    return found
