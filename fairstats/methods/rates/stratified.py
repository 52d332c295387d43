"""Disparate impact adjusted for a confounder: Mantel–Haenszel ratio over strata, homogeneity tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from fairstats.ground.checks import Floats
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.results import HypothesisTest
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.compare import answered, limits_and_evidence
from fairstats.methods.rates.decision import directed_tests
from fairstats.methods.rates.limits import LogRatio
from fairstats.methods.rates.pair import Chosen
from fairstats.methods.rates.result import Inference, RateComparison, RatioResult, as_family, warned
from fairstats.methods.rates.setup import RATIO, Shared, check_groups, documented, make_settings, rows_among

_METRIC = "disparate_impact_stratified"


@serialisable(eq=False)
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
        tests = [(c.group, t) for c in self.comparisons for t in c.tests if t.alternative == "heterogeneity"]
        for group, test in tests:
            end = " — one ratio does not describe all strata." if test.pvalue < 0.05 else "."
            lines.append(f"{group}: {test.method}, H0 {test.null}: p = {test.pvalue:.3g}{end}")
        return lines


@documented(RATIO)
def stratified_ratio(
    y_pred: Any = None,
    *,
    strata: Any = None,
    counts: Tally | None = None,
    threshold: float = 0.8,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    **options: Unpack[Shared],
) -> StratifiedRatioResult:
    """Mantel–Haenszel ratio of selection rates over strata of a confounder.

    Parameters
    ----------
    strata : array-like, shape (n,)
        Stratum of each row, e.g. a department or a risk class.
    counts : Tally, optional
        Made with ``strata=``; instead of the columns.

    Returns
    -------
    StratifiedRatioResult
        One comparison per group with the common ratio; `tests()` adds the Cochran–Mantel–Haenszel test and
        two homogeneity tests.

    Warns
    -----
    InsufficientEvidenceWarning
        Where no stratum holds both groups and a success.

    Notes
    -----
    T = Σ k₀n₁/N / Σ k₁n₀/N over strata with both groups (statsmodels' `StratifiedTable.riskratio_pooled`), Var(log T)
    of [1]_. Homogeneity of ratios: Cochran's Q of the stratum log ratios with inverse variances, over strata without an
    empty cell of successes; of odds ratios: Breslow–Day with Tarone's adjustment.

    References
    ----------
    .. [1] Greenland, Robins (1985). Estimation of a common effect parameter from sparse follow-up data. Biometrics 41.

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
    settings = make_settings("ratio", {"threshold": threshold, "alternative": alternative, **options})
    rows = {"y_pred": y_pred, "sensitive_features": options["sensitive_features"], "strata": strata}
    if counts_or_rows(counts, needs="y_pred, strata", **rows):
        if not isinstance(counts, Tally):
            got = f"a {type(counts).__name__}"
            raise InputError("counts", got=got, allowed="a Tally", cure="fs.tally(…, strata=)")
        (cells, names, _), table = counts.strata(), counts.selection()
        if table.weighted:
            got, allowed = "a tally of weighted or clustered rows", "independent rows of equal weight"
            raise InputError("counts", got=got, allowed=allowed, cure="tally without them")
    else:
        outcomes = Outcomes.from_arrays(None, y_pred, strata=strata, **rows_among(options))
        table = SelectionCounts.from_outcomes(outcomes)
        cells, names = _stratum_cells(outcomes)
    check_groups(table.groups)
    index, rule = find_reference(table.groups, options["reference"], sizes=table.group_sizes)
    settings = replace(settings, method="log (Mantel–Haenszel)", reference_rule=rule)
    others = [g for g in range(len(table.groups)) if g != index]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = table.totals[:, 0] / table.totals.sum(axis=1)
        crude = tuple(float(share[g] / share[index]) for g in others)
    pooled = [_pooled(cells, table, g, index, settings) for g in others]
    result = StratifiedRatioResult(
        _METRIC, as_family(pooled, settings), settings, table, "Disparate impact within strata (Mantel–Haenszel)",
        "statsmodels", names, cells, crude,
    )  # fmt: skip
    return warned(result, _METRIC)


def _stratum_cells(outcomes: Outcomes) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Selected and not selected per stratum and group, shape (H, G, 2)."""
    if outcomes.strata is None or outcomes.y_pred is None:
        raise InputError("strata", got="None", allowed="one value per row", cure="pass strata")
    levels = outcomes.strata.levels
    n_strata, n_groups = len(levels), len(outcomes.groups.labels)
    code = (outcomes.strata.codes.astype(np.intp) * n_groups + outcomes.groups.codes) * 2 + 1 - outcomes.y_pred
    cells = np.bincount(code, minlength=n_strata * n_groups * 2).reshape(n_strata, n_groups, 2)
    names = [label_text(level) for level in levels]
    keys: Any = levels if all(isinstance(level, (int, float)) for level in levels) else names
    order = sorted(range(n_strata), key=keys.__getitem__)
    return cells[order], tuple(names[h] for h in order)


def _pooled(
    cells: NDArray[np.int64], table: SelectionCounts, i: int, j: int, settings: Inference
) -> tuple[RateComparison, Evidence]:
    share = table.totals[:, 0] / np.maximum(table.totals.sum(axis=1), 1)
    known = table.groups, share, table.group_sizes
    empty = RateComparison.unknown(_METRIC, settings, (i, j), *known, (0.0, float("inf")))
    both = (cells[:, i].sum(axis=1) > 0) & (cells[:, j].sum(axis=1) > 0)
    used = cells[both][:, [i, j]].astype(np.float64)
    k, n = used[..., 0], used.sum(axis=2)
    total = n.sum(axis=1)
    numerator, denominator = np.sum(k[:, 0] * n[:, 1] / total), np.sum(k[:, 1] * n[:, 0] / total)
    if not (numerator > 0 and denominator > 0):
        note = f"{empty.group} and {empty.reference}: no stratum where both occur has a success in each."
        return replace(empty, note=note), Evidence()
    spread = np.sum((k.sum(axis=1) * n[:, 0] * n[:, 1] - k[:, 0] * k[:, 1] * total) / total**2)
    log_error = float(np.sqrt(spread / (numerator * denominator)))
    if log_error == 0:
        return replace(empty, note=f"{empty.group} and {empty.reference}: no failure in any stratum."), Evidence()
    from statsmodels.stats.contingency_tables import StratifiedTable

    stratified = StratifiedTable(np.moveaxis(used, 0, -1))
    ratio, level = float(stratified.riskratio_pooled), settings.confidence_level
    by = Chosen(LogRatio(float("inf"), ratio, log_error), settings.method)
    bounds, evidence = limits_and_evidence(by, "ratio", settings)
    tests = [*directed_tests(by, "ratio", settings), *_tests_of_strata(stratified, k, n)]
    pooled = replace(empty, estimate=ratio, std_error=ratio * log_error, bounds=bounds)
    return answered(pooled, by, "ratio", settings, tests, (level, 2 * level - 1)), evidence


def _tests_of_strata(stratified: Any, k: Floats, n: Floats) -> list[HypothesisTest]:
    """Cochran–Mantel–Haenszel, and homogeneity of ratios and of odds ratios."""
    null, name = stratified.test_null_odds(correction=False), "Cochran–Mantel–Haenszel (statsmodels)"
    found = float(null.statistic), float(null.pvalue)
    tests = [HypothesisTest("odds ratio = 1 in all strata", "any difference", *found, name)]
    known = (k > 0).all(axis=1) & ((k < n).any(axis=1))
    df = int(known.sum()) - 1
    if df > 0:
        rate = k[known] / n[known]
        log_ratio = np.log(rate[:, 0] / rate[:, 1])
        weight = 1 / np.sum((1 - rate) / k[known], axis=1)
        q = float(np.sum(weight * (log_ratio - np.average(log_ratio, weights=weight)) ** 2))
        found = q, float(chdtrc(df, q))
        tests.append(HypothesisTest("one ratio in all strata", "heterogeneity", *found, "Cochran's Q"))
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 inside statsmodels at an odds ratio of 1
        equal = stratified.test_equal_odds(adjust=True)
    if k.shape[0] > 1 and np.isfinite(equal.pvalue):
        name = "Breslow–Day with Tarone's adjustment (statsmodels)"
        found = float(equal.statistic), float(equal.pvalue)
        tests.append(HypothesisTest("one odds ratio in all strata", "heterogeneity", *found, name))
    return tests
