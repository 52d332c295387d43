"""The difference of two groups' extremes: estimate, interval, bounds and test, by the way the tails allow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.multiplicity import normal_quantile, two_sided_pvalue
from fairstats.ground.results import Interval
from fairstats.ground.verdict import Evidence, bound_level, z_evidence
from fairstats.methods.ecd.result import EcdComparison
from fairstats.methods.ecd.tail import BOUND, group_level, refitted
from fairstats.numerics.evt.bootstrap import DRAWS, ExcessBatch, fit_excess_batch
from fairstats.numerics.evt.distributions import LEAST_DRAWN, Floats, Rows, power_ratio
from fairstats.numerics.evt.level_contrast import LevelContrast
from fairstats.numerics.evt.return_levels import power_draws

if TYPE_CHECKING:
    from fairstats.methods.ecd.sample import GroupSample
    from fairstats.methods.ecd.tail import EcdSettings, GroupLevel, GroupTail
    from fairstats.numerics.evt.result import EvtFit

#: Of a tail: rate, scale, shape. A signed root of the likelihood ratio that is not standardised is compared
#: with Student's t, whose degrees of freedom are the exceedances of the smaller tail less these.
_PARAMETERS = 3
#: Samples that standardise the root: with 200 its mean is known to .07 and its standard deviation to 5%.
_SIMULATED = 200
#: Resamples of people where `n_resamples` asks for none.
_RESAMPLES = 999


def contrast_tails(
    tails: tuple[GroupTail, GroupTail],
    samples: tuple[GroupSample, GroupSample],
    settings: EcdSettings,
    rng: np.random.Generator,
    family: int = 1,
) -> tuple[EcdComparison, Evidence]:
    """Compare a group (first) with the reference (second), and the evidence for the verdict.

    `family`: comparisons that are judged together. Evidence is NaN where there is no test.
    """
    first, second = tails
    spread = float(np.hypot(first.level.std_error, second.level.std_error))
    known: dict[str, Any] = {
        "metric": "ECD", "group": first.group, "reference": second.group,
        "estimate": first.level.estimate - second.level.estimate, "std_error": spread,
        "n": first.n + second.n,
    }  # fmt: skip
    modelled = not (first.level.empirical or second.level.empirical)
    if settings.location == "paper":
        found, evidence = _own_thresholds(first, second, settings), Evidence()
    elif modelled and _has_shared_people(*samples):
        found, evidence = _by_people(tails, samples, settings, rng)
    elif modelled and first.fit is not None and second.fit is not None:
        contrast = LevelContrast.of(first.fit, second.fit, settings.interactions)
        if first.fit.by_power or second.fit.by_power:
            found, evidence = _by_draws((first.fit, second.fit), contrast, settings, rng)
            return EcdComparison(**known | found), evidence
        df = min(first.n_exceedances, second.n_exceedances) - _PARAMETERS
        found, evidence = _likelihood_ratio(contrast, df, settings, rng)
    else:
        found, evidence = _square_and_add(tails, samples, settings, family), Evidence()
    return EcdComparison(**known | found), evidence


def _likelihood_ratio(
    contrast: LevelContrast, df: float, settings: EcdSettings, rng: np.random.Generator
) -> tuple[dict[str, Any], Evidence]:
    """Both groups' (λ, σ, ξ) profiled; p-values, limits and verdict by the signed root of the ratio.

    The root is standardised by its simulated mean and standard deviation and compared with the normal law
    or, where that was not asked for, with Student's t as it is. Both directions count, as in `z_evidence`.
    """
    level, margin = settings.confidence_level, settings.margin
    deviances = contrast.deviance(np.array([0.0, -margin, margin]))
    mean, sd, method = 0.0, 1.0, "profile likelihood"
    name = f"likelihood ratio, t with {df:g} degrees of freedom"
    if settings.calibrated:
        mean, sd = contrast.root_moments(_SIMULATED, rng)
        df, name, method = math.inf, "likelihood ratio, standardised signed root", f"{method}, standardised"
    roots = np.copysign(np.sqrt(deviances), contrast.estimate - np.array([0.0, -margin, margin]))
    z, z_low, z_high = ((roots - mean) / sd).tolist()
    one_sided = bound_level(z_low - z_high, level, df)
    reach = sd * np.repeat([normal_quantile((1 + level) / 2, df), normal_quantile(one_sided, df)], 2)
    sides = np.array([-1.0, 1.0, -1.0, 1.0])
    # the root falls in δ: it is mean + reach at the lower end, mean − reach at the upper one
    ends = contrast.ends(sides, np.maximum(reach - sides * mean, 0.0))
    # a difference of two CD lies within [−2, 2]
    low, high, bound_low, bound_high = np.clip(ends, -2.0 * BOUND, 2.0 * BOUND).tolist()
    found = {
        "confidence_interval": Interval(low, high, level, method),
        "bounds": Interval(bound_low, bound_high, one_sided, method), "statistic": float(deviances[0]),
        "pvalue": two_sided_pvalue(z, df), "root_mean": mean, "root_sd": sd, "method": name,
    }  # fmt: skip
    return found, z_evidence(z_low, z_high, df)


def _by_draws(
    fits: tuple[EvtFit, EvtFit], contrast: LevelContrast, settings: EcdSettings, rng: np.random.Generator
) -> tuple[dict[str, Any], Evidence]:
    """Interval and test from independent draws of both levels, where one tail or both have a near end point.

    A level of a regular tail is drawn by its signed root, which is about standard normal.
    """
    level, margin, m = settings.confidence_level, settings.margin, settings.interactions
    drawn = [
        power_draws(fit, m, rng).level(m)
        if fit.by_power
        else side.by_root(np.clip(rng.standard_normal(DRAWS), -4.99, 4.99))
        for fit, side in zip(fits, (contrast.first, contrast.second), strict=True)
    ]
    difference = np.sort(drawn[0] - drawn[1])
    difference = difference[np.isfinite(difference)]

    def z(null: float) -> float:
        share = float((difference > null).mean() + 0.5 * (difference == null).mean())
        return normal_quantile(min(max(share, 0.5 / difference.size), 1.0 - 0.5 / difference.size))

    one_sided = bound_level(z(-margin) - z(margin), level)
    ends = np.quantile(difference, [0.5 - level / 2, 0.5 + level / 2, 1 - one_sided, one_sided])
    low, high, bound_low, bound_high = np.clip(ends, -2.0 * BOUND, 2.0 * BOUND).tolist()
    name = "fiducial draws of a power tail"
    found = {
        "std_error": math.nan, "confidence_interval": Interval(low, high, level, name),
        "bounds": Interval(bound_low, bound_high, one_sided, name), "statistic": z(0.0),
        "pvalue": two_sided_pvalue(z(0.0)), "method": name,
    }  # fmt: skip
    return found, z_evidence(z(-margin), z(margin))


def other_exceedances(
    tails: tuple[GroupTail, GroupTail], samples: tuple[GroupSample, GroupSample], settings: EcdSettings
) -> list[EcdComparison]:
    """The comparison with half and with twice the exceedances in both groups, by Student's t.

    Where the likelihood ratio compares the tails, and as far as there are values and tails for it.
    """
    plain = replace(settings, calibrated=False)
    found = []
    if settings.location == "paper" or any(
        t.fit is None or t.level.empirical or t.fit.by_power for t in tails
    ):
        return []
    for factor, name in ((0.5, "half the exceedances"), (2.0, "twice the exceedances")):
        owned = zip(samples, tails, strict=True)
        first, second = (refitted(s, int(factor * t.n_exceedances), t, plain) for s, t in owned)
        if first is None or second is None or first.by_power or second.by_power:
            continue
        contrast = LevelContrast.of(first, second, settings.interactions)
        k = min(first.n_exceedances, second.n_exceedances)
        inferred, _ = _likelihood_ratio(contrast, k - _PARAMETERS, plain, np.random.default_rng())
        inferred |= {"group": tails[0].group, "reference": tails[1].group, "n": tails[0].n + tails[1].n}
        found.append(EcdComparison(metric=f"ECD, {name}", estimate=contrast.estimate, **inferred))
    return found


def _by_people(
    tails: tuple[GroupTail, GroupTail],
    samples: tuple[GroupSample, GroupSample],
    settings: EcdSettings,
    rng: np.random.Generator,
) -> tuple[dict[str, Any], Evidence]:
    """Normal interval with the standard deviation over resamples of people."""
    first, second = tails
    exceedances = first.n_exceedances, second.n_exceedances
    replicates = settings.n_resamples or _RESAMPLES
    drawn = person_bootstrap(*samples, exceedances, settings.interactions, replicates, rng)
    estimate, spread = first.level.estimate - second.level.estimate, float(drawn.std(ddof=1))
    found = _normal(estimate, spread, settings, "bootstrap of people") | {
        "method": "z, standard error by resampling people",
        "note": "People own several rows: the likelihood ratio, which takes rows as independent, is "
        "not used.",
    }
    return found, z_evidence(*((estimate + m) / spread for m in (settings.margin, -settings.margin)))


def _normal(estimate: float, spread: float, settings: EcdSettings, method: str) -> dict[str, Any]:
    """Normal interval and z-test; `method` is the name of the interval."""
    level = settings.confidence_level
    one_sided = bound_level(2 * settings.margin / spread, level)
    half, one = (normal_quantile(p) * spread for p in ((1 + level) / 2, one_sided))
    return {
        "std_error": spread, "confidence_interval": Interval(estimate - half, estimate + half, level, method),
        "bounds": Interval(estimate - one, estimate + one, one_sided, method), "statistic": estimate / spread,
        "pvalue": two_sided_pvalue(estimate / spread) if spread > 0 else math.nan,
    }  # fmt: skip


def _square_and_add(
    tails: tuple[GroupTail, GroupTail],
    samples: tuple[GroupSample, GroupSample],
    settings: EcdSettings,
    family: int,
) -> dict[str, Any]:
    """Interval of the difference from the two intervals (MOVER; Zou & Donner 2008); no test.

    The limits of the verdict are two-sided, too, at Bonferroni's level over the family.
    """
    level = settings.confidence_level
    wider = replace(settings, confidence_level=1 - (1 - level) / family)
    again = [group_level(s, t.fit, settings.interactions, wider) for s, t in zip(samples, tails, strict=True)]
    names = " and ".join(t.group for t in tails if t.level.empirical)
    return {
        "std_error": math.nan,
        "confidence_interval": _mover(tails[0].level, tails[1].level, level),
        "bounds": _mover(again[0], again[1], wider.confidence_level),
        "method": "none",
        "note": f"{names}: the level is an order statistic, so that there is an interval and no test; the "
        "verdict rests on the two-sided interval.",
    }


def _mover(a: GroupLevel, b: GroupLevel, level: float) -> Interval:
    (low_a, high_a), (low_b, high_b) = a.confidence_interval, b.confidence_interval
    low = a.estimate - b.estimate - np.hypot(a.estimate - low_a, min(high_b, BOUND) - b.estimate)
    high = a.estimate - b.estimate + np.hypot(min(high_a, BOUND) - a.estimate, b.estimate - low_b)
    return Interval(float(low), float(high), level, "from the two intervals (MOVER)")


def _own_thresholds(first: GroupTail, second: GroupTail, settings: EcdSettings) -> dict[str, Any]:
    """The paper's comparison: each group's location at its own block of e exceedances, with the z-test."""
    warning = (
        "location='paper' compares different quantiles of the two groups, and rejects equal tails of groups "
        "of different sizes nearly always (94–100% at 25,000 against 3,000): no inference on discrimination."
    )
    level = settings.confidence_level
    found = []
    for tail in (first, second):
        if tail.fit is None:
            nothing: dict[str, Any] = dict.fromkeys(("estimate", "std_error"), math.nan)
            nothing |= dict.fromkeys(("confidence_interval", "bounds"), Interval(-2.0, 2.0, level, "none"))
            return nothing | {"method": "none", "note": f"{tail.group}: {tail.degenerate}. {warning}"}
        found.append(tail.fit.return_level(math.e / tail.rate, confidence_level=level))
    estimate = found[0].estimate - found[1].estimate
    spread = float(np.hypot(found[0].std_error, found[1].std_error))
    own = {"estimate": estimate, "method": "z, own thresholds (the paper's)", "note": warning}
    return _normal(estimate, spread, settings, "delta") | own


def _has_shared_people(first: GroupSample, second: GroupSample) -> bool:
    """Whether people own several rows, within a group or over both."""
    if first.person is None or second.person is None:
        return False
    owners = np.concatenate([first.person, second.person])
    return bool(np.unique(owners).size < owners.size)


def person_bootstrap(
    first: GroupSample,
    second: GroupSample,
    exceedances: tuple[int, int],
    interactions: float,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Differences of return levels in resamples of people; those without a tail are left out.

    Each resample draws as many people as there are, with all their rows in both groups, and takes the same
    order statistic as threshold; `exceedances` are k of each group.
    """
    owners = np.concatenate([np.asarray(first.person), np.asarray(second.person)])
    people, codes = np.unique(owners, return_inverse=True)
    cuts = zip((first, second), (codes[: first.n], codes[first.n :]), exceedances, strict=True)
    sides = [_Ordered(sample.values(), own, k, people.size) for sample, own, k in cuts]
    for _ in range(replicates):
        drawn = np.bincount(rng.integers(0, people.size, people.size), minlength=people.size)
        for side in sides:
            side.add(drawn)
    levels = [side.levels(interactions) for side in sides]
    difference = levels[0] - levels[1]
    return difference[np.isfinite(difference)]


