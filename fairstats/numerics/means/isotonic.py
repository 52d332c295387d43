"""Isotonic calibration of risks: the curve, an honest band, a test of equal curves, Brier's parts.

Rows are counted per score, ascending: n_i rows, of which k_i have label 1.

*Curve.* p̂ is the isotonic regression of k_i/n_i with weights n_i (pool adjacent violators).

*Band.* Of rows with scores between s_j and s_k, j ≤ k, the number with label 1 is a sum of
Bernoulli variables whose probabilities are at least p(s_j), if p does not fall. So the upper limit
of Clopper and Pearson from these rows holds for p at every score up to s_j, and the lower one at
every score from s_k on. With the error e/N each, N the number of runs, all upper limits hold
at once with probability 1 − e, and all lower ones, whatever p is and however few rows there are.
Runs are of 1, 2, 4, 8 … blocks next to each score at which the curve is asked for, blocks of about
equal size, which depend on scores alone.

*Equal curves.* Within blocks b of the scores of two groups, D_b is the difference of the mean
residuals y − p̂ about the curve of both groups together, V_b its variance by p̂(1 − p̂), and
h_b = n₁n₀/(n₁ + n₀). The statistic is the largest |Σ h_b D_b|/√(Σ h_b² V_b) over all runs of
neighbouring blocks; labels that are drawn by p̂ at the same scores give its law.

*Parts of the Brier score.* With S the mean of (y − prediction)²,

    S(s) = MCB − DSC + UNC,    MCB = S(s) − S(p̂),   DSC = S(ȳ) − S(p̂),   UNC = S(ȳ) = ȳ(1 − ȳ).

p̂ fits its own rows better than others: S(p̂) is too low by about as much as S of the curves
that leave each row out is too high, and limits reach from the one to the other.

References: Ayer et al. (1955); Dimitriadis, Dümbgen, Henzi, Puke, Ziegel (2023), Biometrika 110,
663–680 (bands); Dimitriadis, Gneiting, Jordan (2021), PNAS 118 (the parts: CORP).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv, ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of
from fairstats.ground.scores import find_bin_starts

#: Blocks of one group's band: two for each cube root of its rows, within these.
FEWEST_BLOCKS = 5
MOST_BLOCKS = 100
#: Blocks of scores of two groups whose residuals are compared.
BLOCKS_OF_PAIR = 10
#: More scores than these are merged where labels are drawn, and rows are left out.
MOST_SCORES = 1_000


@dataclass(frozen=True, eq=False)
class CountedRisks:
    """Rows of one group at every score that it has.

    `scores`, ascending, shape (m,); `rows`, `positives`: at each of them.
    """

    scores: Floats
    rows: Floats
    positives: Floats

    @classmethod
    def of(cls, scores: Floats, negatives: NDArray[Any], positives: NDArray[Any]) -> CountedRisks:
        """From counts of both labels at scores of which some may have no row."""
        rows = np.asarray(negatives + positives, dtype=np.float64)
        present = rows > 0
        return cls(
            scores=scores[present],
            rows=rows[present],
            positives=np.asarray(positives, dtype=np.float64)[present],
        )

    @property
    def size(self) -> float:
        """Number of rows."""
        return float(self.rows.sum())

    def merged(self, starts: NDArray[np.intp]) -> CountedRisks:
        """The rows in runs of scores that begin at `starts`, each at its mean score."""
        rows = np.add.reduceat(self.rows, starts)
        return CountedRisks(
            scores=np.add.reduceat(self.rows * self.scores, starts) / rows,
            rows=rows,
            positives=np.add.reduceat(self.positives, starts),
        )

    def with_few_scores(self) -> CountedRisks:
        """The same rows at no more than a thousand scores."""
        if self.scores.size <= MOST_SCORES:
            return self
        return self.merged(find_bin_starts(np.cumsum(self.rows) / self.size, MOST_SCORES))


def isotonic_curve(risks: CountedRisks) -> Floats:
    """p̂ at every score."""
    if not risks.scores.size:
        return np.zeros(0)
    shares = risks.positives / risks.rows
    return np.asarray(isotonic_regression(shares, weights=risks.rows).x)


def value_of_curve(risks: CountedRisks, score: float) -> float:
    """p̂ at a score, straight between the scores of rows and level beyond; NaN without rows."""
    if not risks.scores.size:
        return math.nan
    return float(np.interp(score, risks.scores, isotonic_curve(risks)))


# ---------------------------------------------------------------- band


@dataclass(frozen=True, eq=False)
class HonestBand:
    """Limits of a curve that does not fall at some scores, from runs of blocks next to each.

    `low`, `high`: lowest and highest score of every block, shape (B,); `rows`, `positives`: up to
    each block, shape (B + 1,); `n_points`: scores at which limits are to hold at once.
    """

    low: Floats
    high: Floats
    rows: Floats
    positives: Floats
    n_points: int

    @classmethod
    def of(cls, risks: CountedRisks, n_points: int) -> HonestBand:
        """The blocks of a group."""
        if not risks.scores.size:
            return cls(np.zeros(0), np.zeros(0), np.zeros(1), np.zeros(1), n_points)
        n_blocks = int(np.clip(round(2 * risks.size ** (1 / 3)), FEWEST_BLOCKS, MOST_BLOCKS))
        starts = find_bin_starts(np.cumsum(risks.rows) / risks.size, n_blocks)
        ends = np.append(starts[1:], risks.scores.size) - 1
        return cls(
            low=risks.scores[starts],
            high=risks.scores[ends],
            rows=np.append(0.0, np.cumsum(risks.rows)[ends]),
            positives=np.append(0.0, np.cumsum(risks.positives)[ends]),
            n_points=n_points,
        )

    def limits(self, score: float, error: float) -> tuple[float, float]:
        """Limits at a score; each side holds at all scores at once with probability 1 − error."""
        n_blocks = self.low.size
        if not n_blocks:
            return 0.0, 1.0
        lengths = 2 ** np.arange(int(math.log2(n_blocks)) + 1)
        error_of_run = error / (self.n_points * lengths.size)
        below = int(np.searchsorted(self.high, score, side="right"))
        above = int(np.searchsorted(self.low, score, side="left"))
        starts = below - lengths[lengths <= below]
        rows = self.rows[below] - self.rows[starts]
        low = _lower_limit(self.positives[below] - self.positives[starts], rows, error_of_run)
        ends = above + lengths[lengths <= n_blocks - above]
        rows = self.rows[ends] - self.rows[above]
        negatives = rows - (self.positives[ends] - self.positives[above])
        return low, 1 - _lower_limit(negatives, rows, error_of_run)


def _lower_limit(successes: Floats, rows: Floats, error: float) -> float:
    """The largest of Clopper and Pearson's lower limits."""
    some = successes > 0
    if not some.any():
        return 0.0
    return float(betaincinv(successes[some], (rows - successes)[some] + 1, error).max())


