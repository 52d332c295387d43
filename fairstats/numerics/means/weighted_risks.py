"""Isotonic calibration of rows with weights or in clusters: `isotonic.py` by effective rows.

w are the weights, e(u) the sum of w·(number − mean) over the rows of a sampling unit u (a row, or a
cluster), U the units.

*Curve.* The isotonic regression of the weighted shares of label 1, with the weights.

*Band.* In a run of rows with the weighted share p the limits of Clopper and Pearson have n effective
rows, n·p of which have label 1 (Korn and Graubard): the smaller of Kish's (Σ w)²/Σ w² and of
p(1 − p)/V, V = U/(U − 1)·Σ e²/(Σ w)², times (t_{N−1}/t_f)² at the error of the limit, N the rows, f
Kish's number of units less 1. Where p is 0 or 1 no variance is seen: then n is Kish's number of units.

*Equal curves.* The statistic of `isotonic.py` with weights in place of rows. A row adds a²·w²·σ² to the
variance of a run, σ² = p̂(1 − p̂) and a·w its weight in the difference, or at each score, if that is more,
W·σ²·(m₁(1 − p̂) + m₀·p̂) for w²·σ², m₁ and m₀ the mean weights, by weight, of the rows with either label:
those may go with it. Clusters add ρ·Σ a·a′·w·w′·σ·σ′ over pairs; ρ, the correlation within clusters, is
the sum of w·w′ times both residuals over that of w·w′·σ·σ′, over pairs of rows of one cluster, if above 0.
Labels drawn by p̂ row by row, of which the first is the variance, give the law of the largest; what is
compared with it is the normal number with the tail of Student's t, of Kish's units of the smaller group
less 1.

*Parts of the Brier score.* As in `isotonic.py`, with the variance U/(U − 1)·Σ e²/W² and Student's t;
curves leave each unit out. Uncertainty: Wilson's limits of the weighted share with as many rows.

References: those of `isotonic.py`; Korn, Graubard (1998), Survey Methodology 24, 193–201.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtr, stdtrit

from fairstats.ground.checks import Floats
from fairstats.ground.scores import find_bin_starts
from fairstats.numerics.means.hall import as_normal, as_student
from fairstats.numerics.means.isotonic import (
    BLOCKS_OF_PAIR,
    FEWEST_BLOCKS,
    MOST_BLOCKS,
    MOST_SCORES,
    NOT_TESTED,
    BrierPart,
    EqualityTest,
    equality_by_draws,
    largest_of_runs,
    uncertainty_limits,
)

#: Of more units than this so many are left out, evenly spaced by their scores.
_MOST_LEFT_OUT = 2_000


@dataclass(frozen=True, eq=False)
class WeightedRisks:
    """Rows of one group, or of all others, with weights above 0.

    `scores`, ascending and distinct, shape (m,); `place` of each row's score, `labels` (0 or 1),
    `weights`, `unit` (from 0, without gaps), shape (n,).
    """

    scores: Floats
    place: NDArray[np.intp]
    labels: Floats
    weights: Floats
    unit: NDArray[np.intp]

    @classmethod
    def of(
        cls, scores: Floats, labels: Floats, weights: Floats, unit: NDArray[Any] | None
    ) -> WeightedRisks:
        """From rows, of which those without weight are no rows; `unit` None: each row is one."""
        counted = weights > 0
        codes = np.arange(scores.size) if unit is None else unit
        distinct, place = np.unique(scores[counted], return_inverse=True)
        # of mean 1: no number depends on the unit of the weights
        weights = weights[counted]
        return cls(
            scores=distinct,
            place=place,
            labels=labels[counted],
            weights=weights / weights.mean() if weights.size else weights,
            unit=np.unique(codes[counted], return_inverse=True)[1],
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.labels.size)

    @property
    def n_units(self) -> int:
        """Sampling units."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def effective_units(self) -> float:
        """Kish's number of units."""
        sums = np.bincount(self.unit, self.weights)
        return kish_number(np.asarray(sums, np.float64))

    def weight_at_scores(self) -> Floats:
        """Sum of the weights at every score."""
        return np.asarray(np.bincount(self.place, self.weights, self.scores.size), np.float64)

    def positives_at_scores(self) -> Floats:
        """Sum of the weights of rows with label 1 at every score."""
        sums = np.bincount(self.place, self.weights * self.labels, self.scores.size)
        return np.asarray(sums, np.float64)

    def share(self) -> float:
        """Weighted share of label 1."""
        return float(self.weights @ self.labels / self.weights.sum())

    def curve(self) -> Floats:
        """p̂ at every score."""
        return fit_of_sums(self.positives_at_scores(), self.weight_at_scores())

    def value_at(self, score: float) -> float:
        """p̂ at a score, straight between the scores of rows and level beyond; NaN without rows."""
        if not self.scores.size:
            return math.nan
        return float(np.interp(score, self.scores, self.curve()))

    def with_few_scores(self) -> WeightedRisks:
        """The same rows at no more than a thousand scores."""
        if self.scores.size <= MOST_SCORES:
            return self
        weight = self.weight_at_scores()
        starts = find_bin_starts(np.cumsum(weight) / weight.sum(), MOST_SCORES)
        return replace(
            self,
            scores=np.add.reduceat(weight * self.scores, starts) / np.add.reduceat(weight, starts),
            place=np.searchsorted(starts, self.place, side="right") - 1,
        )

    def of_rows(self, chosen: NDArray[np.bool_]) -> WeightedRisks:
        """Some of the rows."""
        return WeightedRisks.of(
            self.scores[self.place[chosen]],
            self.labels[chosen],
            self.weights[chosen],
            self.unit[chosen],
        )

    def effective_share(self) -> EffectiveShare:
        """The weighted share of label 1 with as many independent rows as it is worth."""
        share = self.share()
        n_rows = self.weights.size
        excess = np.bincount(self.unit, self.weights * (self.labels - share))
        number = self.effective_units
        kish_rows = kish_number(self.weights)
        if 0 < share < 1 and self.n_units > 1:
            # Bessel's factor, which is 1 of units of one row
            bessel = (1 - 1 / n_rows) / (1 - 1 / self.n_units)
            variance = float(excess @ excess) / float(self.weights.sum()) ** 2 * bessel
            if variance > 0:
                number = min(kish_rows, share * (1 - share) / variance)
        return EffectiveShare(
            share=share,
            number=number,
            rows=n_rows,
            degrees_of_freedom=self.effective_units - 1,
        )


