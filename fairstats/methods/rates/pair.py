"""Which way to limits a pair of rates takes, and where there is none."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.verdict import Procedure, effective
from fairstats.methods.rates.estimates import RateEstimates
from fairstats.methods.rates.limits import (
    BcaDistribution,
    Fieller,
    KnownLimits,
    LimitsByCriticalValue,
    LogRatio,
    Mover,
    OddsOfAll,
    OfAll,
    PairMethod,
    ScaleOfAll,
    Score,
    Wald,
    Widest,
    bca_distribution,
)
from fairstats.numerics.rates.score import Contrast, Table
from fairstats.numerics.rates.score_limits import limits_of_tables
from fairstats.numerics.rates.switch import smallest_expected

#: Below this count in any of the four cells methods other than the score are warned of.
SMALL_CELL = 5
#: Effective clusters, or rows by their weights, that a group needs: by effective counts, and by
#: linear methods.
MIN_UNITS = 3.0
MIN_UNITS_LINEAR = 8.0
#: A group is pointed out whose cases are worth less than this share of its rows, or that has fewer
#: effective units.
POOR_SHARE = 0.5
POOR_UNITS = 20.0
#: Rows that a group needs for the delta method, and cases of a part of a mean.
DELTA_ROWS = 10
#: Rows of every class that a group needs for the delta method of a mean over classes.
CLASS_ROWS = 10
DELTA_CASES = 3
#: From so many pairs on their limits are searched for together.
_SEARCHED_TOGETHER = 16
#: Means of more than two rates, as over classes, have the continuity correction where fewer cases
#: than this are expected of one of them: without it an upper limit beside a small group errs in up
#: to .10.
CORRECTED_IN_MEANS = 20.0
#: What the name of a method says of designs with weights or clusters.
_SATTERTHWAITE = " (Satterthwaite)"
_EFFECTIVE_ROWS = " (effective rows)"
_EFFECTIVE_CLUSTERS = " (effective clusters)"


def names_with_design(method: str) -> tuple[str, ...]:
    """The names that a method has in rows: its own, and those of designs with weights or clusters.

    >>> names_with_design("score")[:2]
    ('score', 'score (Satterthwaite)')
    """
    suffixes = ("", _SATTERTHWAITE, _EFFECTIVE_ROWS, _EFFECTIVE_CLUSTERS)
    return tuple(method + suffix for suffix in suffixes)


def empty_cells(estimates: RateEstimates, i: int, j: int) -> str:
    """Which of the four cells is empty, in words; empty text for none."""
    for proportion in estimates.parts:
        if empty_words := empty_cells(proportion, i, j):
            return f"{empty_words} among its {proportion.rate_of.case_words}"
    for group_index in () if estimates.parts else (i, j):
        successes = estimates.successes[group_index]
        cases = estimates.cases[group_index]
        if successes <= 0 or successes >= cases:
            return f"{estimates.groups[group_index]} has no {'success' if successes <= 0 else 'failure'}"
    return ""


#: What other methods than the score rest on.
_KINDS_OF_EVIDENCE: dict[type[Any], str] = {
    Wald: "standard error",
    LogRatio: "standard error",
    Fieller: "standard error",
    Widest: "standard error",
    BcaDistribution: "bootstrap",
}


@functools.lru_cache(maxsize=64)
def _procedure(name: str, kind: str, degrees_of_freedom: float) -> Procedure:
    """The one that all pairs with these values share."""
    return Procedure(name, kind, df=degrees_of_freedom)


class Chosen(NamedTuple):
    """What one pair is inferred with: interval, tests and verdict alike; `note`: what speaks
    against it.
    """

    how: PairMethod | LimitsByCriticalValue
    name: str
    note: str = ""
    degrees_of_freedom: float = float("inf")

    @property
    def procedure(self) -> Procedure:
        """What kind of evidence it is."""
        evidence_kind = _KINDS_OF_EVIDENCE.get(type(self.how), "score")
        return _procedure(self.name, evidence_kind, self.degrees_of_freedom)


@dataclass(frozen=True)
class Refused:
    """A method that is not defined for the counts of a pair; `note`: why."""

    name: str
    note: str


def pair_method(
    estimates: RateEstimates,
    i: int,
    j: int,
    contrast: Contrast,
    method: str,
    *,
    n_resamples: int,
    rng: Generator | None,
    known_limits: KnownLimits | None = None,
    shares_of_all: tuple[float, ...] = (),
) -> Chosen | Refused:
    """The method that was asked for, for one pair; never another one.

    `shares_of_all`: of i in the cases of each proportion where j is all others, and i is compared
    with everybody by the score.

    Under clusters or unequal weights the score works with effective counts
    (`RateEstimates.effective`) and Student's t with the effective units of the smaller group less
    1; methods that are linear in the rates have Satterthwaite's. Both need enough units in both
    groups (`too_few_units`). `known_limits`: of `limits_of_pairs`.
    """
    is_ratio = contrast == "ratio"
    is_uneven = estimates.uneven(i, j)
    is_linear = (
        estimates.smooth
        or bool(estimates.parts and is_ratio)
        or method not in ("score", "koopman", "mee")
    )
    suffix = ""
    if is_uneven:
        if estimates.clustered:
            effective_units = _EFFECTIVE_CLUSTERS
        else:
            effective_units = _EFFECTIVE_ROWS
        if is_linear:
            suffix = _SATTERTHWAITE
        else:
            suffix = effective_units
    method_name = method + suffix
    if lacking := too_few_units(estimates, i, j, linear=is_linear):
        return Refused(method_name, lacking)
    if estimates.smooth or (estimates.parts and is_ratio):
        return _delta_method(estimates, i, j, contrast, suffix)
    _check_design(estimates, method)
    degrees = estimates.contrast_degrees(i, j, contrast=contrast, linear=is_linear)
    proportions = estimates.parts or (estimates,)
    if not is_linear:
        return _score_method(
            estimates,
            (i, j),
            contrast,
            method,
            suffix=suffix,
            degrees=degrees,
            known_limits=known_limits,
            shares_of_all=shares_of_all,
        )
    estimate, std_error = estimates.contrast(i, j, contrast=contrast)
    if method == "bootstrap":
        method_name = "bootstrap (BCa)"
    empty_words = empty_cells(estimates, i, j)
    if empty_words or not std_error > 0:
        return Refused(
            method_name,
            f"{empty_words or 'no variation between units'}: the {method} method is not defined.",
        )
    note = ""
    if (
        min(smallest_cell(proportion.table(i, j)) for proportion in proportions) < SMALL_CELL
        and not is_uneven
    ):
        reason = (
            f"{estimates.groups[i]} against {estimates.groups[j]}: fewer than {SMALL_CELL} in a"
            " cell"
        )
        note = f"{reason}: the {method} method may be far off; by default the score method is used."
    widening_factor = estimates.widening(i, j, contrast=contrast)
    if method == "delta":
        if is_ratio:
            std_error = estimates.ratio_error_by_delta(i, j)
        return Chosen(
            how=Wald(degrees, estimate, widening_factor * std_error),
            name=method_name,
            note=note,
            degrees_of_freedom=degrees,
        )
    if method == "log":
        return Chosen(
            how=LogRatio(
                degrees, estimate, widening_factor * estimates.std_error(i, j, contrast="ratio")
            ),
            name=method_name,
            note=note,
            degrees_of_freedom=degrees,
        )
    if rng is None:
        raise TypeError("the bootstrap needs a generator")
    effective_table = estimates.table(i, j)
    return Chosen(
        bca_distribution(*effective_table, contrast=contrast, n_resamples=n_resamples, rng=rng),
        method_name,
        note,
    )


def _score_method(
    estimates: RateEstimates,
    pair: tuple[int, int],
    contrast: Contrast,
    method: str,
    *,
    suffix: str,
    degrees: float,
    known_limits: KnownLimits | None,
    shares_of_all: tuple[float, ...],
) -> Chosen:
    """By the score; of a mean of several rates by those of all of them (MOVER)."""
    i, j = pair
    proportions = estimates.parts or (estimates,)
    shared = estimates.shared(i, j)
    tables = [proportion.table(i, j) for proportion in proportions]
    continuity = is_corrected_mean(tables)
    scores: list[Score | OfAll | OddsOfAll] = []
    differences = []
    for place, proportion in enumerate(proportions):
        score_of_pair = Score(
            degrees_of_freedom=degrees,
            table=tables[place],
            contrast=contrast,
            correction=method == "score",
            continuity=continuity,
            shared=shared,
            known=known_limits or {},
        )
        difference = float(proportion.rate[i] - proportion.rate[j])
        if shares_of_all and contrast == "odds_ratio":
            scores.append(OddsOfAll(degrees, score_of_pair, shares_of_all[place]))
            differences.append(difference)
        elif shares_of_all:
            scale = ScaleOfAll(contrast, shares_of_all[place])
            scores.append(OfAll(degrees, score_of_pair, scale))
            differences.append((1 - scale.share) * difference)
        else:
            scores.append(score_of_pair)
            differences.append(difference)
    if len(scores) == 1:
        return Chosen(scores[0], method + suffix, degrees_of_freedom=degrees)
    parts = tuple(zip(differences, scores, strict=True))
    return Chosen(
        how=Mover(degrees, parts),
        name=f"{method} (MOVER){suffix}",
        note="",
        degrees_of_freedom=degrees,
    )


def limits_of_pairs(
    estimates: RateEstimates,
    pairs: Sequence[tuple[int, int]],
    contrast: Contrast,
    method: str,
    levels: Sequence[float],
) -> dict[tuple[int, int], KnownLimits]:
    """Score limits of many pairs at once, at these levels of two-sided intervals.

    Nothing where the pairs are few, or have laws of their own (weights, clusters, means).
    """
    plain = not (estimates.parts or estimates.smooth or estimates.weighted)
    if len(pairs) < _SEARCHED_TOGETHER or not plain or method not in ("score", "koopman", "mee"):
        return {}
    successes, cases = estimates.effective
    group, reference = np.array(pairs).T
    both_have_cases = (cases[group] > 0) & (cases[reference] > 0)
    group = group[both_have_cases]
    reference = reference[both_have_cases]
    tables = np.column_stack(
        [successes[group], cases[group], successes[reference], cases[reference]]
    )
    limits_by_pair: dict[tuple[int, int], KnownLimits] = {}
    for pair in zip(group.tolist(), reference.tolist(), strict=True):
        limits_by_pair[pair] = {}
    for level in dict.fromkeys(levels):
        critical = normal_quantile((1 + level) / 2, estimates.degrees_of_freedom)
        if not 0 < critical < math.inf:
            continue
        lower, upper = limits_of_tables(tables, contrast, critical, method == "score")
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        for known_limits, (low, high) in zip(limits_by_pair.values(), ends, strict=True):
            known_limits[critical] = (low, high)
    return limits_by_pair


def is_corrected_mean(tables: Sequence[Table]) -> bool:
    """Whether limits of a mean of these rates have the continuity correction."""
    if len(tables) <= 2:
        return False
    return min(float(smallest_expected(*table)) for table in tables) < CORRECTED_IN_MEANS


def too_few_units(estimates: RateEstimates, i: int, j: int, *, linear: bool = False) -> str:
    """Why weighted or clustered rows of a pair are too few for an interval.

    Empty where they are not.

    By the number of units and the spread of their sizes alone, never by the outcomes: samples that
    missed the rarer kind look innocent, and those left after refusing the others would err more
    often. Simulated (4,000 samples each: 3 to 200 rows beside 30 to 2,000, lognormal weights of CV
    .5 to 1.5; 3 to 60 clusters beside 4 to 300, correlation .02 to .6, sizes of CV up to 1.2; rates
    .05 to .95): see `vignettes/calibration.md`.
    """
    if estimates.units is None or not estimates.uneven(i, j):
        return ""
    if linear or estimates.smooth:
        fewest_needed = MIN_UNITS_LINEAR
    else:
        fewest_needed = MIN_UNITS
    for group_index in (i, j):
        # equal units are worth their number, up to rounding
        if estimates.units[group_index] < fewest_needed - 1e-9:
            effective_words = effective(
                float(estimates.units[group_index]), "clusters" if estimates.clustered else "rows"
            )
            return f"{estimates.groups[group_index]}: {effective_words}, too few for an interval."
    return ""


def worth_notes(estimates: RateEstimates, shown: Iterable[str]) -> list[str]:
    """What is said of groups whose rows are worth much less than their number, by weights or
    clusters.
    """
    if estimates.units is None or estimates.smooth:
        return []
    worth_sentences = []
    proportions = estimates.parts or (estimates,)
    for group_index, group_name in enumerate(estimates.groups):
        if group_name not in set(shown):
            continue
        poorest_part = min(proportions, key=lambda proportion: proportion.effective[1][group_index])
        effective_cases = poorest_part.effective[1][group_index]
        effective_units = float(estimates.units[group_index])
        n_rows = int(poorest_part.rows[group_index])
        if effective_cases >= POOR_SHARE * n_rows and effective_units >= POOR_UNITS:
            continue
        if estimates.clustered:
            reason_kind = "clusters"
        else:
            reason_kind = "weights"
        if estimates.clustered:
            cluster_words = f" ({effective(effective_units, 'clusters')})"
        else:
            cluster_words = ""
        worth_sentences.append(
            f"{group_name}: by their {reason_kind} {n_rows:,} {poorest_part.rate_of.case_words} are worth"
            f" {effective_cases:.3g}{cluster_words}; limits are wider for it."
        )
    return worth_sentences


def smallest_cell(table: Table) -> float:
    """Least of successes and failures of both groups."""
    k0, n0, k1, n1 = table
    return min(k0, n0 - k0, k1, n1 - k1)


def _check_design(estimates: RateEstimates, method: str) -> None:
    """Refuse methods that means of rates do not have, or that assume what weights or clusters
    break.
    """
    suggestion = "leave out method=, or use one of these"
    if estimates.parts and method in ("bootstrap", "koopman"):
        received = f"for {estimates.rate_of.title}"
        allowed = "'delta', 'score' or 'mee'"
        suggestion = "leave out method="
    elif method == "bootstrap" and estimates.weighted:
        received = "with weights or clusters"
        allowed = "'score', 'log' or 'delta' (linearisation)"
    else:
        return
    raise InputError("method", got=f"{method!r} {received}", allowed=allowed, cure=suggestion)


def _delta_method(
    estimates: RateEstimates,
    group_index: int,
    reference_index: int,
    contrast: Contrast,
    suffix: str,
) -> Chosen | Refused:
    """Delta method for a general function, or a ratio of means.

    Wald for differences, Fieller's for ratios.

    The wider of those about the values with half a row and a whole one more in every cell. Under
    weights about the values themselves, on the log scale for ratios.
    """
    is_ratio = contrast == "ratio"
    if not is_ratio:
        method_name = "delta"
    else:
        method_name = "log" if estimates.weighted else "fieller"
    if (
        too_few := []
        if estimates.weighted
        else _too_few_for_delta(estimates, group_index, reference_index)
    ):
        return Refused(
            method_name, f"{' and '.join(too_few)}, too few for an interval by the delta method."
        )
    degrees = estimates.contrast_degrees(
        group_index, reference_index, contrast=contrast, linear=True
    )
    limit_methods: list[Wald | LogRatio | Fieller] = []
    for added_estimates in with_variance(estimates, group_index, reference_index, contrast):
        pair_rates = added_estimates.rate[[group_index, reference_index]].tolist()
        if is_ratio and not min(pair_rates) > 0:
            received = f"'ratio' of {pair_rates[0]:.3g} and {pair_rates[1]:.3g}"
            suggestion = 'contrast="difference"'
            raise InputError(
                "contrast",
                got=received,
                allowed="metrics above 0 in every group",
                cure=suggestion,
            )
        std_error = added_estimates.std_error(
            group_index, reference_index, contrast=contrast
        ) * added_estimates.widening(group_index, reference_index, contrast=contrast)
        if not std_error > 0:
            group_names = f"{estimates.groups[group_index]} and {estimates.groups[reference_index]}"
            return Refused(
                method_name + suffix, f"{group_names}: no variation, so no standard error."
            )
        if method_name == "fieller":
            group_rate, reference_rate = pair_rates
            group_variance, reference_variance = added_estimates.variance[
                [group_index, reference_index]
            ].tolist()
            limit_methods.append(
                Fieller(
                    degrees,
                    values=(group_rate, reference_rate),
                    variances=(group_variance, reference_variance),
                    covariance=added_estimates.covariance_of(group_index, reference_index),
                )
            )
        else:
            limit_methods.append(
                (LogRatio if is_ratio else Wald)(
                    degrees,
                    added_estimates.contrast(group_index, reference_index, contrast=contrast)[0],
                    std_error,
                )
            )
    return Chosen(
        how=limit_methods[0] if len(limit_methods) == 1 else Widest(degrees, tuple(limit_methods)),
        name=method_name + suffix,
        note="",
        degrees_of_freedom=degrees,
    )


def with_variance(
    estimates: RateEstimates, group_index: int, reference_index: int, contrast: Contrast
) -> tuple[RateEstimates, ...]:
    """The estimates that limits are about; of several classes without those that show no
    variance, or no ratio, before rows are added.
    """
    if len(estimates.added) <= 2:
        return estimates.added or (estimates,)
    usable = []
    for added_estimates in estimates.added:
        std_error = added_estimates.std_error(group_index, reference_index, contrast=contrast)
        if std_error > 0:
            usable.append(added_estimates)
    return tuple(usable)


def _too_few_for_delta(estimates: RateEstimates, first_group: int, second_group: int) -> list[str]:
    """The groups that have too few rows, or cases of a part of a mean: what they have."""
    too_few = []
    for group_index in (first_group, second_group):
        smallest_cases = min(
            (proportion.cases[group_index] for proportion in estimates.parts), default=np.inf
        )
        if estimates.rows[group_index] < DELTA_ROWS:
            too_few.append(f"{estimates.groups[group_index]}: {estimates.rows[group_index]} rows")
        elif smallest_cases < DELTA_CASES:
            too_few.append(f"{estimates.groups[group_index]}: {smallest_cases:g} cases of one rate")
        elif estimates.fewest is not None and estimates.fewest[group_index] < CLASS_ROWS:
            few = f"{estimates.fewest[group_index]:g} rows of one class"
            too_few.append(f"{estimates.groups[group_index]}: {few}")
    return too_few
