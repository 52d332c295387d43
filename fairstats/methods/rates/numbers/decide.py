"""From a contrast of numbers to everything that a row says: evidence, limits, tests."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.results import HypothesisTest
from fairstats.ground.verdict import Procedure, bound_level, evidence_by_side
from fairstats.methods.rates.decision import PairDecision, assemble_decision, equivalence_test
from fairstats.methods.rates.numbers.contrasts import NumberContrast
from fairstats.methods.rates.result import Inference
from fairstats.numerics.means.hall import Statistics
from fairstats.numerics.rates.score import Contrast

_OPEN_ENDS = {"ratio": (0.0, math.inf), "difference": (-math.inf, math.inf)}


def decide_contrast(
    contrast: NumberContrast,
    scale: Contrast,
    settings: Inference,
    levels: tuple[float, float],
    method: str,
) -> PairDecision:
    """Evidence, one-sided limits, interval and tests of one contrast of numbers.

    Parameters
    ----------
    contrast : NumberContrast
        Difference or ratio of two groups.
    scale : {"difference", "ratio"}
        Which of both.
    settings : Inference
        With margin or threshold, and the alternative.
    levels : tuple of float
        Of the two-sided interval, and of the two-sided one whose ends are one-sided limits.
    method : str
        Name of the procedure.
    """
    fair_range = settings._fair_range(scale)
    # evidence and tests share those of the fair range, each the root of a search
    statistics = functools.cache(contrast.statistics)
    at_low, at_high = (statistics(range_end) for range_end in fair_range)
    width = float(at_low.plain - at_high.plain)
    level_of_bounds = bound_level(width, settings.confidence_level)
    is_one_sided = settings.alternative != "two-sided"
    level_of_interval = levels[1] if is_one_sided else levels[0]
    return assemble_decision(
        evidence=evidence_by_side(
            at_low=(float(at_low.above), float(at_low.below)),
            at_high=(float(at_high.above), float(at_high.below)),
            width=width,
        ),
        bounds=contrast.limits(normal_quantile(level_of_bounds)),
        level_of_bounds=level_of_bounds,
        ends=contrast.limits(normal_quantile((1 + level_of_interval) / 2)),
        contrast=scale,
        open_ends=_OPEN_ENDS[scale],
        tests=[
            *_directed_tests(statistics, scale, settings, method),
            *_equivalence_tests(at_low, at_high, scale, fair_range, method),
        ],
        settings=settings,
        method=method,
        procedure=Procedure(method, "score"),
    )


def _directed_tests(
    statistics: Callable[[float], Statistics],
    scale: str,
    settings: Inference,
    method: str,
) -> list[HypothesisTest]:
    """Both directions against the threshold or margin, and equality.

    `statistics`: of a null value.
    """
    null_values = settings._null_values(scale)
    of_less = float(statistics(null_values["less"]).below)
    of_greater = float(statistics(null_values["greater"]).above)
    of_equality = statistics(null_values["two-sided"])
    # of the two statistics of equality the one that speaks for the side of the estimate
    if of_equality.plain > 0:
        statistic = max(float(of_equality.above), 0.0)
    else:
        statistic = min(float(of_equality.below), 0.0)
    nulls = {
        "less": f"{scale} >= {null_values['less']:.6g}",
        "greater": f"{scale} <= {null_values['greater']:.6g}",
        "two-sided": f"{scale} = {null_values['two-sided']:g}",
    }
    return [
        HypothesisTest(
            null=nulls["less"],
            alternative="less",
            statistic=of_less,
            pvalue=normal_cdf(of_less),
            method=method,
        ),
        HypothesisTest(
            null=nulls["greater"],
            alternative="greater",
            statistic=of_greater,
            pvalue=normal_cdf(-of_greater),
            method=method,
        ),
        HypothesisTest(
            null=nulls["two-sided"],
            alternative="two-sided",
            statistic=statistic,
            pvalue=2 * normal_cdf(-abs(statistic)),
            method=method,
        ),
    ]


def _equivalence_tests(
    at_low: Statistics,
    at_high: Statistics,
    scale: str,
    fair_range: tuple[float, float],
    method: str,
) -> list[HypothesisTest]:
    """Two one-sided tests of the fair range, by the one that decides."""
    statistics = (float(at_low.above), float(at_high.below))
    return equivalence_test(
        scale,
        fair_range,
        statistics=statistics,
        pvalues=(normal_cdf(-statistics[0]), normal_cdf(statistics[1])),
        method=f"TOST ({method})",
    )
