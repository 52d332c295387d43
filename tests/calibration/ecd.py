"""Size of the ECD test and coverage of its interval: `python -m tests.calibration ecd`.

The studies are of the likelihood ratio before it is standardised: tails exactly generalised Pareto,
k exceedances each. Only the k + 1 largest values of a sample matter, which are drawn by Rényi's
representation of exponential order statistics; the deviances are those of `LevelContrast`, which
`fs.ecd` calls, and a test holds the two together. The cells of the published table are of `fs.ecd`
itself, its choices of thresholds and branches included: many samples are drawn at once, and those
whose likelihood ratio may reject are given to its procedure (a test compares this with it)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betaincc, betaincinv, ndtr, ndtri, stdtrit

import fairstats as fs
from fairstats.ground.checks import Floats
from fairstats.ground.results import Interval
from fairstats.ground.verdict import Evidence, settle
from fairstats.methods.ecd.contrast import Pair, _infer_by_likelihood, _infer_near_end_point
from fairstats.methods.ecd.level_contrast import _find_deviances, _Side
from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.methods.ecd.result import EcdResult
from fairstats.methods.ecd.sample import Average, average_of
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.methods.ecd.tail import exceedances_of_pair
from fairstats.numerics.evt import fit_gpd
from fairstats.numerics.evt.distributions import power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.likelihood import Samples
from tests.calibration.contrast_roots import Tails, standardised_roots
from tests.calibration.study import Cell, Counts, tally_interval

#: What a cell calls.
Simulate = Callable[[np.random.Generator, int], Counts]
M = 1000.0
SIZES = (3_000, 25_000)
CHI2 = 3.841458820694124


class Top(NamedTuple):
    """Largest values of `replicates` samples: excesses (descending) and thresholds."""

    excesses: np.ndarray
    threshold: np.ndarray


def largest(
    rng: np.random.Generator, replicates: int, n: int, k: int, shape: float, scale: float
) -> Top:
    """k + 1 largest of n generalised Pareto values: E₍ⱼ₎ from the smallest of them upwards.

    The (k + 1)-th largest of n exponentials is −log of a Beta(k + 1, n − k) variable; those above
    it are that plus k exponentials."""
    base = -np.log(rng.beta(k + 1, n - k, replicates))
    above = np.sort(rng.standard_exponential((replicates, k)), axis=1)[:, ::-1]
    xi = np.asarray(shape)
    threshold = scale * power_ratio(base, xi)
    values = scale * power_ratio(base[:, None] + above, xi)
    return Top(values - threshold[:, None], threshold)


def side(top: Top, n: int) -> Any:
    """The likelihoods of all samples, as `LevelContrast` holds them."""
    replicates, k = top.excesses.shape
    samples = Samples.from_excesses(top.excesses, np.full(replicates, float(k)))
    likelihood = GpdLikelihood.from_samples(samples, np.full(replicates, float(n)), "binomial")
    return _Side(likelihood, top.threshold, float(np.log(M)), None)  # type: ignore[arg-type]


def delta_errors(one: Any) -> np.ndarray:
    """Delta-method standard error of RL(m), rate estimated; NaN where the fit is not regular."""
    from fairstats.numerics.evt.gpd import fit_gpd_samples
    from fairstats.numerics.evt.return_levels import excess_level_error

    fits = fit_gpd_samples(one.standard.samples, covariance=True)
    n = one.standard.samples.n
    total = one.standard.total
    rate = n / total
    with np.errstate(all="ignore"):
        errors = [
            float(excess_level_error(s, x, c, np.asarray(r), np.asarray(r * (1 - r) / t), M))
            if x > -0.5
            else np.nan
            for s, x, c, r, t in zip(
                fits.scale, fits.shape, fits.covariance, rate, total, strict=True
            )
        ]
    return np.array(errors)


def own_location(one: Any) -> np.ndarray:
    """The paper's location: the level of e exceedances in each group's own block."""
    theta = one.standard.fits.theta
    nu = one.standard.fits.nu
    s = np.ones_like(theta)
    flat = np.abs(theta) < 1e-12
    grown = np.where(flat, s / nu, np.expm1(s * theta / nu) / np.where(flat, 1.0, theta))
    return np.asarray(one.origin + one.unit * grown)


def deviances(first: Any, second: Any, difference: float) -> np.ndarray:
    """Of one difference in every pair of samples."""
    rows = np.arange(first.unit.size)
    return np.asarray(
        _find_deviances(first, second, (rows, rows), np.full(rows.size, difference))[0]
    )


def squared_t(p: float, k: int) -> float:
    """Student's t with k − 3 degrees of freedom, squared.

    What `fs.ecd(calibrated=False)` compares with.
    """
    return float(stdtrit(k - 3, p) ** 2)


def size_study(replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Equal tails, unequal groups.

    Rejection rates of the likelihood ratio and of the delta z-test.
    """
    rows = []
    for k in (50, 200):
        for shape in (-0.4, -0.2, 0.0, 0.2):
            rng = np.random.default_rng([seed, k, int(100 * shape) % 997])
            tops = [largest(rng, replicates, n, k, shape, 0.05) for n in SIZES]
            sides = [side(top, n) for top, n in zip(tops, SIZES, strict=True)]
            deviance = deviances(*sides, 0.0)
            difference = sides[0].estimate() - sides[1].estimate()
            one_sided = deviance > squared_t(0.95, k)
            errors = np.hypot(*(delta_errors(s) for s in sides))
            z = difference / errors
            regular = np.isfinite(z)
            own = own_location(sides[0]) - own_location(sides[1])
            rows.append(
                {
                    "k": k,
                    "shape": shape,
                    "two_sided": (deviance > squared_t(0.975, k)).mean(),
                    "greater": (one_sided & (difference > 0)).mean(),
                    "less": (one_sided & (difference < 0)).mean(),
                    "chi2": (deviance > CHI2).mean(),
                    "mean": deviance.mean(),
                    "delta_two_sided": (np.abs(z[regular]) > ndtri(0.975)).mean(),
                    "delta_refused": 1 - regular.mean(),
                    "own_thresholds": (np.abs(own / errors)[regular] > ndtri(0.975)).mean(),
                    "mc_error": np.sqrt(0.05 * 0.95 / replicates),
                    "replicates": replicates,
                }
            )
    return pd.DataFrame(rows)


