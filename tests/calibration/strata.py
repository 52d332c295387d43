"""Cells of comparisons within strata.

Intervals, verdicts and tests of the stratified score, many samples at once.

`verdicts` is the vectorised copy of what the public functions decide;
`tests/methods/rates/test_calibration_strata.py` holds it against them, sample by sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from fairstats.ground.verdict import fair_range
from fairstats.numerics.rates.homogeneity import homogeneity_test
from fairstats.numerics.rates.pooled import FEWEST_CASES, stratified
from fairstats.numerics.rates.strata import (
    EQUALITY,
    Contrast,
    Strata,
    fewest_cases,
    guarded_statistic,
)
from tests.calibration.study import Cell, Counts

LEVEL = 0.95
#: Of the procedure: 2 is the stratified score with the guard of its skewness.
VERSION = "2"


class Setting(NamedTuple):
    """Cases of the group and of its reference, rates of the reference, and the true contrast of all
    strata.
    """

    n: Sequence[int]
    n_reference: Sequence[int]
    rates: Sequence[float]
    contrast: Contrast
    truth: float

    @property
    def own_rates(self) -> np.ndarray:
        """Rates of the group."""
        reference = np.asarray(self.rates, dtype=float)
        if self.contrast == "ratio":
            return self.truth * reference
        if self.contrast == "difference":
            return reference + self.truth
        odds = self.truth * reference / (1 - reference)
        return odds / (1 + odds)

    def draw(self, rng: np.random.Generator, runs: int) -> tuple[Strata, np.ndarray]:
        """Distinct samples, and how often each was drawn."""
        shape = (runs, len(self.rates))
        k = rng.binomial(self.n, self.own_rates, shape)
        k0 = rng.binomial(self.n_reference, self.rates, shape)
        distinct, number = np.unique(np.concatenate([k, k0], axis=1), axis=0, return_counts=True)
        strata = len(self.rates)
        return Strata.of(
            distinct[:, :strata], self.n, distinct[:, strata:], self.n_reference
        ), number


def verdicts(tables: Strata, contrast: Contrast, size: float, level: float = LEVEL) -> np.ndarray:
    """Verdict of every sample: the p-value of its direction, both directions counted, against 1 −
    level.
    """
    low, high = fair_range(contrast, size)
    shape = tables.k1.shape[0]
    z_low, z_high = (
        guarded_statistic(tables, np.full(shape, end), contrast) for end in (low, high)
    )
    width = z_low - z_high
    p_violated = np.minimum(
        ndtr(z_low) + ndtr(z_low - width), ndtr(-z_high) + ndtr(-z_high - width)
    )
    p_satisfied = np.maximum(
        ndtr(-z_low) + ndtr(-z_low - width), ndtr(z_high) + ndtr(z_high - width)
    )
    found = np.full(shape, "undecided", dtype=object)
    found[np.minimum(p_violated, p_satisfied) <= 1 - level] = "violated"
    found[(p_satisfied <= 1 - level) & (p_satisfied < p_violated)] = "satisfied"
    found[fewest_cases(tables) < FEWEST_CASES] = "insufficient evidence"
    return found


def judged(
    setting: Setting, size: float, name: str, regime: str, runs: int = 10_000, **about: str
) -> Cell:
    """Interval and verdict, with a fair range of this size."""
    low, high = fair_range(setting.contrast, size)
    fair = low <= setting.truth <= high
    inner = low < setting.truth < high

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        tables, number = setting.draw(rng, runs)
        columns = (tables.k1, tables.n1, tables.k0, tables.n0)
        found = stratified(*columns, contrast=setting.contrast, confidence_level=LEVEL)
        said = verdicts(tables, setting.contrast, size)
        return {
            "coverage": (
                number[(found.low <= setting.truth) & (setting.truth <= found.high)].sum(),
                runs,
            ),
            "above": (number[found.low > setting.truth].sum(), runs),
            "below": (number[found.high < setting.truth].sum(), runs),
            "false violated": (number[fair & (said == "violated")].sum(), runs),
            "false satisfied": (number[(not inner) & (said == "satisfied")].sum(), runs),
            "answered": (number[said != "insufficient evidence"].sum(), runs),
        }

    return Cell("strata", name, regime, simulate, runs, version=VERSION, **about)


def equality(setting: Setting, regime: str, runs: int = 10_000) -> Cell:
    """Size of the test of equality, exact or not, and coverage beside it."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        tables, number = setting.draw(rng, runs)
        found = stratified(tables.k1, tables.n1, tables.k0, tables.n0, contrast=setting.contrast)
        held = (found.low <= setting.truth) & (setting.truth <= found.high)
        return {
            "size": (number[found.pvalue <= 1 - LEVEL].sum(), runs),
            "coverage": (number[held].sum(), runs),
            "answered": (runs, runs),
        }

    return Cell(
        "strata", "strata=: equality", regime, simulate, runs, claim="conservative", version=VERSION
    )


def homogeneous(setting: Setting, of: Contrast, regime: str, runs: int = 10_000) -> Cell:
    """Size of the test of homogeneity."""
    name = "Breslow–Day–Tarone" if of == "odds_ratio" else f"homogeneity of the {of}"

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        tables, number = setting.draw(rng, runs)
        found = homogeneity_test(tables, of).pvalue
        known = ~np.isnan(found)
        return {
            "size": (number[found <= 1 - LEVEL].sum(), int(number[known].sum())),
            "answered": (number[known].sum(), runs),
        }

    return Cell(
        "strata", f"strata=: {name}", regime, simulate, runs, claim="conservative", version=VERSION
    )


