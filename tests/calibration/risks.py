"""Cells of risks: parts of the Brier score, isotonic calibration, net benefit, rates by cut-off.

Scores lie on a grid, so that every truth is known exactly. Verdicts are at the edge of the fair
range, as in `tests.calibration.means`. What goes along cut-offs counts a sample as wrong where any
limit of any cut-off is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.outcomes import MissingReport
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.methods.rates.numbers.contrasts import (
    CentredContrast,
    LimitContrast,
    MeanDifference,
    MoverContrast,
)
from fairstats.methods.rates.numbers.cutoffs import CutRows, compare_rates_along
from fairstats.methods.rates.result import Inference
from fairstats.numerics.means.hall import Moments
from fairstats.numerics.means.isotonic import (
    CountedRisks,
    HonestBand,
    discrimination,
    equality_of_curves,
    miscalibration,
    uncertainty_limits,
    value_of_curve,
)
from tests.calibration.study import Cell, Counts

TWO_SIDED = float(ndtri(0.975))
ONE_SIDED = float(ndtri(0.95))
_MEASURES = ("above", "below", "false violated", "false satisfied")


@dataclass(frozen=True, eq=False)
class RiskLaw:
    """Scores with their probabilities, and the risk at each; `words`: both."""

    words: str
    scores: np.ndarray
    shares: np.ndarray
    risks: np.ndarray

    def draw(self, rng: np.random.Generator, n: int) -> CountedRisks:
        """A sample of n rows."""
        rows = rng.multinomial(n, self.shares)
        positives = rng.binomial(rows, self.risks)
        return CountedRisks.of(self.scores, rows - positives, positives)

    def counts(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Rows of both labels at every score, shape (2, m)."""
        rows = rng.multinomial(n, self.shares)
        positives = rng.binomial(rows, self.risks)
        return np.stack([rows - positives, positives])

    def truth(self, metric: str) -> float:
        """A part of the Brier score."""
        share = float(self.shares @ self.risks)
        if metric == "miscalibration":
            return float(self.shares @ (self.scores - self.risks) ** 2)
        if metric == "discrimination":
            return float(self.shares @ (self.risks - share) ** 2)
        return share * (1 - share)


def _law(words: str, n_scores: int, risk: Callable[[np.ndarray], np.ndarray], low: bool) -> RiskLaw:
    """Scores evenly spread, or piled up below .4 where `low`."""
    scores = (np.arange(n_scores) + 0.5) / n_scores
    weight = scores**0.5 * (1 - scores) ** 7 if low else np.ones(n_scores)
    kind = "low risks" if low else "even risks"
    return RiskLaw(f"{words}, {kind}", scores, weight / weight.sum(), risk(scores))


def _sharp(scores: np.ndarray) -> np.ndarray:
    return expit(0.5 * logit(scores) - 0.3)


CALIBRATED_LOW = _law("calibrated", 200, lambda s: s, low=True)
BAD_LOW = _law("badly calibrated", 200, _sharp, low=True)
CALIBRATED = _law("calibrated", 200, lambda s: s, low=False)
USELESS = _law("useless scores", 200, lambda s: np.full(s.size, 0.3), low=False)
TIED = _law("calibrated in ten ties", 10, lambda s: s, low=False)
TIED_BAD = _law("badly calibrated in ten ties", 10, _sharp, low=False)
USELESS_TIED = _law("useless scores in ten ties", 10, lambda s: np.full(s.size, 0.3), low=False)
TIED_LOW = _law("calibrated in 20 ties", 20, lambda s: s, low=True)

_Limits = Callable[[float], tuple[float, float]]


def _part(risks: CountedRisks, metric: str) -> tuple[float, _Limits]:
    """What a difference is centred at, and limits."""
    if metric == "uncertainty":
        positives = float(risks.positives.sum())
        share = positives / risks.size
        return share * (1 - share), lambda z: uncertainty_limits(positives, risks.size, z)
    part = miscalibration(risks) if metric == "miscalibration" else discrimination(risks)
    return part.centre, part.limits


