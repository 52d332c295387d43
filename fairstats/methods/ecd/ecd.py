"""`ecd`: extreme counterfactual discrimination, with interval and test at a common number of interactions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from fairstats.ground.caution import caution
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.randomness import as_generator
from fairstats.methods.ecd.contrast import contrast_tails
from fairstats.methods.ecd.result import EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.settings import EcdSettings, make_settings
from fairstats.methods.ecd.tail import GroupTail, group_tail

__all__ = ["ecd"]


def ecd(
    sample: CounterfactualSample | Mapping[Hashable, Any],
    *,
    privileged: Any,
    unprivileged: Any,
    interactions: float = 1000,
    model: str = "point_process",
    location: str = "return_level",
    threshold: int | Mapping[Hashable, float] = 50,
    other_interactions: Sequence[float] = (500, 1000, 2000, 10_000),
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
    horizon_width: float = 0.5,
    n_resamples: int = 999,
    calibrated: bool | str = False,
    backend: str | None = None,
    rng: Any = None,
) -> EcdResult:
    """Extreme counterfactual discrimination: difference of two groups' worst cases.

    RL_g(m) is the 1 − 1/m quantile of CD in group g, by extreme value theory; m interactions exceed it with
    probability about 63%. ECD = RL_unprivileged(m) − RL_privileged(m) at one m for both groups.

    Parameters
    ----------
    sample : CounterfactualSample, or mapping of group to array-like
        From `counterfactual_discrimination`, or values of CD in [−1, 1].
    privileged, unprivileged : value, or pair (value, counterfactual)
        Groups of the sample.
    interactions : float
        m > 1, common to both groups.
    model : {"point_process", "gpd"}
        Names of the parameters: the point process's location at block size m is RL(m) itself. The law of the
        number of exceedances is Poisson or binomial, which makes no visible difference.
    location : {"return_level", "paper"}
        "paper": each group's location at its own block of e exceedances, with the z-test. It compares
        different quantiles, is not an inference on discrimination, and warns.
    threshold : int or mapping
        k: the (k + 1)-th largest CD of each group is its threshold; lowered where k exceedances come less
        than once in m interactions. Or a threshold for each group.
    other_interactions : sequence of float
        Further numbers of interactions to give return levels at.
    confidence_level : float
    tolerance : float
        The verdict asks whether the size of ECD lies above or below it (0.05 is the paper's).
    horizon_width : float
        Return levels are within the horizon while their interval is narrower than this share of the level
        and ends below 1.
    n_resamples : int
        Parametric bootstrap of goodness of fit and of `calibrated`; resamples of people. 0: neither.
    calibrated : bool or "bartlett"
        Where k is small (the default has size .055–.071 at k = 50): True compares the likelihood ratio with
        its simulated law, "bartlett" divides it by its simulated mean and takes the χ² law, with p-values
        below 1/`n_resamples`. Both have size .044–.049 at k = 50.
    backend : {None, "auto", "r", "scipy"}
        What estimates the parameters (`fairstats.evt.fit_gpd`).
    rng : None, int or Generator

    Returns
    -------
    EcdResult

    Raises
    ------
    InputError
        A group that is not there, settings that cannot be used.

    Warns
    -----
    DataWarning
        location="paper".
    InsufficientEvidenceWarning
        A group whose tail cannot be modelled.

    Notes
    -----
    The test is the likelihood ratio of equal return levels with both groups' rate, scale and shape profiled,
    and the interval its inversion. Its signed root is compared with Student's t with k − 3 degrees of
    freedom, k of the smaller tail: the χ² law is too short there (size .062–.080 at k = 50, t .055–.071). A
    delta z-test has size .06–.11 where it exists (up to 67% of tails have no standard error at ξ = −.4,
    k = 50); comparing locations at own thresholds rejects equal tails in 94–100% of samples of 25,000
    against 3,000.

    A tail of ties, of a constant CD or with its end point reached has no model: order statistics stand in,
    with binomial intervals, and there is no test; the same where the model's level lies above 1. Intervals
    are cut at [−2, 2]. Rows of one person are resampled together. With synthetic rows intervals describe the
    generator's law, and there is neither p-value nor verdict on people.

    References
    ----------
    Monjezi, V., Kreinovich, V., Trivedi, A., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory,
    sections III and IV.
    Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values, chapters 4 and 7.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    >>> found = fs.ecd(cd, privileged="white", unprivileged="black", backend="scipy", rng=1)
    >>> round(found.estimate, 3), found.verdict
    (0.144, 'violated')
    """
    generator, seed = as_generator(rng)
    settings = make_settings(
        interactions=interactions,
        other_interactions=other_interactions,
        model=model,
        location=location,
        threshold=threshold,
        confidence_level=confidence_level,
        tolerance=tolerance,
        horizon_width=horizon_width,
        n_resamples=n_resamples,
        calibrated=calibrated,
        seed=seed,
        backend=backend,
    )
    whole = sample if isinstance(sample, CounterfactualSample) else CounterfactualSample.from_values(sample)
    samples = whole[unprivileged], whole[privileged]
    names = _names(samples, whole.pairing)
    _check_thresholds(settings, names)
    tails = tuple(
        group_tail(name, chosen, settings, generator) for name, chosen in zip(names, samples, strict=True)
    )
    first, second = tails
    found = contrast_tails((first, second), samples, settings, generator)
    if location == "paper":
        caution(found.note, DataWarning)
    for tail in tails:
        if tail.degenerate:
            caution(f"{tail.group}: {tail.degenerate}. No tail is fitted.", InsufficientEvidenceWarning)
    synthetic = any(s.n_synthetic for s in samples)
    estimable = found.estimate == found.estimate
    return EcdResult(
        attribute=whole.attribute,
        unprivileged=names[0],
        privileged=names[1],
        estimate=found.estimate,
        std_error=found.std_error,
        confidence_interval=found.interval,
        bounds=found.bounds,
        statistic=found.statistic,
        pvalue=float("nan") if synthetic else found.pvalue,
        test=found.method,
        delta_pvalue=float("nan") if synthetic else found.delta_pvalue,
        verdict=_verdict(found.bounds.low, found.bounds.high, tolerance)
        if estimable and not synthetic and location != "paper"
        else "insufficient evidence",
        tails=tails,
        settings=settings,
        note=" ".join(part for part in (found.note, _synthetic_note(tails), whole.note) if part),
        backend=next((t.fit.backend for t in tails if t.fit is not None), "numpy"),
    )


def _names(samples: tuple[GroupSample, GroupSample], pairing: str) -> tuple[str, str]:
    if samples[0] is samples[1]:
        raise InputError(
            "unprivileged",
            got=f"{samples[0].group!r}, the privileged group",
            allowed="another group",
            cure="name the two groups to compare",
        )
    if pairing == "all":
        return tuple(f"{s.group} → {s.counterfactual}" for s in samples)  # type: ignore[return-value]
    return samples[0].group, samples[1].group


def _check_thresholds(settings: EcdSettings, names: tuple[str, str]) -> None:
    if isinstance(settings.threshold, dict):
        lacking = [name for name in names if label_text(name) not in settings.threshold]
        if lacking:
            raise InputError(
                "threshold",
                got=f"no threshold for {', '.join(map(repr, lacking))}",
                allowed="a number for each of the two groups, or k",
                cure="threshold=50 takes the 51st largest value of each group",
            )


def _verdict(low: float, high: float, tolerance: float) -> str:
    if low > tolerance or high < -tolerance:
        return "violated"
    return "satisfied" if -tolerance < low and high < tolerance else "undecided"


def _synthetic_note(tails: tuple[GroupTail, ...]) -> str:
    if not any(t.n_synthetic for t in tails):
        return ""
    return (
        "Synthetic rows: the interval is Monte Carlo error about the generator's law and can be made as "
        "small as one likes. For people, resample the real rows, refit the generator and repeat at that size."
    )
