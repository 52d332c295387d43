"""From rates to comparisons: intervals, bounds, tests, verdicts for a set of pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.methods.rates.exact import MAX_TABLES, exact_unconditional_pvalue
from fairstats.methods.rates.pair import (
    SMALL_CELL,
    Contrast,
    PairMethod,
    natural_std_error,
    pair_method,
    point_estimate,
)
from fairstats.methods.rates.result import Comparison, Inference
from fairstats.methods.rates.simultaneous import (
    MaxZ,
    adjust_pvalues,
    normal_cdf,
    two_sided_pvalue,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.rates.estimates import RateEstimates

__all__ = ["compare_rates", "make_pairs", "warn_about"]


def make_pairs(n_groups: int, reference: int, comparisons: str) -> list[tuple[int, int]]:
    """Pairs (group, reference): each other group against the reference, or all pairs."""
    if comparisons == "all":
        return list(combinations(range(n_groups), 2))
    return [(g, reference) for g in range(n_groups) if g != reference]


def compare_rates(
    estimates: RateEstimates,
    *,
    metric: str,
    contrast: Contrast,
    reference: int,
    settings: Inference,
    rng: np.random.Generator | None = None,
    spread: NDArray[np.float64] | None = None,
) -> tuple[Comparison, ...]:
    """Compare the rates of all pairs of groups.

    Parameters
    ----------
    estimates : RateEstimates
    metric : str
        Key for the table.
    contrast : {"ratio", "difference"}
    reference : int
        Position of the reference group.
    settings : Inference
    rng : numpy.random.Generator, optional
        For the bootstrap.
    spread : ndarray, shape (J, J), optional
        Covariance of all contrasts that hold simultaneously, where they are more than those of this rate.
    """
    if len(estimates.groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({estimates.groups[0]!r})",
            allowed="two groups or more",
            cure="compare with another group, or declare an empty one with groups=",
        )
    pairs = make_pairs(len(estimates.groups), reference, settings.comparisons)
    by_data = settings.reference_rule == "highest"
    simultaneous = (settings.simultaneous or "max-z") if by_data else settings.simultaneous
    if spread is None:
        family = make_pairs(len(estimates.groups), reference, "all" if by_data else settings.comparisons)
        spread = contrast_covariance(estimates, family, contrast)
    count = spread.shape[0]

    def per_comparison(level: float) -> float:
        return _per_comparison_level(level, simultaneous, spread, estimates.degrees_of_freedom)

    level = settings.confidence_level
    one_sided = 2 * level - 1
    levels = (per_comparison(level), per_comparison(one_sided) if one_sided > 0 else 0.0)
    compared = [_compare_pair(estimates, i, j, metric, contrast, settings, levels, rng) for i, j in pairs]
    raw = [c.pvalue for c in compared]
    bonferroni = np.minimum(np.asarray(raw) * count, 1.0)
    adjusted = bonferroni if by_data else adjust_pvalues(raw, settings.adjust)
    return tuple(replace(c, pvalue_adjusted=float(p)) for c, p in zip(compared, adjusted, strict=True))


def contrast_covariance(
    estimates: RateEstimates, pairs: list[tuple[int, int]], contrast: Contrast
) -> NDArray[np.float64]:
    """Covariance of the contrasts (log ratios or differences) of several pairs, shape (J, J)."""
    matrix = np.zeros((len(pairs), len(estimates.groups)))
    for row, (i, j) in enumerate(pairs):
        matrix[row, i], matrix[row, j] = 1.0, -1.0
    covariance = estimates.covariance
    if contrast == "ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = covariance / np.outer(estimates.rate, estimates.rate)
    known = np.isfinite(np.diag(covariance))
    usable = ~(np.abs(matrix) @ (~known)).astype(bool)
    result = np.full((len(pairs), len(pairs)), np.nan)
    part = matrix[np.ix_(usable, known)]
    result[np.ix_(usable, usable)] = part @ covariance[np.ix_(known, known)] @ part.T
    return result


def _per_comparison_level(
    level: float, simultaneous: str | None, spread: NDArray[np.float64], degrees: float
) -> float:
    """Level of each interval so that all hold at once at `level`."""
    count = spread.shape[0]
    if simultaneous is None or count < 2:
        return level
    if simultaneous == "bonferroni" or np.isnan(np.diag(spread)).any():
        return float(1 - (1 - level) / count)
    critical = MaxZ(spread, degrees).quantile(level)
    return 2 * normal_cdf(critical, degrees) - 1


def _compare_pair(
    estimates: RateEstimates,
    i: int,
    j: int,
    metric: str,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, float],
    rng: np.random.Generator | None,
) -> Comparison:
    empty = Comparison(
        metric=metric,
        group=estimates.groups[i],
        reference=estimates.groups[j],
        estimate=float("nan"),
        std_error=float("nan"),
        interval=Interval(np.nan, np.nan, settings.confidence_level, settings.method),
        bounds=Interval(np.nan, np.nan, 2 * settings.confidence_level - 1, settings.method),
        statistic=float("nan"),
        pvalue=float("nan"),
        pvalue_adjusted=float("nan"),
        tests=(),
        verdict="insufficient evidence",
        rate=float(estimates.rate[i]),
        rate_reference=float(estimates.rate[j]),
        n=int(estimates.rows[i]),
        n_reference=int(estimates.rows[j]),
        method=settings.method,
    )
    lacking = [estimates.groups[g] for g in (i, j) if not estimates.cases[g] > 0]
    words = estimates.rate_of
    if lacking:
        note = f"{' and '.join(lacking)}: no {words.case_words}, so no {words.title}."
        return replace(empty, note=note)
    if contrast == "ratio" and estimates.successes[i] == 0 and estimates.successes[j] == 0:
        note = f"{empty.group} and {empty.reference}: {words.title} 0 in both; 0/0 can be any ratio."
        unbounded = Interval(0.0, float("inf"), settings.confidence_level, "score")
        return replace(
            empty, note=note, interval=unbounded, bounds=replace(unbounded, confidence_level=levels[1])
        )
    how = pair_method(estimates, i, j, contrast, settings.method, n_resamples=settings.n_resamples, rng=rng)
    if getattr(how.judged, "std_error", 1.0) == 0:
        note = f"{empty.group} and {empty.reference}: no variation between units, so no standard error."
        return replace(empty, note=note, estimate=point_estimate(estimates, i, j, contrast))
    bounds = Interval(*how.judged.interval(levels[1]), 2 * settings.confidence_level - 1, how.judged_name)
    tests = _tests(how.judged, estimates, i, j, contrast, settings, how.judged_name)
    chosen = next(t for t in tests if t.alternative == settings.alternative)
    return replace(
        empty,
        estimate=point_estimate(estimates, i, j, contrast),
        std_error=natural_std_error(estimates, i, j, contrast),
        interval=_interval(how.shown, contrast, settings, levels, how.name, bounded=not estimates.smooth),
        bounds=bounds,
        statistic=chosen.statistic,
        pvalue=chosen.pvalue,
        tests=tests,
        verdict=verdict(bounds, contrast, settings.threshold),
        method=how.name,
        note=how.note,
    )


def _interval(
    method: PairMethod,
    contrast: Contrast,
    settings: Inference,
    levels: tuple[float, float],
    name: str,
    *,
    bounded: bool,
) -> Interval:
    """Interval of the alternative: two-sided, or one end open."""
    if settings.alternative == "two-sided":
        return Interval(*method.interval(levels[0]), settings.confidence_level, name)
    low, high = method.interval(levels[1])
    least, most = (0.0, float("inf")) if contrast == "ratio" else (-1.0, 1.0)
    if contrast == "difference" and not bounded:
        least, most = float("-inf"), float("inf")
    if settings.alternative == "less":
        return Interval(least, high, settings.confidence_level, name)
    return Interval(low, most, settings.confidence_level, name)


def verdict(bounds: Interval, contrast: Contrast, threshold: float) -> str:
    """Violated, satisfied or undecided, by the two one-sided bounds."""
    low, high = bounds
    if np.isnan(low) or np.isnan(high):
        return "insufficient evidence"
    if contrast == "ratio":
        below, above = ("violated", "satisfied") if threshold <= 1 else ("satisfied", "violated")
        return below if high < threshold else (above if low > threshold else "undecided")
    if high < -threshold or low > threshold:
        return "violated"
    return "satisfied" if -threshold < low and high < threshold else "undecided"


def margins(contrast: Contrast, threshold: float) -> tuple[float, float]:
    """Equivalence margins: (θ, 1/θ) for a ratio, (−θ, θ) for a difference."""
    if contrast == "ratio":
        return min(threshold, 1 / threshold), max(threshold, 1 / threshold)
    return -threshold, threshold


def _tests(
    method: PairMethod,
    estimates: RateEstimates,
    i: int,
    j: int,
    contrast: Contrast,
    settings: Inference,
    name: str,
) -> tuple[HypothesisTest, ...]:
    """Both directions against the threshold, equality, equivalence; exact ones for small tables."""
    degrees = estimates.degrees_of_freedom
    low, high = margins(contrast, settings.threshold)
    equal = 1.0 if contrast == "ratio" else 0.0
    less_null = settings.threshold if contrast == "ratio" else low
    greater_null = settings.threshold if contrast == "ratio" else high
    z_less, z_greater, z_equal = (method.statistic(v) for v in (less_null, greater_null, equal))
    tests = [
        HypothesisTest(f"{contrast} >= {less_null:.6g}", "less", z_less, normal_cdf(z_less, degrees), name),
        HypothesisTest(
            f"{contrast} <= {greater_null:.6g}", "greater", z_greater, normal_cdf(-z_greater, degrees), name
        ),
        HypothesisTest(
            f"{contrast} = {equal:g}", "two-sided", z_equal, two_sided_pvalue(z_equal, degrees), name
        ),
    ]
    if low < high:
        z_low, z_high = method.statistic(low), method.statistic(high)
        p_low, p_high = normal_cdf(-z_low, degrees), normal_cdf(z_high, degrees)
        tests.append(
            HypothesisTest(
                f"{contrast} outside ({low:.6g}, {high:.6g})",
                "equivalence",
                z_low if p_low >= p_high else z_high,
                max(p_low, p_high),
                f"TOST ({name})",
            )
        )
    return (*tests, *_exact_tests(estimates, i, j, contrast, less_null, greater_null, equal))


def _exact_tests(
    estimates: RateEstimates,
    i: int,
    j: int,
    contrast: Contrast,
    less_null: float,
    greater_null: float,
    equal: float,
) -> list[HypothesisTest]:
    if estimates.parts or estimates.weighted or estimates.smooth:
        return []
    k0, k1 = int(estimates.successes[i]), int(estimates.successes[j])
    n0, n1 = int(estimates.cases[i]), int(estimates.cases[j])
    small = min(k0, n0 - k0, k1, n1 - k1) < SMALL_CELL and (n0 + 1) * (n1 + 1) <= MAX_TABLES
    if not small:
        return []
    wanted: list[tuple[Literal["less", "greater", "two-sided"], float, str]] = [
        ("less", less_null, ">="),
        ("greater", greater_null, "<="),
        ("two-sided", equal, "="),
    ]
    found = []
    for alternative, null, sign in wanted:
        statistic, pvalue = exact_unconditional_pvalue(
            k0, n0, k1, n1, contrast=contrast, null=null, alternative=alternative
        )
        text = f"{contrast} {sign} {null:.6g}"
        found.append(HypothesisTest(text, alternative, statistic, pvalue, "exact unconditional"))
    return found


def warn_about(result: Any) -> None:
    """Warn of what could not be computed, and of methods that had to be replaced."""
    judged = getattr(result, "comparisons", (result,))
    lacking = sorted({c.note for c in judged if c.verdict == "insufficient evidence" and c.note})
    replaced = sorted({c.note for c in judged if c.note} - set(lacking))
    if lacking:
        caution(f"{result.metric}: " + " ".join(lacking), InsufficientEvidenceWarning)
    if replaced:
        caution(f"{result.metric}: " + " ".join(replaced), DataWarning)
