"""Differences of rates between groups, with fairlearn's signature: signed, or the largest gap."""

from __future__ import annotations

from typing import Any, Unpack

from fairstats.methods.rates.compare import run
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import DifferenceResult
from fairstats.methods.rates.setup import DIFFERENCE, DifferenceOptions, OddsOptions, documented


@documented(DIFFERENCE)
def demographic_parity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Demographic parity difference: P(ŷ=1 | S=s) − P(ŷ=1 | S=reference).

    Also known as statistical parity difference, SPD (the HFM and ECD papers), and DP (Uncertainty Matters).

    Parameters
    ----------
    y_true : array-like, shape (n,), or None
        Not used; there for the signature that all differences share with fairlearn.

    References
    ----------
    .. [1] Agresti, Min (2005). Frequentist performance of Bayesian confidence intervals for comparing
       proportions. Biometrics 61, 515–523.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"Male": (6395, 13798), "Female": (1112, 8520)}
    >>> result = fs.demographic_parity_difference(counts=counts)
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    -0.2012 [-0.2102, -0.1921] violated
    """
    return run("demographic_parity_difference", y_true=y_true, y_pred=y_pred, **options)


@documented(DIFFERENCE)
def equal_opportunity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Equal opportunity difference: TPR of each group − TPR of the reference.

    Also known as EOp (Uncertainty Matters) and EO (HFM); the ECD paper's undefined "EOD" is often this.

    References
    ----------
    .. [1] Hardt, Price, Srebro (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.equal_opportunity_difference(counts=counts, reference='a').estimate:.2f}")
    -0.20
    """
    return run("equal_opportunity_difference", y_true=y_true, y_pred=y_pred, **options)


@documented(DIFFERENCE)
def predictive_parity_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Predictive parity difference: PPV (precision) of each group − PPV of the reference.

    Also known as PP (Uncertainty Matters) and PQP, predictive quality parity (HFM).

    References
    ----------
    .. [1] Chouldechova (2017). Fair prediction with disparate impact. Big Data 5, 153–163.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.predictive_parity_difference(counts=counts, reference='a').estimate:.2f}")
    -0.05
    """
    return run("predictive_parity_difference", y_true=y_true, y_pred=y_pred, **options)


@documented(DIFFERENCE)
def average_odds_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[OddsOptions]
) -> DifferenceResult | MaximumResult:
    """Average odds difference, AOD: mean of the differences of TPR and of FPR against the reference.

    Parameters
    ----------
    method : {None, "delta", "score", "mee"}
        ``"delta"``: the delta method, closed because AOD is linear in the rates. ``"score"``: MOVER from the
        score intervals of the two differences (Zou & Donner 2008). Default: score.

    References
    ----------
    .. [1] Bellamy et al. (2019). AI Fairness 360. IBM J. Res. Dev. 63.
    .. [2] Zou, Donner (2008). Construction of confidence limits about effect measures. Stat. Med. 27.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> print(f"{fs.average_odds_difference(counts=counts, reference='a').estimate:.2f}")
    -0.10
    """
    return run("average_odds_difference", y_true=y_true, y_pred=y_pred, **options)


@documented(DIFFERENCE)
def equalized_odds_difference(
    y_true: Any = None, y_pred: Any = None, **options: Unpack[DifferenceOptions]
) -> DifferenceResult | MaximumResult:
    """Equalised odds: differences of TPR and of FPR against the reference, or the largest of them.

    Parameters
    ----------
    agg : {None, "max"}, default None
        None: one row per group for TPR and one for FPR, adjusted as one family. ``"max"``: the largest gap
        of either rate between any two groups, which is fairlearn's value, with an interval for it.

    References
    ----------
    .. [1] Hardt, Price, Srebro (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.equalized_odds_difference(counts=counts, agg="max")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.2f} [{low:.2f}, {high:.2f}]")
    0.20 [0.00, 0.39]
    """
    return run("equalized_odds_difference", y_true=y_true, y_pred=y_pred, **options)
