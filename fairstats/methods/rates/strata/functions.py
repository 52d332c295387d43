"""Functions of the cells, and means of rates by the delta method, within the strata of a confounder.

Of both groups the cells standardised to common strata, or their rates over the strata
(`numerics/rates/standardised.py`), make two values as those of a table without strata, from which
intervals, tests and verdict follow by the same rules (`pair.py`, `decision.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.registry import Rate
from fairstats.ground.strata import StratumCounts
from fairstats.methods.rates.decision import PairDecision, decide_by_method
from fairstats.methods.rates.estimates import (
    RateEstimates,
    added_share,
    rows_added,
    values_of_cells,
    with_usable_cases,
)
from fairstats.methods.rates.pair import DELTA_ROWS, Refused, pair_method, with_variance
from fairstats.methods.rates.result import Inference, fewest_effective_rows
from fairstats.methods.rates.strata.design import products_of_units
from fairstats.numerics.rates import standardised
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.standardised import PairCells, Units, Values

#: Rows in cells that a function depends on below which its limits err on one side
#: (`vignettes/calibration.md`).
FEW_THAT_COUNT = 50
#: A derivative below this share of the largest is that of a cell that does not count.
_NO_SLOPE = 1e-9
#: Least share of their squares that the residuals of few units are taken to keep.
_LEAST_KEPT = 0.25


@dataclass(frozen=True, eq=False)
class CellQuantity:
    """What a comparison within strata by the delta method is of.

    `rate`: how it is called; `function`: of arrays of the cells, taken of standardised ones; or
    `rates`: those that it is the mean of, each over the strata by weights of its own cases.
    """

    rate: Rate
    function: Callable[..., Any] | None = None
    rates: tuple[Rate, ...] = ()


def quantity_of(rate: Rate, cells: Sequence[str], contrast: str) -> CellQuantity | None:
    """A function of the cells of two labels, or a ratio of means of rates; None of what is compared
    by the stratified score.
    """
    if rate.interval == "delta":
        return CellQuantity(rate=rate, function=rate.function_of(cells))
    if rate.parts and contrast == "ratio":
        return CellQuantity(rate=rate, rates=rate.parts)
    return None


def name_of_delta(counts: StratumCounts, contrast: str) -> str:
    """What the method of such comparisons is called."""
    if contrast == "difference":
        return "delta"
    return "fieller" if counts.design is None else "log"


def estimates_within(
    of_pair: StratumCounts, quantity: CellQuantity, *, of_all: bool
) -> RateEstimates | None:
    """The values of a group and its reference, positions 0 and 1, with their covariance; None where
    no stratum has rows, or cases of every rate, of both.
    """
    design = of_pair.design
    totals = of_pair.rows.astype(np.float64)
    if design is not None:
        totals = design.totals
    pair = PairCells.of(totals.transpose(1, 0, 2), of_all=of_all)
    weights = _weights_of_rates(of_pair, pair, quantity)
    if not pair.shared.any() or any(not weight.any() for weight in weights):
        return None
    units = _units_of(of_pair, pair, quantity, weights)
    estimates = _estimates_about(of_pair, pair, quantity, weights, units)
    if design is None:

        @functools.cache
        def add_rows() -> tuple[RateEstimates, ...]:
            added = []
            for rows in rows_added(of_pair.cells):
                about = pair.with_added(rows * added_share(of_pair.cells))
                added.append(_estimates_about(of_pair, about, quantity, weights, units))
            return tuple(added)

        estimates = replace(estimates, add_rows=add_rows)
    return with_usable_cases(_with_fewest(estimates, of_pair, pair, quantity))


def _with_fewest(
    estimates: RateEstimates, of_pair: StratumCounts, pair: PairCells, quantity: CellQuantity
) -> RateEstimates:
    """With what says whether the rows are enough: cases of every rate of a mean, and of several
    classes rows of the rarest label.
    """
    in_shared = of_pair.rows[pair.shared].sum(axis=0).astype(np.float64)
    of_values = pair.members @ in_shared
    parts = []
    for rate in quantity.rate.parts:
        _, is_case = _indicators(of_pair.cells, rate)
        cases = of_values[:, is_case].sum(axis=1)
        parts.append(replace(estimates, rate_of=rate, cases=cases, add_rows=tuple))
    fewest = None
    if len(of_pair.cells) > len(ConfusionCounts.cells):
        n_classes = math.isqrt(len(of_pair.cells))
        of_labels = of_values.reshape(2, n_classes, n_classes).sum(axis=2)
        fewest = of_labels.min(axis=1)
    return replace(estimates, parts=tuple(parts), fewest=fewest)


def _indicators(cells: Sequence[str], rate: Rate) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a cell is a success of a rate, and whether it is a case."""
    is_success = np.array([cell in rate.successes for cell in cells])
    is_case = np.array([cell in rate.cases for cell in cells])
    return is_success, is_case


