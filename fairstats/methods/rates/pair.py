"""Which way to limits a pair of rates takes, and where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

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
#: Effective clusters, or rows by their weights, that a group needs: by effective counts, and by linear methods.
MIN_UNITS = 3.0
MIN_UNITS_LINEAR = 8.0
#: A group is pointed out whose cases are worth less than this share of its rows, or that has fewer effective units.
POOR_SHARE = 0.5
POOR_UNITS = 20.0
#: Rows that a group needs for the delta method, and cases of a part of a mean.
DELTA_ROWS, DELTA_CASES = 10, 3


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

    Under clusters or unequal weights the score works with effective counts (`RateEstimates.effective`) and Student's t
    with the effective units of the smaller group less 1; methods that are linear in the rates have Satterthwaite's.
    Both need enough units in both groups (`too_few_units`).
    """
    ratio = contrast == "ratio"
    uneven = estimates.uneven(i, j)
    linear = estimates.smooth or bool(estimates.parts and ratio) or method not in ("score", "koopman", "mee")
    suffix = ""
    if uneven:
        effective_units = "effective clusters" if estimates.clustered else "effective rows"
        suffix = " (Satterthwaite)" if linear else f" ({effective_units})"
    name = method + suffix
    if lacking := too_few_units(estimates, i, j, linear=linear):
        return Refused(name, lacking)
    if estimates.smooth or (estimates.parts and ratio):
        return _smooth(estimates, i, j, ratio, suffix)
    _check_design(estimates, method)
    degrees = estimates.contrast_degrees(i, j, ratio=ratio, linear=linear)
    parts = estimates.parts or (estimates,)
    estimate, spread = estimates.contrast(i, j, ratio=ratio)
    if not linear:
        apart = estimates.dependence(i, j, ratio=ratio)
        scores = [Score(degrees, part.table(i, j), contrast, method == "score", scale=(apart, apart)) for part in parts]
        if len(scores) == 1:
            return Chosen(scores[0], name, degrees_of_freedom=degrees)
        first, second = ((float(part.rate[i] - part.rate[j]), s) for part, s in zip(parts, scores, strict=True))
        return Chosen(Mover(degrees, (first, second)), f"{method} (MOVER){suffix}", "", degrees)
    name = "bootstrap (BCa)" if method == "bootstrap" else name
    empty = empty_cells(estimates, i, j)
    if empty or not spread > 0:
        return Refused(name, f"{empty or 'no variation between units'}: the {method} method is not defined.")
    note = ""
    if min(smallest_cell(part.table(i, j)) for part in parts) < SMALL_CELL and not uneven:
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


def too_few_units(estimates: RateEstimates, i: int, j: int, *, linear: bool = False) -> str:
    """Why weighted or clustered rows of a pair are too few for an interval; empty where they are not.

    By the number of units and the spread of their sizes alone, never by the outcomes: samples that missed the rarer
    kind look innocent, and those left after refusing the others would err more often. Simulated (4,000 samples each:
    3 to 200 rows beside 30 to 2,000, lognormal weights of CV .5 to 1.5; 3 to 60 clusters beside 4 to 300, correlation
    .02 to .6, sizes of CV up to 1.2; rates .05 to .95): see `vignettes/calibration.md`.
    """
    if estimates.units is None or not estimates.uneven(i, j):
        return ""
    least = MIN_UNITS_LINEAR if linear or estimates.smooth else MIN_UNITS
    for g in (i, j):
        # equal units are worth their number, up to rounding
        if estimates.units[g] < least - 1e-9:
            few = effective(float(estimates.units[g]), "clusters" if estimates.clustered else "rows")
            return f"{estimates.groups[g]}: {few}, too few for an interval."
    return ""


def worth_notes(estimates: RateEstimates, shown: Iterable[str]) -> list[str]:
    """What is said of groups whose rows are worth much less than their number, by weights or clusters."""
    if estimates.units is None or estimates.smooth:
        return []
    notes = []
    parts = estimates.parts or (estimates,)
    for g, name in enumerate(estimates.groups):
        if name not in set(shown):
            continue
        part = min(parts, key=lambda own: own.effective[1][g])
        cases, units, rows = part.effective[1][g], float(estimates.units[g]), int(part.rows[g])
        if cases >= POOR_SHARE * rows and units >= POOR_UNITS:
            continue
        kind = "clusters" if estimates.clustered else "weights"
        held = f" ({effective(units, 'clusters')})" if estimates.clustered else ""
        notes.append(
            f"{name}: by their {kind} {rows:,} {part.rate_of.case_words} are worth {cases:.3g}{held}; "
            "limits are wider for it."
        )
    return notes


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
    degrees = estimates.contrast_degrees(i, j, ratio=ratio, linear=True)
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