def _parts(metric: str, law: RiskLaw, n: int, other: RiskLaw, m: int, runs: int = 2_000) -> Cell:
    """A part of the Brier score of n rows beside m."""
    truth = law.truth(metric) - other.truth(metric)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(_MEASURES, 0.0)
        answered = 0
        for _ in range(runs):
            pair = law.draw(rng, n), other.draw(rng, m)
            few = min(min(r.positives.sum(), r.size - r.positives.sum()) for r in pair)
            if few < LEAST_OF_LABEL:
                continue
            answered += 1
            (value, limits), (value_reference, limits_reference) = (_part(r, metric) for r in pair)
            made = LimitContrast if metric == "uncertainty" else CentredContrast
            contrast = made((value, value_reference), limits, limits_reference)
            low, high = contrast.limits(TWO_SIDED)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = contrast.limits(ONE_SIDED)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        return _counted(wrong, answered, runs)

    regime = f"{law.words}, {n} rows beside {m:,}, {other.words}"
    return Cell("means", f"scores(metric='{metric}')", regime, simulate, runs, "conservative")


def _counted(wrong: dict[str, float], answered: int, runs: int) -> Counts:
    counts = {measure: (total, answered) for measure, total in wrong.items()}
    counts["coverage"] = (answered - wrong["above"] - wrong["below"], answered)
    counts["answered"] = (answered, runs)
    return counts


def along(
    method: str,
    regime: str,
    contrasts: Callable[[np.random.Generator], list[tuple[MoverContrast | MeanDifference, float]]],
    divisor: int,
    runs: int = 2_000,
    version: str = "1",
) -> Cell:
    """Any limit of any cut-off; limits at the error divided by `divisor`."""
    at_interval = -float(ndtri(0.025 / divisor))
    at_verdict = -float(ndtri(0.05 / divisor))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(_MEASURES, 0.0)
        held = 0
        for _ in range(runs):
            drawn = contrasts(rng)
            ends = [(*contrast.limits(at_interval), truth) for contrast, truth in drawn]
            above = any(low > truth for low, _, truth in ends)
            below = any(high < truth for _, high, truth in ends)
            wrong["above"] += above
            wrong["below"] += below
            held += not (above or below)
            ends = [(*contrast.limits(at_verdict), truth) for contrast, truth in drawn]
            wrong["false violated"] += any(low > truth for low, _, truth in ends)
            wrong["false satisfied"] += any(high < truth for _, high, truth in ends)
        counts = {measure: (total, runs) for measure, total in wrong.items()}
        counts["coverage"] = (held, runs)
        return counts

    return Cell("means", method, regime, simulate, runs, "conservative", version=version)


def _bands(law: RiskLaw, n: int, other: RiskLaw, m: int) -> Cell:
    """Isotonic curves at five scores, of a group beside another."""
    cutoffs = (0.1, 0.3, 0.5, 0.7, 0.9)

    def contrasts(rng: np.random.Generator) -> list[tuple[MoverContrast | MeanDifference, float]]:
        pair = law.draw(rng, n), other.draw(rng, m)
        bands = [HonestBand.of(risks, len(cutoffs)) for risks in pair]
        found = []
        for cutoff in cutoffs:
            truth = float(np.interp(cutoff, law.scores, law.risks))
            truth -= float(np.interp(cutoff, other.scores, other.risks))
            limits = [
                lambda z, band=band, cutoff=cutoff: band.limits(cutoff, float(ndtr(-z)))
                for band in bands
            ]
            values = (value_of_curve(pair[0], cutoff), value_of_curve(pair[1], cutoff))
            found.append((MoverContrast(values, *limits), truth))
        return found

    regime = f"{law.words}, {n} rows beside {m:,}, {other.words}, five scores"
    return along("calibration(metric='isotonic')", regime, contrasts, 1, version="2")