def _words(setting: Setting) -> str:
    """The setting in words."""
    sizes = ", ".join(f"{n}/{m:,}" for n, m in zip(setting.n, setting.n_reference, strict=True))
    alike = len({*zip(setting.n, setting.n_reference, strict=True)}) == 1
    if alike:
        sizes = f"{len(setting.n)} × {setting.n[0]}/{setting.n_reference[0]:,}"
    rates = f"{min(setting.rates):g} to {max(setting.rates):g}"
    return f"{sizes}, rates {rates}, {setting.contrast.replace('_', ' ')} {setting.truth:g}"


def _alike(
    strata: int, n: int, m: int, rates: tuple[float, float], contrast: Contrast, truth: float
) -> Setting:
    return Setting(
        [n] * strata, [m] * strata, np.linspace(*rates, strata).round(4).tolist(), contrast, truth
    )


_KEPT = "In small strata the interval holds equality wherever the exact test of it does."


def _cells() -> Iterator[Cell]:
    high = (0.85, 0.97)
    for strata, n, m in ((3, 10, 300), (3, 30, 1_000), (4, 20, 500), (10, 5, 50)):
        for truth in (0.9, 1 / 0.9, 1.0):
            rates = high if truth <= 1 else (0.765, 0.873)
            setting = _alike(strata, n, m, rates, "ratio", truth)
            kept = {"claim": "conservative", "remark": _KEPT} if truth == 1 else {}
            yield judged(
                setting, 0.9, "disparate_impact(strata=, threshold=0.9)", _words(setting), **kept
            )
    for rates in ((0.02, 0.1), (0.3, 0.7), (0.85, 0.97)):
        for strata, n, m in ((3, 10, 300), (12, 2, 40), (5, 20, 30), (30, 6, 8)):
            setting = _alike(strata, n, m, rates, "ratio", 0.8)
            yield judged(setting, 0.8, "disparate_impact(strata=)", _words(setting))
    for strata, n, m in ((3, 10, 300), (12, 2, 40), (5, 20, 30)):
        for rates, truth in (((0.15, 0.4), -0.1), ((0.02, 0.1), 0.1), ((0.85, 0.97), -0.1)):
            setting = _alike(strata, n, m, rates, "difference", truth)
            yield judged(setting, 0.1, "demographic_parity_difference(strata=)", _words(setting))
    few = {
        "claim": "fails",
        "remark": "fewer than 20 cases of a group: no verdict, and equality is tested exactly",
    }
    for strata, n, m in ((3, 4, 300), (2, 3, 600)):
        setting = _alike(strata, n, m, (0.4, 0.7), "ratio", 0.8)
        yield judged(setting, 0.8, "disparate_impact(strata=)", _words(setting), **few)
    for strata, n, m in ((3, 4, 300), (3, 10, 300), (12, 2, 40), (10, 5, 5), (5, 20, 30)):
        for rates in ((0.02, 0.1), (0.3, 0.7)):
            yield equality(
                _alike(strata, n, m, rates, "ratio", 1.0),
                _words(_alike(strata, n, m, rates, "ratio", 1.0)),
            )
    for strata, n, m in ((3, 30, 100), (6, 20, 20), (20, 10, 10)):
        for of in EQUALITY:
            setting = _alike(
                strata,
                n,
                m,
                (0.3, 0.6),
                of,
                {"ratio": 0.8, "difference": -0.1, "odds_ratio": 0.5}[of],
            )
            yield homogeneous(setting, of, _words(setting))


CELLS = tuple(_cells())
#: z of the default level, for searches for worse settings.
CRITICAL = float(ndtri(LEVEL))


def worst(seed: int, settings: int, samples: int = 20_000) -> list[tuple[float, Setting]]:
    """A search for worse settings: random sizes, rates and contrasts with 20 cases or more.

    Largest errors first.
    """
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < settings:
        strata = int(rng.integers(1, 13))
        n = rng.integers(1, int(rng.choice([3, 8, 30, 60])) + 1, strata)
        m = (
            n * int(rng.choice([1, 3, 10, 30]))
            if rng.random() < 0.5
            else rng.integers(2, 1_000, strata)
        )
        low = float(rng.choice([0.02, 0.3, 0.8]))
        rates = rng.uniform(low, low + 0.18, strata)
        contrast: Contrast = str(rng.choice(["ratio", "difference"]))  # type: ignore[assignment]
        choices = (
            (0.8, 0.9, 0.95, 1 / 0.9, 1.25)
            if contrast == "ratio"
            else (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2)
        )
        setting = Setting(
            n.tolist(), m.tolist(), rates.tolist(), contrast, float(rng.choice(choices))
        )
        own = setting.own_rates
        if min(n.sum(), m.sum()) < FEWEST_CASES or (own <= 0).any() or (own >= 1).any():
            continue
        tables, number = setting.draw(rng, samples)
        z = guarded_statistic(tables, np.full(number.size, setting.truth), contrast)
        error = max(number[z < -CRITICAL].sum(), number[z > CRITICAL].sum()) / samples
        found.append((float(error), setting))
    return sorted(found, key=lambda one: one[0], reverse=True)
