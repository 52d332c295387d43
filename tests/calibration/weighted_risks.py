"""Cells of isotonic curves and parts of the Brier score of rows with weights or in clusters.

Laws of scores and risks are those of `tests.calibration.risks`, as the weighted rows have them; what
goes along scores counts a sample as wrong where any limit is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.methods.rates.numbers.contrasts import CentredContrast, LimitContrast, MoverContrast
from fairstats.numerics.means.weighted_risks import (
    WeightedBand,
    WeightedRisks,
    equality_of_weighted_curves,
    weighted_part,
    weighted_uncertainty_limits,
)
from tests.calibration import risks as plain
from tests.calibration.risks import ONE_SIDED, TWO_SIDED, RiskLaw
from tests.calibration.study import Cell, Counts

_MEASURES = ("above", "below", "false violated", "false satisfied")


@dataclass(frozen=True)
class Design:
    """How weights and clusters come about.

    `spread`: coefficient of variation of lognormal weights; `label_weight`: how much more a row with
    label 1 weighs; `rows` of each cluster, with labels that correlate by .2, and of one score where
    `one_score`.
    """

    spread: float = 0.0
    label_weight: float = 1.0
    rows: int = 1
    one_score: bool = False

    @property
    def words(self) -> str:
        """In the regime of a cell."""
        parts = []
        if self.rows > 1:
            of_one = " of one score" if self.one_score else ""
            parts.append(f"clusters of {self.rows} rows{of_one}, correlation .2")
        if self.spread:
            parts.append(f"weights of CV {self.spread:g}")
        if self.label_weight != 1:
            parts.append(f"label 1 weighs {self.label_weight:g} times as much")
        return ", ".join(parts)

    @property
    def arguments(self) -> str:
        """As users write them."""
        names = []
        if self.spread or self.label_weight != 1:
            names.append("sample_weight=")
        if self.rows > 1:
            names.append("cluster=")
        return ", ".join(names)

    def draw(self, law: RiskLaw, rng: np.random.Generator, n: int) -> WeightedRisks:
        """A sample of n rows, whose weighted law is `law`."""
        unit = np.arange(n) // self.rows
        n_units = int(unit[-1]) + 1
        # the risk of a row, of which the weighted one is that of the law
        odds = law.risks / (1 - law.risks) / self.label_weight
        risk = odds / (1 + odds)
        weight_at = risk * self.label_weight + 1 - risk
        shares = law.shares / weight_at
        size = n_units if self.one_score else n
        at = rng.choice(law.scores.size, size, p=shares / shares.sum())
        if self.one_score:
            at = at[unit]
        # rows that share the number of their cluster with probability √ρ have the correlation ρ
        own = rng.random(n)
        if self.rows > 1:
            own = np.where(rng.random(n) < np.sqrt(0.2), rng.random(n_units)[unit], own)
        labels = (own < risk[at]).astype(np.float64)
        scale = np.sqrt(np.log1p(self.spread**2))
        weights = np.exp(scale * rng.normal(size=n_units))[unit]
        weights = weights * np.where(labels == 1, self.label_weight, 1.0)
        return WeightedRisks.of(law.scores[at], labels, weights, unit)


def _few(risks: WeightedRisks) -> bool:
    """Whether a label has too few units."""
    numbers = [np.unique(risks.unit[risks.labels == label]).size for label in (0, 1)]
    return min(numbers) < LEAST_OF_LABEL


def part_contrast(pair: tuple[WeightedRisks, WeightedRisks], metric: str) -> MoverContrast:
    """A part of the Brier score of two groups."""
    if metric == "uncertainty":
        shares = [risks.effective_share() for risks in pair]
        values = tuple(share.share * (1 - share.share) for share in shares)
        return LimitContrast(
            (values[0], values[1]),
            lambda z: weighted_uncertainty_limits(shares[0], z),
            lambda z: weighted_uncertainty_limits(shares[1], z),
        )
    parts = [weighted_part(risks, metric) for risks in pair]
    return CentredContrast((parts[0].centre, parts[1].centre), parts[0].limits, parts[1].limits)


def _parts(
    metric: str, design: Design, law: RiskLaw, n: int, other: RiskLaw, m: int, **about: str
) -> Cell:
    """A part of the Brier score of n rows beside m."""
    truth = law.truth(metric) - other.truth(metric)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(_MEASURES, 0.0)
        answered = 0
        for _ in range(runs):
            pair = design.draw(law, rng, n), design.draw(other, rng, m)
            if _few(pair[0]) or _few(pair[1]):
                continue
            answered += 1
            contrast = part_contrast(pair, metric)
            low, high = contrast.limits(TWO_SIDED)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = contrast.limits(ONE_SIDED)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        counts = {measure: (total, answered) for measure, total in wrong.items()}
        counts["coverage"] = (answered - wrong["above"] - wrong["below"], answered)
        return {**counts, "answered": (answered, runs)}

    regime = f"{law.words}, {n} rows beside {m:,}, {other.words}, {design.words}"
    about = {"claim": "conservative", **about}
    name = f"scores(metric='{metric}', {design.arguments})"
    return Cell("means", name, regime, simulate, 2_000, **about)


def _bands(design: Design, law: RiskLaw, n: int, other: RiskLaw, m: int) -> Cell:
    """Isotonic curves at five scores, of a group beside another."""
    points = np.array([0.1, 0.3, 0.5, 0.7, 0.9])

    def contrasts(rng: np.random.Generator) -> list[tuple[MoverContrast, float]]:
        pair = design.draw(law, rng, n), design.draw(other, rng, m)
        bands = [WeightedBand.of(risks, points) for risks in pair]
        found = []
        for score in points.tolist():
            truth = float(np.interp(score, law.scores, law.risks))
            truth -= float(np.interp(score, other.scores, other.risks))
            limits: list[Callable[[float], tuple[float, float]]] = [
                lambda z, band=band, score=score: band.limits(score, float(ndtr(-z)))  # type: ignore[misc]
                for band in bands
            ]
            values = (pair[0].value_at(score), pair[1].value_at(score))
            found.append((MoverContrast(values, *limits), truth))
        return found

    regime = f"{law.words}, {n} rows beside {m:,}, {other.words}, {design.words}, five scores"
    name = f"calibration(metric='isotonic', {design.arguments})"
    return plain.along(name, regime, contrasts, 1)


def _equality(design: Design, law: RiskLaw, n: int, m: int, **about: str) -> Cell:
    """The test of equal curves, both groups of one law."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        for _ in range(runs):
            pair = design.draw(law, rng, n), design.draw(law, rng, m)
            rejected += equality_of_weighted_curves(*pair, 99, rng).pvalue <= 0.05
        return {"size": (float(rejected), runs)}

    regime = f"{law.words}, {n} rows beside {m:,}, {design.words}, 99 draws"
    name = f"calibration(metric='isotonic', {design.arguments}): equal curves"
    about = {"claim": "conservative", **about}
    return Cell("means", name, regime, simulate, 2_000, **about)


