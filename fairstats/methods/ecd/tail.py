"""The tail of one group: threshold, fit, return levels, type, horizon — or why there is none to fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import DataWarning
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.empirical import empirical_return_level
from fairstats.numerics.evt.fit import fit_gpd, fit_point_process
from fairstats.numerics.evt.tails import TailType, tail_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.ecd.sample import GroupSample
    from fairstats.methods.ecd.settings import EcdSettings
    from fairstats.numerics.evt.result import EvtFit

    Floats = NDArray[np.float64]

__all__ = ["GroupLevel", "GroupTail", "group_tail"]

#: CD is a difference of two probabilities.
BOUND = 1.0
#: Fewer exceedances than this are no tail.
LEAST = 10
#: With a threshold lowered for m, so many exceedances are expected in m interactions: at m·λ = 1 exactly the
#: level is the threshold itself.
_REACH = 1.2
#: Exceedances that are more than this share of the values are called hardly a tail.
_LARGEST_SHARE = 0.25
#: Values closer than this are one value.
_TIE = 1e-12


@serialisable
@dataclass(frozen=True)
class GroupLevel:
    """A return level of one group.

    Attributes
    ----------
    interactions : float
        m: the level is the 1 − 1/m quantile of CD, exceeded in m interactions with probability about 63%.
    estimate, std_error : float
        The standard error is the delta method's, for display; NaN where there is none.
    interval : Interval
        Likelihood interval with the rate estimated, or binomial for an empirical quantile.
    empirical : bool
        Whether the level is an order statistic, and no model is behind it.
    beyond_bound : bool
        Whether the model's level exceeds 1, which CD cannot: an order statistic stands in.
    """

    interactions: float
    estimate: float
    std_error: float
    interval: Interval
    empirical: bool
    beyond_bound: bool


@serialisable
@dataclass(frozen=True, eq=False)
class GroupTail:
    """The tail of counterfactual discrimination in one group.

    Attributes
    ----------
    group : str
    n_real, n_synthetic, n_people : int
    threshold : float
        The (k + 1)-th largest CD; NaN where there are too few values.
    n_exceedances : int
        Values above the threshold: k, or fewer where values are tied with it.
    rate : float
        λ: exceedances per interaction.
    maximum : float
    level : GroupLevel
        At the common number of interactions.
    levels : tuple of GroupLevel
        At the other numbers asked for.
    fit : EvtFit or None
        None where the tail is degenerate.
    type : TailType or None
        With the interval of ξ and the horizon.
    goodness_pvalue : float
        Anderson–Darling with parametric bootstrap; NaN where not computed.
    endpoint : Interval or None
        Likelihood interval of the end point, for ξ < 0.
    degenerate : str
        Why there is no fit; empty where there is one.
    notes : tuple of str
    """

    group: str
    n_real: int
    n_synthetic: int
    n_people: int
    threshold: float
    n_exceedances: int
    rate: float
    maximum: float
    level: GroupLevel
    levels: tuple[GroupLevel, ...]
    fit: EvtFit | None
    type: TailType | None
    goodness_pvalue: float
    endpoint: Interval | None
    degenerate: str
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Values of CD."""
        return self.n_real + self.n_synthetic


def group_tail(name: str, sample: GroupSample, settings: EcdSettings, rng: np.random.Generator) -> GroupTail:
    """Fit the tail of one group.

    Parameters
    ----------
    name : str
    sample : GroupSample
    settings : EcdSettings
    rng : Generator
        For the goodness of fit.
    """
    cd = sample.values()
    k, notes = _exceedances(cd.size, settings)
    threshold = _threshold(cd, name, k, settings)
    above = cd[cd > threshold] if np.isfinite(threshold) else cd[:0]
    degenerate = _degenerate(cd, above, threshold)
    fit = None
    if not degenerate:
        fit = _fit(cd, threshold, settings)
        if fit.at_boundary:
            degenerate, fit = (
                "its end point is reached: the likelihood has no maximum with a shape above −1",
                None,
            )
    rate = above.size / cd.size if cd.size else float("nan")
    level = _level(cd, fit, float(settings.interactions), settings)
    others = tuple(_level(cd, fit, float(m), settings) for m in settings.other_interactions)
    if fit is not None and fit.n_exceedances < k:
        notes.append(f"{k - fit.n_exceedances} values are tied with the threshold.")
    if level.beyond_bound:
        notes.append(
            "The model's level lies beyond the bound of 1: the model cannot hold so far out, and an order "
            "statistic stands in."
        )
    if above.size > _LARGEST_SHARE * cd.size:
        notes.append(f"{above.size} of {cd.size} values lie above the threshold: hardly a tail.")
    return GroupTail(
        group=name,
        n_real=sample.n_real,
        n_synthetic=sample.n_synthetic,
        n_people=sample.average.n_people,
        threshold=threshold,
        n_exceedances=int(above.size),
        rate=rate,
        maximum=sample.maximum,
        level=level,
        levels=others,
        fit=fit,
        type=None if fit is None else tail_type(fit, bound=BOUND, max_relative_width=settings.horizon_width),
        goodness_pvalue=_goodness(fit, settings, rng),
        endpoint=None if fit is None or fit.shape >= 0 else fit.endpoint().interval,
        degenerate=degenerate,
        notes=tuple(notes),
    )


