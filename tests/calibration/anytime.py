"""Streams that are looked at again and again.

How often limits at every look ever exclude the truth, and how often a verdict is ever false.

A look is taken at every row up to 100 and then at sizes that grow by 1.5%, some 350 looks at 20,000
rows: between two of them hardly anything changes. The counts of a stream are cumulative sums, and
the limits the package's own kernels, for all looks of all streams at once.
`tests/methods/rates/test_anytime.py` holds them against the public functions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import fairstats as fs
from fairstats.ground.checks import Floats
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.registry import METRICS
from fairstats.ground.verdict import fair_range
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.numerics.rates.anytime import (
    LEAST_CASES,
    exact_pvalue,
    information_of,
    mixture_pvalue,
)
from fairstats.numerics.rates.score import difference_score_statistic, ratio_score_statistic
from tests.calibration.study import Cell, Counts

LEVEL = 0.95
N_ROWS = 20_000
#: Streams that are drawn at once.
_BLOCK = 1_000


class Looks(NamedTuple):
    """Counts at every look of every stream; all arrays (streams, looks), but `n_rows` (looks,)."""

    n_rows: np.ndarray
    k: np.ndarray
    n: np.ndarray
    k0: np.ndarray
    n0: np.ndarray


def look_sizes(n_rows: int) -> np.ndarray:
    """Rows at each look."""
    first = np.arange(10, 101)
    later = np.unique(np.geomspace(101, n_rows, 260).astype(np.int64))
    return np.concatenate([first, later[later > 100]])


def streams(
    rng: np.random.Generator,
    n_streams: int,
    *,
    rates: tuple[float, float],
    share: float | Floats,
    n_rows: int,
) -> Looks:
    """Rows that arrive between looks; `share`: of the group, one value or one for every look."""
    sizes = look_sizes(n_rows)
    new_rows = np.diff(sizes, prepend=0)
    shape = (n_streams, sizes.size)
    new_of_group = rng.binomial(new_rows, share, size=shape)
    new_of_reference = new_rows - new_of_group
    return Looks(
        n_rows=sizes,
        k=np.cumsum(rng.binomial(new_of_group, rates[0]), axis=1),
        n=np.cumsum(new_of_group, axis=1),
        k0=np.cumsum(rng.binomial(new_of_reference, rates[1]), axis=1),
        n0=np.cumsum(new_of_reference, axis=1),
    )


def pvalues(
    looks: Looks, *, method: str, contrast: str, null: float | Floats, planned: float
) -> Floats:
    """Of H0: contrast = null, at every look; 1 where nothing is said."""
    n = np.maximum(looks.n, 1)
    n0 = np.maximum(looks.n0, 1)
    both = (looks.n > 0) & (looks.n0 > 0)
    if method == "anytime-exact":
        # of a ratio 0/0 nothing is said
        said = both & ((contrast == "difference") | (looks.k + looks.k0 > 0))
        found = exact_pvalue(looks.k, n, looks.k0, n0, null, contrast)
        return np.where(said, found, 1.0)
    statistic = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    z = statistic(looks.k, n, looks.k0, n0, null)
    found = mixture_pvalue(np.clip(z, -1e6, 1e6), information_of(looks.n_rows, planned))
    return np.where(enough(looks), found, 1.0)


def enough(looks: Looks) -> np.ndarray:
    """Whether both groups have five successes and failures."""
    cells = (looks.k, looks.n - looks.k, looks.k0, looks.n0 - looks.k0)
    return np.asarray(np.minimum.reduce(cells) >= LEAST_CASES)


def ever_excluded(
    rng: np.random.Generator,
    n_streams: int,
    *,
    method: str,
    contrast: str,
    rates: tuple[float, float],
    share: float | Floats,
    planned: float,
    n_rows: int = N_ROWS,
) -> np.ndarray:
    """Whether the limits of a stream ever exclude the truth, shape (n_streams,)."""
    truth = rates[0] / rates[1] if contrast == "ratio" else rates[0] - rates[1]
    found = []
    for begin in range(0, n_streams, _BLOCK):
        looks = streams(
            rng, min(_BLOCK, n_streams - begin), rates=rates, share=share, n_rows=n_rows
        )
        shown = pvalues(looks, method=method, contrast=contrast, null=truth, planned=planned)
        found.append((shown <= 1 - LEVEL).any(axis=1))
    return np.concatenate(found)


def ever_false(
    rng: np.random.Generator,
    n_streams: int,
    *,
    method: str,
    contrast: str,
    rates: tuple[float, float],
    share: float | Floats,
    planned: float,
    size: float,
) -> np.ndarray:
    """Whether a verdict of a stream is ever false; `size`: threshold or margin of the fair range."""
    low, high = fair_range(contrast, size)
    truth = rates[0] / rates[1] if contrast == "ratio" else rates[0] - rates[1]
    found = []
    for begin in range(0, n_streams, _BLOCK):
        looks = streams(
            rng, min(_BLOCK, n_streams - begin), rates=rates, share=share, n_rows=N_ROWS
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = looks.k / looks.n
            rate0 = looks.k0 / looks.n0
            estimate = rate / rate0 if contrast == "ratio" else rate - rate0
        at_low, at_high = (
            pvalues(looks, method=method, contrast=contrast, null=end, planned=planned) <= 1 - LEVEL
            for end in (low, high)
        )
        violated = (at_low & (estimate < low)) | (at_high & (estimate > high))
        satisfied = at_low & (estimate > low) & at_high & (estimate < high)
        is_fair = low <= truth <= high
        wrong = violated if is_fair else satisfied
        if truth in (low, high):  # at an end both would be wrong
            wrong = violated | satisfied
        found.append(wrong.any(axis=1))
    return np.concatenate(found)


def rows_until_shown(
    rng: np.random.Generator,
    n_streams: int,
    *,
    method: str,
    rates: tuple[float, float],
    threshold: float,
    planned: float,
    n_rows: int,
) -> Floats:
    """Rows at the first look at which a ratio below the threshold is shown, shape (n_streams,).

    Infinite where none of the looks shows it. Both groups have the same share.
    """
    found = []
    for begin in range(0, n_streams, _BLOCK):
        looks = streams(rng, min(_BLOCK, n_streams - begin), rates=rates, share=0.5, n_rows=n_rows)
        evidence = pvalues(looks, method=method, contrast="ratio", null=threshold, planned=planned)
        is_below = looks.k * looks.n0 < threshold * looks.k0 * looks.n
        shown = (evidence <= 1 - LEVEL) & is_below
        first = np.argmax(shown, axis=1)
        found.append(np.where(shown.any(axis=1), looks.n_rows[first], np.inf))
    return np.concatenate(found)


def rows_of_fixed_look(rates: tuple[float, float], threshold: float) -> int:
    """Rows of a single look that shows the violation with probability .8."""
    plan = fs.sample_size_ratio(
        rates[1], rates[0] / rates[1], power=0.8, threshold=threshold, alternative="less"
    )
    return plan.n + plan.n_reference


# ---------------------------------------------------------------- rates that change

#: Rate of the group by the share of the rows that have come, beside .4 of the reference: fair at .8
#: of it and more.
COURSES: dict[str, Callable[[Floats], Floats]] = {
    "a start at the half": lambda share: np.where(share <= 0.5, 0.4, 0.16),
    "a stop at a third": lambda share: np.where(share <= 1 / 3, 0.24, 0.4),
    "a drift": lambda share: 0.4 - 0.28 * share,
    "a burst in a tenth": lambda share: np.where((share > 0.4) & (share <= 0.5), 0.05, 0.4),
}


def ever_wrong_on_a_course(
    rng: np.random.Generator,
    n_streams: int,
    *,
    method: str,
    contrast: str,
    course: str,
    share: float,
    planned: float,
    size: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the rate of the group changes: whether the limits ever exclude the contrast of the rates
    of the rows so far, whether a verdict about it is ever false, and whether a violation is ever
    shown; shape (n_streams,) each.

    The truth at a look is the contrast of the mean chances of the rows of both groups so far.
    """
    sizes = look_sizes(N_ROWS)
    rate = COURSES[course](sizes / N_ROWS)
    rate0 = 0.4
    low, high = fair_range(contrast, size)
    excluded = []
    wrong = []
    shown = []
    for begin in range(0, n_streams, _BLOCK):
        block = min(_BLOCK, n_streams - begin)
        new_rows = np.diff(sizes, prepend=0)
        new_of_group = rng.binomial(new_rows, share, size=(block, sizes.size))
        new_of_reference = new_rows - new_of_group
        n = np.cumsum(new_of_group, axis=1)
        looks = Looks(
            n_rows=sizes,
            k=np.cumsum(rng.binomial(new_of_group, rate), axis=1),
            n=n,
            k0=np.cumsum(rng.binomial(new_of_reference, rate0), axis=1),
            n0=np.cumsum(new_of_reference, axis=1),
        )
        expected = np.cumsum(new_of_group * rate, axis=1)
        mean_rate = np.where(
            n > 0, expected / np.maximum(n, 1), rate0
        )  # before a row: not looked at
        truth = mean_rate / rate0 if contrast == "ratio" else mean_rate - rate0
        asked = partial(pvalues, looks, method=method, contrast=contrast, planned=planned)
        excluded.append((asked(null=truth) <= 1 - LEVEL).any(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = looks.k / looks.n
            observed0 = looks.k0 / looks.n0
            estimate = observed / observed0 if contrast == "ratio" else observed - observed0
        at_low = asked(null=low) <= 1 - LEVEL
        at_high = asked(null=high) <= 1 - LEVEL
        violated = (at_low & (estimate < low)) | (at_high & (estimate > high))
        satisfied = at_low & (estimate > low) & at_high & (estimate < high)
        is_fair = (low <= truth) & (truth <= high)
        wrong.append(((violated & is_fair) | (satisfied & ~is_fair)).any(axis=1))
        shown.append(violated.any(axis=1))
    return np.concatenate(excluded), np.concatenate(wrong), np.concatenate(shown)


def _courses(rng: np.random.Generator, runs: int, **regime: Any) -> Counts:
    excluded, wrong, shown = ever_wrong_on_a_course(rng, runs, **regime)
    return {
        "coverage": (int((~excluded).sum()), runs),
        "false verdict": (int(wrong.sum()), runs),
        "power": (int(shown.sum()), runs),
    }


# ---------------------------------------------------------------- clusters that arrive whole


def clustered_looks(
    rng: np.random.Generator,
    n_clusters: int,
    *,
    share: float,
    rates: tuple[float, float],
    correlation: float,
    largest: int,
) -> Iterator[SelectionCounts]:
    """Counts of clusters at growing numbers of them: 1 to `largest` rows each, of one group."""
    group = (rng.random(n_clusters) < share).astype(np.int64)
    rate = np.array([rates[1], rates[0]])[group]
    n = rng.integers(1, largest + 1, n_clusters)
    concentration = (1 - correlation) / correlation
    own_rate = rng.beta(rate * concentration, (1 - rate) * concentration)
    k = rng.binomial(n, own_rate)
    units = np.zeros((n_clusters, 4))
    units[np.arange(n_clusters), 2 * group] = k
    units[np.arange(n_clusters), 2 * group + 1] = n - k
    for look in np.unique(np.geomspace(20, n_clusters, 40).astype(np.int64)):
        so_far = units[:look]
        totals = so_far.sum(axis=0).reshape(2, 2)
        yield SelectionCounts(
            groups=("m", "f"),
            totals=totals,
            rows=totals.astype(np.int64),
            scatter=so_far.T @ so_far,
            n_units=int(look),
            clustered=True,
            group_units=np.bincount(group[:look], minlength=2),
            squares=totals.copy(),
        )


def _clusters(
    rng: np.random.Generator,
    runs: int,
    *,
    metric: str,
    rates: tuple[float, float],
    planned: int,
    **stream: Any,
) -> Counts:
    watched = METRICS[metric]
    settings = make_settings(watched.contrast, RateArguments(method="anytime", planned=planned))
    truth = rates[0] / rates[1] if watched.contrast == "ratio" else rates[0] - rates[1]
    held = 0
    for _ in range(runs):
        excludes = False
        for counts in clustered_looks(rng, 4_000, rates=rates, **stream):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairstatsWarning)
                result: Any = compare_metric(watched, counts, settings, "m", whole_clusters=True)
            low, high = result.comparisons[0].confidence_interval
            excludes = low > truth or high < truth
            if excludes:
                break
        held += not excludes
    return {"coverage": (held, runs)}


def _delays(
    rng: np.random.Generator, runs: int, *, method: str, rates: tuple[float, float], times: float
) -> Counts:
    fixed = rows_of_fixed_look(rates, 0.8)
    rows = rows_until_shown(
        rng,
        runs,
        method=method,
        rates=rates,
        threshold=0.8,
        planned=fixed,
        n_rows=math.ceil(times * fixed),
    )
    return {"power": (int(np.isfinite(rows).sum()), runs)}


def _truths(rng: np.random.Generator, runs: int, **regime: object) -> Counts:
    excluded = ever_excluded(rng, runs, **regime)  # type: ignore[arg-type]
    return {"coverage": (int((~excluded).sum()), runs)}


def _verdicts(rng: np.random.Generator, runs: int, **regime: object) -> Counts:
    wrong = ever_false(rng, runs, **regime)  # type: ignore[arg-type]
    return {"false verdict": (int(wrong.sum()), runs)}


def _late(n_rows: int = N_ROWS) -> Floats:
    """Shares of a group that hardly arrives before the half: .05, then .6."""
    return np.where(look_sizes(n_rows) <= n_rows // 2, 0.05, 0.6)


#: Truths of both rates: rare, common, nearly everybody, unequal.
_RATES = ((0.02, 0.02), (0.02, 0.025), (0.3, 0.4), (0.5, 0.5), (0.9, 0.98), (0.98, 0.98))


def _cells() -> Iterator[Cell]:
    options = {"ratio": "disparate_impact", "difference": "demographic_parity_difference"}
    for contrast, function in options.items():
        for method in ("anytime", "anytime-exact"):
            # beyond the bound of .05 nothing is claimed: far fewer are expected
            for rates, share in product(_RATES, (0.05, 0.5)):
                yield Cell(
                    "anytime",
                    f'{function}, method="{method}"',
                    f"rates {rates[0]:g} and {rates[1]:g}, group's share {share:g},"
                    f" {N_ROWS:,} rows, planned 5,000: limits at every look",
                    partial(
                        _truths,
                        method=method,
                        contrast=contrast,
                        rates=rates,
                        share=share,
                        planned=5_000,
                    ),
                    runs=10_000,
                    claim="conservative",
                )
            for planned in (500, 50_000):
                if method == "anytime":
                    yield Cell(
                        "anytime",
                        f'{function}, method="{method}"',
                        f"rates 0.3 and 0.3, group's share 0.2, {N_ROWS:,} rows, planned"
                        f" {planned:,}: limits at every look",
                        partial(
                            _truths,
                            method=method,
                            contrast=contrast,
                            rates=(0.3, 0.3),
                            share=0.2,
                            planned=planned,
                        ),
                        runs=10_000,
                        claim="conservative",
                    )
            yield Cell(
                "anytime",
                f'{function}, method="{method}"',
                f"rates 0.3 and 0.3, group's share .05 and from the half on .6, {N_ROWS:,} rows,"
                " planned 5,000: limits at every look",
                partial(
                    _truths,
                    method=method,
                    contrast=contrast,
                    rates=(0.3, 0.3),
                    share=_late(),
                    planned=5_000,
                ),
                runs=10_000,
                claim="conservative",
            )
            size = 0.8 if contrast == "ratio" else 0.1
            at_end = (0.32, 0.4) if contrast == "ratio" else (0.3, 0.4)
            for share in (0.1, 0.5):
                yield Cell(
                    "anytime",
                    f'{function}, method="{method}"',
                    f"truth at the end of the fair range, rates {at_end[0]:g} and {at_end[1]:g},"
                    f" group's share {share:g}, {N_ROWS:,} rows, planned 5,000: verdict at any look",
                    partial(
                        _verdicts,
                        method=method,
                        contrast=contrast,
                        rates=at_end,
                        share=share,
                        planned=5_000,
                        size=size,
                    ),
                    runs=10_000,
                    claim="conservative",
                )


def _cells_of_delay() -> Iterator[Cell]:
    """How much later than a fixed look of power .8 a violation is shown."""
    regimes = product(("anytime", "anytime-exact"), ((0.28, 0.4), (0.06, 0.1)), (1, 2, 4))
    for method, rates, times in regimes:
        fixed = rows_of_fixed_look(rates, 0.8)
        yield Cell(
            "anytime",
            f'disparate_impact, method="{method}"',
            f"violation shown by {times * fixed:,} rows, rates {rates[0]:g} and {rates[1]:g},"
            f" threshold 0.8, groups of one size, planned {fixed:,}",
            partial(_delays, method=method, rates=rates, times=times),
            runs=4_000,
            remark=f"a single look at {fixed:,} rows shows it with power .80",
        )


def _cells_of_courses() -> Iterator[Cell]:
    options = {
        "ratio": ("disparate_impact", 0.8),
        "difference": ("demographic_parity_difference", 0.1),
    }
    regimes = [("anytime", contrast) for contrast in options] + [("anytime-exact", "ratio")]
    for (method, contrast), course in product(regimes, COURSES):
        function, size = options[contrast]
        yield Cell(
            "anytime",
            f'{function}, method="{method}"',
            f"{course}: rates that change, beside 0.4, group's share 0.3, {N_ROWS:,} rows, planned"
            " 5,000: limits and verdicts about the rows so far, at every look",
            partial(
                _courses,
                method=method,
                contrast=contrast,
                course=course,
                share=0.3,
                planned=5_000,
                size=size,
            ),
            runs=10_000,
            claim="conservative",
        )


def _cells_of_clusters() -> Iterator[Cell]:
    for metric in ("disparate_impact", "demographic_parity_difference"):
        for share, rate, correlation, largest in (
            (0.5, 0.3, 0.3, 5),
            (0.1, 0.3, 0.6, 8),
            (0.1, 0.9, 0.3, 5),
            (0.5, 0.05, 0.6, 8),
        ):
            yield Cell(
                "anytime",
                f'{metric}, method="anytime", clusters that arrive whole',
                f"rates {rate:g}, group's share {share:g}, 4,000 clusters of 1 to {largest} rows,"
                f" correlation {correlation:g}, planned 8,000: limits at 40 looks",
                partial(
                    _clusters,
                    metric=metric,
                    share=share,
                    rates=(rate, rate),
                    correlation=correlation,
                    largest=largest,
                    planned=8_000,
                ),
                runs=1_000,
                claim="conservative",
            )


CELLS = (*_cells(), *_cells_of_delay(), *_cells_of_courses(), *_cells_of_clusters())