# ---------------------------------------------------------------- equal curves


@dataclass(frozen=True)
class EqualityTest:
    """Whether two groups have one curve.

    `statistic`: the largest of all runs of blocks; `low`, `high`: scores of that run; `difference`:
    mean difference of the labels at equal scores there, group less reference.
    """

    statistic: float
    pvalue: float
    low: float
    high: float
    difference: float


#: Of curves that cannot be compared.
NOT_TESTED = EqualityTest(
    statistic=math.nan, pvalue=math.nan, low=math.nan, high=math.nan, difference=math.nan
)


class ScoresInBlocks(Protocol):
    """Scores, ascending, and the positions of the first and the last one of every block."""

    @property
    def scores(self) -> Floats: ...  # noqa: D102
    @property
    def starts(self) -> NDArray[np.intp]: ...  # noqa: D102
    @property
    def ends(self) -> NDArray[np.intp]: ...  # noqa: D102


def equality_by_draws(
    observed: float,
    largest_drawn: Callable[[], float],
    n_resamples: int,
    *,
    blocks: ScoresInBlocks,
    run: tuple[int, int],
    difference: float,
) -> EqualityTest:
    """The test whose statistic is the largest of all runs, by its law where curves are equal.

    `largest_drawn`: the statistic of labels that are drawn anew; `run`: first and last block of the
    largest one, `difference` there.
    """
    if math.isnan(observed):
        return NOT_TESTED
    n_as_large = 0
    for _ in each_of(range(n_resamples), "test of calibration curves"):
        # a draw without any variance shows no difference
        if largest_drawn() >= observed - 1e-9:
            n_as_large += 1
    first, last = run
    return EqualityTest(
        statistic=observed,
        pvalue=(n_as_large + 1) / (n_resamples + 1),
        low=float(blocks.scores[blocks.starts[first]]),
        high=float(blocks.scores[blocks.ends[last]]),
        difference=difference,
    )


