"""ABROCA: the area between the ROC curves of two groups, with an interval that can start at zero."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, as_generator, check_choice, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference, group_index
from fairstats.ground.lazy import Axes
from fairstats.ground.multiplicity import make_pairs
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.registry import METRICS
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.ground.verdict import Evidence, Procedure
from fairstats.methods.rates.result import ComparisonResult, Inference, RateComparison, as_family, warned
from fairstats.methods.rates.setup import Shared, check_groups, documented, make_settings, rows_among
from fairstats.numerics.draws import drawn_rows, split_rows
from fairstats.numerics.paired.distance import MIN_ROWS, AucGap, Unseen, unseen
from fairstats.plots.figures import calibration_curves, roc_curves
from fairstats.plots.picture import draw

#: False positive rates at which drawn curves are compared; a prime number, so that few curves jump there.
_GRID = (np.arange(257) + 0.5) / 257
#: Drawn are the counts of at most so many intervals of scores; of tables of so many rows, for speed, fewer,
#: which hold equal shares of every group and label: both noises are within 1% of those by 500.
_BINS, _MANY_ROWS, _BINS_OF_MANY = 500, 1_000_000, 128
#: A result carries at most so many bins, with so many rows on average: no person can be read off.
_STORED_BINS, _ROWS_PER_BIN = 2048, 10
_METHOD = "bootstrap and exchange of groups"


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Piecewise linear ROC curve; tied scores give its slanted pieces.

    `fpr`, shape (m,): distinct false positive rates, ascending from 0 to 1; `low`, `high`, shape (m,): lowest
    and highest true positive rate there (they differ where the curve jumps).
    """

    fpr: Floats
    low: Floats
    high: Floats

    @classmethod
    def _from_counts(cls, negatives: NDArray[Any], positives: NDArray[Any]) -> RocCurve:
        """Curve from counts per ascending score, shape (m,) each; both sums above 0."""
        false = np.concatenate([[0], np.cumsum(negatives[::-1])])
        true = np.concatenate([[0], np.cumsum(positives[::-1])])
        first = np.flatnonzero(np.diff(false, prepend=-1))
        last = np.append(first[1:] - 1, false.size - 1)
        return cls(false[first] / false[-1], true[first] / true[-1], true[last] / true[-1])

    @property
    def auc(self) -> float:
        """Area under the curve."""
        return float(np.sum(np.diff(self.fpr) * (self.high[:-1] + self.low[1:]) / 2))

    @property
    def misplaced(self) -> tuple[tuple[float, float], ...]:
        """Of negatives and positives the mean share of the other label on the wrong side, and its square.

        Of scores that go the other way (AUC below one half) the wrong side is the other one.
        """
        caught = np.concatenate([self.high - self.low, self.low[1:] - self.high[:-1]])
        before = np.concatenate([self.fpr, (self.fpr[1:] + self.fpr[:-1]) / 2])
        passed, behind = np.diff(self.fpr), 1 - (self.high[:-1] + self.low[1:]) / 2
        if self.auc < 0.5:
            before, behind = 1 - before, 1 - behind
        of_both = (passed, behind), (caught, before)
        return tuple((float(share @ wrong), float(share @ wrong**2)) for share, wrong in of_both)

    def _ends(self, at: Floats) -> tuple[Floats, Floats]:
        """Limits from the left and from the right at ascending false positive rates in [0, 1]."""
        right = np.searchsorted(self.fpr, at)
        low, high = self.low[right], self.high[right]
        between = np.flatnonzero(self.fpr[right] > at)
        right = right[between]
        left = right - 1
        share = (at[between] - self.fpr[left]) / (self.fpr[right] - self.fpr[left])
        low[between] = high[between] = self.high[left] + share * (self.low[right] - self.high[left])
        return low, high


