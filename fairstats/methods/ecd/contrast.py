"""The difference of two groups' extremes: estimate, interval, bounds and test, by the way the tails allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstats.ground.errors import InsufficientEvidenceWarning, caution
from fairstats.ground.multiplicity import MaxZ, normal_cdf, normal_quantile, two_sided_pvalue
from fairstats.ground.results import Interval
from fairstats.ground.verdict import Evidence, bound_level, z_evidence
from fairstats.methods.ecd.level_contrast import LevelContrast
from fairstats.methods.ecd.result import EcdComparison
from fairstats.methods.ecd.sample import GroupSample, difference_of
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.methods.ecd.tail import BOUND, GroupLevel, GroupTail, group_levels, refitted, rounding_of
from fairstats.numerics.evt.bootstrap import DRAWS, ExcessBatch, fit_excess_batch, root_of_draws
from fairstats.numerics.evt.distributions import LEAST_DRAWN, Floats, Rows, power_ratio
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.evt.return_levels import power_draws

#: Of a tail: rate, scale, shape. A signed root that is not standardised is compared with Student's t, whose degrees of
#: freedom are the exceedances of the smaller tail less these.
_PARAMETERS = 3
#: Samples that standardise the root: with 200 its mean is known to .07 and its standard deviation to 5%.
_SIMULATED = 200
#: Resamples of people where `n_resamples` asks for none.
_RESAMPLES = 999


@dataclass(frozen=True)
class Pair:
    """A group (first) and the reference (second), and how they are compared; `each`: level of joint intervals."""

    tails: tuple[GroupTail, GroupTail]
    samples: tuple[GroupSample, GroupSample]
    settings: EcdSettings
    rng: np.random.Generator
    each: float


def contrast_tails(pair: Pair) -> tuple[EcdComparison, Evidence]:
    """Compare a group with the reference, and the evidence for the verdict: NaN where there is no test."""
    (first, second), samples, settings = pair.tails, pair.samples, pair.settings
    spread = float(np.hypot(first.level.std_error, second.level.std_error))
    estimate, exceedances = first.level.estimate - second.level.estimate, (first.n_exceedances, second.n_exceedances)
    known: dict[str, Any] = {
        "metric": "ECD", "group": first.group, "reference": second.group, "estimate": estimate, "std_error": spread,
        "n": first.n + second.n, "exceedances": exceedances, "acd": difference_of(*(s.average for s in samples)),
        "cvar": difference_of(*(s.cvar(settings.cvar_level) for s in samples)),
    }  # fmt: skip
    modelled = not (first.level.empirical or second.level.empirical)
    if settings.location == "paper":
        found, evidence = _own_thresholds(pair), Evidence()
    elif not math.isnan(estimate) and _has_shared_people(*samples):
        irregular = [t.group for t in pair.tails if t.level.empirical or not _is_plain(t.fit)]
        found, evidence = (_unknown(pair, irregular), Evidence()) if irregular else _by_people(pair)
    elif modelled and first.fit is not None and second.fit is not None:
        contrast = LevelContrast.of(first.fit, second.fit, settings.interactions)
        if first.fit.by_power or second.fit.by_power:
            found, evidence = _by_draws((first.fit, second.fit), contrast, pair)
        else:
            found, evidence = _likelihood_ratio(contrast, min(exceedances) - _PARAMETERS, pair)
    else:
        found, evidence = _square_and_add(pair), Evidence()
    return EcdComparison(**known | found), evidence


def level_of_each(tails: tuple[GroupTail, ...], confidence_level: float) -> float:
    """Level of every interval, so that those of all groups against the last, which they share, hold together.

    By the largest of correlated normal statistics; by Bonferroni where a level has no standard error.
    """
    others, variance = len(tails) - 1, np.array([tail.level.std_error for tail in tails]) ** 2
    if others == 1:
        return confidence_level
    if not (variance > 0).all():
        return 1 - (1 - confidence_level) / others
    pairs = [(j, others) for j in range(others)]
    return 2 * normal_cdf(MaxZ(variance, pairs=pairs).quantile(confidence_level)) - 1


def _limits(ends: Floats, levels: Sequence[float], method: str) -> dict[str, Interval]:
    """Interval, limits of the verdict and simultaneous interval, from pairs of ends in this order, within [−2, 2]."""
    low, high = np.clip(np.reshape(ends, (3, 2)), -2.0 * BOUND, 2.0 * BOUND).T.tolist()
    names = ("confidence_interval", "bounds", "simultaneous")
    return {name: Interval(low[i], high[i], levels[i], method) for i, name in enumerate(names)}


def _likelihood_ratio(contrast: LevelContrast, df: float, pair: Pair) -> tuple[dict[str, Any], Evidence]:
    """Both groups' (λ, σ, ξ) profiled: p-values, limits and verdict by the signed root of the ratio.

    It is standardised and compared with the normal law or, where that was not asked for, with Student's t as it is.
    """
    level, each = pair.settings.confidence_level, pair.each
    nulls = np.array([0.0, -pair.settings.margin, pair.settings.margin])
    deviances = contrast.deviance(nulls)
    mean, sd, method = 0.0, 1.0, "profile likelihood"
    name = f"likelihood ratio, t with {df:g} degrees of freedom"
    if pair.settings.calibrated:
        mean, sd = contrast.root_moments(_SIMULATED, pair.rng)
        df, name, method = math.inf, "likelihood ratio, standardised signed root", f"{method}, standardised"
    roots = np.copysign(np.sqrt(deviances), contrast.estimate - nulls)
    z, z_low, z_high = ((roots - mean) / sd).tolist()
    one_sided = bound_level(z_low - z_high, level, df)
    shares = [(1 + level) / 2, one_sided, (1 + each) / 2][: 2 if each == level else 3]
    reach = sd * np.repeat([normal_quantile(p, df) for p in shares], 2)
    sides = np.tile([-1.0, 1.0], len(shares))
    # the root falls in δ: it is mean + reach at the lower end, mean − reach at the upper one
    ends = contrast.ends(sides, np.maximum(reach - sides * mean, 0.0), farthest=2.0 * BOUND)
    found = {
        **_limits(np.append(ends, ends[:2])[:6], (level, one_sided, each), method),
        "statistic": float(deviances[0]), "pvalue": two_sided_pvalue(z, df), "root_mean": mean,
        "root_sd": sd, "method": name,
    }  # fmt: skip
    return found, z_evidence(z_low, z_high, df)


def _by_draws(fits: tuple[EvtFit, EvtFit], contrast: LevelContrast, pair: Pair) -> tuple[dict[str, Any], Evidence]:
    """Interval and test from independent draws of both levels, where one tail or both have a near end point.

    A level of a regular tail is drawn by its standardised signed root, about standard normal, as in its own interval.
    """
    settings, rng, each, drawn = pair.settings, pair.rng, pair.each, []
    level, margin, m = settings.confidence_level, settings.margin, settings.interactions
    for fit, side in zip(fits, (contrast.first, contrast.second), strict=True):
        if fit.by_power:
            drawn.append(power_draws(fit, m, rng).level(m))
        else:
            drawn.append(side.by_root(np.clip(rng.standard_normal(DRAWS), -4.99, 4.99)))
    difference = np.sort(drawn[0] - drawn[1])
    difference = difference[np.isfinite(difference)]
    z, z_low, z_high = (root_of_draws(difference, null) for null in (0.0, -margin, margin))
    one_sided = bound_level(z_low - z_high, level)
    shares = [p for up in ((1 + level) / 2, one_sided, (1 + each) / 2) for p in (1 - up, up)]
    name = "fiducial draws of a power tail"
    found = {
        "std_error": math.nan, **_limits(np.quantile(difference, shares), (level, one_sided, each), name),
        "statistic": z, "pvalue": two_sided_pvalue(z), "method": name,
    }  # fmt: skip
    return found, z_evidence(z_low, z_high)


def other_exceedances(pair: Pair) -> list[EcdComparison]:
    """The comparison by Student's t with other numbers of exceedances in both groups, where there are tails for it."""
    tails, settings, found = pair.tails, pair.settings, []
    plain = replace(settings, calibrated=False)
    alone = replace(pair, settings=plain, each=settings.confidence_level)
    if settings.location == "paper" or any(t.fit is None or t.level.empirical or t.fit.by_power for t in tails):
        return []
    for factor in settings.sensitivity:
        owned = zip(pair.samples, tails, strict=True)
        first, second = (refitted(s, int(factor * t.n_exceedances), plain) for s, t in owned)
        if first is None or second is None or first.by_power or second.by_power:
            continue
        contrast = LevelContrast.of(first, second, settings.interactions)
        ks = first.n_exceedances, second.n_exceedances
        inferred, _ = _likelihood_ratio(contrast, min(ks) - _PARAMETERS, alone)
        times = {0.5: "half", 2.0: "twice"}.get(factor, f"{factor:g} times")
        inferred |= {
            "metric": f"ECD, {times} the exceedances", "group": tails[0].group, "reference": tails[1].group,
            "estimate": contrast.estimate, "n": tails[0].n + tails[1].n, "exceedances": ks,
        }  # fmt: skip
        found.append(EcdComparison(**inferred))
    return found


