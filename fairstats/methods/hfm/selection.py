"""Choosing models by error and fairness together, and ranking the rules that choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy

from fairstats.ground.checks import Floats, check_confidence_level, check_flag, check_share, check_type
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
        Fairness measure of every model (HFM, DR, a difference); its absolute value counts; an infinite one is worst.
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
    errors, measures = (_vector(v, name) for v, name in ((error, "error"), (fairness, "fairness")))
    if errors.size != measures.size:
        got, cure = f"{measures.size} values, {errors.size} errors", "pass both for the same models"
        raise InputError("fairness", got=got, allowed="one value per model", cure=cure)
    alpha = check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
    weighted = np.abs(measures) * (1 - alpha) if alpha < 1 else np.zeros(errors.size)
    return int(np.argmin(alpha * errors + weighted))


def _vector(values: Any, argument: str) -> Floats:
    found = as_float_column(values, argument)
    if found.ndim != 1 or not found.size or np.isnan(found).any():
        raise InputError(argument, got="no values, or some that are no numbers", allowed="one number per model")
    return found


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
        test: dict[str, Any] = {"statistic": self.statistic, "pvalue": self.pvalue, "method": self.friedman.method}
        return tuple(
            Comparison(metric="average_rank", group=self.rules[k], estimate=self.ranks[k], n=self.n, **test)
            for k in np.argsort(self.ranks, kind="stable").tolist()
        )

    def sentences(self) -> list[str]:
        """The rule that ranks first, and those that rank worse significantly."""
        best, least = int(np.argmin(self.ranks)), min(self.ranks)
        behind = zip(self.rules, self.ranks, strict=True)
        worse = [rule for rule, rank in behind if rank - least > self.critical_difference]
        tail = f"significantly before {', '.join(worse)}" if worse else "none significantly behind"
        return [f"{self.rules[best]} ranks first on average ({least:.3g}), {tail}."]

    def notes(self) -> list[str]:
        """The critical difference."""
        text = f"Over {self.n} data sets; Friedman p = {self.pvalue:.4f}. Ranks that differ by more than "
        level = f"{1 - self.confidence_level:.0%} level"
        return [f"{text}{self.critical_difference:.3f} differ at the {level} (Nemenyi)."]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Friedman chart: average ranks with the critical difference (the paper's figure 2a)."""
        return plot_ranks(self, ax=ax)


def rank_rules(
    scores: Any, *, rules: Sequence[str] | None = None, larger_is_better: bool = True, confidence_level: float = 0.95
) -> RankingResult:
    """Average ranks of rules over data sets, with Friedman's test and Nemenyi's critical difference.

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
    .. [1] Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.rank_rules([[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.9, 0.6, 0.5]], rules=["a", "b", "c"])
    >>> [round(rank, 3) for rank in result.ranks]
    [1.0, 2.333, 2.667]
    >>> round(result.critical_difference, 3)
    1.914
    """
    level = check_confidence_level(confidence_level)
    table = as_rows(scores, "scores")
    n, k = table.values.shape
    if n < 2 or k < 3:
        got, allowed = f"{n} data sets and {k} rules", "two data sets or more, three rules or more"
        raise InputError("scores", got=got, allowed=allowed)
    names = table.columns or tuple(f"rule {j + 1}" for j in range(k))
    if rules is not None:
        check_type("rules", rules, (list, tuple, np.ndarray), f"a list of {k} names", "leave it out")
        names = tuple(map(str, np.ravel(np.asarray(rules, dtype=object))))
    if len(names) != k:
        raise InputError("rules", got=f"{len(names)} names", allowed=f"one per column of scores: {k}")
    check_flag("larger_is_better", larger_is_better)
    values = -table.values if larger_is_better else table.values
    ranks = scipy.stats.rankdata(values, axis=1).mean(axis=0)
    alike = (np.ptp(values, axis=1) == 0).all()
    statistic, pvalue = (0.0, 1.0) if alike else map(float, scipy.stats.friedmanchisquare(*values.T))
    std_error = np.sqrt(k * (k + 1) / (6 * n))
    critical = float(scipy.stats.studentized_range.ppf(level, k, np.inf) / np.sqrt(2) * std_error)
    apart = np.abs(ranks[:, None] - ranks) / std_error * np.sqrt(2)
    pairs = np.where(apart == 0, 1.0, scipy.stats.studentized_range.sf(apart, k, np.inf))
    friedman = HypothesisTest("all rules perform alike", "two-sided", statistic, pvalue, "Friedman")
    pvalues = tuple(tuple(row) for row in pairs.tolist())
    return RankingResult(names, tuple(ranks.tolist()), friedman, critical, pvalues, n, level)