def coverage_study(replicates: int = 2_000, seed: int = 2) -> pd.DataFrame:
    """Unequal tails: coverage of the interval of ECD by the deviance at the true difference."""
    rows = []
    for k in (50, 200):
        for shapes, scales in (
            ((-0.2, -0.2), (0.08, 0.05)),
            ((0.0, -0.3), (0.05, 0.05)),
            ((0.2, 0.0), (0.04, 0.05)),
        ):
            rng = np.random.default_rng([seed, k, int(100 * shapes[0]) % 997])
            sides = [
                side(largest(rng, replicates, n, k, x, s), n)
                for n, x, s in zip(SIZES, shapes, scales, strict=True)
            ]
            true = [
                float(s * power_ratio(np.log(M), np.asarray(x)))
                for x, s in zip(shapes, scales, strict=True)
            ]
            deviance = deviances(*sides, true[0] - true[1])
            rows.append(
                {
                    "k": k,
                    "shapes": f"{shapes[0]:g}, {shapes[1]:g}",
                    "true_ecd": true[0] - true[1],
                    "coverage": (deviance <= squared_t(0.975, k)).mean(),
                    "replicates": replicates,
                }
            )
    return pd.DataFrame(rows)


def run(*, replicates: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Both studies, one below the other."""
    return pd.concat(
        [
            size_study(replicates, seed).assign(study="size"),
            coverage_study(replicates, seed + 1).assign(study="coverage"),
        ],
        ignore_index=True,
    )


# ---------------------------------------------------------------- cells of the published table


class Law(NamedTuple):
    """A law of CD by its inverse survival function, and whether its tail is generalised Pareto."""

    name: str
    isf: Callable[[np.ndarray], np.ndarray]
    exact: bool


#: The scale of generalised Pareto laws, unless more than one value in 10⁷ would then lie beyond 1,
#: where every value of CD ends: a pile of values at 1 is another law.
_SCALE = 0.05
_BEYOND_ONE = 1e-7


def _pareto(shape: float) -> Law:
    xi = np.asarray(shape)
    farthest = float(power_ratio(-np.log(np.asarray(_BEYOND_ONE)), xi))
    scale = min(_SCALE, 1.0 / farthest)
    smaller = "" if scale == _SCALE else f", scale {scale:.2g}"
    return Law(
        f"generalised Pareto, ξ = {shape:g}{smaller}",
        lambda s: scale * power_ratio(-np.log(s), xi),
        True,
    )


_GRID = np.linspace(1e-6, 1.0 - 1e-6, 400_001)


def _mixture(second: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    """Inverse survival function of .95·Beta(2, 20) + .05·Beta(a, b), by a table of its
    logarithm.
    """
    survival = 0.95 * betaincc(2.0, 20.0, _GRID) + 0.05 * betaincc(*second, _GRID)
    depth = -np.log(survival)
    return lambda s: np.interp(-np.log(s), depth, _GRID)


MIXTURE = Law("mixture .95·Beta(2, 20) + .05·Beta(6, 8)", _mixture((6.0, 8.0)), False)
BETA = Law("Beta(2, 8)", lambda s: betaincinv(2.0, 8.0, 1.0 - s), False)
LOGNORMAL = Law("lognormal, log sd .6", lambda s: 0.03 * np.exp(-0.6 * ndtri(s)), False)
WEIBULL = Law("Weibull, power .7", lambda s: 0.02 * (-np.log(s)) ** (1.0 / 0.7), False)
STUDENT = Law("t₃, scale .005", lambda s: -0.005 * stdtrit(3.0, s), False)
LOGISTIC = Law("logistic scores", lambda s: 0.4 / (1.0 + np.exp(2.0 + 1.2 * ndtri(s))), False)


def of_law(rng: np.random.Generator, runs: int, n: int, k: int, law: Law) -> Top:
    """The k + 1 largest of n values of a law, from uniform order statistics."""
    base = rng.beta(k + 1, n - k, runs)
    above = np.sort(rng.random((runs, k)), axis=1) * base[:, None]
    threshold = law.isf(base)
    return Top(law.isf(above) - threshold[:, None], threshold)


#: So many of the largest values of a sample are drawn from the law; the others, which no tail
#: reaches, are one value.
REACH = 1_100


def sample_of(rng: np.random.Generator, n: int, law: Law, shift: float = 0.0) -> np.ndarray:
    """n values for `fs.ecd`, within [−1, 1]."""
    if n <= REACH + 1:
        return np.clip(law.isf(rng.random(n)) + shift, -1.0, 1.0)
    top = of_law(rng, 1, n, REACH, law)
    values = np.full(n, top.threshold[0])
    values[:REACH] += top.excesses[0]
    return np.clip(values + shift, -1.0, 1.0)


def answers(
    rng: np.random.Generator,
    runs: int,
    sizes: Sequence[int],
    law: Law,
    shifts: Sequence[float] = (),
    **options: Any,
) -> Iterator[EcdResult]:
    """`fs.ecd` of samples of one law, the last the reference; `shifts` are added to the groups."""
    moved = [*shifts, *[0.0] * (len(sizes) - len(shifts))]
    width = options.pop("rounded", 0.0)
    for i in range(runs):
        values = {
            str(g): sample_of(rng, n, law, shift)
            for g, (n, shift) in enumerate(zip(sizes, moved, strict=True))
        }
        if width:
            values = {g: np.round(x / width) * width for g, x in values.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            yield fs.ecd(
                values,
                reference=str(len(sizes) - 1),
                backend="scipy",
                n_resamples=0,
                sensitivity=(),
                rng=i,
                other_interactions=(),
                **options,
            )


def _share(flags: Sequence[bool]) -> tuple[float, int]:
    return float(sum(flags)), len(flags)


def _equal(sizes: Sequence[int], law: Law, **options: Any) -> Simulate:
    """Equal laws: the 95% interval and the test."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found = [r.comparisons[0] for r in answers(rng, runs, sizes, law, **options)]
        lows, highs = zip(
            *((c.confidence_interval.low, c.confidence_interval.high) for c in found), strict=True
        )
        held = [low <= 0 <= high for low, high in zip(lows, highs, strict=True)]
        tested = [c.pvalue for c in found if not np.isnan(c.pvalue)]
        size = {"size": _share([p < 0.05 for p in tested])} if tested else {}
        return {
            "coverage": _share(held),
            **size,
            "above": _share([low > 0 for low in lows]),
            "below": _share([high < 0 for high in highs]),
            "answered": (len(tested), runs),
        }

    return simulate


# ---------------------------------------------------------------- many samples, few calls

#: Samples that are drawn at once, and largest values beyond the threshold that are drawn with them.
_BATCH = 250
_BEYOND = 40
#: Roots from which on a sample is given to the procedure of `fs.ecd`: 5% on one side begin at 1.64, of three groups
#: by Holm on both at 2.39. Quick roots are right to a few hundredths.
_ASKED = 1.5
_ASKED_OF_FAMILY = 2.2


#: Distance from the limits of 5% at which a quick root decides by itself, and the quick shape above
#: which no tail has draws.
_CLEAR = 0.1
_REGULAR = -0.4


def _is_clear(root: float, limits: tuple[float, float]) -> bool:
    """Whether a quick root lies far from the limits."""
    return min(abs(abs(root) - limit) for limit in limits) > _CLEAR


class Drawn(NamedTuple):
    """Samples of every group: its largest values, (P, K) descending and the (K + 1)-th, (P,), and
    of each group against the last, (P, G − 1), the quick standardised roots and the lower shape.
    """

    largest: list[np.ndarray]
    next_largest: list[np.ndarray]
    roots: np.ndarray
    shapes: np.ndarray


class _Rows(NamedTuple):
    """A number of rows, as `exceedances_of_pair` reads it: of as many people."""

    n: int

    @property
    def average(self) -> Average:
        return Average(estimate=math.nan, std_error=math.nan, n=self.n, n_people=self.n)


def drawn_samples(
    rng: np.random.Generator,
    runs: int,
    sizes: Sequence[int],
    law: Law,
    shifts: Sequence[float],
    difference: float,
) -> Drawn:
    """Samples with the roots of a difference, by the likelihood of `contrast_roots`."""
    others = sizes[:-1]
    counts = [exceedances_of_pair(_Rows(n), _Rows(sizes[-1])) for n in others]  # type: ignore[arg-type]
    most = [k for k, _ in counts] + [max(k for _, k in counts)]
    reach = [min(k + _BEYOND, n - 1) for k, n in zip(most, sizes, strict=True)]
    tops = [of_law(rng, runs, n, k, law) for n, k in zip(sizes, reach, strict=True)]
    moved = [*shifts, *[0.0] * (len(sizes) - len(shifts))]
    values = [
        np.clip(top.excesses + top.threshold[:, None] + shift, -1.0, 1.0)
        for top, shift in zip(tops, moved, strict=True)
    ]
    below = [
        np.clip(top.threshold + shift, -1.0, 1.0) for top, shift in zip(tops, moved, strict=True)
    ]
    roots = np.empty((runs, len(others)))
    shapes = np.empty((runs, len(others)))
    for place, (own, of_last) in enumerate(counts):
        first = quick_tails(values[place], own, sizes[place])
        second = quick_tails(values[-1], of_last, sizes[-1])
        roots[:, place] = standardised_roots(first, second, np.full(runs, difference))
        shapes[:, place] = np.minimum(first.shape, second.shape)
    return Drawn(values, below, roots, shapes)


def quick_tails(values: np.ndarray, count: int, rows: int) -> Tails:
    """The tails above the (k + 1)-th of descending values; the grid about a shape by moments."""
    threshold = values[:, count]
    excesses = np.maximum(values[:, :count] - threshold[:, None], 1e-12)
    shape = 0.5 * (1.0 - excesses.mean(axis=1) ** 2 / excesses.var(axis=1))
    return Tails.of(excesses, threshold, rows, M, np.clip(shape, -0.9, 0.6))


def settings_of(confidence_level: float = 0.95) -> EcdSettings:
    """The settings of a call with its defaults."""
    return EcdSettings(
        interactions=M,
        other_interactions=(),
        location="return_level",
        threshold=None,
        confidence_level=confidence_level,
        margin=0.05,
        horizon_width=0.5,
        n_resamples=0,
        calibrated=True,
        seed=None,
        backend="scipy",
    )


def compared(
    drawn: Drawn, sizes: Sequence[int], row: int, place: int, settings: EcdSettings
) -> tuple[float, Interval, Evidence]:
    """p-value, interval and evidence of one comparison, as `fs.ecd` has them: its fits, its choice
    of the branch, and what it infers, without types, horizons and averages.
    """
    own = exceedances_of_pair(_Rows(sizes[place]), _Rows(sizes[-1]))  # type: ignore[arg-type]
    fits = []
    for group, count in ((place, own[0]), (len(sizes) - 1, own[1])):
        values = drawn.largest[group][row]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            fits.append(
                fit_gpd(
                    values[: count + 1], float(values[count]), n_total=sizes[group], backend="scipy"
                )
            )
    first, last = fits
    nothing = Interval(-2.0, 2.0, settings.confidence_level, "none")
    levels = [fit.return_level(M, method="delta").estimate for fit in fits if fit.regular]
    if max(levels, default=0.0) > 1.0:
        return 1.0, nothing, Evidence()  # an order statistic stands in, and there is no test
    contrast = CurveContrast.of_fits(first, last, M)
    pair = Pair(
        tails=(),  # type: ignore[arg-type]
        samples=(),  # type: ignore[arg-type]
        settings=settings,
        rng=np.random.default_rng(row),
        each=settings.confidence_level,
    )
    infer = _infer_near_end_point if any(fit.by_power for fit in fits) else _infer_by_likelihood
    found, evidence = infer((first, last), contrast, pair)
    return found["pvalue"], found["confidence_interval"], evidence


def asked(drawn: Drawn, beyond: float) -> list[int]:
    """Samples whose likelihood ratio may reject.

    The others cannot: what else `fs.ecd` asks makes it only less sure.
    """
    return np.flatnonzero(np.abs(drawn.roots).max(axis=1) > beyond).tolist()


def _batches(runs: int) -> Iterator[int]:
    for start in range(0, runs, _BATCH):
        yield min(_BATCH, runs - start)


def _size(sizes: Sequence[int], law: Law) -> Simulate:
    """Equal laws: the test at 5%, and both one-sided limits, each 5%: the ends of a 90%
    interval.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = above = below = 0
        settings = settings_of(0.9)
        k = min(exceedances_of_pair(_Rows(sizes[0]), _Rows(sizes[1])))  # type: ignore[arg-type]
        limits = (float(stdtrit(k - 3, 0.95)), float(stdtrit(k - 3, 0.975)))
        for count in _batches(runs):
            drawn = drawn_samples(rng, count, sizes, law, (), 0.0)
            for row in asked(drawn, _ASKED):
                root = float(drawn.roots[row, 0])
                if drawn.shapes[row, 0] > _REGULAR and _is_clear(root, limits):
                    rejected += abs(root) > limits[1]
                    above += root > limits[0]
                    below += root < -limits[0]
                    continue
                pvalue, interval, _ = compared(drawn, sizes, row, 0, settings)
                rejected += pvalue < 0.05
                above += interval.low > 0
                below += interval.high < 0
        return {"size": (rejected, runs), "above": (above, runs), "below": (below, runs)}

    return simulate


def _family(sizes: Sequence[int], law: Law) -> Simulate:
    """Several groups of one law: whether any p-value of equality, by Holm's method, is below 5%:
    whether the least of G is below 5%/G.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        settings = settings_of()
        others = len(sizes) - 1
        for count in _batches(runs):
            drawn = drawn_samples(rng, count, sizes, law, (), 0.0)
            for row in asked(drawn, _ASKED_OF_FAMILY):
                places = np.flatnonzero(np.abs(drawn.roots[row]) > _ASKED_OF_FAMILY)
                pvalues = [
                    compared(drawn, sizes, row, place, settings)[0] for place in places.tolist()
                ]
                rejected += min(pvalues) * others < 0.05
        return {"size": (rejected, runs)}

    return simulate


def _at_margin(sizes: Sequence[int], law: Law, side: float) -> Simulate:
    """The first group's level lies at ±margin, neither beyond nor within.

    How often either is said to be shown, horizons aside, which take verdicts back.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        said = {"violated": 0, "satisfied": 0}
        settings = settings_of()
        shift = side * settings.margin
        for count in _batches(runs):
            drawn = drawn_samples(rng, count, sizes, law, (shift,), shift)
            for row in asked(drawn, _ASKED):
                evidence = compared(drawn, sizes, row, 0, settings)[2]
                (ruling,) = settle([evidence], confidence_level=0.95, adjust="holm")
                if ruling.verdict in said:
                    said[ruling.verdict] += 1
        return {
            "false violated": (said["violated"], runs),
            "false satisfied": (said["satisfied"], runs),
        }

    return simulate


def _regime(sizes: Sequence[int], law: Law, more: str = "") -> str:
    rows = " and ".join(f"{n:,}" for n in sizes)
    return f"{rows} rows, {law.name}" + (f", {more}" if more else "")


_RUNS = 2_500
_VERSION = "6"
_USUAL = (1_500, 20_000)
_SETTINGS: tuple[tuple[tuple[int, int], Law], ...] = (
    *((_USUAL, law) for law in (MIXTURE, BETA, LOGISTIC)),
    *((_USUAL, _pareto(x)) for x in (-0.8, -0.6, -0.35, -0.2, 0.1, 0.4)),
    ((3_000, 25_000), MIXTURE),
    ((300, 9_000), STUDENT),
    ((1_000, 9_000), STUDENT),
    ((1_000, 1_000), LOGNORMAL),
    ((500, 20_000), LOGNORMAL),
    ((700, 12_000), WEIBULL),
    ((1_000, 1_000), _pareto(-0.8)),
    ((20_000, 20_000), _pareto(0.4)),
)


def _cell(name: str, regime: str, simulate: Simulate, claim: str = "valid") -> Cell:
    return Cell("ecd", name, regime, simulate, runs=_RUNS, claim=claim, version=_VERSION)


_OPTIONS: tuple[tuple[str, tuple[int, int], Law, dict[str, Any]], ...] = (
    ("calibrated=False", (3_000, 25_000), _pareto(-0.1), {"calibrated": False}),
    ("threshold=50", (3_000, 25_000), _pareto(-0.1), {"threshold": 50}),
    ('threshold="forward_stop"', (3_000, 25_000), BETA, {"threshold": "forward_stop"}),
    ("interactions=10_000", (3_000, 25_000), BETA, {"interactions": 10_000}),
    ("scores rounded to .01", (3_000, 25_000), BETA, {"rounded": 0.01}),
    ("grid=None", (3_000, 25_000), BETA, {"grid": None}),
)
#: Laws of a person's average, and their means.
_OF_PERSONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, ...]], Floats], float]] = {
    "normal": (lambda rng, shape: 0.1 + 0.05 * rng.standard_normal(shape), 0.1),
    "beta(2, 8)": (lambda rng, shape: rng.beta(2, 8, shape), 0.2),
    "exponential": (lambda rng, shape: 0.1 * rng.standard_exponential(shape), 0.1),
}


def of_persons(
    rng: np.random.Generator, runs: int, *, persons: int, rows: int, sharing: float, law: str
) -> Counts:
    """Coverage of the mean of a group in which a share of each person's rows have the person's
    value.
    """
    draw, truth = _OF_PERSONS[law]
    person = np.repeat(np.arange(persons), rows)
    intervals = []
    for _ in range(runs):
        own = draw(rng, (persons,))[person]
        values = np.where(rng.random(person.size) < sharing, own, draw(rng, (person.size,)))
        interval, _ = average_of(values, person).inference(0.95)
        intervals.append((interval.low, interval.high))
    return tally_interval(truth, intervals)


def of_people(
    rng: np.random.Generator,
    runs: int,
    *,
    people: tuple[int, int],
    rows: int,
    dependence: float,
    law: str,
) -> Counts:
    """Equal laws of groups in which a person has several rows; `dependence`: the correlation of
    their normal scores.
    """
    intervals = []
    rejected = 0
    person = np.repeat(np.arange(sum(people)), rows)
    group = np.repeat([1, 0], [rows * count for count in people])
    for run in range(runs):
        of_person = rng.standard_normal(sum(people))[person]
        of_row = rng.standard_normal(person.size)
        score = math.sqrt(dependence) * of_person + math.sqrt(1 - dependence) * of_row
        cd = _QUANTILES_OF_PEOPLE[law](ndtr(score))
        table = pd.DataFrame({"group": group, "own": group, "cd": cd})
        sample = fs.counterfactual_discrimination(
            _flipped_score, table, sensitive_features="group", cluster=person
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            found = fs.ecd(
                sample,
                privileged=0,
                unprivileged=1,
                backend="scipy",
                n_resamples=0,
                sensitivity=(),
                other_interactions=(),
                rng=run,
            )
        if np.isnan(found.pvalue):  # no interval is shown to hold: [−2, 2] is no answer
            intervals.append((np.nan, np.nan))
        else:
            intervals.append(tuple(found.confidence_interval))
            rejected += found.pvalue < 0.05
    counts = tally_interval(0.0, intervals)
    return {**counts, "size": (rejected, counts["answered"][0])}


#: Quantile functions of the values of people's rows, within [0, .74].
_QUANTILES_OF_PEOPLE = {
    "Beta(2, 8)": lambda u: 0.5 * betaincinv(2.0, 8.0, u),
    "lognormal, log sd .6": lambda u: np.minimum(0.03 * np.exp(0.6 * ndtri(u)), 0.74),
    "exponential": lambda u: np.minimum(-0.05 * np.log1p(-u), 0.74),
    "generalised Pareto, ξ = -0.8": lambda u: 0.2 * (1 - (1 - u) ** 0.8) / 0.8,
}


def _flipped_score(table: pd.DataFrame) -> np.ndarray:
    """A score that is higher by the column `cd` for whom the group was changed."""
    return np.asarray(0.25 + table["cd"] * (table["group"] != table["own"]))


def _people() -> list[Cell]:
    """`fs.ecd` of people with several rows: the root by the design effect of people."""
    cells = []
    for people, rows, dependence, law in (
        ((600, 2_000), 5, 0.0, "Beta(2, 8)"),
        ((600, 2_000), 5, 0.5, "Beta(2, 8)"),
        ((600, 2_000), 5, 0.9, "lognormal, log sd .6"),
        ((100, 300), 30, 0.5, "lognormal, log sd .6"),
        ((300, 900), 3, 0.5, "exponential"),
        ((200, 600), 10, 0.3, "generalised Pareto, ξ = -0.8"),
    ):
        simulate = partial(of_people, people=people, rows=rows, dependence=dependence, law=law)
        regime = (
            f"{people[0]:,} and {people[1]:,} people, {rows} rows whose normal scores have the"
            f" correlation {dependence:g}, {law}"
        )
        method = "fs.ecd: people with several rows"
        cells.append(Cell("ecd", method, regime, simulate, runs=2_000))
    return cells


def _persons() -> list[Cell]:
    cells = []
    for persons, rows, sharing, law in (
        *((5, 10, sharing, "normal") for sharing in (0.0, 0.6, 1.0)),
        (12, 10, 1.0, "normal"),
        (12, 10, 0.6, "beta(2, 8)"),
        (30, 5, 1.0, "beta(2, 8)"),
        (100, 5, 0.6, "exponential"),
        (300, 3, 1.0, "exponential"),
    ):
        simulate = partial(of_persons, persons=persons, rows=rows, sharing=sharing, law=law)
        regime = (
            f"{persons} persons, {rows} rows of which {sharing:.0%} share the person's value, {law}"
        )
        method = "counterfactual_discrimination(cluster=): average"
        cells.append(Cell("ecd", method, regime, simulate, runs=10_000))
    return cells


CELLS = [
    *(
        _cell("fs.ecd: test and both one-sided limits", _regime(*s), _size(*s), "conservative")
        for s in _SETTINGS
    ),
    *(
        _cell(
            "fs.ecd: interval and test",
            _regime(sizes, law, name),
            _equal(sizes, law, **options),
            "conservative",
        )
        for name, sizes, law, options in _OPTIONS
    ),
    *(
        _cell(
            "fs.ecd: several groups, adjusted p",
            _regime(sizes, law),
            _family(sizes, law),
            "conservative",
        )
        for sizes, law in (
            ((1_000, 1_500, 3_000, 20_000), MIXTURE),
            ((1_000, 1_500, 3_000, 20_000), _pareto(-0.35)),
            ((300, 700, 2_000, 9_000), LOGNORMAL),
        )
    ),
    *(
        _cell(
            "fs.ecd: verdict at its margin",
            _regime(sizes, law, f"difference {side * 0.05:g}"),
            _at_margin(sizes, law, side),
            "conservative",
        )
        for sizes, law in (
            ((3_000, 25_000), BETA),
            (_USUAL, _pareto(-0.35)),
            ((8_000, 20_000), _pareto(-0.2)),
        )
        for side in (-1.0, 1.0)
    ),
]
CELLS += _persons()
CELLS += _people()