def _is_plain(fit: EvtFit | None) -> bool:
    """Whether resamples of people know its level: a continuous tail that is not near its end point."""
    return fit is not None and fit.grid is None and not fit.by_power


def _unknown(pair: Pair, irregular: list[str]) -> dict[str, Any]:
    """No interval: other methods take rows as independent, and resamples of people say little of an end point.

    Their excesses are continuous: of rounded scores 95% intervals covered .82 (2,000 and 600 people with five rows).
    """
    has = f"the tail of {' and '.join(irregular)} has values on a grid, an end point that is near or no model"
    note = f"People own several rows, and {has}: no interval is shown to hold. Take one row of each person."
    caution(note, InsufficientEvidenceWarning)
    return {**_nothing(pair), "note": note}


def _nothing(pair: Pair) -> dict[str, Any]:
    """Intervals that say nothing, and no test."""
    level, widest = pair.settings.confidence_level, np.tile([-2.0 * BOUND, 2.0 * BOUND], 3)
    return {"std_error": math.nan, "method": "none", **_limits(widest, (level, level, pair.each), "none")}


def _by_people(pair: Pair) -> tuple[dict[str, Any], Evidence]:
    """Normal interval with the standard deviation over resamples of people."""
    (first, second), settings = pair.tails, pair.settings
    ks, replicates = (first.n_exceedances, second.n_exceedances), settings.n_resamples or _RESAMPLES
    drawn = person_bootstrap(*pair.samples, ks, settings.interactions, replicates, pair.rng)
    estimate, spread = first.level.estimate - second.level.estimate, float(drawn.std(ddof=1))
    found = _normal(estimate, spread, pair, "bootstrap of people") | {
        "method": "z, standard error by resampling people",
        "note": "People own several rows: the likelihood ratio, which takes rows as independent, is not used.",
    }
    return found, z_evidence(*((estimate + m) / spread for m in (settings.margin, -settings.margin)))


