"""`scott_knott`: ranks of treatments over repeated runs, split where groups differ in truth and in size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.checks import (
    as_generator,
    check_confidence_level,
    check_flag,
    check_share,
    check_type,
    check_whole,
)
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.results import Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.checks import as_series
from fairstats.numerics.evt.distributions import Floats

#: Romano et al. (2006): a smaller effect is negligible.
NEGLIGIBLE = 0.147


@serialisable
@dataclass(frozen=True)
class Treatment:
    """One treatment.

    `rank`: 1 is best; treatments of one rank are not told apart; `n`: runs; `wins`, `ties`, `losses`: against
    the other treatments, by rank.
    """

    name: str
    rank: int
    mean: float
    std: float
    n: int
    wins: int
    ties: int
    losses: int


@serialisable
@dataclass(frozen=True)
class ScottKnott(Result):
    """Ranks of treatments, best first.

    `confidence_level` is 1 less the level of the bootstrap test of each split, `least_effect` the smallest
    Cliff's delta of a split.
    """

    title: ClassVar[str] = "Scott–Knott ranks"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("pvalue", "statistic", "confidence_interval"), "each split is tested, no rank is"),
        "verdict": "treatments are ranked, not judged; see .treatments",
        "plot": "the ranks are in .to_frame()",
    }

    treatments: tuple[Treatment, ...]
    larger_is_better: bool
    confidence_level: float
    least_effect: float
    n_resamples: int
    seed: int | None

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Mean of every treatment, best first."""
        method = "Scott–Knott, bootstrap and Cliff's delta"
        return tuple(
            Comparison(
                metric="mean over runs",
                group=t.name,
                estimate=t.mean,
                std_error=t.std / t.n**0.5,
                n=t.n,
                method=method,
            )
            for t in self.treatments
        )

    def __getitem__(self, name: Any) -> Treatment:
        """A treatment by its name."""
        return self.treatments[group_index([t.name for t in self.treatments], name, "name")]

    def rows(self) -> list[dict[str, Any]]:
        """One row per treatment."""
        return [
            {**row, "rank": t.rank, "wins": t.wins, "ties": t.ties, "losses": t.losses}
            for row, t in zip(super().rows(), self.treatments, strict=True)
        ]

    def sentences(self) -> list[str]:
        """One per rank, best first."""
        ranks = dict.fromkeys(t.rank for t in self.treatments)
        named = {rank: [t.name for t in self.treatments if t.rank == rank] for rank in ranks}
        return [f"Rank {rank}: {', '.join(names)}." for rank, names in named.items()]

    def notes(self) -> list[str]:
        """What a rank means."""
        level = round(1.0 - self.confidence_level, 12)
        return [
            f"Treatments of one rank are not told apart: a split needs a bootstrap test at {level:g} "
            f"and a Cliff's delta of at least {self.least_effect:g}."
        ]


def cliffs_delta(a: Any, b: Any) -> float:
    """P(A > B) − P(A < B), in [−1, 1] (Cliff 1993).

    Examples
    --------
    >>> from fairstats.methods.ecd.scott_knott import cliffs_delta
    >>> cliffs_delta([1, 2, 3], [0, 2])
    0.5
    """
    first, second = as_series("a", a), np.sort(as_series("b", b))
    above = np.searchsorted(second, first, side="left").sum()
    below = (second.size - np.searchsorted(second, first, side="right")).sum()
    return float((above - below) / (first.size * second.size))


