"""Ratios of rates between groups (Besse et al. 2018): disparate impact, conditional (use) accuracy."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from fairstats.ground.checks import check_choice
from fairstats.methods.rates.compare import run
from fairstats.methods.rates.result import RatioResult
from fairstats.methods.rates.setup import RATIO, RatioOptions, documented


@documented(RATIO)
def disparate_impact(y_pred: Any = None, **options: Unpack[RatioOptions]) -> RatioResult:
    """Disparate impact: the ratio of selection rates P(ŷ=1 | S=s) / P(ŷ=1 | S=reference).

    The ratio T_n of Besse et al. (2018), section 3, with interval, tests against the four-fifths rule, and a
    three-way verdict. Passing labels in place of predictions gives the disparate impact of the data.

    Returns
    -------
    RatioResult
        `estimate`, `confidence_interval`, `pvalue`, `verdict`, `tests()`, `to_frame()`, `plot()`.

    Notes
    -----
    σ²/n of Theorem 3.1 is T²·[(1−r₀)/k₀ + (1−r₁)/k₁]. The rule below the theorem prints "P(…) ≥ α" for the
    rejection at √n(T_n − β)/σ ≥ z_{1−α}; read ≤ α.

    References
    ----------
    .. [1] Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate impact in
       fair learning. arXiv:1807.06362.
    .. [2] Miettinen, Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4, 213–226.

    Examples
    --------
    The disparate impact of sex in the Adult data (Besse et al., section 4: 0.36 in [0.34, 0.39]):

    >>> import fairstats as fs
    >>> result = fs.disparate_impact(counts={"Male": (6395, 13798), "Female": (1112, 8520)}, method="delta")
    >>> low, high = result.confidence_interval
    >>> print(f"{result.estimate:.4f} [{low:.4f}, {high:.4f}] {result.verdict}")
    0.3645 [0.3431, 0.3860] violated
    """
    return run("disparate_impact", y_pred=y_pred, **options)


@documented(RATIO)
def conditional_accuracy(
    y_true: Any = None, y_pred: Any = None, *, label: Literal[0, 1] = 1, **options: Unpack[RatioOptions]
) -> RatioResult:
    """Conditional procedure accuracy: ratio of P(ŷ=label | Y=label, S=s) between groups.

    CA₁ (label 1) compares true positive rates, CA₀ (label 0) true negative rates; Theorem 3.2 of Besse et al.
    (2018). The usual names are TPR ratio and TNR ratio.

    Parameters
    ----------
    label : {1, 0}, default 1
        Which label to condition on: 1 the favourable, 0 the other.

    Notes
    -----
    Misprints settled: the definitions in section 2 divide a conditional probability again by a joint one; the
    estimator R_n and the meaning are the plain ratio of rates. R_n's denominator prints 1{g=1}1{g=1}; read
    1{g=1}1{Y=1}. In Σ₄ of Theorems 3.2 and 3.3 the entries (4,1) and (2,1) print +p₀r₁ and −p₀r₁; right are
    −p₀r₁ and −p₀p₁. As printed σ² is too large by 4T².

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.2.

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.conditional_accuracy(counts={"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}, reference="a")
    >>> print(f"{result.estimate:.2f} {result.verdict}")
    0.75 undecided
    """
    check_choice("label", label, (0, 1))
    return run(f"conditional_accuracy_{int(label)}", y_true=y_true, y_pred=y_pred, **options)


@documented(RATIO)
def conditional_use_accuracy(
    y_true: Any = None, y_pred: Any = None, *, prediction: Literal[0, 1] = 1, **options: Unpack[RatioOptions]
) -> RatioResult:
    """Conditional use accuracy: ratio of P(Y=prediction | ŷ=prediction, S=s) between groups.

    CU₁ (prediction 1) compares positive predictive values, CU₀ (prediction 0) negative predictive values;
    Theorem 3.3 of Besse et al. (2018). The usual names are PPV ratio (precision ratio) and NPV ratio.

    Parameters
    ----------
    prediction : {1, 0}, default 1
        Which prediction to condition on.

    Notes
    -----
    The misprints of the paper are those that `conditional_accuracy` names; p_s = P(ŷ=1, Y=1, S=s) and
    r_s = P(ŷ=1, S=s) here.

    References
    ----------
    .. [1] Besse et al. (2018), section 2 and Theorem 3.3.

    Examples
    --------
    >>> import fairstats as fs
    >>> counts = {"a": (40, 10, 10, 40), "b": (30, 10, 20, 40)}
    >>> result = fs.conditional_use_accuracy(counts=counts, reference="a")
    >>> print(f"{result.estimate:.4f}")
    0.9375
    """
    check_choice("prediction", prediction, (0, 1))
    return run(f"conditional_use_accuracy_{int(prediction)}", y_true=y_true, y_pred=y_pred, **options)