def equality_of_curves(
    group: CountedRisks,
    reference: CountedRisks,
    n_resamples: int,
    rng: np.random.Generator,
) -> EqualityTest:
    """Test that two groups have one isotonic curve, by labels that are drawn from it."""
    shared = _SharedScores.of(group, reference)
    if shared is None:
        return NOT_TESTED
    observed, run, difference = shared.scan(shared.positives)
    fitted = shared.fit(shared.positives)

    def largest_drawn() -> float:
        drawn = rng.binomial(shared.rows.astype(np.int64), fitted).astype(np.float64)
        return shared.scan(drawn)[0]

    return equality_by_draws(
        observed, largest_drawn, n_resamples, blocks=shared, run=run, difference=difference
    )


@dataclass(frozen=True, eq=False)
class _SharedScores:
    """Rows of two groups at the scores of both, and blocks of these.

    `rows`, `positives`, shape (2, m); `starts`, `ends`: first and last score of every block.
    """

    scores: Floats
    rows: Floats
    positives: Floats
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def of(cls, group: CountedRisks, reference: CountedRisks) -> _SharedScores | None:
        """Of two groups, None where one has no rows."""
        if not (group.scores.size and reference.scores.size):
            return None
        scores = np.union1d(group.scores, reference.scores)
        rows = np.zeros((2, scores.size))
        positives = np.zeros((2, scores.size))
        for place, risks in enumerate((group, reference)):
            positions = np.searchsorted(scores, risks.scores)
            rows[place, positions] = risks.rows
            positives[place, positions] = risks.positives
        shares = np.cumsum(rows.sum(axis=0)) / rows.sum()
        if scores.size > MOST_SCORES:
            merged = find_bin_starts(shares, MOST_SCORES)
            scores = scores[merged]
            rows = np.add.reduceat(rows, merged, axis=1)
            positives = np.add.reduceat(positives, merged, axis=1)
            shares = np.cumsum(rows.sum(axis=0)) / rows.sum()
        starts = find_bin_starts(shares, BLOCKS_OF_PAIR)
        ends = np.append(starts[1:], scores.size) - 1
        return cls(scores=scores, rows=rows, positives=positives, starts=starts, ends=ends)

    def fit(self, positives: Floats) -> Floats:
        """The curve of both groups together."""
        rows = self.rows.sum(axis=0)
        return np.asarray(isotonic_regression(positives.sum(axis=0) / rows, weights=rows).x)

    def scan(self, positives: Floats) -> tuple[float, tuple[int, int], float]:
        """The largest standardised difference of all runs, the run, and the mean difference."""
        fitted = self.fit(positives)
        residuals = np.add.reduceat(positives - self.rows * fitted, self.starts, axis=1)
        spread = np.add.reduceat(self.rows * fitted * (1 - fitted), self.starts, axis=1)
        sizes = np.add.reduceat(self.rows, self.starts, axis=1)
        return largest_of_runs(residuals=residuals, spread=spread, sizes=sizes)


def largest_of_runs(
    *, residuals: Floats, spread: Floats, sizes: Floats, added: Floats | None = None
) -> tuple[float, tuple[int, int], float]:
    """The largest standardised difference of all runs of blocks, the run, and the mean difference.

    Sums of residuals, their variances, and rows (or weights) of two groups in blocks, shape (2, B);
    `added`: to the variance of every run, in the order of `np.triu_indices`.
    """
    is_shared = (sizes > 0).all(axis=0)
    counted = np.where(sizes > 0, sizes, 1.0)
    weight = np.where(is_shared, counted[0] * counted[1] / counted.sum(axis=0), 0.0)
    difference = residuals[0] / counted[0] - residuals[1] / counted[1]
    variance = spread[0] / counted[0] ** 2 + spread[1] / counted[1] ** 2
    sums = np.array([weight * difference, weight**2 * variance, weight])
    before = np.concatenate([np.zeros((3, 1)), np.cumsum(sums, axis=1)], axis=1)
    first, last = np.triu_indices(sizes.shape[1])
    of_runs = before[:, last + 1] - before[:, first]
    if added is not None:
        of_runs[1] += added
    has_spread = of_runs[1] > 1e-12
    if not has_spread.any():
        return math.nan, (0, 0), math.nan
    distance = np.full(first.size, -1.0)  # a run without spread is never the largest
    distance[has_spread] = np.abs(of_runs[0, has_spread]) / np.sqrt(of_runs[1, has_spread])
    largest = int(np.argmax(distance))
    mean = float(of_runs[0, largest] / of_runs[2, largest])
    return float(distance[largest]), (int(first[largest]), int(last[largest])), mean


