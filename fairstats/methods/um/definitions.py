"""Metrics as functions of count arrays, per group and between groups.

A count array has the shape (draws, G, 4) with the last axis (tp, tn, fp, fn). 0/0 is NaN here; the result
reports the share of such draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CONTRASTS", "FAIRNESS", "RATES", "Metric", "metric_names", "parse_metric"]


def _divide(numerator: Any, denominator: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.full(shape, np.nan), where=denominator > 0)


def _mcc(tp: Any, tn: Any, fp: Any, fn: Any) -> Any:
    spread = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return _divide(tp * tn - fp * fn, spread)


@dataclass(frozen=True)
class Rate:
    """A metric of one confusion matrix.

    Attributes
    ----------
    title : str
    of : callable
        (tp, tn, fp, fn) → value.
    low, high : float
        Range.
    better : {1, -1, 0}
        Whether larger is better, worse, or neither.
    """

    title: str
    of: Callable[[Any, Any, Any, Any], Any]
    low: float = 0.0
    high: float = 1.0
    better: int = 1


RATES: dict[str, Rate] = {
    "accuracy": Rate("accuracy", lambda tp, tn, fp, fn: _divide(tp + tn, tp + tn + fp + fn)),
    "balanced_accuracy": Rate(
        "balanced accuracy", lambda tp, tn, fp, fn: (_divide(tp, tp + fn) + _divide(tn, tn + fp)) / 2
    ),
    "f1": Rate("F1", lambda tp, tn, fp, fn: _divide(2 * tp, 2 * tp + fp + fn)),
    "tpr": Rate("true positive rate", lambda tp, tn, fp, fn: _divide(tp, tp + fn)),
    "tnr": Rate("true negative rate", lambda tp, tn, fp, fn: _divide(tn, tn + fp)),
    "fpr": Rate("false positive rate", lambda tp, tn, fp, fn: _divide(fp, tn + fp), better=-1),
    "fnr": Rate("false negative rate", lambda tp, tn, fp, fn: _divide(fn, tp + fn), better=-1),
    "ppv": Rate("positive predictive value", lambda tp, tn, fp, fn: _divide(tp, tp + fp)),
    "npv": Rate("negative predictive value", lambda tp, tn, fp, fn: _divide(tn, tn + fn)),
    "selection_rate": Rate(
        "selection rate", lambda tp, tn, fp, fn: _divide(tp + fp, tp + tn + fp + fn), better=0
    ),
    "base_rate": Rate("base rate", lambda tp, tn, fp, fn: _divide(tp + fn, tp + tn + fp + fn), better=0),
    "mcc": Rate("Matthews correlation", _mcc, low=-1.0),
    "error_ratio": Rate(
        "false negatives per false positive", lambda tp, tn, fp, fn: _divide(fn, fp), high=np.inf, better=0
    ),
}

#: Fairness metric → (title, the rates that it compares, short name in events).
FAIRNESS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "demographic_parity": ("demographic parity", ("selection_rate",), "DP"),
    "equal_opportunity": ("equal opportunity", ("tpr",), "EOp"),
    "predictive_equality": ("predictive equality", ("fpr",), "PE"),
    "predictive_parity": ("predictive parity", ("ppv",), "PP"),
    "equalized_odds": ("equalized odds", ("tpr", "fpr"), "EO"),
    "treatment_equality": ("treatment equality", ("error_ratio",), "TE"),
}

CONTRASTS = ("difference", "absolute", "ratio", "max")
_SHORT = {"accuracy": "acc", "balanced_accuracy": "bacc"}


@dataclass(frozen=True)
class Metric:
    """A metric by name: of all rows, or a contrast between groups.

    Attributes
    ----------
    name : str
        As asked for.
    title : str
        In words.
    short : str
        In names of events.
    rates : tuple of str
        Keys of `RATES`; two for equalized odds.
    contrast : {None, "difference", "absolute", "ratio", "max"}
        None: of all rows together. "difference": group − reference. "max": the largest gap between any two
        groups, over both rates for equalized odds.
    """

    name: str
    title: str
    short: str
    rates: tuple[str, ...]
    contrast: str | None

    @property
    def between_groups(self) -> bool:
        """Whether it compares groups."""
        return self.contrast is not None

    @property
    def support(self) -> tuple[float, float]:
        """Range of the values."""
        rate = RATES[self.rates[0]]
        if self.contrast is None:
            return rate.low, rate.high
        width = rate.high - rate.low
        return {
            "difference": (-width, width),
            "absolute": (0.0, width),
            "max": (0.0, width),
            "ratio": (-np.inf if rate.low < 0 else 0.0, np.inf),
        }[self.contrast]

    def by_group(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value of every group, shape (draws, G), or (draws, G, 2) for equalized odds."""
        values = [RATES[rate].of(*np.moveaxis(counts, -1, 0)) for rate in self.rates]
        return np.asarray(values[0] if len(values) == 1 else np.stack(values, axis=-1))

    def values(self, counts: NDArray[np.float64], reference: int) -> NDArray[np.float64]:
        """Draws of the metric.

        Parameters
        ----------
        counts : ndarray, shape (draws, G, 4)
        reference : int
            Position of the reference group.

        Returns
        -------
        ndarray
            (draws,) for a metric of all rows and for "max"; otherwise (draws, G − 1), groups in order without
            the reference, with a last axis of 2 for equalized odds.
        """
        if self.contrast is None:
            return self.by_group(counts.sum(axis=-2, keepdims=True))[:, 0]
        if self.contrast == "max":
            gaps = []
            for rate in self.rates:
                values = RATES[rate].of(*np.moveaxis(counts, -1, 0))
                gaps.append(values.max(axis=1) - values.min(axis=1))
            return np.asarray(gaps[0] if len(gaps) == 1 else np.maximum(*gaps))
        rates = self.by_group(counts)
        others = [g for g in range(rates.shape[1]) if g != reference]
        base, rest = rates[:, [reference]], rates[:, others]
        if self.contrast == "ratio":
            return np.asarray(_divide(rest, base))
        gap = rest - base
        return np.abs(gap) if self.contrast == "absolute" else np.asarray(gap)

    def objective(self, counts: NDArray[np.float64], reference: int) -> NDArray[np.float64]:
        """Draws of the metric oriented so that larger is better, shape (draws,).

        A fairness metric is minus the size of the largest gap: between any two groups by its plain name or
        with "max", against the reference with "difference" and "absolute"; with "ratio", minus the largest
        absolute log ratio against the reference.
        """
        if self.contrast is None:
            return RATES[self.rates[0]].better * self.values(counts, reference)
        values = self.values(counts, reference)
        if self.contrast == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values)
        size = np.abs(values).reshape(len(values), -1).max(axis=1)
        return np.asarray(-size)


