"""Cells of parts of the Brier score and isotonic curves of a group beside everybody.

Laws of scores and risks are those of `tests.calibration.risks`; everybody's is their mixture with the
groups' shares. Decisions are by the code that public functions call.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairstats.ground.outcomes import MissingReport
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.numbers.contrasts import MoverContrast
from fairstats.methods.rates.numbers.cutoffs import CutRows
from fairstats.methods.rates.numbers.isotonic import part_values
from fairstats.methods.rates.numbers.parts_of_all import sides_of_all_parts
from tests.calibration import risks as plain
from tests.calibration.risks import ONE_SIDED, TWO_SIDED, RiskLaw
from tests.calibration.study import Cell, Counts


def mixture(laws: tuple[RiskLaw, ...], sizes: tuple[int, ...]) -> RiskLaw:
    """The law of all rows of groups whose scores lie on one grid."""
    weights = np.array(sizes) / sum(sizes)
    shares = weights @ np.array([law.shares for law in laws])
    positives = weights @ np.array([law.shares * law.risks for law in laws])
    return RiskLaw("everybody", laws[0].scores, shares, positives / shares)


def _cell(metric: str, laws: tuple[RiskLaw, ...], sizes: tuple[int, ...]) -> Cell:
    truth = laws[0].truth(metric) - mixture(laws, sizes).truth(metric)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            counts = np.stack([law.counts(rng, n) for law, n in zip(laws, sizes, strict=True)])
            names = tuple(f"g{place}" for place in range(len(laws)))
            rows = CutRows(counts=ScoreCounts(names, laws[0].scores, counts, MissingReport()))
            values = part_values(rows, metric)
            if values.notes[0]:
                continue
            answered += 1
            contrast = sides_of_all_parts(rows, values, metric, counts.sum(axis=(1, 2)), 1.96)[0]
            ends = contrast.contrast
            assert isinstance(ends, MoverContrast)
            low, high = ends.limits(TWO_SIDED)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = ends.limits(ONE_SIDED)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        found = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        return {**found, "coverage": (float(held), answered), "answered": (answered, runs)}

    words = "; ".join(f"{n} rows {law.words}" for law, n in zip(laws, sizes, strict=True))
    name = f"scores(metric='{metric}', comparisons='overall')"
    return Cell("means", name, f"the first of {words}", simulate, 2_000, "conservative")


def _cells() -> Iterator[Cell]:
    for metric in ("miscalibration", "discrimination", "uncertainty"):
        yield _cell(metric, (plain.TIED_BAD, plain.TIED), (100, 400))
        yield _cell(metric, (plain.TIED, plain.TIED_BAD), (500, 100))
        laws = (plain.USELESS_TIED, plain.TIED, plain.TIED_BAD)
        yield _cell(metric, laws, (80, 200, 120))


CELLS = tuple(_cells())