@dataclass(frozen=True)
class EffectiveShare:
    """A share of label 1: of `number` effective rows; `rows`: how many it is computed from."""

    share: float
    number: float
    rows: int
    degrees_of_freedom: float

    def number_at(self, error: float) -> float:
        """Effective rows for a limit with this error: fewer where few units show the variance."""
        if not self.degrees_of_freedom > 1e-9:
            return 0.0
        if not error < 0.5:
            return self.number
        factor = stdtrit(self.rows - 1, error) / stdtrit(self.degrees_of_freedom, error)
        return self.number * float(factor) ** 2

    def lower_limit(self, error: float) -> float:
        """Clopper and Pearson's, 0 where none is above."""
        number = self.number_at(error)
        if not (self.share > 0 and number > 0):
            return 0.0
        return float(betaincinv(number * self.share, number * (1 - self.share) + 1, error))

    def of_negatives(self) -> EffectiveShare:
        """The share of label 0."""
        return replace(self, share=1 - self.share)


def kish_number(weights: Floats) -> float:
    """(Σ w)²/Σ w², 0 without weight."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def fit_of_sums(positives: Floats, weight: Floats) -> Floats:
    """Isotonic regression of shares; nothing without rows."""
    if not weight.size:
        return np.zeros(0)
    return np.asarray(isotonic_regression(positives / weight, weights=weight).x)


# ---------------------------------------------------------------- band


@dataclass(frozen=True, eq=False)
class WeightedBand:
    """Limits of a curve that does not fall, at some scores at once.

    `below`, `above`: of every score, the shares of label 1 in runs of blocks next to it, and of label
    0; `n_runs`: runs of one side and score that share the error.
    """

    below: dict[float, tuple[EffectiveShare, ...]]
    above: dict[float, tuple[EffectiveShare, ...]]
    n_runs: int

    @classmethod
    def of(cls, risks: WeightedRisks, points: Floats) -> WeightedBand:
        """Of a group, at these scores."""
        if not risks.scores.size:
            return cls({}, {}, 1)
        weight = risks.weight_at_scores()
        number = round(2 * kish_number(risks.weights) ** (1 / 3))
        n_blocks = int(np.clip(number, FEWEST_BLOCKS, MOST_BLOCKS))
        starts = find_bin_starts(np.cumsum(weight) / weight.sum(), n_blocks)
        ends = np.append(starts[1:], risks.scores.size) - 1
        lengths = 2 ** np.arange(int(math.log2(starts.size)) + 1)
        block = np.searchsorted(starts, risks.place, side="right") - 1
        below = {}
        above = {}
        for score in points.tolist():
            last = int(np.searchsorted(risks.scores[ends], score, side="right"))
            first = int(np.searchsorted(risks.scores[starts], score, side="left"))
            runs = []
            for length in lengths[lengths <= last]:
                in_run = (block >= last - length) & (block < last)
                runs.append(risks.of_rows(in_run).effective_share())
            below[score] = tuple(runs)
            runs = []
            for length in lengths[lengths <= starts.size - first]:
                in_run = (block >= first) & (block < first + length)
                runs.append(risks.of_rows(in_run).effective_share().of_negatives())
            above[score] = tuple(runs)
        return cls(below, above, points.size * lengths.size)

    def limits(self, score: float, error: float) -> tuple[float, float]:
        """Limits at a score; each side holds at all scores at once with probability 1 − error."""
        error_of_run = error / self.n_runs
        sides = []
        for runs in (self.below.get(score, ()), self.above.get(score, ())):
            found = [run.lower_limit(error_of_run) for run in runs]
            sides.append(max(found, default=0.0))
        return sides[0], 1 - sides[1]


# ---------------------------------------------------------------- equal curves


def equality_of_weighted_curves(
    group: WeightedRisks, reference: WeightedRisks, n_resamples: int, rng: np.random.Generator
) -> EqualityTest:
    """Test that two groups have one isotonic curve, by labels that are drawn from it."""
    if not (group.scores.size and reference.scores.size):
        return NOT_TESTED
    scan = _WeightedScan.of(group, reference)
    chance = scan.fit(scan.labels)[scan.place]
    statistic, run, difference = scan.largest(scan.labels, drawn=False)
    df = max(min(group.effective_units, reference.effective_units) - 1, 1.0)

    def largest_drawn() -> float:
        drawn = (rng.random(chance.size) < chance).astype(np.float64)
        return scan.largest(drawn, drawn=True)[0]

    return equality_by_draws(
        float(as_normal(statistic, df)),
        largest_drawn,
        n_resamples,
        blocks=scan,
        run=run,
        difference=difference,
    )


@dataclass(frozen=True, eq=False)
class _WeightedScan:
    """Rows of two groups at the scores of both, and blocks of these.

    `side`, `place`, `labels`, `weights`, `unit` of every row; `starts`, `ends`: first and last score
    of every block.
    """

    scores: Floats
    side: NDArray[np.intp]
    place: NDArray[np.intp]
    labels: Floats
    weights: Floats
    unit: NDArray[np.intp]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def of(cls, group: WeightedRisks, reference: WeightedRisks) -> _WeightedScan:
        """Of two groups with rows."""
        scores = np.union1d(group.scores, reference.scores)
        sides = (group, reference)
        place = np.concatenate(
            [np.searchsorted(scores, risks.scores)[risks.place] for risks in sides]
        )
        weights = np.concatenate([risks.weights for risks in sides])
        if scores.size > MOST_SCORES:
            weight = np.bincount(place, weights, scores.size)
            merged = find_bin_starts(np.cumsum(weight) / weight.sum(), MOST_SCORES)
            scores = scores[merged]
            place = np.searchsorted(merged, place, side="right") - 1
        weight = np.bincount(place, weights, scores.size)
        starts = find_bin_starts(np.cumsum(weight) / weight.sum(), BLOCKS_OF_PAIR)
        return cls(
            scores=scores,
            side=np.repeat([0, 1], [risks.weights.size for risks in sides]),
            place=place,
            labels=np.concatenate([risks.labels for risks in sides]),
            weights=weights,
            unit=np.concatenate([group.unit, group.n_units + reference.unit]),
            starts=starts,
            ends=np.append(starts[1:], scores.size) - 1,
        )

    def _at_scores(self, numbers: Floats) -> Floats:
        """Sums of a number of every row by group and score, shape (2, m)."""
        size = self.scores.size
        sums = np.bincount(self.side * size + self.place, numbers, 2 * size)
        return np.asarray(sums, np.float64).reshape(2, size)

    def _in_blocks(self, numbers: Floats) -> Floats:
        """Sums of numbers by group and score, shape (2, m), in blocks, shape (2, B)."""
        return np.add.reduceat(numbers, self.starts, axis=1)

    def fit(self, labels: Floats) -> Floats:
        """The curve of both groups together."""
        return fit_of_sums(
            self._at_scores(self.weights * labels).sum(axis=0),
            self._at_scores(self.weights).sum(axis=0),
        )

    def spread_of_rows(self, fitted: Floats) -> Floats:
        """Variance of the sum of residuals of independent rows, by group and score, shape (2, m)."""
        odds = fitted * (1 - fitted)
        plain = self._at_scores(self.weights**2) * odds
        by_label = self._mean_weight(self.labels) * (1 - fitted)
        by_label = by_label + self._mean_weight(1 - self.labels) * fitted
        return np.maximum(plain, self._at_scores(self.weights) * odds * by_label)

    def _mean_weight(self, chosen: Floats) -> Floats:
        """Σ w²/Σ w of some rows of both groups, 0 without, shape (2, 1)."""
        squares = np.bincount(self.side, self.weights**2 * chosen, 2)
        sums = np.bincount(self.side, self.weights * chosen, 2)
        return np.where(sums > 0, squares / np.where(sums > 0, sums, 1.0), 0.0)[:, None]

    def spread_of_clusters(self, fitted: Floats) -> Floats:
        """What clusters add to the variance of every run."""
        chance = fitted[self.place]
        first, last = np.triu_indices(self.starts.size)
        if np.unique(self.unit).size == self.unit.size:
            return np.zeros(first.size)
        deviation = self.weights * np.sqrt(chance * (1 - chance))
        residual = self.weights * (self.labels - chance)
        everywhere = self._pairs(residual, np.ones(self.unit.size, dtype=bool))
        possible = self._pairs(deviation, np.ones(self.unit.size, dtype=bool))
        known = np.where(possible > 0, possible, 1.0)
        correlation = np.clip(np.where(possible > 0, everywhere / known, 0.0), 0.0, None)
        # the weight of a row in the difference of a run: h/n of its block and group
        sizes = self._in_blocks(self._at_scores(self.weights))
        counted = np.where(sizes > 0, sizes, 1.0)
        shared = (sizes > 0).all(axis=0) * counted[0] * counted[1] / counted.sum(axis=0)
        block = np.searchsorted(self.starts, self.place, side="right") - 1
        weighed = deviation * (shared / counted)[self.side, block]
        added = []
        for low, high in zip(first.tolist(), last.tolist(), strict=True):
            in_run = (block >= low) & (block <= high)
            added.append(float(correlation @ self._pairs(weighed, in_run)))
        return np.array(added)

    def _pairs(self, numbers: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Σ of the products of all pairs of rows of one unit, both orders, by group, shape (2,)."""
        own = np.where(chosen, numbers, 0.0)
        of_units = np.bincount(self.unit, own)
        side_of_unit = np.zeros(of_units.size, dtype=np.intp)
        side_of_unit[self.unit] = self.side
        squares = np.bincount(side_of_unit, of_units**2, 2) - np.bincount(self.side, own**2, 2)
        return np.asarray(squares, np.float64)

    def largest(self, labels: Floats, *, drawn: bool) -> tuple[float, tuple[int, int], float]:
        """The largest standardised difference of all runs, the run, and the mean difference.

        `drawn`: labels are drawn row by row, whose variance is known.
        """
        weight = self._at_scores(self.weights)
        positives = self._at_scores(self.weights * labels)
        fitted = fit_of_sums(positives.sum(axis=0), weight.sum(axis=0))
        if drawn:
            spread = self._at_scores(self.weights**2) * fitted * (1 - fitted)
        else:
            spread = self.spread_of_rows(fitted)
        return largest_of_runs(
            residuals=self._in_blocks(positives - weight * fitted),
            spread=self._in_blocks(spread),
            sizes=self._in_blocks(weight),
            added=None if drawn else self.spread_of_clusters(fitted),
        )


