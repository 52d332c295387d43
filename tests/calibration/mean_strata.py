"""Cells of means within strata: intervals, verdicts at the edge of the fair range, homogeneity.

The margin (or threshold) of every cell is the truth itself, as in `tests.calibration.means`.
`adjusted_decisions` and `homogeneity_pvalues` decide many samples at once by the kernel of the
public functions; `tests/methods/rates/numbers/test_calibration_strata.py` holds them against these,
sample by sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri

import fairstats as fs
from fairstats.numerics.means.hall import Moments, hall_statistics
from fairstats.numerics.means.ranks import Areas, adjusted_area, adjusted_area_limits
from fairstats.numerics.means.strata import adjusted_mean, mantel_haenszel_weights
from tests.calibration.means import (
    EXPONENTIAL,
    GAMMA,
    LOGNORMAL,
    MILD,
    NORMAL,
    ONE_SIDED,
    SHIFTED,
    TWO_SIDED,
    ZEROS,
    Law,
    delong,
    moments_of_samples,
    mover_decisions,
)
from tests.calibration.study import Cell, Counts

#: Samples that are drawn at once.
_BLOCK = 1_000


class Setting(NamedTuple):
    """A law, the rows of the group and of its reference, and the scale, in every stratum."""

    law: Law
    n: Sequence[int]
    n_reference: Sequence[int]
    scale: Sequence[float] = ()

    @property
    def words(self) -> str:
        """The setting in words."""
        pairs = list(zip(self.n, self.n_reference, strict=True))
        sizes = ", ".join(f"{n}/{m}" for n, m in pairs)
        if len(set(pairs)) == 1:
            sizes = f"{len(pairs)} × {pairs[0][0]}/{pairs[0][1]}"
        scales = ""
        if self.scale:
            scales = f", scales {', '.join(f'{scale:g}' for scale in self.scale)}"
        return f"{self.law.words}, {sizes}{scales}"

    def draw(
        self, rng: np.random.Generator, runs: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Samples of the group and of its reference in every stratum, shape (runs, n) each."""
        scales = self.scale or [1.0] * len(self.n)
        group = []
        reference = []
        for n, n_reference, scale in zip(self.n, self.n_reference, scales, strict=True):
            group.append(scale * self.law.draw(rng, (runs, n)))
            reference.append(scale * self.law.draw(rng, (runs, n_reference)))
        return group, reference


def moments_of_strata(samples: Sequence[np.ndarray]) -> Moments:
    """Moments of the means of all strata, shape (runs, H); no third cumulant of two rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [moments_of_samples(sample) for sample in samples]
    return Moments(
        mean=np.stack([part.mean for part in parts], axis=1),
        variance=np.stack([part.variance for part in parts], axis=1),
        third=np.stack([part.third for part in parts], axis=1),
        size=np.array([sample.shape[1] for sample in samples], dtype=float),
    )


def adjusted_decisions(
    group: Sequence[np.ndarray], reference: Sequence[np.ndarray], truth: float, contrast: str
) -> dict[str, np.ndarray]:
    """Whether the 95% interval lies above or below the truth, and each limit at .05."""
    parts = moments_of_strata(group), moments_of_strata(reference)
    shares = mantel_haenszel_weights(*(np.asarray(part.size) for part in parts))
    means = [adjusted_mean(part, shares) for part in parts]
    null = {"ratio": truth} if contrast == "ratio" else {"difference": truth}
    found = hall_statistics(*means, **null)
    return {
        "above": found.above > TWO_SIDED,
        "below": found.below < -TWO_SIDED,
        "false violated": found.above > ONE_SIDED,
        "false satisfied": found.below < -ONE_SIDED,
    }


def homogeneity_pvalues(
    group: Sequence[np.ndarray], reference: Sequence[np.ndarray], contrast: str
) -> np.ndarray:
    """p-value that one difference (or ratio) holds in all strata, of many samples at once."""
    parts = moments_of_strata(group), moments_of_strata(reference)
    ratio = contrast == "ratio"
    own = parts[0].mean / parts[1].mean if ratio else parts[0].mean - parts[1].mean
    low = own.min(axis=1)
    high = own.max(axis=1)
    least = np.full(low.size, np.inf)
    for _ in range(6):
        points = np.linspace(low, high, 33)
        null = {"ratio": points[:, :, None]} if ratio else {"difference": points[:, :, None]}
        found = hall_statistics(*parts, **null)
        z = np.where(found.plain > 0, np.maximum(found.above, 0), np.minimum(found.below, 0))
        totals = (z**2).sum(axis=-1)
        place = totals.argmin(axis=0)
        columns = np.arange(low.size)
        least = np.minimum(least, totals[place, columns])
        low = points[np.maximum(place - 1, 0), columns]
        high = points[np.minimum(place + 1, 32), columns]
    return np.asarray(chdtrc(own.shape[1] - 1, least))


def _judged(setting: Setting, contrast: str, runs: int, **about: str) -> Cell:
    """Interval and verdict of the adjusted contrast, which is 0, or 1."""
    truth = 1.0 if contrast == "ratio" else 0.0

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        sums: dict[str, float] = {}
        for start in range(0, runs, _BLOCK):
            samples = setting.draw(rng, min(_BLOCK, runs - start))
            for measure, wrong in adjusted_decisions(*samples, truth, contrast).items():
                sums[measure] = sums.get(measure, 0.0) + float(wrong.sum())
        counts = {measure: (total, runs) for measure, total in sums.items()}
        counts["coverage"] = (runs - sums["above"] - sums["below"], runs)
        return counts

    name = "means(strata=)" if contrast == "difference" else "means(strata=, contrast='ratio')"
    about = {"claim": "conservative", **about}
    return Cell("means", name, setting.words, simulate, runs, **about)


def _homogeneous(setting: Setting, contrast: str, runs: int, **about: str) -> Cell:
    """Size of the test that one contrast holds in all strata."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0.0
        answered = 0
        for start in range(0, runs, _BLOCK):
            group, reference = setting.draw(rng, min(_BLOCK, runs - start))
            # a stratum whose mean is 0 has no say on a ratio: no such sample is counted here
            pvalues = homogeneity_pvalues(group, reference, contrast)
            known = ~np.isnan(pvalues)
            answered += int(known.sum())
            rejected += float((pvalues[known] <= 0.05).sum())
        return {"size": (rejected, answered), "answered": (answered, runs)}

    about = {"claim": "conservative", **about}
    name = f"means(strata=): homogeneity of the {contrast}"
    return Cell("means", name, setting.words, simulate, runs, **about)


