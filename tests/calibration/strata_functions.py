"""Cells of functions of the cells, and of means of rates by the delta method, within strata.

Every sample goes through the kernel of the public functions (`estimates_within`, `decide_by_delta`);
`tests/methods/rates/test_stratified_functions.py` holds `decided` against these. The truth is that of
the weights that the strata have in the sample, and the margin (or threshold) is the truth itself:
"false violated" and "false satisfied" are its one-sided errors at .05.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from fairstats.ground.registry import RATES, Rate
from fairstats.ground.strata import StratumCounts, StratumDesign
from fairstats.methods.rates.classes.rates import rates_of_classes
from fairstats.methods.rates.classes.strata import quantity_of_mean
from fairstats.methods.rates.decision import PairDecision
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.strata.functions import (
    CellQuantity,
    decide_by_delta,
    estimates_within,
    name_of_delta,
    quantity_of,
)
from fairstats.numerics.rates.score import Contrast
from fairstats.numerics.rates.standardised import common_weight
from fairstats.results import ClassCounts
from tests.calibration.study import Cell, Counts

_LEVEL = 0.95
_CELLS = ("tp", "fp", "fn", "tn")


def jaccard(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> np.ndarray:
    """Of predictions and labels."""
    return tp / (tp + fp + fn)


@dataclass(frozen=True)
class Setting:
    """Rows of the group and its reference in every stratum, and the laws of their rows.

    `shares`, shape (H, J): of the labels in a stratum; `right`, shape (2, J): how often the
    predictions of group and reference are right, by the label, less by `harder` from one stratum to
    the next; a wrong prediction is any other label. Two labels are tn/fp and fn/tp. `cv`: of
    lognormal weights; `cluster`: rows of a cluster, of both groups and all strata, whose predictions
    are right together with the correlation `icc` on the normal scale.
    """

    metric: str
    contrast: Contrast
    n: tuple[int, ...]
    n_reference: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]
    right: tuple[tuple[float, ...], tuple[float, ...]]
    harder: float = 0.05
    comparisons: str = "reference"
    cv: float = 0.0
    cluster: int = 0
    icc: float = 0.0
    fails: str = ""
    claim: str = "valid"

    @property
    def words(self) -> str:
        """The setting in words."""
        pairs = list(zip(self.n, self.n_reference, strict=True))
        words = ", ".join(f"{n}/{m}" for n, m in pairs)
        if len(set(pairs)) == 1:
            words = f"{len(pairs)} × {pairs[0][0]}/{pairs[0][1]}"
        labels = ", ".join(f"{share:g}" for share in np.mean(self.shares, axis=0))
        if self.n_classes == 2:
            labels = f"{np.mean(self.shares, axis=0)[1]:g} positive"
        own, reference = (", ".join(f"{rate:g}" for rate in rates) for rates in self.right)
        words += f", labels {labels}, right {own} against {reference}"
        if self.cv:
            words += f", weights CV {self.cv:g}"
        if self.cluster:
            words += f", clusters of {self.cluster} in strata and groups, ICC {self.icc:g}"
        return words

    @property
    def n_classes(self) -> int:
        """Labels."""
        return len(self.shares[0])

    @cached_property
    def chances(self) -> np.ndarray:
        """Of a right prediction, shape (2, H, J)."""
        harder = self.harder * np.arange(len(self.n))
        return np.asarray(self.right)[:, None, :] - harder[:, None]

    @cached_property
    def cells(self) -> np.ndarray:
        """Probabilities of the cells, labels a row of J predictions each, shape (2, H, J²)."""
        n_classes = self.n_classes
        table = np.zeros((2, len(self.n), n_classes, n_classes))
        for label in range(n_classes):
            share = np.asarray(self.shares)[:, label]
            chance = self.chances[..., label]
            table[..., label, :] = (share * (1 - chance) / (n_classes - 1))[..., None]
            table[..., label, label] = share * chance
        return table.reshape(2, len(self.n), n_classes**2)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the cells, in the order of `cells`."""
        if self.n_classes == 2:
            return ("tn", "fp", "fn", "tp")
        return self.classes.cells

    @cached_property
    def classes(self) -> ClassCounts:
        """A table of the classes, for their names."""
        table = np.ones((self.n_classes, self.n_classes), dtype=int).tolist()
        return ClassCounts.from_tables({"a": table}, classes=list("xyz")[: self.n_classes])

    @cached_property
    def quantity(self) -> CellQuantity:
        """What is compared."""
        if self.metric == "jaccard":
            return CellQuantity(rate=Rate("jaccard", "Jaccard", ""), function=jaccard)
        rate = RATES[self.metric]
        if self.n_classes == 2:
            quantity = quantity_of(rate, _CELLS, self.contrast)
        else:
            (mean,) = rates_of_classes(self.classes, [rate], "macro")
            quantity = quantity_of_mean(self.classes, mean, self.contrast)
        if quantity is None:
            raise ValueError(f"{self.metric} is compared by the score")
        return quantity

    def draw(self, rng: np.random.Generator) -> StratumCounts:
        """One sample."""
        strata = np.arange(len(self.n))
        stratum = np.concatenate([np.repeat(strata, self.n), np.repeat(strata, self.n_reference)])
        group = np.repeat([0, 1], [sum(self.n), sum(self.n_reference)])
        steps = np.cumsum(self.shares, axis=1)[stratum]
        label = (rng.random(group.size)[:, None] > steps[:, :-1]).sum(axis=1)
        latent = rng.standard_normal(group.size)
        cluster = None
        if self.cluster:
            cluster = rng.permutation(group.size) // self.cluster
            effects = rng.standard_normal(cluster.max() + 1)[cluster]
            latent = np.sqrt(self.icc) * effects + np.sqrt(1 - self.icc) * latent
        right = latent < ndtri(self.chances[group, stratum, label])
        other = (label + rng.integers(1, self.n_classes, group.size)) % self.n_classes
        cell = label * self.n_classes + np.where(right, label, other)
        names = self.names
        order = np.arange(len(names))
        if self.n_classes == 2:
            order = np.array([_CELLS.index(name) for name in names])
            names = _CELLS
        shape = (len(self.n), 2, len(names))
        positions = np.ravel_multi_index((stratum, group, order[cell]), shape)
        counts = StratumCounts(
            strata=tuple(map(str, strata.tolist())),
            groups=("a", "b"),
            cells=names,
            rows=np.bincount(positions, minlength=int(np.prod(shape))).reshape(shape),
        )
        if not (self.cv or self.cluster):
            return counts
        weight = np.ones(group.size)
        if self.cv:
            spread = np.sqrt(np.log1p(self.cv**2))
            weight = np.exp(spread * rng.standard_normal(group.size))
        return counts._with_design(
            StratumDesign._of_rows(positions.astype(np.intp), shape, weight, cluster, None)
        )

    def truth(self, counts: StratumCounts) -> float:
        """The contrast of the laws, by the weights that the strata have in a sample."""
        totals = counts.rows if counts.design is None else counts.design.totals
        in_order = [self.names.index(name) for name in counts.cells]
        laws = self.cells[..., in_order].copy()
        sizes = totals.sum(axis=2).T.astype(float)
        of_all = self.comparisons == "overall"
        if of_all:
            share = sizes[0] / sizes.sum(axis=0)
            laws[1] = share[:, None] * laws[0] + (1 - share[:, None]) * laws[1]
        quantity = self.quantity
        values = np.zeros(2)
        if quantity.rates:
            for rate in quantity.rates:
                is_case = [cell in rate.cases for cell in counts.cells]
                is_success = [cell in rate.successes for cell in counts.cells]
                cases = totals[..., is_case].sum(axis=2).T.astype(float)
                weight = common_weight(cases, of_all=of_all)
                rates = laws[..., is_success].sum(axis=2) / laws[..., is_case].sum(axis=2)
                values += rates @ weight / weight.sum() / len(quantity.rates)
        else:
            weight = common_weight(sizes, of_all=of_all)
            standardised = np.einsum("h,khc->kc", weight / weight.sum(), laws)
            values = quantity.function(*standardised.T)  # type: ignore[misc]
        if self.contrast == "difference":
            return float(values[0] - values[1])
        return float(values[0] / values[1])

    def settings(self, truth: float, counts: StratumCounts) -> Inference:
        """With the fair range up to the truth."""
        method = name_of_delta(counts, self.contrast)
        if self.contrast == "difference":
            return Inference(
                confidence_level=_LEVEL, threshold=None, margin=abs(truth), method=method
            )
        limit = min(truth, 1 / truth)
        return Inference(confidence_level=_LEVEL, threshold=limit, margin=None, method=method)