# ---------------------------------------------------------------- parts of the Brier score


@dataclass(frozen=True)
class WeightedPart(BrierPart):
    """Miscalibration or discrimination of a group whose rows have weights or come in clusters."""

    degrees_of_freedom: float = math.nan

    def limits(self, z: float) -> tuple[float, float]:
        """Limits at Φ(z) each, by Student's t; neither part is below 0."""
        return super().limits(float(as_student(z, self.degrees_of_freedom)))


def weighted_part(risks: WeightedRisks, metric: str) -> WeightedPart:
    """S(forecast) − S(p̂): of the scores themselves (miscalibration), or of the share of label 1."""
    gain = gains_of_rows(risks, metric)
    total = float(risks.weights.sum())
    estimate = float(risks.weights @ gain) / total
    excess = np.bincount(risks.unit, risks.weights * (gain - estimate))
    n_units = max(risks.n_units, 2)
    return WeightedPart(
        estimate=max(estimate, 0.0),
        left_out=estimate - _optimism(risks.with_few_scores()),
        variance=float(excess @ excess) / total**2 * n_units / (n_units - 1),
        degrees_of_freedom=max(risks.effective_units - 1, 1.0),
    )


def gains_of_rows(risks: WeightedRisks, metric: str) -> Floats:
    """(y − forecast)² − (y − p̂)² of every row; of uncertainty the label itself."""
    if metric == "uncertainty":
        return risks.labels
    forecast = risks.scores
    if metric == "discrimination":
        forecast = np.full(risks.scores.size, risks.share())
    fitted = risks.curve()[risks.place]
    gains: Floats = (risks.labels - forecast[risks.place]) ** 2 - (risks.labels - fitted) ** 2
    return gains