def metric_names() -> list[str]:
    """Every plain name that `parse_metric` takes."""
    return [*RATES, *FAIRNESS]


def parse_metric(name: Any, *, argument: str = "metric", default: str = "difference") -> Metric:
    """The metric of a name: one of `RATES` or `FAIRNESS`, with a contrast as ending or without.

    Parameters
    ----------
    name : str
        "accuracy", "equal_opportunity", "tpr_ratio", "demographic_parity_max", …
    argument : str
        For the error.
    default : str
        Contrast of a fairness metric without an ending.

    Raises
    ------
    InputError
        For an unknown name.
    """
    base, contrast = name, None
    if isinstance(name, str):
        for ending in CONTRASTS:
            if name.endswith("_" + ending) and name not in RATES:
                base, contrast = name[: -len(ending) - 1], ending
    if isinstance(base, str) and base in FAIRNESS:
        title, rates, short = FAIRNESS[base]
        contrast = contrast or default
        return Metric(name, f"{title}, {_WORDS[contrast]}", short, rates, contrast)
    if isinstance(base, str) and base in RATES:
        title = RATES[base].title if contrast is None else f"{RATES[base].title}, {_WORDS[contrast]}"
        return Metric(name, title, _SHORT.get(base, base), (base,), contrast)
    raise InputError(
        argument,
        got=repr(name),
        allowed="a function of the counts, or one of "
        + ", ".join(metric_names())
        + "; those that compare groups may end in "
        + ", ".join("_" + c for c in CONTRASTS),
        cure="'accuracy' or 'equal_opportunity_max', say",
    )


_WORDS = {
    "difference": "signed difference",
    "absolute": "absolute difference",
    "ratio": "ratio",
    "max": "largest gap",
}