def _normal(estimate: float, spread: float, pair: Pair, method: str) -> dict[str, Any]:
    """Normal interval and z-test; `method` is the name of the interval."""
    level, each, z = pair.settings.confidence_level, pair.each, estimate / spread
    one_sided = bound_level(2 * pair.settings.margin / spread, level)
    reach = [normal_quantile(p) * spread for p in ((1 + level) / 2, one_sided, (1 + each) / 2)]
    ends = estimate + np.array([side * r for r in reach for side in (-1.0, 1.0)])
    return {
        "std_error": spread, **_limits(ends, (level, one_sided, each), method), "statistic": z,
        "pvalue": two_sided_pvalue(z) if spread > 0 else math.nan,
    }  # fmt: skip


def _square_and_add(pair: Pair) -> dict[str, Any]:
    """Interval from the two intervals (MOVER; Zou & Donner 2008), no test: the verdict's limits are two-sided, too."""
    settings, each, owned = pair.settings, pair.each, list(zip(pair.samples, pair.tails, strict=True))
    wider = replace(settings, confidence_level=each)
    first, second = (group_levels(s, t.fit, [settings.interactions], wider)[0] for s, t in owned)
    off = [rounding_of(s, t.level, settings) for s, t in owned]
    alone = _mover(pair.tails[0].level, pair.tails[1].level, settings.confidence_level, off)
    together = _mover(first, second, each, off)
    names = " and ".join(t.group for t in pair.tails if t.level.empirical)
    rests = "an interval and no test; the verdict rests on the two-sided interval"
    note = f"{names}: the level is an order statistic, so that there is {rests}."
    if none := " and ".join(t.group for t in pair.tails if math.isnan(t.level.estimate)):
        note = f"{none}: too few rows for a level, so that there is neither interval nor test."
    return {
        "std_error": math.nan, "confidence_interval": alone, "simultaneous": together,
        "bounds": alone if settings.adjust == "none" else together, "method": "none", "note": note,
    }  # fmt: skip