def scott_knott(
    runs: Mapping[Any, Any],
    *,
    larger_is_better: bool = False,
    confidence_level: float = 0.95,
    least_effect: float = NEGLIGIBLE,
    n_resamples: int = 999,
    rng: Any = None,
) -> ScottKnott:
    """Rank treatments by their results over repeated runs.

    The treatments, ordered by mean, are split where the sum of squares between the two parts is largest; the
    split stands if a bootstrap test of equal means rejects and Cliff's delta is not negligible, and the parts
    are split in turn.

    Parameters
    ----------
    runs : mapping of name to array-like, shape (n_runs,)
        E.g. |ECD| of each mitigator over random seeds.
    larger_is_better : bool
    confidence_level : float
        1 less the level of the test of each split.
    least_effect : float
        In [0, 1].
    n_resamples : int
    rng : None, int or Generator

    Returns
    -------
    ScottKnott

    Raises
    ------
    InputError
        Fewer than two treatments, fewer than two runs, values that are no finite numbers.

    References
    ----------
    Scott, A. J., Knott, M. (1974). A cluster analysis method for grouping means in the analysis of variance.
    Biometrics 30, 507–512.
    Efron, B., Tibshirani, R. (1993). An Introduction to the Bootstrap, algorithm 16.1.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> runs = {"none": r.normal(0.2, 0.02, 20), "EG": r.normal(0.1, 0.02, 20)}
    >>> found = fs.scott_knott(runs, rng=1)
    >>> [(t.name, t.rank) for t in found.treatments]
    [('EG', 1), ('none', 2)]
    """
    check_type("runs", runs, Mapping, "treatment → values of its runs", '{"none": [0.2, 0.3], …}')
    check_flag("larger_is_better", larger_is_better)
    values = {str(name): as_series("runs", v) for name, v in runs.items()}
    few = [name for name, v in values.items() if v.size < 2]
    if len(values) < 2 or few:
        got = f"{len(values)} treatments" + (f", {', '.join(few)} with fewer than two runs" if few else "")
        allowed = "at least two treatments with two runs each"
        raise InputError("runs", got=got, allowed=allowed, cure="repeat each with several seeds")
    level = round(1.0 - check_confidence_level(confidence_level), 12)
    check_share("least_effect", least_effect, closed=True, cure=f"{NEGLIGIBLE}")
    check_whole("n_resamples", n_resamples, low=99)
    generator, seed = as_generator(rng)
    sign = -1.0 if larger_is_better else 1.0
    order = sorted(values, key=lambda name: sign * float(values[name].mean()))
    ranks: dict[str, int] = {}

    def split(names: list[str]) -> None:
        cut = _best_cut([values[n] for n in names])
        if cut is not None:
            left, right = (np.concatenate([values[n] for n in part]) for part in (names[:cut], names[cut:]))
            apart = abs(cliffs_delta(left, right)) >= least_effect
            if apart and _bootstrap_pvalue(left, right, n_resamples, generator) <= level:
                split(names[:cut])
                split(names[cut:])
                return
        rank = 1 + max(ranks.values(), default=0)
        ranks.update(dict.fromkeys(names, rank))

    split(order)
    found = [
        Treatment(
            name,
            ranks[name],
            float(values[name].mean()),
            float(values[name].std(ddof=1)),
            values[name].size,
            sum(r > ranks[name] for r in ranks.values()),
            sum(r == ranks[name] for r in ranks.values()) - 1,
            sum(r < ranks[name] for r in ranks.values()),
        )
        for name in order
    ]
    return ScottKnott(tuple(found), bool(larger_is_better), confidence_level, least_effect, n_resamples, seed)


def _best_cut(values: list[Floats]) -> int | None:
    """Where the sum of squares between two parts is largest; None for a single treatment."""
    if len(values) < 2:
        return None
    size = np.array([v.size for v in values], dtype=float)
    total = np.array([v.sum() for v in values])
    mean = total.sum() / size.sum()
    n, t = np.cumsum(size)[:-1], np.cumsum(total)[:-1]
    between = n * (t / n - mean) ** 2 + (size.sum() - n) * ((total.sum() - t) / (size.sum() - n) - mean) ** 2
    return 1 + int(np.argmax(between))


def _bootstrap_pvalue(a: Floats, b: Floats, replicates: int, rng: np.random.Generator) -> float:
    """Two-sided test of equal means: Welch's t against its law under resampling from centred samples."""

    def statistic(x: Floats, y: Floats) -> Floats:
        spread = x.var(axis=-1, ddof=1) / x.shape[-1] + y.var(axis=-1, ddof=1) / y.shape[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (x.mean(axis=-1) - y.mean(axis=-1)) / np.sqrt(spread)
        return np.asarray(np.abs(np.nan_to_num(t, nan=0.0)))

    pooled = float(np.concatenate([a, b]).mean())
    x, y = a - a.mean() + pooled, b - b.mean() + pooled
    drawn = statistic(
        x[rng.integers(0, x.size, (replicates, x.size))], y[rng.integers(0, y.size, (replicates, y.size))]
    )
    return float((1 + (drawn >= statistic(a, b)).sum()) / (replicates + 1))