_EVEN = Design(0.5)
_UNEVEN = Design(1.0)
_LABEL = Design(label_weight=3.0)
_CLUSTERS = Design(rows=5)
_OF_ONE_SCORE = Design(rows=5, one_score=True)
_BOTH = Design(0.5, rows=5)


def _cells() -> Iterator[Cell]:
    for metric in ("miscalibration", "discrimination"):
        yield _parts(metric, _EVEN, plain.BAD_LOW, 100, plain.TIED_BAD, 600)
        yield _parts(metric, _UNEVEN, plain.CALIBRATED_LOW, 200, plain.TIED_BAD, 600)
        yield _parts(metric, _LABEL, plain.CALIBRATED, 150, plain.TIED_BAD, 600)
        yield _parts(metric, _CLUSTERS, plain.TIED, 150, plain.TIED_BAD, 600)
        yield _parts(metric, _OF_ONE_SCORE, plain.BAD_LOW, 200, plain.TIED_BAD, 600)
        yield _parts(metric, _BOTH, plain.USELESS, 150, plain.TIED_BAD, 600)
    yield _parts("uncertainty", _UNEVEN, plain.CALIBRATED_LOW, 200, plain.TIED_BAD, 600)
    yield _parts("uncertainty", _CLUSTERS, plain.USELESS, 150, plain.TIED_BAD, 600)
    yield _parts("uncertainty", _OF_ONE_SCORE, plain.CALIBRATED, 150, plain.TIED_BAD, 600)
    yield _bands(_UNEVEN, plain.CALIBRATED_LOW, 200, plain.CALIBRATED_LOW, 1_000)
    yield _bands(_LABEL, plain.USELESS_TIED, 100, plain.USELESS_TIED, 600)
    yield _bands(_OF_ONE_SCORE, plain.USELESS_TIED, 150, plain.USELESS_TIED, 600)
    yield _bands(_BOTH, plain.TIED, 150, plain.TIED, 600)
    yield _equality(_EVEN, plain.TIED_LOW, 150, 1_000)
    yield _equality(_UNEVEN, plain.TIED, 100, 600)
    yield _equality(_LABEL, plain.TIED, 100, 600)
    yield _equality(_CLUSTERS, plain.TIED, 100, 600)
    yield _equality(_OF_ONE_SCORE, plain.TIED, 150, 600)
    yield _equality(_BOTH, plain.TIED_LOW, 200, 1_000)


CELLS = tuple(_cells())