def sum_of_parts(
    parts: Sequence[BrierPart], shares: Floats, correlations: Floats | None = None
) -> BrierPart:
    """Σ ω·part over strata, with variance Σ ω²·v, of weighted rows with Satterthwaite's t.

    `correlations`: of parts of strata that share clusters, r, shape (H, H): then the variance is A =
    Σ r·ω_h·ω_k·√(v_h·v_k), and with b_h = ω_h·√v_h·Σ_k r·ω_k·√v_k it has A²/Σ r²·b_h·b_k/√(ν_h·ν_k)
    degrees of freedom.
    """
    errors = shares * np.sqrt(np.array([part.variance for part in parts]))
    estimate = float(shares @ np.array([part.estimate for part in parts]))
    left_out = float(shares @ np.array([part.left_out for part in parts]))
    pulled = errors**2
    if correlations is not None:
        pulled = errors * (correlations @ errors)
    variance = max(float(pulled.sum()), 0.0)
    weighted = [part for part in parts if isinstance(part, WeightedPart)]
    if not weighted:
        return BrierPart(estimate=estimate, left_out=left_out, variance=variance)
    df = np.array([part.degrees_of_freedom for part in weighted])
    terms = pulled / np.sqrt(df)
    squares = float(terms @ terms)
    if correlations is not None:
        squares = float(terms @ correlations**2 @ terms)
    return WeightedPart(
        estimate=estimate,
        left_out=left_out,
        variance=variance,
        degrees_of_freedom=variance**2 / squares if squares > 0 else float(df.sum()),
    )