def _mover(a: GroupLevel, b: GroupLevel, level: float, off: Sequence[float] = (0.0, 0.0)) -> Interval:
    """Interval of a difference; `off`: what rounding can do to each level, which is no noise and adds up."""

    def joined(of_a: float, of_b: float) -> float:
        sure = [min(part, width) for part, width in zip((of_a, of_b), off, strict=True)]
        return sum(sure) + math.hypot(of_a - sure[0], of_b - sure[1])

    (low_a, high_a), (low_b, high_b) = a.confidence_interval, b.confidence_interval
    low = a.estimate - b.estimate - joined(a.estimate - low_a, min(high_b, BOUND) - b.estimate)
    high = a.estimate - b.estimate + joined(min(high_a, BOUND) - a.estimate, b.estimate - low_b)
    return Interval(float(low), float(high), level, "from the two intervals (MOVER)")


def _own_thresholds(pair: Pair) -> dict[str, Any]:
    """The paper's comparison: each group's location at its own block of e exceedances, with the z-test."""
    warning = (
        "location='paper' compares different quantiles of the two groups, and rejects equal tails of groups "
        "of different sizes nearly always (94–100% at 25,000 against 3,000): no inference on discrimination."
    )
    level, found = pair.settings.confidence_level, []
    for tail in pair.tails:
        if tail.fit is None:
            return {"estimate": math.nan, **_nothing(pair), "note": f"{tail.group}: {tail.degenerate}. {warning}"}
        found.append(tail.fit.return_level(math.e / tail.rate, confidence_level=level))
    estimate = found[0].estimate - found[1].estimate
    spread = float(np.hypot(found[0].std_error, found[1].std_error))
    own = {"estimate": estimate, "method": "z, own thresholds (the paper's)", "note": warning}
    return _normal(estimate, spread, pair, "delta") | own


def _has_shared_people(first: GroupSample, second: GroupSample) -> bool:
    """Whether people own several rows, within a group or over both."""
    if first.person is None or second.person is None:
        return False
    owners = np.concatenate([first.person, second.person])
    return bool(np.unique(owners).size < owners.size)


def person_bootstrap(
    first: GroupSample, second: GroupSample, exceedances: tuple[int, int], interactions: float, replicates: int,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Differences of return levels in resamples of people; those without a tail are left out.

    They are drawn with all their rows in both groups; the threshold is the same order statistic: k = `exceedances`.
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
        self.sizes: list[tuple[float, float, float]] = []

    def add(self, drawn: Rows) -> None:
        """Another resample: its excesses; their number, the threshold, and the rows in all."""
        reach = min(self.values.size, 4 * self.k + 200)
        times = drawn[self.owner[:reach]]
        if times.sum() <= self.k and reach < self.values.size:
            reach = self.values.size
            times = drawn[self.owner]
        top, row = np.repeat(self.values[:reach], times)[: self.k + 1], np.zeros(self.k)
        threshold = float(top[-1]) if top.size else math.nan
        row[: max(top.size - 1, 0)] = top[:-1] - threshold
        self.excesses.append(row)
        self.sizes.append((float((row > 0).sum()), threshold, float(drawn @ self.rows_of)))

    def levels(self, interactions: float) -> Floats:
        """Return level of every resample; NaN where there is no tail."""
        usable = np.array([n >= LEAST_DRAWN for n, _, _ in self.sizes])
        n, threshold, total = np.array(self.sizes)[usable].T
        found = np.full(usable.size, np.nan)
        scale, shape = fit_excess_batch(ExcessBatch(np.array(self.excesses)[usable], n, threshold), "mle")
        found[usable] = threshold + scale * power_ratio(np.log(interactions * n / total), shape)
        return found