def _weights_of_rates(
    of_pair: StratumCounts, pair: PairCells, quantity: CellQuantity
) -> list[Floats]:
    """Of every rate of a mean the weights of the strata by its cases, adding up to 1."""
    weights = []
    for rate in quantity.rates:
        _, is_case = _indicators(of_pair.cells, rate)
        weight = standardised.common_weight(
            pair.totals[..., is_case].sum(axis=2), of_all=pair.of_all
        )
        total = weight.sum()
        weights.append(weight / total if total > 0 else weight)
    return weights


def _units_of(
    of_pair: StratumCounts, pair: PairCells, quantity: CellQuantity, weights: Sequence[Floats]
) -> Units:
    """What the rows, or sampling units, of both values lose to the strata, and are worth; of a mean
    of rates, by their cases, the least of them.
    """
    every_cell = np.ones(len(of_pair.cells), dtype=bool)
    of_rates = [(every_cell, pair.weight)]
    if quantity.rate.parts:
        of_rates = []
        for rate, weight in zip(quantity.rates, weights, strict=True):
            of_rates.append((_indicators(of_pair.cells, rate)[1], weight))
    kept = []
    degrees = []
    for is_case, weight in of_rates:
        shares = _shares_of_units(of_pair, pair, is_case, weight > 0)
        units = standardised.units_of_values(weight, shares)
        kept.append(units.kept)
        degrees.append(units.degrees_of_freedom)
    return Units(kept=np.max(kept, axis=0), degrees_of_freedom=np.min(degrees, axis=0))


def _shares_of_units(
    of_pair: StratumCounts,
    pair: PairCells,
    is_case: NDArray[np.bool_],
    counted: NDArray[np.bool_],
) -> Floats:
    """Σ_u a_uh a_uk of both values, with a the share of a unit in the cases of a stratum, shape (2,
    H, H); `counted`: the strata that count.
    """
    sizes = pair.cells[..., is_case].sum(axis=2)
    per_case = np.where(counted & (sizes > 0), 1 / np.where(sizes > 0, sizes, 1.0), 0.0)
    if of_pair.design is None:
        return np.asarray(np.eye(counted.size) * per_case[:, :, None])
    n_strata = counted.size
    of_values = []
    for members, of_value in zip(pair.members, per_case, strict=True):
        factors = of_value[:, None, None] * members[:, None] * is_case
        products = products_of_units(of_pair.design, factors)
        of_values.append(products.reshape(2, n_strata, 2, n_strata).sum(axis=(0, 2)))
    return np.stack(of_values)


def _estimates_about(
    of_pair: StratumCounts,
    pair: PairCells,
    quantity: CellQuantity,
    weights: Sequence[Floats],
    units: Units,
) -> RateEstimates:
    """Values and covariance of these cells."""
    values = _values_of(of_pair.cells, pair, quantity, weights)
    rows = np.einsum("kg,ghc->kh", pair.members, of_pair.rows.transpose(1, 0, 2))
    rows = np.asarray(rows[:, pair.shared].sum(axis=1), dtype=np.int64)
    kept = np.sqrt(np.outer(units.kept, units.kept))
    fields: dict[str, Any] = {}
    design = of_pair.design
    if design is None:
        covariance = kept * pair.covariance(values.slopes)
    else:
        errors = pair.centred(values.slopes).transpose(0, 2, 1, 3)
        unit_factor = design.n_units / max(design.n_units - 1, 1)
        covariance = np.empty((2, 2))
        for own in range(2):
            for other in range(2):
                products = products_of_units(design, errors[own], errors[other])
                covariance[own, other] = products.sum() * unit_factor
        df = units.degrees_of_freedom
        small = np.maximum(1 - 2 / (df + 1), _LEAST_KEPT)
        fields = {
            "degrees_of_freedom": float(design.n_units - 1),
            "weighted": True,
            "clustered": design.clustered,
            "units": df + 1,
            "inflation": units.kept / (small * unit_factor),
        }
    return RateEstimates(
        rate_of=quantity.rate,
        groups=of_pair.groups,
        successes=np.full(2, np.nan),
        cases=rows.astype(np.float64),
        rows=rows,
        rate=values.values,
        joint=covariance,
        worth=_worth_of(of_pair, pair),
        smooth=True,
        **fields,
    )


def _worth_of(of_pair: StratumCounts, pair: PairCells) -> Floats:
    """Rows of both values by their weights and those of the strata, 1/Σ W²/n (Kish 1965)."""
    squares = pair.totals
    if of_pair.design is not None:
        squares = of_pair.design.squares.transpose(1, 0, 2)
    of_values = np.einsum("kg,ghc->kh", pair.members, squares)
    sizes = pair.cells.sum(axis=2)
    per_stratum = np.where(pair.shared, of_values / np.where(sizes > 0, sizes, 1.0) ** 2, 0.0)
    return np.asarray(1 / (pair.weight**2 * per_stratum).sum(axis=1))


