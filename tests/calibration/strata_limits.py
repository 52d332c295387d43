"""Cells of what has limits in every stratum, or is drawn there, or goes along cut-offs: quantiles,
calibration slopes and intercepts, AUC with weights and clusters, standardised differences, R².

The truth of every cell is 0, which is its margin, too. `quantile_decisions` and `fit_decisions`
decide many samples at once; `tests/methods/rates/numbers/test_calibration_strata.py` holds them
against the public functions, sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, expit, logit, ndtri

import fairstats as fs
from fairstats.numerics.means.placements import area_of_rows
from fairstats.numerics.means.ranks import Areas, adjusted_area, adjusted_area_limits
from fairstats.numerics.means.strata import mantel_haenszel_weights
from tests.calibration.areas import Design
from tests.calibration.mean_strata import Setting, groups_in_strata, public_cell
from tests.calibration.means import (
    EXPONENTIAL,
    LOGNORMAL,
    NORMAL,
    Law,
    mover_decisions,
    quantile_ends,
)
from tests.calibration.study import Cell, Counts

_BLOCK = 1_000
_Ends = tuple[np.ndarray, np.ndarray]


class Parts(NamedTuple):
    """A statistic of one group in all strata, shape (runs, H), and its limits at Φ(z)."""

    values: np.ndarray
    limits: Callable[[float], _Ends]

    def total(self, shares: np.ndarray) -> np.ndarray:
        """Σ ω·v."""
        return np.asarray(self.values @ shares)

    def ends(self, shares: np.ndarray, z: float) -> _Ends:
        """By MOVER over the strata."""
        low, high = self.limits(z)
        below = np.sqrt((shares**2 * np.maximum(self.values - low, 0) ** 2).sum(axis=1))
        above = np.sqrt((shares**2 * np.maximum(high - self.values, 0) ** 2).sum(axis=1))
        total = self.total(shares)
        return total - below, total + above


def decisions(pair: Sequence[Parts], shares: np.ndarray) -> dict[str, np.ndarray]:
    """Whether limits exclude a difference of 0, and whether one difference in all is rejected."""

    def limits(z: float) -> tuple[np.ndarray, ...]:
        return tuple(end for parts in pair for end in parts.ends(shares, z))

    found = mover_decisions(limits, (pair[0].total(shares), pair[1].total(shares)), 0.0)
    found["size"] = homogeneity_pvalues(pair) <= 0.05
    return found


def homogeneity_pvalues(pair: Sequence[Parts]) -> np.ndarray:
    """Of Cochran's Q by the widths of limits at two standard errors."""
    variances = np.zeros_like(pair[0].values)
    for parts in pair:
        low, high = parts.limits(2.0)
        variances += ((high - low) / 4) ** 2
    distances = pair[0].values - pair[1].values
    weights = 1 / variances
    mean = (weights * distances).sum(axis=1) / weights.sum(axis=1)
    statistic = (weights * (distances - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(chdtrc(distances.shape[1] - 1, statistic))


def quantile_parts(samples: Sequence[np.ndarray], order: float) -> Parts:
    """Quantiles of samples of all strata, shape (runs, n) each."""
    ascending = [np.sort(sample, axis=1) for sample in samples]

    def limits(z: float) -> _Ends:
        ends = [quantile_ends(sample, order, z) for sample in ascending]
        return np.stack([end[0] for end in ends], axis=1), np.stack(
            [end[1] for end in ends], axis=1
        )

    values = [np.quantile(sample, order, axis=1) for sample in ascending]
    return Parts(np.stack(values, axis=1), limits)


def quantile_decisions(
    group: Sequence[np.ndarray], reference: Sequence[np.ndarray], order: float
) -> dict[str, np.ndarray]:
    """Of a difference of adjusted quantiles, which is 0 in truth."""
    sizes = [np.array([sample.shape[1] for sample in part]) for part in (group, reference)]
    pair = [quantile_parts(part, order) for part in (group, reference)]
    return decisions(pair, mantel_haenszel_weights(*(size.astype(float) for size in sizes)))


class Fits(NamedTuple):
    """Coefficients of many samples, with their standard errors and biases, shape (runs,)."""

    estimate: np.ndarray
    std_error: np.ndarray
    bias: np.ndarray


def fit_many(score: np.ndarray, label: np.ndarray, *, slope: bool) -> Fits:
    """Logistic regressions on the logit of the score, by Newton's steps; shape (runs, n)."""
    x = logit(score)
    columns = [np.ones_like(x), x] if slope else [np.ones_like(x)]
    design = np.stack(columns, axis=-1)
    offset = 0.0 if slope else x
    beta = np.zeros((len(x), design.shape[-1]))
    for _ in range(30):
        risk = expit((design * beta[:, None, :]).sum(axis=-1) + offset)
        in_rows = risk * (1 - risk)
        information = np.einsum("rnp,rn,rnq->rpq", design, in_rows, design)
        gradient = np.einsum("rnp,rn->rp", design, label - risk)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    covariance = np.linalg.inv(information)
    spread = np.einsum("rnp,rpq,rnq->rn", design, covariance, design)
    curvature = np.einsum("rnp,rn->rp", design, in_rows * (1 - 2 * risk) * spread)
    bias = -np.linalg.solve(information, curvature[..., None])[:, -1, 0] / 2
    return Fits(beta[:, -1], np.sqrt(covariance[:, -1, -1]), bias)


def fit_parts(fits: Sequence[Fits], sizes: np.ndarray) -> Parts:
    """Coefficients of all strata, less the bias that one regression of all rows would not have."""
    kept = 1 - sizes / sizes.sum()
    values = np.stack([fit.estimate for fit in fits], axis=1)
    values = values - kept * np.stack([fit.bias for fit in fits], axis=1)
    errors = np.stack([fit.std_error for fit in fits], axis=1)
    return Parts(values, lambda z: (values - z * errors, values + z * errors))


def _count(found: dict[str, np.ndarray], sums: dict[str, float]) -> int:
    for measure, wrong in found.items():
        sums[measure] = sums.get(measure, 0.0) + float(wrong.sum())
    return len(next(iter(found.values())))


def _counts(sums: dict[str, float], runs: int) -> Counts:
    counts = {measure: (total, runs) for measure, total in sums.items()}
    counts["coverage"] = (runs - sums["above"] - sums["below"], runs)
    return counts


def _quantiles(setting: Setting, order: float, runs: int, **about: str) -> Cell:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        sums: dict[str, float] = {}
        for start in range(0, runs, _BLOCK):
            samples = setting.draw(rng, min(_BLOCK, runs - start))
            _count(quantile_decisions(*samples, order), sums)
        return _counts(sums, runs)

    about = {"claim": "conservative", **about}
    statistic = "'median'" if order == 0.5 else f"{order:g}"
    name = f"means(strata=, statistic={statistic})"
    return Cell("means", name, setting.words, simulate, runs, **about)


def _regressions(
    metric: str, sizes: Sequence[tuple[int, int]], law: tuple[float, float], **about: str
) -> Cell:
    """Calibrated scores of a beta law; samples where a stratum lacks 20 rows of a label: others."""
    runs = 4_000

    def draw(rng: np.random.Generator, n: int) -> Fits:
        score = np.clip(rng.beta(*law, (400, n)), 0.01, 0.99)
        label = (rng.random(score.shape) < score).astype(float)
        enough = np.minimum(label.sum(axis=1), n - label.sum(axis=1)) >= 20
        return fit_many(score[enough], label[enough], slope=metric == "slope")

    def draw_all(rng: np.random.Generator, runs: int, n: int) -> Fits:
        parts: list[Fits] = []
        while sum(len(part.estimate) for part in parts) < runs:
            parts.append(draw(rng, n))
        columns = zip(*parts, strict=True)
        return Fits(*(np.concatenate(column)[:runs] for column in columns))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        pair = []
        of_groups = []
        for side in (0, 1):
            n_of_strata = np.array([size[side] for size in sizes], dtype=float)
            fits = [draw_all(rng, runs, size[side]) for size in sizes]
            pair.append(fit_parts(fits, n_of_strata))
            of_groups.append(n_of_strata)
        sums: dict[str, float] = {}
        _count(decisions(pair, mantel_haenszel_weights(*of_groups)), sums)
        return _counts(sums, runs)

    regime = f"beta({law[0]:g}, {law[1]:g}), {_words_of(sizes)}"
    about = {"claim": "conservative", **about}
    return Cell(
        "means", f"calibration(strata=, metric='{metric}')", regime, simulate, runs, **about
    )


def _words_of(sizes: Sequence[tuple[int, int]]) -> str:
    if len(set(sizes)) == 1:
        return f"{len(sizes)} × {sizes[0][0]}/{sizes[0][1]}"
    return ", ".join(f"{size[0]}/{size[1]}" for size in sizes)


def _areas(design: Design, pair: Sequence[tuple[int, int]], strata: int, auc: float) -> Cell:
    """Adjusted AUCs of rows with weights, or in clusters; `pair`: rows of both labels."""
    distance = float(np.sqrt(2) * ndtri(auc))

    def draw(rng: np.random.Generator, runs: int, sizes: tuple[int, int]) -> tuple[Any, np.ndarray]:
        found: list[Areas] = []
        weights = []
        for _ in range(runs * strata):
            rows = design.rows(rng, sizes, distance, 1.0)
            found.append(area_of_rows(rows))
            weights.append(rows.weight[rows.positive].sum())
        columns = {}
        for name in ("area", "variance", "positives", "negatives", "df"):
            values = [getattr(areas, name) for areas in found]
            columns[name] = np.array(values, dtype=float).reshape(runs, strata)
        return Areas(**columns), np.array(weights).reshape(runs, strata)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        drawn = [draw(rng, runs, sizes) for sizes in pair]
        weights = drawn[0][1] * drawn[1][1] / (drawn[0][1] + drawn[1][1])
        shares = weights / weights.sum(axis=1, keepdims=True)

        def limits(z: float) -> tuple[np.ndarray, ...]:
            ends = (adjusted_area_limits(areas, shares, z) for areas, _ in drawn)
            return tuple(end for both in ends for end in both)

        estimates = (adjusted_area(drawn[0][0], shares), adjusted_area(drawn[1][0], shares))
        sums: dict[str, float] = {}
        _count(mover_decisions(limits, estimates, 0.0), sums)
        return _counts(sums, runs)

    (n, m), (n_reference, m_reference) = pair
    regime = f"{strata} × {n} + {m} rows beside {n_reference} + {m_reference}, AUC {auc:g}"
    argument = "cluster=" if design.cluster_rows else "sample_weight="
    name = f"scores(strata=, metric='auc', {argument})"
    about = {"claim": "conservative"}
    return Cell("means", name, f"{regime}, {design.words}", simulate, 10_000, **about)


def _drawn(law: Law, sizes: Sequence[tuple[int, int]], **about: str) -> Cell:
    """Standardised differences, whose spread and mean are others in every stratum."""
    group, stratum = groups_in_strata(sizes)

    def make(rng: np.random.Generator) -> Any:
        return fs.means(
            law.draw(rng, group.size) * (1 + 0.3 * stratum) + 2 * stratum,
            sensitive_features=group,
            strata=stratum,
            reference="r",
            contrast="standardised_difference",
            n_resamples=399,
            rng=rng,
        )

    name = "means(strata=, contrast='standardised_difference')"
    return public_cell(name, f"{law.words}, {_words_of(sizes)}", make, 2_000, **about)


def _determination(law: Law, sizes: Sequence[tuple[int, int]], **about: str) -> Cell:
    group, stratum = groups_in_strata(sizes)

    def make(rng: np.random.Generator) -> Any:
        scale = 1 + 0.3 * stratum
        outcome = law.draw(rng, group.size) * scale + 2 * stratum
        return fs.prediction_errors(
            outcome,
            outcome + rng.normal(size=group.size) * scale * 0.8,
            metric="r_squared",
            sensitive_features=group,
            strata=stratum,
            reference="r",
            n_resamples=399,
            rng=rng,
        )

    name = "prediction_errors(strata=, metric='r_squared')"
    return public_cell(name, f"{law.words}, {_words_of(sizes)}", make, 2_000, **about)


def _along(metric: str, sizes: Sequence[tuple[int, int]]) -> Cell:
    """Three cut-offs at once: any limit that excludes 0 counts."""
    group, stratum = groups_in_strata(sizes)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = {"above": 0, "below": 0}
        for _ in range(runs):
            score = rng.beta(2 + stratum, 4)
            result = fs.scores(
                (rng.random(group.size) < score).astype(int),
                score,
                sensitive_features=group,
                strata=stratum,
                metric=metric,
                cutoffs=[0.2, 0.4, 0.6],
                reference="r",
            )
            rows = result.stratified.comparisons
            wrong["above"] += any(row.confidence_interval.low > 0 for row in rows)
            wrong["below"] += any(row.confidence_interval.high < 0 for row in rows)
        return _counts({measure: float(total) for measure, total in wrong.items()}, runs)

    name = f"scores(strata=, metric='{metric}', cutoffs=)"
    regime = f"calibrated, {_words_of(sizes)}, three cut-offs at once"
    return Cell("means", name, regime, simulate, 2_000, claim="conservative")


_BIASED = "medians of few skewed rows are biased, in the same direction in every one of many strata"


def _cells() -> Iterator[Cell]:
    few = ((20, 20, 20), (200, 200, 200))
    many = ((20,) * 8, (100,) * 8)
    larger = ((40,) * 8, (100,) * 8)
    opposite = ((100, 50, 20), (20, 50, 100))
    for law in (NORMAL, EXPONENTIAL, LOGNORMAL):
        for sizes in (few, many, larger, opposite):
            about = {}
            if law is not NORMAL and sizes is many:
                about = {"claim": "fails", "remark": _BIASED}
            yield _quantiles(Setting(law, *sizes), 0.5, 20_000, **about)
        yield _quantiles(Setting(law, (60, 60, 60), (300, 300, 300)), 0.9, 20_000)
    for metric in ("slope", "intercept"):
        yield _regressions(metric, [(80, 400)] * 3, (2, 3))
        yield _regressions(metric, [(80, 120)] * 8, (2, 3))
        yield _regressions(metric, [(120, 500)] * 6, (1.5, 5))
        yield _regressions(metric, [(300, 80), (120, 120), (80, 300)], (2, 3))
    weighted = Design("CV .5", cv=0.5)
    clustered = Design("clusters of 3", cluster_rows=3)
    for auc in (0.65, 0.85):
        yield _areas(weighted, ((15, 30), (60, 120)), 3, auc)
        yield _areas(clustered, ((24, 36), (90, 120)), 3, auc)
    yield _areas(Design("CV 1", cv=1.0), ((10, 20), (30, 60)), 6, 0.75)
    yield _drawn(NORMAL, [(20, 200)] * 3)
    yield _drawn(EXPONENTIAL, [(8, 40)] * 8)
    yield _drawn(EXPONENTIAL, [(100, 10), (50, 50), (10, 100)])
    few = "R² of few rows: limits are too near on one side; the result says so"
    yield _determination(NORMAL, [(20, 200)] * 3, claim="fails", remark=few)
    yield _determination(EXPONENTIAL, [(8, 40)] * 8)
    yield _along("tpr", [(60, 300)] * 3)
    yield _along("net_benefit", [(60, 300)] * 3)


CELLS = tuple(_cells())