def public_cell(name: str, regime: str, make: Any, runs: int, **about: str) -> Cell:
    """A public function itself; `make`: generator → result, whose contrast is 0 in truth."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (row,) = make(rng).stratified.comparisons
            if not row.tests:
                continue
            answered += 1
            wrong["above"] += row.confidence_interval.low > 0
            wrong["below"] += row.confidence_interval.high < 0
            for test in row.tests:
                wrong["false violated"] += test.alternative == "greater" and test.pvalue <= 0.05
                wrong["false satisfied"] += test.alternative == "less" and test.pvalue <= 0.05
        counts = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        return {**counts, "coverage": (float(held), answered), "answered": (answered, runs)}

    about = {"claim": "conservative", **about}
    return Cell("means", name, regime, simulate, runs, **about)


def groups_in_strata(sizes: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Group and stratum of every row."""
    group = np.concatenate([np.repeat(["g", "r"], pair) for pair in sizes])
    stratum = np.repeat(np.arange(len(sizes)), [sum(pair) for pair in sizes])
    return group, stratum


def _weighted(rng: np.random.Generator) -> Any:
    group, stratum = groups_in_strata([(30, 200)] * 3)
    return fs.means(
        rng.exponential(size=group.size) + stratum,
        sensitive_features=group,
        strata=stratum,
        sample_weight=rng.lognormal(0, 0.5, group.size),
        reference="r",
    )


def _clustered(rng: np.random.Generator) -> Any:
    group, stratum = groups_in_strata([(20, 80)] * 3)
    rows = rng.integers(1, 6, group.size)
    unit = np.repeat(np.arange(group.size), rows)
    numbers = rng.exponential(size=group.size)[unit] + rng.exponential(size=unit.size)
    return fs.means(
        numbers + stratum[unit],
        sensitive_features=group[unit],
        strata=stratum[unit],
        cluster=unit,
        reference="r",
    )


def _roots(rng: np.random.Generator) -> Any:
    group, stratum = groups_in_strata([(40, 300)] * 3)
    return fs.prediction_errors(
        np.zeros(group.size),
        rng.normal(0, 1 + stratum),
        sensitive_features=group,
        strata=stratum,
        metric="root_mean_squared_error",
        reference="r",
    )


def _brier(rng: np.random.Generator) -> Any:
    group, stratum = groups_in_strata([(30, 200)] * 4)
    risk = rng.beta(1 + stratum, 4)
    return fs.scores(
        rng.random(group.size) < risk,
        risk,
        sensitive_features=group,
        strata=stratum,
        metric="brier_score",
        pos_label=True,
        reference="r",
    )