def area_between(first: RocCurve, second: RocCurve) -> float:
    """∫ |ROC₁ − ROC₂| over the false positive rate, exact for piecewise linear curves."""
    at = np.union1d(first.fpr, second.fpr)
    (left1, right1), (left2, right2) = first._ends(at), second._ends(at)
    start, stop = (right1 - right2)[:-1], (left1 - left2)[1:]
    size = np.abs(start) + np.abs(stop)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(size > 0, (start**2 + stop**2) / (2 * size), 0.0)
    height = np.where(start * stop >= 0, size / 2, crossing)
    return float(np.sum(np.diff(at) * height))


@serialisable(eq=False)
class AbrocaResult(ComparisonResult):
    """Areas between ROC curves; `rate` and `rate_reference` hold the two AUCs.

    Attributes
    ----------
    expected_if_equal : tuple of float
        Mean ABROCA that two equal curves would show at these sample sizes, one per comparison.
    """

    expected_if_equal: tuple[float, ...] = ()

    scale: ClassVar[str] = "maximum"
    tails: ClassVar[dict[str, str]] = {
        "violated": "show an area above {high}",
        "satisfied": "show an area below {high}",
        "undecided": "do not settle on which side of {high} it lies",
    }

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        rows = zip(super().rows(), self.expected_if_equal, strict=True)
        return [{**row, "expected_if_equal": expected} for row, expected in rows]

    def roc(self, group: Hashable) -> RocCurve:
        """The ROC curve of a group; its scores are counted in at most 2,048 bins of ten rows.

        Parameters
        ----------
        group : hashable
            Any group, the reference too.

        Raises
        ------
        InputError
            For a group that is not there, or without rows of both labels, which has no ROC curve.
        """
        scores: Any = self.counts
        index = group_index(scores.groups, group, "group")
        n_negative, n_positive = scores.counts[index].sum(axis=1).tolist()
        if min(n_negative, n_positive) == 0:
            got = f"{scores.groups[index]!r}, with {n_negative:,} rows of label 0 and {n_positive:,} of label 1"
            raise InputError("group", got=got, allowed="a group with rows of both labels", cure="name another group")
        return RocCurve._from_counts(*scores.counts[index])

    def plot(
        self, ax: Axes | None = None, *, kind: Literal["forest", "roc", "calibration"] = "forest",
        group: Hashable | None = None,
    ) -> Axes:  # fmt: skip
        """Draw the areas with their intervals, the ROC curves of a comparison, or its calibration curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        kind : {"forest", "roc", "calibration"}, default "forest"
            "roc" fills the area between the curves, ABROCA; "calibration" is the share with label 1 in up to
            ten bins of scores, each with its Wilson interval.
        group : hashable, optional
            Whose comparison; default the first.

        Raises
        ------
        InputError
            For a group without rows of both labels, which has no ROC curve.
        """
        check_choice("kind", kind, ("forest", "roc", "calibration"))
        if kind == "forest":
            return super().plot(ax)
        chosen = self.comparisons[0] if group is None else self[group]
        fine = kind == "calibration" or np.isfinite(chosen.estimate)
        check_that(fine, "group", chosen.group, "a comparison of groups with both labels", 'kind="calibration"')
        return draw((roc_curves if kind == "roc" else calibration_curves)(self, chosen), ax)

    def _finding(self, c: RateComparison) -> str:
        told = f"{c.confidence_interval.words()}; AUC {c.rate:.3f} and {c.rate_reference:.3f}"
        return f"{self._subject(c)}: area between the ROC curves {c.estimate:.3f} ({told})"

    def _who(self, c: RateComparison) -> str:
        """Nobody: curves may cross, and an area has no sign."""
        return ""