def _exceedances(n: int, settings: EcdSettings) -> tuple[int, list[str]]:
    """k, raised where k exceedances among n are rarer than one in m interactions."""
    k = settings.n_exceedances
    needed = int(np.ceil(_REACH * n / settings.interactions))
    if isinstance(settings.threshold, dict) or k * settings.interactions >= n:
        return k, []
    return needed, [
        f"The threshold is lowered to {needed} exceedances: the largest {k} of {n:,} come less than once in "
        f"{settings.interactions:g} interactions."
    ]


def _threshold(cd: Floats, name: str, k: int, settings: EcdSettings) -> float:
    if isinstance(settings.threshold, dict):
        return float(settings.threshold[name])
    if cd.size <= k:
        k = cd.size - 1
    if k < LEAST:
        return float("nan")
    return float(np.partition(cd, cd.size - k - 1)[cd.size - k - 1])


def _degenerate(cd: Floats, above: Floats, threshold: float) -> str:
    if cd.size and cd.max() - cd.min() <= _TIE:
        return f"all {cd.size:,} values equal {cd.max():.3g}"
    tied = int((cd == threshold).sum())
    if above.size < LEAST and tied > 1:
        return f"{tied} values are tied at the threshold and {above.size} lie above it: ties, no tail"
    if above.size < LEAST:
        return f"{above.size} values lie above the threshold, fewer than {LEAST}"
    gaps = np.diff(np.sort(above))
    distinct = 1 + int((gaps > _TIE * max(1.0, np.abs(above).max())).sum())
    if distinct < max(LEAST, above.size / 2):
        return f"its {above.size} largest values are {distinct} distinct ones: ties, not a continuous tail"
    return ""


def _fit(cd: Floats, threshold: float, settings: EcdSettings) -> EvtFit:
    options: dict[str, Any] = {"confidence_level": settings.confidence_level, "backend": settings.backend}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no maximum", DataWarning)  # told as `degenerate`
        if settings.model == "gpd":
            return fit_gpd(cd, threshold, **options)
        return fit_point_process(cd, threshold, float(settings.interactions), **options)


def _goodness(fit: EvtFit | None, settings: EcdSettings, rng: np.random.Generator) -> float:
    if fit is None or settings.n_resamples == 0:
        return float("nan")
    return fit.goodness_of_fit(n_resamples=settings.n_resamples, rng=rng).pvalue


def _level(cd: Floats, fit: EvtFit | None, m: float, settings: EcdSettings) -> GroupLevel:
    beyond = False
    if fit is not None and m * fit.rate >= 1.0:
        found = fit.return_level(m, confidence_level=settings.confidence_level)
        beyond = found.estimate > BOUND
        if not beyond:
            return GroupLevel(m, found.estimate, found.std_error, found.interval, False, False)
    if cd.size < LEAST:
        nothing = Interval(-BOUND, BOUND, settings.confidence_level, "none")
        return GroupLevel(m, float("nan"), float("nan"), nothing, True, beyond)
    found = empirical_return_level(cd, m, confidence_level=settings.confidence_level)
    low, high = found.interval
    interval = Interval(
        max(low, -BOUND), min(high, BOUND), settings.confidence_level, "binomial, between order statistics"
    )
    estimate = float(cd.max()) if m >= cd.size else found.estimate
    return GroupLevel(m, estimate, float("nan"), interval, True, beyond)