# ---------------------------------------------------------------- parts of the Brier score


@dataclass(frozen=True)
class BrierPart:
    """Miscalibration or discrimination of a group.

    `estimate`: by the isotonic curve of its rows; `left_out`: by curves that leave each row out;
    `variance`: of both.
    """

    estimate: float
    left_out: float
    variance: float

    @property
    def centre(self) -> float:
        """Between both, where the bias of the one is about that of the other."""
        return max((self.estimate + self.left_out) / 2, 0.0)

    def limits(self, z: float) -> tuple[float, float]:
        """Limits at Φ(z) each; neither part is below 0."""
        reach = z * math.sqrt(self.variance)
        return max(self.left_out - reach, 0.0), max(self.estimate + reach, 0.0)


def miscalibration(risks: CountedRisks) -> BrierPart:
    """MCB: how much the Brier score falls by calibrating the scores."""
    return _part(risks, risks.scores)


def discrimination(risks: CountedRisks) -> BrierPart:
    """DSC: how much the calibrated scores' Brier score is below that of the share of label 1."""
    share = float(risks.positives.sum() / risks.size)
    return _part(risks, np.full(risks.scores.size, share))


def _part(risks: CountedRisks, forecast: Floats) -> BrierPart:
    """S(forecast) − S(p̂)."""
    size = risks.size
    negatives = risks.rows - risks.positives
    fitted = isotonic_curve(risks)
    # (y − forecast)² − (y − p̂)² of rows with label 0 and 1
    gain_of_0 = forecast**2 - fitted**2
    gain_of_1 = (1 - forecast) ** 2 - (1 - fitted) ** 2
    estimate = float(negatives @ gain_of_0 + risks.positives @ gain_of_1) / size
    squares = float(
        negatives @ (gain_of_0 - estimate) ** 2 + risks.positives @ (gain_of_1 - estimate) ** 2
    )
    return BrierPart(
        estimate=max(estimate, 0.0),
        left_out=estimate - _optimism(risks),
        variance=squares / (size * max(size - 1, 1.0)),
    )


def _optimism(risks: CountedRisks) -> float:
    """S of the curves that leave each row out, less S(p̂).

    Where a row is the only one at its score, the curve without it goes straight there.
    """
    counted = risks.with_few_scores()
    fitted = isotonic_curve(counted)
    total = 0.0
    for place in range(counted.scores.size):
        for label, number in (
            (0.0, counted.rows[place] - counted.positives[place]),
            (1.0, counted.positives[place]),
        ):
            if number > 0:
                left_out = _value_without_row(counted, place, label)
                total += number * ((label - left_out) ** 2 - (label - fitted[place]) ** 2)
    return float(total) / counted.size


def _value_without_row(risks: CountedRisks, place: int, label: float) -> float:
    """The curve at a score, fitted without one of its rows."""
    rows = risks.rows.copy()
    positives = risks.positives.copy()
    rows[place] -= 1
    positives[place] -= label
    if rows[place] > 0:
        return float(isotonic_regression(positives / rows, weights=rows).x[place])
    rows = np.delete(rows, place)
    if not rows.size:
        return 0.5
    curve = isotonic_regression(np.delete(positives, place) / rows, weights=rows).x
    return float(curve[max(place - 1, 0)] + curve[min(place, rows.size - 1)]) / 2


def uncertainty_limits(positives: float, rows: float, z: float) -> tuple[float, float]:
    """Limits of p(1 − p) from those of Wilson for p, each at Φ(z).

    Near p = ½ either limit of p can leave p(1 − p) out above: each then has half the error.
    """
    low, high = _wilson(positives, rows, z)
    lower_limit = min(low * (1 - low), high * (1 - high))
    low, high = _wilson(positives, rows, error_as_z(halved_error(z)))
    if low <= 0.5 <= high:
        return lower_limit, 0.25
    return lower_limit, max(low * (1 - low), high * (1 - high))


def _wilson(positives: float, rows: float, z: float) -> tuple[float, float]:
    squared = z * z
    centre = (positives + squared / 2) / (rows + squared)
    reach = z * math.sqrt(positives * (rows - positives) / rows + squared / 4) / (rows + squared)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def halved_error(z: float) -> float:
    """Half the error of a limit at Φ(z)."""
    return float(ndtr(-z)) / 2


def error_as_z(error: float) -> float:
    """The z whose limits have this error."""
    return -float(ndtri(error))
