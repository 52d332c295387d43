"""Cells of AUC and of parts of the Brier score beside everybody within strata.

By the code that the public functions call (`tests/methods/rates/numbers/test_calibration_strata.py`
holds them against it).

Scores lie on a grid, so that the truth of every stratum is known exactly; it is summed with the
weights of the group that the estimate has. Errors are those of the interval and of both one-sided
limits, and the truth need not be 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from fairstats.ground.checks import check_given
from fairstats.methods.rates.numbers import scores
from fairstats.methods.rates.numbers.strata_pairs import names_of_pair
from fairstats.methods.rates.numbers.stratified import make_pair
from fairstats.methods.rates.result import Inference
from tests.calibration import risks as plain
from tests.calibration.parts_of_all import mixture
from tests.calibration.risks import ONE_SIDED, TWO_SIDED, RiskLaw
from tests.calibration.study import Cell, Counts

#: Limits at Φ(z) each.
Limits = Callable[[float], tuple[float, float]]
#: A generator to limits within strata and their truth; None where there are none.
_Draw = Callable[[np.random.Generator], tuple[Limits, float] | None]


def limits_within(
    metric: str, columns: dict[str, Any], comparisons: str, *, ratio: bool = False
) -> Limits | None:
    """Of group g0 beside g1, or everybody, in all strata; None where it has none.

    `columns`: arguments of `fs.scores`.
    """
    settings = Inference(
        comparisons=comparisons,
        threshold=0.8 if ratio else None,
        margin=None if ratio else 0.0,
    )
    columns = dict(columns)
    label = columns.pop("y_true")
    score = columns.pop("score")
    is_pooled = comparisons != "reference"
    rows = scores._rows_of(label, score, metric, columns, None, is_pooled=is_pooled)
    sums = scores._sums_of(rows, metric, settings, columns["strata"], None)
    moments = check_given("strata", sums.within)
    if is_pooled:
        moments = moments._beside_rest()
    names = names_of_pair(moments, "g0", "g1", comparisons)
    pair = make_pair(metric, metric, names, moments, sums.areas, sums.cells)
    if pair.why_not(0, ratio=ratio) or pair.why_not(1, ratio=ratio) or not pair.used.all():
        return None
    return pair.contrast(0, 1, ratio=ratio).limits


def limits_cell(name: str, regime: str, draw: _Draw, runs: int = 2_000, **about: str) -> Cell:
    """How often limits miss the truth."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = draw(rng)
            if found is None:
                continue
            answered += 1
            limits, truth = found
            low, high = limits(TWO_SIDED)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = limits(ONE_SIDED)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        counts = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        return {**counts, "coverage": (float(held), answered), "answered": (answered, runs)}

    about = {"claim": "conservative", **about}
    return Cell("means", name, regime, simulate, runs, **about)


