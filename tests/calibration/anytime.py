"""Streams that are looked at again and again.

How often limits at every look ever exclude the truth, and how often a verdict is ever false.

A look is taken at every row up to 100 and then at sizes that grow by 1.5%, some 350 looks at 20,000
rows: between two of them hardly anything changes. The counts of a stream are cumulative sums, and
the limits the package's own kernels, for all looks of all streams at once.
`tests/methods/rates/test_anytime.py` holds them against the public functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

import fairstats as fs
from fairstats.ground.checks import Floats
from fairstats.ground.verdict import fair_range
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


def pvalues(looks: Looks, *, method: str, contrast: str, null: float, planned: float) -> Floats:
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


CELLS = (*_cells(), *_cells_of_delay())
