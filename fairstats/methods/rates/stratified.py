"""Disparate impact adjusted for a confounder: Mantel–Haenszel ratio over strata, homogeneity tests."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.counts import SelectionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.inference import verdict, warn_about
from fairstats.methods.rates.pair import LogRatio
from fairstats.methods.rates.result import Comparison, RatioResult
from fairstats.methods.rates.setup import make_settings
from fairstats.methods.rates.simultaneous import adjust_pvalues, normal_cdf, two_sided_pvalue

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["StratifiedRatioResult", "stratified_ratio"]


@serialisable
@dataclass(frozen=True, eq=False)
class StratifiedRatioResult(RatioResult):
    """Mantel–Haenszel ratios; `strata` and `stratum_counts` are the sufficient statistics.

    Attributes
    ----------
    strata : tuple of str, length H
    stratum_counts : ndarray of int, shape (H, G, 2)
        Selected and not selected per stratum and group.
    crude : tuple of float
        The ratio without stratification, per comparison.
    """

    strata: tuple[str, ...] = ()
    stratum_counts: Any = None
    crude: tuple[float, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [{**row, "crude": crude} for row, crude in zip(super().rows(), self.crude, strict=True)]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        lines = [*super().notes(), f"Mantel–Haenszel over {len(self.strata)} strata."]
        for c in self.comparisons:
            for test in c.tests:
                if test.alternative == "heterogeneity":
                    lines.append(
                        f"{c.group}: {test.method}, H0 {test.null}: p = {test.pvalue:.3g}"
                        + (" — one ratio does not describe all strata." if test.pvalue < 0.05 else ".")
                    )
        return lines


def stratified_ratio(
    y_pred: Any,
    *,
    sensitive_features: Any,
    strata: Any,
    reference: Hashable | None = None,
    threshold: float = 0.8,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    adjust: str = "holm",
    pos_label: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
) -> StratifiedRatioResult:
    """Mantel–Haenszel ratio of selection rates over strata of a confounder.

    Parameters
    ----------
    y_pred : array-like, shape (n,)
        Predictions (or labels), any type with two values.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row.
    strata : array-like, shape (n,)
        Stratum of each row, e.g. a department or a risk class.
    reference, threshold, alternative, confidence_level, adjust, pos_label, missing, groups
        As in `disparate_impact`.

    Returns
    -------
    StratifiedRatioResult
        One comparison per group with the common ratio; `tests()` adds the Cochran–Mantel–Haenszel test and
        two homogeneity tests.

    Raises
    ------
    InputError
        Where the input cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where no stratum holds both groups and a success.

    Notes
    -----
    T = Σ k₀n₁/N / Σ k₁n₀/N over strata (statsmodels' `StratifiedTable.riskratio_pooled`), Var(log T) of
    Greenland & Robins (1985). Homogeneity of ratios: Cochran's Q of the stratum log ratios with inverse
    variances, over strata without an empty cell of successes; of odds ratios: Breslow–Day with Tarone's
    adjustment. A stratum with one group alone says nothing and is left out of the sums.

    References
    ----------
    .. [1] Greenland, Robins (1985). Estimation of a common effect parameter from sparse follow-up data.
       Biometrics 41, 55–68.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> strata = np.repeat(["easy", "hard"], [150, 150])
    >>> group = np.concatenate([np.repeat(["a", "b"], [100, 50]), np.repeat(["a", "b"], [50, 100])])
    >>> chosen = np.concatenate([np.arange(n) < k for n, k in [(100, 80), (50, 40), (50, 10), (100, 20)]])
    >>> result = fs.stratified_ratio(chosen, sensitive_features=group, strata=strata, reference="a")
    >>> print(f"crude {result.crude[0]:.3f}, adjusted {result.estimate:.3f}")
    crude 0.667, adjusted 1.000
    """
    settings = make_settings(
        "ratio",
        method="log",
        threshold=threshold,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=None,
        adjust=adjust,
        comparisons="reference",
        n_resamples=9_999,
    )
    if strata is None or y_pred is None:
        name = "strata" if strata is None else "y_pred"
        raise InputError(name, got="None", allowed="one value per row", cure=f"pass {name}")
    outcomes = Outcomes.from_arrays(
        None,
        y_pred,
        sensitive_features=sensitive_features,
        strata=strata,
        pos_label=pos_label,
        missing=missing,
        groups=groups,
    )
    table = SelectionCounts.from_outcomes(outcomes)
    cells, names = _stratum_cells(outcomes)
    if len(table.groups) < 2:
        raise InputError(
            "sensitive_features",
            got=f"one group ({table.groups[0]!r})",
            allowed="two groups or more",
            cure="compare with another group",
        )
    index, rule = find_reference(table.groups, reference, sizes=table.group_sizes)
    settings = replace(settings, method="log (Mantel–Haenszel)", reference_rule=rule)
    found, crude = [], []
    for g in range(len(table.groups)):
        if g == index:
            continue
        found.append(_pooled(cells, table, g, index, settings))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = table.totals[:, 0] / table.totals.sum(axis=1)
            crude.append(float(share[g] / share[index]))
    adjusted = adjust_pvalues([c.pvalue for c in found], settings.adjust)
    result = StratifiedRatioResult(
        metric="disparate_impact_stratified",
        comparisons=tuple(replace(c, pvalue_adjusted=float(p)) for c, p in zip(found, adjusted, strict=True)),
        settings=settings,
        counts=table,
        words="Disparate impact within strata (Mantel–Haenszel)",
        backend="statsmodels",
        strata=names,
        stratum_counts=cells,
        crude=tuple(crude),
    )
    warn_about(result)
    return result


def _stratum_cells(outcomes: Outcomes) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Selected and not selected per stratum and group, shape (H, G, 2)."""
    if outcomes.strata is None or outcomes.y_pred is None:
        raise InputError("strata", got="None", allowed="one value per row", cure="pass strata")
    n_strata, n_groups = len(outcomes.strata.levels), len(outcomes.groups.labels)
    code = (
        (outcomes.strata.codes.astype(np.intp) * n_groups + outcomes.groups.codes) * 2 + 1 - outcomes.y_pred
    )
    cells = np.bincount(code, minlength=n_strata * n_groups * 2).reshape(n_strata, n_groups, 2)
    levels = outcomes.strata.levels
    names = [label_text(level) for level in levels]
    keys: Any = levels if all(isinstance(level, (int, float)) for level in levels) else names
    order = sorted(range(n_strata), key=keys.__getitem__)
    return cells[order], tuple(names[h] for h in order)


def _pooled(cells: NDArray[np.int64], table: SelectionCounts, i: int, j: int, settings: Any) -> Comparison:
    level = settings.confidence_level
    nan = float("nan")
    share = table.totals[:, 0] / np.maximum(table.totals.sum(axis=1), 1)
    empty = Comparison(
        metric="disparate_impact_stratified",
        group=table.groups[i],
        reference=table.groups[j],
        estimate=nan,
        std_error=nan,
        interval=Interval(0.0, float("inf"), level, settings.method),
        bounds=Interval(0.0, float("inf"), 2 * level - 1, settings.method),
        statistic=nan,
        pvalue=nan,
        pvalue_adjusted=nan,
        tests=(),
        verdict="insufficient evidence",
        rate=float(share[i]),
        rate_reference=float(share[j]),
        n=int(table.group_sizes[i]),
        n_reference=int(table.group_sizes[j]),
        method=settings.method,
    )
    both = (cells[:, i].sum(axis=1) > 0) & (cells[:, j].sum(axis=1) > 0)
    used = cells[both][:, [i, j]].astype(np.float64)
    k, n = used[..., 0], used.sum(axis=2)
    total = n.sum(axis=1)
    numerator, denominator = np.sum(k[:, 0] * n[:, 1] / total), np.sum(k[:, 1] * n[:, 0] / total)
    if not (numerator > 0 and denominator > 0):
        return replace(
            empty,
            note=f"{empty.group} and {empty.reference}: no stratum where both occur has a success in each.",
        )
    from statsmodels.stats.contingency_tables import StratifiedTable

    stratified = StratifiedTable(np.moveaxis(used, 0, -1))
    ratio = float(stratified.riskratio_pooled)
    successes = k.sum(axis=1)
    spread = np.sum((successes * n[:, 0] * n[:, 1] - k[:, 0] * k[:, 1] * total) / total**2)
    log_error = float(np.sqrt(spread / (numerator * denominator)))
    if log_error == 0:
        return replace(empty, note=f"{empty.group} and {empty.reference}: no failure in any stratum.")
    pooled = LogRatio(ratio, log_error, float("inf"))
    tests = _tests(pooled, stratified, k, n, settings.threshold, settings.method)
    chosen = next(t for t in tests if t.alternative == settings.alternative)
    bounds = Interval(*pooled.interval(2 * level - 1), 2 * level - 1, settings.method)
    interval = Interval(*pooled.interval(level), level, settings.method)
    if settings.alternative != "two-sided":
        less = settings.alternative == "less"
        interval = replace(
            interval, low=0.0 if less else bounds.low, high=bounds.high if less else float("inf")
        )
    return replace(
        empty,
        estimate=ratio,
        std_error=ratio * log_error,
        interval=interval,
        bounds=bounds,
        statistic=chosen.statistic,
        pvalue=chosen.pvalue,
        tests=tests,
        verdict=verdict(bounds, "ratio", settings.threshold),
    )


def _tests(
    pooled: LogRatio,
    stratified: Any,
    k: NDArray[np.float64],
    n: NDArray[np.float64],
    threshold: float,
    method: str,
) -> tuple[HypothesisTest, ...]:
    from scipy.special import chdtrc

    z, z_equal = pooled.statistic(threshold), pooled.statistic(1.0)
    tests = [
        HypothesisTest(f"ratio >= {threshold:g}", "less", z, normal_cdf(z), method),
        HypothesisTest(f"ratio <= {threshold:g}", "greater", z, normal_cdf(-z), method),
        HypothesisTest("ratio = 1", "two-sided", z_equal, two_sided_pvalue(z_equal), method),
    ]
    null = stratified.test_null_odds(correction=False)
    tests.append(
        HypothesisTest(
            "odds ratio = 1 in all strata",
            "any difference",
            float(null.statistic),
            float(null.pvalue),
            "Cochran–Mantel–Haenszel (statsmodels)",
        )
    )
    known = (k > 0).all(axis=1) & ((k < n).any(axis=1))
    df = int(known.sum()) - 1
    if df > 0:
        rate = k[known] / n[known]
        log_ratio = np.log(rate[:, 0] / rate[:, 1])
        weight = 1 / np.sum((1 - rate) / k[known], axis=1)
        mean = np.average(log_ratio, weights=weight)
        q = float(np.sum(weight * (log_ratio - mean) ** 2))
        tests.append(
            HypothesisTest(
                "one ratio in all strata",
                "heterogeneity",
                q,
                float(chdtrc(df, q)),
                "Cochran's Q",
            )
        )
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 inside statsmodels at an odds ratio of 1
        equal = stratified.test_equal_odds(adjust=True)
    if k.shape[0] > 1 and np.isfinite(equal.pvalue):
        tests.append(
            HypothesisTest(
                "one odds ratio in all strata",
                "heterogeneity",
                float(equal.statistic),
                float(equal.pvalue),
                "Breslow–Day with Tarone's adjustment (statsmodels)",
            )
        )
    return tuple(tests)