def decided(setting: Setting, counts: StratumCounts, truth: float) -> PairDecision | None:
    """What the public functions say of a sample; None where they have no verdict."""
    of_pair = counts._pair("a", "b")
    of_all = setting.comparisons == "overall"
    estimates = estimates_within(of_pair, setting.quantity, of_all=of_all)
    if estimates is None:
        return None
    settings = setting.settings(truth, counts)
    decision = decide_by_delta(estimates, setting.contrast, settings, (_LEVEL, _LEVEL))
    return decision if isinstance(decision, PairDecision) else None


def _cell(setting: Setting) -> Cell:
    """The limits and verdicts of a setting."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        tally = dict.fromkeys(
            ("coverage", "above", "below", "violated", "satisfied", "answered"), 0
        )
        for _ in range(runs):
            counts = setting.draw(rng)
            truth = setting.truth(counts)
            decision = decided(setting, counts, truth)
            if decision is None:
                continue
            low, high = decision.interval
            tally["answered"] += 1
            tally["coverage"] += low <= truth <= high
            tally["above"] += low > truth
            tally["below"] += high < truth
            evidence = decision.evidence
            tally["violated"] += min(evidence.below, evidence.above) <= 1 - _LEVEL
            tally["satisfied"] += evidence.inside <= 1 - _LEVEL
        answered = int(tally["answered"])
        return {
            "coverage": (tally["coverage"], answered),
            "above": (tally["above"], answered),
            "below": (tally["below"], answered),
            "false violated": (tally["violated"], answered),
            "false satisfied": (tally["satisfied"], answered),
            "answered": (answered, runs),
        }

    of_classes = "" if setting.n_classes == 2 else ", classes='macro'"
    design = ""
    if setting.cv:
        design += ", sample_weight=…"
    if setting.cluster:
        design += ", cluster=…"
    if setting.comparisons != "reference":
        design += f", comparisons={setting.comparisons!r}"
    name = f"{setting.metric}_{setting.contrast}"
    method = f"group_metric(metric={name!r}, strata={of_classes}{design})"
    if setting.metric == "jaccard":
        method = f"group_metric(metric=jaccard, strata={design})"
    claim = "fails" if setting.fails else setting.claim
    return Cell("strata", method, setting.words, simulate, 10_000, claim, setting.fails)


_FEW = "few rows that count: one limit errs more often, as the result says"
_FEW_OF_RATIOS = (
    "ratios of fewer than 500 effective rows: one limit errs more often, as the result says"
)
_THREE = ((0.6, 0.4), (0.7, 0.3), (0.5, 0.5))
_RARE = ((0.92, 0.08), (0.88, 0.12), (0.84, 0.16), (0.8, 0.2))
_WORSE = ((0.8, 0.7), (0.9, 0.82))
_CLASSES = ((0.5, 0.35, 0.15), (0.3, 0.5, 0.2), (0.35, 0.25, 0.4))
_CLASSES_RIGHT = ((0.8, 0.7, 0.6), (0.9, 0.8, 0.7))


def _settings() -> Iterator[Setting]:
    unequal = {"n": (60,) * 3, "n_reference": (200,) * 3, "shares": _THREE, "right": _WORSE}
    yield Setting("f1", "difference", **unequal)
    yield Setting("f1", "ratio", **unequal)
    yield Setting("mcc", "difference", **unequal)
    yield Setting("balanced_accuracy", "ratio", **unequal)
    yield Setting("f1", "difference", **unequal, comparisons="overall")
    turned = {"n": (20, 100), "n_reference": (500, 50), "shares": _THREE[:2], "right": _WORSE}
    yield Setting("f1", "difference", **turned)
    small = {"n": (8,) * 10, "n_reference": (30,) * 10, "shares": _THREE[:1] * 10}
    yield Setting("f1", "difference", **small, right=_WORSE, harder=0.01)
    tied = {"n": (40,) * 3, "n_reference": (40,) * 3, "shares": _THREE, "claim": "conservative"}
    yield Setting("f1", "difference", **tied, right=((0.98, 0.98), (0.95, 0.92)), harder=0.0)
    rare = {"n": (10, 30) * 2, "n_reference": (900, 300) * 2, "shares": _RARE, "harder": 0.0}
    yield Setting("jaccard", "difference", **rare, right=((0.96, 0.6), (0.98, 0.75)), fails=_FEW)
    weighted = {"n": (100,) * 3, "n_reference": (300,) * 3, "shares": _THREE, "right": _WORSE}
    yield Setting("f1", "difference", **weighted, cv=0.7)
    yield Setting("f1", "difference", **weighted, cv=1.0)
    yield Setting("f1", "ratio", **weighted, cv=0.7, fails=_FEW_OF_RATIOS)
    yield Setting("f1", "difference", **weighted, cluster=5, icc=0.3)
    classes = {"n": (60,) * 3, "n_reference": (200,) * 3}
    of_classes = {"shares": _CLASSES, "right": _CLASSES_RIGHT}
    yield Setting("fpr", "difference", **classes, **of_classes)
    yield Setting("tpr", "ratio", **classes, **of_classes)
    yield Setting("f1", "difference", **classes, **of_classes)
    alike = {"n": (100,) * 3, "n_reference": (100,) * 3}
    yield Setting("fpr", "ratio", **alike, **of_classes)
    yield Setting("fpr", "difference", **alike, **of_classes, cluster=5, icc=0.3)


SETTINGS = tuple(_settings())
CELLS = tuple(_cell(setting) for setting in SETTINGS)