@documented()
def abroca(
    y_true: Any = None,
    score: Any = None,
    *,
    counts: ScoreCounts | Tally | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    margin: float = 0.1,
    n_resamples: int = 999,
    rng: Any = None,
    **options: Unpack[Shared],
) -> AbrocaResult:
    r"""Absolute area between the ROC curves of each group and the reference.

    A = ∫₀¹ |ROC_s(t) − ROC_ref(t)| dt ∈ [0, 1], exact for the empirical curves. As every norm of a noisy
    difference it is biased upwards; `expected_if_equal` says what equal curves would show.

    Parameters
    ----------
    y_true : array-like, shape (n,)
        Labels, any type with two values.
    score : array-like of float, shape (n,)
        Score in [0, 1], larger for the favourable label.
    counts : ScoreCounts or Tally, optional
        Rows per group, label and score value instead of the columns.
    margin : float, default 0.1
        The verdict asks on which side of it the area lies.
    n_resamples : int, default 999
        Bootstrap resamples of the score counts within group and label.

    Raises
    ------
    InputError
        For scores outside [0, 1], and other input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than ten rows of one of the labels.
    DataWarning
        Where the scores separate the labels of a group without an error, or are all equal.

    Notes
    -----
    With D = ROC_s − ROC_ref and its bootstrap version D*, |Â − A| ≤ ∫|D̂ − D| by the triangle inequality,
    also for equal curves, where a percentile interval has no coverage. The law of ∫|D̂ − D| is taken twice: as that of
    ∫|D* − D̂|, and from exchanging groups within labels, each score replaced by its place among the negatives of its
    group, so that only the curves count [2]_; the bootstrap alone understates the noise of ten positives beside many
    (size .13 at an AUC of .9). The p-value of H0: area = a is the larger of the two shares of distances of at least the
    one between a and Â, and the interval holds every a that is not rejected. It is conservative: at an AUC of .9 the
    size is about .01, not .05. `std_error` is that of the estimate, from its bootstrap.

    Perfect separation shows no noise, which is no evidence that there is none: of k rows of the rarer label p-values
    are at least (1 − d/2)²ᵏ, so that the area of two such groups is at most .28 with 10 rows, .10 with 30. Where x rows
    lie far on the wrong side (wrong labels, say, of size c) the distance reaches at least to c times Clopper and
    Pearson's upper limit of x of k less x/k (without it 40 beside 400 rows with two to six wrong labels expected
    covered .79 to .94, with it .95 and more). The upper limit is never below that of the difference of the AUCs, which
    no area is below, with the variance of Hanley and McNeil at the limit [3]_ (without it 20 rows a label beside a
    nearly perfect curve had an area above the limit in 7.5%, with it in 1%).

    References
    ----------
    .. [1] Gardner, Brooks, Baker (2019). Evaluating the fairness of predictive student models through slicing
       analysis. LAK19, 225–234.
    .. [2] Venkatraman (2000). A permutation test to compare receiver operating characteristic curves. Biometrics 56.
    .. [3] Newcombe (2006). Confidence intervals for an effect size measure based on the Mann–Whitney statistic,
       part 2 (method 5). Statistics in Medicine 25, 559–573.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> y, group = rng.integers(0, 2, 400), np.repeat(["a", "b"], 200)
    >>> score = np.clip(0.4 + 0.2 * y * (group == "a") + 0.1 * rng.standard_normal(400), 0, 1)
    >>> result = fs.abroca(y, score, sensitive_features=group, reference="a", rng=1)
    >>> print(result.verdict)
    violated
    """
    own = {"comparisons": comparisons, "margin": margin, "n_resamples": n_resamples}
    settings = make_settings("gap", {**own, **options})
    rows = {"y_true": y_true, "score": score, "sensitive_features": options["sensitive_features"]}
    if counts_or_rows(counts, needs="y_true, score", **rows):
        scores = _scores(counts)
    else:
        outcomes = Outcomes.from_arrays(y_true, None, score=score, **rows_among(options))
        scores = ScoreCounts._from_outcomes(outcomes)
    return abroca_from_counts(scores, options["reference"], settings, rng)


def _scores(counts: Any) -> ScoreCounts:
    """Score counts of rows of equal weight, from what was passed as counts."""
    scores = counts.histogram() if isinstance(counts, Tally) else counts
    if isinstance(scores, ScoreCounts):
        scores = scores.without_even_weights()
    if not isinstance(scores, ScoreCounts) or scores.counts.shape[1] < 2:
        got, allowed = f"a {type(scores).__name__}", "score counts per group and label"
    elif scores.totals is not None or scores.clustered:
        got, allowed = "weighted or clustered rows", "independent rows of equal weight"
    else:
        return scores
    raise InputError("counts", got=got, allowed=allowed, cure="ScoreCounts, or fs.tally(…, y_true=, score=)")