class _Ordered:
    """Values of one group, largest first, and their excesses in every resample so far."""

    def __init__(self, cd: Floats, owner: Rows, k: int, n_people: int) -> None:
        order = np.argsort(-cd, kind="stable")
        self.values, self.owner, self.k = cd[order], owner[order], k
        self.rows_of = np.bincount(owner, minlength=n_people)
        self.excesses: list[Floats] = []
        self.n: list[float] = []
        self.thresholds: list[float] = []
        self.totals: list[float] = []

    def add(self, drawn: Rows) -> None:
        reach = min(self.values.size, 4 * self.k + 200)
        times = drawn[self.owner[:reach]]
        if times.sum() <= self.k and reach < self.values.size:
            reach = self.values.size
            times = drawn[self.owner]
        top = np.repeat(self.values[:reach], times)[: self.k + 1]
        row = np.zeros(self.k)
        threshold = float(top[-1]) if top.size else float("nan")
        row[: max(top.size - 1, 0)] = top[:-1] - threshold
        self.excesses.append(row)
        self.n.append(float((row > 0).sum()))
        self.thresholds.append(threshold)
        self.totals.append(float(drawn @ self.rows_of))

    def levels(self, interactions: float) -> Floats:
        """Return level of every resample; NaN where there is no tail."""
        n, threshold = np.array(self.n), np.array(self.thresholds)
        found = np.full(n.size, np.nan)
        usable = n >= LEAST_DRAWN
        batch = ExcessBatch(np.array(self.excesses)[usable], n[usable], threshold[usable])
        scale, shape = fit_excess_batch(batch, "mle")
        period = np.log(interactions * n[usable] / np.array(self.totals)[usable])
        found[usable] = threshold[usable] + scale * power_ratio(period, shape)
        return found