def _areas(auc: float, spread: float, pair: Sequence[tuple[int, int]], strata: int) -> Cell:
    """Adjusted AUCs; `pair`: positives and negatives of the group and its reference in a stratum."""
    distance = float(np.sqrt(1 + spread**2) * ndtri(auc))

    def draw(rng: np.random.Generator, runs: int, positives: int, negatives: int) -> Areas:
        parts = []
        for _ in range(strata):
            scores = rng.normal(distance, spread, (runs, positives))
            parts.append(delong(scores, rng.normal(0.0, 1.0, (runs, negatives))))
        return Areas(
            area=np.stack([part.area for part in parts], axis=1),
            variance=np.stack([part.variance for part in parts], axis=1),
            positives=np.full(strata, float(positives)),
            negatives=np.full(strata, float(negatives)),
        )

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        sums: dict[str, float] = {}
        shares = np.full(strata, 1 / strata)
        for start in range(0, runs, _BLOCK):
            groups = [draw(rng, min(_BLOCK, runs - start), *sizes) for sizes in pair]

            def limits(z: float, groups: list[Areas] = groups) -> tuple[np.ndarray, ...]:
                ends = (adjusted_area_limits(areas, shares, z) for areas in groups)
                return tuple(end for both in ends for end in both)

            estimates = tuple(adjusted_area(areas, shares) for areas in groups)
            for measure, wrong in mover_decisions(limits, estimates, 0.0).items():
                sums[measure] = sums.get(measure, 0.0) + float(wrong.sum())
        counts = {measure: (total, runs) for measure, total in sums.items()}
        counts["coverage"] = (runs - sums["above"] - sums["below"], runs)
        return counts

    (n, m), (n_reference, m_reference) = pair
    regime = f"{strata} × {n} + {m} rows beside {n_reference} + {m_reference}, AUC {auc:g}"
    if spread != 1:
        regime += f", spread {spread:g}"
    return Cell("means", "scores(strata=, metric='auc')", regime, simulate, 4_000, "conservative")


_TAIL = "a tail so long that strata of few rows seldom show it, as in crude means of as many rows"
_RARE = "most of a small sample is 0, and what is not has a long tail: the sample misses it"
_OPPOSITE = "long tails and opposite sizes of both groups: sizes of the tests of strata are skewed"


def _cells() -> Iterator[Cell]:
    runs = 20_000
    few = ((20, 20, 20), (200, 200, 200))
    many = ((8,) * 8, (40,) * 8)
    tiny = ((4,) * 10, (40,) * 10)
    pairs = ((2,) * 20, (20,) * 20)
    opposite = ((100, 50, 10), (10, 50, 100))
    uneven = ((5, 5, 5, 10), (500, 200, 100, 20))
    for law in (NORMAL, EXPONENTIAL, GAMMA, MILD, LOGNORMAL, ZEROS):
        for sizes in (few, many, tiny, opposite, uneven):
            about = {}
            if law is LOGNORMAL and sizes in (many, uneven):
                about = {"claim": "fails", "remark": _TAIL}
            if law is ZEROS and sizes is not opposite:
                about = {"claim": "fails", "remark": _RARE}
            yield _judged(Setting(law, *sizes), "difference", runs, **about)
    yield _judged(Setting(EXPONENTIAL, *few, (1, 2, 4)), "difference", runs)
    yield _judged(Setting(EXPONENTIAL, *pairs), "difference", runs)
    yield _judged(Setting(NORMAL, *pairs), "difference", runs)
    for law in (EXPONENTIAL, SHIFTED, MILD):
        for sizes in (few, many, opposite):
            yield _judged(Setting(law, *sizes), "ratio", runs)
    yield _judged(Setting(EXPONENTIAL, *few, (1, 2, 4)), "ratio", runs)
    for contrast in ("difference", "ratio"):
        for law in (NORMAL, SHIFTED, EXPONENTIAL, LOGNORMAL, ZEROS):
            if (law is NORMAL) == (contrast == "ratio") and law in (NORMAL, SHIFTED):
                continue
            for sizes in (few, many, opposite):
                if law is ZEROS and sizes is many and contrast == "ratio":
                    continue  # strata whose mean is 0 have no say, which this copy does not count
                about = {}
                if law in (LOGNORMAL, ZEROS) and sizes is opposite:
                    about = {"claim": "fails", "remark": _OPPOSITE}
                yield _homogeneous(Setting(law, *sizes), contrast, 4_000, **about)
    yield public_cell(
        "means(strata=, sample_weight=)",
        "exponential, 3 × 30/200, lognormal weights (σ = .5)",
        _weighted,
        2_000,
    )
    yield public_cell(
        "means(strata=, cluster=)",
        "exponential, 3 × 20/80 clusters of 1 to 5 rows",
        _clustered,
        2_000,
    )
    yield public_cell(
        "prediction_errors(strata=, metric='root_mean_squared_error')",
        "normal, 3 × 40/300, spreads 1, 2, 3",
        _roots,
        2_000,
    )
    yield public_cell(
        "scores(strata=, metric='brier_score')", "calibrated, 4 × 30/200", _brier, 2_000
    )
    for auc in (0.6, 0.75, 0.9):
        yield _areas(auc, 1.0, ((10, 20), (60, 120)), 3)
        yield _areas(auc, 1.0, ((3, 8), (15, 30)), 8)
    yield _areas(0.75, 1.0, ((4, 50), (20, 100)), 5)
    yield _areas(0.85, 2.0, ((10, 20), (60, 120)), 3)


CELLS = tuple(_cells())
