"""Choosing models by error and fairness together, and ranking the rules that choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy

from fairstats.ground.checks import (
    Floats,
    check_confidence_level,
    check_flag,
    check_share,
    check_type,
)
from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.results import Comparison, HypothesisTest, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.rows import as_rows
from fairstats.plots.hfm import plot_ranks


def select_model(error: Any, fairness: Any, *, alpha: float = 0.05) -> int:
    """The model with the least α·error + (1 − α)·|fairness|.

    Parameters
    ----------
    error : array-like of float, shape (k,)
        Error rate of every model, or 1 − F1.
    fairness : array-like of float, shape (k,)
        Fairness measure of every model (HFM, DR, a difference); its absolute value counts; an
        infinite one is worst.
    alpha : float in [0, 1], default 0.05
        Weight of the error (the paper's 0.05; 0.1 with 1 − F1).

    Returns
    -------
    int
        Position of the model; the first of equals.

    Raises
    ------
    InputError
        For NaN, different lengths, or a weight outside [0, 1].

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.2.

    Examples
    --------
    >>> import fairstats as fs
    >>> fs.select_model([0.20, 0.25, 0.22], [0.3, -0.01, 0.02])
    1
    >>> fs.select_model([0.20, 0.25, 0.22], [0.3, -0.01, 0.02], alpha=1)
    0
    """
    errors, measures = (
        _one_per_model(model_values, argument_name)
        for model_values, argument_name in ((error, "error"), (fairness, "fairness"))
    )
    if errors.size != measures.size:
        received = f"{measures.size} values, {errors.size} errors"
        suggestion = "pass both for the same models"
        raise InputError("fairness", got=received, allowed="one value per model", cure=suggestion)
    alpha = check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
    if alpha < 1:
        weighted = np.abs(measures) * (1 - alpha)
    else:
        weighted = np.zeros(errors.size)
    return int(np.argmin(alpha * errors + weighted))


def _one_per_model(values: Any, argument: str) -> Floats:
    numbers = as_float_column(values, argument)
    if numbers.ndim != 1 or not numbers.size or np.isnan(numbers).any():
        raise InputError(
            argument, got="no values, or some that are no numbers", allowed="one number per model"
        )
    return numbers


@serialisable()
class RankingResult(Result):
    """Average ranks of several rules over data sets.

    Attributes
    ----------
    rules : tuple of str
    ranks : tuple of float
        Average rank of each, 1 the best; ties share their ranks.
    friedman : HypothesisTest
        Of "all rules perform alike".
    critical_difference, confidence_level : float
        Nemenyi: average ranks that differ by more differ significantly, at this level.
    pvalues : tuple of tuple of float
        Nemenyi's, of every pair.
    n : int
        Data sets.
    """

    title: ClassVar[str] = "Average ranks (Friedman, Nemenyi)"
    backend: ClassVar[str] = "scipy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "ranks that differ by more than .critical_difference differ",
        "std_error": "ranks that differ by more than .critical_difference differ",
        "verdict": "nothing is judged; .pvalues compares every pair of rules",
    }

    rules: tuple[str, ...]
    ranks: tuple[float, ...]
    friedman: HypothesisTest
    critical_difference: float
    pvalues: tuple[tuple[float, ...], ...]
    n: int
    confidence_level: float

    @property
    def estimate(self) -> Floats:
        """Average rank of each rule, in the order of `rules`."""
        return np.array(self.ranks)

    @property
    def statistic(self) -> float:
        """Of Friedman's test."""
        return self.friedman.statistic

    @property
    def pvalue(self) -> float:
        """Of Friedman's test."""
        return self.friedman.pvalue

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One per rule, best first."""
        test_fields: dict[str, Any] = {
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "method": self.friedman.method,
        }
        result = []
        for rule_index in np.argsort(self.ranks, kind="stable").tolist():
            result.append(
                Comparison(
                    metric="average_rank",
                    group=self.rules[rule_index],
                    estimate=self.ranks[rule_index],
                    n=self.n,
                    **test_fields,
                )
            )
        return tuple(result)

    def sentences(self) -> list[str]:
        """The rule that ranks first, and those that rank worse significantly."""
        best_rule = int(np.argmin(self.ranks))
        best_rank = min(self.ranks)
        behind = zip(self.rules, self.ranks, strict=True)
        worse_rules = []
        for rule, mean_rank in behind:
            if mean_rank - best_rank > self.critical_difference:
                worse_rules.append(rule)
        if worse_rules:
            ending = f"significantly before {', '.join(worse_rules)}"
        else:
            ending = "none significantly behind"
        return [f"{self.rules[best_rule]} ranks first on average ({best_rank:.3g}), {ending}."]

    def notes(self) -> list[str]:
        """The critical difference."""
        sentence = (
            f"Over {self.n} data sets; Friedman p = {self.pvalue:.4f}. Ranks that differ by more"
            " than "
        )
        level_words = f"{1 - self.confidence_level:.0%} level"
        return [f"{sentence}{self.critical_difference:.3f} differ at the {level_words} (Nemenyi)."]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Friedman chart: average ranks with the critical difference (the paper's figure 2a)."""
        return plot_ranks(self, ax=ax)


def rank_rules(
    scores: Any,
    *,
    rules: Sequence[str] | None = None,
    larger_is_better: bool = True,
    confidence_level: float = 0.95,
) -> RankingResult:
    """Average ranks of rules over data sets, with Friedman's test and Nemenyi's critical
    difference.

    Over few data sets the test is conservative: ranks take few values.

    Parameters
    ----------
    scores : data frame or array, shape (N, k)
        Performance; one row per data set, one column per rule.
    rules : sequence of str, optional
        Names; default the columns of the frame.
    larger_is_better : bool, default True
        True for accuracy, False for DR.
    confidence_level : float, default 0.95

    Returns
    -------
    RankingResult

    Raises
    ------
    InputError
        For NaN, fewer than three rules or two data sets.

    References
    ----------
    .. [1] Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, JMLR
       7.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.rank_rules([[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.9, 0.6, 0.5]], rules=["a", "b", "c"])
    >>> [round(rank, 3) for rank in result.ranks]
    [1.0, 2.333, 2.667]
    >>> round(result.critical_difference, 3)
    1.914
    """
    confidence = check_confidence_level(confidence_level)
    score_rows = as_rows(scores, "scores")
    n_data_sets, n_rules = score_rows.values.shape
    if n_data_sets < 2 or n_rules < 3:
        received = f"{n_data_sets} data sets and {n_rules} rules"
        allowed = "two data sets or more, three rules or more"
        raise InputError("scores", got=received, allowed=allowed)
    rule_names = score_rows.columns or tuple(
        f"rule {column_number + 1}" for column_number in range(n_rules)
    )
    if rules is not None:
        check_type(
            "rules", rules, (list, tuple, np.ndarray), f"a list of {n_rules} names", "leave it out"
        )
        rule_names = tuple(map(str, np.ravel(np.asarray(rules, dtype=object))))
    if len(rule_names) != n_rules:
        raise InputError(
            "rules", got=f"{len(rule_names)} names", allowed=f"one per column of scores: {n_rules}"
        )
    check_flag("larger_is_better", larger_is_better)
    if larger_is_better:
        values = -score_rows.values
    else:
        values = score_rows.values
    mean_ranks = scipy.stats.rankdata(values, axis=1).mean(axis=0)
    all_alike = (np.ptp(values, axis=1) == 0).all()
    statistic, pvalue = (
        (0.0, 1.0) if all_alike else map(float, scipy.stats.friedmanchisquare(*values.T))
    )
    std_error = np.sqrt(n_rules * (n_rules + 1) / (6 * n_data_sets))
    critical = float(
        scipy.stats.studentized_range.ppf(confidence, n_rules, np.inf) / np.sqrt(2) * std_error
    )
    studentized = np.abs(mean_ranks[:, None] - mean_ranks) / std_error * np.sqrt(2)
    pair_pvalues = np.where(
        studentized == 0, 1.0, scipy.stats.studentized_range.sf(studentized, n_rules, np.inf)
    )
    friedman = HypothesisTest(
        null="all rules perform alike",
        alternative="two-sided",
        statistic=statistic,
        pvalue=pvalue,
        method="Friedman",
    )
    pvalues = tuple(tuple(pvalue_row) for pvalue_row in pair_pvalues.tolist())
    return RankingResult(
        rules=rule_names,
        ranks=tuple(mean_ranks.tolist()),
        friedman=friedman,
        critical_difference=critical,
        pvalues=pvalues,
        n=n_data_sets,
        confidence_level=confidence,
    )