def _benefits(law: RiskLaw, n: int, m: int, cutoffs: tuple[float, ...]) -> Cell:
    """Net benefit at some thresholds, both groups of one law."""

    def moments(counts: np.ndarray, cutoff: float) -> Moments:
        selected = law.scores >= cutoff
        numbers = np.concatenate([-cutoff / (1 - cutoff) * selected, 1.0 * selected])
        rows = counts.ravel()
        size = float(rows.sum())
        mean = float(rows @ numbers) / size
        excess = numbers - mean
        return Moments(
            mean=mean,
            variance=float(rows @ excess**2) / (size * (size - 1)),
            third=float(rows @ excess**3) / (size * (size - 1) * (size - 2)),
            size=size,
        )

    def contrasts(rng: np.random.Generator) -> list[tuple[MoverContrast | MeanDifference, float]]:
        pair = law.counts(rng, n), law.counts(rng, m)
        return [
            (MeanDifference(*(moments(counts, cutoff) for counts in pair)), 0.0)
            for cutoff in cutoffs
        ]

    words = ", ".join(f"{cutoff:g}" for cutoff in cutoffs)
    regime = f"{law.words}, {n} rows beside {m:,}, thresholds {words}"
    return along("scores(metric='net_benefit')", regime, contrasts, len(cutoffs))


def _rates(rate: str, law: RiskLaw, n: int, m: int, runs: int) -> Cell:
    """A rate at three cut-offs, both groups of one law: any of them called violated.

    Each cut-off by the rule of predictions, whose cells are those of rates.
    """
    cutoffs = (0.3, 0.5, 0.7)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        settings = Inference(margin=1e-9)
        wrong = 0
        for _ in range(runs):
            counts = np.stack([law.counts(rng, n), law.counts(rng, m)])
            counted = ScoreCounts(("a", "b"), law.scores, counts, MissingReport())
            with warnings.catch_warnings():
                # a cut-off above all scores of a sample
                warnings.simplefilter("ignore", InsufficientEvidenceWarning)
                result = compare_rates_along(
                    CutRows(counts=counted), rate, cutoffs, settings, "b", ratio=False
                )
            wrong += any(row.verdict == "violated" for row in result.comparisons)
        return {"false violated": (float(wrong), runs)}

    regime = f"{law.words}, {n} rows beside {m:,}, three cut-offs"
    return Cell("means", f"scores(metric='{rate}')", regime, simulate, runs, "conservative")


def _equality(law: RiskLaw, n: int, other: RiskLaw, m: int, runs: int = 2_000) -> Cell:
    """The test of equal curves, both groups with the risks of one, scores as in each."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        rejected = 0
        for _ in range(runs):
            test = equality_of_curves(law.draw(rng, n), other.draw(rng, m), 99, rng)
            rejected += test.pvalue <= 0.05
        return {"size": (float(rejected), runs)}

    regime = f"{law.words}, {n} rows beside {m:,}, {other.words}, 99 draws"
    return Cell(
        "means",
        "calibration(metric='isotonic'): equal curves",
        regime,
        simulate,
        runs,
        "conservative",
    )


def _cells() -> Iterator[Cell]:
    for metric in ("miscalibration", "discrimination"):
        for law, n in ((CALIBRATED_LOW, 100), (BAD_LOW, 100), (USELESS, 60), (TIED, 60)):
            yield _parts(metric, law, n, TIED_BAD, 600)
    for law, n in ((CALIBRATED_LOW, 100), (USELESS, 60), (CALIBRATED, 100)):
        yield _parts("uncertainty", law, n, TIED_BAD, 600, runs=10_000)
    for law, n, m in ((CALIBRATED_LOW, 100, 1_000), (CALIBRATED, 300, 300), (TIED_BAD, 60, 600)):
        yield _bands(law, n, TIED if law is TIED_BAD else law, m)
    yield _bands(USELESS_TIED, 60, USELESS_TIED, 600)
    yield _benefits(CALIBRATED_LOW, 100, 1_000, (0.05, 0.1, 0.2, 0.3))
    yield _benefits(BAD_LOW, 60, 600, (0.05, 0.1, 0.2, 0.3))
    yield _benefits(CALIBRATED, 200, 2_000, (0.2, 0.4, 0.6, 0.8))
    yield _rates("tpr", TIED, 1_500, 4_000, 2_000)
    yield _rates("ppv", TIED, 1_500, 4_000, 2_000)
    yield _equality(TIED_LOW, 100, TIED_LOW, 1_000)
    yield _equality(TIED, 60, TIED, 600)
    yield _equality(CALIBRATED, 200, CALIBRATED_LOW, 400)


CELLS = tuple(_cells())