def groups_of_few_rows(
    of_pair: StratumCounts, quantity: CellQuantity | None, *, of_all: bool, ratio: bool
) -> list[str]:
    """Those of a group and its reference that have so few rows that limits err on one side.

    By the weights of the strata and their own, of weighted rows all, of others those in the cells
    that a function depends on; `quantity`: None of a function of the user's.
    """
    design = of_pair.design
    totals = of_pair.rows.astype(np.float64) if design is None else design.totals
    pair = PairCells.of(totals.transpose(1, 0, 2), of_all=of_all)
    if not pair.shared.any() or (quantity is not None and quantity.rates and design is None):
        return []
    counted = _worth_of(of_pair, pair)
    fewest = fewest_effective_rows(ratio=ratio and design is not None)
    if design is None and quantity is not None:
        counted = counted * _share_that_counts(pair, quantity)
        fewest = FEW_THAT_COUNT
    few = []
    for name, rows in zip(of_pair.groups, counted, strict=True):
        if rows < fewest:
            few.append(name)
    return few


def _share_that_counts(pair: PairCells, quantity: CellQuantity) -> Floats:
    """Of the standardised cells of both the share that the function depends on, shape (2,)."""
    about = pair.with_added(1.0)
    slopes = _values_of((), about, quantity, ()).slopes
    of_cells = np.abs(slopes).max(axis=(0, 1, 2))
    counts = of_cells > _NO_SLOPE * of_cells.max()
    standardised_cells = pair.standardised
    shares: Floats = standardised_cells[:, counts].sum(axis=1) / standardised_cells.sum(axis=1)
    return shares


def values_of_stratum(
    of_pair: StratumCounts, quantity: CellQuantity, contrast: Contrast, settings: Inference
) -> dict[str, Any]:
    """What a table says of both values in one stratum, with limits where it has enough rows."""
    n_group, n_reference = of_pair.rows.sum(axis=(0, 2)).tolist()
    of_all = settings.comparisons == "overall"
    if of_all:
        n_reference += n_group
    of_stratum: dict[str, Any] = {
        "successes": math.nan,
        "n": n_group,
        "rate": math.nan,
        "successes_reference": math.nan,
        "n_reference": n_reference,
        "rate_reference": math.nan,
        "estimate": math.nan,
        "ci_low": math.nan,
        "ci_high": math.nan,
        "informative": bool(n_group and n_reference),
    }
    estimates = estimates_within(of_pair, quantity, of_all=of_all)
    if estimates is None:
        return of_stratum
    of_stratum["rate"], of_stratum["rate_reference"] = estimates.rate.tolist()
    of_stratum["estimate"], _ = estimates.contrast(0, 1, contrast=contrast)
    alone = replace(settings, alternative="two-sided")
    level = settings.confidence_level
    decision = decide_by_delta(estimates, contrast, alone, (level, level))
    if isinstance(decision, PairDecision):
        of_stratum["ci_low"], of_stratum["ci_high"] = decision.interval
    return of_stratum


def _values_of(
    cells: Sequence[str], pair: PairCells, quantity: CellQuantity, weights: Sequence[Floats]
) -> Values:
    """Both values and their derivatives in the cells."""
    if quantity.rates:
        rates = [_indicators(cells, rate) for rate in quantity.rates]
        return standardised.of_mean(pair, rates, weights)
    function = quantity.function
    if function is None:
        raise TypeError(f"{quantity.rate.name} is neither a function nor a mean of rates")

    def values(cells: Floats) -> Floats:
        return values_of_cells(function, cells)

    return standardised.of_function(pair, values)


def groups_without_value(estimates: RateEstimates) -> list[str]:
    """Those of a group and its reference whose value is not known, or does not vary."""
    without = []
    for name, cases in zip(estimates.groups, estimates.cases, strict=True):
        if not cases > 0:
            without.append(name)
    return without


def _worth_too_little(estimates: RateEstimates) -> str:
    """Which rows without weights are worth too little by those of the strata; empty if none."""
    if estimates.worth is None or estimates.weighted:
        return ""
    too_few = []
    for name, rows in zip(estimates.groups, estimates.worth.tolist(), strict=True):
        if rows < DELTA_ROWS - 1e-9:
            too_few.append(f"{name}: {rows:.3g} rows by the weights of the strata")
    return " and ".join(too_few)


def decide_by_delta(
    estimates: RateEstimates, contrast: Contrast, settings: Inference, levels: tuple[float, float]
) -> PairDecision | Refused:
    """What the values of a group and its reference show; `levels`: of two-sided intervals, and of
    one-sided limits.
    """
    title = estimates.rate_of.title
    if without := groups_without_value(estimates):
        lacking = (
            f"{' and '.join(without)}: {title} is not defined within strata, or does not vary."
        )
        return Refused(settings.method, lacking)
    about = with_variance(estimates, 0, 1, contrast)
    if contrast == "ratio" and not all((each.rate > 0).all() for each in about):
        names = " and ".join(estimates.groups)
        lacking = f"{names}: {title} within strata is not above 0 in both, so no ratio."
        return Refused(settings.method, lacking)
    chosen = pair_method(
        estimates, 0, 1, contrast, settings.method, n_resamples=settings.n_resamples, rng=None
    )
    if isinstance(chosen, Refused):
        return chosen
    if few := _worth_too_little(estimates):
        return Refused(chosen.name, f"{few}, too few for an interval by the delta method.")
    two_sided, one_sided = levels
    return decide_by_method(
        chosen, contrast, settings, (two_sided, 2 * one_sided - 1), bounded=not estimates.smooth
    )