def weighted_uncertainty_limits(share: EffectiveShare, z: float) -> tuple[float, float]:
    """Limits of p(1 − p) from those of Wilson for p, each at Φ(z)."""
    number = share.number_at(float(ndtr(-z)))
    if not number > 0:
        return 0.0, 0.25
    return uncertainty_limits(number * share.share, number, z)


def _optimism(risks: WeightedRisks) -> float:
    """S of the curves that leave each unit out, less S(p̂).

    Where no other row has the score of one that is left out, the curve goes straight there.
    """
    weight = risks.weight_at_scores()
    positives = risks.positives_at_scores()
    fitted = fit_of_sums(positives, weight)
    total = 0.0
    counted = 0.0
    for rows, number in _kinds_of_units(risks):
        place = risks.place[rows]
        own = risks.weights[rows]
        label = risks.labels[rows]
        left_out = _values_without(weight, positives, place, own, label)
        gain = (label - left_out) ** 2 - (label - fitted[place]) ** 2
        total += number * float(own @ gain)
        counted += number * float(own.sum())
    return total / counted


def _kinds_of_units(risks: WeightedRisks) -> list[tuple[NDArray[np.intp], int]]:
    """Rows of a unit, and how many units are like it; evenly spaced ones of very many."""
    if risks.n_units == risks.unit.size:
        kinds = np.column_stack([risks.place, risks.labels, risks.weights])
        _, first, number = np.unique(kinds, axis=0, return_index=True, return_counts=True)
        rows = [np.array([row]) for row in first.tolist()]
    else:
        ascending = np.argsort(risks.unit, kind="stable")
        rows = np.split(ascending, np.flatnonzero(np.diff(risks.unit[ascending])) + 1)
        mean_place = np.bincount(risks.unit, risks.place) / np.bincount(risks.unit)
        rows = [rows[unit] for unit in np.argsort(mean_place, kind="stable").tolist()]
        number = np.ones(len(rows), dtype=np.int64)
    chosen = np.arange(len(rows))
    if chosen.size > _MOST_LEFT_OUT:
        chosen = np.unique(np.linspace(0, chosen.size - 1, _MOST_LEFT_OUT).round().astype(int))
    return [(rows[place], int(number[place])) for place in chosen.tolist()]


def _values_without(
    weight: Floats, positives: Floats, place: NDArray[np.intp], own: Floats, label: Floats
) -> Floats:
    """The curve at some scores, fitted without the rows of a unit there."""
    left = weight - np.bincount(place, own, weight.size)
    left_positives = positives - np.bincount(place, own * label, weight.size)
    # what remains of a sum by rounding is no row
    remains = left > 1e-9 * weight
    if not remains.any():
        return np.full(place.size, 0.5)
    share = np.clip(left_positives[remains] / left[remains], 0.0, 1.0)
    curve = np.asarray(isotonic_regression(share, weights=left[remains]).x)
    before = np.cumsum(remains) - 1
    last = np.clip(before[place], 0, curve.size - 1)
    following = np.clip(before[place] + ~remains[place], 0, curve.size - 1)
    return np.asarray((curve[last] + curve[following]) / 2)