class ScoreLaw(NamedTuple):
    """Scores of both labels of several groups: normal, cut at a grid of so many places.

    `distances`: of scores of label 1 from those of label 0; `shifts`: of both, by group; `spread`:
    of label 1.
    """

    distances: Sequence[float]
    shifts: Sequence[float]
    places: int = 200
    spread: float = 1.0

    @property
    def edges(self) -> np.ndarray:
        """Between the places."""
        return np.linspace(-4, 6, self.places - 1)

    def between(self) -> np.ndarray:
        """P(X > Y) + P(X = Y)/2, X of label 1 of one group (rows), Y of label 0 of another."""
        laws = []
        for label in (1, 0):
            means = np.array(self.shifts) + label * np.array(self.distances)
            spread = self.spread if label else 1.0
            below = ndtr((self.edges - means[:, None]) / spread)
            ends = np.zeros((len(means), 1)), np.ones((len(means), 1))
            laws.append(np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1))
        positives, negatives = laws
        below = np.cumsum(negatives, axis=1) - negatives / 2
        return np.asarray(positives @ below.T)

    def draw(self, noise: np.ndarray, group: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Scores in (0, 1) from standard normal noise."""
        spread = np.where(label == 1, self.spread, 1.0)
        mean = np.take(self.shifts, group) + label * np.take(self.distances, group)
        return (np.searchsorted(self.edges, mean + spread * noise) + 0.5) / self.places


class AreaSetting(NamedTuple):
    """`sizes`: rows with label 1 and 0, by stratum and group.

    `cv`: of lognormal weights; `cluster_rows`: of a cluster, whose rows share half of their scores'
    variance, in one stratum, or `across` all of them.
    """

    law: ScoreLaw
    sizes: Sequence[Sequence[tuple[int, int]]]
    words: str
    contrast: str = "difference"
    cv: float = 0.0
    cluster_rows: int = 0
    across: bool = False
    comparisons: str = "overall"

    @property
    def regime(self) -> str:
        """In words."""
        listed = ["; ".join(f"{p} + {n}" for p, n in groups) for groups in self.sizes]
        words = " | ".join(listed)
        if len(set(listed)) == 1:
            words = f"{len(listed)} × ({listed[0]})"
        words += f" rows, {self.words}"
        if self.contrast == "ratio":
            words += ", ratio"
        if self.cv:
            words += f", weights CV {self.cv:g}"
        if self.cluster_rows:
            words += f", clusters of {self.cluster_rows}"
        return words + (" over all strata" if self.across else "")

    def draw(self, rng: np.random.Generator) -> tuple[Limits, float] | None:
        """Limits of the first group, and their truth given the weights."""
        columns, truth = self.sample(rng)
        limits = limits_within("auc", columns, self.comparisons, ratio=self.contrast == "ratio")
        return None if limits is None else (limits, truth)

    def sample(self, rng: np.random.Generator) -> tuple[dict[str, Any], float]:
        """Columns, and the truth given the weights."""
        stratum, group, label = self._rows()
        weight = np.ones(label.size)
        if self.cv:
            weight = np.exp(rng.normal(0, np.sqrt(np.log1p(self.cv**2)), label.size))
        noise = rng.normal(size=label.size)
        columns: dict[str, Any] = {}
        if self.cluster_rows:
            unit = self._units(rng, stratum, group)
            noise = (noise + rng.normal(size=unit.max() + 1)[unit]) / np.sqrt(2)
            columns["cluster"] = unit
        if self.cv:
            columns["sample_weight"] = weight
        columns |= {
            "y_true": label,
            "score": self.law.draw(noise, group, label),
            "sensitive_features": np.char.add("g", group.astype(str)),
            "strata": stratum,
        }
        return columns, self._truth(stratum, group, label, weight)

    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        for stratum, groups in enumerate(self.sizes):
            for group, sizes in enumerate(groups):
                for label, size in zip((1, 0), sizes, strict=True):
                    for column, value in zip(columns, (stratum, group, label), strict=True):
                        column.extend([value] * size)
        stratum_of_row, group_of_row, label_of_row = (np.array(column) for column in columns)
        return stratum_of_row, group_of_row, label_of_row

    def _units(
        self, rng: np.random.Generator, stratum: np.ndarray, group: np.ndarray
    ) -> np.ndarray:
        """The cluster of every row, of one group each."""
        kind = group if self.across else stratum * (group.max() + 1) + group
        unit = np.zeros(group.size, dtype=np.intp)
        first = 0
        for each in np.unique(kind):
            rows = np.flatnonzero(kind == each)
            count = max(rows.size // self.cluster_rows, 1)
            unit[rows] = first + rng.permutation(np.arange(rows.size) % count)
            first += count
        return unit

    def _truth(
        self, stratum: np.ndarray, group: np.ndarray, label: np.ndarray, weight: np.ndarray
    ) -> float:
        between = self.law.between()
        totals = np.zeros((2, len(self.sizes), len(self.sizes[0])))
        np.add.at(totals, (label, stratum, group), weight)
        negatives, positives = totals
        own = positives[:, 0]
        if self.comparisons == "reference":
            own = positives[:, 0] * positives[:, 1] / (positives[:, 0] + positives[:, 1])
            of_others = np.full(len(own), between[1, 1])
        else:
            pairs = np.einsum("hg,gk,hk->h", positives, between, negatives)
            of_others = pairs / positives.sum(axis=1) / negatives.sum(axis=1)
        of_all = float(own @ of_others / own.sum())
        area = float(between[0, 0])
        return area / of_all if self.contrast == "ratio" else area - of_all


def _area(setting: AreaSetting) -> Cell:
    name = f"scores(strata=, metric='auc', comparisons='{setting.comparisons}')"
    return limits_cell(name, setting.regime, setting.draw)


def _parts(
    metric: str, laws: Sequence[RiskLaw], sizes: Sequence[Sequence[int]], cluster_rows: int = 0
) -> Cell:
    """A part of the first group beside everybody; labels of a cluster are drawn with half alike.

    `sizes`: rows by stratum and group; of `laws` of the groups every stratum has the same.
    """
    stratum = np.repeat(np.arange(len(sizes)), [sum(groups) for groups in sizes])
    group = np.concatenate([np.repeat(np.arange(len(groups)), groups) for groups in sizes])
    own = np.array([groups[0] for groups in sizes], dtype=float)
    of_all = np.array([mixture(tuple(laws), tuple(groups)).truth(metric) for groups in sizes])
    truth = laws[0].truth(metric) - float(own @ of_all / own.sum())
    unit = np.cumsum(np.arange(group.size) % max(cluster_rows, 1) == 0)
    unit = unit * len(laws) + group

    def draw(rng: np.random.Generator) -> tuple[Limits, float] | None:
        place = np.zeros(group.size, dtype=np.intp)
        for each, law in enumerate(laws):
            rows = np.flatnonzero(group == each)
            place[rows] = rng.choice(law.scores.size, rows.size, p=law.shares)
        risk = np.array([law.risks for law in laws])[group, place]
        columns: dict[str, Any] = {}
        chance = rng.random(group.size)
        if cluster_rows:
            common = rng.random(unit.max() + 1)[unit]
            chance = np.where(rng.random(group.size) < 0.5, common, chance)
            columns["cluster"] = unit
        columns |= {
            "y_true": (chance < risk).astype(int),
            "score": laws[0].scores[place],
            "sensitive_features": np.char.add("g", group.astype(str)),
            "strata": stratum,
        }
        limits = limits_within(metric, columns, "overall")
        return None if limits is None else (limits, truth)

    listed = ["/".join(map(str, groups)) for groups in sizes]
    words = f"{len(listed)} × {listed[0]}" if len(set(listed)) == 1 else ", ".join(listed)
    regime = f"{words} rows, {'; '.join(law.words for law in laws)}"
    if cluster_rows:
        regime += f", clusters of {cluster_rows}"
    name = f"scores(strata=, metric='{metric}', comparisons='overall')"
    return limits_cell(name, regime, draw)


ALIKE = ScoreLaw((1.2, 1.2, 1.2), (0.0, 0.0, 0.0))
SHIFTED = ScoreLaw((1.8, 0.8, 1.0), (0.0, 0.6, -0.6))
TIED = ScoreLaw((2.0, 1.0), (0.3, 0.0), places=8)
WIDE = ScoreLaw((1.5, 1.0), (0.0, 0.3), spread=2.0)


def _cells() -> Iterator[Cell]:
    small = [[(10, 20), (20, 40), (40, 100)]] * 3
    yield _area(AreaSetting(ALIKE, small, "AUC .80 in each"))
    yield _area(AreaSetting(SHIFTED, small, "AUC .90, .71, .76, shifted"))
    opposite = [[(60, 100), (5, 12)], [(20, 30), (20, 30)], [(5, 12), (60, 100)]]
    yield _area(AreaSetting(TIED, opposite, "AUC .92, .76, shifted, eight scores"))
    yield _area(AreaSetting(TIED, [[(4, 9), (15, 40)]] * 6, "AUC .92, .76, shifted, eight scores"))
    yield _area(AreaSetting(WIDE, [[(12, 40), (60, 200)]] * 3, "labels 1 spread twice as much"))
    yield _area(AreaSetting(SHIFTED, small, "AUC .90, .71, .76, shifted", contrast="ratio"))
    yield _area(AreaSetting(SHIFTED, small, "AUC .90, .71, .76, shifted", cv=1.0))
    large = [[(30, 60), (60, 120)]] * 3
    pair = ScoreLaw((1.5, 1.0), (0.3, 0.0))
    yield _area(AreaSetting(pair, large, "AUC .86, .76, shifted", cluster_rows=4))
    across = AreaSetting(pair, large, "AUC .86, .76, shifted", cluster_rows=4, across=True)
    yield _area(across)
    yield _area(across._replace(comparisons="reference"))
    few = [[(8, 16), (20, 40)]] * 6
    yield _area(across._replace(sizes=few, cluster_rows=6, comparisons="reference"))
    yield _area(across._replace(sizes=few, cluster_rows=6, cv=0.5))
    yield _area(across._replace(law=TIED, sizes=opposite, cluster_rows=3, comparisons="reference"))
    for metric in ("miscalibration", "discrimination", "uncertainty"):
        yield _parts(metric, (plain.TIED_BAD, plain.TIED), [(60, 200)] * 3)
        yield _parts(metric, (plain.TIED, plain.TIED_BAD), [(300, 60), (120, 120), (60, 300)])
        yield _parts(metric, (plain.TIED_BAD, plain.TIED), [(120, 300)] * 3, cluster_rows=4)


CELLS = tuple(_cells())
