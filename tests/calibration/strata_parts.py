"""Cells of parts of the Brier score within strata.

Laws of scores and risks are those of `tests.calibration.risks`; the law of a stratum is one of
several, and both groups have it, so that every difference is 0 in truth, which is its margin, too.
`tests/methods/rates/numbers/test_stratified_parts.py` holds the sums against the public function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.methods.rates.numbers.contrasts import CentredContrast, LimitContrast, MoverContrast
from fairstats.numerics.means.isotonic import (
    CountedRisks,
    discrimination,
    miscalibration,
    uncertainty_limits,
)
from fairstats.numerics.means.strata import limits_of_sum, mantel_haenszel_weights
from fairstats.numerics.means.weighted_risks import sum_of_parts
from tests.calibration import risks as plain
from tests.calibration.risks import ONE_SIDED, TWO_SIDED, RiskLaw
from tests.calibration.study import Cell, Counts

_LAWS = (plain.TIED, plain.TIED_BAD, plain.USELESS_TIED)


def _is_small(risks: CountedRisks) -> bool:
    positives = float(risks.positives.sum())
    return min(positives, risks.size - positives) < LEAST_OF_LABEL


def contrast_of(
    pair: tuple[Sequence[CountedRisks], Sequence[CountedRisks]], metric: str
) -> MoverContrast:
    """A part of two groups within strata."""
    sizes = [np.array([risks.size for risks in side]) for side in pair]
    shares = mantel_haenszel_weights(*sizes)
    if metric != "uncertainty":
        part = miscalibration if metric == "miscalibration" else discrimination
        sums = [sum_of_parts([part(risks) for risks in side], shares) for side in pair]
        return CentredContrast((sums[0].centre, sums[1].centre), sums[0].limits, sums[1].limits)
    values = []
    shifts = []
    for side, size in zip(pair, sizes, strict=True):
        share = np.array([float(risks.positives.sum()) for risks in side]) / size
        shift = -share * (1 - share) / size * (1 - size / size.sum())
        shifts.append(shift)
        values.append(share * (1 - share) - shift)

    def limits(side: int, z: float) -> tuple[float, float]:
        ends = []
        for risks in pair[side]:
            ends.append(uncertainty_limits(float(risks.positives.sum()), risks.size, z))
        columns = np.array(ends) - shifts[side][:, None]
        low, high = limits_of_sum(values[side], (columns[:, 0], columns[:, 1]), shares)
        return max(low, 0.0), min(high, 0.25)

    return LimitContrast(
        (float(shares @ values[0]), float(shares @ values[1])),
        lambda z: limits(0, z),
        lambda z: limits(1, z),
    )


def _cell(metric: str, sizes: Sequence[tuple[int, int]], laws: Sequence[RiskLaw]) -> Cell:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            kept: tuple[list[CountedRisks], list[CountedRisks]] = ([], [])
            for place, (n, m) in enumerate(sizes):
                law = laws[place % len(laws)]
                drawn = (law.draw(rng, n), law.draw(rng, m))
                if _is_small(drawn[0]) or _is_small(drawn[1]):
                    continue
                kept[0].append(drawn[0])
                kept[1].append(drawn[1])
            if not kept[0]:
                continue
            answered += 1
            contrast = contrast_of(kept, metric)
            low, high = contrast.limits(TWO_SIDED)
            wrong["above"] += low > 0
            wrong["below"] += high < 0
            low, high = contrast.limits(ONE_SIDED)
            wrong["false violated"] += low > 0
            wrong["false satisfied"] += high < 0
        counts = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        return {**counts, "coverage": (float(held), answered), "answered": (answered, runs)}

    n, m = sizes[0]
    words = f"{len(sizes)} strata of {n} rows beside {m}"
    if len(set(sizes)) > 1:
        words = f"strata of {', '.join(f'{n} and {m}' for n, m in sizes)} rows"
    regime = f"{words}, {'; '.join(law.words for law in laws)}"
    name = f"scores(strata=, metric='{metric}')"
    return Cell("means", name, regime, simulate, 2_000, "conservative")


def _cells() -> Iterator[Cell]:
    for metric in ("miscalibration", "discrimination", "uncertainty"):
        yield _cell(metric, [(60, 200)] * 3, _LAWS)
        yield _cell(metric, [(40, 80)] * 6, _LAWS)
        yield _cell(metric, [(40, 300), (100, 100), (300, 40)], (plain.TIED_BAD,))


CELLS = tuple(_cells())