def abroca_from_counts(scores: ScoreCounts, reference: Hashable | None, settings: Inference, rng: Any) -> AbrocaResult:
    """Area between ROC curves from score counts."""
    check_groups(scores.groups)
    totals = scores.counts.sum(axis=2)
    curves = [RocCurve._from_counts(*scores.counts[g]) if totals[g].min() > 0 else None for g in range(len(totals))]
    aucs = np.array([np.nan if curve is None else curve.auc for curve in curves])
    index, rule = find_reference(scores.groups, reference, sizes=scores.group_sizes, rates=aucs)
    generator, seed = as_generator(rng)
    settings = replace(settings, method=_METHOD, seed=seed, reference_rule=rule)
    draw = _Draws(scores, settings.n_resamples, generator)
    pairs = make_pairs(len(curves), index, settings.comparisons)
    # the pairs that could have been chosen count too
    chosen_among = len(make_pairs(len(curves), index, "all")) if rule == "highest" else 0
    level = 1 - (1 - settings.confidence_level) / max(chosen_among, 1)

    def area(pair: tuple[int, int]) -> float | None:
        first, second = (curves[g] for g in pair)
        return None if first is None or second is None else area_between(first, second)

    with ThreadPoolExecutor() as pool:  # sorting and sums of millions of scores let other threads run
        areas = list(pool.map(area, pairs))
    shared = scores, curves, aucs, draw, settings, level
    compared = [_compare(*shared, pair, found) for pair, found in zip(pairs, areas, strict=True)]
    judged = [(c, evidence) for c, evidence, _ in compared]
    result = AbrocaResult(
        metric="abroca", comparisons=as_family(judged, settings, chosen_among=chosen_among), settings=settings,
        counts=scores._binned(max(2, min(_STORED_BINS, int(scores.counts.sum()) // _ROWS_PER_BIN))),
        words=METRICS["abroca"].title, expected_if_equal=tuple(mean for _, _, mean in compared),
    )  # fmt: skip
    return warned(result, "abroca")


@dataclass(frozen=True, eq=False)
class _Noise:
    """Draws of one pair: two laws of ∫|D̂ − D|, ascending, and the areas; `hidden`: what the rows do not show."""

    laws: tuple[Floats, Floats]
    areas: Floats
    hidden: Unseen

    def pvalue(self, distance: float) -> float:
        """The larger share of draws of at least this distance; 1 where it is 0 or less."""
        if distance <= 0:
            return 1.0
        below = min(int(np.searchsorted(law, distance - 1e-12)) for law in self.laws)
        return max((1 + self.areas.size - below) / (1 + self.areas.size), self.hidden.pvalue(distance))

    def pvalue_of_less(self, area: float, estimate: float) -> float:
        """p-value of an area at or above the estimate; 1 below it."""
        return max(self.pvalue(area - estimate), self.hidden.pvalue_of_less(area))

    def reach(self, level: float) -> float:
        """The largest distance whose p-value is above 1 − level."""
        beyond = int((1 - level) * (1 + self.areas.size) + 1e-9)
        return max(self.hidden.reach(1 - level), *(float(law[-beyond]) for law in self.laws)) if beyond else 1.0


class _Draws:
    """Drawn curves of every group, once for all its pairs."""

    def __init__(self, scores: ScoreCounts, n: int, rng: np.random.Generator) -> None:
        many = int(scores.counts.sum()) >= _MANY_ROWS
        self._cells = scores._binned(_BINS_OF_MANY if many else _BINS, each=many).counts
        self._n, self._rng = n, rng
        self._known: dict[int, tuple[Floats, Floats]] = {}

    def noise(self, i: int, j: int, hidden: Unseen) -> _Noise:
        """Draws of a pair, whichever is the reference."""
        i, j = sorted((i, j))
        (curve, drawn), (curve_j, drawn_j) = self._bootstrap(i), self._bootstrap(j)
        difference = drawn - drawn_j
        own = np.abs(difference - (curve - curve_j)).mean(axis=1)
        laws = np.sort(own), np.sort(self._exchanged(i, j))
        return _Noise(laws, np.abs(difference).mean(axis=1), hidden)

    def _bootstrap(self, g: int) -> tuple[Floats, Floats]:
        """The curve of a group on the grid, shape (1, grid), and as many drawn ones as wanted."""
        if g not in self._known:
            cells = self._cells[g]
            drawn = [drawn_rows(int(c.sum()), c / c.sum(), self._n, self._rng) for c in cells]
            self._known[g] = roc_on_grid(*cells[:, None]), roc_on_grid(*drawn)
        return self._known[g]

    def _exchanged(self, i: int, j: int) -> Floats:
        """Areas between the curves after exchanging groups within labels, shape (n,)."""
        of_both = [_places(self._cells[g]) for g in (i, j)]
        places = np.unique(np.concatenate([places for places, _ in of_both]))
        pooled, own = np.zeros((2, places.size), dtype=np.int64), of_both[0][1].sum(axis=1)
        for at, counts in of_both:
            pooled[:, np.searchsorted(places, at)] += counts
        drawn = [
            split_rows(c, size, self._n, self._rng, "count" if c.sum() < 20 * c.size else "marginals")
            for c, size in zip(pooled, own.tolist(), strict=True)
        ]
        rest = [counts - d for counts, d in zip(pooled, drawn, strict=True)]
        return np.asarray(np.abs(roc_on_grid(*drawn) - roc_on_grid(*rest)).mean(axis=1))


def hidden_by_rows(curves: Sequence[RocCurve], rows: Sequence[Sequence[float]], still: Sequence[bool]) -> Unseen:
    """What so many rows of either label do not show of two curves; `still`: no draw moves it."""
    errors, whole, aucs = [], [], []
    for curve, sizes, unmoved in zip(curves, rows, still, strict=True):
        # one score in all rows is no sample of a continuous law: its AUC is known
        aucs.append((curve.auc, *((math.inf, math.inf) if unmoved and curve.auc == 0.5 else sizes)))
        of_both = curve.misplaced
        if unmoved or min(sizes) * of_both[0][0] < 1:
            whole.append(float(min(sizes)))
        for (mean, square), k in zip(of_both, sizes, strict=True):
            # equal errors of all rows (one score) are no rare ones
            if 0 < mean**2 < (1 - 1e-9) * square:
                errors.append((float(k), k * mean**2 / square, square / mean))
    (worse, *own), (better, *other) = sorted(aucs)
    return Unseen(min(whole, default=np.inf), tuple(errors), AucGap(worse, better, tuple(own), tuple(other)))


def _still(cells: NDArray[np.int64]) -> bool:
    """Whether no draw of these rows moves their curve: scores that separate the labels, or one score only."""
    (first, last), (first_one, last_one) = (np.flatnonzero(counts)[[0, -1]].tolist() for counts in cells)
    return bool(last < first_one or last_one < first or first == last == first_one == last_one)


def _places(cells: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Where the scores of a group lie among its negatives, in [0, 1] and ascending, and the counts there."""
    negatives = cells[0]
    place = ((np.cumsum(negatives) - negatives / 2) / negatives.sum()).round(12)
    places, at = np.unique(place, return_inverse=True)
    return places, np.array([np.bincount(at, c, places.size) for c in cells]).astype(np.int64)


def roc_on_grid(negatives: NDArray[Any], positives: NDArray[Any]) -> Floats:
    """ROC curves on the grid, shape (curves, grid), from counts by ascending score, (curves, scores).

    Shares do as well as counts: of either, the sum is the same for all curves.
    """
    n, points, grid = len(negatives), negatives.shape[1] + 1, _GRID.size
    false, true = np.zeros((2, n, points), dtype=negatives.dtype)
    for sums, counts in ((false, negatives), (true, positives)):
        np.cumsum(counts[:, ::-1], axis=1, out=sums[:, 1:])
    total = false[0, -1]
    # how many points of a curve lie left of each place of the grid, (g + 1/2)/grid: a histogram, summed up
    place = ((2 * grid * false + total) // (2 * total)).astype(np.int64) + (grid + 1) * np.arange(n)[:, None]
    seen = np.bincount(place.ravel(), minlength=n * (grid + 1)).reshape(n, -1)[:, :-1]
    left = np.cumsum(seen, axis=1) - 1 + points * np.arange(n)[:, None]
    slope = np.zeros((n, points))
    run = negatives[:, ::-1]
    np.divide(positives[:, ::-1], run, out=slope[:, :-1], where=run > 0)
    level = true - slope * false
    height: Floats = (level.take(left) + slope.take(left) * (total * _GRID)) / true[0, -1]
    return height


def _compare(
    scores: ScoreCounts, curves: Sequence[RocCurve | None], aucs: Floats, draw: _Draws, settings: Inference,
    level: float, pair: tuple[int, int], estimate: float | None,
) -> tuple[RateComparison, Evidence, float]:  # fmt: skip
    """A pair of groups, the evidence on it, and the mean area of equal curves; `level`: of its limits alone."""
    empty = RateComparison._unknown("abroca", settings, pair, scores.groups, aucs, scores.group_sizes, (0.0, 1.0))
    names, rows = [scores.groups[g] for g in pair], scores.counts[list(pair)].sum(axis=2)
    note = ""
    if estimate is None:
        words = "an unfavourable", "a favourable"
        lacking = [f"{names[g]} has no row with {words[label]} label" for g, label in np.argwhere(rows == 0).tolist()]
        note = "; ".join(lacking) + ", so no ROC curve."
    elif rows.min() < MIN_ROWS:
        few = " and ".join(name for name, own in zip(names, rows, strict=True) if own.min() < MIN_ROWS)
        note = f"{few}: fewer than {MIN_ROWS} rows of one label, too few to resample a ROC curve."
    if note or estimate is None:
        return replace(empty, note=note), Evidence(), float("nan")
    still = [_still(scores.counts[g]) for g in pair]
    of_pair = [curve for curve in (curves[g] for g in pair) if curve is not None]
    noise = draw.noise(*pair, hidden_by_rows(of_pair, rows.tolist(), still))
    # The triangle inequality bounds each side by the same distance: no gain for a one-sided limit.
    reach, pvalue = noise.reach(level), noise.pvalue(estimate)
    high = min(max(estimate + reach, noise.hidden.upper(1 - level)), 1.0)
    interval = Interval(max(estimate - reach, 0.0), high, settings.confidence_level, settings.method)
    test = HypothesisTest("equal ROC curves", "two-sided", estimate, pvalue, settings.method)
    if error := float(scores.auc_error[list(pair)].sum()):
        note = f"Scores were counted in intervals: the area and the AUCs can be off by {error:.2g} at most. "
    if any(still):
        who, fewest = " and ".join(np.compress(still, names)), float(rows[still].min())
        note += (
            f"{who}: the scores separate the labels without an error, or are all equal, so that resampling shows no "
            f"noise. {fewest:.0f} rows of a label allow a distance of {unseen(1 - level, fewest):.2g}; more rows of "
            "the rarer label allow less."
        )
    found = replace(
        empty, estimate=estimate, confidence_interval=interval, bounds=interval, statistic=estimate, pvalue=pvalue,
        # two curves that no draw moves have no spread to estimate
        std_error=np.nan if all(still) else float(np.std(noise.areas, ddof=1)), tests=(test,), note=note.strip(),
        procedure=Procedure(settings.method, "draws"),
    )  # fmt: skip
    _, most = settings._fair("gap")
    evidence = Evidence(1.0, noise.pvalue(estimate - most), noise.pvalue_of_less(most, estimate))
    return found, evidence, float(noise.laws[1].mean())
