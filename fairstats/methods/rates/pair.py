"""Which way to limits a pair of rates takes, and where there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.verdict import Procedure, effective
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.limits import (
    BcaDistribution,
    Fieller,
    LogRatio,
    Mover,
    PairMethod,
    Score,
    Wald,
    Widest,
    bca_distribution,
)
from fairstats.numerics.rates.score import Contrast, Table

#: Below this count in any of the four cells methods other than the score are warned of.
SMALL_CELL = 5
#: Effective clusters, and effective successes and failures, that a group needs; up to so many statistics are shrunk.
MIN_UNITS, MIN_EFFECTIVE, FULL_EFFECTIVE = 8.0, 10.0, 20.0
#: Rows that a group needs for the delta method, and cases of a part of a mean.
DELTA_ROWS, DELTA_CASES = 10, 3
#: (2z² + 1)/(6z) at z from 1.645 to 1.96 (.65 to .74): what a skewness of 1 makes of a studentised mean.
EDGEWORTH = 0.7


def empty_cells(estimates: RateEstimates, i: int, j: int) -> str:
    """Which of the four cells is empty, in words; empty text for none."""
    for part in estimates.parts:
        if empty := empty_cells(part, i, j):
            return f"{empty} among its {part.rate_of.case_words}"
    for g in () if estimates.parts else (i, j):
        k, n = estimates.successes[g], estimates.cases[g]
        if k <= 0 or k >= n:
            return f"{estimates.groups[g]} has no {'success' if k <= 0 else 'failure'}"
    return ""


@dataclass(frozen=True)
class Chosen:
    """What one pair is inferred with: interval, tests and verdict alike; `note`: what speaks against it."""

    how: PairMethod
    name: str
    note: str = ""
    degrees_of_freedom: float = float("inf")

    @property
    def procedure(self) -> Procedure:
        """What kind of evidence it is."""
        kind = "standard error"
        if isinstance(self.how, (Score, Mover)):
            kind = "score"
        if isinstance(self.how, BcaDistribution):
            kind = "bootstrap"
        return Procedure(self.name, kind, df=self.degrees_of_freedom)


@dataclass(frozen=True)
class Refused:
    """A method that is not defined for the counts of a pair; `note`: why."""

    name: str
    note: str


def pair_method(
    estimates: RateEstimates, i: int, j: int, contrast: Contrast, method: str, *, n_resamples: int,
    rng: Generator | None,
) -> Chosen | Refused:  # fmt: skip
    """The method that was asked for, for one pair; never another one.

    Under weights or clusters with Satterthwaite's degrees of freedom over effective sampling units, and only
    where both groups have enough of them (`too_few_units`).
    """
    ratio, weighted = contrast == "ratio", estimates.weighted
    suffix = " (Satterthwaite)" if weighted else ""
    name = method + suffix
    if lacking := too_few_units(estimates, i, j):
        return Refused(name, lacking)
    if estimates.smooth or (estimates.parts and ratio):
        return _smooth(estimates, i, j, ratio, suffix)
    _check_design(estimates, method)
    degrees, parts = estimates.contrast_degrees(i, j, ratio=ratio), estimates.parts or (estimates,)
    estimate, spread = estimates.contrast(i, j, ratio=ratio)
    if method in ("score", "koopman", "mee"):
        if weighted and not spread > 0:
            return Refused(name, "no variation between units: no interval.")
        apart, scores = estimates.dependence(i, j, ratio=ratio), []
        for part in parts:
            (more, other_more), (fewer, other_fewer) = (apart * shrinkage(part)[:, [i, j]]).tolist()
            scale = min(more, other_fewer), min(fewer, other_more)
            scores.append(Score(degrees, part.table(i, j), contrast, method == "score", scale=scale))
        if len(scores) == 1:
            return Chosen(scores[0], name, degrees_of_freedom=degrees)
        first, second = ((float(part.rate[i] - part.rate[j]), s) for part, s in zip(parts, scores, strict=True))
        return Chosen(Mover(degrees, (first, second)), f"{method} (MOVER){suffix}", "", degrees)
    name = "bootstrap (BCa)" if method == "bootstrap" else name
    empty = empty_cells(estimates, i, j)
    if empty or not spread > 0:
        return Refused(name, f"{empty or 'no variation between units'}: the {method} method is not defined.")
    note = ""
    if min(smallest_cell(part.table(i, j)) for part in parts) < SMALL_CELL and not weighted:
        why = f"{estimates.groups[i]} against {estimates.groups[j]}: fewer than {SMALL_CELL} in a cell"
        note = f"{why}: the {method} method may be far off; by default the score method is used."
    wider = estimates.widening(i, j, ratio=ratio)
    if method == "delta":
        return Chosen(Wald(degrees, estimate, wider * spread), name, note, degrees)
    if method == "log":
        return Chosen(LogRatio(degrees, estimate, wider * estimates.std_error(i, j, ratio=True)), name, note, degrees)
    if rng is None:
        raise TypeError("the bootstrap needs a generator")
    table = estimates.table(i, j)
    return Chosen(bca_distribution(*table, contrast=contrast, n_resamples=n_resamples, rng=rng), name, note)


def too_few_units(estimates: RateEstimates, i: int, j: int) -> str:
    """Why weighted or clustered rows of a pair are too few for an interval; empty where they are not."""
    if estimates.units is None:
        return ""
    for g in (i, j):
        if estimates.units[g] < MIN_UNITS:
            few = effective(float(estimates.units[g]), "clusters" if estimates.clustered else "rows")
            return f"{estimates.groups[g]}: {few}, too few for an interval."
        for part in () if estimates.smooth else estimates.parts or (estimates,):
            if _shares(part)[:, g].min() < MIN_EFFECTIVE / FULL_EFFECTIVE:
                k, n = (float(values[g]) for values in part.effective)
                kind, rarer = ("successes", k) if k <= n - k else ("failures", n - k)
                among = f"{effective(rarer, kind)} among {effective(n, 'cases')}"
                return f"{estimates.groups[g]}: {among}, too few for an interval under weights or clusters."
    return ""


def shrinkage(estimates: RateEstimates) -> Floats:
    """Factors of statistics that more successes, or failures, of a group than expected make, shape (2, G).

    1 without weights or clusters, otherwise the product of two factors. (a) min(1, k/20), with k effective successes,
    or failures: where many samples are refused (`too_few_units`), those that answer are a selection with too many of
    the rarer kind. A Poisson count is refused below 10 in half of the samples where 10 are expected, and then what 5%
    of all samples exceed, 10% of those answered do; k/20 makes that 5%. Unequal weights make totals skew: as many more
    are needed, 20·Σ1·Σw²/(Σw)². (b) Clusters of unequal size make totals skew as well: by γ = 2c²·(1 − 2r)/√(r(1−r)n*)
    more than equal ones, c² = Σ1·Σd²/(Σd)² − 1 the squared CV of their sizes (third cumulant of a gamma mixture over
    lognormal sizes, with all variance between clusters: how much there is, numbers of rows say only as long as no row
    is a copy). A group with fewer of the rarer kind than expected also shows less variance: of such statistics 1/(1 +
    .7γ), the first term of Edgeworth's expansion of a studentised mean. Only (a) refuses: what (b) makes wide is an
    answer. Simulated (4,000 samples each, rates .005 to .99, 8 to 2,000 clusters, ICC .02 to .3, size CV up to 2,
    weights with a CV of .5 to 1.5): where two in five samples answer, coverage is .934 to .994 and each error of a
    verdict at most .061; where fewer do, coverage is .920 at worst.
    """
    if estimates.units is None:
        return np.ones((2, len(estimates.groups)))
    enough = _shares(estimates)
    if estimates.clusters is None:
        return enough
    successes, cases = estimates.effective
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = successes / cases
        skew = 2 * (estimates.clusters / estimates.units - 1) * (1 - 2 * rate)
        skew = np.nan_to_num(skew / np.sqrt(rate * (1 - rate) * cases))
    return np.asarray(enough / (1 + EDGEWORTH * np.maximum(np.stack([-skew, skew]), 0.0)))


def _shares(estimates: RateEstimates) -> Floats:
    """Factor (a) of `shrinkage`, of weighted or clustered rows."""
    successes, cases = estimates.effective
    enough = np.stack([successes, cases - successes]) / FULL_EFFECTIVE
    if estimates.clusters is None and estimates.units is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            enough = enough * (estimates.units / estimates.rows)
    return np.clip(np.nan_to_num(enough), 0.0, 1.0)


def smallest_cell(table: Table) -> float:
    """Least of successes and failures of both groups."""
    k0, n0, k1, n1 = table
    return min(k0, n0 - k0, k1, n1 - k1)


def _check_design(estimates: RateEstimates, method: str) -> None:
    """Refuse methods that means of rates do not have, or that assume what weights or clusters break."""
    other = "leave out method=, or use one of these"
    if estimates.parts and method in ("bootstrap", "koopman"):
        got, allowed, other = f"for {estimates.rate_of.title}", "'delta', 'score' or 'mee'", "leave out method="
    elif method == "bootstrap" and estimates.weighted:
        got, allowed = "with weights or clusters", "'score', 'log' or 'delta' (linearisation)"
    else:
        return
    raise InputError("method", got=f"{method!r} {got}", allowed=allowed, cure=other)


def _smooth(estimates: RateEstimates, i: int, j: int, ratio: bool, suffix: str) -> Chosen | Refused:
    """Delta method for a general function, or a ratio of means: Wald for differences, Fieller's for ratios.

    The wider of those about the values with half a row and a whole one more in every cell. Under weights
    about the values themselves, on the log scale for ratios.
    """
    name = "delta" if not ratio else "log" if estimates.weighted else "fieller"
    if few := [] if estimates.weighted else _too_few_for_delta(estimates, i, j):
        return Refused(name, f"{' and '.join(few)}, too few for an interval by the delta method.")
    degrees = estimates.contrast_degrees(i, j, ratio=ratio)
    found: list[Wald | LogRatio | Fieller] = []
    for more in estimates.added or (estimates,):
        rates = more.rate[[i, j]].tolist()
        if ratio and not min(rates) > 0:
            got, cure = f"'ratio' of {rates[0]:.3g} and {rates[1]:.3g}", 'contrast="difference"'
            raise InputError("contrast", got=got, allowed="metrics above 0 in every group", cure=cure)
        spread = more.std_error(i, j, ratio=ratio) * more.widening(i, j, ratio=ratio)
        if not spread > 0:
            both = f"{estimates.groups[i]} and {estimates.groups[j]}"
            return Refused(name + suffix, f"{both}: no variation, so no standard error.")
        if name == "fieller":
            (a, b), (v, w) = rates, more.variance[[i, j]].tolist()
            found.append(Fieller(degrees, (a, b), (v, w)))
        else:
            found.append((LogRatio if ratio else Wald)(degrees, more.contrast(i, j, ratio=ratio)[0], spread))
    return Chosen(found[0] if len(found) == 1 else Widest(degrees, (found[0], found[1])), name + suffix, "", degrees)


def _too_few_for_delta(estimates: RateEstimates, i: int, j: int) -> list[str]:
    """The groups that have too few rows, or cases of a part of a mean: what they have."""
    few = []
    for g in (i, j):
        cases = min((part.cases[g] for part in estimates.parts), default=np.inf)
        if estimates.rows[g] < DELTA_ROWS:
            few.append(f"{estimates.groups[g]}: {estimates.rows[g]} rows")
        elif cases < DELTA_CASES:
            few.append(f"{estimates.groups[g]}: {cases:g} cases of one rate")
    return few
